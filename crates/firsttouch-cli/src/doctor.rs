//! `doctor`: what is wrong with this machine, a recorded one or many, and what mends it.

mod answer;
mod hosts;
mod measured;
mod merged;

use crate::args::Doctor;
use crate::exit::{FAILED, INTERRUPTED, NOT_MET};
use crate::output::{Failure, Outcome};
use crate::{export, status};
use firsttouch_documents::{AnyDocument, DoctorHost, DoctorReport};
use firsttouch_explain::{MachineEvidence, Measurements, Profile, compare, diagnose, hold_against};
use measured::Against;
use std::fs;

pub(crate) fn run(args: &Doctor) -> Outcome {
    export::check(args.export.json, args.export.files())?;
    let text = args.profile.as_deref().map(profile_text).transpose()?.or_else(|| args.profile_text.clone());
    let named = args.profile.as_deref().unwrap_or("--profile-text");
    let profile = text.as_deref().map(|text| profile(named, text)).transpose()?.unwrap_or_default();
    let against = Against::read(&args.against)?;
    let mut interrupted = false;
    let (mut hosts, missing, several) = if !args.merge.is_empty() {
        let (hosts, missing) = merged::read(&args.merge);
        (hosts, missing, true)
    } else if let Some(way) = hosts::Way::of(args) {
        let asked = hosts::ask(args, &way, text.as_deref())?;
        interrupted = asked.interrupted;
        (asked.hosts, asked.missing, true)
    } else {
        (vec![here(args, &profile)?], Vec::new(), false)
    };
    for host in &mut hosts {
        if let Some(expected) = against.of(&host.name) {
            hold_against(host, &profile, &expected, args.tolerance);
        }
    }
    let compared = several.then(|| compare(&hosts, args.tolerance));
    let report = DoctorReport { profile: args.profile.clone(), hosts, missing, compared };
    let met = report.is_met();
    let nobody = report.hosts.is_empty();
    export::show(&AnyDocument::Doctor(Box::new(report)), args.export.json, &args.export.chosen())?;
    Ok(match (interrupted, nobody) {
        (true, _) => INTERRUPTED,
        (_, true) => FAILED,
        _ if args.strict && !met => NOT_MET,
        _ => 0,
    })
}

/// This machine, or the one that is named.
fn here(args: &Doctor, profile: &Profile) -> Outcome<DoctorHost> {
    let source = status::source(args.machine.as_deref(), &args.root)?;
    let mut evidence = MachineEvidence::collect(&source).map_err(Failure::hinted)?;
    let mut unmeasured = Vec::new();
    if args.measure {
        let measured = measured::measure(&evidence.report.machine)?;
        unmeasured = measured.unseen;
        evidence.measurements = Measurements {
            values: measured.values,
            expected: profile.measured().clone(),
            tolerance: args.tolerance,
        };
    }
    let named = args.machine.clone().unwrap_or_else(|| args.root.display().to_string());
    let name = evidence.host_name().map_or(named, str::to_owned);
    let mut host = diagnose(&evidence, profile, &name);
    host.unseen.extend(unmeasured);
    Ok(host)
}

/// The text of a shipped profile by its name, or of a file, which is one.
fn profile_text(named: &str) -> Outcome<String> {
    let text = match Profile::shipped(named) {
        Some(text) => text.to_owned(),
        None => fs::read_to_string(named).map_err(|error| {
            let names = Profile::NAMES.join(", ");
            let error = anyhow::Error::new(error).context(format!("cannot read the profile {named}"));
            Failure::new(error).usage().hint(format!("name a file, or a shipped one: {names}"))
        })?,
    };
    profile(named, &text).map(|_| text)
}

fn profile(named: &str, text: &str) -> Outcome<Profile> {
    Profile::parse(text).map_err(|error| {
        let hint = error.hint();
        let error = anyhow::Error::new(error).context(format!("{named} is no profile of `doctor`"));
        Failure::new(error).usage().hint_if_some(hint)
    })
}
