//! `firsttouch setup`: machines that are written below a folder, this machine, and sessions that are killed at every change.
//!
//! What a test changes of this machine is put back on every way out (see `machine`), and meanwhile no other test changes it.
//!
//! `cargo test -p firsttouch-cli --test setup -- killed` runs the tests with this word in their name; `--list` names them all.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]
#![expect(clippy::print_stdout, reason = "a test program of its own prints its results")]

mod here;
mod killed;
mod limits;
#[path = "../shared/machine.rs"]
#[expect(dead_code, reason = "these tests need few of the surroundings that others make")]
mod machine;
#[path = "../../../../tests/runner.rs"]
mod runner;
#[path = "../../../../tests/single.rs"]
mod single;
mod survives;
mod tree;
mod written;

use runner::{Asked, Outcome};
use serde_json::Value;
use single::skip;
use std::process::{Command, ExitCode, Output};

/// A test with its name.
type Case = (&'static str, fn() -> Outcome);

fn main() -> ExitCode {
    let all = written::tests()
        .into_iter()
        .chain(limits::tests())
        .chain(killed::tests())
        .chain(here::tests())
        .chain(survives::tests());
    let tests = all.map(|(name, case)| (name.to_owned(), Box::new(case) as Box<dyn Fn() -> Outcome + Send>));
    single::run(&Asked::read(), "setup", tests, runner::processors())
}

/// The command, with none of the caller's habits.
fn firsttouch() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firsttouch"));
    command.env("COLUMNS", "200").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").arg("setup");
    command
}

/// What a command said, and what it ended with.
#[derive(Debug)]
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Said {
    fn of(command: &mut Command) -> Said {
        command.output().unwrap().into()
    }

    #[track_caller]
    fn ends(self, code: i32) -> Said {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    fn json(&self) -> Value {
        let document: Value = serde_json::from_str(&self.stdout).unwrap();
        assert_eq!((&document["kind"], &document["schema_version"]), (&"setup".into(), &1.into()));
        document
    }
}
