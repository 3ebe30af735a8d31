//! Comma-separated values with a header: `configuration` and `value`, and where there are any `block`, `session` and `order` (the place among all runs, from 0).
//!
//! Columns may be in any order, others beside them say nothing; lines that begin with `#` are comments.

use super::{MeasuredError, MeasuredFile, MeasuredFormat};
use csv::StringRecord;
use firsttouch_balance::formats::CsvRows;
use firsttouch_experiment::{MeasuredConfiguration, MeasuredRun, MeasuredSession};
use firsttouch_sorted::sort_by_key;
use std::collections::HashMap;

/// Where the columns are.
struct Columns {
    configuration: usize,
    value: usize,
    block: Option<usize>,
    session: Option<usize>,
    order: Option<usize>,
    all: usize,
}

/// A session as it is read: by name, and with the blocks as they are called.
#[derive(Default)]
struct Rows {
    name: String,
    /// Whether its rows are in blocks, from the first of them.
    paired: Option<bool>,
    configurations: Vec<(String, Vec<Row>)>,
    places: HashMap<String, usize>,
    /// The blocks in the order in which they first come.
    blocks: Vec<String>,
    numbers: HashMap<String, usize>,
    /// Of every block and configuration: the line.
    taken: HashMap<(usize, usize), usize>,
}

struct Row {
    block: Option<usize>,
    order: Option<u32>,
    value: f64,
}

pub(super) fn read(text: &str) -> Result<MeasuredFile, MeasuredError> {
    let mut rows = CsvRows::new(text);
    let broken = |error: csv::Error| MeasuredError::Line { line: 0, reason: error.to_string() };
    let mut fields = StringRecord::new();
    if rows.next(&mut fields).map_err(broken)?.is_none() {
        return Err(MeasuredError::Empty);
    }
    let columns = columns(&fields)?;
    let mut sessions: Vec<Rows> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    while let Some(line) = rows.next(&mut fields).map_err(broken)? {
        let wrong = |reason: String| MeasuredError::Line { line, reason };
        if fields.len() != columns.all {
            return Err(wrong(format!("{} fields under {} columns", fields.len(), columns.all)));
        }
        let name = columns.session.map_or("", |column| &fields[column]);
        if columns.session.is_some() && name.is_empty() {
            return Err(wrong("no session".to_owned()));
        }
        let place = *by_name.entry(name.to_owned()).or_insert_with(|| {
            sessions.push(Rows { name: name.to_owned(), ..Rows::default() });
            sessions.len() - 1
        });
        sessions[place].add(&columns, &fields, line).map_err(wrong)?;
    }
    Ok(MeasuredFile {
        format: MeasuredFormat::Csv,
        unit: None,
        metric: None,
        higher_is_better: None,
        sessions: sessions.into_iter().map(Rows::session).collect(),
        notes: Vec::new(),
    })
}

fn columns(header: &StringRecord) -> Result<Columns, MeasuredError> {
    let place = |name: &str| header.iter().position(|column| column == name);
    let [Some(configuration), Some(value)] = ["configuration", "value"].map(place) else {
        let found = header.iter().collect::<Vec<_>>().join(",");
        return Err(MeasuredError::UnknownColumns { found: crate::shortened(&found, 80).into_owned() });
    };
    for known in ["configuration", "value", "block", "session", "order"] {
        if header.iter().filter(|column| *column == known).count() > 1 {
            return Err(MeasuredError::Line {
                line: 1,
                reason: format!("the column `{known}` is there twice"),
            });
        }
    }
    let [block, session, order] = ["block", "session", "order"].map(place);
    Ok(Columns { configuration, value, block, session, order, all: header.len() })
}

impl Rows {
    fn add(&mut self, columns: &Columns, fields: &StringRecord, line: usize) -> Result<(), String> {
        let name = &fields[columns.configuration];
        if name.is_empty() {
            return Err("no configuration".to_owned());
        }
        let written = &fields[columns.value];
        let value: f64 = written.parse().map_err(|_| format!("`{written}` is no number"))?;
        if !MeasuredRun::is_sound(value) {
            return Err(format!("`{written}` is no number from 1e-100 to 1e100, of which ratios are taken"));
        }
        let field =
            |column: Option<usize>| column.map(|column| &fields[column]).filter(|field| !field.is_empty());
        let order = match field(columns.order) {
            None => None,
            Some(order) => {
                Some(order.parse().map_err(|_| format!("the order `{order}` is no whole number from 0 on"))?)
            }
        };
        let configuration = *self.places.entry(name.to_owned()).or_insert_with(|| {
            self.configurations.push((name.to_owned(), Vec::new()));
            self.configurations.len() - 1
        });
        let block = field(columns.block).map(|name| self.block(name));
        if *self.paired.get_or_insert(block.is_some()) != block.is_some() {
            return Err("some rows of the session are in a block, and some are not".to_owned());
        }
        if let Some(block) = block
            && let Some(before) = self.taken.insert((block, configuration), line)
        {
            return Err(format!(
                "block {} has a value of {name} already, in line {before}",
                self.blocks[block]
            ));
        }
        self.configurations[configuration].1.push(Row { block, order, value });
        Ok(())
    }

    fn block(&mut self, name: &str) -> usize {
        *self.numbers.entry(name.to_owned()).or_insert_with(|| {
            self.blocks.push(name.to_owned());
            self.blocks.len() - 1
        })
    }

    /// Blocks that are called by numbers are in the order of these, others in the order in which they come.
    fn session(self) -> MeasuredSession {
        let numbers: Option<Vec<u64>> = self.blocks.iter().map(|name| name.parse().ok()).collect();
        let mut order: Vec<usize> = (0..self.blocks.len()).collect();
        if let Some(numbers) = numbers {
            sort_by_key(&mut order, |&block| numbers[block]);
        }
        let mut place = vec![0; order.len()];
        for (at, &block) in order.iter().enumerate() {
            place[block] = at as u32;
        }
        let run = |row: Row| MeasuredRun {
            block: row.block.map(|block| place[block]),
            order: row.order,
            value: row.value,
        };
        let configurations = self
            .configurations
            .into_iter()
            .map(|(name, rows)| MeasuredConfiguration { name, runs: rows.into_iter().map(run).collect() });
        MeasuredSession { name: self.name, configurations: configurations.collect() }
    }
}
