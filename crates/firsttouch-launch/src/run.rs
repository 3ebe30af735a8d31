//! One run of a program.

use crate::metric::MetricError;
use crate::movers;
use crate::receipt::{Ended, RecordPlace};
use crate::start::Start;
use crate::visitor::Visitor;
use firsttouch_machine::Root;
use firsttouch_placement::{Placement, Receipt};
use firsttouch_process::{Ending, Event, Finished, Launch, LaunchError, Stream, run_and_wait};
use firsttouch_watch::Mark;
use rustix::process::Signal;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The variable by which ranks are known, wherever they are started; its value is that of one run.
const JOB_MARK: &str = "FIRSTTOUCH_JOB";

/// What would mend that there is no place for files that are gone with a run.
pub const OTHER_FOLDER: &str = "TMPDIR=FOLDER names a folder that can be written to";

/// How soon a request to end a run is noticed.
const LATEST_NOTICE: Duration = Duration::from_millis(250);

/// A run that did not end well.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// It failed.
    #[error("the program ended: {0}")]
    Program(Ending),
    /// It failed, and said why.
    #[error("the program ended: {ending}; its last words:\n{last_words}")]
    ProgramSaid {
        /// How it ended.
        ending: Ending,
        /// The end of what it wrote to its error output.
        last_words: String,
    },
    /// A line that was to run before or after it failed.
    #[error("the line of {option} ended: {ending}")]
    Line {
        /// The option that it is of.
        option: &'static str,
        /// How it ended.
        ending: Ending,
    },
    /// It has nothing that could be judged.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// There is no place for the records.
    #[error("cannot make a folder for the agent's records")]
    Folder(#[source] io::Error),
    /// Its end could not be waited for.
    #[error("cannot wait for the program")]
    Wait(#[source] io::Error),
}

/// How a run is waited for.
#[derive(Clone, Copy, Debug)]
pub enum Waiting<'a> {
    /// By a parent that measures it.
    Measuring {
        /// What is counted, where the kernel can.
        events: &'a [Event],
        /// When this becomes true, the program is asked once to end, by SIGTERM.
        stop: &'a AtomicBool,
    },
    /// By a parent that stands in for it: signals are passed on, and it stops and goes on with the program.
    StandingIn,
}

/// What is the same for every placement of a program.
#[derive(Clone, Debug)]
pub struct Manner<'a> {
    /// Standard input, output and error.
    pub streams: [Stream; 3],
    /// Variables for this run alone.
    pub variables: Vec<(&'static str, OsString)>,
    /// How it is waited for.
    pub waiting: Waiting<'a>,
}

/// A run that ended, however it did.
#[derive(Debug)]
pub struct Ran {
    /// How it ended and what it used.
    pub finished: Finished,
    /// What it obtained, if that was wanted.
    pub receipt: Option<Receipt>,
    /// Why nothing could be collapsed from outside, if so, and what would mend it.
    pub refusal: Option<(String, &'static str)>,
}

/// Runs a program once and, if it is wanted, says what it obtained. A receipt has its price, looks at the processes while they run:
/// runs that are compared go without.
///
/// # Errors
/// Where the program did not start or could not be waited for. How it ended is in the answer.
pub fn run_once(start: &Start, manner: &Manner<'_>, wants_receipt: bool) -> Result<Ran, RunError> {
    let plain = start.recording(None);
    let records = match wants_receipt {
        true => Some(RecordPlace::new(&plain.environment).map_err(RunError::Folder)?),
        false => None,
    };
    let record = records.as_ref().map(RecordPlace::path);
    let mut launch = record.as_ref().map_or(plain, |path| start.recording(Some(path)));
    launch.streams.clone_from(&manner.streams);
    for (name, value) in &manner.variables {
        launch.environment.set(name, value);
    }
    let mut visitor = match start.supervised() {
        Some(asked) => Some(Visitor::supervising(asked, wants_receipt)),
        None => wants_receipt.then(Visitor::looking),
    };
    if let Some(place) = record {
        let end = [b"=", place.as_os_str().as_bytes()].concat();
        let mark = match start.starts_ranks() {
            // What the daemon of a batch system starts for the launcher is not below it, and has its environment.
            true => {
                launch.environment.set(JOB_MARK, &place);
                Mark::OfAnybody(end)
            }
            // The agent's settings end so. It keeps them from the program, whose own environment is as it was.
            false => Mark::OfOrphans(end),
        };
        visitor = visitor.map(|visitor| visitor.and_marked(mark));
    }
    // Read where nodes were asked: what lies elsewhere in the end was maybe moved there.
    let root = Root::live();
    let names_nodes = wants_receipt && !start.resolved().memory.nodes().is_empty();
    let demoted_before = names_nodes.then(|| movers::demoted_bytes(&root));
    let finished = match manner.waiting {
        Waiting::Measuring { events, stop } => measure(&launch, events, stop, visitor.as_mut())?,
        Waiting::StandingIn => run_and_wait(&launch, |pid| visitor.as_mut()?.visit(pid))?,
    };
    let refusal = visitor.as_ref().and_then(Visitor::refusal);
    let receipt = visitor.zip(records).map(|(visitor, records)| {
        let nothing = Placement::default();
        let ended = Ended {
            asked: start.asked().unwrap_or(&nothing),
            image: start.image().to_owned(),
            ending: finished.ending,
            records: &records,
            by_agent: start.why_unreached().is_none()
                && start.asked().is_some_and(Placement::is_placed_by_agent),
        };
        let mut receipt = match start.why_unreached() {
            Some(reason) => ended.receipt_of_unreached(visitor, reason),
            None => ended.receipt(visitor),
        };
        let movers = demoted_before.map(|before| movers::since(&root, before)).unwrap_or_default();
        receipt.hold_against(start.resolved(), &movers);
        receipt
    });
    Ok(Ran { finished, receipt, refusal })
}

/// Runs a program once for somebody who looks at it or places it from outside meanwhile, and stands in for it: signals are passed on.
///
/// `companion` is called with the number of the process right after its start, and again whenever the time that it answered has
/// passed; `None` is never again. To be called from the only thread.
///
/// # Errors
/// Where the program did not start.
pub fn run_accompanied(
    start: &Start,
    streams: [Stream; 3],
    companion: impl FnMut(u32) -> Option<Duration>,
) -> Result<Finished, LaunchError> {
    let mut launch = start.recording(None);
    launch.streams = streams;
    run_and_wait(&launch, companion)
}

/// Runs a program to its end as its parent, visited meanwhile.
fn measure(
    launch: &Launch,
    events: &[Event],
    stop: &AtomicBool,
    mut visitor: Option<&mut Visitor>,
) -> Result<Finished, RunError> {
    let mut held = launch.hold()?;
    held.count(events);
    let running = held.release()?;
    let handle = running.handle().map_err(RunError::Wait)?;
    let mut asked_to_end = false;
    loop {
        let visit = visitor.as_mut().and_then(|visitor| visitor.visit(running.pid()));
        let pause = visit.map_or(LATEST_NOTICE, |pause| pause.min(LATEST_NOTICE));
        if handle.wait_ended(Some(pause)).map_err(RunError::Wait)? {
            break;
        }
        if stop.load(Ordering::Relaxed) && !asked_to_end {
            asked_to_end = true;
            running.kill(Signal::TERM.as_raw()).map_err(RunError::Wait)?;
        }
    }
    running.wait().map_err(RunError::Wait)
}
