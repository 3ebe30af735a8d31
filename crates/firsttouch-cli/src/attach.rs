//! `attach`: a process that already runs, placed, and put back.

mod balance;
mod devices;
mod executor;

use crate::args::Attach;
use crate::exit::{FAILED, INTERRUPTED};
use crate::interrupt::Interrupt;
use crate::output::{self, Failure, Outcome};
use crate::progress_lines::ProgressLines;
use crate::{clock, measure};
use anyhow::Context;
use devices::Place;
use firsttouch_attach::{
    AttachContext, AttachError, AttachProgress, Destination, Phase, ResolvedRequest, Target, TargetError,
    ThreadAffinity,
};
use firsttouch_documents::{AttachForgotten, AttachList, to_json};
use firsttouch_launch::Here;
use firsttouch_linux::process::descendants;
use firsttouch_machine::Root;
use firsttouch_placement::{
    AttachAsked, AttachEnded, AttachReport, AttachedProcess, MemoryPolicy, NodeSet, Placement,
    ThreadPlacement, format_bytes,
};
use firsttouch_report::{Style, text};
use std::env;
use std::path::PathBuf;

pub(crate) fn run(args: &Attach) -> Outcome {
    if args.balancing.balance {
        return balance::run(args);
    }
    let journals = journals()?;
    let Some(pid) = args.pid else {
        return if args.list { list(&journals, args.json) } else { forget(&journals, args.json) };
    };
    let target = Target::open(&Root::live(), pid).map_err(|error| not_attached(error, &journals))?;
    let here = Here::read(measure::kept_file().as_deref()).map_err(Failure::hinted)?;
    let here = here.for_process(target.member());
    let place = devices::place(args, &here, target.member())?;
    let mut request =
        if args.undo { ResolvedRequest::default() } else { request(args, &here, place.as_ref())? };
    let interrupt = Interrupt::listen()?;
    let context = AttachContext { journals, now: clock::now(), nodes: nodes(&here), stop: interrupt.flag() };
    let mut below = Below::default();
    if args.tree && args.undo {
        // The last first: who was started while an attach was at work had by then what that had given to its maker. It goes back to this,
        // and with its maker to what was before.
        let family = family(&target)?;
        below.go_through(family.into_iter().rev(), &target, args, &mut request, &context);
        below.reports.reverse();
    }
    let mut report = one(&target, args, &request, &context)?;
    report.own_devices = place.and_then(|place| place.own);
    below.is_stopped |= report.ended == AttachEnded::Interrupted;
    if args.tree && !args.undo {
        request.affinity.go_on_behind(&target);
        below.go_through(family(&target)?.into_iter(), &target, args, &mut request, &context);
    }
    report.children = below.reports;
    report.notes.extend(below.notes);
    output::data(&if args.json {
        to_json(&report)
    } else {
        text::attach(&report, output::width(), Style::Ansi)
    })?;
    Ok(if below.is_stopped { INTERRUPTED } else { code(&report) })
}

/// The descendants of a process, makers before those that they started.
fn family(of: &Target) -> Outcome<Vec<u32>> {
    let family = descendants(&Root::live(), &[of.pid()])?;
    Ok(family.into_iter().skip(1).filter(|pid| *pid != std::process::id()).collect())
}

/// What became of the descendants of a process.
#[derive(Default)]
struct Below {
    reports: Vec<AttachReport>,
    notes: Vec<String>,
    is_stopped: bool,
}

impl Below {
    /// One after the other, until somebody asks to stop.
    fn go_through(
        &mut self,
        family: impl Iterator<Item = u32>,
        of: &Target,
        args: &Attach,
        request: &mut ResolvedRequest,
        context: &AttachContext<'_>,
    ) {
        for child in family {
            if self.is_stopped {
                break;
            }
            match descendant(child, of, args, request, context) {
                Ok(done) => {
                    self.is_stopped = done.ended == AttachEnded::Interrupted;
                    self.reports.push(done);
                }
                Err(failure) => {
                    self.is_stopped = failure.is_code(INTERRUPTED);
                    self.notes.push(format!("descendant {child} was left as it is: {failure}"));
                }
            }
        }
    }
}

/// One that a process has started, or that was started by one of these.
fn descendant(
    pid: u32,
    of: &Target,
    args: &Attach,
    request: &mut ResolvedRequest,
    context: &AttachContext<'_>,
) -> Outcome<AttachReport> {
    let descendant = Target::open(&Root::live(), pid).map_err(Failure::new)?;
    // Since the list was made its number may have come to mean somebody else.
    if !descendant.descends_from(of) {
        return Err(Failure::message("it descends from the process no longer"));
    }
    let done = one(&descendant, args, request, context);
    request.affinity.go_on_behind(&descendant);
    done
}

/// The exit code that tells how an attach ended.
fn code(report: &AttachReport) -> u8 {
    match report.ended {
        AttachEnded::Done => 0,
        AttachEnded::Interrupted => INTERRUPTED,
        // The process ended, or became something else, in the middle.
        _ => FAILED,
    }
}

/// The nodes that have memory.
fn nodes(here: &Here) -> Vec<u32> {
    let with_memory = here.machine().nodes.iter().filter(|node| node.size_bytes != Some(0));
    with_memory.map(|node| node.id).collect()
}

/// One process, there or back.
fn one(
    target: &Target,
    args: &Attach,
    request: &ResolvedRequest,
    context: &AttachContext<'_>,
) -> Outcome<AttachReport> {
    let mut executor = executor::choose(target, args, request)?;
    let lines = ProgressLines::new();
    let mut tell = |progress: &AttachProgress| lines.show(&words(progress));
    let report = if args.undo {
        firsttouch_attach::undo(target, executor.as_mut(), context, args.budget_stall, &mut tell)
    } else {
        firsttouch_attach::attach(target, executor.as_mut(), request, context, args.dry_run, &mut tell)
    };
    lines.clear();
    report.map_err(failed)
}

fn failed(error: AttachError) -> Failure {
    let hint = executor::hint(&error);
    let is_interrupted = matches!(error, AttachError::Gone { ended: AttachEnded::Interrupted, .. });
    let failure = Failure::new(error).hint(hint);
    if is_interrupted { failure.code(INTERRUPTED) } else { failure }
}

/// What was asked, resolved for this machine; `place` is that of the devices it is to be near.
fn request(args: &Attach, here: &Here, place: Option<&Place>) -> Outcome<ResolvedRequest> {
    let asked = asked(args, place)?;
    let placement = Placement {
        memory: asked.memory.clone(),
        threads: asked.threads.clone(),
        // Weights are needed here where the kernel would not use them.
        ..Placement::default()
    };
    if measure::needs_measurement(&placement) {
        measure::warn_of_unread(here.unread());
    }
    let resolved = here.resolve(&placement).map_err(Failure::hinted)?;
    let mut request = ResolvedRequest {
        destination: Destination::of_memory(&resolved.memory),
        stall_limit: args.budget_stall,
        notes: resolved.notes.clone(),
        ..ResolvedRequest::default()
    };
    request.affinity =
        ThreadAffinity { order: resolved.order, cpus: resolved.cpus, ..ThreadAffinity::default() };
    let any = asked.threads == ThreadPlacement::None;
    if let Some(place) = place {
        sit_on(&mut request, &place.near.cpus, &place.near.device, any)?;
        request.notes.extend(place.notes.iter().cloned());
    } else if let Some(node) = asked.node {
        let there = here.machine().nodes.iter().find(|known| known.id == node);
        let cpus = there.map_or(&[][..], |node| &node.cpus);
        sit_on(&mut request, cpus, &format!("node {node}"), any)?;
    }
    if request.destination.is_some() {
        request.notes.push(
            "pages that the program creates from now on follow its own policy: mostly, the node of the thread that touches \
             first"
                .to_owned(),
        );
    }
    if request.destination.is_some() && here.machine().numa_balancing == Some(true) {
        request.notes.push(
            "automatic balancing is on, and may move pages again (sysctl kernel.numa_balancing=0)".to_owned(),
        );
    }
    if !request.affinity.order.is_empty() {
        request
            .notes
            .push("threads that the program makes from now on have the CPUs of their maker".to_owned());
    }
    request.asked = asked;
    Ok(request)
}

fn asked(args: &Attach, place: Option<&Place>) -> Outcome<AttachAsked> {
    let nodes = place.map(|place| place.near.nodes.clone()).or_else(|| Some(vec![args.node?]));
    let memory = match (nodes, &args.memory) {
        (Some(nodes), _) => MemoryPolicy::Bind(NodeSet::of(&nodes)),
        (None, Some(MemoryPolicy::Local)) => {
            return Err(Failure::message(
                "`local` means nothing for pages that exist: nobody knows from outside which thread uses one",
            )
            .hint("--memory bind=NODES with --threads, or --node N for both"));
        }
        (None, memory) => memory.clone().unwrap_or_default(),
    };
    let threads = args.threads.clone().unwrap_or_default();
    let elsewhere = memory != MemoryPolicy::None || threads != ThreadPlacement::None;
    let asked = AttachAsked {
        huge_pages: args.pages.unwrap_or(!elsewhere),
        memory,
        threads,
        node: args.node,
        near: place.map(|place| place.devices.clone()).unwrap_or_default(),
        files: args.files,
        tree: args.tree,
        ..AttachAsked::default()
    };
    if !asked.huge_pages && !elsewhere {
        return Err(Failure::message("--pages plain alone asks for nothing")
            .hint("--pages thp, --node N, --memory or --threads"));
    }
    Ok(asked)
}

/// The threads of a process that goes to a node or a device: on the CPUs there, in the order that was asked for or in
/// any.
fn sit_on(request: &mut ResolvedRequest, there: &[u32], place: &str, any: bool) -> Outcome<()> {
    if there.is_empty() {
        request.notes.push(format!("{place} has no CPUs: threads are left where they are"));
        request.affinity = ThreadAffinity::default();
    } else if any {
        request.affinity = ThreadAffinity { cpus: there.to_vec(), ..ThreadAffinity::default() };
    } else {
        request.affinity.order.retain(|cpu| there.contains(cpu));
        if request.affinity.order.is_empty() {
            return Err(Failure::message(format!("{place} has none of the CPUs that were asked for"))
                .hint("--memory bind=N places memory alone"));
        }
        request.affinity.cpus.retain(|cpu| there.contains(cpu));
    }
    Ok(())
}

/// The folder of the journals.
fn journals() -> Outcome<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    match state {
        Some(state) => Ok(state.join("firsttouch/attach")),
        None => Err(Failure::message("there is no folder for the journal, and no step is made without one")
            .hint("set XDG_STATE_HOME or HOME")),
    }
}

fn not_attached(error: TargetError, journals: &std::path::Path) -> Failure {
    let hint = error.hint();
    let kept = firsttouch_attach::kept(&Root::live(), journals).unwrap_or_default();
    let is_gone =
        |pid: u32| kept.iter().any(|kept| !kept.alive && kept.begin.as_ref().is_some_and(|b| b.pid == pid));
    let hint = match &error {
        TargetError::NoSuchProcess { pid } if is_gone(*pid) => {
            "firsttouch attach --forget   # there is nothing to take back from a process that has ended"
                .to_owned()
        }
        _ => hint,
    };
    Failure::new(error).hint(hint)
}

fn cannot_read(journals: &std::path::Path) -> String {
    format!("cannot read the journals in {}", journals.display())
}

fn list(journals: &std::path::Path, as_json: bool) -> Outcome {
    let kept = firsttouch_attach::kept(&Root::live(), journals).with_context(|| cannot_read(journals))?;
    let list = AttachList { journals: kept.iter().map(AttachedProcess::from).collect() };
    if as_json {
        output::data(&to_json(&list))?;
    } else if list.journals.is_empty() {
        output::message("no process is attached to\n");
    } else {
        output::data(&text::attached(&list.journals))?;
    }
    Ok(0)
}

fn forget(journals: &std::path::Path, as_json: bool) -> Outcome {
    let gone = firsttouch_attach::forget(&Root::live(), journals).with_context(|| cannot_read(journals))?;
    let removed = gone.iter().map(|path| path.display().to_string()).collect();
    let forgotten = AttachForgotten { removed };
    if as_json {
        output::data(&to_json(&forgotten))?;
    } else {
        output::message(&text::attach_forgotten(&forgotten));
    }
    Ok(0)
}

fn words(progress: &AttachProgress) -> String {
    let AttachProgress { phase, done, of, elapsed, worst_pause } = *progress;
    let what = match phase {
        Phase::Threads => return format!("bound {done} of {of} threads"),
        Phase::Back => return format!("took back {done} of {of} steps"),
        Phase::Collapse => "gone through",
        Phase::Move => "moved",
    };
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-9) / 1e9;
    format!(
        "{what} {} of {} in {:.1} s ({rate:.1} GB/s), longest pause {:.1} ms",
        format_bytes(done),
        format_bytes(of),
        elapsed.as_secs_f64(),
        worst_pause.as_secs_f64() * 1e3
    )
}
