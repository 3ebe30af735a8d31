//! Whether the machine explains which runs were slow, in sentences that say what to do about it.

use crate::history::History;
use crate::statistics::association::{Association, associated};
use crate::statistics::layout::Block;
use crate::{Aslr, Plan, SessionRun, TimedRun, Verdict};
use firsttouch_sorted::SortedMap;

/// Something of the machine that may make a run slow.
struct Factor {
    what: &'static str,
    unit: &'static str,
    remedy: &'static str,
    /// How much of it there was, by the second of the run: a longer run must not have more of it for being longer. The more, the worse.
    of: fn(&TimedRun) -> Option<f64>,
}

const FACTORS: [Factor; 4] = [
    Factor {
        what: "more steal (the host of this virtual machine gave our CPUs to others)",
        unit: "CPUs",
        remedy: "measure when the host is quieter, or on a machine of your own",
        of: |run| Some(run.meanwhile.steal_s? / run.wall_s),
    },
    Factor {
        what: "more load by others on this machine",
        unit: "CPUs",
        remedy: "end what else runs here, or give it CPUs of its own",
        of: |run| Some(run.meanwhile.other_cpu_s? / run.wall_s),
    },
    Factor {
        what: "a lower clock frequency",
        unit: "MHz",
        remedy: "fix the frequency, or let the machine cool down",
        of: |run| Some(-run.meanwhile.frequency_mhz?),
    },
    Factor {
        what: "more memory that the host took or gave back",
        unit: "MiB/s",
        remedy: "have the host leave the machine's memory alone meanwhile",
        of: |run| {
            let moved = run.meanwhile.host_taken_bytes? as f64 + run.meanwhile.host_given_bytes? as f64;
            Some(moved / 1_048_576.0 / run.wall_s)
        },
    },
];

/// What the slow runs of a phase have more of than the fast ones of the same configuration.
pub(crate) fn explained(plan: &Plan, history: &History) -> Vec<String> {
    let factors: Vec<Vec<Block>> = FACTORS.iter().map(|factor| history.beside(factor.of)).collect();
    let sentence = |found: Association| {
        let Factor { what, unit, remedy, .. } = &FACTORS[found.factor];
        format!(
            "the {} runs of a configuration were those with {what}: {} {unit} in the {0} half, {} in the other (rank \
             correlation {:.2}); {remedy}",
            plan.objective.word(Verdict::Slower),
            significant(found.slow.abs()),
            significant(found.fast.abs()),
            found.correlation
        )
    };
    associated(&history.blocks, &factors).into_iter().map(sentence).collect()
}

/// Settings that were not the same in all runs, and addresses that were the same in all.
pub(crate) fn settings(runs: &[&[SessionRun]]) -> Vec<String> {
    let all = || runs.iter().flat_map(|runs| runs.iter()).map(|run| &run.timed.meanwhile);
    let governors = counted(all().filter_map(|it| it.governor.clone()));
    let aslr = counted(all().filter_map(|it| it.aslr));
    let mut told = Vec::new();
    if governors.len() > 1 {
        told.push(format!(
            "the governor of the CPUs' frequency changed during the session ({}): runs under different ones are not alike; \
             fix it (cpupower frequency-set --governor performance) and measure again",
            listed(&governors)
        ));
    }
    if aslr.len() > 1 {
        told.push(format!(
            "the randomisation of addresses changed during the session ({}): leave kernel.randomize_va_space alone and measure again",
            listed(&aslr)
        ));
    } else if aslr.contains_key(&Aslr::Off) {
        told.push(
            "addresses are not drawn at random here, so that all runs have one layout, and a difference may be that layout's: sysctl \
             kernel.randomize_va_space=2, and no setarch -R"
                .to_owned(),
        );
    }
    told
}

fn counted<T: Ord>(values: impl Iterator<Item = T>) -> SortedMap<T, u32> {
    let mut counts = SortedMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts
}

/// `performance in 3 runs, powersave in 5`.
fn listed(counts: &SortedMap<impl std::fmt::Display, u32>) -> String {
    let parts: Vec<String> = counts.iter().map(|(value, runs)| format!("{value} in {runs} runs")).collect();
    parts.join(", ")
}

/// Two digits that count; whole numbers whole.
fn significant(value: f64) -> String {
    let digits = if value > 0.0 { (1.0 - value.log10().floor()).clamp(0.0, 4.0) } else { 0.0 };
    format!("{value:.*}", digits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Meanwhile;

    fn runs(settings: &[(&str, Aslr)]) -> Vec<SessionRun> {
        let run = |&(governor, aslr): &(&str, Aslr)| {
            let meanwhile =
                Meanwhile { governor: Some(governor.to_owned()), aslr: Some(aslr), ..Meanwhile::default() };
            SessionRun { timed: TimedRun { meanwhile, ..TimedRun::default() }, ..SessionRun::default() }
        };
        settings.iter().map(run).collect()
    }

    #[test]
    fn settings_that_change_are_told() {
        let told = |settings: &[(&str, Aslr)]| super::settings(&[&runs(settings), &[]]).join("\n");
        let steady = ("performance", Aslr::Full);
        assert_eq!(told(&[steady, steady]), "");
        assert_eq!(super::settings(&[&[SessionRun::default()]]), Vec::<String>::new(), "nothing is known");
        let changed = told(&[steady, ("powersave", Aslr::Off), steady]);
        assert!(changed.contains("performance in 2 runs, powersave in 1 runs"), "{changed}");
        assert!(changed.contains("off in 1 runs, full in 2 runs"), "{changed}");
        assert!(told(&[("x", Aslr::Off)]).contains("one layout"));
    }

    #[test]
    fn figures_are_short() {
        assert_eq!([0.0, 0.0123, 0.31, 2.5, 3412.0].map(significant), ["0", "0.012", "0.31", "2.5", "3412"]);
    }
}
