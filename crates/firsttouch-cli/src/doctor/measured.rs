//! `doctor --measure`: how fast the memory of this machine is, as a whole and of each node, by runs of the cases of `bench`.

use crate::bench::CaseRun;
use crate::output::{Failure, Outcome};
use crate::program;
use crate::progress_lines::ProgressLines;
use crate::report::document;
use anyhow::Context;
use firsttouch_documents::{AnyDocument, Quantity};
use firsttouch_launch::{Here, Manner, Start, Subject, Waiting, Workshop, run_once};
use firsttouch_machine::{Machine, Node};
use firsttouch_placement::{Pages, Placement};
use firsttouch_process::{Ending, Environment, Stream};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The fastest of so many runs counts: what disturbs a run only makes it slower.
const RUNS: u32 = 3;

/// The quick sizes of the cases are eight times as large as these caches; theirs otherwise are large enough for any.
const QUICK_CACHES: u64 = 32 << 20;

/// The case that measures a quantity, with what is chosen of it.
fn case_of(quantity: &Quantity) -> &'static [&'static str] {
    match quantity.word {
        "latency_ps" => &["latency"],
        "creation_4k_bytes_per_s" => &["creation", "--variant", "touch", "--set", "pages=4k"],
        "creation_thp_bytes_per_s" => &["creation", "--variant", "touch", "--set", "pages=thp"],
        _ => &["stream"],
    }
}

/// Measures all quantities, by their words.
pub(super) fn measure(machine: &Machine) -> Outcome<BTreeMap<String, u64>> {
    let environment = program::environment();
    let folder = Workshop::new(&environment).context("cannot make a folder")?;
    let result = folder.path().join("result");
    let here = Here::on(machine.clone(), None);
    let lines = ProgressLines::new();
    let mut values = BTreeMap::new();
    for node in std::iter::once(None).chain(nodes(machine)) {
        for quantity in &Quantity::ALL {
            let start = start(quantity, node, &here, &environment, &result)?;
            let word = quantity.word_of(node);
            let mut best: Option<u64> = None;
            for run in 1..=RUNS {
                lines.show(&format!("{word}: run {run} of {RUNS}"));
                let value = one_run(&start, &result).and_then(|run| value(quantity, &run));
                let value = value.with_context(|| format!("cannot measure {word}"))?;
                let better = |old: u64| if quantity.more_is_better { old.max(value) } else { old.min(value) };
                best = Some(best.map_or(value, better));
            }
            values.extend(best.map(|best| (word, best)));
        }
    }
    Ok(values)
}

/// The nodes with CPUs and memory of their own, where there are several: the others have nobody who could measure them alone.
fn nodes(machine: &Machine) -> Vec<Option<u32>> {
    let whole = |node: &&Node| !node.cpus.is_empty() && node.size_bytes.is_some_and(|bytes| bytes > 0);
    let whole: Vec<_> = machine.nodes.iter().filter(whole).map(|node| Some(node.id)).collect();
    if whole.len() > 1 { whole } else { Vec::new() }
}

/// A run of the case that leaves what it says in `result`, on the CPUs and the memory of one node if there is one.
fn start(
    quantity: &Quantity,
    node: Option<u32>,
    here: &Here,
    environment: &Environment,
    result: &Path,
) -> Outcome<Start> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut words: Vec<OsString> = vec![program.into(), "case".into()];
    words.extend(case_of(quantity).iter().map(Into::into));
    words.extend(["--result".into(), result.into()]);
    let largest_cache = here.machine().caches.iter().filter_map(|cache| cache.size_bytes).max();
    // Memory is measured, not caches.
    words.extend(largest_cache.is_some_and(|bytes| bytes <= QUICK_CACHES).then(|| "--quick".into()));
    let subject = Subject::find(&words, environment).map_err(program::not_runnable)?;
    let asked = match node {
        Some(node) => format!("plain,node={node}").parse::<Placement>()?,
        None => Placement { pages: Pages::Plain, ..Placement::default() },
    };
    let resolved = here.resolve(&asked).map_err(Failure::hinted)?;
    Start::placed(&subject, environment.clone(), &asked, resolved, false).map_err(Failure::hinted)
}

fn one_run(start: &Start, result: &Path) -> anyhow::Result<CaseRun> {
    let stop = AtomicBool::new(false);
    let manner = Manner {
        streams: [Stream::Null, Stream::Null, Stream::Inherit],
        variables: Vec::new(),
        waiting: Waiting::Measuring { events: &[], stop: &stop },
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

/// What documents of `doctor` have measured, by the name of each host in them.
pub(super) fn read(files: &[PathBuf]) -> Outcome<Vec<(String, BTreeMap<String, u64>)>> {
    let mut all = Vec::new();
    for file in files {
        let shown = file.display();
        let report = match document(file) {
            Ok(AnyDocument::Doctor(report)) => report,
            _ => {
                let failure = Failure::message(format!("{shown} is no document of `doctor`"));
                return Err(failure.usage().hint("firsttouch doctor --measure --json > FILE writes one"));
            }
        };
        let before = all.len();
        let measured = report.hosts.into_iter().filter(|host| !host.measured.is_empty());
        all.extend(measured.map(|host| (format!("{shown}, {}", host.name), host.measured)));
        if all.len() == before {
            let failure = Failure::message(format!("nothing was measured in {shown}"));
            return Err(failure.usage().hint("firsttouch doctor --measure --json > FILE measures"));
        }
    }
    Ok(all)
}

/// Of several machines the median of each quantity; of one machine its own.
pub(super) fn peers(
    mut all: Vec<(String, BTreeMap<String, u64>)>,
) -> Option<(String, BTreeMap<String, u64>)> {
    if all.len() <= 1 {
        return all.pop();
    }
    let mut by_word: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (word, value) in all.iter().flat_map(|(_, values)| values) {
        by_word.entry(word).or_default().push(*value);
    }
    let median = |(word, values): (&str, Vec<u64>)| {
        let (quantity, _) = Quantity::of(word)?;
        Some((word.to_owned(), quantity.median(values)?))
    };
    Some((format!("the median of {} machines", all.len()), by_word.into_iter().filter_map(median).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_machines_the_one_in_the_middle_counts() {
        let machine = |bandwidth, latency| {
            let words = [("bandwidth_bytes_per_s".to_owned(), bandwidth), ("latency_ps".to_owned(), latency)];
            ("m".to_owned(), BTreeMap::from(words))
        };
        assert_eq!(peers(Vec::new()), None);
        assert_eq!(peers(vec![machine(9, 5)]), Some(machine(9, 5)));
        let of = |machines| peers(machines).unwrap().1;
        assert_eq!(of(vec![machine(9, 5), machine(1, 50), machine(8, 6)]), machine(8, 6).1);
        assert_eq!(of(vec![machine(9, 5), machine(8, 6)]), machine(8, 6).1);
    }
}
