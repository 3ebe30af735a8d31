//! One program, run plainly and by `firsttouch run`, and the two compared.

use crate::requirements::huge_pages_to_be_had;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Share of the resident placed bytes that has to be on huge pages.
const SHARE_ON_HUGE_PAGES: f64 = 0.95;

/// A program with all that it can see: arguments, environment, folder, input.
pub(crate) struct Subject {
    words: Vec<OsString>,
    environment: Vec<(&'static str, String)>,
    /// Variables of the placed run only.
    placed_environment: Vec<(&'static str, String)>,
    folder: tempfile::TempDir,
    input: Option<PathBuf>,
    results: Vec<PathBuf>,
}

/// What a program left behind.
#[derive(PartialEq, Eq)]
struct Left {
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    results: Vec<Vec<u8>>,
}

impl Subject {
    /// A program, to be run in a new folder.
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Subject {
        Subject {
            words: vec![program.as_ref().to_owned()],
            environment: vec![("LC_ALL", "C".to_owned()), ("TZ", "UTC".to_owned())],
            placed_environment: Vec::new(),
            folder: tempfile::tempdir().unwrap(),
            input: None,
            results: Vec::new(),
        }
    }

    /// One more argument.
    pub(crate) fn argument(mut self, word: impl AsRef<OsStr>) -> Subject {
        self.words.push(word.as_ref().to_owned());
        self
    }

    /// More arguments.
    pub(crate) fn arguments(self, words: &[&str]) -> Subject {
        words.iter().fold(self, |subject, word| subject.argument(word))
    }

    /// A variable of its environment.
    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<String>) -> Subject {
        self.environment.push((name, value.into()));
        self
    }

    /// A variable that only the placed run has.
    pub(crate) fn placed_variable(mut self, name: &'static str, value: impl Into<String>) -> Subject {
        self.placed_environment.push((name, value.into()));
        self
    }

    /// A file in its folder.
    pub(crate) fn file(self, name: &str, content: &str) -> Subject {
        fs::write(self.folder().join(name), content).unwrap();
        self
    }

    /// A file in its folder that is its standard input.
    pub(crate) fn input(mut self, content: &str) -> Subject {
        let path = self.folder().join("standard-input");
        fs::write(&path, content).unwrap();
        self.input = Some(path);
        self
    }

    /// A file that it writes in its folder, to be compared, too. It is removed before each run.
    pub(crate) fn result(mut self, name: &str) -> Subject {
        let path = self.folder().join(name);
        self.results.push(path);
        self
    }

    /// The folder it runs in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the program plainly and placed, checks that nobody can tell the difference, and answers the receipt.
    #[track_caller]
    pub(crate) fn same_with_and_without(&self) -> Receipt {
        self.same_with(&[])
    }

    /// Likewise, with options of `firsttouch run`. Advice of ours would stand among what the program says.
    #[track_caller]
    pub(crate) fn same_with(&self, options: &[&str]) -> Receipt {
        let (plain, placed, receipt) = self.run_both(&[&["--quiet"], options].concat());
        assert_same("status", &plain.code, &placed.code, &placed);
        assert_same("stdout", &plain.stdout, &placed.stdout, &placed);
        assert_same("stderr", &plain.stderr, &placed.stderr, &placed);
        assert_same("files", &plain.results, &placed.results, &placed);
        receipt
    }

    /// Likewise for a program that is run as it is, and whose user is told why.
    #[track_caller]
    pub(crate) fn same_but_for_the_warning(&self) -> Receipt {
        self.same_but_for("runs without the placement", &[])
    }

    /// Likewise with options of `firsttouch run`, where more is said on stderr before the program says anything: `words`.
    #[track_caller]
    pub(crate) fn same_but_for(&self, words: &str, options: &[&str]) -> Receipt {
        let (plain, placed, receipt) = self.run_both(options);
        assert_same("status", &plain.code, &placed.code, &placed);
        assert_same("stdout", &plain.stdout, &placed.stdout, &placed);
        assert_same("files", &plain.results, &placed.results, &placed);
        let said = String::from_utf8_lossy(&placed.stderr).into_owned();
        assert!(said.contains(words), "{said}");
        assert!(said.as_bytes().ends_with(&plain.stderr), "{said}");
        receipt
    }

    fn run_both(&self, options: &[&str]) -> (Left, Left, Receipt) {
        let mut plain = Command::new(&self.words[0]);
        plain.args(&self.words[1..]);
        let plain = self.run(plain);

        let receipt = tempfile::NamedTempFile::new().unwrap();
        let mut placed = Command::new(env!("CARGO_BIN_EXE_firsttouch"));
        placed.arg("run").args(options).arg("--receipt").arg(receipt.path()).arg("--").args(&self.words);
        placed.envs(self.placed_environment.iter().map(|(name, value)| (name, value)));
        let placed = self.run(placed);
        let text = fs::read_to_string(receipt.path()).unwrap();
        let said = String::from_utf8_lossy(&placed.stderr);
        let receipt = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("no receipt ({error}): {text:?}\nstderr: {said}"));
        (plain, placed, Receipt(receipt))
    }

    fn run(&self, mut command: Command) -> Left {
        for result in &self.results {
            if result.exists() {
                fs::remove_file(result).unwrap();
            }
        }
        for name in ["LD_PRELOAD", "FIRSTTOUCH_AGENT", "GLIBC_TUNABLES"] {
            command.env_remove(name);
        }
        // Both runs have this variable, which says where the agent's file goes.
        command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.folder());
        match &self.input {
            Some(path) => command.stdin(File::open(path).unwrap()),
            None => command.stdin(std::process::Stdio::null()),
        };
        let Output { status, stdout, stderr } = command.output().unwrap();
        let results = self
            .results
            .iter()
            .map(|path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
            .collect();
        Left { code: status.code(), stdout, stderr, results }
    }
}

#[track_caller]
fn assert_same<T: PartialEq>(what: &str, plain: &T, placed: &T, left: &Left) {
    assert!(
        plain == placed,
        "{what} differs; with the agent: {:?}\nstdout: {}\nstderr: {}",
        left.code,
        String::from_utf8_lossy(&left.stdout),
        String::from_utf8_lossy(&left.stderr)
    );
}

/// A receipt as others read it: by the keys of the JSON document.
pub(crate) struct Receipt(pub(crate) Value);

impl Receipt {
    /// Bytes of memory by page size.
    fn bytes_by_page_size(&self) -> Vec<(u64, u64)> {
        let pages = self.0["obtained"]["bytes_by_page_size"].as_object();
        pages
            .into_iter()
            .flatten()
            .map(|(size, bytes)| (size.parse().unwrap(), bytes.as_u64().unwrap()))
            .collect()
    }

    /// Share of the memory that is on huge pages; `None` if there is no memory.
    pub(crate) fn share_on_huge_pages(&self) -> Option<f64> {
        let pages = self.bytes_by_page_size();
        let all: u64 = pages.iter().map(|(_, bytes)| bytes).sum();
        let huge: u64 = pages.iter().filter(|(size, _)| *size >= 2 << 20).map(|(_, bytes)| bytes).sum();
        (all > 0).then(|| huge as f64 / all as f64)
    }

    /// The program ended by itself, and what it obtained was read.
    #[track_caller]
    pub(crate) fn assert_complete(&self) {
        assert_eq!(self.0["schema_version"], 1, "{}", self.0);
        assert_eq!(self.0["complete"], true, "{}", self.0);
        assert!(self.0["obtained"].is_object(), "{}", self.0);
    }

    /// Likewise; at least that many bytes were placed at once, and got huge pages where the kernel has any to give.
    #[track_caller]
    pub(crate) fn assert_on_huge_pages(&self, at_least_bytes: u64) {
        self.assert_complete();
        let peak_bytes = self.0["obtained"]["peak_bytes"].as_u64().unwrap_or(0);
        assert!(peak_bytes >= at_least_bytes, "only {peak_bytes} bytes were placed: {}", self.0);
        if huge_pages_to_be_had() {
            let share = self.share_on_huge_pages().unwrap_or(0.0);
            assert!(share >= SHARE_ON_HUGE_PAGES, "{share:.3} on huge pages: {}", self.0);
        }
    }

    /// The agent stood down for that reason.
    #[track_caller]
    pub(crate) fn assert_stood_down(&self, reason: &str) {
        let reasons: Vec<_> =
            self.0["shortfalls"].as_array().unwrap().iter().map(|shortfall| &shortfall["reason"]).collect();
        assert_eq!(reasons, [reason], "{}", self.0);
        assert!(self.0["obtained"].is_null(), "{}", self.0);
    }
}

#[test]
#[should_panic(expected = "stdout differs")]
fn a_program_that_can_tell_the_difference_is_found_out() {
    Subject::new("/bin/sh").arguments(&["-c", "echo $LD_PRELOAD"]).same_with_and_without();
}
