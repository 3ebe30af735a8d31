//! `doctor --measure`: how fast the memory of this machine is, as a whole and of each node, by runs of the cases of `bench`.

use crate::bench::CaseRun;
use crate::exit::INTERRUPTED;
use crate::interrupt::Interrupt;
use crate::output::{Failure, Outcome};
use crate::program;
use crate::progress_lines::ProgressLines;
use crate::report::document;
use anyhow::Context;
use firsttouch_documents::{AnyDocument, DoctorHost, Quantity, Unseen};
use firsttouch_launch::{Here, Manner, Start, Subject, Waiting, Workshop, run_once};
use firsttouch_linux::sysinfo::meminfo;
use firsttouch_machine::{Machine, Node, Root};
use firsttouch_placement::{Pages, Placement, format_bytes};
use firsttouch_process::{Ending, Environment, Stream};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The fastest of so many runs counts: what disturbs a run only makes it slower.
const RUNS: u32 = 3;

/// The quick sizes of the cases are several times as large as these caches; theirs otherwise are large enough for any.
const QUICK_CACHES: u64 = 32 << 20;

/// What was measured, and why the rest was not.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) values: BTreeMap<String, u64>,
    pub(super) unseen: Vec<Unseen>,
}

/// How a quantity is measured.
struct Way {
    /// The case, with what is chosen of it.
    words: &'static [&'static str],
    /// The parameter that says how large its memory is, of which it takes so many times as much.
    size: &'static str,
    times: u64,
    /// The size where caches are small, and otherwise: those of the case.
    quick_bytes: u64,
    full_bytes: u64,
}

impl Way {
    const fn new(words: &'static [&'static str], size: &'static str, times: u64, mib: [u64; 2]) -> Way {
        Way { words, size, times, quick_bytes: mib[0] << 20, full_bytes: mib[1] << 20 }
    }

    fn of(quantity: &Quantity) -> Way {
        match quantity.word {
            "latency_ps" => Way::new(&["latency"], "table", 1, [256, 1024]),
            "creation_4k_bytes_per_s" => Way::new(&CREATION_4K, "size", 1, [64, 1024]),
            "creation_thp_bytes_per_s" => Way::new(&CREATION_THP, "size", 1, [64, 1024]),
            _ => Way::new(&["stream"], "array", 3, [128, 512]),
        }
    }

    /// The size to measure at: as much as the case would take, or the largest half, quarter … of it that leaves room and is memory and
    /// not cache. Or the room that is needed.
    fn size(&self, largest_cache: Option<u64>, room: Option<u64>) -> Result<u64, u64> {
        let wanted = match largest_cache {
            Some(bytes) if bytes <= QUICK_CACHES => self.quick_bytes,
            _ => self.full_bytes,
        };
        let least = largest_cache.map_or(wanted, |bytes| bytes.saturating_mul(4).max(LEAST_BYTES));
        // A quarter stays free: what is bound to a node that is full is killed, or something else on it.
        let needed = |bytes: u64| bytes.saturating_mul(self.times) / 3 * 4;
        let has_room = |bytes: &u64| room.is_none_or(|room| needed(*bytes) <= room);
        let smaller =
            std::iter::successors(Some(wanted), |bytes| Some(bytes / 2).filter(|half| *half >= least));
        smaller.into_iter().find(has_room).ok_or(needed(wanted.min(least)))
    }
}

const CREATION_4K: [&str; 5] = ["creation", "--variant", "touch", "--set", "pages=4k"];
const CREATION_THP: [&str; 5] = ["creation", "--variant", "touch", "--set", "pages=thp"];

/// Less is measured with what a clock and a scheduler add.
const LEAST_BYTES: u64 = 16 << 20;

/// Memory that can be had now without anybody losing some: of a node, or of all.
fn room(machine: &Machine, node: Option<u32>) -> Option<u64> {
    let Some(node) = node else { return machine.memory_for_us_bytes() };
    let text = Root::live().read(&format!("sys/devices/system/node/node{node}/meminfo")).ok()??;
    let known = meminfo(&text);
    let of_node = known.free_bytes? + known.inactive_file_bytes.unwrap_or(0);
    Some(machine.memory_for_us_bytes().map_or(of_node, |all| all.min(of_node)))
}

/// Measures all quantities, by their words.
pub(super) fn measure(machine: &Machine) -> Outcome<Measured> {
    // What runs ends with us, and the folder goes.
    let interrupt = Interrupt::listen().context("cannot listen to signals")?;
    let environment = program::environment();
    let folder = Workshop::new(&environment).context("cannot make a folder")?;
    let result = folder.path().join("result");
    let here = Here::on(machine.clone(), None);
    let lines = ProgressLines::new();
    let largest_cache = machine.caches.iter().filter_map(|cache| cache.size_bytes).max();
    let mut measured = Measured::default();
    for node in std::iter::once(None).chain(nodes(machine)) {
        for quantity in &Quantity::ALL {
            let word = quantity.word_of(node);
            let (way, room) = (Way::of(quantity), room(machine, node));
            let bytes = match way.size(largest_cache, room) {
                Ok(bytes) => bytes,
                Err(needed) => {
                    let free = format_bytes(room.unwrap_or(0));
                    let why = format!("{free} can be had, and {} are needed", format_bytes(needed));
                    measured.unseen.push(Unseen { topic: word, why });
                    continue;
                }
            };
            let start = start(&way, bytes, node, &here, &environment, &result)?;
            let mut values = Vec::new();
            for run in 1..=RUNS {
                lines.show(&format!("{word}: run {run} of {RUNS}"));
                let ran = one_run(&start, &result, interrupt.flag());
                if interrupt.asked() {
                    return Err(Failure::message("interrupted").code(INTERRUPTED));
                }
                match ran.and_then(|run| value(quantity, &run)) {
                    Ok(value) => values.push(value),
                    // The others can still be measured.
                    Err(error) => {
                        measured.unseen.push(Unseen { topic: word.clone(), why: format!("{error:#}") });
                        break;
                    }
                }
            }
            let best = if quantity.more_is_better { values.iter().max() } else { values.iter().min() };
            measured.values.extend(best.map(|best| (word, *best)));
        }
    }
    Ok(measured)
}

/// The nodes with CPUs and memory of their own, where there are several: the others have nobody who could measure them alone.
fn nodes(machine: &Machine) -> Vec<Option<u32>> {
    let whole = |node: &&Node| !node.cpus.is_empty() && node.size_bytes.is_some_and(|bytes| bytes > 0);
    let whole: Vec<_> = machine.nodes.iter().filter(whole).map(|node| Some(node.id)).collect();
    if whole.len() > 1 { whole } else { Vec::new() }
}

/// A run of the case that leaves what it says in `result`, on the CPUs and the memory of one node if there is one.
fn start(
    way: &Way,
    bytes: u64,
    node: Option<u32>,
    here: &Here,
    environment: &Environment,
    result: &Path,
) -> Outcome<Start> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut words: Vec<OsString> = vec![program.into(), "case".into()];
    words.extend(way.words.iter().map(Into::into));
    words.extend((bytes <= way.quick_bytes).then(|| "--quick".into()));
    words.extend(["--set".into(), format!("{}={bytes}", way.size).into()]);
    words.extend(["--result".into(), result.into()]);
    let subject = Subject::find(&words, environment).map_err(program::not_runnable)?;
    let asked = match node {
        Some(node) => format!("plain,node={node}").parse::<Placement>()?,
        None => Placement { pages: Pages::Plain, ..Placement::default() },
    };
    let resolved = here.resolve(&asked).map_err(Failure::hinted)?;
    Start::placed(&subject, environment.clone(), &asked, resolved, false).map_err(Failure::hinted)
}

fn one_run(start: &Start, result: &Path, stop: &AtomicBool) -> anyhow::Result<CaseRun> {
    let manner = Manner {
        streams: [Stream::Null, Stream::Null, Stream::Inherit],
        variables: Vec::new(),
        waiting: Waiting::Measuring { events: &[], stop },
    };
    let ending = run_once(start, &manner, false)?.finished.ending;
    anyhow::ensure!(ending == Ending::Exited(0), "the case ended with {ending}");
    Ok(CaseRun::read(result)?)
}

/// What a run says of the quantity.
fn value(quantity: &Quantity, run: &CaseRun) -> anyhow::Result<u64> {
    let work = run.work.context("the case does not tell its work")?;
    Ok(if quantity.more_is_better {
        (work.bytes as f64 / run.seconds) as u64
    } else {
        (run.seconds * 1e12 / work.operations as f64) as u64
    })
}

/// What a document of `doctor` has measured of one host.
struct Earlier {
    file: String,
    host: String,
    values: BTreeMap<String, u64>,
}

/// What was measured earlier, of one host or of many.
pub(super) struct Against(Vec<Earlier>);

impl Against {
    pub(super) fn read(files: &[PathBuf]) -> Outcome<Against> {
        let mut all = Vec::new();
        for file in files {
            let shown = file.display().to_string();
            let report = match document(file) {
                Ok(AnyDocument::Doctor(report)) => report,
                _ => {
                    let failure = Failure::message(format!("{shown} is no document of `doctor`"));
                    return Err(failure.usage().hint("firsttouch doctor --measure --json > FILE writes one"));
                }
            };
            let before = all.len();
            let measured = report.hosts.into_iter().filter(|host| !host.measured.is_empty());
            let earlier =
                |host: DoctorHost| Earlier { file: shown.clone(), host: host.name, values: host.measured };
            all.extend(measured.map(earlier));
            if all.len() == before {
                let failure = Failure::message(format!("nothing was measured in {shown}"));
                return Err(failure.usage().hint("firsttouch doctor --measure --json > FILE measures"));
            }
        }
        Ok(Against(all))
    }

    /// What to hold a host against, and where that is from: what it measured itself, as its name says; or else what all hosts did. Of
    /// several measurements the median of each quantity; `None` where there are none.
    pub(super) fn of(&self, host: &str) -> Option<(String, BTreeMap<String, u64>)> {
        let own: Vec<&Earlier> = self.0.iter().filter(|earlier| earlier.host == host).collect();
        let (all, what) = match own.is_empty() {
            true => (self.0.iter().collect(), "machines".to_owned()),
            false => (own, format!("measurements of {host}")),
        };
        if let [one] = all[..] {
            return Some((format!("{}, {}", one.file, one.host), one.values.clone()));
        }
        let mut by_word: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (word, value) in all.iter().flat_map(|earlier| &earlier.values) {
            by_word.entry(word).or_default().push(*value);
        }
        let median = |(word, values): (&str, Vec<u64>)| {
            let (quantity, _) = Quantity::of(word)?;
            Some((word.to_owned(), quantity.median(values)?))
        };
        let values = by_word.into_iter().filter_map(median).collect();
        (!all.is_empty()).then(|| (format!("the median of {} {what}", all.len()), values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_larger_than_caches_and_leaves_room() {
        const MIB: u64 = 1 << 20;
        let stream = Way::of(&Quantity::ALL[0]);
        // Three arrays, and a third more.
        assert_eq!(stream.size(Some(32 * MIB), None), Ok(128 * MIB));
        assert_eq!(stream.size(Some(96 * MIB), Some(1 << 40)), Ok(512 * MIB));
        assert_eq!(stream.size(None, Some(1 << 40)), Ok(512 * MIB));
        assert_eq!(stream.size(Some(32 * MIB), Some(512 * MIB)), Ok(128 * MIB));
        assert_eq!(stream.size(Some(16 * MIB), Some(300 * MIB)), Ok(64 * MIB));
        assert_eq!(stream.size(Some(32 * MIB), Some(300 * MIB)), Err(512 * MIB));
        // Not known what the caches are: as the case has it, or not at all.
        assert_eq!(stream.size(None, Some(300 * MIB)), Err(2048 * MIB));
    }

    #[test]
    fn a_host_is_held_against_itself_and_others_against_the_one_in_the_middle() {
        let earlier = |host: &str, bandwidth, latency| {
            let words = [("bandwidth_bytes_per_s".to_owned(), bandwidth), ("latency_ps".to_owned(), latency)];
            Earlier { file: "f".to_owned(), host: host.to_owned(), values: BTreeMap::from(words) }
        };
        let of = |earlier: Vec<Earlier>, host: &str| {
            let (source, values) = Against(earlier).of(host)?;
            Some((source, values["bandwidth_bytes_per_s"], values["latency_ps"]))
        };
        assert_eq!(of(Vec::new(), "a"), None);
        let two = || vec![earlier("a", 9, 5), earlier("b", 8, 6)];
        let all = || two().into_iter().chain([earlier("c", 1, 50)]).collect();
        assert_eq!(of(two(), "a"), Some(("f, a".to_owned(), 9, 5)));
        assert_eq!(of(two(), "d"), Some(("the median of 2 machines".to_owned(), 8, 6)));
        assert_eq!(of(all(), "d"), Some(("the median of 3 machines".to_owned(), 8, 6)));
        assert_eq!(of(vec![earlier("a", 9, 5)], "d"), Some(("f, a".to_owned(), 9, 5)));
        let twice = two().into_iter().chain([earlier("a", 7, 7)]).collect();
        assert_eq!(of(twice, "a"), Some(("the median of 2 measurements of a".to_owned(), 7, 7)));
    }
}
