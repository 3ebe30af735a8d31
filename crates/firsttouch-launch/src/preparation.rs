//! Between the runs: no configuration may inherit what the one before left behind.

use crate::surroundings::Supplies;
use firsttouch_linux::remote::poll;
use firsttouch_machine::Root;
use firsttouch_process::{Environment, Launch, Running, Stream};
use rustix::process::Signal;
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Share of the memory that could be had that a warm-up may take, with what the program takes meanwhile.
const WARM_SHARE: (u64, u64) = (4, 5);
/// Memory comes back within milliseconds after the end of a program; a second covers the slowest machines.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);
/// A helper hangs that has not touched so much in each second, nor all of it in the first minute. Memory that a host has to find comes at a
/// hundred times that.
const SLOWEST: u64 = 16 << 20;
const FIRST: Duration = Duration::from_secs(60);
/// And one that its input's end has not ended by then.
const LAST: Duration = Duration::from_secs(1);
/// How soon it is noticed while we wait that somebody asked to end.
const NOTICE: Duration = Duration::from_millis(100);

/// Warms up and waits for memory before each run.
#[derive(Debug)]
pub(crate) struct Preparation {
    before: Option<Supplies>,
    warm_up: Option<WarmUp>,
    /// How much it touches; 0 as long as nobody knows what is needed.
    warm_bytes: u64,
    environment: Environment,
    warnings: Vec<String>,
}

/// A program that touches as much memory as it is told and writes a line then. It gives the memory back as others take some, and
/// ends when its input does ([`crate::warm()`]).
#[derive(Clone, Debug)]
pub struct WarmUp {
    /// The program.
    pub program: PathBuf,
    /// Its arguments; one more follows, the number of bytes.
    pub arguments: Vec<OsString>,
}

/// Memory that is kept warm for as long as this lives.
#[derive(Debug)]
pub(crate) struct Warmth {
    /// The helper's input and the helper; both go together.
    helper: Option<(Option<PipeWriter>, Running)>,
}

/// Why memory is not warm.
#[derive(Debug, PartialEq, Eq)]
enum Cold {
    /// The helper did not start, or ended without a word.
    Failed,
    /// It has said nothing for too long.
    Hangs,
    /// Somebody asked to end.
    Interrupted,
}

impl From<io::Error> for Cold {
    fn from(_: io::Error) -> Cold {
        Cold::Failed
    }
}

impl Warmth {
    /// The process that has the memory.
    pub(crate) fn holder(&self) -> Option<u32> {
        self.helper.as_ref().map(|(_, running)| running.pid())
    }
}

impl Drop for Warmth {
    fn drop(&mut self) {
        if let Some((input, running)) = self.helper.take() {
            drop(input);
            end(running, LAST);
        }
    }
}

/// Waits for the end of a helper, which has so long for it.
fn end(helper: Running, within: Duration) {
    if !helper.handle().and_then(|handle| handle.wait_ended(Some(within))).unwrap_or(false) {
        let _ = helper.kill(Signal::KILL.as_raw());
    }
    let _ = helper.wait();
}

impl Preparation {
    /// Compares with `before` after each run, where it is given; has a program in `environment` touch memory, if one is given, once it is
    /// known [how much](Self::warm_at_least).
    pub(crate) fn new(
        before: Option<Supplies>,
        warm_up: Option<WarmUp>,
        environment: &Environment,
    ) -> Preparation {
        Preparation { before, warm_up, warm_bytes: 0, environment: environment.clone(), warnings: Vec::new() }
    }

    /// From now on warms up so many bytes, or as many as before where these were more.
    pub(crate) fn warm_at_least(&mut self, bytes: u64) {
        self.warm_bytes = self.warm_bytes.max(bytes);
    }

    /// How much is warmed up; 0 is nothing.
    pub(crate) fn warm_bytes(&self) -> u64 {
        self.warm_up.as_ref().map_or(0, |_| self.warm_bytes)
    }

    /// Does what is due before a run, as far as nobody `asked` to end meanwhile. The answer is to be kept until the run has ended.
    pub(crate) fn prepare(&mut self, asked: &dyn Fn() -> bool) -> Option<Warmth> {
        let room = self.settle().map(|bytes| bytes / WARM_SHARE.1 * WARM_SHARE.0);
        let warm = self.warm_up.as_ref().filter(|_| self.warm_bytes > 0)?;
        let bytes = room.map_or(self.warm_bytes, |room| room.min(self.warm_bytes));
        // Beside what the program takes until the helper has noticed it: that is never a reason for the kernel to look for memory.
        let held = room.is_some_and(|room| bytes.saturating_mul(2) <= room);
        let limit = FIRST + Duration::from_secs(bytes / SLOWEST);
        match warm.start(bytes, held, &self.environment, limit, asked) {
            Ok(warmth) => return Some(warmth).filter(|_| held),
            Err(Cold::Interrupted) => {}
            Err(Cold::Hangs) => {
                self.warm_up = None;
                self.warn(
                    "the warm-up before a run did not come to its end: later runs were not warmed up; free some memory",
                );
            }
            Err(Cold::Failed) => {
                self.warn(
                    "the warm-up before a run failed: first touch may be slow by chance; free some memory",
                );
            }
        }
        None
    }

    /// Waits, within bounds, until memory and pools are as they were; answers how much memory could be had then.
    fn settle(&mut self) -> Option<u64> {
        let before = self.before.as_ref()?;
        let mut missing = None;
        for _ in 0..TRIES {
            let now = Supplies::read(&Root::live())?;
            missing = now.missing(before);
            if missing.is_none() {
                return now.room_bytes();
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
        self.before.as_ref()?.room_bytes()
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

impl WarmUp {
    /// Starts it and waits until it has touched so many bytes; it holds them then, or gives them all back at once.
    fn start(
        &self,
        bytes: u64,
        held: bool,
        environment: &Environment,
        limit: Duration,
        asked: &dyn Fn() -> bool,
    ) -> Result<Warmth, Cold> {
        let words = self.arguments.iter().cloned().chain([OsString::from(bytes.to_string())]);
        let mut launch = Launch::new(&self.program, words, environment.clone());
        let (output, told) = io::pipe()?;
        let stream = |end| Stream::Descriptor(Arc::new(end));
        launch.streams = [Stream::Null, stream(told.into()), Stream::Null];
        let mut input = None;
        if held {
            let (read, write) = io::pipe()?;
            launch.streams[0] = stream(read.into());
            input = Some(write);
        }
        let started = launch.hold().and_then(firsttouch_process::Held::release);
        let running = started.map_err(|_| Cold::Failed)?;
        // Our copies of its ends go, so that its output ends with it.
        drop(launch);
        if let Err(cold) = hear(output, Instant::now() + limit, asked) {
            end(running, Duration::ZERO);
            return Err(cold);
        }
        Ok(Warmth { helper: Some((input, running)) })
    }
}

/// Waits for the helper's line.
fn hear(mut output: PipeReader, until: Instant, asked: &dyn Fn() -> bool) -> Result<(), Cold> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match poll(&[output.as_fd()], Some(NOTICE.min(left))) {
            Ok([true]) => break,
            Ok([false]) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        if asked() {
            return Err(Cold::Interrupted);
        }
        if left.is_zero() {
            return Err(Cold::Hangs);
        }
    }
    // It says nothing but that line.
    if output.read(&mut [0])? > 0 { Ok(()) } else { Err(Cold::Failed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn helper(script: &str) -> WarmUp {
        WarmUp { program: "/bin/sh".into(), arguments: ["-c", script, "helper"].map(OsString::from).into() }
    }

    /// Long enough for any helper.
    const LIMIT: Duration = Duration::from_secs(3600);

    #[test]
    fn a_helper_is_there_until_the_run_has_ended() {
        let scratch = tempfile::tempdir().unwrap();
        let ended = scratch.path().join("ended");
        let script = format!("echo warm; cat; echo $1 > {}", ended.display());
        let environment = Environment::default();
        let warmth = helper(&script).start(4096, true, &environment, LIMIT, &|| false).unwrap();
        assert!(!ended.exists());
        drop(warmth);
        assert_eq!(std::fs::read_to_string(&ended).unwrap(), "4096\n");
        let failed = helper("exit 1").start(4096, false, &environment, LIMIT, &|| false);
        assert_eq!(failed.unwrap_err(), Cold::Failed);
    }

    /// Nobody waits for one that says nothing, or does not end with its input.
    #[test]
    fn a_helper_that_hangs_is_ended() {
        let environment = Environment::default();
        let silent = helper("exec tail -f /dev/null");
        let start = |limit, asked: &dyn Fn() -> bool| silent.start(4096, true, &environment, limit, asked);
        assert_eq!(start(Duration::ZERO, &|| false).unwrap_err(), Cold::Hangs);
        assert_eq!(start(LIMIT, &|| true).unwrap_err(), Cold::Interrupted);
        let deaf = helper("echo warm; exec tail -f /dev/null");
        let warmth = deaf.start(4096, true, &environment, LIMIT, &|| false).unwrap();
        drop(warmth);
    }

    /// A helper that held what the program needs would be in its way: it gives everything back before.
    #[test]
    fn only_memory_that_nobody_needs_is_held() {
        let warmed = |bytes| {
            let mut preparation = Preparation::new(
                Supplies::read(&Root::live()),
                Some(helper("echo warm; cat")),
                &Environment::default(),
            );
            assert!(preparation.prepare(&|| false).is_none(), "nobody knows how much");
            preparation.warm_at_least(bytes);
            let warmth = preparation.prepare(&|| false);
            (warmth.and_then(|warmth| warmth.holder()).is_some(), preparation.into_warnings())
        };
        assert_eq!(warmed(1 << 20), (true, Vec::new()));
        assert_eq!(warmed(u64::MAX), (false, Vec::new()));
        let mut failing = Preparation::new(None, Some(helper("exit 1")), &Environment::default());
        failing.warm_at_least(1);
        assert!(failing.prepare(&|| false).is_none());
        assert!(failing.into_warnings()[0].contains("warm-up before a run failed"));
    }
}
