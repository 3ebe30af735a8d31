//! `attach`: a process that already runs, placed, and put back.

mod devices;
mod hand;

use crate::args::Attach;
use crate::clock;
use crate::here::Here;
use crate::output::{self, Failure, Outcome};
use crate::tune::interrupt::INTERRUPTED;
use devices::Place;
use firsttouch_attach::{
    Around, AttachError, Destination, Phase, Progress, Seats, Target, TargetError, Wish,
};
use firsttouch_linux::process::descendants;
use firsttouch_machine::Root;
use firsttouch_placement::{
    AttachAsked, AttachEnded, AttachReport, MemoryPolicy, NodeSet, Placement, ThreadPlacement, format_bytes,
};
use firsttouch_process::Mode;
use firsttouch_report::{Style, json, text, visible};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The process ended, or became something else, in the middle.
const CUT_SHORT: u8 = 1;

pub(crate) fn run(args: &Attach) -> Outcome {
    let journals = journals()?;
    let Some(pid) = args.pid else {
        return if args.list { list(&journals, args.json) } else { forget(&journals, args.json) };
    };
    let target = Target::open(&Root::live(), pid).map_err(|error| not_attached(error, &journals))?;
    let here = Here::read().map_err(|error| {
        let hint = error.hint();
        Failure::new(error).hint(hint)
    })?;
    let here = here.for_process(target.member());
    let place = devices::place(args, &here, target.member())?;
    let wish = if args.undo { Wish::default() } else { wish(args, &here, place.as_ref())? };
    let stop = listen()?;
    let around = Around { journals, now: clock::now(), nodes: nodes(&here), stop: &stop };
    let mut report = one(&target, args, &wish, &around)?;
    report.own_devices = place.and_then(|place| place.own);
    if args.tree {
        let family = descendants(&Root::live(), &[pid])?;
        for child in family.into_iter().skip(1).filter(|child| *child != std::process::id()) {
            if report.ended == AttachEnded::Interrupted {
                break;
            }
            let done = Target::open(&Root::live(), child)
                .map_err(|error| error.to_string())
                .and_then(|target| one(&target, args, &wish, &around).map_err(|failure| failure.to_string()));
            match done {
                Ok(done) => report.children.push(done),
                Err(error) => report.notes.push(format!("descendant {child} was left as it is: {error}")),
            }
        }
    }
    output::data(&if args.json {
        json::attach(&report)
    } else {
        text::attach(&report, output::width(), Style::Ansi)
    })?;
    Ok(code(&report))
}

/// The exit code that tells how an attach ended.
pub(crate) fn code(report: &AttachReport) -> u8 {
    match report.ended {
        AttachEnded::Done => 0,
        AttachEnded::Interrupted => INTERRUPTED,
        _ => CUT_SHORT,
    }
}

/// The nodes that have memory.
pub(crate) fn nodes(here: &Here) -> Vec<u32> {
    let with_memory = here.machine().nodes.iter().filter(|node| node.size_bytes != Some(0));
    with_memory.map(|node| node.id).collect()
}

/// One process, there or back.
fn one(target: &Target, args: &Attach, wish: &Wish, around: &Around<'_>) -> Outcome<AttachReport> {
    let mut hand = hand::choose(target, args, wish)?;
    let mut teller = Teller::new();
    let mut tell = |progress: &Progress| teller.tell(progress);
    let report = if args.undo {
        firsttouch_attach::undo(target, hand.as_mut(), around, args.budget_stall, &mut tell)
    } else {
        firsttouch_attach::attach(target, hand.as_mut(), wish, around, args.dry_run, &mut tell)
    };
    teller.end();
    report.map_err(|error: AttachError| {
        let hint = hand::hint(&error);
        Failure::new(error).hint(hint)
    })
}

/// What was asked, resolved for this machine; `place` is that of the devices it is to be near.
fn wish(args: &Attach, here: &Here, place: Option<&Place>) -> Outcome<Wish> {
    let asked = asked(args, place)?;
    let placement = Placement {
        memory: asked.memory.clone(),
        threads: asked.threads.clone(),
        // Weights are needed here where the kernel would not use them.
        ..Placement::default()
    };
    let resolved = here.resolve(&placement).map_err(|error| {
        let hint = error.hint();
        Failure::new(error).hint(hint)
    })?;
    let mut wish = Wish { stall_limit: args.budget_stall, notes: resolved.notes.clone(), ..Wish::default() };
    wish.destination = match (&resolved.memory, resolved.weights.as_slice()) {
        (_, weights @ [_, ..]) => Some(Destination::Turns(weights.to_vec())),
        (Some((Mode::Interleave, nodes)), _) => {
            Some(Destination::Turns(nodes.iter().map(|node| (*node, 1)).collect()))
        }
        (Some((Mode::WeightedInterleave, nodes)), _) => {
            let weights = here.machine().interleave_weights.clone().unwrap_or_default();
            let weight = |node: &u32| (*node, weights.get(node).copied().unwrap_or(1));
            Some(Destination::Turns(nodes.iter().map(weight).collect()))
        }
        (Some((_, nodes)), _) => Some(Destination::Among(nodes.clone())),
        (None, _) => None,
    };
    wish.seats = Seats { order: resolved.order, cpus: resolved.cpus, ..Seats::default() };
    let any = asked.threads == ThreadPlacement::None;
    if let Some(place) = place {
        sit_on(&mut wish, &place.near.cpus, &place.near.device, any)?;
        wish.notes.extend(place.notes.iter().cloned());
    } else if let Some(node) = asked.node {
        let there = here.machine().nodes.iter().find(|known| known.id == node);
        let cpus = there.map_or(&[][..], |node| &node.cpus);
        sit_on(&mut wish, cpus, &format!("node {node}"), any)?;
    }
    if wish.destination.is_some() {
        wish.notes.push(
            "pages that the program creates from now on follow its own policy: mostly, the node of the thread that touches \
             first"
                .to_owned(),
        );
    }
    if wish.destination.is_some() && here.machine().numa_balancing == Some(true) {
        wish.notes.push(
            "automatic balancing is on, and may move pages again (sysctl kernel.numa_balancing=0)".to_owned(),
        );
    }
    if !wish.seats.order.is_empty() {
        wish.notes.push("threads that the program makes from now on have the CPUs of their maker".to_owned());
    }
    wish.asked = asked;
    Ok(wish)
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
fn sit_on(wish: &mut Wish, there: &[u32], place: &str, any: bool) -> Outcome<()> {
    if there.is_empty() {
        wish.notes.push(format!("{place} has no CPUs: threads are left where they are"));
        wish.seats = Seats::default();
    } else if any {
        wish.seats = Seats { cpus: there.to_vec(), ..Seats::default() };
    } else {
        wish.seats.order.retain(|cpu| there.contains(cpu));
        if wish.seats.order.is_empty() {
            return Err(Failure::message(format!("{place} has none of the CPUs that were asked for"))
                .hint("--memory bind=N places memory alone"));
        }
        wish.seats.cpus.retain(|cpu| there.contains(cpu));
    }
    Ok(())
}

/// The folder of the journals.
pub(crate) fn journals() -> Outcome<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    match state {
        Some(state) => Ok(state.join("firsttouch/attach")),
        None => Err(Failure::message("there is no folder for the journal, and no step is made without one")
            .hint("set XDG_STATE_HOME or HOME")),
    }
}

/// Ctrl-C ends the attach after the step that is being made; a second one ends it at once.
pub(crate) fn listen() -> Outcome<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

pub(crate) fn not_attached(error: TargetError, journals: &std::path::Path) -> Failure {
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

fn list(journals: &std::path::Path, as_json: bool) -> Outcome {
    let kept = firsttouch_attach::kept(&Root::live(), journals)?;
    if as_json {
        let entry = |kept: &firsttouch_attach::Kept| {
            serde_json::json!({
                "journal": kept.path.display().to_string(),
                "pid": kept.begin.as_ref().map(|begin| begin.pid),
                "command": kept.begin.as_ref().map(|begin| &begin.command),
                "began": kept.begin.as_ref().map(|begin| &begin.began),
                "alive": kept.alive,
                "cut_off": kept.cut_off,
                "steps": kept.open_steps,
            })
        };
        let all: Vec<_> = kept.iter().map(entry).collect();
        output::data(&format!("{}\n", serde_json::to_string_pretty(&all)?))?;
        return Ok(0);
    }
    if kept.is_empty() {
        output::message("no process is attached to\n");
    }
    for kept in kept {
        let Some(begin) = &kept.begin else {
            output::data(&format!("{}: does not read\n", kept.path.display()))?;
            continue;
        };
        let state = match (kept.alive, kept.cut_off) {
            (false, _) => "gone",
            (true, true) => "alive, cut off",
            (true, false) => "alive",
        };
        let command = visible(&begin.command);
        output::data(&format!(
            "{}  {state}  {}  {} steps  {command}\n",
            begin.pid, begin.began, kept.open_steps
        ))?;
    }
    Ok(0)
}

fn forget(journals: &std::path::Path, as_json: bool) -> Outcome {
    let gone = firsttouch_attach::forget(&Root::live(), journals)?;
    let names: Vec<String> = gone.iter().map(|path| path.display().to_string()).collect();
    if as_json {
        output::data(&format!("{}\n", serde_json::to_string_pretty(&names)?))?;
    } else {
        output::message(&format!("{} of processes that are gone removed\n", names.len()));
    }
    Ok(0)
}

/// Tells on stderr how far it is: one line that changes on a terminal, one line for each phase elsewhere.
#[derive(Debug)]
struct Teller {
    redraws: bool,
    last: Option<Progress>,
    told: Option<Instant>,
}

const REDRAW: Duration = Duration::from_millis(100);

impl Teller {
    fn new() -> Teller {
        Teller { redraws: output::terminal().is_some(), last: None, told: None }
    }

    fn tell(&mut self, progress: &Progress) {
        if self.last.is_some_and(|last| last.phase != progress.phase) {
            self.end();
        }
        self.last = Some(*progress);
        if self.redraws && self.told.is_none_or(|told| told.elapsed() >= REDRAW) {
            self.told = Some(Instant::now());
            output::message(&format!("\r\x1b[K{}", words(progress)));
        }
    }

    /// The last words of a phase.
    fn end(&mut self) {
        if let Some(last) = self.last.take().filter(|last| last.of > 0) {
            let lead = if self.redraws { "\r\x1b[K" } else { "" };
            output::message(&format!("{lead}{}\n", words(&last)));
        }
    }
}

fn words(progress: &Progress) -> String {
    let Progress { phase, done, of, elapsed, worst_pause } = *progress;
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
