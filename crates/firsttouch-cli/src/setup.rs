//! `setup`: what would be changed of this machine, the change, and the way back.

use crate::args::{Setup, SetupTopic};
use crate::clock;
use crate::exit::{FAILED, INTERRUPTED};
use crate::interrupt::Interrupt;
use crate::output::{self, Failure, Outcome};
use crate::run::profile;
use firsttouch_documents::{SetupReport, SetupState, to_json};
use firsttouch_machine::Root;
use firsttouch_report::{Style, text};
use firsttouch_setup::{Asked, Session, SetupError, Site, Topic, listed, plan};
use std::path::Path;

pub(crate) fn run(args: &Setup) -> Outcome {
    if !args.root.is_dir() {
        return Err(Failure::message(format!("--root {} is no folder", args.root.display())).usage());
    }
    let live = args.root == Path::new("/");
    let site = Site::at(if live { Root::live() } else { Root::at(&args.root) });
    let may = !live || rustix::process::geteuid().is_root();
    if args.undo {
        let topic = args.topic.map(Topic::from);
        let word = topic.map(|topic| format!("{} ", topic.word())).unwrap_or_default();
        if !args.words.is_empty() {
            let hint = format!("firsttouch setup {word}--undo");
            return Err(Failure::message("a topic is taken back as a whole").usage().hint(hint));
        }
        if !may {
            show(args, &listed(&site, topic).map_err(failure)?)?;
            return Err(not_root(&format!("sudo firsttouch setup {word}--undo")));
        }
        let session = Session::open(&site, clock::now()).map_err(failure)?;
        let report = session.undo(topic, args.force).map_err(failure)?;
        show(args, &report)?;
        return Ok(status(&report));
    }
    let Some(topic) = args.topic else {
        show(args, &listed(&site, None).map_err(failure)?)?;
        return Ok(0);
    };
    let profile = match (topic, &args.words[..]) {
        (SetupTopic::For, [file]) => Some(profile(Path::new(file))?),
        (SetupTopic::For, _) => {
            let hint = "firsttouch setup for PROFILE.toml";
            return Err(Failure::message("one profile is to be named").usage().hint(hint));
        }
        _ => None,
    };
    let asked = Asked {
        placement: profile.map(|profile| Box::new(profile.placement)),
        users: args.users.clone(),
        groups: args.groups.clone(),
        services: args.services.clone(),
        pid: args.pid,
        memory_bytes: args.memory,
        words: args.words.clone(),
        nodes: args.nodes.clone(),
        rest_bytes: args.rest,
        force: args.force,
        persist: args.persist,
    };
    let planned = || {
        let mut report = plan(&site, Topic::from(topic), &asked).map_err(failure)?;
        report.asked = std::env::args_os()
            .skip_while(|word| word != "setup")
            .skip(1)
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        // The topic stands first: by that what it changed is found again.
        let word = Topic::from(topic).word();
        if let Some(at) = report.asked.iter().position(|asked| asked == word) {
            report.asked[..=at].rotate_right(1);
        }
        Ok::<_, Failure>(report)
    };
    if !args.apply {
        show(args, &planned()?)?;
        return Ok(0);
    }
    if !may {
        let report = planned()?;
        show(args, &report)?;
        return Err(not_root(&format!("sudo firsttouch setup {}", report.asked.join(" "))));
    }
    let interrupt = Interrupt::listen()?;
    let session = Session::open(&site, clock::now()).map_err(failure)?;
    if !session.mended().is_empty() {
        output::warning("the last session was cut off: what it had changed was taken back first", None);
    }
    let mut report = match planned() {
        Ok(report) => report,
        Err(refused) => {
            session.close().map_err(failure)?;
            return Err(refused);
        }
    };
    session.apply(&mut report, interrupt.flag()).map_err(failure)?;
    show(args, &report)?;
    Ok(status(&report))
}

fn show(args: &Setup, report: &SetupReport) -> Outcome<()> {
    output::data(&if args.json { to_json(report) } else { text::setup(report, output::width(), Style::Ansi) })
}

/// Whether everything is as it was asked for.
fn status(report: &SetupReport) -> u8 {
    let short = |state| matches!(state, SetupState::Short | SetupState::Left);
    if report.changes.iter().any(|change| short(change.state)) { FAILED } else { 0 }
}

fn not_root(command: &str) -> Failure {
    Failure::message("only root may change this machine: nothing was changed").hint(command)
}

fn failure(error: SetupError) -> Failure {
    let (usage, interrupted) = (error.is_usage(), matches!(error, SetupError::Interrupted));
    let failure = Failure::hinted(error);
    match (usage, interrupted) {
        (true, _) => failure.usage(),
        (_, true) => failure.code(INTERRUPTED),
        _ => failure,
    }
}

impl From<SetupTopic> for Topic {
    fn from(topic: SetupTopic) -> Topic {
        match topic {
            SetupTopic::Pages => Topic::Pages,
            SetupTopic::Thp => Topic::Thp,
            SetupTopic::Limits => Topic::Limits,
            SetupTopic::Boot => Topic::Boot,
            SetupTopic::For => Topic::For,
        }
    }
}
