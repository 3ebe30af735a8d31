//! `balance --observe`: the threads of a program that runs, seen for a while and given CPUs by a strategy.
//!
//! What is done to the process is an attach: refused when an attach is, written to its journal, and taken back by
//! `attach --undo`.

use crate::args::Observe;
use crate::attach;
use crate::here::Here;
use crate::output::{self, Failure, Outcome};
use crate::program::{self, Subject};
use crate::{clock, environment};
use firsttouch_attach::{
    Around, Look, ObserveError, Outside, Seats as ThreadSeats, Target, Wish, choose, seats,
};
use firsttouch_balance::{Machine, Options, Seats, Strategy, strategies};
use firsttouch_machine::Root;
use firsttouch_placement::{AttachAsked, AttachReport, Observation, SCHEMA_VERSION};
use firsttouch_process::{Stream, run_and_wait};
use firsttouch_report::{Style, json, text};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Binding a thread is one short call; no step of this could hold the process up for longer.
const STALL_LIMIT: Duration = Duration::from_millis(20);

pub(super) fn run(args: &Observe) -> Outcome {
    let strategy = strategies::named(&args.strategy).map_err(super::unsolved)?;
    match (args.observe.flatten(), args.program.is_empty()) {
        (Some(pid), true) => of_process(args, strategy.as_ref(), pid),
        (None, false) => of_program(args, strategy.as_ref()),
        (Some(_), false) => Err(usage("both a process and a program were named")),
        (None, true) => Err(usage("neither a process nor a program was named")),
    }
}

fn usage(what: &'static str) -> Failure {
    Failure::message(what)
        .hint("firsttouch balance --observe PID, or firsttouch balance --observe -- PROGRAM")
        .code(crate::USAGE)
}

fn of_process(args: &Observe, strategy: &dyn Strategy, pid: u32) -> Outcome {
    let stop = attach::listen()?;
    let target = open(pid)?;
    let look = Look::begin(&target).map_err(unseen)?;
    // Ends early when the process does.
    target.pause(args.interval);
    let done = place(args, strategy, &target, look, &stop)?;
    output::data(&done.text(args, output::width(), Style::Ansi)?)?;
    Ok(attach::code(&done.report))
}

/// The program runs as it would; what goes wrong with placing it is told and costs it nothing.
fn of_program(args: &Observe, strategy: &dyn Strategy) -> Outcome {
    let own = environment::own();
    let subject = Subject::find(&args.program, &own).map_err(program::not_runnable)?;
    let mut launch = subject.launch(own);
    if args.json {
        // Ours is for the report.
        launch.streams[1] = Stream::Descriptor(Arc::new(io::stderr().as_fd().try_clone_to_owned()?));
    }
    let stop = AtomicBool::new(false);
    let mut is_begun = false;
    let mut look: Option<(Target, Look)> = None;
    let finished = run_and_wait(&launch, |pid| {
        if !is_begun {
            is_begun = true;
            return Some(args.after);
        }
        let step = match look.take() {
            None => begin(pid).map(|begun| {
                look = Some(begun);
                Some(args.interval)
            }),
            Some((target, begun)) => {
                place(args, strategy, &target, begun, &stop).and_then(|done| tell(args, &done)).map(|()| None)
            }
        };
        step.unwrap_or_else(|failure| {
            failure.report(crate::OURS);
            None
        })
    })
    .map_err(program::not_started)?;
    Ok(finished.ending.plan().carry_out())
}

fn begin(pid: u32) -> Outcome<(Target, Look)> {
    let target = open(pid)?;
    let look = Look::begin(&target).map_err(unseen)?;
    Ok((target, look))
}

fn open(pid: u32) -> Outcome<Target> {
    let journals = attach::journals()?;
    Target::open(&Root::live(), pid).map_err(|error| attach::not_attached(error, &journals))
}

fn unseen(error: ObserveError) -> Failure {
    let hint = error.hint();
    Failure::new(error).hint(hint)
}

/// What was seen and what was done about it.
struct Done {
    observed: Observation,
    interval: Duration,
    report: AttachReport,
}

/// Looks again, asks the strategy and binds the threads.
fn place(
    args: &Observe,
    strategy: &dyn Strategy,
    target: &Target,
    look: Look,
    stop: &AtomicBool,
) -> Outcome<Done> {
    let (threads, interval) = look.end(target).map_err(unseen)?;
    let here = Here::read().map_err(|error| {
        let hint = error.hint();
        Failure::new(error).hint(hint)
    })?;
    // Whatever our own limits are: those of the process count, and the kernel keeps to them.
    let here = here.for_process(target.member());
    let machine = Machine::of(here.machine(), here.measured(), Seats::Cpus, |_| true).map_err(|error| {
        let hint = error.hint();
        Failure::new(error).hint(hint)
    })?;
    let options = Options { tolerance: args.tolerance, ..Options::default() };
    let observed = choose(threads, &machine, strategy, &options).map_err(unseen)?;
    let asked = AttachAsked { strategy: Some(observed.strategy.clone()), ..AttachAsked::default() };
    let mut wish = Wish { asked, stall_limit: STALL_LIMIT, ..Wish::default() };
    wish.seats = ThreadSeats { single: seats(&observed), ..ThreadSeats::default() };
    wish.notes = if observed.moved > 0 {
        vec!["threads that the program makes from now on have the CPUs of their maker".to_owned()]
    } else {
        vec!["threads are left as they are: the strategy has no better place for any of them".to_owned()]
    };
    let around =
        Around { journals: attach::journals()?, now: clock::now(), nodes: attach::nodes(&here), stop };
    let mut hand = Outside::new(target)?;
    let report = firsttouch_attach::attach(target, &mut hand, &wish, &around, args.dry_run, &mut |_| {});
    let report = report.map_err(|error| {
        let hint = error.hint();
        Failure::new(error).hint(hint)
    })?;
    Ok(Done { observed, interval, report })
}

/// Beside the output of a program.
fn tell(args: &Observe, done: &Done) -> Outcome<()> {
    let text = done.text(args, output::width(), Style::Plain)?;
    if args.json {
        output::data(&text)?
    } else {
        output::message(&text)
    }
    Ok(())
}

impl Done {
    fn text(&self, args: &Observe, width: usize, style: Style) -> Outcome<String> {
        if !args.json {
            let seen = text::observation(&self.observed, self.interval, width, style);
            return Ok(format!("{seen}\n{}", text::attach(&self.report, width, style)));
        }
        let document = serde_json::json!({
            "schema_version": SCHEMA_VERSION,
            "pid": self.report.pid,
            "interval_s": self.interval.as_secs_f64(),
            "observed": self.observed,
            "attach": serde_json::from_str::<serde_json::Value>(&json::attach(&self.report))?,
        });
        Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
    }
}
