//! What the tests stand on: the test programs, and the commands that share a boot (`guest`).

pub(crate) use crate::setting::Setting;
use firsttouch_lab::{Collected, Command, Description};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

/// Looks at what the commands wrote, on the machine they ran on.
type Check = Box<dyn Fn(&Description, &[Collected])>;

/// A test that fails panics.
pub(crate) struct Test {
    pub(crate) name: String,
    pub(crate) setting: Setting,
    pub(crate) commands: Vec<Command>,
    pub(crate) check: Check,
}

impl Test {
    pub(crate) fn new(
        name: impl Into<String>,
        setting: Setting,
        commands: Vec<Command>,
        check: impl Fn(&Description, &[Collected]) + 'static,
    ) -> Test {
        Test { name: name.into(), setting, commands, check: Box::new(check) }
    }
}

/// A command of words.
pub(crate) fn command(words: &[&str]) -> Command {
    Command::new(words.iter().map(OsString::from))
}

/// A command of the shell's.
pub(crate) fn shell(line: &str) -> Command {
    command(&["sh", "-c", line])
}

/// A test program with arguments, separated by spaces.
pub(crate) fn program(name: &str, arguments: &str) -> Command {
    Command::new(words_of(name, arguments))
}

/// The same under `firsttouch run` with options, separated by spaces; its receipt is [`RECEIPT`].
pub(crate) fn placed(options: &str, name: &str, arguments: &str) -> Command {
    let ours = ["firsttouch", "run", "--receipt", RECEIPT].into_iter().chain(options.split_whitespace());
    let ours = ours.chain(["--"]).map(OsString::from);
    Command::new(ours.chain(words_of(name, arguments))).copy_out(RECEIPT)
}

/// The file of a placed program's receipt.
pub(crate) const RECEIPT: &str = "receipt.json";

/// The words of a test program, or of `firsttouch` itself.
pub(crate) fn words_of(name: &str, arguments: &str) -> Vec<OsString> {
    let file = if name == "firsttouch" { name.into() } else { compiled(name).into_os_string() };
    [file].into_iter().chain(arguments.split_whitespace().map(OsString::from)).collect()
}

/// A folder for the test programs of this run.
pub(crate) fn workshop() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lab-{}", process::id()))
}

/// Compiles `c/NAME.c` once for each run of the tests; of these, or of those for `attach`.
pub(crate) fn compiled(name: &str) -> PathBuf {
    let folder = workshop();
    let file = folder.join(name);
    if file.exists() {
        return file;
    }
    fs::create_dir_all(&folder).unwrap();
    let sources = ["lab", "attach"].map(|tests| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(tests).join("c").join(format!("{name}.c"))
    });
    let source = sources.iter().find(|source| source.exists()).expect("a source");
    let output = process::Command::new("cc")
        .args(["-O1", "-Wall", "-Wno-unused-function", "-pthread", "-o"])
        .args([&file, source])
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    file
}
