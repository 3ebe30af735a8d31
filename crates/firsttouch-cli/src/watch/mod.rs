//! `watch`: a process over time, in the terminal, as lines of JSON, and in a recording.

mod events;
mod view;

use crate::args::Watch;
use crate::output::{self, Failure, Outcome};
use crate::{clock, export, program};
use anyhow::Context;
use events::{Event, Events};
use firsttouch_documents::{WatchEnding, WatchSample, to_line};
use firsttouch_launch::Subject;
use firsttouch_machine::{Machine, Root};
use firsttouch_process::{Stream, run_and_wait};
use firsttouch_watch::{Sampler, WatchError, WatchOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use view::{Place, View};

pub(crate) fn run(watch: &Watch) -> Outcome {
    export::check(watch.json, &watch.record)?;
    let machine = Machine::read(&Root::live())?;
    let record = watch.record.as_deref().map(Record::create).transpose()?;
    match watch.pid {
        Some(pid) => of_process(watch, &machine, record, pid),
        None => of_program(watch, &machine, record),
    }
}

fn records_to_stdout(watch: &Watch) -> bool {
    watch.record.as_deref().is_some_and(export::is_stdout)
}

fn of_process(watch: &Watch, machine: &Machine, record: Option<Record>, pid: u32) -> Outcome {
    let mut events = Events::listen().context("cannot listen for signals")?;
    let view = View::new(watch.json, if records_to_stdout(watch) { Place::Stderr } else { Place::Stdout });
    let mut session = Session::begin(watch, machine, record, view, pid)?;
    loop {
        let Some(pause) = session.step()? else { return Ok(0) };
        let due = Instant::now() + pause;
        loop {
            match events.wait(session.sampler.handle(), due)? {
                Event::Due => break,
                Event::Resized => session.view.redraw()?,
                Event::Interrupted => {
                    session.end(WatchEnding::Interrupted)?;
                    return Ok(0);
                }
            }
        }
    }
}

fn of_program(watch: &Watch, machine: &Machine, record: Option<Record>) -> Outcome {
    let own = program::environment();
    let subject = Subject::find(&watch.program, &own).map_err(program::not_runnable)?;
    let mut launch = subject.launch(own);
    if watch.json || records_to_stdout(watch) {
        // Ours is for the samples.
        let stderr = io::stderr().as_fd().try_clone_to_owned().context("cannot use standard error")?;
        launch.streams[1] = Stream::Descriptor(Arc::new(stderr));
    }
    let mut start = Some((record, View::new(watch.json, Place::Stderr)));
    let mut session = None;
    let mut failure = None;
    // Whatever goes wrong with watching is told when the program has ended, and never costs it its run.
    let finished = run_and_wait(&launch, |pid| {
        let stepped = match start.take() {
            Some((record, view)) => Session::begin(watch, machine, record, view, pid)
                .and_then(|begun| session.insert(begun).step()),
            None => session.as_mut().map_or(Ok(None), Session::step),
        };
        stepped.unwrap_or_else(|error| {
            failure = Some(error);
            None
        })
    })
    .map_err(program::not_started)?;
    let failure = match (session, failure) {
        (Some(mut session), None) if !session.ended => session.end(WatchEnding::TargetEnded).err(),
        (_, failure) => failure,
    };
    if let Some(failure) = failure {
        told(&failure);
    }
    Ok(finished.ending.plan().carry_out())
}

/// Samples of one process on their way to the view and the recording.
struct Session {
    sampler: Sampler,
    view: View,
    record: Option<Record>,
    /// When watching is to end, and after how many samples.
    until: (Option<Instant>, Option<u64>),
    taken: u64,
    warned: bool,
    ended: bool,
}

impl Session {
    fn begin(
        watch: &Watch,
        machine: &Machine,
        mut record: Option<Record>,
        mut view: View,
        pid: u32,
    ) -> Outcome<Session> {
        let options = WatchOptions { interval: watch.interval, budget: watch.max_overhead, tree: watch.tree };
        let sampler = Sampler::new(Root::live(), machine, pid, options).map_err(Failure::hinted)?;
        let header = sampler.header(clock::now());
        if let Some(record) = &mut record {
            record.write(&to_line(&header))?;
        }
        view.begin(&header);
        let deadline = watch.duration.and_then(|duration| Instant::now().checked_add(duration));
        let until = (deadline, watch.samples);
        Ok(Session { sampler, view, record, until, taken: 0, warned: false, ended: false })
    }

    /// Takes a sample; answers how long to wait for the next, or `None` at the end.
    fn step(&mut self) -> Outcome<Option<Duration>> {
        let Some(sample) = self.sampler.sample().map_err(Failure::hinted)? else {
            self.end(WatchEnding::TargetEnded)?;
            return Ok(None);
        };
        self.taken += 1;
        if let Some(record) = &mut self.record {
            record.write(&to_line(&sample))?;
        }
        self.warn(&sample);
        self.view.show(&sample)?;
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
        if let Some(first) = sample.unreadable.first().filter(|_| !self.warned && !self.view.is_frame()) {
            self.warned = true;
            output::warning(
                &format!("not everything can be seen: {first}"),
                Some("watch as its user, or as root"),
            );
        }
    }

    fn end(&mut self, ending: WatchEnding) -> Outcome<()> {
        self.ended = true;
        if let Some(record) = &mut self.record {
            record.write(&to_line(&self.sampler.end(ending)))?;
        }
        self.view.end();
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
struct Record {
    file: Box<dyn Write + Send>,
    path: PathBuf,
}

impl Record {
    fn create(path: &Path) -> Outcome<Record> {
        Ok(Record { file: export::create(path)?, path: path.to_owned() })
    }

    fn write(&mut self, line: &str) -> Outcome<()> {
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.flush());
        Ok(written.with_context(|| format!("cannot write {}", self.path.display()))?)
    }
}
