//! A mapping as tables: the whole, and what has to move.

use super::table::table;
use crate::{Machine, Mapping, Problem, Task};

/// A line for each task: `task,core,home,moved`.
#[must_use]
pub fn mapping_csv(problem: &Problem, mapping: &Mapping, start: &Mapping) -> String {
    let row = |(index, task): (usize, &Task)| {
        let (core, home) = (mapping.core(index), task.home.map(|_| start.core(index)));
        let moved = u8::from(home.is_some_and(|home| home != core)).to_string();
        let home = home.map_or(String::new(), |home| home.to_string());
        [problem.label(index).into_owned(), core.to_string(), home, moved]
    };
    table(["task", "core", "home", "moved"], problem.tasks().iter().enumerate().map(row))
}

/// A line for each task that migrates: `task,from,to,bytes,distance`, the most bytes first.
#[must_use]
pub fn migration_plan(problem: &Problem, machine: &Machine, mapping: &Mapping, start: &Mapping) -> String {
    let mut moved: Vec<usize> = mapping.moved(problem, start).collect();
    moved.sort_by_key(|task| std::cmp::Reverse(problem.tasks()[*task].bytes));
    let row = |task: usize| {
        let (from, to) = (start.core(task), mapping.core(task));
        let (label, bytes) = (problem.label(task).into_owned(), problem.tasks()[task].bytes.to_string());
        [label, from.to_string(), to.to_string(), bytes, machine.distance(from, to).to_string()]
    };
    table(["task", "from", "to", "bytes", "distance"], moved.into_iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

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
