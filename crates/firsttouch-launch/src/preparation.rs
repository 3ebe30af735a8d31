//! Between the runs: no configuration may inherit what the one before left behind.

use crate::surroundings::Supplies;
use firsttouch_machine::Root;
use firsttouch_process::{Environment, Launch, Stream};
use std::ffi::OsString;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// Share of the available memory that a warm-up may take.
const WARM_SHARE: (u64, u64) = (4, 5);
/// Memory comes back within milliseconds after the end of a program; a second covers the slowest machines.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Warms up and waits for memory before each run.
#[derive(Debug)]
pub(crate) struct Preparation {
    before: Option<Supplies>,
    /// The program, and how many bytes it touches.
    warm: Option<(WarmUp, u64)>,
    environment: Environment,
    warnings: Vec<String>,
}

/// A program that touches as much memory as it is told, and releases it by ending.
#[derive(Clone, Debug)]
pub struct WarmUp {
    /// The program.
    pub program: PathBuf,
    /// Its arguments; one more follows, the number of bytes.
    pub arguments: Vec<OsString>,
}

impl Preparation {
    /// Compares with `before` after each run, where it is given; has a program in `environment` touch so many bytes, if one is given.
    pub(crate) fn new(
        before: Option<Supplies>,
        warm: Option<(WarmUp, u64)>,
        environment: &Environment,
    ) -> Preparation {
        // In large pages, where they can be had: the sooner it is done, the less cools down meanwhile.
        let mut environment = environment.clone();
        environment.set("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
        Preparation { before, warm, environment, warnings: Vec::new() }
    }

    /// Does what is due before a run.
    pub(crate) fn prepare(&mut self) {
        let available = self.settle();
        if let Some((warm, bytes)) = &self.warm {
            let limit = available.map(|bytes| bytes / WARM_SHARE.1 * WARM_SHARE.0);
            let bytes = limit.map_or(*bytes, |limit| limit.min(*bytes));
            let words = warm.arguments.iter().cloned().chain([OsString::from(bytes.to_string())]);
            let mut launch = Launch::new(&warm.program, words, self.environment.clone());
            launch.streams = [Stream::Null, Stream::Null, Stream::Null];
            let done = launch.measure(&[], None).is_ok_and(|finished| finished.ending.is_success());
            if !done {
                self.warn(
                    "the warm-up before a run failed: first touch may be slow by chance; free some memory",
                );
            }
        }
    }

    /// Waits, within bounds, until memory and pools are as they were; answers the memory available then.
    fn settle(&mut self) -> Option<u64> {
        let before = self.before.as_ref()?;
        let mut missing = None;
        for _ in 0..TRIES {
            let now = Supplies::read(&Root::live())?;
            missing = now.missing(before);
            if missing.is_none() {
                return now.available_bytes();
            }
            thread::sleep(PAUSE);
        }
        if let Some(missing) = missing {
            self.warn(&format!(
                "{missing} did not come back after a run: later runs had less than earlier ones; end what else \
                 uses memory"
            ));
        }
        // From here on this is what there is: the same loss is told once.
        self.before = Supplies::read(&Root::live());
        self.before.as_ref()?.available_bytes()
    }

    fn warn(&mut self, warning: &str) {
        if !self.warnings.iter().any(|earlier| earlier == warning) {
            self.warnings.push(warning.to_owned());
        }
    }

    /// What went wrong on the way.
    pub(crate) fn into_warnings(self) -> Vec<String> {
        self.warnings
    }
}
