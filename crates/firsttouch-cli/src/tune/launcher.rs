//! Starts the program under each configuration: once to look at it, then as often as the session wants.

use super::configs::{Configuration, Means};
use super::demand;
use super::interrupt::Interrupt;
use super::preparation::Preparation;
use crate::args::ProgramOutput;
use crate::environment;
use crate::here::{self, Here, NotHere};
use crate::outside::Visitor;
use crate::program::Subject;
use crate::receipt::{self, RecordPlace};
use crate::rivals::{self, NotInstalled};
use firsttouch_experiment::{Launcher, RunRequest, Sample};
use firsttouch_linux::sysinfo;
use firsttouch_machine::Root;
use firsttouch_placement::{Pages, Placement, Receipt, Resolved, Via};
use firsttouch_process::{Counters, Ending, Environment, Event, Finished, Launch, LaunchError, Stream};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Filled with as many bytes as the session asks for; see [`RunRequest::environment_offset_bytes`].
const PADDING: &str = "FIRSTTOUCH_PADDING";
/// How soon a request to end a run is noticed.
const LATEST_NOTICE: Duration = Duration::from_millis(250);
/// As much of the program's last words as helps.
const LAST_WORDS_BYTES: usize = 2000;

/// A run that did not end well.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error("the program ended with {0}")]
    Program(Ending),
    #[error("the program ended with {ending}; its last words:\n{last_words}")]
    ProgramSaid { ending: Ending, last_words: String },
    #[error("cannot make a folder for the agent's records")]
    Folder(#[source] io::Error),
    #[error("cannot wait for the program")]
    Wait(#[source] io::Error),
}

/// What the untimed run of a configuration showed.
#[derive(Debug)]
pub(crate) struct Probe {
    /// What the program had; for a configuration without a placement `asked` in it means nothing.
    pub(crate) receipt: Receipt,
    /// What the largest of its processes had, or what the machine had less meanwhile.
    pub(crate) memory_bytes: u64,
    /// The processor that OpenBLAS chose its code for, if the program uses it and says so.
    pub(crate) openblas_core: Option<String>,
}

/// A configuration, ready to be started.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) configuration: Configuration,
    launch: Launch,
    resolved: Resolved,
    image: String,
}

/// Why a configuration cannot run here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotReady {
    #[error(transparent)]
    NotInstalled(#[from] NotInstalled),
    #[error(transparent)]
    NotHere(#[from] NotHere),
}

impl NotReady {
    /// The line that mends it.
    pub(crate) fn remedy(&self) -> String {
        match self {
            NotReady::NotInstalled(missing) => missing.remedy().to_owned(),
            NotReady::NotHere(error) => error.hint(),
        }
    }
}

impl Variant {
    /// Prepares a configuration of `subject`; `agent` is the file of the agent.
    pub(crate) fn prepare(
        configuration: Configuration,
        subject: &Subject,
        own: &Environment,
        agent: &Path,
        here: &Here,
    ) -> Result<Variant, NotReady> {
        let mut environment = own.clone();
        let directories = rivals::library_directories();
        let mut resolved = Resolved::default();
        match &configuration.means {
            Means::Plain | Means::Numactl(_) => {}
            Means::PlainMimalloc => {
                environment::set_up_rival(&mut environment, rivals::plain_mimalloc(&directories))?;
            }
            Means::Placed(placement) => {
                resolved = here.resolve(placement)?;
                environment::set_up_rival(&mut environment, rivals::variables(placement, &directories))?;
                if placement.needs_agent() {
                    environment::set_up_agent(&mut environment, agent, placement, &resolved, None);
                }
            }
        }
        let mut launch = subject.launch(environment);
        launch.inheritance = here::inheritance(&resolved);
        if let Means::Numactl(options) = &configuration.means {
            launch = through_numactl(&launch, options);
        }
        Ok(Variant { configuration, launch, resolved, image: subject.image() })
    }

    /// Lets the agent follow the programs that this one starts.
    pub(crate) fn follow(&mut self) {
        let Means::Placed(placement) = &mut self.configuration.means else { return };
        if placement.needs_agent() {
            placement.follow = true;
            environment::set_agent(&mut self.launch.environment, placement, &self.resolved, None);
        }
    }

    /// Runs the program once, untimed, and looks at what it gets.
    pub(crate) fn probe(&self, folder: &Path, stop: &AtomicBool) -> Result<Probe, RunError> {
        let words = folder.join("stderr");
        let records = RecordPlace::new().map_err(RunError::Folder)?;
        let mut launch = self.launch.clone();
        launch.streams = [Stream::Null, Stream::Null, Stream::File(words.clone())];
        launch.environment.set("OPENBLAS_VERBOSE", "2");
        let placement = self.configuration.placement();
        let visitor = match placement {
            Some(placement) if placement.via == Via::Supervise => Visitor::supervising(placement, true),
            _ => Visitor::looking(),
        };
        if let Some(placement) = placement.filter(|placement| placement.needs_agent()) {
            environment::set_agent(&mut launch.environment, placement, &self.resolved, Some(&records.path()));
        }
        let available = || {
            let text = Root::live().read("proc/meminfo").ok()??;
            sysinfo::meminfo(&text).available_bytes
        };
        let (driven, taken_bytes) = demand::meanwhile(available, || drive(&launch, &[], stop, visitor));
        let (finished, visitor) = driven?;
        let said = std::fs::read(&words).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        if !finished.ending.is_success() {
            let (ending, last_words) = (finished.ending, tail(&said).trim_end().to_owned());
            return Err(match last_words.is_empty() {
                true => RunError::Program(ending),
                false => RunError::ProgramSaid { ending, last_words },
            });
        }
        let asked = placement.cloned().unwrap_or_default();
        let run = receipt::Run {
            asked: &asked,
            image: self.image.clone(),
            ending: finished.ending,
            records: &records,
            by_agent: placement.is_some_and(Placement::is_placed_by_agent),
        };
        let mut receipt = run.receipt(visitor);
        receipt.hold_against(&self.resolved);
        let memory_bytes = finished.max_rss_bytes.max(taken_bytes.unwrap_or(0));
        Ok(Probe { receipt, memory_bytes, openblas_core: openblas_core(&said) })
    }

    fn visitor(&self) -> Option<Visitor> {
        let supervised =
            self.configuration.placement().filter(|placement| placement.via == Via::Supervise)?;
        Some(Visitor::supervising(supervised, false))
    }
}

/// The same program, started by numactl with these options.
fn through_numactl(launch: &Launch, options: &str) -> Launch {
    let path = launch.environment.get("PATH").map(std::ffi::OsStr::to_owned);
    let numactl = firsttouch_process::resolve("numactl".as_ref(), path.as_deref())
        .unwrap_or_else(|_| PathBuf::from("/usr/bin/numactl"));
    let options = options.split(' ').map(std::ffi::OsString::from);
    let words = options.chain(["--".into(), launch.program.clone().into_os_string()]);
    let words = words.chain(launch.arguments[1..].iter().cloned());
    Launch::new(numactl, words, launch.environment.clone())
}

/// Runs a program to its end, visited meanwhile.
fn drive(
    launch: &Launch,
    events: &[Event],
    stop: &AtomicBool,
    mut visitor: Visitor,
) -> Result<(Finished, Visitor), RunError> {
    const SIGTERM: i32 = signal_hook::consts::SIGTERM;
    let held = launch.hold()?;
    let counters = Counters::attach(held.pid(), events);
    let running = held.release()?;
    let handle = running.handle().map_err(RunError::Wait)?;
    let mut asked_to_end = false;
    loop {
        let pause = visitor.visit(running.pid()).unwrap_or(LATEST_NOTICE).min(LATEST_NOTICE);
        if handle.wait_ended(Some(pause)).map_err(RunError::Wait)? {
            break;
        }
        if stop.load(Ordering::Relaxed) && !asked_to_end {
            asked_to_end = true;
            running.kill(SIGTERM).map_err(RunError::Wait)?;
        }
    }
    let mut finished = running.wait().map_err(RunError::Wait)?;
    finished.counters = counters.read();
    Ok((finished, visitor))
}

/// The end of a text, from the beginning of a line where there is one.
fn tail(text: &str) -> &str {
    let Some(start) = text.len().checked_sub(LAST_WORDS_BYTES) else { return text };
    let start = (start..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text[start..].split_once('\n').map_or(&text[start..], |(_, rest)| rest)
}

/// OpenBLAS says `Core: NAME` when it is asked to be verbose.
fn openblas_core(said: &str) -> Option<String> {
    said.lines().find_map(|line| line.strip_prefix("Core: ")).map(|core| core.trim().to_owned())
}

/// The way out to the world for the scheduler.
#[derive(Debug)]
pub(crate) struct ProgramLauncher {
    pub(crate) variants: Vec<Variant>,
    pub(crate) interrupt: Interrupt,
    pub(crate) preparation: Preparation,
    pub(crate) output: ProgramOutput,
    pub(crate) events: Vec<Event>,
    pub(crate) began: Instant,
}

impl Launcher for ProgramLauncher {
    type Error = RunError;

    fn launch(&mut self, request: &RunRequest) -> Result<Sample, RunError> {
        let variant = &self.variants[request.configuration];
        let mut launch = variant.launch.clone();
        launch.environment.set(PADDING, "x".repeat(request.environment_offset_bytes as usize));
        let stream = match self.output {
            ProgramOutput::Null => Stream::Null,
            ProgramOutput::Inherit => Stream::Inherit,
        };
        launch.streams = [Stream::Null, stream.clone(), stream];
        self.preparation.prepare();
        let finished = match variant.visitor() {
            Some(visitor) => drive(&launch, &self.events, self.interrupt.kill(), visitor)?.0,
            None => launch.measure(&self.events, Some(self.interrupt.kill()))?,
        };
        if !finished.ending.is_success() {
            return Err(RunError::Program(finished.ending));
        }
        Ok(sample(finished))
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn interrupted(&self) -> bool {
        self.interrupt.asked()
    }
}

fn sample(finished: Finished) -> Sample {
    Sample {
        wall_s: finished.wall_s,
        user_s: finished.user_s,
        system_s: finished.system_s,
        max_rss_bytes: finished.max_rss_bytes,
        minor_faults: finished.minor_faults,
        major_faults: finished.major_faults,
        context_switches: finished.context_switches,
        counters: finished.counters,
    }
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
        assert_eq!(openblas_core("x\nCore: SkylakeX\ny").as_deref(), Some("SkylakeX"));
        assert_eq!(openblas_core("the Core: none"), None);
    }
}
