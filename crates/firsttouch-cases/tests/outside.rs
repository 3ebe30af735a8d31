//! Programs of others that compute a case: started as `bench` does, they come to what our variants come to.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../tests/skipped.rs"]
mod skipped;

use firsttouch_cases::{ALL, Arguments, Arrays, Case, Checksum, Given, Outside, Prepared, Variant, find};
use firsttouch_threads::Team;
use serde_json::Value;
use skipped::skipped;
use std::ffi::OsString;
use std::fs;
use std::process::Command;
use std::sync::LazyLock;

/// The search path, on which Python has NumPy if any does here.
static PATH: LazyLock<OsString> = LazyLock::new(|| {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_numpy = |python: &str| {
        Command::new(python).args(["-c", "import numpy"]).output().is_ok_and(|output| output.status.success())
    };
    if has_numpy("python3") || !has_numpy("/usr/bin/python3") {
        return path;
    }
    let mut first = OsString::from("/usr/bin:");
    first.push(path);
    first
});

/// What a variant comes to with these values beside quick ones, by one thread or two; `None` where something is missing for it.
fn checksum(
    case: &dyn Case,
    variant: &'static Variant,
    chosen: &[(&str, &str)],
    threads: usize,
) -> Option<Checksum> {
    if let Some(missing) = case.missing(variant, Some(&PATH)) {
        skipped(&missing.to_string());
        return None;
    }
    let chosen: Vec<_> =
        chosen.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let arguments = Arguments::of(case.about(), &chosen, true).unwrap();
    let (arrays, mut team) = (Arrays::default(), Team::of_this_process(threads).unwrap());
    let mut given = Given { arguments: &arguments, variant, arrays: &arrays, team: &mut team };
    Some(match case.prepare(&mut given).unwrap() {
        Prepared::Here(mut workload) => {
            workload.reset(&mut team);
            workload.step(&mut team);
            workload.checksum()
        }
        Prepared::Outside(outside) => said(&outside, 2),
    })
}

/// The checksum that a program of others writes.
fn said(outside: &Outside, steps: u32) -> Checksum {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result");
    let mut command = Command::new(outside.program);
    command
        .args(&outside.words)
        .env("PATH", &*PATH)
        .env(Outside::RESULT, &file)
        .env(Outside::STEPS, steps.to_string());
    let output = command.envs(outside.variables.iter().map(|(name, value)| (name, value))).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert!(result["seconds"].as_f64().unwrap() > 0.0, "{result}");
    let checksum = &result["checksum"];
    match checksum["exact"].as_str() {
        Some(digits) => Checksum::Exact(u64::from_str_radix(digits, 16).unwrap()),
        None => {
            let number = |name: &str| checksum[name].as_f64().unwrap();
            Checksum::Near { value: number("value"), within: number("within") }
        }
    }
}

/// All variants of a case that are programs of others, and its first, come to the same.
fn agree(case: &dyn Case, chosen: &[(&str, &str)]) {
    let variants = case.about().variants;
    let of = |variant: &'static Variant| checksum(case, variant, chosen, 2);
    let mut first = None;
    for variant in variants.iter().filter(|variant| variant.alternative || *variant == &variants[0]) {
        let Some(seen) = of(variant) else { continue };
        let first = *first.get_or_insert(seen);
        assert!(
            first.agrees(seen),
            "{} {} {chosen:?}: {seen:?}, not {first:?}",
            case.about().name,
            variant.name
        );
    }
}

#[test]
fn programs_of_others_come_to_what_ours_come_to() {
    for case in ALL {
        agree(*case, &[]);
    }
}

#[test]
fn what_is_printed_is_sorted_as_what_is_shuffled() {
    let sort = find("sort").unwrap();
    for length in ["1", "70000"] {
        agree(sort, &[("length", length), ("input", "compact")]);
        agree(sort, &[("length", length)]);
        let sums = ["compact", "shuffled"].map(|input| {
            checksum(sort, &sort.about().variants[0], &[("length", length), ("input", input)], 1)
        });
        let naive =
            (1..=length.parse::<u64>().unwrap()).map(|value| value * (value % 61)).sum::<u64>() % (1 << 32);
        assert!(sums.iter().flatten().all(|sum| *sum == Checksum::Exact(naive)), "{sums:?}, not {naive:x}");
    }
}

#[test]
fn ours_decomposes_as_r_does() {
    for order in ["1", "2", "20", "333"] {
        agree(find("hilbert").unwrap(), &[("order", order)]);
    }
}

#[test]
fn transforms_and_fits_of_odd_sizes_agree() {
    for length in ["1", "1009"] {
        agree(find("fft").unwrap(), &[("length", length)]);
    }
    agree(find("lm").unwrap(), &[("responses", "3"), ("rows", "17"), ("predictors", "4")]);
}

#[test]
fn programs_know_every_kernel_of_stream() {
    for kernel in ["copy", "scale", "add", "triad"] {
        agree(find("stream").unwrap(), &[("kernel", kernel), ("array", "80008")]);
    }
}

#[test]
fn programs_draw_the_numbers_of_gups() {
    for updates in ["1", "1025", "100000"] {
        agree(find("gups").unwrap(), &[("table", "64K"), ("updates", updates)]);
    }
}

#[test]
fn programs_follow_the_wave() {
    agree(find("wave3d").unwrap(), &[("n", "40"), ("times", "30"), ("border", "8")]);
}

#[test]
fn libraries_move_centres_and_take_covariances_as_ours_does() {
    agree(find("k-means").unwrap(), &[("points", "3000"), ("clusters", "7"), ("centres", "moving")]);
    agree(find("pca").unwrap(), &[("rows", "901"), ("columns", "13"), ("matrix", "covariance")]);
}
