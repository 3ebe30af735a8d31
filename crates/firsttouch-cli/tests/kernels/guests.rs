//! Where passes run: here, and in guests of the lab.

use crate::directives::scripts;
use crate::guest::lab;
use crate::launch::{programs, sources};
use crate::machine::{kernel_release, thp_mode};
use crate::own_program::own_program;
use crate::pass::{Addresses, Part};
use crate::program::find;
use crate::runner::skipped::is_failure;
use crate::runner::{Asked, Skip, processors};
use crate::{MODES, PASS, cases, library, memory, pass};
use firsttouch_lab::{Acceleration, Command, Description, Release, Stream};
use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{self, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Room for a gigabyte of blocks and as much again, and two processors, so that threads meet.
const MACHINE: &str = "about = \"one node\"\n[processor]\npackages = 1\ncores = 2\n\
                       [[nodes]]\nid = 0\ncpus = \"0-1\"\nmemory = \"3072M\"\n";
/// What programs and shell lines of the tests use, beside what their `requires: command` names.
const TOOLS: [&str; 14] = [
    "/bin/sh", "cat", "env", "grep", "id", "kill", "ls", "mount", "rm", "setpriv", "sh", "sleep", "true",
    "umount",
];
/// Three passes on a busy host, whose processors others use, too.
const LIMIT: Duration = Duration::from_secs(45 * 60);
/// The word for this machine.
const HERE: &str = "here";
/// The kernel whose pass of the usual mode runs where no kernel is named: the oldest that can do all that we ask for, with the
/// mistakes that later ones have no more.
const FIRST: Release = Release::V6_1;
/// The word for all kernels in all modes.
const ALL: &str = "all";
/// The word for each kernel in the usual mode; for pages for all on both ends, too: half of the tests on the oldest, and this one; and
/// for pages for nobody on this one: what kernels do then differs least. Those in between share the tests: each test runs on the
/// oldest, on one in between and on this one, since what only one in between does is rare.
const EACH: &str = "each";
/// The variable that may hold one of these words.
const VARIABLE: &str = "FIRSTTOUCH_KERNELS";

/// Where passes run, one after the other.
enum Place {
    /// By their modes.
    Here(Vec<&'static str>),
    Lab(Guest),
}

/// A pass in a guest.
#[derive(Clone, Copy)]
struct Guest {
    release: Release,
    mode: &'static str,
    part: Part,
    addresses: Addresses,
    acceleration: Acceleration,
}

impl Place {
    /// Two guests with half of the tests each, instead of one with all, so that no processor is idle.
    fn halves(self) -> Vec<Place> {
        match self {
            Place::Here(_) => vec![self],
            Place::Lab(guest) => Part::HALVES.map(|part| Place::Lab(Guest { part, ..guest })).into(),
        }
    }
}

/// Whether a pass is the one that runs where no kernel is named.
fn is_first(kernel: &str, mode: &str) -> bool {
    kernel == FIRST.to_string() && mode == pass::USUAL
}

fn is_oldest(kernel: &str) -> bool {
    Release::ALL.first().is_some_and(|oldest| kernel == oldest.to_string())
}

/// What of the tests a kernel that is not named has with [`EACH`]: those in between are dealt out, and the oldest has half of them
/// with pages for all, which this one has whole in that mode.
fn part_of(release: Release, mode: &str) -> Part {
    let between = Release::ALL.iter().skip(1).position(|between| *between == release);
    match between {
        Some(at) => Part::HALVES[at % Part::HALVES.len()],
        None if mode == pass::ALWAYS => Part::HALVES[0],
        None => Part::WHOLE,
    }
}

/// The lines that tell what ran, one for each pass, and whether something failed.
#[derive(Default)]
struct Report {
    lines: Vec<String>,
    failed: bool,
}

impl Report {
    /// Adds a pass; without its line it did not come to its end.
    fn add(&mut self, name: &str, said: Said, succeeded: bool) {
        let end = said.finish();
        self.failed |= !succeeded || end.is_none();
        self.lines.push(end.unwrap_or_else(|| format!("{name}: FAILED: it did not come to its end")));
    }
}

/// What a pass says, told line by line under its name as it comes: others run at the same time.
struct Said {
    name: String,
    rest: Vec<u8>,
    /// The last line that tells what ran.
    end: Option<String>,
}

impl Said {
    fn by(name: &str) -> Said {
        Said { name: name.to_owned(), rest: Vec::new(), end: None }
    }

    fn hear(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        while let Some(at) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=at).collect();
            let line = String::from_utf8_lossy(&line[..at]);
            if line.starts_with("Linux ") && line.contains(" passed, ") {
                // Here as well as in the end, which may not be reached.
                println!("{line}");
                self.end = Some(line.into_owned());
            } else if !line.is_empty() {
                println!("{}: {line}", self.name);
            }
        }
    }

    fn finish(mut self) -> Option<String> {
        self.hear(b"\n");
        self.end
    }
}

pub(crate) fn run() -> ExitCode {
    let begun = Instant::now();
    let asked = Asked::read();
    let kernels: BTreeSet<String> =
        Release::ALL.iter().map(Release::to_string).chain([HERE, ALL, EACH].map(str::to_owned)).collect();
    let (chosen, words): (Vec<String>, Vec<String>) =
        asked.words.iter().cloned().partition(|word| kernels.contains(word));
    let asked = Asked { words, ..asked };
    if asked.list {
        let mut names = BTreeSet::new();
        MODES.iter().for_each(|mode| names.extend(pass::tests(mode).map(|(name, _)| name)));
        names.iter().filter(|name| asked.wants(name)).for_each(|name| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let variable = std::env::var(VARIABLE).ok().filter(|_| chosen.is_empty());
    let chosen: Vec<String> = chosen.into_iter().chain(variable).collect();
    let has = |word: &str| chosen.iter().any(|chosen| chosen == word);
    let wants = |kernel: &str, mode: &str| {
        let is_wanted = |word: &String| match word.as_str() {
            ALL => true,
            EACH => mode == pass::USUAL || kernel == HERE || mode == pass::ALWAYS && is_oldest(kernel),
            word => word == kernel,
        };
        chosen.iter().any(is_wanted) || chosen.is_empty() && is_first(kernel, mode)
    };
    // The slowest first: that of the usual mode has most tests.
    let labs = MODES.into_iter().flat_map(|mode| {
        Release::ALL.map(|release| {
            // They take twice as long: with `each` once, as most people have it.
            let is_random = has(ALL) || has(EACH) && mode == pass::ALWAYS;
            let addresses = if is_random { Addresses::Random } else { Addresses::Left };
            let is_thorough = has(ALL) || has(&release.to_string());
            let part = if has(EACH) && !is_thorough { part_of(release, mode) } else { Part::WHOLE };
            // Threads that meet at the same time, for who takes the time.
            let acceleration = if is_thorough { Acceleration::Software } else { Acceleration::SingleThread };
            Guest { release, mode, part, addresses, acceleration }
        })
    });
    let labs = labs.filter(|guest| wants(&guest.release.to_string(), guest.mode)).map(Place::Lab);
    let mode = thp_mode();
    let other = |it: &&str| mode.as_deref() != Some(*it) && wants(HERE, it);
    let here: Vec<&str> = MODES.into_iter().filter(other).collect();
    let here = Some(here).filter(|modes| !modes.is_empty()).map(Place::Here);
    let mut places: VecDeque<Place> = labs.chain(here).collect();
    let workers = processors();
    if places.len() == 1 && workers > 1 {
        places = places.into_iter().flat_map(Place::halves).collect();
    }

    prepare(&asked);
    println!("kernels: programs made in {:.0} s", begun.elapsed().as_secs_f64());
    let mut report = Report::default();
    if let Some(mode) = mode.filter(|mode| wants(HERE, mode)) {
        report.lines.push(format!("Linux {}, thp={mode}: as the other test programs tell", kernel_release()));
    }
    let queue = Mutex::new((places, report));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| work(&queue, &asked.words));
        }
    });
    let (_, report) = queue.into_inner().unwrap();
    println!("\nkernels: {:.0} s", begun.elapsed().as_secs_f64());
    report.lines.iter().for_each(|line| println!("    {line}"));
    if report.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Goes through places until there are no more.
fn work(queue: &Mutex<(VecDeque<Place>, Report)>, words: &[String]) {
    loop {
        let Some(place) = queue.lock().unwrap().0.pop_front() else { return };
        let one = match place {
            Place::Here(modes) => here(&modes, words),
            Place::Lab(guest) => in_guest(guest, words),
        };
        let (_, all) = &mut *queue.lock().unwrap();
        all.lines.extend(one.lines);
        all.failed |= one.failed;
    }
}

/// Makes everything that passes run.
fn prepare(asked: &Asked) {
    // What an older run left would be taken into the guests.
    let _ = fs::remove_dir_all(programs());
    let scripts: Vec<_> = scripts().into_iter().filter(|(name, _)| asked.wants(name)).collect();
    let cases = library::all(&programs().join("library"));
    let cases: Vec<_> = cases.into_iter().filter(|case| asked.wants(&pass::library_name(case))).collect();
    thread::scope(|scope| {
        // One that cannot be made says so in its pass.
        scope.spawn(|| scripts.iter().for_each(|(_, script)| drop(script.program())));
        cases::compile_all();
        cases.iter().for_each(library::Case::make);
        memory::make();
    });
    // What debuggers want is most of them, and guests have it in memory.
    for case in &cases {
        let files = fs::read_dir(&case.folder).unwrap().map(|file| file.unwrap().path());
        let stripped = process::Command::new("strip").arg("-g").args(files).status();
        assert!(stripped.expect("binutils").success());
    }
    own_program(&programs());
}

fn here(modes: &[&str], words: &[String]) -> Report {
    let mut report = Report::default();
    for mode in modes {
        let name = format!("here, thp={mode}");
        let mut command = process::Command::new(own_program(&programs()));
        let mut child = command
            .args([PASS, mode, Part::WHOLE.word(), Addresses::Left.word()])
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = Said::by(&name);
        BufReader::new(child.stdout.take().unwrap()).split(b'\n').for_each(|line| {
            said.hear(&line.unwrap());
            said.hear(b"\n");
        });
        report.add(&name, said, child.wait().unwrap().success());
    }
    report
}

fn in_guest(guest: Guest, words: &[String]) -> Report {
    let Guest { release, mode, part, addresses, acceleration } = guest;
    let mut report = Report::default();
    let name = format!("lab, Linux {release}, thp={mode}{part}{addresses}");
    let mut lab = match lab(Description::parse(MACHINE).unwrap(), release, acceleration) {
        Ok(lab) => lab.limit(LIMIT),
        Err(Skip(why)) => {
            report.failed = is_failure(&name, &why);
            report.lines.push(format!("{name}: skipped: {why}"));
            return report;
        }
    };
    let scripts = scripts();
    let tools = scripts.iter().flat_map(|(_, script)| script.commands()).chain(TOOLS);
    // What this machine lacks, the guest lacks.
    for path in tools.filter_map(find).chain([programs(), sources()]) {
        lab = lab.copy_in(path);
    }
    let first = [PASS, mode, part.word(), addresses.word()].map(OsString::from);
    let first = [own_program(&programs()).into_os_string()].into_iter().chain(first);
    let command = Command::new(first.chain(words.iter().map(OsString::from)));
    let (mut stdout, mut stderr) = (Said::by(&name), Said::by(&name));
    let outcome = lab.run(&[command], &mut |_, stream, bytes| match stream {
        Stream::Stdout => stdout.hear(bytes),
        Stream::Stderr => stderr.hear(bytes),
    });
    stderr.finish();
    let succeeded = outcome
        .as_ref()
        .is_ok_and(|outcome| outcome.commands.first().is_some_and(|finished| finished.ending.code() == 0));
    report.add(&name, stdout, succeeded);
    if let Err(error) = outcome {
        println!("{name}: {error}\n{}", error.console().unwrap_or_default());
    }
    report
}
