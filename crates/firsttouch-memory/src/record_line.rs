//! The lines of a record, as the agent writes them into a file and who started the program reads them. What they tell is the
//! reading at the peak of placed memory.
//!
//! ```text
//! firsttouch-record 1
//! program /usr/bin/python3.11
//! state final
//! placed 1073741824
//! peak 1073741824
//! blocks 12
//! recycled 0
//! served 0
//! held 0
//! page 2097152 1071644672
//! pool 2097152
//! node 0 1073741824
//! process 4096 9437184
//! short no-whole-block 2097152
//! block 3 0x10000200000 400000048 399507456
//! thread 1 4 4 worker
//! unseen-threads 3
//! own-policies 1
//! note page sizes could not be read
//! end
//! ```

use crate::reason::Reason;
use core::fmt::{self, Display, Write};
use firsttouch_linux::numa::CpuBits;

/// The first line.
pub const HEADER: &str = "firsttouch-record 1";
/// The last line.
pub const END: &str = "end";

/// A line between them. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one at a time, on the stack, because nothing may allocate")]
pub enum RecordLine<'a> {
    /// The file of the program, or the name that it was started by where that leads to it.
    Program(Name<'a>),
    /// Whether the program has ended; otherwise this is a peak, and there may be more to come.
    State {
        /// It has.
        is_final: bool,
    },
    /// In live blocks at the reading.
    Placed(u64),
    /// In live blocks at most.
    Peak(u64),
    /// How many blocks were placed.
    Blocks(u64),
    /// Served from recycled pages.
    Recycled(u64),
    /// How many blocks were, at least in part.
    Served(u64),
    /// Held for reuse at most.
    Held(u64),
    /// Resident in blocks on pages of this size.
    Page(u64, u64),
    /// Of these, on pages of a pool.
    Pool(u64),
    /// Resident in blocks on this node.
    Node(u32, u64),
    /// Resident in the whole process, at its end, on pages of this size.
    Process(u64, u64),
    /// Bytes that did not get what was asked, for this reason.
    Short(Reason, u64),
    /// One of the largest blocks.
    Block {
        /// Its number.
        id: u32,
        /// Where it begins.
        address: u64,
        /// Its size.
        bytes: u64,
        /// Of these on huge pages; `None` where the kernel does not tell.
        huge_bytes: Option<u64>,
    },
    /// A thread, numbered in the order of creation.
    Thread {
        /// The number.
        number: u32,
        /// The CPU that it was to be bound to.
        asked: Option<u32>,
        /// The CPUs that it may run on.
        obtained: Option<CpuBits>,
        /// Its name; empty if unknown.
        name: Name<'a>,
    },
    /// So many more threads than the record tells of.
    UnseenThreads(u64),
    /// So often the program has set a memory policy itself.
    OwnPolicies(u64),
    /// A remark.
    Note(&'a str),
}

impl<'a> RecordLine<'a> {
    /// Reads a line without its end; `None` if it is none.
    pub fn parse(line: &'a str) -> Option<RecordLine<'a>> {
        let (key, rest) = line.split_once(' ')?;
        let mut words = rest.split(' ');
        let mut number = || words.next()?.parse::<u64>().ok();
        Some(match key {
            "program" => RecordLine::Program(Name(rest.as_bytes())),
            "state" => RecordLine::State { is_final: rest == "final" },
            "placed" => RecordLine::Placed(number()?),
            "peak" => RecordLine::Peak(number()?),
            "blocks" => RecordLine::Blocks(number()?),
            "recycled" => RecordLine::Recycled(number()?),
            "served" => RecordLine::Served(number()?),
            "held" => RecordLine::Held(number()?),
            "page" => RecordLine::Page(number()?, number()?),
            "pool" => RecordLine::Pool(number()?),
            "node" => RecordLine::Node(u32::try_from(number()?).ok()?, number()?),
            "process" => RecordLine::Process(number()?, number()?),
            "short" => {
                let (word, bytes) = rest.split_once(' ')?;
                RecordLine::Short(Reason::parse(word)?, bytes.parse().ok()?)
            }
            "block" => RecordLine::Block {
                id: u32::try_from(number()?).ok()?,
                address: u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?,
                bytes: words.next()?.parse().ok()?,
                huge_bytes: known(words.next()?, |word| word.parse().ok())?,
            },
            "thread" => {
                let mut words = rest.splitn(4, ' ');
                RecordLine::Thread {
                    number: words.next()?.parse().ok()?,
                    asked: known(words.next()?, |word| word.parse().ok())?,
                    obtained: known(words.next()?, CpuBits::parse)?,
                    name: Name(words.next().unwrap_or("").as_bytes()),
                }
            }
            "unseen-threads" => RecordLine::UnseenThreads(number()?),
            "own-policies" => RecordLine::OwnPolicies(number()?),
            "note" => RecordLine::Note(rest),
            _ => return None,
        })
    }
}

/// `-` is what is not known; `None` if neither that nor the value reads.
fn known<'a, T>(word: &'a str, read: impl FnOnce(&'a str) -> Option<T>) -> Option<Option<T>> {
    if word == "-" { Some(None) } else { read(word).map(Some) }
}

struct OrDash<T>(Option<T>);

impl<T: Display> Display for OrDash<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_char('-'),
        }
    }
}

impl Display for RecordLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordLine::Program(name) => write!(f, "program {name}"),
            RecordLine::State { is_final } => write!(f, "state {}", if *is_final { "final" } else { "peak" }),
            RecordLine::Placed(bytes) => write!(f, "placed {bytes}"),
            RecordLine::Peak(bytes) => write!(f, "peak {bytes}"),
            RecordLine::Blocks(count) => write!(f, "blocks {count}"),
            RecordLine::Recycled(bytes) => write!(f, "recycled {bytes}"),
            RecordLine::Served(count) => write!(f, "served {count}"),
            RecordLine::Held(bytes) => write!(f, "held {bytes}"),
            RecordLine::Page(page, bytes) => write!(f, "page {page} {bytes}"),
            RecordLine::Pool(bytes) => write!(f, "pool {bytes}"),
            RecordLine::Node(node, bytes) => write!(f, "node {node} {bytes}"),
            RecordLine::Process(page, bytes) => write!(f, "process {page} {bytes}"),
            RecordLine::Short(reason, bytes) => write!(f, "short {} {bytes}", reason.word()),
            RecordLine::Block { id, address, bytes, huge_bytes } => {
                write!(f, "block {id} {address:#x} {bytes} {}", OrDash(*huge_bytes))
            }
            RecordLine::Thread { number, asked, obtained, name } => {
                write!(f, "thread {number} {} {} {name}", OrDash(*asked), OrDash(obtained.as_ref()))
            }
            RecordLine::UnseenThreads(count) => write!(f, "unseen-threads {count}"),
            RecordLine::OwnPolicies(count) => write!(f, "own-policies {count}"),
            RecordLine::Note(text) => write!(f, "note {text}"),
        }
    }
}

/// A name, which may be any bytes; shown on one line, with what is no text written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a>(pub &'a [u8]);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            chunk.valid().split_inclusive('\n').try_for_each(|part| match part.strip_suffix('\n') {
                Some(line) => write!(f, "{line}\\n"),
                None => f.write_str(part),
            })?;
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn what_is_written_is_read() {
        let cpus = CpuBits::of(&[0, 1, 2, 5]);
        for line in [
            RecordLine::Program(Name(b"/usr/bin/a b")),
            RecordLine::State { is_final: true },
            RecordLine::State { is_final: false },
            RecordLine::Placed(30),
            RecordLine::Peak(40),
            RecordLine::Blocks(2),
            RecordLine::Recycled(0),
            RecordLine::Served(1),
            RecordLine::Held(u64::MAX),
            RecordLine::Page(2 << 20, 20),
            RecordLine::Pool(15),
            RecordLine::Node(255, 30),
            RecordLine::Process(4096, 99),
            RecordLine::Short(Reason::PoolEmpty, 10),
            RecordLine::Block { id: 1, address: 0x100_0020_0000, bytes: 10, huge_bytes: None },
            RecordLine::Block { id: 2, address: 16, bytes: 20, huge_bytes: Some(20) },
            RecordLine::Thread { number: 0, asked: Some(4), obtained: CpuBits::of(&[4]), name: Name(b"a b") },
            RecordLine::Thread { number: 1, asked: None, obtained: cpus, name: Name(b"") },
            RecordLine::Thread { number: 2, asked: Some(7), obtained: None, name: Name(b"-") },
            RecordLine::UnseenThreads(3),
            RecordLine::OwnPolicies(2),
            RecordLine::Note("a remark"),
        ] {
            assert_eq!(RecordLine::parse(&line.to_string()), Some(line), "{line}");
        }
    }

    #[test]
    fn any_name_is_one_line_of_text() {
        let line = RecordLine::Program(Name(b"/a\n\xffb")).to_string();
        assert_eq!(line, "program /a\\n\\xffb");
        assert_eq!(RecordLine::parse(&line).unwrap().to_string(), line);
    }
}
