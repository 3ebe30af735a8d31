//! The programs of `faults` and of the C library's tests, the tests of the memory core, and what is theirs to promise, on the kernels people run: on
//! this one and, in the lab, on Debian's 5.10, 6.1 and 6.12, each with transparent huge pages for all, for the asking and
//! for nobody. The last lines say for each what ran; what this kernel does in the mode it is in, the other test programs
//! tell. Where no kernel is named it is 6.1 with pages for the asking; `all`, as a word or in
//! the variable `FIRSTTOUCH_KERNELS`, are all; `each` is each kernel with pages for the asking, where those between the oldest and
//! this one have half of the tests each, with pages for all half of them on the oldest and all on this one, and for nobody on this one.
//!
//! The programs of a guest have the same addresses at each start, which its emulator runs faster (`firsttouch_lab`). With `all`, and in one
//! pass of `each`, they have others at each start, as people have them. The processors of a guest take turns, which is quicker where
//! several guests share a machine's; those of a kernel that is named, and with `all`, run at the same time.
//!
//! What runs in a guest is this very program, so a test is the same there: its first word is [`PASS`]. A pass that is
//! alone is done by two, with half of the tests each. Without QEMU, or the kernel, that is said, and how to get it.
//!
//! `cargo test -p firsttouch-cli --test kernels -- 6.1 here fork pool` runs, on these kernels (`here` is this one), the tests with
//! one of the other words in their name; `--list` names the tests.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]
#![expect(clippy::print_stdout, reason = "a test program of its own prints its results")]

#[path = "../../../firsttouch-ffi/tests/programs/build.rs"]
mod build;
#[path = "../faults/cases.rs"]
#[expect(dead_code, reason = "what no kernel changes is left to the other test program")]
mod cases;
#[path = "../faults/directives.rs"]
mod directives;
#[path = "../shared/guest.rs"]
mod guest;
mod guests;
#[path = "../faults/launch.rs"]
mod launch;
#[path = "../../../firsttouch-ffi/tests/programs/cases.rs"]
mod library;
#[path = "../shared/machine.rs"]
mod machine;
mod memory;
#[path = "../shared/own_program.rs"]
mod own_program;
mod pass;
#[path = "../shared/program.rs"]
mod program;
#[path = "../../../../tests/runner.rs"]
mod runner;
#[path = "../../../../tests/single.rs"]
mod single;

use runner::Outcome;
use single::{Test, skip};
use std::process::ExitCode;

/// The first word of the command line of one pass; the others are its mode, its part, its addresses and words of tests.
const PASS: &str = "pass";
/// Of transparent huge pages.
const MODES: [&str; 3] = [pass::USUAL, pass::ALWAYS, "never"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((first, rest)) if first == PASS => pass::run(&rest[0], &rest[1], &rest[2], &rest[3..]),
        _ => guests::run(),
    }
}
