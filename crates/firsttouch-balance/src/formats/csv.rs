//! Tasks and messages as tables with commas, the columns named in the first line.
//!
//! Tasks: `id` and `load` (seconds), and where there are any `home` (core), `pinned`, `bytes`, `memory`. Messages: `from`,
//! `to`, `bytes` and where it is known `count`. Columns may be in any order; an empty field is a value that is not there.

use super::FormatError;
use super::text::{amount, lines, text, whole};
use crate::{Mapping, Message, Problem, Task};
use std::collections::HashMap;
use std::fmt::Write;

const TASK_COLUMNS: [&str; 6] = ["id", "load", "home", "pinned", "bytes", "memory"];
/// Begins lines that say nothing.
const COMMENT: char = '#';
const MESSAGE_COLUMNS: [&str; 4] = ["from", "to", "count", "bytes"];

/// A table: the lines after the first, and where each known column is.
struct Table<'a> {
    places: Vec<Option<usize>>,
    width: usize,
    rows: Vec<(usize, &'a str)>,
}

impl<'a> Table<'a> {
    fn read(bytes: &'a [u8], known: &[&str], required: &[&str]) -> Result<Table<'a>, FormatError> {
        let mut rows = lines(text(bytes)?, COMMENT);
        let (line, head) = rows.next().ok_or_else(|| {
            FormatError::Whole(format!("an empty table; its columns are {}", known.join(",")))
        })?;
        let names: Vec<&str> = head.split(',').map(str::trim).collect();
        for (place, name) in names.iter().enumerate() {
            if !known.contains(name) {
                let reason = format!("there is no column `{name}`; the columns are {}", known.join(","));
                return Err(FormatError::line(line, reason));
            }
            if names[..place].contains(name) {
                return Err(FormatError::line(line, format!("the column `{name}` is there twice")));
            }
        }
        if let Some(missing) = required.iter().find(|name| !names.contains(name)) {
            return Err(FormatError::line(line, format!("the column `{missing}` is missing")));
        }
        let places = known.iter().map(|name| names.iter().position(|other| other == name)).collect();
        Ok(Table { places, width: names.len(), rows: rows.collect() })
    }

    /// The rows: their lines, and the fields of the known columns, empty where there are none.
    fn fields(&self) -> impl Iterator<Item = Result<(usize, Vec<&'a str>), FormatError>> {
        self.rows.iter().map(|&(line, row)| {
            let fields: Vec<&str> = row.split(',').map(str::trim).collect();
            if fields.len() != self.width {
                let reason = format!("{} fields under {} columns", fields.len(), self.width);
                return Err(FormatError::line(line, reason));
            }
            Ok((line, self.places.iter().map(|place| place.map_or("", |place| fields[place])).collect()))
        })
    }
}

/// The tasks of a table.
///
/// # Errors
///
/// The line and what is wrong with it: an unknown column, a load that is no number or negative, a task that is there twice.
pub fn csv_tasks(bytes: &[u8]) -> Result<Vec<Task>, FormatError> {
    let table = Table::read(bytes, &TASK_COLUMNS, &["id", "load"])?;
    let mut tasks = Vec::new();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for row in table.fields() {
        let (line, fields) = row?;
        let [id, load, home, pinned, bytes, memory] = fields[..] else { continue };
        if id.is_empty() {
            return Err(FormatError::line(line, "a task without an id"));
        }
        if id.starts_with(COMMENT) {
            // Where the id comes first, as in the tables that we write, the line would be none.
            return Err(FormatError::line(line, format!("task {id}: {COMMENT} begins a comment")));
        }
        if let Some(other) = seen.insert(id, line) {
            return Err(FormatError::line(line, format!("task {id} is there already, in line {other}")));
        }
        let pinned = match pinned {
            "" | "0" | "false" | "no" => false,
            "1" | "true" | "yes" => true,
            _ => return Err(FormatError::line(line, format!("pinned is `{pinned}`, neither 0 nor 1"))),
        };
        let home = if home.is_empty() { None } else { Some(whole(line, "home", home)?) };
        if pinned && home.is_none() {
            return Err(FormatError::line(line, format!("task {id} is pinned but has no home")));
        }
        tasks.push(Task {
            load: amount(line, "load", load)?,
            home,
            pinned,
            bytes: if bytes.is_empty() { 0 } else { whole(line, "bytes", bytes)? },
            memory: if memory.is_empty() { 0 } else { whole(line, "memory", memory)? },
            label: (id != tasks.len().to_string()).then(|| id.into()),
        });
    }
    if tasks.is_empty() {
        return Err(FormatError::Whole("a table without tasks".to_owned()));
    }
    Ok(tasks)
}

/// The number of each task, by what it is called.
fn numbers(tasks: &[Task]) -> HashMap<String, u32> {
    let name = |(index, task): (usize, &Task)| {
        (task.label.as_deref().map_or_else(|| index.to_string(), str::to_owned), index as u32)
    };
    tasks.iter().enumerate().map(name).collect()
}

/// The problem of a table of tasks, and one of messages where there are any.
///
/// # Errors
///
/// The line and what is wrong with it; a message of a task that is not in the first table.
pub fn csv_problem(tasks: &[u8], messages: Option<&[u8]>) -> Result<Problem, FormatError> {
    let tasks = csv_tasks(tasks)?;
    let mut all = Vec::new();
    if let Some(messages) = messages {
        let numbers = numbers(&tasks);
        let table = Table::read(messages, &MESSAGE_COLUMNS, &["from", "to", "bytes"])?;
        for row in table.fields() {
            let (line, fields) = row?;
            let [from, to, count, bytes] = fields[..] else { continue };
            let number = |id: &str| {
                numbers
                    .get(id)
                    .copied()
                    .ok_or_else(|| FormatError::line(line, format!("there is no task {id}")))
            };
            all.push(Message {
                from: number(from)?,
                to: number(to)?,
                count: if count.is_empty() { 1.0 } else { amount(line, "count", count)? },
                bytes: amount(line, "bytes", bytes)?,
            });
        }
    }
    Ok(Problem::new(tasks, &all)?)
}

/// The mapping of a table with the columns `task` and `core`, as `mapping_csv` writes it. Every task must be there once.
///
/// # Errors
///
/// The line and what is wrong with it; a task that is missing.
pub fn csv_mapping(bytes: &[u8], problem: &Problem) -> Result<Mapping, FormatError> {
    let table = Table::read(bytes, &["task", "core", "home", "moved"], &["task", "core"])?;
    let numbers = numbers(problem.tasks());
    let mut cores: Vec<Option<u32>> = vec![None; problem.len()];
    for row in table.fields() {
        let (line, fields) = row?;
        let task = *numbers
            .get(fields[0])
            .ok_or_else(|| FormatError::line(line, format!("there is no task {}", fields[0])))?;
        if cores[task as usize].replace(whole(line, "core", fields[1])?).is_some() {
            return Err(FormatError::line(line, format!("task {} is there already", fields[0])));
        }
    }
    let missing = |task: usize| FormatError::Whole(format!("task {} is not mapped", problem.label(task)));
    let cores = cores.into_iter().enumerate().map(|(task, core)| core.ok_or_else(|| missing(task)));
    Ok(Mapping::new(cores.collect::<Result<_, _>>()?))
}

/// The table of a problem's tasks.
#[must_use]
pub fn csv_tasks_of(problem: &Problem) -> String {
    let mut text = format!("{}\n", TASK_COLUMNS.join(","));
    for (index, task) in problem.tasks().iter().enumerate() {
        let home = task.home.map_or(String::new(), |home| home.to_string());
        let Task { load, bytes, memory, .. } = task;
        let (label, pinned) = (problem.label(index), u8::from(task.pinned));
        let _ = writeln!(text, "{label},{load},{home},{pinned},{bytes},{memory}");
    }
    text
}

/// The table of a problem's messages.
#[must_use]
pub fn csv_messages(problem: &Problem) -> String {
    let mut text = format!("{}\n", MESSAGE_COLUMNS.join(","));
    for Message { from, to, count, bytes } in problem.messages() {
        let [from, to] = [from, to].map(|task| problem.label(task as usize));
        let _ = writeln!(text, "{from},{to},{count},{bytes}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_make_a_problem() {
        let tasks = b"# two\nload,id,home,pinned,bytes\n1.5,a,0,1,100\n2,b,,,\n";
        let problem = csv_problem(tasks, Some(b"from,to,bytes\na,b,80\nb,a,20\n")).unwrap();
        assert_eq!((problem.len(), problem.pairs(), problem.total_load()), (2, 2, 3.5));
        let first = &problem.tasks()[0];
        assert_eq!(
            (first.home, first.pinned, first.bytes, problem.label(1).as_ref()),
            (Some(0), true, 100, "b")
        );
    }

    #[test]
    fn bad_tables_are_refused_with_line_and_reason() {
        let tasks = |text: &str| csv_problem(text.as_bytes(), None).unwrap_err().to_string();
        assert_eq!(tasks("id,load\n0,-1\n"), "line 2: load is -1; it must be a number, 0 or more");
        assert_eq!(tasks("id,load\n0,NaN\n"), "line 2: load is NaN; it must be a number, 0 or more");
        assert_eq!(tasks("id,load\n0,x\n"), "line 2: load `x` is not a number");
        assert_eq!(tasks("id,load\n7,1\n\n7,2\n"), "line 4: task 7 is there already, in line 2");
        assert_eq!(tasks("load,id\n7,#b\n"), "line 2: task #b: # begins a comment");
        assert_eq!(tasks("id,load\n7,1,2\n"), "line 2: 3 fields under 2 columns");
        assert_eq!(
            tasks("id,weight\n"),
            "line 1: there is no column `weight`; the columns are id,load,home,pinned,bytes,memory"
        );
        assert_eq!(tasks("id\n"), "line 1: the column `load` is missing");
        assert_eq!(tasks("id,load,pinned\na,1,1\n"), "line 2: task a is pinned but has no home");
        let edges =
            |text: &str| csv_problem(b"id,load\na,1\nb,1\n", Some(text.as_bytes())).unwrap_err().to_string();
        assert_eq!(edges("from,to,bytes\na,c,1\n"), "line 2: there is no task c");
        assert_eq!(edges("from,to,bytes\na,b,-4\n"), "line 2: bytes is -4; it must be a number, 0 or more");
    }

    #[test]
    fn a_mapping_names_every_task_once() {
        let problem = csv_problem(b"id,load\na,1\nb,1\n", None).unwrap();
        let read = |text: &str| csv_mapping(text.as_bytes(), &problem);
        assert_eq!(read("task,core\nb,3\na,1\n").unwrap().cores(), [1, 3]);
        assert_eq!(read("task,core\na,1\n").unwrap_err().to_string(), "task b is not mapped");
        assert_eq!(read("task,core\na,1\na,1\n").unwrap_err().to_string(), "line 3: task a is there already");
    }
}
