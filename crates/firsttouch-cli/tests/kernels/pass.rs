//! One pass: the tests on the kernel that this process runs on, under one mode of transparent huge pages.

use crate::launch::{PREPARED, finish, programs};
use crate::machine::{Surroundings, in_guest, kernel_release};
use crate::runner::Asked;
use crate::{MODES, Test, cases, directives, library, memory, single};
use std::fs;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// The mode of most machines: the pass of what has nothing to do with it.
pub(crate) const USUAL: &str = MODES[1];

pub(crate) fn run(mode: &str, words: &[String]) -> ExitCode {
    PREPARED.store(true, Ordering::Relaxed);
    if in_guest() {
        // For limits of memory, which the lab has no use for.
        fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+memory").unwrap();
    }
    let asked = Asked { words: words.to_vec(), list: false };
    single::run(&asked, &name(mode), tests(mode))
}

/// As the last line of a pass begins.
fn name(mode: &str) -> String {
    format!("Linux {}, thp={mode}", kernel_release())
}

/// The tests of that mode.
pub(crate) fn tests(mode: &str) -> impl Iterator<Item = Test> {
    let scripts = directives::scripts();
    let scripts =
        scripts.into_iter().filter_map(|(name, script)| Some((name, script.under(mode, mode == USUAL)?)));
    let once = (mode == USUAL).then(|| cases::of_kernels().into_iter().chain(memory::tests()));
    directives::tests(scripts.collect()).chain(library_tests(mode)).chain(once.into_iter().flatten())
}

fn library_tests(mode: &str) -> impl Iterator<Item = Test> {
    let (is_usual, requirement) = (mode == USUAL, vec![format!("thp={mode}")]);
    let cases = library::all(&programs().join("library")).into_iter();
    cases.filter(move |case| is_usual || !case.once).map(move |case| -> Test {
        let (name, requirement) = (library_name(&case), requirement.clone());
        let test = move || {
            let _surroundings = Surroundings::make(&requirement)?;
            case.check(&finish(&mut case.command(in_guest())));
            Ok(())
        };
        (name, Box::new(test))
    })
}

pub(crate) fn library_name(case: &library::Case) -> String {
    format!("library: {}", case.name)
}
