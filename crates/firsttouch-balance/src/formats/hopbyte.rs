//! Traffic as lines `from to bytes hops` (par-comm-data): ranks of a job that may not begin at 0.

use super::FormatError;
use super::text::{amount, lines, text, whole};
use crate::{Message, Problem, Task};
use std::collections::BTreeMap;

/// The problem of such a file: ranks are tasks of load 1, in the order of their numbers, which they keep as labels. The hops
/// tell of the machine the job ran on and are left out.
///
/// # Errors
///
/// The line and what is wrong with it.
pub fn hopbyte(bytes: &[u8]) -> Result<Problem, FormatError> {
    let mut rows: Vec<(u64, u64, f64)> = Vec::new();
    for (line, row) in lines(text(bytes)?, '#') {
        let words: Vec<&str> = row.split_whitespace().collect();
        let ([from, to, bytes] | [from, to, bytes, _]) = words[..] else {
            return Err(FormatError::line(
                line,
                format!("{} words; `from to bytes hops` belong here", words.len()),
            ));
        };
        if let Some(hops) = words.get(3) {
            amount(line, "hops", hops)?;
        }
        rows.push((whole(line, "from", from)?, whole(line, "to", to)?, amount(line, "bytes", bytes)?));
    }
    let mut ranks: BTreeMap<u64, u32> = BTreeMap::new();
    for (from, to, _) in &rows {
        ranks.insert(*from, 0);
        ranks.insert(*to, 0);
    }
    for (place, number) in ranks.values_mut().enumerate() {
        *number = place as u32;
    }
    if ranks.is_empty() {
        return Err(FormatError::Whole("a file without ranks".to_owned()));
    }
    let label = |(place, rank): (usize, &u64)| Task {
        label: (place as u64 != *rank).then(|| rank.to_string().into()),
        ..Task::new(1.0)
    };
    let tasks = ranks.keys().enumerate().map(label).collect();
    let message = |(from, to, bytes): &(u64, u64, f64)| Message {
        from: ranks[from],
        to: ranks[to],
        count: 1.0,
        bytes: *bytes,
    };
    Ok(Problem::new(tasks, &rows.iter().map(message).collect::<Vec<_>>())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_need_not_begin_at_0() {
        let problem = hopbyte(b"10 12 500 2\n12 10 300 2\n11 10 7 1\n").unwrap();
        assert_eq!((problem.len(), problem.pairs()), (3, 3));
        assert_eq!((problem.label(2).as_ref(), problem.sent(2)[0].bytes), ("12", 300.0));
        assert_eq!(hopbyte(b"1 2 x 1").unwrap_err().to_string(), "line 1: bytes `x` is not a number");
        assert!(hopbyte(b"1 2\n").unwrap_err().to_string().starts_with("line 1: 2 words"));
    }
}
