//! The program to be run: found, looked at, and ready to be started.

use crate::output::Failure;
use firsttouch_placement::{Reason, Via};
use firsttouch_process::{
    Environment, Launch, LaunchError, Linkage, Privilege, Program, ProgramError, ProgramKind, agent_reach,
    inspect, preloaded_allocator,
};
use std::ffi::OsString;

/// A program with its arguments.
#[derive(Debug)]
pub(crate) struct Subject {
    program: Program,
    words: Vec<OsString>,
    /// An allocator that somebody else preloads.
    preloaded_allocator: Option<String>,
}

impl Subject {
    /// Finds the program that the first of `words` names.
    pub(crate) fn find(words: &[OsString], environment: &Environment) -> Result<Subject, ProgramError> {
        let name = words.first().map(OsString::as_os_str).unwrap_or_default();
        Ok(Subject {
            program: inspect(name, environment.get("PATH"))?,
            words: words.to_vec(),
            preloaded_allocator: environment.get("LD_PRELOAD").and_then(preloaded_allocator),
        })
    }

    /// The file whose code runs in the end.
    pub(crate) fn image(&self) -> String {
        self.program.image.display().to_string()
    }

    /// The words as documents hold them.
    pub(crate) fn command(&self) -> Vec<String> {
        self.words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    pub(crate) fn launch(&self, environment: Environment) -> Launch {
        let mut launch = Launch::new(&self.program.file, &self.words[1..], environment);
        // Some programs look at the name they were called by.
        launch.arguments[0].clone_from(&self.words[0]);
        launch
    }

    /// Why this means cannot reach the program, if so, and in words.
    pub(crate) fn beyond(&self, via: Via) -> Option<(Reason, String)> {
        if via == Via::Supervise {
            return None;
        }
        if let Err(reason) = agent_reach(&self.program.kind) {
            return Some((reason, self.explain()));
        }
        let library = self.preloaded_allocator.as_ref()?;
        Some((Reason::ForeignAllocator, format!("LD_PRELOAD brings another allocator ({library})")))
    }

    fn explain(&self) -> String {
        let image = self.image();
        let kind: &ProgramKind = &self.program.kind;
        if kind.foreign.is_some() {
            return format!("{image} is a program for another word size or processor");
        }
        if let Some(privilege) = kind.privilege {
            let how = match privilege {
                Privilege::SetUser => "runs as another user (setuid)",
                Privilege::SetGroup => "runs as another group (setgid)",
                Privilege::Capabilities => "carries capabilities",
            };
            return format!("{image} {how}, so the loader ignores preloaded libraries");
        }
        match &kind.linkage {
            Linkage::Unreadable => return format!("{image} cannot be read"),
            Linkage::Static => return format!("{image} is statically linked"),
            Linkage::OtherLibc { loader } => return format!("{image} uses the C library of {loader}"),
            Linkage::Glibc => {}
        }
        if let Some(sign) = &kind.sanitizer {
            return format!("{image} was built with a sanitizer ({sign})");
        }
        if let Some(sign) = &kind.allocator {
            return format!("{image} brings its own allocator ({sign})");
        }
        format!("{image} was built by Go, whose heap is its own")
    }
}

/// A program that cannot be found or executed, as an error of ours.
pub(crate) fn not_runnable(error: ProgramError) -> Failure {
    let (code, hint) = (error.exit_status(), error.hint());
    Failure::new(error).hint(hint).code(code)
}

/// A program that could not be started.
pub(crate) fn not_started(error: LaunchError) -> Failure {
    let (code, hint) = (error.exit_status(), error.hint());
    Failure::new(error).hint(hint).code(code)
}
