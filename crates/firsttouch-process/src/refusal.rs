//! Why a program was not started.

use crate::exit_status::OURS;
use crate::inheritance::Step;
use crate::program::ProgramError;
use std::io;
use std::path::{Path, PathBuf};

/// A program that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program cannot be invoked.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// An argument or variable holds a zero byte, which no program can be given.
    #[error("an argument or variable of {} holds a zero byte", .program.display())]
    ZeroByte {
        /// The program.
        program: PathBuf,
    },
    /// A file for one of the standard streams cannot be opened.
    #[error("cannot open {} for the program's {stream}", .file.display())]
    Stream {
        /// The file.
        file: PathBuf,
        /// The stream's name.
        stream: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The kernel refused the memory policy or the CPUs; the program was not started.
    #[error("cannot start {} as asked: {step} failed", .program.display())]
    Inheritance {
        /// The program.
        program: PathBuf,
        /// What was asked of the kernel.
        step: Step,
        /// What it answered.
        source: io::Error,
    },
    /// The kernel refused something else that starting a program takes.
    #[error("cannot start {}: {call} failed", .program.display())]
    Kernel {
        /// The program.
        program: PathBuf,
        /// What was asked of the kernel.
        call: &'static str,
        /// What it answered.
        source: io::Error,
    },
}

impl LaunchError {
    /// A start that failed at a step.
    pub(crate) fn at(step: Step, program: &Path, error: i32) -> LaunchError {
        match step {
            Step::Execute => ProgramError::of_exec(program, error).into(),
            step => LaunchError::Inheritance {
                program: program.to_owned(),
                step,
                source: io::Error::from_raw_os_error(error),
            },
        }
    }

    /// The exit status of programs that start others: 127 not found, 126 cannot invoke, 125 our own failure.
    pub fn exit_status(&self) -> u8 {
        match self {
            LaunchError::Program(error) => error.exit_status(),
            _ => OURS,
        }
    }

    /// What would mend it.
    pub fn hint(&self) -> String {
        match self {
            LaunchError::Program(error) => error.hint(),
            LaunchError::ZeroByte { .. } => "remove the zero byte; no program can receive one".to_owned(),
            LaunchError::Stream { file, .. } => format!("ls -l {}", file.display()),
            LaunchError::Inheritance { step, source, .. } => match (step, source.raw_os_error()) {
                (_, Some(libc::EPERM | libc::ENOSYS)) => format!(
                    "a sandbox (seccomp) forbids {step}: docker run --cap-add SYS_NICE allows it, podman and Kubernetes \
                     with a profile that lists it, systemd with SystemCallFilter={step}"
                ),
                (Step::MemoryPolicy, Some(libc::EINVAL)) => {
                    "grep Mems_allowed_list /proc/self/status   # the cpuset may have changed, or the kernel lacks the policy"
                        .to_owned()
                }
                (_, Some(libc::EINVAL)) => {
                    "grep Cpus_allowed_list /proc/self/status   # the cpuset may have changed".to_owned()
                }
                _ => "firsttouch status".to_owned(),
            },
            LaunchError::Kernel { source, .. } => match source.raw_os_error() {
                Some(libc::EAGAIN) => {
                    "ulimit -u   # the number of processes may be limited, also by pids.max of the control group".to_owned()
                }
                Some(libc::EMFILE | libc::ENFILE) => {
                    "ulimit -n   # the number of open files may be limited".to_owned()
                }
                Some(libc::ENOMEM) => "free -m   # memory is short".to_owned(),
                Some(libc::ENOSYS | libc::EPERM) => {
                    "run outside the sandbox that forbids the call".to_owned()
                }
                _ => "firsttouch status".to_owned(),
            },
        }
    }
}
