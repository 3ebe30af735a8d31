//! Whoever follows a session.

use super::variants::Variant;
use firsttouch_experiment::Observer;
use firsttouch_placement::SkippedConfiguration;
use std::fmt;

/// Is told what a session does.
pub trait TuneObserver: Observer {
    /// Something before the timed runs.
    fn stage(&mut self, stage: &Stage<'_>);

    /// The timed runs begin: of these configurations, which are numbered in this order from here on.
    fn timing(&mut self, names: &[String]);
}

/// What a session does before its timed runs. It is shown as a line to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage<'a> {
    /// It has chosen what to compare.
    Comparing {
        /// The configurations, the baseline first.
        names: &'a [&'a str],
        /// The seed of the random order.
        seed: u64,
    },
    /// It cannot try these here; its report says why.
    NotPossible {
        /// Their names.
        names: &'a [&'a str],
    },
    /// It runs a configuration once, untimed.
    LookingAt {
        /// Its name.
        name: &'a str,
    },
    /// It runs all configurations once more, untimed.
    WarmingUp {
        /// Which untimed run it is of each.
        run: u32,
        /// Of how many.
        runs: u32,
    },
    /// OpenBLAS was seen to choose its code.
    OpenBlas {
        /// The processor that the code is for.
        core: &'a str,
    },
}

impl fmt::Display for Stage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Comparing { names, seed } => write!(f, "comparing {} (seed {seed})", names.join(", ")),
            Stage::NotPossible { names } => {
                write!(f, "not possible here: {} (the end says why)", names.join(", "))
            }
            Stage::LookingAt { name } => write!(f, "looking at {name}"),
            Stage::WarmingUp { run, runs } => write!(f, "untimed run {run} of {runs} of each"),
            Stage::OpenBlas { core } => write!(f, "OpenBLAS runs its code for {core}"),
        }
    }
}

pub(super) fn announce(
    observer: &mut dyn TuneObserver,
    variants: &[Variant],
    skipped: &[SkippedConfiguration],
    seed: u64,
) {
    let names: Vec<&str> = variants.iter().map(|variant| variant.configuration.name.as_str()).collect();
    observer.stage(&Stage::Comparing { names: &names, seed });
    if !skipped.is_empty() {
        let names: Vec<&str> = skipped.iter().map(|skipped| skipped.name.as_str()).collect();
        observer.stage(&Stage::NotPossible { names: &names });
    }
}
