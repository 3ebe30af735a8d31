//! Runs one command of the job and passes on what it writes, how it ended and the files it left.

use super::group::Group;
use super::line::{Line, locked};
use crate::job::{Ending, GuestCommand};
use crate::wire::Report;
use rustix::process::{WaitOptions, wait};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Instant;

/// Files larger than this do not fit into a guest's memory twice.
const MOST_FILE_BYTES: u64 = 256 << 20;

pub(super) fn run(index: usize, command: &GuestCommand, line: &Line) -> io::Result<()> {
    let group = Group::new(index, &command.cpuset)?;
    let begun = Instant::now();
    let mut process = Command::new(&command.program);
    if let Some((name, arguments)) = command.words.split_first() {
        process.arg0(name).args(arguments);
    }
    process.current_dir(&command.folder).env_clear().envs(command.environment.iter().cloned());
    process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ending = match group.as_member(|| process.spawn())? {
        Err(error) => Ending::NotStarted(error.to_string()),
        Ok(mut child) => {
            let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
            let status = thread::scope(|scope| {
                let out = scope.spawn(|| pass_on(stdout, |bytes| locked(line).stdout(bytes)));
                let err = scope.spawn(|| pass_on(stderr, |bytes| locked(line).stderr(bytes)));
                let status = child.wait();
                // What it started and left behind would hold its streams open, and run beside the next command.
                group.end()?;
                for thread in [out, err] {
                    thread.join().unwrap_or_else(|_| Err(io::Error::other("a stream was lost")))?;
                }
                status
            })?;
            ending(status)
        }
    };
    let seconds = begun.elapsed().as_secs_f64();
    // Orphans become ours.
    while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
    locked(line).report(&Report::Ended { ending, seconds })?;
    command.copy_out.iter().try_for_each(|path| hand_back(&command.folder, path, line))
}

fn ending(status: ExitStatus) -> Ending {
    let small = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(small(code)),
        (None, signal) => Ending::Signaled(small(signal.unwrap_or(0))),
    }
}

fn pass_on(stream: Option<impl Read>, mut to: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let Some(mut stream) = stream else { return Ok(()) };
    let mut buffer = vec![0; 32 << 10];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            bytes => to(&buffer[..bytes])?,
        }
    }
}

fn hand_back(folder: &Path, path: &Path, line: &Line) -> io::Result<()> {
    let mut line = locked(line);
    match readable(&folder.join(path)) {
        Err(error) => line.report(&Report::Missing { path: path.to_owned(), why: error.to_string() }),
        Ok((mode, contents)) => {
            line.report(&Report::File { path: path.to_owned(), mode, bytes: contents.len() as u64 })?;
            line.contents(&contents)
        }
    }
}

fn readable(path: &Path) -> io::Result<(u32, Vec<u8>)> {
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut contents = Vec::new();
    File::open(path)?.take(MOST_FILE_BYTES + 1).read_to_end(&mut contents)?;
    if contents.len() as u64 > MOST_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 256 MiB"));
    }
    Ok((about.mode() & 0o7777, contents))
}
