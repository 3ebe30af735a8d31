//! Tasks and messages as tables with commas, the columns named in the first line.
//!
//! Tasks: `id` and `load` (seconds), and where there are any `home` (core), `pinned`, `bytes`, `memory`. Messages: `from`,
//! `to`, `bytes` and where it is known `count`. Columns may be in any order; an empty field is a value that is not there.

use super::FormatError;
use super::csv_rows::CsvRows;
use super::table::table;
use super::text::{amount, text, whole};
use crate::{Mapping, Message, Problem, Task};
use csv::StringRecord;
use std::collections::HashMap;

const TASK_COLUMNS: [&str; 6] = ["id", "load", "home", "pinned", "bytes", "memory"];
const MESSAGE_COLUMNS: [&str; 4] = ["from", "to", "count", "bytes"];

/// A table: the rows after the first, and where each known column is.
struct Table<'a> {
    places: Vec<Option<usize>>,
    rows: CsvRows<'a>,
}

impl<'a> Table<'a> {
    fn read(bytes: &'a [u8], known: &[&str], required: &[&str]) -> Result<Table<'a>, FormatError> {
        let text = text(bytes)?;
        let mut rows = CsvRows::new(text);
        let mut names = StringRecord::new();
        let line = rows.next(&mut names).map_err(broken)?.ok_or_else(|| {
            FormatError::Whole(format!("an empty table; its columns are {}", known.join(",")))
        })?;
        let names: Vec<&str> = names.iter().collect();
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
        Ok(Table { places, rows })
    }

    /// Does something with every row: its line, and the fields of the known columns, empty where there are none.
    fn each<const N: usize>(
        mut self,
        mut row: impl FnMut(usize, [&str; N]) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let width = self.places.iter().flatten().count();
        let mut fields = StringRecord::new();
        while let Some(line) = self.rows.next(&mut fields).map_err(broken)? {
            if fields.len() != width {
                let reason = format!("{} fields under {width} columns", fields.len());
                return Err(FormatError::line(line, reason));
            }
            let field = |column: usize| self.places[column].and_then(|place| fields.get(place)).unwrap_or("");
            row(line, std::array::from_fn(field))?;
        }
        Ok(())
    }
}

// Handed to `map_err`, which gives it away.
#[allow(clippy::needless_pass_by_value, reason = "as `map_err` wants it")]
fn broken(error: csv::Error) -> FormatError {
    FormatError::Whole(error.to_string())
}

/// The tasks of a table.
///
/// # Errors
///
/// The line and what is wrong with it: an unknown column, a load that is no number or negative, a task that is there twice.
pub fn csv_tasks(bytes: &[u8]) -> Result<Vec<Task>, FormatError> {
    let table = Table::read(bytes, &TASK_COLUMNS, &["id", "load"])?;
    let mut tasks = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    table.each(|line, [id, load, home, pinned, bytes, memory]| {
        if id.is_empty() {
            return Err(FormatError::line(line, "a task without an id"));
        }
        if let Some(other) = seen.insert(id.to_owned(), line) {
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
        Ok(())
    })?;
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
        table.each(|line, [from, to, count, bytes]| {
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
            Ok(())
        })?;
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
    table.each(|line, [name, core, _home, _moved]| {
        let task =
            *numbers.get(name).ok_or_else(|| FormatError::line(line, format!("there is no task {name}")))?;
        if cores[task as usize].replace(whole(line, "core", core)?).is_some() {
            return Err(FormatError::line(line, format!("task {name} is there already")));
        }
        Ok(())
    })?;
    let missing = |task: usize| FormatError::Whole(format!("task {} is not mapped", problem.label(task)));
    let cores = cores.into_iter().enumerate().map(|(task, core)| core.ok_or_else(|| missing(task)));
    Ok(Mapping::new(cores.collect::<Result<_, _>>()?))
}

/// The table of a problem's tasks.
#[must_use]
pub fn csv_tasks_of(problem: &Problem) -> String {
    let row = |(index, task): (usize, &Task)| {
        let Task { load, bytes, memory, .. } = task;
        let home = task.home.map_or(String::new(), |home| home.to_string());
        let (label, pinned) = (problem.label(index).into_owned(), u8::from(task.pinned).to_string());
        [label, load.to_string(), home, pinned, bytes.to_string(), memory.to_string()]
    };
    table(TASK_COLUMNS, problem.tasks().iter().enumerate().map(row))
}

/// The table of a problem's messages.
#[must_use]
pub fn csv_messages(problem: &Problem) -> String {
    let row = |Message { from, to, count, bytes }: Message| {
        let [from, to] = [from, to].map(|task| problem.label(task as usize).into_owned());
        [from, to, count.to_string(), bytes.to_string()]
    };
    table(MESSAGE_COLUMNS, problem.messages().map(row))
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
        assert_eq!(tasks("id,load\r\n# none\r\n7,x\r\n"), "line 3: load `x` is not a number");
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
    fn what_is_written_is_read_whatever_tasks_are_called() {
        let tasks = "load,id\n1,\"a,b\"\n2,#c\n3,\"say \"\"d\"\"\"\n";
        let messages = "from,to,bytes\n#c,\"a,b\",5\n".replacen("#c", "\"#c\"", 1);
        let problem = csv_problem(tasks.as_bytes(), Some(messages.as_bytes())).unwrap();
        assert_eq!([0, 1, 2].map(|task| problem.label(task)), ["a,b", "#c", "say \"d\""]);
        let (tasks, messages) = (csv_tasks_of(&problem), csv_messages(&problem));
        assert_eq!(csv_problem(tasks.as_bytes(), Some(messages.as_bytes())).unwrap(), problem);
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
