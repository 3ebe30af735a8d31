//! `watch`: a process over time, in the terminal, as lines of JSON, and in a recording.

mod events;
mod view;

use crate::args::Watch;
use crate::output::{self, Failure, Outcome};
use crate::{clock, export, program};
use anyhow::Context;
use events::{Event, Events};
use firsttouch_documents::{WatchEnding, WatchSample, to_line};
use firsttouch_machine::{Machine, Root};
use firsttouch_watch::{Sampler, WatchError, WatchOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use view::{Place, View};

pub(crate) fn run(watch: &Watch) -> Outcome {
    export::check(watch.json, &watch.record)?;
    let machine = Machine::read(&Root::live())?;
    match watch.pid {
        Some(pid) => of_process(watch, &machine, pid),
        None => of_program(watch, &machine),
    }
}

/// Whether standard output has a recording and nothing else.
fn records_to_stdout(watch: &Watch) -> bool {
    watch.json || watch.record.as_deref().is_some_and(export::is_stdout)
}

fn of_process(watch: &Watch, machine: &Machine, pid: u32) -> Outcome {
    let mut events = Events::listen().context("cannot listen for signals")?;
    let place = if records_to_stdout(watch) { Place::Stderr } else { Place::Stdout };
    let mut session = Session::begin(watch, machine, place, pid)?;
    loop {
        let Some(pause) = session.step()? else { return Ok(0) };
        let due = Instant::now() + pause;
        loop {
            match events.wait(session.sampler.handle(), due)? {
                Event::Due => break,
                Event::Resized => session.redraw()?,
                Event::Interrupted => {
                    session.end(WatchEnding::Interrupted)?;
                    return Ok(0);
                }
            }
        }
    }
}

fn of_program(watch: &Watch, machine: &Machine) -> Outcome {
    let mut session: Option<Session> = None;
    let mut failure = None;
    // Whatever goes wrong with watching is told when the program has ended, and never costs it its run.
    let ending = program::accompany(&watch.program, records_to_stdout(watch), |pid| {
        let stepped = match &mut session {
            Some(session) => session.step(),
            None if failure.is_some() => Ok(None),
            None => Session::begin(watch, machine, Place::Stderr, pid)
                .and_then(|begun| session.insert(begun).step()),
        };
        stepped.unwrap_or_else(|error| {
            failure = Some(error);
            None
        })
    })?;
    let failure = match (session, failure) {
        (Some(mut session), None) if !session.ended => session.end(WatchEnding::TargetEnded).err(),
        (_, failure) => failure,
    };
    if let Some(failure) = failure {
        told(&failure);
    }
    Ok(ending.plan().carry_out())
}

/// Samples of one process on their way to the view and the recordings.
struct Session {
    sampler: Sampler,
    /// None with `--json`.
    view: Option<View>,
    records: Vec<Record>,
    /// When watching is to end, and after how many samples.
    until: (Option<Instant>, Option<u64>),
    taken: u64,
    warned: bool,
    ended: bool,
}

impl Session {
    fn begin(watch: &Watch, machine: &Machine, place: Place, pid: u32) -> Outcome<Session> {
        let options = WatchOptions { interval: watch.interval, budget: watch.max_overhead, tree: watch.tree };
        let sampler = Sampler::new(Root::live(), machine, pid, options).map_err(Failure::hinted)?;
        // Not before there is something to record: the file may hold another recording.
        let records = Record::all(watch)?;
        let header = sampler.header(clock::now());
        let view = (!watch.json).then(|| View::new(place, &header));
        let deadline = watch.duration.and_then(|duration| Instant::now().checked_add(duration));
        let until = (deadline, watch.samples);
        let mut begun = Session { sampler, view, records, until, taken: 0, warned: false, ended: false };
        begun.record(&to_line(&header))?;
        Ok(begun)
    }

    fn record(&mut self, line: &str) -> Outcome<()> {
        self.records.iter_mut().try_for_each(|record| record.write(line))
    }

    fn redraw(&mut self) -> Outcome<()> {
        self.view.as_mut().map_or(Ok(()), View::redraw)
    }

    /// Takes a sample; answers how long to wait for the next, or `None` at the end.
    fn step(&mut self) -> Outcome<Option<Duration>> {
        let Some(sample) = self.sampler.sample().map_err(Failure::hinted)? else {
            self.end(WatchEnding::TargetEnded)?;
            return Ok(None);
        };
        self.taken += 1;
        self.record(&to_line(&sample))?;
        self.warn(&sample);
        if let Some(view) = &mut self.view {
            view.show(&sample)?;
        }
        let (deadline, most) = self.until;
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) || most.is_some_and(|most| self.taken >= most) {
            self.end(WatchEnding::Limit)?;
            return Ok(None);
        }
        let pause = self.sampler.pause();
        Ok(Some(left.map_or(pause, |left| pause.min(left))))
    }

    /// Says once what cannot be seen.
    fn warn(&mut self, sample: &WatchSample) {
        // A frame says so itself, and would be torn by it.
        let is_frame = self.view.as_ref().is_some_and(View::is_frame);
        if let Some(first) = sample.unreadable.first().filter(|_| !self.warned && !is_frame) {
            self.warned = true;
            output::warning(&format!("not everything can be seen: {first}"), self.sampler.remedy());
        }
    }

    fn end(&mut self, ending: WatchEnding) -> Outcome<()> {
        self.ended = true;
        self.record(&to_line(&self.sampler.end(ending)))?;
        if let Some(view) = &mut self.view {
            view.end();
        }
        Ok(())
    }
}

/// Tells what went wrong with watching a program. That it was too quick for us is nothing wrong.
fn told(failure: &Failure) {
    match failure.cause::<WatchError>() {
        Some(WatchError::Ended { .. } | WatchError::NoSuchProcess { .. }) => {
            output::warning("the program ended before it could be looked at", None);
        }
        _ => failure.print(),
    }
}

/// A recording being written, line by line: what is in it when we are killed is whole but for the last line.
enum Record {
    Stdout,
    File { file: Box<dyn Write + Send>, path: PathBuf },
}

impl Record {
    /// Those that are asked for.
    fn all(watch: &Watch) -> Outcome<Vec<Record>> {
        let on_stdout = watch.json.then_some(Ok(Record::Stdout));
        on_stdout.into_iter().chain(watch.record.as_deref().map(Record::create)).collect()
    }

    fn create(path: &Path) -> Outcome<Record> {
        if export::is_stdout(path) {
            return Ok(Record::Stdout);
        }
        Ok(Record::File { file: export::create(path)?, path: path.to_owned() })
    }

    fn write(&mut self, line: &str) -> Outcome<()> {
        match self {
            Record::Stdout => output::raw_data(line),
            Record::File { file, path } => {
                let written = file.write_all(line.as_bytes()).and_then(|()| file.flush());
                Ok(written.with_context(|| format!("cannot write {}", path.display()))?)
            }
        }
    }
}
