//! The program to be run: found, looked at, and ready to be started.

use firsttouch_linux::program::text_of;
use firsttouch_placement::{Placement, Reason, Via};
use firsttouch_process::{
    Environment, Launch, Program, ProgramError, agent_reach, inspect, preloaded_allocator,
};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The word of a launcher's line, before the program of its ranks, in whose place each rank is placed.
pub const RANKS_PLACE: &str = "{run}";

/// A launcher of ranks, each of which is placed by itself.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// This program of ours, which the launcher runs in front of each rank.
    pub placer: &'a Path,
    /// The ranks that are placed, in the form of `--only-ranks`; `None` for all.
    pub only_ranks: Option<&'a str>,
}

impl<'a> Job<'a> {
    /// The last words of `firsttouch run` in front of a rank, after those of its placement.
    pub fn words(self) -> impl Iterator<Item = &'a str> {
        let only = self.only_ranks.into_iter().flat_map(|list| ["--only-ranks", list]);
        ["--ranks", "auto"].into_iter().chain(only).chain(["--"])
    }
}

/// A program with its arguments.
#[derive(Debug)]
pub struct Subject {
    program: Program,
    words: Vec<OsString>,
    /// An allocator that somebody else preloads.
    preloaded_allocator: Option<String>,
}

impl Subject {
    /// Finds the program that the first of `words` names.
    ///
    /// # Errors
    /// Where there is none, or it cannot be executed.
    pub fn find(words: &[OsString], environment: &Environment) -> Result<Subject, ProgramError> {
        let name = words.first().map(OsString::as_os_str).unwrap_or_default();
        Ok(Subject {
            program: inspect(name, words.get(1..).unwrap_or_default(), environment.get("PATH"))?,
            words: words.to_vec(),
            preloaded_allocator: environment.get("LD_PRELOAD").and_then(preloaded_allocator),
        })
    }

    /// The file whose code runs in the end.
    pub fn image(&self) -> String {
        text_of(self.program.image.as_os_str().as_bytes())
    }

    /// Whether it starts a Java virtual machine.
    pub fn is_jvm(&self) -> bool {
        self.program.kind.jvm
    }

    /// The words as documents hold them.
    pub fn command(&self) -> Vec<String> {
        self.words.iter().map(|word| text_of(word.as_bytes())).collect()
    }

    pub(crate) fn words(&self) -> &[OsString] {
        &self.words
    }

    /// What the program is.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The allocator that somebody else preloads.
    pub fn preloaded_allocator(&self) -> Option<&str> {
        self.preloaded_allocator.as_deref()
    }

    /// The program in an environment, as it is.
    pub fn launch(&self, environment: Environment) -> Launch {
        let mut launch = Launch::new(&self.program.file, &self.words[1..], environment);
        // Some programs look at the name they were called by.
        launch.arguments[0].clone_from(&self.words[0]);
        launch
    }

    /// Why the means of a placement cannot reach the program, if so, and in words. Memory policy and CPUs are inherited,
    /// which reaches every program.
    pub fn beyond(&self, asked: &Placement) -> Option<(Reason, String)> {
        // Switches in the environment reach a virtual machine however it is linked, and through whatever starts it.
        if asked.via == Via::Supervise || matches!(asked.via, Via::Agent | Via::Jvm) && !asked.needs_agent() {
            return None;
        }
        self.beyond_agent()
    }

    /// Why the agent cannot reach the program, if so, and in words.
    pub fn beyond_agent(&self) -> Option<(Reason, String)> {
        if let Err(reason) = agent_reach(&self.program.kind) {
            let words = self.program.kind.out_of_reach(&self.image());
            return Some((reason, words.unwrap_or_else(|| self.image())));
        }
        let library = self.preloaded_allocator.as_ref()?;
        Some((Reason::ForeignAllocator, format!("LD_PRELOAD brings another allocator ({library})")))
    }
}
