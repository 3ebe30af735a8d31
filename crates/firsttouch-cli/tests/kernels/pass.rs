//! One pass: the tests on the kernel that this process runs on, under one mode of transparent huge pages.

use crate::launch::{PREPARED, finish, programs};
use crate::machine::{Surroundings, in_guest, kernel_release};
use crate::runner::Asked;
use crate::{Test, cases, directives, library, memory, single};
use std::fmt;
use std::fs;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// The mode of most machines: the pass of what has nothing to do with it.
pub(crate) const USUAL: &str = "madvise";
/// The mode in which every program has such pages.
pub(crate) const ALWAYS: &str = "always";

/// Which of its tests a pass has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part(&'static str);

impl Part {
    pub(crate) const WHOLE: Part = Part("whole");
    /// Dealt out there and back, as 1, 2, 2, 1: neighbours are often alike, and so neither half has the longer of each pair.
    pub(crate) const HALVES: [Part; 2] = [Part("1st half"), Part("2nd half")];

    /// As an argument of a pass.
    pub(crate) fn word(self) -> &'static str {
        self.0
    }

    fn parse(word: &str) -> Part {
        let known = [Part::WHOLE].into_iter().chain(Part::HALVES).find(|part| part.0 == word);
        known.expect("a pass is told which of its tests it has")
    }

    /// Whether the test at this place is one of them.
    fn has(self, at: usize) -> bool {
        self == Part::WHOLE || self == Part::HALVES[at.div_ceil(2) % 2]
    }
}

/// Behind the mode of a pass.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Part::WHOLE { Ok(()) } else { write!(f, ", {}", self.0) }
    }
}

/// Whether a guest's programs have other addresses at each start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addresses {
    /// As the machine has them.
    Left,
    /// Others at each start, as people have them.
    Random,
}

impl Addresses {
    /// As an argument of a pass.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Addresses::Left => "left",
            Addresses::Random => "random",
        }
    }

    fn parse(word: &str) -> Addresses {
        let known =
            [Addresses::Left, Addresses::Random].into_iter().find(|addresses| addresses.word() == word);
        known.expect("a pass is told which addresses it has")
    }
}

/// Behind the part of a pass.
impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Addresses::Left { Ok(()) } else { f.write_str(", random addresses") }
    }
}

pub(crate) fn run(mode: &str, part: &str, addresses: &str, words: &[String]) -> ExitCode {
    let (part, addresses) = (Part::parse(part), Addresses::parse(addresses));
    PREPARED.store(true, Ordering::Relaxed);
    if addresses == Addresses::Random {
        fs::write("/proc/sys/kernel/randomize_va_space", "2").unwrap();
    }
    if in_guest() {
        // For limits of memory, which the lab has no use for.
        fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+memory").unwrap();
        // For who has as many mappings as there may be: making them is most of its time.
        fs::write("/proc/sys/vm/max_map_count", "10000").unwrap();
    }
    let asked = Asked { words: words.to_vec(), list: false };
    // As the last line of a pass begins.
    let name = format!("Linux {}, thp={mode}{part}{addresses}", kernel_release());
    let wanted = tests(mode).filter(|(name, _)| asked.wants(name)).enumerate();
    single::run(&asked, &name, wanted.filter(|(at, _)| part.has(*at)).map(|(_, test)| test), 1)
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
