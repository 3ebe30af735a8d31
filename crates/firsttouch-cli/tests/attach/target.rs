//! A program to attach to: started in a folder of its own, heard line by line, ended in the end.
//!
//! The programs say `ready PID` when there is something to attach to, and then a line for each round of their work;
//! they go on until there is a file `stop` in their folder, or their input ends.

use crate::{Outcome, program, skip};
use firsttouch_linux::maps::Backing;
use firsttouch_linux::root::Root;
use firsttouch_linux::smaps::{Region, read_smaps};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// A program that says nothing for longer hangs, whoever else is at work on the machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(240);
/// Smaller mappings have few whole blocks of 2 MiB, or none.
const LARGE_BYTES: u64 = 8 << 20;

/// The folder of the sources: `c` or `programs`.
pub(crate) fn sources(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attach").join(kind)
}

/// A folder that others may look into, for servers that run as somebody else.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// The file of an installed program.
pub(crate) fn installed(program: &str) -> Outcome<PathBuf> {
    program::find(program).map_or_else(|| skip(format!("{program} is not installed")), Ok)
}

/// Compiles a C source into the folder.
pub(crate) fn compiled(folder: &Path, source: &Path) -> Outcome<PathBuf> {
    let program = folder.join(source.file_stem().unwrap());
    let output = Command::new(installed("cc")?)
        .args(["-O2", "-Wall", "-pthread", "-o"])
        .args([&program, source])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(program)
}

/// A running program.
pub(crate) struct Target {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    folder: PathBuf,
    /// The process to attach to, which need not be the one that was started.
    pub(crate) pid: u32,
    /// The lines after `ready`.
    pub(crate) said: Vec<String>,
}

impl Target {
    /// Starts a program in the folder and waits until it is ready.
    pub(crate) fn start<S: AsRef<OsStr>>(words: &[S], folder: &Path) -> Target {
        let errors = File::create(folder.join("stderr")).unwrap();
        let _ = fs::remove_file(folder.join("stop"));
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .current_dir(folder)
            .env("LC_ALL", "C")
            .env_remove("LD_PRELOAD")
            .env_remove("GLIBC_TUNABLES")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let input = child.stdin.take();
        let mut target = Target { child, input, lines, folder: folder.to_owned(), pid: 0, said: Vec::new() };
        let line = target.line();
        target.pid = line.strip_prefix("ready ").and_then(|pid| pid.trim().parse().ok()).expect("ready PID");
        target.said.clear();
        target
    }

    /// The next line it says.
    pub(crate) fn line(&mut self) -> String {
        let line =
            self.lines.recv_timeout(LIMIT).unwrap_or_else(|error| panic!("{error}: {}", self.stderr()));
        self.said.push(line.clone());
        line
    }

    /// Waits for so many more lines.
    pub(crate) fn hear(&mut self, count: usize) {
        // What has been said already is not what it says from now on.
        self.said.extend(self.lines.try_iter());
        (0..count).for_each(|_| drop(self.line()));
    }

    /// Writes a line to its input.
    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Writes a line to its input, and answers with what it says to that.
    pub(crate) fn ask(&mut self, line: &str) -> Value {
        self.tell(line);
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Has `changes.c` do something, and waits until it has.
    pub(crate) fn change(&mut self, word: &str) {
        self.tell(word);
        assert_eq!(self.line(), format!("done {word}"));
    }

    /// What it wrote to stderr so far.
    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(self.folder.join("stderr")).unwrap_or_default()
    }

    /// Has it end, and answers with its exit status and all it said.
    pub(crate) fn finish(mut self) -> (Option<i32>, Vec<String>) {
        let code = self.end();
        (code, std::mem::take(&mut self.said))
    }

    fn end(&mut self) -> Option<i32> {
        let _ = File::create(self.folder.join("stop"));
        drop(self.input.take());
        while let Ok(line) = self.lines.recv_timeout(LIMIT) {
            self.said.push(line);
        }
        // It has ended, or it hangs.
        let _ = self.child.kill();
        self.child.wait().ok().and_then(|status| status.code())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs a program to its end, in the folder; its lines after `ready`.
pub(crate) fn run_alone(words: &[OsString], folder: &Path) -> (Option<i32>, Vec<String>) {
    let mut target = Target::start(words, folder);
    while let Ok(line) = target.lines.recv_timeout(LIMIT) {
        target.said.push(line);
    }
    target.finish()
}

/// Resident bytes of the large private anonymous mappings of processes, and how many of them are on huge pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Coverage {
    pub(crate) resident: u64,
    pub(crate) huge: u64,
}

impl Coverage {
    pub(crate) fn of(pids: &[u32]) -> Coverage {
        let regions = pids.iter().flat_map(|pid| read_smaps(&Root::live(), *pid).unwrap_or_default());
        regions.filter(is_large).fold(Coverage::default(), |sum, region| Coverage {
            resident: sum.resident + region.figures.rss.unwrap_or(0),
            huge: sum.huge + region.figures.anon_huge_pages.unwrap_or(0),
        })
    }

    pub(crate) fn share(self) -> f64 {
        self.huge as f64 / (self.resident as f64).max(1.0)
    }

    /// Whether an attach put this share of the memory on huge pages: see [`reaches`].
    #[track_caller]
    pub(crate) fn reaches(self, share: f64, report: &Value) -> Outcome {
        reaches(self.huge, (share * self.resident as f64) as u64, report)
    }
}

/// Holds an attach to an amount of memory on huge pages; skips where the kernel found no whole blocks for more.
#[track_caller]
pub(crate) fn reaches(huge_bytes: u64, least_bytes: u64, report: &Value) -> Outcome {
    if huge_bytes >= least_bytes {
        return Ok(());
    }
    let mut shortfalls = report["shortfalls"].as_array().unwrap().iter();
    let no_blocks = shortfalls.any(|shortfall| shortfall["reason"] == "no-contiguous-memory");
    assert!(no_blocks, "{huge_bytes} of {least_bytes} bytes: {report}");
    skip("the kernel finds no whole blocks of 2 MiB")
}

fn is_large(region: &Region) -> bool {
    let mapping = &region.mapping;
    let plain = mapping.backing() == Backing::Anonymous && !mapping.shared && mapping.write;
    plain && region.figures.rss.unwrap_or(0) >= LARGE_BYTES
}
