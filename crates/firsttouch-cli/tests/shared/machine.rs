//! Settings of the whole machine that tests change, and put back on every way out.

#[path = "group.rs"]
mod group;

use crate::{Outcome, skip};
pub(crate) use group::ControlGroup;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const THP: &str = "/sys/kernel/mm/transparent_hugepage";
const POOL_2M: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

/// The one lock of everything machine-wide, among all test programs of all users: a lock on the folder of the settings
/// themselves. Held alone by who changes a setting, shared by who relies on them.
#[derive(Debug)]
pub(crate) struct MachineLock {
    _folder: Option<File>,
}

impl MachineLock {
    pub(crate) fn shared() -> MachineLock {
        MachineLock::take(File::lock_shared)
    }

    pub(crate) fn alone() -> MachineLock {
        MachineLock::take(File::lock)
    }

    /// Where there is no such folder there are no such settings.
    fn take(lock: fn(&File) -> io::Result<()>) -> MachineLock {
        let folder = File::open("/sys/kernel/mm").ok();
        folder.iter().for_each(|folder| lock(folder).unwrap());
        MachineLock { _folder: folder }
    }
}

/// A setting that was changed. A process of its own waits for the end of this value, or of this whole program, and
/// puts back what was there before.
#[derive(Debug)]
pub(crate) struct Setting {
    restorer: Child,
}

impl Setting {
    pub(crate) fn change(path: &Path, value: &str) -> Outcome<Option<Setting>> {
        let shown = path.display();
        let Ok(text) = fs::read_to_string(path) else { return skip(format!("this machine has no {shown}")) };
        if selected(&text) == value {
            return Ok(None);
        }
        let setting = Setting::keep(path, &text);
        match fs::write(path, value) {
            Ok(()) => Ok(Some(setting)),
            Err(error) => skip(format!("cannot write {shown}: {error}")),
        }
    }

    /// A setting that somebody else is about to change, with its text.
    pub(crate) fn keep(path: &Path, text: &str) -> Setting {
        let restorer = Command::new("sh")
            .args(["-c", "cat; printf %s \"$2\" > \"$1\"", "sh"])
            .arg(path)
            .arg(selected(text))
            .stdin(Stdio::piped())
            // The terminal's Ctrl-C is not for it.
            .process_group(0)
            .spawn()
            .unwrap();
        Setting { restorer }
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        drop(self.restorer.stdin.take());
        let _ = self.restorer.wait();
    }
}

/// The word in brackets of `always [madvise] never`, or the whole.
fn selected(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text.trim(), |(word, _)| word)
}

/// What a test asked for; everything is as before when this value goes. The lock goes last.
#[derive(Debug)]
pub(crate) struct Surroundings {
    _settings: Vec<Setting>,
    pub(crate) group: Option<ControlGroup>,
    _lock: MachineLock,
}

impl Surroundings {
    /// Makes what the words of `//# requires:` lines name, and checks what cannot be made (see [`check`]), or says why it cannot.
    pub(crate) fn make(requirements: &[String]) -> Outcome<Surroundings> {
        let changes = |word: &String| {
            ["pool2m=", "thp=", "mthp", "shmem=", "cgroup", "overcommit="]
                .iter()
                .any(|start| word.starts_with(start))
        };
        let lock =
            if requirements.iter().any(changes) { MachineLock::alone() } else { MachineLock::shared() };
        let mut made = Surroundings { _settings: Vec::new(), group: None, _lock: lock };
        for requirement in requirements {
            made.add(requirement)?;
        }
        Ok(made)
    }

    fn add(&mut self, requirement: &str) -> Outcome {
        match requirement.split_once('=').unwrap_or((requirement, "")) {
            ("thp", mode) if !mode.is_empty() => {
                self._settings.extend(Setting::change(&Path::new(THP).join("enabled"), mode)?);
            }
            ("mthp64k", mode) => {
                self._settings.extend(Setting::change(&Path::new(THP).join("hugepages-64kB/enabled"), mode)?);
            }
            ("shmem", mode) => {
                self._settings.extend(Setting::change(&Path::new(THP).join("shmem_enabled"), mode)?);
            }
            ("pool2m", free) => {
                let wanted: u64 = free.parse().unwrap();
                self._settings.extend(pool_2m(wanted)?);
            }
            ("overcommit", mode) => {
                let path = Path::new("/proc/sys/vm/overcommit_memory");
                if fs::read_to_string(path).is_ok_and(|is| is.trim() != mode) {
                    // It would be a matter of all programs of a machine that people use.
                    check("guest")?;
                    self._settings.extend(Setting::change(path, mode)?);
                }
            }
            ("cgroup", bytes) => {
                self.group = Some(memory_group(bytes)?);
            }
            ("cgroup2m", bytes) => {
                let files = ["hugetlb.2MB.limit_in_bytes", "hugetlb.2MB.max"];
                self.group = Some(group("hugetlb", files, bytes)?);
            }
            ("command", name) => {
                let found = Command::new("sh").args(["-c", "command -v \"$0\"", name]).output();
                if !found.is_ok_and(|output| output.status.success()) {
                    return skip(format!("there is no command `{name}`"));
                }
            }
            _ => return check(requirement),
        }
        Ok(())
    }
}

/// A control group that may have so much memory.
pub(crate) fn memory_group(bytes: &str) -> Outcome<ControlGroup> {
    group("memory", ["memory.limit_in_bytes", "memory.max"], bytes)
}

/// A control group with a limit of this controller, whose files in version 1 and 2 these are.
pub(crate) fn group(controller: &str, files: [&str; 2], bytes: &str) -> Outcome<ControlGroup> {
    let bytes = firsttouch_placement::parse_size(bytes).unwrap();
    ControlGroup::with(controller, files, &bytes.to_string()).or_else(skip)
}

/// Whether this is a guest of the lab.
pub(crate) fn in_guest() -> bool {
    Path::new("/run/firsttouch-lab").exists()
}

/// Whether it is as a condition says that nobody can change: `thp` (transparent huge pages are to be had, for the asking
/// at least), `native` (processors are not emulated), `guest` (a machine of the lab), `root`, `linux>=6.7` or `linux<6.7`.
pub(crate) fn check(condition: &str) -> Outcome {
    if condition == "native" {
        return if in_guest() { skip("processors are emulated") } else { Ok(()) };
    }
    if condition == "guest" {
        return if in_guest() { Ok(()) } else { skip("this is no machine of the lab") };
    }
    if condition == "root" {
        return if is_root() { Ok(()) } else { skip("only root can do this") };
    }
    if condition == "thp" {
        return match thp_mode() {
            Some(mode) if mode != "never" => Ok(()),
            _ => skip("this machine gives no transparent huge pages"),
        };
    }
    let release = kernel_release();
    let is_older = |than: &str| version(&release) < version(than);
    match (condition.strip_prefix("linux>="), condition.strip_prefix("linux<")) {
        (Some(least), _) if is_older(least) => skip(format!("Linux {release} is older than {least}")),
        (_, Some(first)) if !is_older(first) => skip(format!("Linux {release} is as new as {first}")),
        (None, None) => panic!("unknown requirement {condition}"),
        _ => Ok(()),
    }
}

/// `always`, `madvise` or `never`.
pub(crate) fn thp_mode() -> Option<String> {
    Some(selected(&fs::read_to_string(format!("{THP}/enabled")).ok()?).to_owned())
}

pub(crate) fn kernel_release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim().to_owned()
}

/// The first two numbers.
fn version(release: &str) -> Vec<u32> {
    let numbers = release.split(|end: char| !end.is_ascii_digit()).take(2);
    numbers.map(|number| number.parse().unwrap()).collect()
}

pub(crate) fn is_root() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        status
            .lines()
            .any(|line| line.strip_prefix("Uid:").and_then(|ids| ids.split_whitespace().nth(1)) == Some("0"))
    })
}

/// Sees to it that exactly so many pages are free.
fn pool_2m(wanted: u64) -> Outcome<Option<Setting>> {
    let read = |name: &str| fs::read_to_string(format!("{POOL_2M}/{name}")).ok()?.trim().parse::<u64>().ok();
    let (Some(all), Some(free)) = (read("nr_hugepages"), read("free_hugepages")) else {
        return skip("this machine has no pool of 2 MiB pages");
    };
    let pool = Path::new(POOL_2M).join("nr_hugepages");
    let setting = Setting::change(&pool, &(all - free + wanted).to_string())?;
    match read("free_hugepages") {
        Some(now) if now == wanted => Ok(setting),
        now => skip(format!("{wanted} free pages of 2 MiB were wanted, there are {now:?}")),
    }
}
