//! The settings of the agent, as who starts a program writes them and the agent inside it reads them: the value of one variable
//! of the environment, words `key=value`.
//!
//! ```text
//! pid=0000004711 pages=thp min=1048576 max=18446744073709551615 prefault=0 follow=0 zero=1 recycle=0 shares=0:2,1:1 cpus=4-7,0 skip=1-3 resident=0 attachable=1 record=/path
//! ```
//!
//! Only `pid` and `pages` are always there; `record`, if it is, is last and goes to the end of the value.

use crate::pages::Pages;
use crate::settings::Settings;
use crate::shares::Shares;
use core::fmt::{self, Write};

/// The variable.
pub const VARIABLE: &str = "FIRSTTOUCH_AGENT";

/// How the variable begins where it stands in an environment.
pub const ENTRY: &[u8] = b"FIRSTTOUCH_AGENT=";

/// Stands in the settings for the number of the process, which is known only after the fork; the launcher writes the digits
/// over it. Ten of them hold every process number, zeros in front.
pub const PID_PLACEHOLDER: &str = "pid=0000000000";

/// When the pages of a block are created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefault {
    /// Each at its first touch, as without us.
    #[default]
    No = 0,
    /// All with their block, in parallel, before the program has it.
    AtOnce = 1,
    /// By a thread in the background, while the program touches the first of them.
    Background = 2,
}

impl Prefault {
    /// That of a number.
    pub fn of(number: usize) -> Option<Prefault> {
        [Prefault::No, Prefault::AtOnce, Prefault::Background].into_iter().find(|it| *it as usize == number)
    }
}

/// What is asked of the agent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgentSettings<'a> {
    /// The process to place, which keeps its number when it executes another program (Rscript, sh, R); 0 for whoever reads it
    /// first. In other processes the agent stands down and takes itself out of the environment, unless they are followed.
    pub process: u32,
    /// How memory is placed.
    pub memory: Settings,
    /// When the pages of a block are created.
    pub prefault: Prefault,
    /// The programs that this one starts are placed, too.
    pub follow: bool,
    /// The control channel is opened (`channel` of `firsttouch-linux`).
    pub attachable: bool,
    /// The CPUs that threads are bound to in this order; only in the process itself, because every other would begin with the
    /// same CPU.
    pub cpus: Numbers<'a>,
    /// Threads that are not bound, in the order of their creation, the first one being 0.
    pub skip: Numbers<'a>,
    /// Where the record goes. Programs that follow write to `PATH.PID`, if they have placed anything or wanted to.
    pub record: Option<&'a [u8]>,
}

impl<'a> AgentSettings<'a> {
    /// Transparent huge pages for whoever reads it.
    pub const STANDARD: AgentSettings<'static> = AgentSettings {
        process: 0,
        memory: Settings { may_be_sparse: true, may_exceed_memory: true, ..Settings::STANDARD },
        prefault: Prefault::No,
        follow: false,
        attachable: false,
        cpus: Numbers::NONE,
        skip: Numbers::NONE,
        record: None,
    };

    /// Reads a value; `None` if a word does not read, so that nothing is done by half.
    pub fn parse(text: &'a [u8]) -> Option<AgentSettings<'a>> {
        let mut asked = AgentSettings::STANDARD;
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(path) = rest.strip_prefix(b"record=") {
                asked.record = Some(path);
                break;
            }
            let length = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
            let word = core::str::from_utf8(&rest[..length]).ok()?;
            rest = rest.get(length + 1..).unwrap_or(&[]);
            if word.is_empty() {
                continue;
            }
            let (key, value) = word.split_once('=')?;
            let number = || value.parse::<usize>().ok();
            match key {
                "pid" => asked.process = value.parse().ok()?,
                "pages" => asked.memory.pages = Pages::parse(value)?,
                "min" => asked.memory.min_bytes = number()?,
                "max" => asked.memory.max_bytes = number()?,
                "recycle" => asked.memory.recycle_bytes = Some(number()?),
                "zero" => asked.memory.zero = number()? == 1,
                "shares" => asked.memory.shares = Shares::parse(value)?,
                "cpus" => asked.cpus = Numbers::parse(value)?,
                "skip" => asked.skip = Numbers::parse(value)?,
                "prefault" => asked.prefault = Prefault::of(number()?)?,
                "follow" => asked.follow = number()? == 1,
                "resident" => asked.memory.may_ask_for_residency = number()? == 1,
                "attachable" => asked.attachable = number()? == 1,
                _ => return None,
            }
        }
        // What is created before it is touched is wanted whole, where there is room for it.
        asked.memory.may_be_sparse = asked.prefault == Prefault::No && asked.memory.may_ask_for_residency;
        (asked.memory.min_bytes <= asked.memory.max_bytes).then_some(asked)
    }

    /// Writes the value in pieces, as it is read.
    pub fn write(&self, mut piece: impl FnMut(&[u8])) {
        // Writing in pieces never fails.
        let _ = self.write_words(&mut Pieces(&mut piece));
        if let Some(record) = self.record {
            piece(b" record=");
            piece(record);
        }
    }

    fn write_words(&self, out: &mut dyn Write) -> fmt::Result {
        let flag = |flag| u8::from(flag);
        let Settings { pages, min_bytes, max_bytes, recycle_bytes, zero, shares, .. } = self.memory;
        write!(out, "pid={:010} pages={pages} min={min_bytes} max={max_bytes}", self.process)?;
        write!(out, " prefault={} follow={}", self.prefault as usize, flag(self.follow))?;
        if zero {
            write!(out, " zero=1")?;
        }
        if let Some(bytes) = recycle_bytes {
            write!(out, " recycle={bytes}")?;
        }
        for (index, (node, weight)) in shares.nodes().enumerate() {
            write!(out, "{}{node}:{weight}", if index == 0 { " shares=" } else { "," })?;
        }
        for (key, numbers) in [("cpus", self.cpus), ("skip", self.skip)] {
            if !numbers.is_empty() {
                write!(out, " {key}={numbers}")?;
            }
        }
        if !self.memory.may_ask_for_residency {
            write!(out, " resident=0")?;
        }
        if self.attachable {
            write!(out, " attachable=1")?;
        }
        Ok(())
    }
}

struct Pieces<'a>(&'a mut dyn FnMut(&[u8]));

impl Write for Pieces<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        (self.0)(text.as_bytes());
        Ok(())
    }
}

/// Numbers in an order, in memory or in a text like `4-7,0`.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a> {
    list: &'a [u32],
    text: Option<&'a str>,
}

impl<'a> Numbers<'a> {
    /// None at all.
    pub const NONE: Numbers<'static> = Numbers::of(&[]);

    /// These.
    pub const fn of(list: &'a [u32]) -> Numbers<'a> {
        Numbers { list, text: None }
    }

    /// Those of a text: numbers and ascending ranges.
    pub fn parse(text: &'a str) -> Option<Numbers<'a>> {
        let reads = text.split(',').all(|word| range(word).is_some_and(|(first, last)| first <= last));
        reads.then_some(Numbers { list: &[], text: Some(text) })
    }

    /// One by one. A text may stand for a great many.
    pub fn iter(self) -> impl Iterator<Item = u32> + 'a {
        let words = self.text.into_iter().flat_map(|text| text.split(','));
        self.list.iter().copied().chain(words.filter_map(range).flat_map(|(first, last)| first..=last))
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.list.is_empty() && self.text.is_none()
    }
}

impl PartialEq for Numbers<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Display for Numbers<'_> {
    /// Runs of neighbours as ranges.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.text {
            return f.write_str(text);
        }
        let runs = self.list.chunk_by(|a, b| a.checked_add(1) == Some(*b));
        for (index, run) in runs.enumerate() {
            let (first, last) = (run[0], run[run.len() - 1]);
            write!(f, "{}{first}", if index == 0 { "" } else { "," })?;
            if last > first {
                write!(f, "-{last}")?;
            }
        }
        Ok(())
    }
}

fn range(word: &str) -> Option<(u32, u32)> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Some((first.parse().ok()?, last.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn written(settings: &AgentSettings<'_>) -> Vec<u8> {
        let mut text = Vec::new();
        settings.write(|piece| text.extend_from_slice(piece));
        text
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(AgentSettings::parse(&written(&AgentSettings::STANDARD)), Some(AgentSettings::STANDARD));
        assert!(written(&AgentSettings::STANDARD).starts_with(PID_PLACEHOLDER.as_bytes()));
        let asked = AgentSettings {
            process: 4711,
            memory: Settings {
                pages: Pages::Multi(64 << 10),
                min_bytes: 65_536,
                max_bytes: 1 << 30,
                recycle_bytes: Some(0),
                zero: true,
                shares: Shares::of(&[(0, 5), (2, 1)]).unwrap(),
                may_be_sparse: false,
                may_ask_for_residency: false,
                may_exceed_memory: true,
                ..Settings::STANDARD
            },
            prefault: Prefault::Background,
            follow: true,
            attachable: true,
            cpus: Numbers::of(&[4, 5, 6, 7, 0]),
            skip: Numbers::of(&[1, 3]),
            record: Some(b"/tmp/a b=\xff"),
        };
        let text = written(&asked);
        assert_eq!(AgentSettings::parse(&text), Some(asked));
        let words = b" shares=0:5,2:1 cpus=4-7,0 skip=1,3 resident=0 attachable=1 record=/tmp/a b=\xff";
        assert!(text.ends_with(words), "{}", text.escape_ascii());
    }

    #[test]
    fn what_does_not_read_is_nothing() {
        for text in [
            "pages",
            "pages=3m",
            "pid=-1",
            "prefault=3",
            "cpus=",
            "cpus=3-1",
            "skip=x",
            "min=2 max=1",
            "colour=red",
        ] {
            assert_eq!(AgentSettings::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(AgentSettings::parse(b"\xff=1"), None);
        assert_eq!(AgentSettings::parse(b" "), Some(AgentSettings::STANDARD));
    }
}
