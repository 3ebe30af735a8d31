//! `doctor`: what is wrong with this machine, or a recorded one, and what mends it.

mod measured;

use crate::args::Doctor;
use crate::exit::NOT_MET;
use crate::output::{self, Failure, Outcome};
use crate::status;
use firsttouch_documents::{DoctorReport, Weight, to_json};
use firsttouch_explain::{MachineEvidence, Measurements, Profile, diagnose};
use firsttouch_report::{Style, text};
use std::fs;

pub(crate) fn run(args: &Doctor) -> Outcome {
    let profile = args.profile.as_deref().map(profile).transpose()?.unwrap_or_default();
    let source = status::source(args.machine.as_deref(), &args.root)?;
    let against = measured::read(&args.against)?;
    let mut evidence = MachineEvidence::collect(&source).map_err(Failure::hinted)?;
    if args.measure {
        let of_profile = ("profile".to_owned(), profile.measured().clone());
        evidence.measurements = Measurements {
            values: measured::measure(&evidence.report.machine)?,
            expected: std::iter::once(of_profile).chain(measured::peers(against)).collect(),
            tolerance: args.tolerance,
        };
    }
    let named = args.machine.clone().unwrap_or_else(|| args.root.display().to_string());
    let name = evidence.host_name().map_or(named, str::to_owned);
    let host = diagnose(&evidence, &profile, &name);
    let met = host.findings.iter().all(|finding| finding.weight == Weight::Remark);
    let report = DoctorReport { profile: args.profile.clone(), hosts: vec![host] };
    output::data(&if args.json {
        to_json(&report)
    } else {
        text::doctor(&report, output::width(), Style::Ansi)
    })?;
    Ok(if args.strict && !met { NOT_MET } else { 0 })
}

/// A shipped profile by its name, or a file.
fn profile(named: &str) -> Outcome<Profile> {
    let text = match Profile::shipped(named) {
        Some(text) => text.to_owned(),
        None => fs::read_to_string(named).map_err(|error| {
            let names = Profile::NAMES.join(", ");
            let error = anyhow::Error::new(error).context(format!("cannot read the profile {named}"));
            Failure::new(error).usage().hint(format!("name a file, or a shipped one: {names}"))
        })?,
    };
    Profile::parse(&text).map_err(|error| {
        let hint = error.hint();
        let error = anyhow::Error::new(error).context(format!("{named} is no profile of `doctor`"));
        Failure::new(error).usage().hint_if_some(hint)
    })
}
