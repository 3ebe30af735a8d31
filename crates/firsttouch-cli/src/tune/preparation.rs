//! Between the runs: no configuration may inherit what the one before left behind.

use super::surroundings::Supplies;
use firsttouch_machine::Root;
use firsttouch_process::{Environment, Launch, Stream};
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
    warm: Option<Warm>,
    warnings: Vec<String>,
}

#[derive(Debug)]
struct Warm {
    program: PathBuf,
    environment: Environment,
    bytes: u64,
}

impl Preparation {
    /// `warm_bytes` is what the largest probe used, or `None` for no warm-up.
    pub(crate) fn new(
        before: Option<Supplies>,
        warm_bytes: Option<u64>,
        environment: &Environment,
    ) -> Preparation {
        let warm = warm_bytes.and_then(|bytes| {
            let program = std::env::current_exe().ok()?;
            // In large pages, where they can be had: the sooner it is done, the less cools down meanwhile.
            let mut environment = environment.clone();
            environment.set("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
            Some(Warm { program, environment, bytes })
        });
        Preparation { before, warm, warnings: Vec::new() }
    }

    pub(crate) fn prepare(&mut self) {
        let available = self.settle();
        if let Some(warm) = &self.warm {
            let limit = available.map(|bytes| bytes / WARM_SHARE.1 * WARM_SHARE.0);
            let bytes = warm.bytes.min(limit.unwrap_or(warm.bytes));
            let words = ["warm".to_owned(), bytes.to_string()];
            let mut launch = Launch::new(&warm.program, words, warm.environment.clone());
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

    pub(crate) fn into_warnings(self) -> Vec<String> {
        self.warnings
    }
}
