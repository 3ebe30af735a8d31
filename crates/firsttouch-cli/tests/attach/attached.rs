//! `firsttouch attach` as its users run it, and what it says.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A command that keeps its journals in a place of this test's own.
pub(crate) fn command(state: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firsttouch"));
    command.arg("attach").env("XDG_STATE_HOME", state).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    for name in ["LD_PRELOAD", "FIRSTTOUCH_AGENT", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

/// How an attach ended.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
    stdout: String,
}

impl Attached {
    pub(crate) fn of(output: &Output) -> Attached {
        Attached {
            code: output.status.code(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        }
    }

    /// The report of `--json`.
    #[track_caller]
    pub(crate) fn report(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no report ({error}): {self:?}"))
    }

    /// The report of an attach that came to its end.
    #[track_caller]
    pub(crate) fn done(&self, pid: u32) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        let report = self.report();
        assert_eq!((&report["schema_version"], &report["pid"]), (&1.into(), &pid.into()), "{report}");
        assert_eq!(report["ended"], "done", "{report}");
        report
    }
}

/// Attaches to a process with options, to the end.
pub(crate) fn attach(state: &Path, pid: u32, options: &[&str]) -> Attached {
    let pid = pid.to_string();
    Attached::of(&command(state).arg(pid).args(options).arg("--json").output().unwrap())
}

/// The files of the journals there are.
pub(crate) fn journals(state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state.join("firsttouch/attach")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Nobody else may read which addresses a process has.
pub(crate) fn assert_private(journal: &Path) {
    assert_eq!(fs::metadata(journal).unwrap().permissions().mode() & 0o777, 0o600, "{}", journal.display());
}

/// Bytes on pages of 2 MiB, by a receipt of the report.
pub(crate) fn huge_bytes(receipt: &Value) -> u64 {
    receipt["obtained"]["bytes_by_page_size"]["2097152"].as_u64().unwrap_or(0)
}
