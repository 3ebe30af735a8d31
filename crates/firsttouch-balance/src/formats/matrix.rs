//! Dense tables of what each task sends each other: a row for each sender, separated by commas.

use super::FormatError;
use super::text::{amount, lines, text};
use crate::{Message, Problem, Task};

/// A square, by row, with the line of each row.
struct Square {
    rows: Vec<(usize, Vec<f64>)>,
}

impl Square {
    fn read(bytes: &[u8]) -> Result<Square, FormatError> {
        let mut rows = Vec::new();
        for (line, row) in lines(text(bytes)?, '#') {
            let values = row.split(',').map(|word| amount(line, "the entry", word));
            rows.push((line, values.collect::<Result<Vec<f64>, _>>()?));
        }
        let size = rows.len();
        if size == 0 {
            return Err(FormatError::Whole("an empty matrix".to_owned()));
        }
        for (line, row) in &rows {
            if row.len() != size {
                let reason = format!("{} entries in a matrix of {size} rows: it must be square", row.len());
                return Err(FormatError::line(*line, reason));
            }
        }
        Ok(Square { rows })
    }

    fn at(&self, from: usize, to: usize) -> f64 {
        self.rows[from].1[to]
    }
}

/// The problem of a matrix of bytes, one of messages, or both. Tasks are rows, with a load of 1 and no home; what a task
/// sends itself is left out. Without bytes every message counts as one byte, without messages every pair as one message.
///
/// # Errors
///
/// The line and what is wrong with it: no number, a negative one, a matrix that is not square, a task that sends nothing to
/// anybody (a matrix that was cut off looks like that), two matrices of different sizes.
pub fn matrices(bytes: Option<&[u8]>, counts: Option<&[u8]>) -> Result<Problem, FormatError> {
    let read = |matrix: Option<&[u8]>| matrix.map(Square::read).transpose();
    let (bytes, counts) = (read(bytes)?, read(counts)?);
    let Some(first) = bytes.as_ref().or(counts.as_ref()) else {
        return Err(FormatError::Whole("neither bytes nor messages".to_owned()));
    };
    let size = first.rows.len();
    if let Some(counts) = counts.as_ref().filter(|counts| counts.rows.len() != size) {
        let reason = format!("{size} tasks send bytes, but {} send messages", counts.rows.len());
        return Err(FormatError::Whole(reason));
    }
    for (row, (line, values)) in first.rows.iter().enumerate() {
        if values.iter().all(|value| *value == 0.0) {
            return Err(FormatError::line(*line, format!("task {row} sends nothing")));
        }
    }
    let mut messages = Vec::new();
    for from in 0..size {
        for to in (0..size).filter(|to| *to != from) {
            let value = |matrix: &Option<Square>| matrix.as_ref().map(|matrix| matrix.at(from, to));
            let (sent, count) = (value(&bytes), value(&counts));
            let some = |other: Option<f64>| f64::from(u8::from(other.is_some_and(|other| other > 0.0)));
            messages.push(Message {
                from: from as u32,
                to: to as u32,
                count: count.unwrap_or(some(sent)),
                bytes: sent.or(count).unwrap_or(0.0),
            });
        }
    }
    Ok(Problem::new(vec![Task::new(1.0); size], &messages)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_send_to_columns() {
        let problem = matrices(Some(b"9,5,0\n1,0,2\n0,7,0\n"), Some(b"1,2,0\n1,0,1\n0,1,0")).unwrap();
        assert_eq!(problem.pairs(), 4, "the diagonal is left out");
        assert_eq!((problem.sent(0)[0].bytes, problem.sent(0)[0].count), (5.0, 2.0));
    }

    #[test]
    fn bad_matrices_are_refused_with_line_and_reason() {
        let reason = |text: &str| matrices(Some(text.as_bytes()), None).unwrap_err().to_string();
        assert_eq!(reason("1,2\na,3"), "line 2: the entry `a` is not a number");
        assert_eq!(reason("1,2\n-3,3"), "line 2: the entry is -3; it must be a number, 0 or more");
        assert_eq!(reason("1,2,3\n4,5,6"), "line 1: 3 entries in a matrix of 2 rows: it must be square");
        assert_eq!(reason("0,0\n0,0"), "line 1: task 0 sends nothing");
        assert_eq!(reason("0,4,0\n0,0,0\n5,0,0"), "line 2: task 1 sends nothing");
        assert_eq!(reason("1,NaN\n1,1"), "line 1: the entry is NaN; it must be a number, 0 or more");
    }
}
