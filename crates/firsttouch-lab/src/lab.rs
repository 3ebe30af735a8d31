//! The lab: a machine, a kernel, and commands to run there.

use crate::boot::{Boot, Heard};
use crate::closure::{Closure, slim};
use crate::finished::{Finished, Stream};
use crate::job::{Cpuset, GuestCommand, JOB, Job, OWN};
use crate::tree::{Entry, Tree};
use crate::{Description, DeviceKind, Kernel, LabError, Qemu, cpio};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::BufWriter;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name by which a command means our own program, whatever `PATH` has.
const OWN_NAME: &str = "firsttouch";
/// Long enough for 32 processors on a slow machine.
const DEFAULT_LIMIT: Duration = Duration::from_secs(120);
/// How often a kernel that panics while it starts is booted. 6.12 does so now and then under emulation (docs/lab.md), and comes up
/// the next time.
const MOST_BOOTS: u32 = 3;
/// What a shell in the guest would miss most; what is not here is not there.
const SHELL_TOOLS: [&str; 16] = [
    "sh", "cat", "ls", "grep", "head", "tail", "ps", "find", "dd", "sleep", "kill", "mount", "dmesg",
    "numactl", "numastat", "taskset",
];
/// Folders of the guest's own.
const FOLDERS: [&str; 9] = ["/dev", "/etc", "/proc", "/root", "/run", "/sys", "/tmp", "/usr/bin", "/var/tmp"];
/// Files of this machine that are read by kernels and libraries, and mean nothing in a guest.
const NOT_FILES: [&str; 3] = ["/dev", "/proc", "/sys"];

/// A command to run in the guest.
#[derive(Clone, Debug, Default)]
pub struct Command {
    words: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    cpuset: Cpuset,
    copy_out: Vec<PathBuf>,
}

impl Command {
    /// A program of this machine and its arguments. `firsttouch` is our own program.
    ///
    /// Arguments that name files here, and programs behind `--`, are taken into the guest.
    pub fn new<S: Into<OsString>>(words: impl IntoIterator<Item = S>) -> Command {
        Command { words: words.into_iter().map(Into::into).collect(), ..Command::default() }
    }

    /// Sets a variable of its environment, which is otherwise that of a bare system.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Command {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Confines it, as a container would.
    #[must_use]
    pub fn cpuset(mut self, cpuset: Cpuset) -> Command {
        self.cpuset = cpuset;
        self
    }

    /// Hands back a file of the guest when it has ended.
    #[must_use]
    pub fn copy_out(mut self, path: impl Into<PathBuf>) -> Command {
        self.copy_out.push(path.into());
        self
    }
}

/// What a lab did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabRun {
    /// From the kernel's start to the first command, by the guest's clock.
    pub boot: Duration,
    /// How often it was booted: again where the kernel panicked before the first command.
    pub boots: u32,
    /// The commands in order.
    pub commands: Vec<Finished>,
    /// What the kernel said.
    pub console: String,
}

/// A command that ended, with all it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// How it ended.
    pub finished: Finished,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// A machine to run commands on. Every run boots it afresh.
#[derive(Clone, Debug)]
pub struct Lab {
    machine: Description,
    kernel: Kernel,
    qemu: Qemu,
    own: PathBuf,
    path: Option<OsString>,
    library_path: Option<OsString>,
    folder: PathBuf,
    copy_in: Vec<PathBuf>,
    limit: Duration,
    shell: bool,
}

impl Lab {
    /// A lab. `own` is the file of the firsttouch command, which is the guest's first process.
    pub fn new(machine: Description, kernel: Kernel, qemu: Qemu, own: impl Into<PathBuf>) -> Lab {
        Lab {
            machine,
            kernel,
            qemu,
            own: own.into(),
            path: None,
            library_path: None,
            folder: PathBuf::from("/root"),
            copy_in: Vec::new(),
            limit: DEFAULT_LIMIT,
            shell: false,
        }
    }

    /// Looks programs up in `path`, a value of `PATH`, here and there.
    #[must_use]
    pub fn path(mut self, path: impl Into<OsString>) -> Lab {
        self.path = Some(path.into());
        self
    }

    /// Looks libraries up in `path`, a value of `LD_LIBRARY_PATH`, here and there.
    #[must_use]
    pub fn library_path(mut self, path: impl Into<OsString>) -> Lab {
        self.library_path = Some(path.into());
        self
    }

    /// Runs the commands in this folder, which is made if it is not there. Absolute.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Lab {
        self.folder = folder.into();
        self
    }

    /// Takes a file, or a folder with all below it, into the guest, to the same path.
    #[must_use]
    pub fn copy_in(mut self, path: impl Into<PathBuf>) -> Lab {
        self.copy_in.push(path.into());
        self
    }

    /// Gives the guest this long.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Lab {
        self.limit = limit;
        self
    }

    /// Opens a shell on this terminal when the commands have ended.
    #[must_use]
    pub fn shell(mut self, shell: bool) -> Lab {
        self.shell = shell;
        self
    }

    /// Boots, runs the commands one after the other, and switches off. A kernel that panics before the first of them is
    /// booted again, twice at most: it has changed nothing, so this cannot be told from a first boot. `watch` gets what they write while they write
    /// it, with the index of the command.
    pub fn run(
        &self,
        commands: &[Command],
        watch: &mut dyn FnMut(usize, Stream, &[u8]),
    ) -> Result<LabRun, LabError> {
        let scratch = tempfile::tempdir().map_err(LabError::io("cannot make a folder for the guest"))?;
        let file_system = scratch.path().join("file-system");
        self.write(commands, &file_system)?;
        let mut arguments = self.qemu.machine_arguments(&self.machine);
        arguments.extend(self.qemu.kernel_arguments(&self.kernel.image, &file_system, &self.kernel_words()));
        let mut boots = 0;
        loop {
            boots += 1;
            let folder = scratch.path().join(boots.to_string());
            fs::create_dir(&folder).map_err(LabError::io("cannot make a folder for the guest"))?;
            let boot = Boot {
                program: &self.qemu.program,
                own: &self.own,
                arguments: arguments.clone(),
                folder: &folder,
                file_system: &file_system,
                limit: self.limit,
                shell: self.shell,
            };
            match boot.run(watch) {
                Ok(heard) => {
                    let Heard { boot, finished, console } = heard;
                    return Ok(LabRun { boot, boots, commands: finished, console });
                }
                Err(LabError::Panicked { .. }) if boots < MOST_BOOTS => {}
                Err(LabError::Panicked { console, .. }) => return Err(LabError::Panicked { boots, console }),
                Err(error) => return Err(error),
            }
        }
    }

    /// [`Lab::run`], with the output of each command kept.
    pub fn collect(&self, commands: &[Command]) -> Result<Vec<Collected>, LabError> {
        let mut written = vec![(Vec::new(), Vec::new()); commands.len()];
        let outcome = self.run(commands, &mut |index, stream, bytes| {
            // The guest runs what it was given, so there is a place for every index.
            if let Some((stdout, stderr)) = written.get_mut(index) {
                let to = if stream == Stream::Stdout { stdout } else { stderr };
                to.extend_from_slice(bytes);
            }
        })?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let pairs = outcome.commands.into_iter().zip(written);
        Ok(pairs
            .map(|(finished, (stdout, stderr))| Collected {
                finished,
                stdout: text(stdout),
                stderr: text(stderr),
            })
            .collect())
    }

    fn kernel_words(&self) -> String {
        // A panic ends the emulator, which must not start the guest again. So does a CPU that runs in the kernel for a minute
        // without a break: it would to the end of time. Warnings are shown, because where it runs is told by one.
        let mut words = "console=ttyS0 loglevel=5 panic=-1 softlockup_panic=1 watchdog_thresh=30 \
                         random.trust_cpu=on cryptomgr.notests"
            .to_owned();
        if self.machine.nodes.iter().any(|node| node.plugged.0 > 0 && !node.online) {
            words += " memhp_default_state=offline";
        }
        format!("{words} {} rdinit={OWN} -- guest-init", self.machine.kernel_options)
    }

    fn write(&self, commands: &[Command], file: &Path) -> Result<(), LabError> {
        let tree = self.tree(commands)?;
        let failed = || LabError::io(format!("cannot write the guest's files to {}", file.display()));
        let output = File::create(file).map_err(failed())?;
        cpio::write(&tree, BufWriter::new(output)).map_err(failed())
    }

    fn tree(&self, commands: &[Command]) -> Result<Tree, LabError> {
        let (mut tree, mut closure) = (Tree::default(), Closure::new(self.library_path.as_deref()));
        FOLDERS.iter().for_each(|folder| tree.folder(folder));
        // The first process has no streams without it, and a Rust program without streams does not start.
        tree.put("/dev/console", Entry::Device { major: 5, minor: 1 });
        tree.put("/dev/null", Entry::Device { major: 1, minor: 3 });
        let made = |text: &str| Entry::Made { contents: text.as_bytes().to_vec(), mode: 0o644 };
        tree.put("/etc/passwd", made("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"));
        tree.put("/etc/group", made("root:x:0:\nnogroup:x:65534:\n"));
        tree.put(OWN, Entry::Made { contents: slim(&self.own)?, mode: 0o755 });
        closure.needs(&self.own, &mut tree)?;
        let cache = Path::new("/etc/ld.so.cache");
        if cache.is_file() {
            tree.copy(cache)?;
        }
        if self.folder.is_dir() {
            tree.copy(&self.folder)?;
        } else {
            tree.folder(&self.folder);
        }
        for path in &self.copy_in {
            closure.all_below(&self.folder.join(path), &mut tree)?;
        }
        if self.shell {
            for tool in SHELL_TOOLS {
                // What this machine lacks, the guest lacks.
                let _ = closure.program(OsStr::new(tool), self.path.as_deref(), &mut tree);
            }
        }
        let modules = self.modules(&mut tree)?;
        let commands = commands.iter().map(|command| self.command(command, &mut closure, &mut tree));
        let job = Job {
            commands: commands.collect::<Result<_, _>>()?,
            modules,
            online: self.plugged_nodes(),
            thp: self.machine.thp.clone(),
            shell: self.shell,
        };
        let contents = serde_json::to_vec(&job).map_err(std::io::Error::from);
        let contents = contents.map_err(LabError::io("cannot write the job"))?;
        tree.put(JOB, Entry::Made { contents, mode: 0o600 });
        Ok(tree)
    }

    /// The drivers that the machine's devices need.
    fn modules(&self, tree: &mut Tree) -> Result<Vec<PathBuf>, LabError> {
        let wanted = self.machine.devices.iter().any(|device| device.kind == DeviceKind::Net);
        let Some(driver) = self.kernel.network_driver.as_ref().filter(|_| wanted) else {
            return Ok(Vec::new());
        };
        tree.copy(driver)?;
        Ok(vec![driver.clone()])
    }

    fn plugged_nodes(&self) -> Vec<u32> {
        let nodes = self.machine.nodes.iter().filter(|node| node.plugged.0 > 0 && node.online);
        nodes.map(|node| node.id).collect()
    }

    fn command(
        &self,
        command: &Command,
        closure: &mut Closure,
        tree: &mut Tree,
    ) -> Result<GuestCommand, LabError> {
        let mut program = PathBuf::from(OWN);
        let mut named_program = true;
        for (index, word) in command.words.iter().enumerate() {
            // An argument without a folder may name a file, too; a program is looked up in PATH.
            let is_named = index > 0 && !named_program && self.folder.join(word).is_file();
            let is_path = is_named || word.as_bytes().contains(&b'/');
            if word == OWN_NAME && named_program {
                // Ours is there already.
            } else if index == 0 {
                program = closure.program(&self.here(word), self.path.as_deref(), tree)?;
            } else if named_program || is_path {
                let here = if is_named { self.folder.join(word).into_os_string() } else { self.here(word) };
                let is_file = !is_path || Path::new(&here).is_file();
                let special = NOT_FILES.iter().any(|folder| Path::new(&here).starts_with(folder));
                if is_file
                    && !special
                    && closure.program(&here, self.path.as_deref(), tree).is_err()
                    && is_path
                {
                    closure.file(Path::new(&here), tree)?;
                }
            }
            named_program = word == "--";
        }
        let path = self.path.clone().unwrap_or_else(|| "/usr/sbin:/usr/bin:/sbin:/bin".into());
        let mut environment: Vec<(OsString, OsString)> =
            vec![("PATH".into(), path), ("HOME".into(), "/root".into()), ("LANG".into(), "C.UTF-8".into())];
        environment.extend(self.library_path.clone().map(|path| ("LD_LIBRARY_PATH".into(), path)));
        environment.extend(command.environment.iter().cloned());
        Ok(GuestCommand {
            program,
            words: command.words.clone(),
            folder: self.folder.clone(),
            environment,
            cpuset: command.cpuset.clone(),
            copy_out: command.copy_out.clone(),
        })
    }

    /// A word that is a path, seen from the folder of the commands; any other word as it is.
    fn here(&self, word: &OsStr) -> OsString {
        if word.as_bytes().contains(&b'/') {
            self.folder.join(word).into_os_string()
        } else {
            word.to_owned()
        }
    }
}
