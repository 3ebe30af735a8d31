//! The guest's side: the first process of a machine that lives for one job.
//!
//! Architecture invariant: [`init`] is for the first process of a guest and for nothing else: it mounts, writes settings
//! and switches the machine off. It refuses to run anywhere else.

mod command;
mod group;
mod line;
mod setup;

use crate::job::{JOB, Job, OWN};
use crate::wire::{Report, Sender};
use line::{Line, locked};
use rustix::system::{RebootCommand, reboot};
use rustix::termios::{OptionalActions, tcdrain, tcgetattr, tcsetattr};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

/// The serial line of our frames.
const LINE: &str = "/dev/ttyS1";
/// The serial line of the shell.
const SHELL_LINE: &str = "/dev/ttyS2";
/// The hidden subcommand of the shell.
const SHELL_WORD: &str = "guest-shell";

/// Does the job and switches the machine off. Returns only where it is not the first process of a guest, with why.
pub fn init() -> io::Error {
    if std::process::id() != 1 || !in_guest() {
        return io::Error::other("only the first process of a lab's guest may do this");
    }
    if let Err(error) = serve() {
        // The console is the last one to tell; the host reads it when the line stays silent.
        let _ = writeln!(io::stderr(), "firsttouch: {error}");
    }
    rustix::fs::sync();
    match reboot(RebootCommand::PowerOff) {
        Ok(()) => io::Error::other("the machine did not switch off"),
        Err(error) => error.into(),
    }
}

fn in_guest() -> bool {
    Path::new(JOB).is_file()
}

fn serve() -> io::Result<()> {
    setup::mounts()?;
    let port = File::options().read(true).write(true).open(LINE)?;
    let mut settings = tcgetattr(&port)?;
    settings.make_raw();
    tcsetattr(&port, OptionalActions::Now, &settings)?;
    let line = Mutex::new(Sender::new(port.try_clone()?)?);
    let done = work(&line);
    if let Err(error) = &done {
        locked(&line).report(&Report::Failed { why: error.to_string() })?;
    }
    // What is still in the driver's buffer would be lost with the power.
    tcdrain(&port)?;
    done
}

fn work(line: &Line) -> io::Result<()> {
    let job: Job = serde_json::from_str(&fs::read_to_string(JOB)?)?;
    setup::settings(&job)?;
    let uptime = fs::read_to_string("/proc/uptime")?;
    let uptime_s = uptime.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    locked(line).report(&Report::Ready { uptime_s })?;
    for (index, command) in job.commands.iter().enumerate() {
        command::run(index, command, line)?;
    }
    locked(line).report(&Report::Done)?;
    if job.shell {
        Command::new(OWN).arg(SHELL_WORD).status()?;
    }
    Ok(())
}

/// Becomes a shell on the guest's terminal, whose line is that of our own. Returns only if it cannot.
pub fn shell() -> io::Error {
    if !in_guest() {
        return io::Error::other("only a process of a lab's guest may do this");
    }
    match terminal() {
        Ok(terminal) => {
            let stream = || terminal.try_clone();
            let (Ok(input), Ok(output)) = (stream(), stream()) else {
                return io::Error::other("the terminal cannot be shared");
            };
            let mut shell = Command::new("sh");
            shell
                .arg("-i")
                .current_dir("/root")
                .env("PS1", "guest# ")
                .env("HOME", "/root")
                .env("TERM", "xterm");
            shell.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
            shell.stdin(input).stdout(output).stderr(terminal).exec()
        }
        Err(error) => error,
    }
}

/// The shell's line as the terminal that a new session gets by opening it.
fn terminal() -> io::Result<File> {
    rustix::process::setsid()?;
    File::options().read(true).write(true).open(SHELL_LINE)
}
