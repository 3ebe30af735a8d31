//! Measured runs: dumps of Charm++, statistics of vt (a line `--` parts the files of two ranks), also compressed. The first
//! byte says which.

#![no_main]

use firsttouch_balance::formats::{VtRun, charm_dump};
use firsttouch_balance::{Machine, Mapping};
use firsttouch_fuzz::{Bound, two_files};
use libfuzzer_sys::fuzz_target;
use std::io::Read;

/// The window of Brotli is 16 MiB, and as much again is what was unfolded of it; a task of a few words is a structure of some
/// hundred bytes.
const BOUND: Bound = Bound { fixed: 48 << 20, per_byte: 1024 };
/// More than what is worth trying unfolds to.
const MOST_UNFOLDED: u64 = 1 << 20;
/// Cores of the machine that runs are put on.
const RANKS: usize = 4;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    if choice % 2 == 0 {
        if let Ok(measured) = BOUND.hold(bytes.len(), || charm_dump(bytes)) {
            let machine = Machine::parse(&format!("{RANKS} + 1")).expect("a machine");
            let _ = measured.problem.start(&measured.on(machine));
        }
        return;
    }
    let (first, second) = two_files(bytes);
    let files: Vec<&[u8]> = [first].into_iter().chain(second).collect();
    // What unfolds to ever so much is no matter of the file's length.
    let unfolded: u64 = files.iter().map(|file| length(file)).sum();
    if unfolded > MOST_UNFOLDED {
        return;
    }
    let run = BOUND.hold(bytes.len() + unfolded as usize, || {
        let mut run = VtRun::read(&files).ok()?;
        let phase = run.phases().last().copied()?;
        let problem = run.problem(phase).ok()?;
        Some((run, phase, problem))
    });
    let Some((run, phase, problem)) = run else { return };
    let mapping = Mapping::new((0..problem.len()).map(|task| (task % RANKS) as u32).collect());
    let files = run.offline(&problem, &mapping, phase.saturating_add(1), RANKS);
    let mut again = VtRun::read(&files).expect("what we write, we read");
    let last = again.phases().last().copied().expect("a phase");
    let again = again.problem(last).expect("what we write, we read");
    assert_eq!(again.len(), problem.len());
});

/// What a file unfolds to; that is nothing of one that is not compressed.
fn length(file: &[u8]) -> u64 {
    let mut unfolded = Vec::new();
    let stream = brotli_decompressor::Decompressor::new(file, 1 << 16);
    let _ = stream.take(MOST_UNFOLDED + 1).read_to_end(&mut unfolded);
    unfolded.len() as u64
}
