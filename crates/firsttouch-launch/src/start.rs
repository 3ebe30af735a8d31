//! A program under a placement, ready to be started as often as wanted.

use crate::agent::{AgentError, install};
use crate::alternatives::{self, NotInstalled};
use crate::configurations::{Configuration, Means};
use crate::environment;
use crate::here::{Here, NotHere, inheritance};
use crate::subject::{Job, RANKS_PLACE, Subject};
use firsttouch_linux::program::text_of;
use firsttouch_memory::agent_settings::AgentSettings;
use firsttouch_placement::{Placement, Reason, Resolved, Via};
use firsttouch_process::{Environment, Launch, LaunchError, ProgramError};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Why a placement cannot be prepared here.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// Its allocator is not installed.
    #[error(transparent)]
    NotInstalled(#[from] NotInstalled),
    /// This machine cannot give it.
    #[error(transparent)]
    NotHere(#[from] NotHere),
    /// The agent's file cannot be put anywhere.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

impl NotReady {
    /// The line that mends it.
    pub fn hint(&self) -> String {
        match self {
            NotReady::NotInstalled(missing) => missing.remedy().to_owned(),
            NotReady::NotHere(error) => error.hint(),
            NotReady::Agent(error) => error.hint(),
        }
    }
}

/// A program, ready to be started under one placement, or without any.
#[derive(Debug)]
pub struct Start {
    launch: Launch,
    asked: Option<Placement>,
    resolved: Resolved,
    image: String,
    unreached: Option<Reason>,
    attachable: bool,
    /// It starts ranks, or has them started by somebody else.
    starts_ranks: bool,
}

impl Start {
    /// The program as it is.
    pub fn plain(subject: &Subject, environment: Environment) -> Start {
        Start {
            launch: subject.launch(environment),
            asked: None,
            resolved: Resolved::default(),
            image: subject.image(),
            unreached: None,
            attachable: false,
            starts_ranks: false,
        }
    }

    /// The program under a placement that means `resolved` here; `attachable`: with the agent's channel in it.
    ///
    /// # Errors
    /// Where the placement's means is not there.
    pub fn placed(
        subject: &Subject,
        mut environment: Environment,
        asked: &Placement,
        resolved: Resolved,
        attachable: bool,
    ) -> Result<Start, NotReady> {
        let variables = alternatives::variables(asked, &alternatives::library_directories());
        let home = environment.clone();
        environment::set_up_alternative(&mut environment, variables)?;
        environment::set_objects(&mut environment, &resolved.objects);
        if asked.needs_agent() || attachable {
            let settings =
                AgentSettings { attachable, ..environment::agent_settings(asked, &resolved, None) };
            environment::set_up_agent(&mut environment, &install(&home)?, &settings);
        }
        let mut launch = subject.launch(environment);
        launch.inheritance = inheritance(&resolved);
        let plain = Start::plain(subject, Environment::default());
        Ok(Start { launch, asked: Some(asked.clone()), resolved, attachable, ..plain })
    }

    /// The program that the placement's means does not reach, for that reason. Memory policy and CPUs reach every program.
    pub fn unreached(
        subject: &Subject,
        environment: Environment,
        asked: &Placement,
        resolved: Resolved,
        reason: Reason,
    ) -> Start {
        let mut plain = Start::plain(subject, environment);
        plain.launch.inheritance = inheritance(&resolved);
        Start { asked: Some(asked.clone()), resolved, unreached: Some(reason), ..plain }
    }

    /// The program under a configuration of a session.
    ///
    /// # Errors
    /// Where this machine cannot give it, or its means is not there.
    pub(crate) fn configured(
        configuration: &Configuration,
        subject: &Subject,
        environment: &Environment,
        here: &Here,
    ) -> Result<Start, NotReady> {
        let environment = environment.clone();
        match &configuration.means {
            Means::Plain => Ok(Start::plain(subject, environment)),
            Means::Placed(placement) => {
                Start::placed(subject, environment, placement, here.resolve(placement)?, false)
            }
        }
    }

    /// A launcher of ranks: with [`RANKS_PLACE`] in its words taken out, or replaced by what places each rank.
    ///
    /// # Errors
    /// Where the launcher cannot be started.
    pub(crate) fn of_job(
        subject: &Subject,
        environment: &Environment,
        job: Job<'_>,
        placement: Option<&Placement>,
    ) -> Result<Start, ProgramError> {
        let before_each = placement.map(|placement| {
            let ours = [job.placer.as_os_str().to_owned(), "run".into(), "--quiet".into()].into_iter();
            let ranks = job.words().map(OsString::from);
            ours.chain(placement.arguments().into_iter().map(OsString::from)).chain(ranks).collect::<Vec<_>>()
        });
        let words = subject.words().iter().flat_map(|word| match word == RANKS_PLACE {
            true => before_each.clone().unwrap_or_default(),
            false => vec![word.clone()],
        });
        let subject = Subject::find(&words.collect::<Vec<_>>(), environment)?;
        Ok(Start { starts_ranks: true, ..Start::plain(&subject, environment.clone()) })
    }

    /// The words of the program as documents hold them.
    pub(crate) fn command(&self) -> Vec<String> {
        self.launch.arguments.iter().map(|word| text_of(word.as_bytes())).collect()
    }

    /// Lets the agent follow the programs that this one starts.
    pub fn follow(&mut self) {
        if let Some(asked) = self.asked.as_mut().filter(|asked| asked.needs_agent()) {
            asked.follow = true;
            self.launch = self.recording(None);
        }
    }

    /// Becomes the program; returns only if that fails.
    pub fn exec(&self) -> LaunchError {
        self.launch.exec()
    }

    /// Somebody has to stand beside the program while it runs, even if no receipt is wanted.
    pub fn is_supervised(&self) -> bool {
        self.supervised().is_some()
    }

    /// Whether processes belong to it that it does not start itself.
    pub(crate) fn starts_ranks(&self) -> bool {
        self.starts_ranks
    }

    /// What is to be collapsed from outside.
    pub(crate) fn supervised(&self) -> Option<&Placement> {
        self.asked.as_ref().filter(|asked| self.unreached.is_none() && asked.via == Via::Supervise)
    }

    pub(crate) fn asked(&self) -> Option<&Placement> {
        self.asked.as_ref()
    }

    pub(crate) fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    pub(crate) fn image(&self) -> &str {
        &self.image
    }

    pub(crate) fn why_unreached(&self) -> Option<Reason> {
        self.unreached
    }

    /// The launch, with an agent that leaves its record in that file.
    pub(crate) fn recording(&self, record: Option<&Path>) -> Launch {
        let mut launch = self.launch.clone();
        let reached = self.asked.as_ref().filter(|_| self.unreached.is_none());
        if let Some(asked) = reached.filter(|asked| asked.needs_agent() || self.attachable) {
            let settings = environment::agent_settings(asked, &self.resolved, record);
            let settings = AgentSettings { attachable: self.attachable, ..settings };
            environment::set_agent(&mut launch.environment, &settings);
        }
        launch
    }
}
