//! What the tests share: small C programs, and launching with pipes, so that no test ever has to sleep.

#![allow(dead_code, reason = "every test binary uses its own part")]
#![allow(unreachable_pub, reason = "a module shared by test binaries")]

#[path = "../../../../tests/skipped.rs"]
mod skipped;

use firsttouch_process::{Environment, Launch, Running, Stream, resolve};
pub(crate) use skipped::skipped;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, pipe};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// The path the tests look programs up in.
pub fn path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

pub fn find(program: &str) -> Option<PathBuf> {
    resolve(OsStr::new(program), Some(&path())).ok()
}

pub fn environment() -> Environment {
    std::env::vars_os().collect()
}

pub fn launch(program: impl AsRef<OsStr>, arguments: &[&str]) -> Launch {
    let file = resolve(program.as_ref(), Some(&path())).unwrap();
    Launch::new(file, arguments, environment())
}

pub fn shell(script: &str) -> Launch {
    launch("sh", &["-c", script])
}

/// Compiles a C program; `None`, which is said, where that cannot be done here.
pub fn compile(folder: &Path, name: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let code = folder.join(format!("{name}.c"));
    let program = folder.join(name);
    std::fs::write(&code, source).unwrap();
    let answer = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(&code).args(flags).output();
    match answer {
        Ok(output) if output.status.success() => Some(program),
        Ok(output) => {
            skipped(&format!("cc {flags:?} failed: {}", String::from_utf8_lossy(&output.stderr)));
            None
        }
        Err(error) => {
            skipped(&format!("no C compiler: {error}"));
            None
        }
    }
}

/// A program with pipes on its standard input and output.
pub struct Talking {
    pub running: Running,
    pub output: BufReader<PipeReader>,
    pub input: PipeWriter,
}

pub fn talk(mut launch: Launch) -> Talking {
    let (child_input, input) = pipe().unwrap();
    let (output, child_output) = pipe().unwrap();
    launch.streams[0] = Stream::Descriptor(Arc::new(child_input.into()));
    launch.streams[1] = Stream::Descriptor(Arc::new(child_output.into()));
    let running = launch.hold().unwrap().release().unwrap();
    Talking { running, output: BufReader::new(output), input }
}

impl Talking {
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

/// Everything a program writes on its standard output.
pub fn output_of(mut launch: Launch) -> String {
    let (mut output, child_output) = pipe().unwrap();
    launch.streams[1] = Stream::Descriptor(Arc::new(child_output.into()));
    let running = launch.hold().unwrap().release().unwrap();
    drop(launch);
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    running.wait().unwrap();
    text
}

pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

pub fn exists(file: &Path) -> bool {
    File::open(file).is_ok()
}
