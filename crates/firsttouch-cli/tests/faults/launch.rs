//! Compiling the test programs, and running programs bare or under `firsttouch run`.

use crate::machine::in_guest;
use crate::runner::Skip;
use crate::{Outcome, skip};
use firsttouch_placement::Receipt;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

/// A program that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(600);

/// The folder of the C sources.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/c")
}

/// A folder for what the tests of this test program make; below the build's own, so that it can be executed from and is
/// removed with it.
pub(crate) fn workshop() -> PathBuf {
    made("work")
}

/// The folder of what is compiled, and of nothing else.
pub(crate) fn programs() -> PathBuf {
    made("programs")
}

fn made(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Set where another process has compiled the programs already.
pub(crate) static PREPARED: AtomicBool = AtomicBool::new(false);

/// Compiles `c/SOURCE` with additional flags, once; skips if there is no compiler, or if it cannot do what `wanted` flags
/// ask for (32-bit programs, static ones).
pub(crate) fn compile(source: &str, flags: &[String], wanted: &[String]) -> Outcome<PathBuf> {
    compile_as(&source.replace('.', "-"), source, flags, wanted)
}

/// The same under a name of its own: where a source is compiled in several ways.
pub(crate) fn compile_as(name: &str, source: &str, flags: &[String], wanted: &[String]) -> Outcome<PathBuf> {
    static COMPILED: Mutex<BTreeMap<String, Arc<OnceLock<Outcome<PathBuf>>>>> = Mutex::new(BTreeMap::new());
    let program = programs().join(name);
    // Why there is no program, for the other process to read.
    let skipped = program.with_extension("skipped");
    if PREPARED.load(Ordering::Relaxed) {
        return fs::read_to_string(skipped).map_or(Ok(program), skip);
    }
    let known = Arc::clone(COMPILED.lock().unwrap().entry(name.to_owned()).or_default());
    let made = known.get_or_init(|| {
        let made = compile_now(source, &program, flags, wanted).map(|()| program);
        let _ = fs::remove_file(&skipped);
        if let Err(Skip(why)) = &made {
            fs::write(&skipped, why).unwrap();
        }
        made
    });
    made.clone()
}

fn compile_now(source: &str, program: &Path, flags: &[String], wanted: &[String]) -> Outcome {
    let compiler = if source.ends_with(".cpp") { "c++" } else { "cc" };
    if !wanted.is_empty() {
        let empty = workshop().join(program.file_name().unwrap());
        let source = empty.with_extension("empty.c");
        fs::write(&source, "int main(void) { return 0; }\n").unwrap();
        let can = Command::new(compiler).args(["-pthread", "-o"]).args([empty, source]).args(wanted).output();
        if !can.is_ok_and(|output| output.status.success()) {
            return skip(format!("{compiler} {} does not work here", wanted.join(" ")));
        }
    }
    // A file of another name first: the old one may still run, and then cannot be written.
    let _ = fs::remove_file(program);
    let made = Command::new(compiler)
        .args(["-O2", "-pthread", "-fno-builtin", "-o"])
        .arg(program)
        .arg(sources().join(source))
        .args(flags)
        .args(wanted)
        .output();
    let Ok(output) = made else { return skip(format!("there is no compiler `{compiler}`")) };
    assert!(
        output.status.success(),
        "{source} does not compile:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// How a program ended, what it printed, and its receipt if one was asked for and came.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) receipt: Option<Receipt>,
}

impl Ended {
    fn of(output: &Output, receipt: Option<Receipt>) -> Ended {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        Ended {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            receipt,
        }
    }

    pub(crate) fn receipt(&self) -> &Receipt {
        self.receipt.as_ref().unwrap_or_else(|| panic!("there is no receipt: {self:?}"))
    }
}

/// How `firsttouch run` is to hand over the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hand {
    /// Not at all: the program runs by itself.
    Bare,
    /// It becomes the program.
    Exec,
    /// It waits for the program and writes a receipt.
    Receipt,
}

/// A shell line that goes round a command, which is its `"$@"`.
fn in_shell(line: &str, command: Vec<OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["sh", "-c", line, "sh"].map(OsString::from).into();
    words.extend(command);
    words
}

/// A program to run, with shell lines round `firsttouch run` (`outside`) and between it and the program (`inside`).
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) hand: Hand,
    pub(crate) options: &'a [String],
    pub(crate) program: &'a Path,
    pub(crate) arguments: &'a [String],
    pub(crate) outside: Option<&'a str>,
    pub(crate) inside: Option<&'a str>,
}

impl Launch<'_> {
    pub(crate) fn run(&self) -> Ended {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let receipt = workshop().join(format!("receipt-{}.json", NUMBER.fetch_add(1, Ordering::Relaxed)));
        let _ = fs::remove_file(&receipt);
        let mut words: Vec<OsString> = vec![self.program.into()];
        words.extend(self.arguments.iter().map(OsString::from));
        if let Some(line) = self.inside {
            words = in_shell(line, words);
        }
        if self.hand != Hand::Bare {
            let mut ours: Vec<OsString> = vec![firsttouch().into(), "run".into()];
            ours.extend(self.options.iter().map(OsString::from));
            if self.hand == Hand::Receipt {
                ours.extend(["--receipt".into(), receipt.clone().into()]);
            }
            ours.push("--".into());
            words.splice(0..0, ours);
        }
        if let Some(line) = self.outside {
            words = in_shell(line, words);
        }
        let output = finish(command(&words[0]).args(&words[1..]).env("PROGRAM", self.program));
        let receipt = fs::read_to_string(&receipt).ok().map(|text| {
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in the receipt {text}"))
        });
        Ended::of(&output, receipt)
    }
}

/// The file of the command.
pub(crate) fn firsttouch() -> &'static Path {
    Path::new(if in_guest() { "/usr/bin/firsttouch" } else { env!("CARGO_BIN_EXE_firsttouch") })
}

/// A command without the caller's habits, with its own place for the agent's file.
pub(crate) fn command(program: &OsStr) -> Command {
    let mut command = Command::new(program);
    command.env("XDG_CACHE_HOME", workshop());
    for name in ["LD_PRELOAD", "FIRSTTOUCH_AGENT", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX", "MALLOC_PERTURB_"] {
        command.env_remove(name);
    }
    command
}

/// Runs a command to its end; panics if it hangs.
pub(crate) fn finish(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let group = child.id();
    let (sender, receiver) = channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(LIMIT) {
        Ok(output) => output.unwrap(),
        Err(_) => {
            let _ = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).status();
            panic!("{command:?} hangs");
        }
    }
}
