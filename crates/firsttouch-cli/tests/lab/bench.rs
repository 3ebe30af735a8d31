//! What the tests stand on: a machine and a kernel, the test programs, and the commands that share a boot.

use crate::guest;
use crate::runner::Skip;
use firsttouch_lab::{Collected, Command, Description, Lab, Release};
use std::ffi::OsString;
use std::fmt;
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

/// What is booted. Tests that agree on it share the boot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Setting {
    machine: &'static str,
    release: Release,
    /// Plugged memory stays as it was plugged.
    left_offline: bool,
}

impl Setting {
    /// A built-in machine with the kernel that `lab` boots unless it is told otherwise.
    pub(crate) fn of(machine: &'static str) -> Setting {
        Setting { machine, release: Release::default(), left_offline: false }
    }

    pub(crate) fn on(mut self, release: Release) -> Setting {
        self.release = release;
        self
    }

    /// The newer kernel: weighted interleaving, tiers from the speed tables.
    pub(crate) fn newer(self) -> Setting {
        self.on(Release::V6_12)
    }

    /// Nobody makes plugged memory usable.
    pub(crate) fn left_offline(mut self) -> Setting {
        self.left_offline = true;
        self
    }

    pub(crate) fn release(&self) -> Release {
        self.release
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with Linux {}", self.machine, self.release())?;
        if self.left_offline { f.write_str(", plugged memory left offline") } else { Ok(()) }
    }
}

/// A lab that is ready to boot.
pub(crate) struct Bench {
    pub(crate) machine: Description,
    pub(crate) lab: Lab,
}

impl Bench {
    pub(crate) fn new(setting: &Setting) -> Result<Bench, Skip> {
        let mut machine = Description::named(setting.machine).unwrap();
        // Pages that the kernel watches for balancing are hidden from move_pages(2) in Linux 6.1, and it may move them: both
        // would be seen now and then only, in programs that happen to run for seconds.
        machine.kernel_options = format!("{} numa_balancing=disable", machine.kernel_options);
        if setting.left_offline {
            machine.nodes.iter_mut().for_each(|node| node.online = false);
        }
        let lab = guest::lab(machine.clone(), setting.release())?;
        Ok(Bench { machine, lab })
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
