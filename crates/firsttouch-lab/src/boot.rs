//! Starts the emulator, listens to the guest and keeps the time.
//!
//! Three serial lines: the kernel's console, which goes to a file; our frames, which come by a socket; and, where a shell
//! is wanted, the terminal. Two threads wait, one for the guest's words and one for the emulator's end, so that neither
//! a guest that says nothing nor an emulator that never connects is waited for beyond the limit.

use crate::LabError;
use crate::finished::{CopiedFile, Finished, Stream};
use crate::wire::{Frame, Receiver, Report};
use rustix::process::Signal;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver as Queue, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How much of the console an error shows.
const TAIL_LINES: usize = 25;
/// How much of it shows why a kernel gave up, with registers and calls.
const OOPS_LINES: usize = 80;
/// How such words begin.
const OOPS: [&str; 5] = ["BUG: ", "Oops", "general protection fault", "invalid opcode", "WARNING: CPU"];

/// What a kernel says first when it gives up.
const PANIC: &str = "Kernel panic";

/// The hidden subcommand that becomes the emulator.
const EMULATOR_WORD: &str = "lab-emulator";

/// What is booted, and how.
pub(crate) struct Boot<'a> {
    pub(crate) program: &'a Path,
    /// Our own program, which becomes the emulator (see [`become_emulator`]).
    pub(crate) own: &'a Path,
    /// All but the serial lines.
    pub(crate) arguments: Vec<String>,
    /// A folder for the lines' ends.
    pub(crate) folder: &'a Path,
    /// A file that the emulator has read when the guest speaks.
    pub(crate) file_system: &'a Path,
    pub(crate) limit: Duration,
    /// The third line is our terminal; the limit ends where the shell begins.
    pub(crate) shell: bool,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) boot: Duration,
    pub(crate) finished: Vec<Finished>,
    pub(crate) console: String,
}

enum Event {
    Frame(Frame),
    /// The line ended, or broke.
    Silence(io::Result<()>),
    /// The emulator ended, with what it wrote on stderr.
    Gone(String),
}

/// Becomes the emulator, with its arguments, in a way that ends it when whoever asked for it is killed: a guest that
/// nobody listens to would run on for as long as its program does. Returns only if it cannot.
pub fn become_emulator(words: &[OsString]) -> io::Error {
    let Some((program, arguments)) = words.split_first() else { return io::ErrorKind::InvalidInput.into() };
    match rustix::process::set_parent_process_death_signal(Some(Signal::KILL)) {
        Ok(()) => Command::new(program).args(arguments).exec(),
        Err(error) => error.into(),
    }
}

/// A process that does not outlive us.
struct Emulator(Child);

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Boot<'_> {
    pub(crate) fn run(&self, watch: &mut dyn FnMut(usize, Stream, &[u8])) -> Result<Heard, LabError> {
        let line = self.folder.join("line");
        let listener =
            UnixListener::bind(&line).map_err(LabError::io("cannot make a socket for the guest"))?;
        let mut emulator = self.start(&line)?;
        let (sender, events) = channel();
        let frames = sender.clone();
        let no_thread = || LabError::io("cannot start a thread that hears the guest");
        let hear = move || {
            let end = listen(&listener, &frames);
            // Nobody listens any more when the main thread has given up.
            let _ = frames.send(Event::Silence(end));
        };
        thread::Builder::new().spawn(hear).map_err(no_thread())?;
        let stderr = emulator.0.stderr.take();
        let hear_the_end = move || {
            let mut said = Vec::new();
            let _ = stderr.map(|mut stderr| stderr.read_to_end(&mut said));
            let _ = sender.send(Event::Gone(String::from_utf8_lossy(&said).trim().to_owned()));
            // An emulator that ended before it connected leaves the other thread waiting.
            let _ = UnixStream::connect(line);
        };
        thread::Builder::new().spawn(hear_the_end).map_err(no_thread())?;
        self.listen_to(&events, watch)
    }

    fn start(&self, line: &Path) -> Result<Emulator, LabError> {
        let mut command = Command::new(self.own);
        command.args([EMULATOR_WORD, "--"]).arg(self.program).args(&self.arguments);
        command.arg("-chardev").arg(with_path("file,id=console,path=", &self.console()));
        command.args(["-serial", "chardev:console"]);
        command.arg("-chardev").arg(with_path("socket,id=line,path=", line));
        command.args(["-serial", "chardev:line"]);
        if self.shell {
            command.args(["-chardev", "stdio,id=shell,signal=off", "-serial", "chardev:shell"]);
        } else {
            command.stdin(Stdio::null()).stdout(Stdio::null());
        }
        let child = command.stderr(Stdio::piped()).spawn();
        child.map(Emulator).map_err(LabError::io(format!("cannot start {}", self.program.display())))
    }

    fn console(&self) -> PathBuf {
        self.folder.join("console")
    }

    fn listen_to(
        &self,
        events: &Queue<Event>,
        watch: &mut dyn FnMut(usize, Stream, &[u8]),
    ) -> Result<Heard, LabError> {
        let deadline = Instant::now() + self.limit;
        let mut story = Story::default();
        let mut gone = None;
        loop {
            let event = if story.done && self.shell {
                events.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                events.recv_timeout(deadline.saturating_duration_since(Instant::now()))
            };
            match event {
                Ok(Event::Frame(frame)) => {
                    if matches!(frame, Frame::Report(Report::Ready { .. })) {
                        // Whatever ends us from now on, the large file is gone.
                        let _ = fs::remove_file(self.file_system);
                    }
                    story.add(frame, watch);
                }
                Ok(Event::Silence(Err(error))) if !story.done => {
                    let why = format!("the line to the guest is damaged: {error}");
                    return Err(LabError::Guest { why, console: self.tail() });
                }
                Ok(Event::Silence(_)) => {}
                Ok(Event::Gone(said)) => gone = Some(said),
                Err(RecvTimeoutError::Timeout) => {
                    let ended = story.boot.is_some().then_some(story.finished.len());
                    return Err(LabError::Timeout { limit: self.limit, ended, console: self.tail() });
                }
                // Both threads have ended: everything was said.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Some(why) = story.failed {
            return Err(LabError::Guest { why, console: self.tail() });
        }
        if !story.done {
            let console = self.tail();
            return Err(match gone {
                Some(said) if story.boot.is_none() && console.is_empty() => LabError::Refused { said },
                _ if story.boot.is_none() && console.contains(PANIC) => {
                    LabError::Panicked { boots: 1, console }
                }
                _ => LabError::Died { console },
            });
        }
        Ok(Heard { boot: story.boot.unwrap_or_default(), finished: story.finished, console: self.text() })
    }

    fn text(&self) -> String {
        let bytes = fs::read(self.console()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\r', "")
    }

    fn tail(&self) -> String {
        tail(&self.text())
    }
}

/// What of a console tells why its guest ended.
fn tail(console: &str) -> String {
    let lines: Vec<&str> = console.lines().filter(|line| !line.trim().is_empty()).collect();
    let Some(panic) = lines.iter().position(|line| line.contains(PANIC)) else {
        return lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
    };
    // What it says before a panic is why, and what comes after it is only for the kernel's makers.
    let is_oops = |line: &&str| OOPS.iter().any(|word| line.contains(word));
    let before = panic.saturating_sub(OOPS_LINES);
    let start = lines[before..panic].iter().position(is_oops).map_or(panic, |first| before + first);
    lines[start..=panic].join("\n")
}

/// An option of the emulator's that ends with a path. The emulator takes a comma for the beginning of the next option, and two
/// for one that belongs to the value.
fn with_path(option: &str, path: &Path) -> OsString {
    let mut bytes = option.as_bytes().to_vec();
    for byte in path.as_os_str().as_bytes() {
        bytes.push(*byte);
        if *byte == b',' {
            bytes.push(b',');
        }
    }
    OsString::from_vec(bytes)
}

fn listen(listener: &UnixListener, frames: &Sender<Event>) -> io::Result<()> {
    let (line, _) = listener.accept()?;
    each_frame(io::BufReader::new(line), |frame| frames.send(Event::Frame(frame)).is_ok())
}

/// Hands on what the guest says, until it says no more or nobody listens.
fn each_frame(line: impl Read, mut hand_on: impl FnMut(Frame) -> bool) -> io::Result<()> {
    let Some(mut receiver) = Receiver::new(line)? else { return Ok(()) };
    while let Some(frame) = receiver.next()? {
        if !hand_on(frame) {
            break;
        }
    }
    Ok(())
}

/// What a guest says on a line, without the guest: its commands that ended, with the files it handed back.
#[doc(hidden)]
pub fn hear(line: impl Read) -> io::Result<Vec<Finished>> {
    let mut story = Story::default();
    each_frame(line, |frame| {
        story.add(frame, &mut |_, _, _| {});
        true
    })?;
    Ok(story.finished)
}

/// What the guest has said so far.
#[derive(Default)]
struct Story {
    boot: Option<Duration>,
    finished: Vec<Finished>,
    /// The file whose contents come now, and how many bytes it has.
    file: Option<(CopiedFile, u64)>,
    failed: Option<String>,
    done: bool,
}

impl Story {
    fn add(&mut self, frame: Frame, watch: &mut dyn FnMut(usize, Stream, &[u8])) {
        match frame {
            Frame::Stdout(bytes) => watch(self.finished.len(), Stream::Stdout, &bytes),
            Frame::Stderr(bytes) => watch(self.finished.len(), Stream::Stderr, &bytes),
            Frame::Contents(bytes) => {
                if let Some((file, _)) = &mut self.file {
                    file.contents.extend(bytes);
                }
                self.keep_file();
            }
            Frame::Report(Report::Ready { uptime_s }) => {
                self.boot = Some(Duration::try_from_secs_f64(uptime_s).unwrap_or_default());
            }
            Frame::Report(Report::Ended { ending, seconds }) => {
                let took = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                self.finished.push(Finished { ending, took, files: Vec::new(), missing: Vec::new() });
            }
            Frame::Report(Report::File { path, mode, bytes }) => {
                self.file = Some((CopiedFile { path, mode, contents: Vec::new() }, bytes));
                self.keep_file();
            }
            Frame::Report(Report::Missing { path, why }) => {
                if let Some(last) = self.finished.last_mut() {
                    last.missing.push((path, why));
                }
            }
            Frame::Report(Report::Failed { why }) => self.failed = Some(why),
            Frame::Report(Report::Done) => self.done = true,
        }
    }

    /// A file whose last byte has come belongs to the command that ended last.
    fn keep_file(&mut self) {
        let whole = |(file, bytes): &mut (CopiedFile, u64)| file.contents.len() as u64 >= *bytes;
        if let Some((file, _)) = self.file.take_if(whole)
            && let Some(last) = self.finished.last_mut()
        {
            last.files.push(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{tail, with_path};
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStringExt;
    use std::path::Path;

    #[test]
    fn commas_of_a_path_belong_to_it() {
        let option = |path: &Path| with_path("socket,id=line,path=", path);
        assert_eq!(option(Path::new("/tmp/x/line")), OsStr::new("socket,id=line,path=/tmp/x/line"));
        let hostile = Path::new("/tmp/a,server=on,,b/line");
        assert_eq!(option(hostile), OsStr::new("socket,id=line,path=/tmp/a,,server=on,,,,b/line"));
        // Bytes that are no text stay what they are.
        let odd = OsString::from_vec(b"/tmp/\xff,".to_vec());
        assert_eq!(option(Path::new(&odd)), OsString::from_vec(b"socket,id=line,path=/tmp/\xff,,".to_vec()));
    }
    #[test]
    fn a_panic_is_shown_with_what_led_to_it() {
        let console = "[    0.1] a device\n\
                       [   68.2] watchdog: BUG: soft lockup - CPU#3 stuck for 64s! [touch:147]\n\
                       [   68.2] RIP: 0010:smp_call_function_many_cond+0x12c/0x390\n\n\
                       [   68.3] Kernel panic - not syncing: softlockup: hung tasks\n\
                       [   68.3] CPU: 3 PID: 147\n";
        let shown = tail(console);
        assert!(shown.starts_with("[   68.2] watchdog: BUG") && shown.ends_with("hung tasks"), "{shown}");
        assert_eq!(shown.lines().count(), 3);
        // Without one, the last lines are shown.
        let many: String = (0..100).map(|line| format!("line {line}\n")).collect();
        assert!(tail(&many).starts_with("line 75\n") && tail(&many).ends_with("line 99"));
    }
}
