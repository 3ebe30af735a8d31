//! The untimed run of a configuration: what it obtains, and what it takes.

use crate::conditions::Conditions;
use crate::demand;
use crate::metric::Meter;
use crate::preparation::Warmth;
use crate::run::{Manner, RunError, Waiting, run_once};
use crate::start::Start;
use firsttouch_experiment::TimedRun;
use firsttouch_linux::process::Status;
use firsttouch_linux::sysinfo;
use firsttouch_machine::Root;
use firsttouch_placement::{Pages, Placement, Receipt, pool_bytes};
use firsttouch_process::Stream;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// As much of the program's last words as helps.
const LAST_WORDS_BYTES: usize = 2000;

/// What the untimed run of a configuration showed.
#[derive(Debug)]
pub(crate) struct Probe {
    /// What the program had; for a configuration without a placement `asked` in it means nothing.
    pub(crate) receipt: Receipt,
    /// What it took, while somebody looked.
    pub(crate) used: TimedRun,
    /// What the largest of its processes had, or what the machine had less meanwhile.
    pub(crate) memory_bytes: u64,
    /// What of it is on pages of a pool, which are in no resident set.
    pub(crate) pool_bytes: u64,
    /// The processor that OpenBLAS chose its code for, if the program uses it and says so.
    pub(crate) openblas_core: Option<String>,
}

/// Runs a program once, untimed, and looks at what it gets; what it says lies in `folder` meanwhile. It is asked to end when
/// `stop` becomes true. `warmth` is memory that the program may have meanwhile.
///
/// # Errors
/// Where the program did not start, or failed, or has nothing that could be judged.
pub(crate) fn probe(
    start: &Start,
    conditions: &Conditions,
    meter: &Meter,
    folder: &Path,
    stop: &AtomicBool,
    warmth: Option<&Warmth>,
) -> Result<Probe, RunError> {
    let words = folder.join("stderr");
    let mut streams = [conditions.input(), Stream::Null, Stream::File(words.clone())];
    let written = meter.prepare(&mut streams)?;
    let manner = Manner {
        streams,
        variables: vec![("OPENBLAS_VERBOSE", "2".into())],
        waiting: Waiting::Measuring { events: meter.events(), stop },
    };
    let holder = warmth.and_then(Warmth::holder);
    let available = || {
        let text = Root::live().read("proc/meminfo").ok()??;
        let held = holder.and_then(|pid| Status::read(&Root::live(), pid).ok()?.resident_bytes());
        Some(sysinfo::meminfo(&text).available_bytes? + held.unwrap_or(0))
    };
    let (ran, taken_bytes) = demand::meanwhile(available, || run_once(start, &manner, true));
    let mut ran = ran?;
    let said = std::fs::read(&words).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let ending = ran.finished.ending;
    let own = own_words(&said);
    let last_words = tail(&own).trim_end();
    match ran.receipt {
        Some(receipt) if conditions.accepts(ending) => {
            let pool_bytes = pool_bytes(start.asked(), Some(&receipt));
            meter.judge(&mut ran.finished.used, written, pool_bytes)?;
            Ok(Probe {
                receipt,
                memory_bytes: ran.finished.used.max_rss_bytes.max(taken_bytes.unwrap_or(0)),
                used: ran.finished.used,
                pool_bytes,
                openblas_core: openblas_core(&said),
            })
        }
        _ if last_words.is_empty() => Err(RunError::Program(ending)),
        _ => Err(RunError::ProgramSaid { ending, last_words: last_words.to_owned() }),
    }
}

/// The end of a text, from the beginning of a line where there is one.
fn tail(text: &str) -> &str {
    let Some(start) = text.len().checked_sub(LAST_WORDS_BYTES) else { return text };
    let start = (start..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text[start..].split_once('\n').map_or(&text[start..], |(_, rest)| rest)
}

/// What OpenBLAS begins a line with, before the name of its code, when it is asked to be verbose.
const OPENBLAS_CORE: &str = "Core: ";

/// It says so anew where a program starts itself anew: the last is what runs.
fn openblas_core(said: &str) -> Option<String> {
    said.lines().rev().find_map(|line| line.strip_prefix(OPENBLAS_CORE)).map(|core| core.trim().to_owned())
}

/// What the program says without being asked.
fn own_words(said: &str) -> String {
    said.split_inclusive('\n').filter(|line| !line.starts_with(OPENBLAS_CORE)).collect()
}

/// A placement obtained what it asked for when nearly all of what is there lies on pages of that size.
pub(crate) fn obtained_enough(asked: &Placement, receipt: &Receipt) -> bool {
    const ENOUGH: f64 = 0.95;
    if asked.pages == Pages::Plain {
        let elsewhere: u64 = receipt.shortfalls.iter().map(|shortfall| shortfall.bytes).sum();
        let all = receipt.obtained.as_ref().map_or(0, |obtained| obtained.placed_bytes);
        return elsewhere as f64 <= all as f64 * (1.0 - ENOUGH);
    }
    let share =
        receipt.obtained.as_ref().and_then(|obtained| obtained.share_on_pages_of(asked.pages.bytes() as u64));
    share.is_none_or(|share| share >= ENOUGH) && (receipt.obtained.is_some() || receipt.shortfalls.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_begins_with_a_line() {
        assert_eq!(tail("a\nb\n"), "a\nb\n");
        let long = "é".repeat(LAST_WORDS_BYTES) + "\nlast";
        assert_eq!(tail(&long), "last");
        let unbroken = "é".repeat(LAST_WORDS_BYTES);
        assert!(tail(&unbroken).len() <= LAST_WORDS_BYTES);
    }

    #[test]
    fn the_core_is_read_from_what_openblas_says() {
        assert_eq!(openblas_core("Core: Prescott\nx\nCore: SkylakeX\ny").as_deref(), Some("SkylakeX"));
        assert_eq!(openblas_core("the Core: none"), None);
        assert_eq!(
            own_words("Core: Haswell\nthe Core: x\ndid not converge"),
            "the Core: x\ndid not converge"
        );
    }
}
