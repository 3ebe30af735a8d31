//! `run`: a program with its memory placed, and otherwise as if we were not there.

use crate::args::{PlacementArgs, Run};
use crate::input::without_mark;
use crate::output::{self, Failure, Outcome};
use crate::{export, measure, program, ranks};
use anyhow::Context;
use firsttouch_documents::{JobRank, to_json};
use firsttouch_launch::{Gathering, Manner, Start, Subject, Waiting, run_once, worker_advice};
use firsttouch_linux::trials::may_leave_capabilities;
use firsttouch_machine::{Root, StatusReport};
use firsttouch_placement::{Placement, Prefault, Profile, Reason, Resolved, Via, format_order};
use firsttouch_process::Stream;
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub(crate) fn run(run: &Run) -> Outcome {
    let mut asked = placement(&run.placement)?;
    let own = program::environment();
    let subject = Subject::find(&run.program, &own).map_err(program::not_runnable)?;
    let rank = run
        .ranks
        .map(|word| ranks::place(&asked, word, run.only_ranks.as_ref(), &own, run.quiet))
        .transpose()?;
    let resolved = match &rank {
        Some(rank) => {
            asked = rank.asked.clone();
            rank.resolved.clone()
        }
        None => measure::resolve(&asked, run.quiet).map_err(Failure::hinted)?,
    };
    if rank.is_none() && !run.quiet {
        ranks::warn_of_sharing(&asked, &own);
        if let Some(file) = &run.receipt {
            ranks::warn_of_one_file(file, &own);
        }
    }
    if run.attachable && asked.via == Via::Supervise {
        return Err(Failure::message(
            "--attachable needs the agent, which --via supervise keeps out of the program",
        )
        .hint("attach needs no preparation where pages can be collapsed from outside"));
    }
    let attachable = spare_threads(&mut asked, run)?;
    let shortfall = reach(&subject, &asked, run)?;
    if shortfall.is_none() {
        look_for_pages(&asked, &resolved, run)?;
    }
    if !run.quiet {
        warn_of_ignored_sizes(&asked);
        warn_of_java(&subject, &asked);
    }
    if let Some(file) = &run.receipt {
        export::may_write(file)?;
    }
    let gathering = match (&rank, &run.receipt) {
        (Some(rank), Some(file)) => Some((rank, rank.gathering(file, run.gather.as_deref(), &own)?)),
        _ => None,
    };
    let start = match shortfall {
        Some(reason) => Start::unreached(&subject, own, &asked, resolved, reason),
        None => Start::placed(&subject, own, &asked, resolved, attachable).map_err(Failure::hinted)?,
    };
    if run.receipt.is_none() && !start.is_supervised() {
        // Becomes the program; what comes back is why that failed.
        return Err(program::not_started(start.exec()));
    }
    let manner = Manner {
        streams: [Stream::Inherit, Stream::Inherit, Stream::Inherit],
        variables: Vec::new(),
        waiting: Waiting::StandingIn,
    };
    if let Some((_, gathering)) = &gathering {
        gathering.begin().map_err(|error| not_gathered(error, gathering))?;
    }
    let ran = run_once(&start, &manner, run.receipt.is_some()).map_err(program::not_run)?;
    if let Some((explanation, remedy)) = ran.refusal.filter(|_| !run.quiet) {
        output::warning(&format!("{explanation}: the program ran as it is"), Some(remedy));
    }
    if let (Some(file), Some(mut receipt)) = (&run.receipt, ran.receipt) {
        let tree = receipt.tree.as_ref().filter(|_| shortfall.is_none());
        if let Some(advice) = tree.and_then(|tree| worker_advice(&asked, tree)) {
            receipt.notes.push(format!("{}: {}", advice.what, advice.remedy));
            if !run.quiet {
                output::warning(&advice.what, Some(&advice.remedy));
            }
        }
        let written = match &gathering {
            None => export::write(file, &to_json(&receipt)),
            Some((rank, gathering)) => {
                let ended = rank.ended(gathering, &ran.finished, receipt);
                gather(gathering, &ended, file, run.quiet)
            }
        };
        // The program has run: what it ended with is never lost to what we could not write.
        if let Err(failure) = written {
            failure.print();
        }
    }
    Ok(ran.finished.ending.plan().carry_out())
}

/// Leaves a rank's receipt with those of the others; whoever ends last writes all of them.
fn gather(gathering: &Gathering, ended: &JobRank, file: &Path, quiet: bool) -> Outcome<()> {
    let all = gathering.end(ended).map_err(|error| not_gathered(error, gathering))?;
    let Some(job) = all else { return Ok(()) };
    export::write(file, &to_json(&job))?;
    if !job.missing.is_empty() && !quiet {
        let missing = format_order(&job.missing);
        output::warning(&format!("rank {missing} of the job left no receipt: it was killed"), None);
    }
    Ok(())
}

fn not_gathered(error: std::io::Error, gathering: &Gathering) -> Failure {
    let what = format!("cannot gather the ranks' receipts in {}", gathering.folder.display());
    Failure::new(error).context(what).hint("--gather FOLDER names one that all ranks can write to")
}

/// The placement asked for: the profile's, or the default, with the options over it.
pub(crate) fn placement(args: &PlacementArgs) -> Outcome<Placement> {
    let start = match &args.profile {
        None => Placement::default(),
        Some(file) => profile(file)?.placement,
    };
    args.over(&start).map_err(|error| Failure::hinted(error).usage())
}

/// The profile in a file.
pub(crate) fn profile(file: &Path) -> Outcome<Profile> {
    let shown = file.display();
    // A device may never end.
    const MOST_BYTES: u64 = 1 << 20;
    let mut read = Vec::new();
    File::open(file)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut read))
        .with_context(|| format!("cannot read the profile {shown}"))?;
    if read.len() as u64 > MOST_BYTES {
        return Err(Failure::message(format!("{shown} is longer than any profile")));
    }
    let bytes = without_mark(read);
    let text = String::from_utf8(bytes).with_context(|| format!("{shown} is not text"))?;
    Profile::parse(&text)
        .map_err(|error| Failure::hinted(error).context(format!("cannot use the profile {shown}")))
}

/// Leaves out what the agent has threads of its own for, where a filter of system calls kills them and the program with them; with `--strict` it
/// must not be. Answers whether there is to be a control channel.
fn spare_threads(asked: &mut Placement, run: &Run) -> Outcome<bool> {
    let is_background = asked.prefault == Prefault::Background;
    if !(run.attachable || is_background) || may_leave_capabilities() {
        return Ok(run.attachable);
    }
    let left_out = match (run.attachable, is_background) {
        (true, true) => "--attachable and --prefault=background",
        (true, false) => "--attachable",
        (false, _) => "--prefault=background",
    };
    let what = "a sandbox (seccomp) kills threads that give up their capabilities (capset)";
    let remedy = "SystemCallFilter=capset, or SystemCallErrorNumber=EPERM, in a unit of systemd";
    if run.strict {
        return Err(Failure::message(format!("{what}, as those of {left_out} do")).hint(remedy));
    }
    if !run.quiet {
        output::warning(&format!("{what}: {left_out} is left out"), Some(remedy));
    }
    if is_background {
        asked.prefault = Prefault::No;
    }
    Ok(false)
}

/// Whether the means reaches the program; with `--strict` it must.
fn reach(subject: &Subject, asked: &Placement, run: &Run) -> Outcome<Option<Reason>> {
    if run.strict && asked.via == Via::Supervise {
        let status = StatusReport::examine(&Root::live())?;
        if let Some(ability) = status.can("supervise").filter(|ability| ability.possible == Some(false)) {
            let failure =
                Failure::message(format!("pages cannot be collapsed from outside: {}", ability.why));
            return Err(failure.hint_if_some(ability.remedy.as_ref()));
        }
    }
    let beyond = subject.beyond(asked);
    let beyond = if run.attachable { beyond.or_else(|| subject.beyond_agent()) } else { beyond };
    let Some((reason, explanation)) = beyond else { return Ok(None) };
    if run.strict {
        return Err(
            Failure::message(format!("{explanation}: the placement cannot reach it")).hint(reason.remedy())
        );
    }
    let inherited =
        if asked.needs_resolving() { ", but for memory policy and CPUs of the whole program" } else { "" };
    let channel = if run.attachable { ", and without a control channel" } else { "" };
    if !run.quiet {
        output::warning(
            &format!("{explanation}: it runs without the placement{inherited}{channel}"),
            Some(reason.remedy()),
        );
    }
    Ok(Some(reason))
}

/// Says where the machine has no pages of the kind at this moment; with `--strict` it must have some.
fn look_for_pages(asked: &Placement, resolved: &Resolved, run: &Run) -> Outcome<()> {
    // From outside pages are collapsed, which heeds no settings.
    if asked.via == Via::Supervise {
        return Ok(());
    }
    let ability = firsttouch_machine::pages_ability(&asked.pages.to_string(), &resolved.memory.nodes());
    let Some(ability) = ability.filter(|ability| ability.possible == Some(false)) else { return Ok(()) };
    let what = format!("there are no {} pages: {}", ability.what, ability.why);
    if run.strict {
        let failure = Failure::message(what);
        return Err(failure.hint_if_some(ability.remedy));
    }
    if !run.quiet {
        let next = asked.pages.fallback().filter(|_| asked.is_placed_by_agent());
        let instead = next.map_or_else(String::new, |next| format!("; {next} is asked for instead"));
        output::warning(&format!("{what}{instead}"), ability.remedy.as_deref());
    }
    Ok(())
}

fn warn_of_ignored_sizes(placement: &Placement) {
    let default = Placement::default();
    let ranged = placement.min_size != default.min_size || placement.max_size.is_some();
    if ranged && !matches!(placement.via, Via::Agent | Via::Supervise) {
        output::warning(
            &format!("--via {} knows no range of sizes: it places every allocation", placement.via),
            None,
        );
    }
}

fn warn_of_java(subject: &Subject, asked: &Placement) {
    if subject.is_jvm() && asked.is_placed_by_agent() {
        output::warning(
            "Java maps its heap itself: the agent places only what is allocated beside it",
            Some("firsttouch run --via jvm"),
        );
    }
    if !subject.is_jvm() && asked.via == Via::Jvm {
        let what = "the program is no Java virtual machine: only those that it starts are placed";
        output::warning(what, Some("--via agent, the default, places the memory of other programs"));
    }
}
