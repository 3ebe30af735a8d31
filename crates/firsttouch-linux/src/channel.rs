//! The words of the control channel: what the agent inside a program understands from outside, and how it answers.
//!
//! The channel is an abstract Unix socket (unix(7)) whose name holds the number and the start time of the process, so
//! that it cannot be taken for that of another. A request is a line, an answer is a line:
//!
//! ```text
//! version                     ok 1 4712         version of these words, and the thread that listens
//! collapse 7f0000000 400000   ok                first address and bytes
//! move 1 7f0000000+1ff 7f01   ok 1*512 -2       node; first addresses, each with the pages that follow it
//! nodes 7f0000000+1ff         ok 0*512          where these pages lie
//! affinity 4711 0-3,8         ok                thread and its CPUs
//!                             error 22          anything that failed: the kernel's error number
//! ```
//!
//! Addresses and lengths are hexadecimal, all else is decimal. The answers to `move` and `nodes` hold the state of every
//! page, a node or a negative error number, equal ones in a row as `STATE*TIMES`.
//!
//! Invariant: reading any bytes ends, allocates nothing and never fails otherwise than by `None`.

use crate::numa::{CpuBits, decimal};
use core::ffi::CStr;
use core::fmt::{self, Write};

/// The name of the thread that listens.
pub const THREAD: &CStr = c"firsttouch";
/// Version of the words.
pub const VERSION: u32 = 1;
/// The longest line, with its end.
pub const MOST_LINE_BYTES: usize = 16 << 10;
/// Pages that one request can name.
pub const MOST_PAGES: usize = 512;
/// Bytes from one page of a run to the next.
const PAGE_BYTES: usize = 4096;

/// A line that is written piece by piece; what does not fit is an error and leaves the line as it was.
#[derive(Clone, Copy)]
pub struct Line<const BYTES: usize> {
    bytes: [u8; BYTES],
    length: usize,
}

impl<const BYTES: usize> Line<BYTES> {
    /// Nothing yet.
    pub const EMPTY: Self = Line { bytes: [0; BYTES], length: 0 };

    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl<const BYTES: usize> Write for Line<BYTES> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.length..self.length + text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

impl<const BYTES: usize> fmt::Debug for Line<BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.bytes().escape_ascii())
    }
}

/// A name of a channel, without the zero byte that makes it abstract.
pub type Name = Line<64>;

/// The name of a process's channel: by its number, as the process itself knows it, and its start time in clock ticks.
pub fn name(process: u32, start_ticks: u64) -> Name {
    let mut name = Name::EMPTY;
    // The two numbers have 30 digits at most.
    let _ = write!(name, "firsttouch-attach-{process}-{start_ticks}");
    name
}

/// The start time in the text of `/proc/PID/stat`.
pub fn start_ticks(stat: &[u8]) -> Option<u64> {
    // The command may hold anything: the last closing bracket ends it.
    let after = stat.iter().rposition(|byte| *byte == b')')? + 1;
    core::str::from_utf8(&stat[after..]).ok()?.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// What is asked of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, on a stack: there is no heap to put a set of CPUs on"
)]
pub enum Request<'a> {
    /// Who is there.
    Version,
    /// Put the whole blocks of a range onto huge pages.
    Collapse {
        /// First address.
        start: usize,
        /// Length.
        bytes: usize,
    },
    /// Move pages to a node.
    Move {
        /// The node.
        node: i32,
        /// Which pages; [`addresses`] reads them.
        pages: &'a str,
    },
    /// Tell where pages lie.
    Nodes {
        /// Which pages; [`addresses`] reads them.
        pages: &'a str,
    },
    /// Let a thread run on these CPUs only.
    Affinity {
        /// The thread.
        thread: u32,
        /// The CPUs.
        cpus: CpuBits,
    },
}

impl Request<'_> {
    /// Reads a line without its end; `None` if it is no request.
    pub fn parse(line: &[u8]) -> Option<Request<'_>> {
        let line = core::str::from_utf8(line).ok()?;
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "version" if rest.is_empty() => Some(Request::Version),
            "collapse" => {
                let (start, bytes) = rest.split_once(' ')?;
                Some(Request::Collapse { start: hex(start)?, bytes: hex(bytes)? })
            }
            "move" => {
                let (node, pages) = rest.split_once(' ')?;
                Some(Request::Move { node: i32::try_from(decimal(node)?).ok()?, pages })
            }
            "nodes" => Some(Request::Nodes { pages: rest }),
            "affinity" => {
                let (thread, cpus) = rest.split_once(' ')?;
                Some(Request::Affinity { thread: decimal(thread)?, cpus: CpuBits::parse(cpus)? })
            }
            _ => None,
        }
    }
}

/// Fills in the addresses of the pages of a request; answers how many they are, `None` if they do not read or are more
/// than there is room for.
pub fn addresses(pages: &str, room: &mut [usize]) -> Option<usize> {
    let mut count = 0;
    for run in pages.split(' ') {
        let (first, more) = run.split_once('+').unwrap_or((run, "0"));
        let (first, more) = (hex(first)?, hex(more)?);
        for page in 0..=more {
            *room.get_mut(count)? = first.checked_add(page.checked_mul(PAGE_BYTES)?)?;
            count += 1;
        }
    }
    (count > 0).then_some(count)
}

/// Writes a request about some pages: a `move` to a node, or without one `nodes`.
pub fn write_pages(out: &mut dyn Write, node: Option<i32>, addresses: &[u64]) -> fmt::Result {
    match node {
        Some(node) => write!(out, "move {node}")?,
        None => write!(out, "nodes")?,
    }
    for run in addresses.chunk_by(|page, next| page.checked_add(PAGE_BYTES as u64) == Some(*next)) {
        write!(out, " {:x}", run[0])?;
        if run.len() > 1 {
            write!(out, "+{:x}", run.len() - 1)?;
        }
    }
    writeln!(out)
}

/// Writes the states of pages as an answer.
pub fn write_states(out: &mut dyn Write, states: &[i32]) -> fmt::Result {
    write!(out, "ok")?;
    for run in states.chunk_by(|state, next| state == next) {
        write!(out, " {}", run[0])?;
        if run.len() > 1 {
            write!(out, "*{}", run.len())?;
        }
    }
    writeln!(out)
}

/// Reads the states in an answer, without its `ok`, about as many pages as `states` has; `None` if it speaks of more or
/// fewer.
pub fn read_states(answer: &str, states: &mut [i32]) -> Option<()> {
    let mut rest = states;
    for run in answer.split(' ') {
        let (state, times) = run.split_once('*').unwrap_or((run, "1"));
        let (run, behind) = rest.split_at_mut_checked(times.parse().ok()?)?;
        run.fill(state.parse().ok()?);
        rest = behind;
    }
    rest.is_empty().then_some(())
}

fn hex(text: &str) -> Option<usize> {
    // from_str_radix would take a sign.
    if text.starts_with(['+', '-']) { None } else { usize::from_str_radix(text, 16).ok() }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_read_as_they_are_described() {
        assert_eq!(Request::parse(b"version"), Some(Request::Version));
        let collapse = Request::Collapse { start: 0x7f00_0000, bytes: 0x40_0000 };
        assert_eq!(Request::parse(b"collapse 7f000000 400000"), Some(collapse));
        let cpus = CpuBits::of(&[0, 1, 2, 3, 8]).unwrap();
        assert_eq!(Request::parse(b"affinity 4711 0-3,8"), Some(Request::Affinity { thread: 4711, cpus }));
        for text in [
            "",
            " ",
            "version 1",
            "collapse",
            "collapse 1",
            "collapse 1 -1",
            "collapse +1 1",
            "collapse g 1",
            "collapse 10000000000000000 1",
            "move 1",
            "move -1 0",
            "move 4294967295 0",
            "affinity 1 ",
            "affinity 1 3-1",
            "affinity 1 0-4294967295",
            "affinity 1 8192",
            "affinity -1 0",
            "Version",
            "\u{0}",
        ] {
            assert_eq!(Request::parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(Request::parse(b"\xff\xfe"), None);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut room = [0; 4];
        assert_eq!(addresses("1000+3", &mut room), Some(4));
        assert_eq!(room, [0x1000, 0x2000, 0x3000, 0x4000]);
        for text in ["1000+4", "1000+ffffffffffffffff", "ffffffffffffffff+1", "", "1000  2000", "x"] {
            assert_eq!(addresses(text, &mut room), None, "{text:?}");
        }
        let mut line = Line::<4>::EMPTY;
        line.write_str("abc").unwrap();
        assert!(line.write_str("de").is_err());
        assert_eq!(line.bytes(), b"abc");
    }

    #[test]
    fn the_start_time_is_the_one_procfs_shows() {
        let stat = std::fs::read("/proc/self/stat").unwrap();
        let read = crate::process::Stat::read(&crate::root::Root::live(), std::process::id()).unwrap();
        assert_eq!(start_ticks(&stat), Some(read.start_ticks));
        assert_eq!(start_ticks(b"7 (a) (b c) S 1 7"), None);
        assert_eq!(name(u32::MAX, u64::MAX).bytes(), b"firsttouch-attach-4294967295-18446744073709551615");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(
            bytes in prop::collection::vec(any::<u8>(), 0..64),
            text in "(version|collapse|move|nodes|affinity)( [0-9a-f,+*-]{0,20}){0,4}",
        ) {
            let mut room = [0; MOST_PAGES];
            for line in [bytes.as_slice(), text.as_bytes()] {
                if let Some(Request::Move { pages, .. } | Request::Nodes { pages }) = Request::parse(line) {
                    let _ = addresses(pages, &mut room);
                }
                let _ = start_ticks(line);
            }
            let _ = read_states(&text, &mut [0; 8]);
        }

        #[test]
        fn pages_and_states_read_back(
            pages in prop::collection::vec((0_u64..1 << 47, 1_u64..5), 1..40),
            states in prop::collection::vec(prop_oneof![Just(0), Just(1), -20_i32..0], 1..MOST_PAGES),
        ) {
            let pages: Vec<u64> =
                pages.iter().flat_map(|(page, run)| (0..*run).map(move |more| (page & !0xfff) + more * 4096)).collect();
            let mut line = Line::<MOST_LINE_BYTES>::EMPTY;
            write_pages(&mut line, Some(3), &pages).unwrap();
            let mut room = [0; MOST_PAGES];
            let Some(Request::Move { node: 3, pages: text }) = Request::parse(line.bytes().trim_ascii_end()) else {
                return Err(TestCaseError::fail(format!("{line:?}")));
            };
            let count = addresses(text, &mut room).unwrap();
            prop_assert_eq!(room[..count].iter().map(|page| *page as u64).collect::<Vec<_>>(), pages);
            let mut line = Line::<MOST_LINE_BYTES>::EMPTY;
            write_states(&mut line, &states).unwrap();
            let answer = std::str::from_utf8(line.bytes()).unwrap().trim_end().strip_prefix("ok ").unwrap();
            let mut read = vec![0; states.len()];
            read_states(answer, &mut read).unwrap();
            prop_assert_eq!(&read, &states);
            prop_assert_eq!(read_states(answer, &mut vec![0; states.len() + 1]), None);
        }
    }
}
