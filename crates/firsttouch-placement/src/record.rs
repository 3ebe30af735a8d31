//! The agent's record: lines ([`RecordLine`]) that the agent writes when the program ends, or at a new peak of placed memory, read
//! here and turned into a [`Receipt`].

use crate::{BlockReport, Obtained, Placement, Receipt, Resident, Shortfall, ThreadReport, format_bytes};
use firsttouch_linux::smaps::PMD_BYTES;
use firsttouch_memory::Reason;
use firsttouch_memory::record_line::{END, HEADER, RecordLine};
use firsttouch_sorted::sort_by_key;
use std::collections::BTreeMap;

/// Blocks in a receipt.
const MOST_BLOCKS: usize = 64;

/// A parsed record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The program image that wrote it.
    pub program: String,
    /// Written when the program ended, not at an earlier peak.
    pub complete: bool,
    /// What was obtained.
    pub obtained: Obtained,
    /// Reasons with bytes.
    pub shortfalls: Vec<(Reason, u64)>,
    /// Placed blocks, largest first.
    pub blocks: Vec<BlockReport>,
    /// Remarks.
    pub notes: Vec<String>,
}

/// A record that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The first line is not that of a record of this version.
    #[error("not a record of this version of the agent")]
    Header,
    /// A line does not read.
    #[error("line {number} of the agent's record does not read: {line}")]
    Line {
        /// Line number from 1.
        number: usize,
        /// The line.
        line: String,
    },
    /// The last line is missing: the writer was stopped in the middle.
    #[error("the agent's record ends early")]
    Truncated,
}

impl Record {
    /// Reads the text of a record.
    pub fn parse(text: &str) -> Result<Record, RecordError> {
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, line)| line) != Some(HEADER) {
            return Err(RecordError::Header);
        }
        let mut record = Record {
            program: String::new(),
            complete: false,
            obtained: Obtained::default(),
            shortfalls: Vec::new(),
            blocks: Vec::new(),
            notes: Vec::new(),
        };
        for (index, line) in lines {
            if line == END {
                sort_by_key(&mut record.blocks, |block| std::cmp::Reverse(block.bytes));
                return Ok(record);
            }
            record.add_line(
                RecordLine::parse(line)
                    .ok_or_else(|| RecordError::Line { number: index + 1, line: line.to_owned() })?,
            );
        }
        Err(RecordError::Truncated)
    }

    fn add_line(&mut self, line: RecordLine<'_>) {
        let obtained = &mut self.obtained;
        match line {
            RecordLine::Program(name) => self.program = name.to_string(),
            RecordLine::State { is_final } => self.complete = is_final,
            RecordLine::Placed(bytes) => obtained.placed_bytes = bytes,
            RecordLine::Peak(bytes) => obtained.peak_bytes = bytes,
            RecordLine::Blocks(count) => obtained.placed_blocks = count,
            RecordLine::Recycled(bytes) => obtained.recycled_bytes = bytes,
            RecordLine::Served(count) => obtained.recycled_blocks = count,
            RecordLine::Held(bytes) => obtained.held_bytes = bytes,
            RecordLine::Pool(bytes) => obtained.pool_bytes = bytes,
            RecordLine::Page(page, bytes) => add(&mut obtained.bytes_by_page_size, page, bytes),
            RecordLine::Node(node, bytes) => add(obtained.bytes_by_node.get_or_insert_default(), node, bytes),
            RecordLine::Process(page, bytes) => {
                add(obtained.process_bytes_by_page_size.get_or_insert_default(), page, bytes);
            }
            RecordLine::Short(reason, bytes) => self.shortfalls.push((reason, bytes)),
            RecordLine::Block { id, address, bytes, huge_bytes } => {
                let address = format!("{address:#x}");
                self.blocks.push(BlockReport { id: id.into(), address, bytes, huge_bytes });
            }
            RecordLine::Thread { number, asked, obtained: cpus, name } => {
                obtained.threads.push(ThreadReport {
                    number,
                    name: Some(name.to_string()).filter(|name| !name.is_empty()),
                    cpu_asked: asked,
                    cpus_obtained: cpus.map(|cpus| cpus.iter().collect()),
                })
            }
            RecordLine::UnseenThreads(count) => {
                self.notes.push(format!("{count} more threads were created"));
            }
            RecordLine::OwnPolicies(count) => obtained.own_policies = count,
            RecordLine::Note(text) => self.notes.push(text.to_owned()),
        }
    }

    /// Resident bytes of placed memory at the peak, and those on huge pages of at least 2 MiB.
    pub fn placed(&self) -> Resident {
        let sizes = &self.obtained.bytes_by_page_size;
        let sum = |bytes: &mut dyn Iterator<Item = (&u64, &u64)>| {
            bytes.fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes))
        };
        Resident { bytes: sum(&mut sizes.iter()), huge_bytes: sum(&mut sizes.range(PMD_BYTES..)) }
    }

    /// Adds the record of another process: sums of each one's peak. Threads, the end and remarks stay this one's.
    pub fn add(&mut self, other: Record) {
        let (sum, more) = (&mut self.obtained, other.obtained);
        for (page, bytes) in more.bytes_by_page_size {
            add(&mut sum.bytes_by_page_size, page, bytes);
        }
        sum.bytes_by_node = match (sum.bytes_by_node.take(), more.bytes_by_node) {
            (Some(mut nodes), Some(more)) => {
                more.into_iter().for_each(|(node, bytes)| add(&mut nodes, node, bytes));
                Some(nodes)
            }
            (None, nodes) if sum.placed_bytes == 0 => nodes,
            (nodes, None) if more.placed_bytes == 0 => nodes,
            _ => None,
        };
        for (sum, more) in [
            (&mut sum.pool_bytes, more.pool_bytes),
            (&mut sum.placed_bytes, more.placed_bytes),
            (&mut sum.peak_bytes, more.peak_bytes),
            (&mut sum.placed_blocks, more.placed_blocks),
            (&mut sum.recycled_bytes, more.recycled_bytes),
            (&mut sum.recycled_blocks, more.recycled_blocks),
            (&mut sum.held_bytes, more.held_bytes),
            (&mut sum.own_policies, more.own_policies),
        ] {
            *sum = sum.saturating_add(more);
        }
        for (reason, bytes) in other.shortfalls {
            match self.shortfalls.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, sum)) => *sum = sum.saturating_add(bytes),
                None => self.shortfalls.push((reason, bytes)),
            }
        }
        self.blocks.extend(other.blocks);
        sort_by_key(&mut self.blocks, |block| std::cmp::Reverse(block.bytes));
        self.blocks.truncate(MOST_BLOCKS);
    }

    /// The receipt: this record against what was asked.
    pub fn into_receipt(mut self, asked: Placement) -> Receipt {
        if asked.heap {
            self.notes.extend(heap_note(&self.obtained));
        }
        if self.shortfalls.iter().any(|(reason, _)| *reason == Reason::PoolEmpty) {
            self.notes.push(pool_note(&self.obtained));
        }
        Receipt {
            program: self.program,
            via: asked.via,
            asked,
            obtained: Some(self.obtained),
            cpus_obtained: None,
            tree: None,
            shortfalls: self
                .shortfalls
                .into_iter()
                .map(|(reason, bytes)| Shortfall::new(reason, bytes))
                .collect(),
            blocks: self.blocks,
            complete: self.complete,
            ending: None,
            notes: self.notes,
        }
    }
}

/// What came in place of pages that a pool did not have.
fn pool_note(obtained: &Obtained) -> String {
    let resident: u64 = obtained.bytes_by_page_size.values().sum();
    format!(
        "{} of {} are on pages of a pool; for the rest the agent asked for transparent huge pages",
        format_bytes(obtained.pool_bytes),
        format_bytes(resident)
    )
}

/// The heap is the C library's: only the whole process tells what it got.
fn heap_note(obtained: &Obtained) -> Option<String> {
    let process = obtained.process_bytes_by_page_size.as_ref()?;
    let resident: u64 = process.values().sum();
    let huge: u64 = process.range(PMD_BYTES..).map(|(_, bytes)| bytes).sum();
    Some(format!(
        "--heap: at its end the program had {} of {} on huge pages, heap and placed blocks together",
        format_bytes(huge),
        format_bytes(resident)
    ))
}

fn add<K: Ord>(map: &mut BTreeMap<K, u64>, key: K, bytes: u64) {
    let sum = map.entry(key).or_insert(0);
    *sum = sum.saturating_add(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLE: &str = "firsttouch-record 1\nprogram /usr/bin/a b\nstate final\nplaced 30\npeak 40\nblocks 2\n\
        recycled 0\nserved 1\nheld 5\npage 2097152 20\npage 4096 10\npool 15\nnode 0 30\nprocess 4096 99\nshort pool-empty 10\n\
        block 1 0x10 10 -\nblock 2 0x20 20 20\nthread 0 4 4 a b\nthread 1 - 0-2,5 \nthread 2 7 - \nend\n";

    #[test]
    fn a_record_becomes_a_receipt() {
        let receipt = Record::parse(SAMPLE).unwrap().into_receipt(Placement::default());
        let obtained = receipt.obtained.as_ref().unwrap();
        assert!(receipt.complete);
        assert_eq!(receipt.program, "/usr/bin/a b");
        assert_eq!(obtained.share_on_pages_of(2 << 20), Some(2.0 / 3.0));
        assert_eq!(receipt.shortfalls, [Shortfall::new(Reason::PoolEmpty, 10)]);
        assert_eq!(obtained.pool_bytes, 15);
        assert!(receipt.notes[0].starts_with("15 B of 30 B are on pages of a pool"), "{:?}", receipt.notes);
        let blocks: Vec<_> = receipt.blocks.iter().map(|block| (block.id, block.huge_bytes)).collect();
        assert_eq!(blocks, [(2, Some(20)), (1, None)], "largest first");
        let threads: Vec<_> = obtained
            .threads
            .iter()
            .map(|thread| {
                (thread.number, thread.name.as_deref(), thread.cpu_asked, thread.cpus_obtained.clone())
            })
            .collect();
        assert_eq!(
            threads,
            [
                (0, Some("a b"), Some(4), Some(vec![4])),
                (1, None, None, Some(vec![0, 1, 2, 5])),
                (2, None, Some(7), None)
            ]
        );
        let json = serde_json::to_string(&receipt).unwrap();
        assert_eq!(serde_json::from_str::<Receipt>(&json).unwrap(), receipt);
    }

    #[test]
    fn processes_add_up() {
        let mut sum = Record::parse(SAMPLE).unwrap();
        assert_eq!(sum.placed(), Resident { bytes: 30, huge_bytes: 20 });
        sum.add(Record::parse(SAMPLE).unwrap());
        assert_eq!(sum.placed(), Resident { bytes: 60, huge_bytes: 40 });
        assert_eq!((sum.obtained.peak_bytes, sum.obtained.placed_blocks, sum.blocks.len()), (80, 4, 4));
        assert_eq!(sum.shortfalls, [(Reason::PoolEmpty, 20)]);
        assert_eq!(sum.obtained.bytes_by_node, Some(BTreeMap::from([(0, 60)])));
        assert_eq!(sum.obtained.threads.len(), 3, "its own");
        let nothing = "firsttouch-record 1\nprogram /bin/sh\nstate final\nplaced 0\nend\n";
        sum.add(Record::parse(nothing).unwrap());
        assert_eq!(sum.obtained.bytes_by_node, Some(BTreeMap::from([(0, 60)])), "nothing has no node");
        let elsewhere = nothing.replace("placed 0", "placed 8");
        sum.add(Record::parse(&elsewhere).unwrap());
        assert_eq!(sum.obtained.bytes_by_node, None, "of a part nobody knows the node");
    }

    #[test]
    fn a_cut_record_is_an_error() {
        let cut = &SAMPLE[..SAMPLE.len() - 4];
        assert_eq!(Record::parse(cut), Err(RecordError::Truncated));
        assert_eq!(Record::parse(""), Err(RecordError::Header));
        let odd = SAMPLE.replace("placed 30", "placed lots");
        assert!(matches!(Record::parse(&odd), Err(RecordError::Line { number: 4, .. })));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(firsttouch-record 1\n)?([a-z]{1,8}( [0-9a-z]{0,5}){0,4}\n){0,6}(end)?") {
            let _ = Record::parse(&text);
        }
    }
}
