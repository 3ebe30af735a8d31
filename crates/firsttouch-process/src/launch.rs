//! Starting a program.

use crate::caller::{CALLERS, inherited};
use crate::child::{ChildPlan, Image, Signals, redirect, run};
use crate::ending::Finished;
use crate::environment::Environment;
use crate::inheritance::{Inheritance, Step};
use crate::refusal::LaunchError;
use crate::running::Held;
use firsttouch_linux::perf::Event;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What one of the three standard streams of the program is.
#[derive(Clone, Debug, Default)]
pub enum Stream {
    /// What our caller gave us, closed where it was.
    #[default]
    Inherit,
    /// `/dev/null`.
    Null,
    /// This file: read as input, created or cut to nothing as output.
    File(PathBuf),
    /// This open file or pipe.
    Descriptor(Arc<OwnedFd>),
}

/// A program to be started, as often as wanted.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The file to execute, as [`crate::resolve`] found it.
    pub program: PathBuf,
    /// The arguments; the first is the name the program sees itself called by.
    pub arguments: Vec<OsString>,
    /// The whole environment. In the agent's variable, [`PID_PLACEHOLDER`](firsttouch_memory::agent_settings::PID_PLACEHOLDER) becomes the number of the process;
    /// so does ours in the variables by which systemd names who is meant.
    pub environment: Environment,
    /// Standard input, output and error.
    pub streams: [Stream; 3],
    /// Memory policy and CPUs.
    pub inheritance: Inheritance,
}

const STREAM_NAMES: [&str; 3] = ["input", "output", "error output"];

impl Launch {
    /// A program with ours as its streams; `arguments` do not include the program's own name, which is the path.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
        environment: Environment,
    ) -> Launch {
        let program = program.into();
        let arguments = std::iter::once(program.clone().into_os_string())
            .chain(arguments.into_iter().map(Into::into))
            .collect();
        Launch {
            program,
            arguments,
            environment,
            streams: Default::default(),
            inheritance: Inheritance::default(),
        }
    }

    /// Forks a child that waits right before its exec, so that counters can be attached to it.
    pub fn hold(&self) -> Result<Held, LaunchError> {
        self.hold_with(None)
    }

    /// As [`Launch::hold`]; the program gets this signal mask instead of the calling thread's.
    pub(crate) fn hold_with(&self, mask: Option<&Signals>) -> Result<Held, LaunchError> {
        let image = self.image()?;
        let streams = self.open_streams()?;
        let (release, release_writer) = pipe().map_err(|source| self.refused("pipe", source))?;
        let (report, report_writer) = pipe().map_err(|source| self.refused("pipe", source))?;
        // No handler of ours may run in the child before its handlers are reset.
        let before = Signals::all().block();
        let plan = ChildPlan {
            image: &image,
            streams: &streams,
            release: release.as_raw_fd(),
            release_writer: release_writer.as_raw_fd(),
            report: report_writer.as_raw_fd(),
            mask: mask.unwrap_or(&before),
            inheritance: &self.inheritance,
        };
        // SAFETY: the child only runs `child::run`, which keeps to async-signal-safe calls.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: this is the child, with all signals blocked.
            unsafe { run(&plan) }
        }
        let error = io::Error::last_os_error();
        before.restore();
        if pid < 0 {
            return Err(self.refused("fork", error));
        }
        Ok(Held::new(self.program.clone(), pid, release_writer, File::from(report)))
    }

    /// Runs the program to its end and says what it used. The clock runs from right before its release to right after
    /// it was collected; nothing of ours runs in between, apart from waiting.
    ///
    /// `events` are counted where the kernel can. When `stop` becomes true during the run (a signal handler of the
    /// caller sets it), the program is asked to end by SIGTERM; the result is then that of the cut run.
    pub fn measure(&self, events: &[Event], stop: Option<&AtomicBool>) -> Result<Finished, LaunchError> {
        let mut held = self.hold()?;
        held.count(events);
        let running = held.release()?;
        match stop {
            None => running.wait(),
            Some(stop) => running.wait_heeding(stop),
        }
        .map_err(|source| self.refused("wait", source))
    }

    /// Becomes the program; returns only if that fails.
    pub fn exec(&self) -> LaunchError {
        let image = match self.image() {
            Ok(image) => image,
            Err(error) => return error,
        };
        let streams = match self.open_streams() {
            Ok(streams) => streams,
            Err(error) => return error,
        };
        // SAFETY: sets a disposition, puts prepared descriptors in place and gives up this image; nothing of it is used
        // afterwards unless the exec fails, and then it is as it was but for the streams, memory policy and CPUs.
        let (step, error) = unsafe {
            let ours = CALLERS.map(|signal| inherited(signal).map(|action| libc::signal(signal, action)));
            let (step, error) = match (redirect(&streams), self.inheritance.apply()) {
                (0, Ok(())) => (Step::Execute, image.exec()),
                (0, Err(refused)) => refused,
                (error, _) => (Step::Execute, error),
            };
            for (signal, action) in CALLERS.into_iter().zip(ours) {
                action.map(|action| libc::signal(signal, action));
            }
            (step, error)
        };
        LaunchError::at(step, &self.program, error)
    }

    /// All that is laid out beforehand, and no more than what may be done.
    fn image(&self) -> Result<Image, LaunchError> {
        if let Some((step, error)) = self.inheritance.deadly_step() {
            return Err(LaunchError::at(step, &self.program, error));
        }
        Image::prepare(&self.program, &self.arguments, &self.environment)
            .map_err(|_| LaunchError::ZeroByte { program: self.program.clone() })
    }

    fn open_streams(&self) -> Result<[Option<OwnedFd>; 3], LaunchError> {
        let mut opened = [None, None, None];
        for (number, stream) in self.streams.iter().enumerate() {
            let failed = |file: &PathBuf, source| LaunchError::Stream {
                file: file.clone(),
                stream: STREAM_NAMES[number],
                source,
            };
            let null = PathBuf::from("/dev/null");
            let fd = match stream {
                Stream::Inherit => continue,
                Stream::Null => OwnedFd::from(open(&null, number > 0).map_err(|error| failed(&null, error))?),
                Stream::File(file) => {
                    OwnedFd::from(open(file, number > 0).map_err(|error| failed(file, error))?)
                }
                Stream::Descriptor(fd) => fd.try_clone().map_err(|error| self.refused("dup", error))?,
            };
            // try_clone gives a number above the standard ones; an open file may be among them if one was closed.
            opened[number] = Some(if fd.as_raw_fd() > 2 {
                fd
            } else {
                fd.try_clone().map_err(|error| self.refused("dup", error))?
            });
        }
        Ok(opened)
    }

    pub(crate) fn refused(&self, call: &'static str, source: io::Error) -> LaunchError {
        LaunchError::Kernel { program: self.program.clone(), call, source }
    }
}

fn open(file: &PathBuf, output: bool) -> io::Result<File> {
    if output {
        OpenOptions::new().write(true).create(true).truncate(true).open(file)
    } else {
        File::open(file)
    }
}

/// A pipe, reader first, closed in programs we start.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [-1; 2];
    // SAFETY: the kernel fills the two-element array.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just handed both descriptors to us alone.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}
