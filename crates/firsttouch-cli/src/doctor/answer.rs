//! What a command says that may never end: its output, within a time and a size, and what it ended with.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// No document of one machine is as large.
const MOST_BYTES: usize = 16 << 20;

/// What a command says on standard error is read to its end, and so much of it is kept.
const MOST_TOLD: usize = 64 << 10;

/// How long a command has to end when it is asked to. Who only kills srun leaves its job in the queue.
const GRACE: Duration = Duration::from_secs(3);

/// How often somebody looks whether the command has ended, or an end is asked for.
const LOOK: Duration = Duration::from_millis(50);

/// What became of a command.
#[derive(Debug)]
pub(super) struct Answer {
    /// Its standard output.
    pub(super) said: Vec<u8>,
    /// Its standard error, as far as it was kept.
    pub(super) told: Vec<u8>,
    pub(super) end: End,
}

#[derive(Debug)]
pub(super) enum End {
    /// It ended by itself.
    Ended(ExitStatus),
    /// It was ended: its time was up.
    TimeUp,
    /// It was ended: it said more than anybody would read.
    TooMuch,
    /// It was ended: somebody asked for an end.
    Interrupted,
}

impl Answer {
    /// What the command said last on standard error, or how it ended.
    pub(super) fn last_words(&self) -> String {
        let told = String::from_utf8_lossy(&self.told);
        // Launchers add that a task failed, and rules around what they say.
        let tells = |line: &&str| {
            line.contains(char::is_alphanumeric)
                && !(line.starts_with("srun: error: ") && line.contains(": Exited with exit code "))
        };
        // Open MPI's ends with advice.
        let as_root = told.lines().find(|line| line.contains("detected an attempt to run as root"));
        let last = as_root.or_else(|| told.lines().rev().map(str::trim).find(tells));
        let status = match &self.end {
            End::Ended(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit status {code}"),
                (None, signal) => format!("signal {}", signal.unwrap_or(0)),
            },
            _ => "it was ended".to_owned(),
        };
        last.map_or(status.clone(), |line| format!("{line} ({status})"))
    }
}

/// Runs a command without standard input until it ends, its time is up, or `stop` is set. It has a process group of its own, so
/// that nothing of it is left behind.
pub(super) fn answer(command: &mut Command, limit: Duration, stop: &AtomicBool) -> io::Result<Answer> {
    let until = Instant::now() + limit;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let mut texts = [Vec::new(), Vec::new()];
    let read = read(&mut child, pid, &mut texts, until, stop);
    // Nobody has waited for it yet, so that its number is nobody else's.
    let _ = kill_process_group(pid, Signal::KILL);
    let status = child.wait()?;
    let end = read?.unwrap_or(End::Ended(status));
    let [said, told] = texts;
    Ok(Answer { said, told, end })
}

/// Both streams until the command has ended; what ends it earlier, after which nothing that it says is kept. Standard error may stay
/// open: a connection that ssh shares holds it.
fn read(
    child: &mut Child,
    pid: Pid,
    texts: &mut [Vec<u8>; 2],
    mut until: Instant,
    stop: &AtomicBool,
) -> io::Result<Option<End>> {
    let mut asked_to_end = None;
    let mut streams = [
        child.stdout.take().map(|stream| File::from(OwnedFd::from(stream))),
        child.stderr.take().map(|stream| File::from(OwnedFd::from(stream))),
    ];
    loop {
        // Before the streams are read: what was said before the end is there then.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let ended = waitid(WaitId::Pid(pid), look)?.is_some();
        let ready = ready(&streams, if ended { Duration::ZERO } else { LOOK })?;
        for (place, most) in [MOST_BYTES + 1, MOST_TOLD].into_iter().enumerate() {
            let most = if asked_to_end.is_some() { 0 } else { most };
            if ready[place] && take(&mut streams[place], &mut texts[place], most)? {
                streams[place] = None;
            }
        }
        let is_late = Instant::now() >= until;
        if ended && ready == [false; 2] || is_late && asked_to_end.is_some() {
            return Ok(asked_to_end);
        } else if asked_to_end.is_none() {
            asked_to_end = if texts[0].len() > MOST_BYTES {
                Some(End::TooMuch)
            } else if stop.load(Ordering::Relaxed) {
                Some(End::Interrupted)
            } else {
                is_late.then_some(End::TimeUp)
            };
            if asked_to_end.is_some() {
                let _ = kill_process_group(pid, Signal::TERM);
                until = Instant::now() + GRACE;
            }
        }
    }
}

/// Which streams have something to read, or have ended, at the latest after `wait`.
fn ready(streams: &[Option<File>; 2], wait: Duration) -> io::Result<[bool; 2]> {
    let mut waited: Vec<PollFd<'_>> =
        streams.iter().flatten().map(|stream| PollFd::new(stream, PollFlags::IN)).collect();
    let wait = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
    match poll(&mut waited, Some(&wait)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut answers = waited.iter().map(|one| !one.revents().is_empty());
    Ok(streams.each_ref().map(|stream| stream.is_some() && answers.next() == Some(true)))
}

/// Reads what is there; whether the stream is at its end. What goes beyond `most` is read and forgotten.
fn take(stream: &mut Option<File>, into: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let Some(stream) = stream else { return Ok(false) };
    let mut piece = [0; 1 << 14];
    let bytes = stream.read(&mut piece)?;
    into.extend_from_slice(&piece[..bytes.min(most.saturating_sub(into.len()))]);
    Ok(bytes == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, limit: Duration) -> Answer {
        let stop = AtomicBool::new(false);
        answer(Command::new("sh").args(["-c", line]), limit, &stop).expect("sh runs")
    }

    #[test]
    fn what_a_command_says_and_ends_with_is_told() {
        let long = Duration::from_secs(600);
        let said = of("cat; echo yes; echo no >&2; echo >&2; exit 3", long);
        assert_eq!((said.said.as_slice(), said.last_words().as_str()), (&b"yes\n"[..], "no (exit status 3)"));
        assert_eq!(of("kill -9 $$", long).last_words(), "signal 9");
        let by_srun =
            "echo no >&2; echo 'srun: error: n1: task 0: Exited with exit code 2' >&2; echo ---- >&2; exit 2";
        assert_eq!(of(by_srun, long).last_words(), "no (exit status 2)");
        let as_root =
            "echo 'mpirun has detected an attempt to run as root.' >&2; echo 'Please do not.' >&2; exit 1";
        let as_root = of(as_root, long).last_words();
        assert_eq!(as_root, "mpirun has detected an attempt to run as root. (exit status 1)");
        let large = of("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2", long);
        assert_eq!((large.said.len(), large.told.len()), (1_000_000, MOST_TOLD));
    }

    #[test]
    fn a_command_that_does_not_end_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let pid = folder.path().join("pid");
        let line = format!("mkfifo {0}.fifo; cat {0}.fifo & echo $! > {0}; wait", pid.display());
        assert!(matches!(of(&line, Duration::from_secs(2)).end, End::TimeUp));
        let left = std::fs::read_to_string(&pid).expect("it was started");
        // It ends by itself only if somebody ends it; it may stay as one whose parent has not waited for it.
        let stat = format!("/proc/{}/stat", left.trim());
        while std::fs::read_to_string(&stat).is_ok_and(|text| !text.contains(") Z ")) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_command_is_asked_to_end_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let pid = folder.path().join("pid");
        let line = format!(
            "trap 'echo asked > {0}; exit' TERM; mkfifo {0}.pipe; cat {0}.pipe & wait",
            pid.display()
        );
        assert!(matches!(of(&line, Duration::from_secs(2)).end, End::TimeUp));
        assert_eq!(std::fs::read_to_string(&pid).expect("it was asked"), "asked\n");
    }

    #[test]
    fn who_does_not_heed_that_is_ended_all_the_same() {
        let deaf = "trap '' TERM; exec tail -f /dev/null";
        assert!(matches!(of(deaf, Duration::from_secs(1)).end, End::TimeUp));
    }

    #[test]
    fn a_command_that_writes_too_much_or_is_stopped_is_ended() {
        assert!(matches!(of("cat /dev/zero", Duration::from_secs(600)).end, End::TooMuch));
        let stop = AtomicBool::new(true);
        let stopped = answer(Command::new("cat").arg("/dev/zero"), Duration::from_secs(600), &stop);
        assert!(matches!(stopped.expect("it runs").end, End::Interrupted | End::TooMuch));
    }

    #[test]
    fn a_stream_that_somebody_else_holds_keeps_nobody() {
        // As the shared connection of ssh does, in a session of its own: it ends when somebody opens the pipe.
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let line = format!(
            "mkfifo {0} {0}.there; setsid sh -c 'echo > {0}.there; exec cat {0} >/dev/null' & read there < {0}.there; echo done",
            pipe.display()
        );
        let said = of(&line, Duration::from_secs(600));
        drop(File::options().write(true).open(&pipe).expect("somebody reads it"));
        assert_eq!(said.said, b"done\n");
        assert!(matches!(said.end, End::Ended(_)));
    }
}
