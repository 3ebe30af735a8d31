//! Programs of others come to what our variants come to.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

#[path = "../../../tests/skipped.rs"]
mod skipped;

use firsttouch_cases::{Arguments, Arrays, Case, Checksum, Given, Outside, Prepared, Variant, find};
use firsttouch_threads::Team;
use serde_json::Value;
use skipped::skipped;
use std::ffi::OsString;
use std::process::Command;

/// Prepares a variant on two threads; one that runs here does a step.
fn run(case: &dyn Case, variant: &'static Variant, arguments: &Arguments) -> Result<Checksum, Outside> {
    let (arrays, mut team) = (Arrays::default(), Team::of_this_process(2).unwrap());
    let mut given = Given { arguments, variant, arrays: &arrays, team: &mut team };
    match case.prepare(&mut given).unwrap() {
        Prepared::Here(mut workload) => {
            workload.reset(&mut team);
            workload.step(&mut team);
            Ok(workload.checksum())
        }
        Prepared::Outside(outside) => Err(outside),
    }
}

/// What a program writes after one step and after two, which have to be the same.
fn result(outside: &Outside, path: &OsString) -> Checksum {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let results = ["1", "2"].map(|steps| {
        let mut command = Command::new(outside.program);
        command.args(&outside.words).envs(outside.variables.iter().map(|(name, value)| (name, value)));
        command.env("PATH", path).env(Outside::RESULT, &file).env(Outside::STEPS, steps);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let result: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert!(result["seconds"].as_f64().unwrap() > 0.0, "{result}");
        let checksum = &result["checksum"];
        match checksum["exact"].as_str() {
            Some(digits) => Checksum::Exact(u64::from_str_radix(digits, 16).unwrap()),
            None => Checksum::Near {
                value: checksum["value"].as_f64().unwrap(),
                within: checksum["within"].as_f64().unwrap(),
            },
        }
    });
    assert!(results[0].agrees(results[1]), "{results:?}");
    results[0]
}

/// Every program that is here, with these values and quick ones of all others.
fn programs_agree(case: &dyn Case, chosen: &[(&str, &str)]) {
    let about = case.about();
    let chosen: Vec<_> = chosen.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let arguments = Arguments::of(about, &chosen, true).unwrap();
    let paths = [std::env::var_os("PATH").unwrap_or_default(), OsString::from("/usr/bin:/bin")];
    for variant in about.variants {
        let Err(outside) = run(case, variant, &arguments) else { continue };
        let Some(path) = paths.iter().find(|path| case.missing(variant, Some(path)).is_none()) else {
            let missing = case.missing(variant, Some(&paths[0])).map_or(String::new(), |it| it.to_string());
            skipped(&format!("{} {}: {missing}", about.name, variant.name));
            continue;
        };
        let ours = run(case, &about.variants[0], &arguments).unwrap();
        let theirs = result(&outside, path);
        assert!(ours.agrees(theirs), "{} {}: {ours:?}, {theirs:?}", about.name, variant.name);
    }
}

#[test]
fn programs_know_every_kernel_of_stream() {
    for kernel in ["copy", "scale", "add", "triad"] {
        programs_agree(find("stream").unwrap(), &[("kernel", kernel), ("array", "80008")]);
    }
}

#[test]
fn programs_draw_the_numbers_of_gups() {
    for updates in ["1", "1025", "100000"] {
        programs_agree(find("gups").unwrap(), &[("table", "64K"), ("updates", updates)]);
    }
}

#[test]
fn programs_follow_the_wave() {
    programs_agree(find("wave3d").unwrap(), &[("n", "40"), ("times", "30"), ("border", "8")]);
}
