//! A mapping as tables: the whole, and what has to move.

use crate::{Machine, Mapping, Problem};
use std::fmt::Write;

/// A line for each task: `task,core,home,moved`.
#[must_use]
pub fn mapping_csv(problem: &Problem, mapping: &Mapping, start: &Mapping) -> String {
    let mut text = "task,core,home,moved\n".to_owned();
    for (index, task) in problem.tasks().iter().enumerate() {
        let (core, home) = (mapping.core(index), task.home.map(|_| start.core(index)));
        let moved = u8::from(home.is_some_and(|home| home != core));
        let home = home.map_or(String::new(), |home| home.to_string());
        let _ = writeln!(text, "{},{core},{home},{moved}", problem.label(index));
    }
    text
}

/// A line for each task that migrates: `task,from,to,bytes,distance`, the most bytes first.
#[must_use]
pub fn migration_plan(problem: &Problem, machine: &Machine, mapping: &Mapping, start: &Mapping) -> String {
    let mut moved: Vec<usize> = mapping.moved(problem, start).collect();
    moved.sort_by_key(|task| std::cmp::Reverse(problem.tasks()[*task].bytes));
    let mut text = "task,from,to,bytes,distance\n".to_owned();
    for task in moved {
        let (from, to) = (start.core(task), mapping.core(task));
        let (label, bytes) = (problem.label(task), problem.tasks()[task].bytes);
        let _ = writeln!(text, "{label},{from},{to},{bytes},{}", machine.distance(from, to));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Task;

    #[test]
    fn a_plan_has_what_moves_and_a_mapping_has_all() {
        let tasks = vec![
            Task { bytes: 5, ..Task::new(1.0).at(0) },
            Task { bytes: 70, ..Task::new(1.0).at(0) },
            Task::new(1.0),
        ];
        let problem = Problem::new(tasks, &[]).unwrap();
        let machine = Machine::parse("numa32").unwrap();
        let (start, mapping) = (Mapping::new(vec![0, 0, 0]), Mapping::new(vec![1, 8, 2]));
        let plan = migration_plan(&problem, &machine, &mapping, &start);
        assert_eq!(plan, "task,from,to,bytes,distance\n1,0,8,70,1.36\n0,0,1,5,1\n");
        let all = mapping_csv(&problem, &mapping, &start);
        assert_eq!(all, "task,core,home,moved\n0,1,0,1\n1,8,0,1\n2,2,,0\n");
        assert_eq!(crate::formats::csv_mapping(all.as_bytes(), &problem).unwrap(), mapping);
    }
}
