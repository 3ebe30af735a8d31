//! Guests and their tests: as many guests at a time as this machine has processors.

use crate::bench::{Setting, Test};
use crate::command_line::Single;
use crate::runner::{Outcome, Skip, Tally, processors};
use crate::setting;
use firsttouch_lab::{Collected, Command, Description, LabError};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Instant;

/// Commands of one boot. More would keep one processor busy when the other has no guests left.
const COMMANDS: usize = 20;

/// What is done beside others.
enum Job {
    /// Boots for the tests of this place in the list.
    Guest {
        index: usize,
        setting: Setting,
        commands: Vec<Command>,
    },
    Single(Single),
}

/// What came of a job.
enum Done {
    Guest { index: usize, ran: Result<Ran, Skip> },
    Single { name: &'static str, result: thread::Result<Outcome> },
}

/// What the commands of a guest wrote, on the machine they ran on; nothing, with what was told, where it did not come to
/// its end.
type Ran = Option<Box<(Description, Vec<Collected>)>>;

/// Runs all tests.
pub(crate) fn run(tally: &mut Tally, mut tests: Vec<Test>, singles: Vec<Single>) {
    tests.sort_by_key(|test| test.setting.clone());
    let guests: Vec<&[Test]> = tests.chunk_by(|a, b| a.setting == b.setting).flat_map(boots).collect();
    let mut jobs: Vec<Job> = guests
        .iter()
        .enumerate()
        .map(|(index, tests)| Job::Guest {
            index,
            setting: tests[0].setting.clone(),
            commands: tests.iter().flat_map(|test| test.commands.iter().cloned()).collect(),
        })
        .chain(singles.into_iter().map(Job::Single))
        .collect();
    // The slowest first.
    jobs.sort_by_key(|job| std::cmp::Reverse(work(job)));
    let workers = processors();
    let queue = Mutex::new(VecDeque::from(jobs));
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (queue, tell) = (&queue, tell.clone());
            scope.spawn(move || {
                while let Some(job) = { queue.lock().unwrap().pop_front() } {
                    tell.send(job.run()).unwrap();
                }
            });
        }
        drop(tell);
        for done in told {
            match done {
                Done::Guest { index, ran } => check(tally, guests[index], ran),
                Done::Single { name, result } => tally.count(name, None, result),
            }
        }
    });
}

/// The tests of one setting, as many as share a boot.
fn boots(mut tests: &[Test]) -> Vec<&[Test]> {
    let mut all = Vec::new();
    while !tests.is_empty() {
        let mut commands = 0;
        let fit = tests.iter().take_while(|test| {
            let fits = commands == 0 || commands + test.commands.len() <= COMMANDS;
            commands += test.commands.len();
            fits
        });
        let (one, rest) = tests.split_at(fit.count());
        all.push(one);
        tests = rest;
    }
    all
}

/// How much there is to do: to start a processor takes about as long as a command.
fn work(job: &Job) -> usize {
    match job {
        Job::Guest { setting, commands, .. } => {
            let processor = Description::named(setting.machine).unwrap().processor;
            commands.len() + (processor.packages * processor.cpus_per_package()) as usize
        }
        Job::Single(_) => 1,
    }
}

impl Job {
    fn run(self) -> Done {
        match self {
            Job::Guest { index, setting, commands } => Done::Guest { index, ran: boot(&setting, &commands) },
            Job::Single((name, test)) => Done::Single { name, result: catch_unwind(test) },
        }
    }
}

fn boot(setting: &Setting, commands: &[Command]) -> Result<Ran, Skip> {
    let begun = Instant::now();
    let (machine, lab) = setting::ready(setting)?;
    let told = |error: &LabError| format!("{error}\n{}", error.console().unwrap_or_default());
    // Nothing that a program does may end a kernel, and under an emulator some end by chance, rarely: twice is none.
    let collected = lab.collect(commands).or_else(|error| match &error {
        LabError::Died { console } if console.contains("Kernel panic") => {
            eprintln!("{setting}: booted again: {}", told(&error));
            lab.collect(commands)
        }
        _ => Err(error),
    });
    match collected {
        Ok(collected) => {
            println!("{setting}: {} commands in {:.1} s", commands.len(), begun.elapsed().as_secs_f64());
            Ok(Some(Box::new((machine, collected))))
        }
        Err(error) => {
            eprintln!("{setting}: {}", told(&error));
            Ok(None)
        }
    }
}

/// Gives each test of a guest what its commands wrote.
fn check(tally: &mut Tally, tests: &[Test], ran: Result<Ran, Skip>) {
    let (machine, collected) = match ran {
        Ok(Some(ran)) => *ran,
        Ok(None) => {
            return tests.iter().for_each(|test| tally.count(&test.name, None, Err(Box::new("no boot"))));
        }
        Err(Skip(why)) => {
            return tests.iter().for_each(|test| tally.count(&test.name, None, Ok(Err(Skip(why.clone())))));
        }
    };
    let mut rest = collected.as_slice();
    for test in tests {
        let (own, others) = rest.split_at(test.commands.len());
        rest = others;
        let result = catch_unwind(AssertUnwindSafe(|| (test.check)(&machine, own)));
        if result.is_err() {
            for one in own {
                eprintln!("{:?}\n{}{}", one.finished.ending, one.stdout, one.stderr);
            }
        }
        let took = own.iter().map(|one| one.finished.took).sum();
        tally.count(&test.name, Some(took), result.map(Ok));
    }
}
