//! Formats with one arc in a line: DIMACS, Matrix Market, edge lists. What they differ in is a [`Grammar`].

use super::cursor::Cursor;
use super::pieces::Text;
use super::trouble::{Trouble, first_error};
use crate::formats::error::{LineError, ReadError};
use crate::formats::format::Format;
use crate::rows::{ArcSource, Node, OutArc, in_parts};
use firsttouch_threads::Team;
use std::sync::{Mutex, PoisonError};

/// What the lines of a file look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grammar {
    pub(crate) format: Format,
    /// The word before an arc; 0 for none.
    pub(crate) prefix: u8,
    /// What a comment begins with.
    pub(crate) comments: [u8; 2],
    /// What a header begins with, of which there may be no second one; 0 for none.
    pub(crate) header: u8,
    /// Whether a weight follows the two nodes.
    pub(crate) weights: bool,
}

/// An arc of a file, in the file's numbers.
pub(crate) type Record = (u64, u64, u32);

impl Grammar {
    /// Goes to the next arc, behind blank lines and comments; false at the end.
    #[inline]
    fn begin(self, cursor: &mut Cursor<'_>) -> Result<bool, LineError> {
        loop {
            match cursor.skip_blanks() {
                None => return Ok(false),
                Some(b'\n') => cursor.step(),
                Some(first) if first == self.prefix && first != 0 => {
                    cursor.step();
                    return match cursor.peek() {
                        Some(b' ' | b'\t') => Ok(true),
                        _ => Err(self.unknown_line(cursor)),
                    };
                }
                Some(first) if self.comments.contains(&first) => cursor.skip_line(),
                Some(b'0'..=b'9') if self.prefix == 0 => return Ok(true),
                Some(_) => return Err(self.unknown_line(cursor)),
            }
        }
    }

    #[cold]
    fn unknown_line(self, cursor: &Cursor<'_>) -> LineError {
        match cursor.peek() {
            Some(first) if self.header != 0 && first == self.header => LineError::SecondHeader,
            _ if self.prefix != 0 => cursor.expected("`a` and an arc, or `c` and a comment,"),
            _ => cursor.expected("a node"),
        }
    }

    /// The next arc; `None` at the end.
    #[inline]
    pub(crate) fn record(self, cursor: &mut Cursor<'_>) -> Result<Option<Record>, LineError> {
        match self.usual_record(cursor) {
            Some(record) => Ok(Some(record)),
            None => self.any_record(cursor),
        }
    }

    /// An arc as programs write it: numbers with one blank or tabulator between. `None` for anything else,
    /// with the cursor where it was.
    #[inline(always)]
    fn usual_record(self, cursor: &mut Cursor<'_>) -> Option<Record> {
        let begin = cursor.clone();
        let record = self.usual_record_or_part(cursor);
        if record.is_none() {
            *cursor = begin;
        }
        record
    }

    #[inline(always)]
    fn usual_record_or_part(self, cursor: &mut Cursor<'_>) -> Option<Record> {
        let tail = self.usual_tail(cursor)?;
        let (head, behind) = cursor.plain_number()?;
        if !self.weights {
            return (behind == b'\n').then_some((tail, head, 1));
        }
        if behind != b' ' && behind != b'\t' {
            return None;
        }
        let (weight, behind) = cursor.plain_number()?;
        let weight = u32::try_from(weight).ok()?;
        (behind == b'\n').then_some((tail, head, weight))
    }

    /// The tail of such an arc, and the blank behind it.
    #[inline(always)]
    fn usual_tail(self, cursor: &mut Cursor<'_>) -> Option<u64> {
        if self.prefix != 0 && !cursor.take([self.prefix, b' ']) {
            return None;
        }
        let (tail, behind) = cursor.plain_number()?;
        (behind == b' ' || behind == b'\t').then_some(tail)
    }

    #[inline(never)]
    fn any_record(self, cursor: &mut Cursor<'_>) -> Result<Option<Record>, LineError> {
        if !self.begin(cursor)? {
            return Ok(None);
        }
        let tail = cursor.number("a node")?;
        let head = cursor.number("a node")?;
        let weight = if self.weights { cursor.weight()? } else { 1 };
        cursor.line_end()?;
        Ok(Some((tail, head, weight)))
    }

    /// The tail of the next arc; the rest of the line is left for another time.
    #[inline]
    fn tail(self, cursor: &mut Cursor<'_>) -> Result<Option<u64>, LineError> {
        let begin = cursor.clone();
        if let Some(tail) = self.usual_tail(cursor) {
            cursor.skip_line();
            return Ok(Some(tail));
        }
        *cursor = begin;
        self.any_tail(cursor)
    }

    #[inline(never)]
    fn any_tail(self, cursor: &mut Cursor<'_>) -> Result<Option<u64>, LineError> {
        if !self.begin(cursor)? {
            return Ok(None);
        }
        let tail = cursor.number("a node")?;
        cursor.skip_line();
        Ok(Some(tail))
    }
}

/// How a file numbers its nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Numbering<'ids> {
    /// Without gaps, from this number on.
    From { first: u64, nodes: u64 },
    /// With these numbers, in rising order.
    Listed(&'ids [u64]),
}

impl Numbering<'_> {
    #[inline]
    fn node(self, id: u64, format: Format) -> Result<Node, LineError> {
        match self {
            Numbering::From { first, nodes } if id.wrapping_sub(first) < nodes => Ok((id - first) as Node),
            Numbering::From { first: 1, .. } if id == 0 => Err(LineError::NodeZero { format }),
            Numbering::From { first, nodes } => {
                let last = (first + nodes).saturating_sub(1);
                Err(LineError::NoSuchNode { id, first, last })
            }
            Numbering::Listed(ids) => match ids.binary_search(&id) {
                Ok(node) => Ok(node as Node),
                // A file that changes while it is read.
                Err(_) => Err(LineError::NoSuchNode {
                    id,
                    first: ids.first().copied().unwrap_or(0),
                    last: ids.last().copied().unwrap_or(0),
                }),
            },
        }
    }
}

/// The arcs in the lines of a text.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    pub(crate) text: &'a Text,
    /// Where the first line behind the header begins.
    pub(crate) body: u64,
    pub(crate) grammar: Grammar,
    pub(crate) numbering: Numbering<'a>,
    /// Whether each line is an arc there and one back; a loop is one arc.
    pub(crate) both_ways: bool,
}

impl ArcSource for Records<'_> {
    type Error = Trouble;

    fn parts(&self) -> usize {
        self.text.parts(self.body)
    }

    fn tails(&self, part: usize, mut each: impl FnMut(Node)) -> Result<(), Trouble> {
        if self.both_ways {
            return self.arcs(part, |tail, _| each(tail));
        }
        let lines = self.text.lines(self.body, part)?;
        let mut cursor = Cursor::new(&lines);
        while let Some(tail) = self.grammar.tail(&mut cursor)? {
            each(self.numbering.node(tail, self.grammar.format)?);
        }
        Ok(())
    }

    fn arcs(&self, part: usize, mut each: impl FnMut(Node, OutArc)) -> Result<(), Trouble> {
        let lines = self.text.lines(self.body, part)?;
        let mut cursor = Cursor::new(&lines);
        let format = self.grammar.format;
        while let Some((tail, head, weight)) = self.grammar.record(&mut cursor)? {
            let (tail, head) = (self.numbering.node(tail, format)?, self.numbering.node(head, format)?);
            each(tail, OutArc { head, weight });
            if self.both_ways && tail != head {
                each(head, OutArc { head: tail, weight });
            }
        }
        Ok(())
    }
}

impl Records<'_> {
    /// The first line with an error, told in full: looked for only when there is one.
    pub(crate) fn first_error(&self) -> Result<(), ReadError> {
        first_error(self.text, self.body, |line| {
            let Some((tail, head, _)) = self.grammar.record(&mut Cursor::new(line))? else { return Ok(()) };
            self.numbering.node(tail, self.grammar.format)?;
            self.numbering.node(head, self.grammar.format).map(drop)
        })
    }
}

/// What a text without a header has in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Census {
    /// Lines with an arc.
    pub(crate) records: u64,
    /// The least and the largest number of a node; `None` without arcs.
    pub(crate) ids: Option<(u64, u64)>,
}

impl Census {
    fn with(self, other: Census) -> Census {
        let ids = match (self.ids, other.ids) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        Census { records: self.records + other.records, ids }
    }
}

/// Reads all lines once, for their numbers.
pub(crate) fn census(text: &Text, body: u64, grammar: Grammar, team: &mut Team) -> Result<Census, Trouble> {
    let all = Mutex::new(Census { records: 0, ids: None });
    in_parts(text.parts(body), team, |part| -> Result<(), Trouble> {
        let mut own = Census { records: 0, ids: None };
        let lines = text.lines(body, part)?;
        let mut cursor = Cursor::new(&lines);
        while let Some((tail, head, _)) = grammar.record(&mut cursor)? {
            own = own.with(Census { records: 1, ids: Some((tail.min(head), tail.max(head))) });
        }
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        *all = all.with(own);
        Ok(())
    })?;
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// All different numbers of nodes in a text, in rising order.
pub(crate) fn ids(text: &Text, body: u64, grammar: Grammar, team: &mut Team) -> Result<Vec<u64>, Trouble> {
    struct Gathered {
        ids: Vec<u64>,
        /// How many there may be before they are sorted again.
        most: usize,
    }
    let all = Mutex::new(Gathered { ids: Vec::new(), most: MOST_UNSORTED });
    in_parts(text.parts(body), team, |part| -> Result<(), Trouble> {
        let mut own = Vec::new();
        let lines = text.lines(body, part)?;
        let mut cursor = Cursor::new(&lines);
        while let Some((tail, head, _)) = grammar.record(&mut cursor)? {
            own.extend([tail, head]);
        }
        own.sort_unstable();
        own.dedup();
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.ids.append(&mut own);
        if all.ids.len() > all.most {
            all.ids.sort_unstable();
            all.ids.dedup();
            // Sorted again only when it has doubled, so that all sorting together costs little more than the last.
            all.most = (2 * all.ids.len()).max(MOST_UNSORTED);
        }
        Ok(())
    })?;
    let mut ids = all.into_inner().unwrap_or_else(PoisonError::into_inner).ids;
    ids.sort_unstable();
    ids.dedup();
    ids.shrink_to_fit();
    Ok(ids)
}

/// Numbers that are gathered before they are sorted.
const MOST_UNSORTED: usize = 1 << 20;
