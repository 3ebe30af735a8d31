//! `attach --balance`: the threads of a program that runs, seen for a while and given CPUs by a strategy.
//!
//! What is done to the process is an attach: refused when an attach is, written to its journal, and taken back by
//! `attach --undo`.

use super::executor;
use crate::args::Attach;
use crate::exit::INTERRUPTED;
use crate::interrupt::Interrupt;
use crate::output::{self, Failure, Outcome};
use crate::{clock, measure, program};
use firsttouch_attach::{AttachContext, Look, ResolvedRequest, Target, ThreadAffinity, affinity, choose};
use firsttouch_balance::{CpuSelection, Machine, SolveOptions, Strategy, strategies};
use firsttouch_documents::{ObservationReport, to_json};
use firsttouch_launch::Here;
use firsttouch_linux::remote::poll;
use firsttouch_machine::Root;
use firsttouch_placement::AttachAsked;
use firsttouch_report::{Style, text};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;

pub(super) fn run(args: &Attach) -> Outcome {
    let strategy = strategies::named(&args.balancing.strategy).map_err(Failure::hinted)?;
    match args.pid {
        Some(pid) => of_process(args, strategy.as_ref(), pid),
        None => of_program(args, strategy.as_ref()),
    }
}

fn of_process(args: &Attach, strategy: &dyn Strategy, pid: u32) -> Outcome {
    // What is asked before the wait begins ends it, too.
    let (woken, waker) = UnixStream::pair()?;
    let interrupt = Interrupt::waking(&waker)?;
    let target = open(pid)?;
    let look = Look::begin(&target).map_err(Failure::hinted)?;
    // Ends early when the process does, or by a signal.
    let _ = poll(&[target.handle().as_fd(), woken.as_fd()], Some(args.balancing.interval));
    if interrupt.asked() {
        return Err(Failure::message("interrupted").hint("nothing was changed").code(INTERRUPTED));
    }
    let done = place(args, strategy, &target, look, interrupt.flag())?;
    output::data(&text_of(args, &done, output::width(), Style::Ansi))?;
    Ok(super::code(&done.attach))
}

/// The program runs as it would; what goes wrong with placing it is told and costs it nothing.
fn of_program(args: &Attach, strategy: &dyn Strategy) -> Outcome {
    let stop = AtomicBool::new(false);
    let mut is_begun = false;
    let mut look: Option<(Target, Look)> = None;
    let ending = program::accompany(&args.program, args.json, |pid| {
        if !is_begun {
            is_begun = true;
            return Some(args.balancing.after);
        }
        let step = match look.take() {
            None => begin(pid).map(|begun| {
                look = Some(begun);
                Some(args.balancing.interval)
            }),
            Some((target, begun)) => {
                place(args, strategy, &target, begun, &stop).and_then(|done| tell(args, &done)).map(|()| None)
            }
        };
        step.unwrap_or_else(|failure| {
            failure.print();
            None
        })
    })?;
    Ok(ending.plan().carry_out())
}

fn begin(pid: u32) -> Outcome<(Target, Look)> {
    let target = open(pid)?;
    let look = Look::begin(&target).map_err(Failure::hinted)?;
    Ok((target, look))
}

fn open(pid: u32) -> Outcome<Target> {
    let journals = super::journals()?;
    Target::open(&Root::live(), pid).map_err(|error| super::not_attached(error, &journals))
}

/// Looks again, asks the strategy and binds the threads.
fn place(
    args: &Attach,
    strategy: &dyn Strategy,
    target: &Target,
    look: Look,
    stop: &AtomicBool,
) -> Outcome<ObservationReport> {
    let (threads, interval) = look.end(target).map_err(Failure::hinted)?;
    let here = Here::read(measure::kept_file().as_deref()).map_err(Failure::hinted)?;
    measure::warn_of_unread(here.unread());
    // Whatever our own limits are: those of the process count, and the kernel keeps to them.
    let here = here.for_process(target.member());
    let machine = Machine::of(here.machine(), here.measured(), CpuSelection::Cpus, |_| true)
        .map_err(Failure::hinted)?;
    let options = SolveOptions { tolerance: args.balancing.tolerance, ..SolveOptions::default() };
    let observed = choose(threads, &machine, strategy, &options).map_err(Failure::hinted)?;
    let asked = AttachAsked { strategy: Some(observed.strategy.clone()), ..AttachAsked::default() };
    let mut request = ResolvedRequest { asked, stall_limit: args.budget_stall, ..ResolvedRequest::default() };
    request.affinity = ThreadAffinity { single: affinity(&observed), ..ThreadAffinity::default() };
    request.notes = if observed.moved > 0 {
        vec!["threads that the program makes from now on have the CPUs of their maker".to_owned()]
    } else {
        vec!["threads are left as they are: the strategy has no better place for any of them".to_owned()]
    };
    let context =
        AttachContext { journals: super::journals()?, now: clock::now(), nodes: super::nodes(&here), stop };
    let mut executor = executor::choose(target, args, &request)?;
    let attach =
        firsttouch_attach::attach(target, executor.as_mut(), &request, &context, args.dry_run, &mut |_| {});
    let attach = attach.map_err(super::failed)?;
    let (pid, interval_s) = (attach.pid, interval.as_secs_f64());
    Ok(ObservationReport { pid, interval_s, observed, attach })
}

/// Beside the output of a program.
fn tell(args: &Attach, done: &ObservationReport) -> Outcome<()> {
    let text = text_of(args, done, output::width(), Style::Plain);
    if args.json {
        output::data(&text)?
    } else {
        output::message(&text)
    }
    Ok(())
}

fn text_of(args: &Attach, done: &ObservationReport, width: usize, style: Style) -> String {
    if args.json { to_json(done) } else { text::observed(done, width, style) }
}
