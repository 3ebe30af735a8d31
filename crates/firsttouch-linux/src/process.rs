//! One process as procfs shows it: `status`, `stat`, its threads; its family and what the scheduler did with it.

mod family;
mod scheduler;

pub use family::{all, ancestors, children, descendants};
pub use scheduler::{Scheduled, migrations, parse_migrations};

use crate::cpulist::parse_list;
use crate::maps::{kilobytes, process_file, read_text, unreadable};
use crate::root::Root;
use crate::sys;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Fields of `/proc/PID/status`; `None` is a field this kernel (or this state of the process) does not print.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Name of the command, cut to 15 bytes by the kernel.
    pub name: Option<String>,
    /// Largest address space so far, in bytes.
    pub vm_peak_bytes: Option<u64>,
    /// Largest resident set so far, in bytes; hugetlb pages not included.
    pub vm_hwm_bytes: Option<u64>,
    /// Resident set now, in bytes; hugetlb pages not included.
    pub vm_rss_bytes: Option<u64>,
    /// Of the resident set, anonymous memory, in bytes (Linux 4.5).
    pub rss_anon_bytes: Option<u64>,
    /// Of the resident set, pages of files, in bytes (Linux 4.5).
    pub rss_file_bytes: Option<u64>,
    /// Of the resident set, shared memory, in bytes (Linux 4.5).
    pub rss_shmem_bytes: Option<u64>,
    /// Swapped out, in bytes; shared memory not included.
    pub swap_bytes: Option<u64>,
    /// Pages that a device or io_uring has for as long as the program lets it, in bytes.
    pub pinned_bytes: Option<u64>,
    /// Hugetlb pages now, in bytes.
    pub hugetlb_bytes: Option<u64>,
    /// Number of threads.
    pub threads: Option<u32>,
    /// Transparent huge pages are not forbidden by `PR_SET_THP_DISABLE`.
    pub thp_enabled: Option<bool>,
    /// The process that a thread belongs to; of a process its own number.
    pub process: Option<u32>,
    /// The number that it has in its own namespace of processes, as it knows itself (Linux 4.1).
    pub own_number: Option<u32>,
    /// The user that it acts as.
    pub effective_user: Option<u32>,
    /// Who traces it (a debugger, strace); 0 is nobody.
    pub tracer: Option<u32>,
    /// The CPUs that it may run on; of a process those of its first thread.
    pub allowed_cpus: Option<Vec<u32>>,
    /// The nodes that its cpuset lets it have memory of.
    pub allowed_nodes: Option<Vec<u32>>,
    /// `R` running, `S` sleeping, `T` stopped, `t` stopped by its tracer, `Z` ended and not collected…
    pub state: Option<char>,
    /// SIGKILL waits for it; of a process for its first thread. The kernel sends it to every other thread of a process that ends.
    pub killed: Option<bool>,
}

impl Status {
    /// Reads the text of a `status` file. Lines it does not know are passed over.
    pub fn parse(text: &str) -> Status {
        let mut status = Status::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match key {
                "Name" => status.name = Some(value.to_owned()),
                "VmPeak" => status.vm_peak_bytes = kilobytes(value),
                "VmHWM" => status.vm_hwm_bytes = kilobytes(value),
                "VmRSS" => status.vm_rss_bytes = kilobytes(value),
                "VmPin" => status.pinned_bytes = kilobytes(value),
                "RssAnon" => status.rss_anon_bytes = kilobytes(value),
                "RssFile" => status.rss_file_bytes = kilobytes(value),
                "RssShmem" => status.rss_shmem_bytes = kilobytes(value),
                "VmSwap" => status.swap_bytes = kilobytes(value),
                "HugetlbPages" => status.hugetlb_bytes = kilobytes(value),
                "Threads" => status.threads = value.parse().ok(),
                "Tgid" => status.process = value.parse().ok(),
                "Uid" => status.effective_user = value.split('\t').nth(1).and_then(|id| id.parse().ok()),
                "NSpid" => {
                    status.own_number =
                        value.split_ascii_whitespace().next_back().and_then(|own| own.parse().ok())
                }
                "TracerPid" => status.tracer = value.parse().ok(),
                "Cpus_allowed_list" => status.allowed_cpus = parse_list(value),
                "Mems_allowed_list" => status.allowed_nodes = parse_list(value),
                "State" => status.state = value.chars().next(),
                "SigPnd" => {
                    status.killed = u64::from_str_radix(value, 16).ok().map(|set| set & SIGKILL_BIT != 0);
                }
                "THP_enabled" => status.thp_enabled = value.parse::<u8>().ok().map(|word| word != 0),
                _ => {}
            }
        }
        status
    }

    /// The status of a process. Read below `root`.
    pub fn read(root: &Root, pid: u32) -> io::Result<Status> {
        Ok(Status::parse(&read_text(&process_file(root, pid, "status"))?))
    }

    /// Resident memory of every kind, in bytes; `None` for a process without memory (a zombie, a kernel thread).
    pub fn resident_bytes(&self) -> Option<u64> {
        Some(self.vm_rss_bytes?.saturating_add(self.hugetlb_bytes.unwrap_or(0)))
    }
}

/// Fields of `/proc/PID/stat`, or of one thread's `/proc/PID/task/TID/stat`.
///
/// Of a process the counts are those of all its threads, the ended ones too; of a thread its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// The process.
    pub pid: u32,
    /// Name of the command, cut to 15 bytes by the kernel.
    pub command: String,
    /// `R` running, `S` sleeping, `D` uninterruptible, `T` stopped, `Z` zombie…
    pub state: char,
    /// The parent process.
    pub parent: u32,
    /// The process group.
    pub group: i32,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Time in user mode, in clock ticks.
    pub user_ticks: u64,
    /// Time in the kernel, in clock ticks.
    pub system_ticks: u64,
    /// Number of threads of the process, the first one included although it has ended.
    pub threads: u64,
    /// When it started, in clock ticks after boot: together with the number, the identity of a process.
    pub start_ticks: u64,
    /// It is a thread of the kernel itself, without memory of its own.
    pub kernel_thread: bool,
    /// It is giving back what it has, or has done so: it ends.
    pub ending: bool,
    /// Where its code begins and where its stack began, which an `exec` changes; 0 for readers that may not look into
    /// the process, `None` where the line ends early.
    pub image: Option<(u64, u64)>,
    /// The CPU it ran on last; of a process that of its first thread.
    pub processor: Option<u32>,
}

/// Clock ticks in a second, as procfs counts them (`USER_HZ`): 100 on every architecture we are built for.
pub const TICKS_PER_S: u64 = 100;

/// The time after boot, in the clock ticks in which processes tell when they started (`CLOCK_BOOTTIME`).
pub fn ticks_after_boot() -> u64 {
    const NS_PER_TICK: u64 = 1_000_000_000 / TICKS_PER_S;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the live struct; with this clock the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    let [seconds, nanoseconds] = [time.tv_sec, time.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
    seconds * TICKS_PER_S + nanoseconds / NS_PER_TICK
}

impl Stat {
    /// Reads the text of a `stat` file; `None` if it is something else.
    ///
    /// ```
    /// use firsttouch_linux::process::Stat;
    /// let text = "7 (a) (b c) S 1 7 7 0 -1 0 10 0 2 0 5 6 0 0 20 0 1 0 99 0 0";
    /// let stat = Stat::parse(text).unwrap();
    /// assert_eq!((stat.command.as_str(), stat.state, stat.start_ticks), ("a) (b c", 'S', 99));
    /// ```
    pub fn parse(text: &str) -> Option<Stat> {
        // The command may hold blanks and brackets: the last closing one ends it.
        let (head, tail) = text.rsplit_once(')')?;
        let (pid, command) = head.split_once('(')?;
        let words: Vec<&str> = tail.split_ascii_whitespace().collect();
        let number = |index: usize| words.get(index)?.parse::<u64>().ok();
        Some(Stat {
            pid: pid.trim().parse().ok()?,
            command: command.to_owned(),
            state: words.first()?.chars().next()?,
            parent: words.get(1)?.parse().ok()?,
            group: words.get(2)?.parse().ok()?,
            minor_faults: number(7)?,
            major_faults: number(9)?,
            user_ticks: number(11)?,
            system_ticks: number(12)?,
            threads: number(17)?,
            start_ticks: number(19)?,
            kernel_thread: number(6)? & PF_KTHREAD != 0,
            ending: number(6)? & PF_EXITING != 0,
            image: number(23).zip(number(25)),
            processor: number(36).and_then(|number| number.try_into().ok()),
        })
    }

    /// Time in user mode and in the kernel, in clock ticks.
    pub fn ticks(&self) -> u64 {
        self.user_ticks.saturating_add(self.system_ticks)
    }

    /// The stat line of a process.
    pub fn read(root: &Root, pid: u32) -> io::Result<Stat> {
        Stat::of_file(&process_file(root, pid, "stat"))
    }

    /// The stat line of one thread; not found where it is no thread (any more) of this process.
    pub fn read_thread(root: &Root, pid: u32, thread: u32) -> io::Result<Stat> {
        Stat::of_file(&process_file(root, pid, &format!("task/{thread}/stat")))
    }

    fn of_file(path: &Path) -> io::Result<Stat> {
        Stat::parse(&read_text(path)?).ok_or_else(|| unreadable(path))
    }
}

/// A thread of the kernel (`include/linux/sched.h`).
const PF_KTHREAD: u64 = 0x0020_0000;
/// A thread that ends (the same file).
const PF_EXITING: u64 = 0x4;
/// The place of SIGKILL in a set of signals.
const SIGKILL_BIT: u64 = 1 << (libc::SIGKILL - 1);

/// A thread of a process that has not ended: the first one, whose number is that of the process, or where that has ended while others go
/// on (`pthread_exit` in `main`) one of these. `first` was read of the process; `None` if all have ended.
///
/// Such a process looks like a zombie: under its own number /proc shows none of its memory, files and words, and under that of any thread
/// that lives all of them, as move_pages(2) and kcmp(2) do. pidfd_open(2) takes the number of the process only, so that
/// process_madvise(2), which looks for the memory by the first thread, does not reach it.
pub fn living_thread(root: &Root, pid: u32, first: Stat) -> Option<(u32, Stat)> {
    let lives = |stat: &Stat| !matches!(stat.state, 'Z' | 'X') && !stat.ending;
    if lives(&first) {
        return Some((pid, first));
    }
    // One that ended while the list was read may have started another one before, which the list lacks: all have ended only where the
    // process has no more threads than the list (1: the first one). Those that end start no others.
    loop {
        let mut others = threads(root, pid).ok()?;
        others.retain(|thread| *thread != pid);
        let living = |thread: u32| Some((thread, Stat::read_thread(root, pid, thread).ok().filter(lives)?));
        if let Some(found) = others.iter().find_map(|thread| living(*thread)) {
            return Some(found);
        }
        let count = Stat::read(root, pid).ok()?.threads;
        others.retain(|thread| Stat::read_thread(root, pid, *thread).is_ok());
        if count <= 1 + others.len() as u64 {
            return None;
        }
    }
}

/// The [`living_thread`] of a process and its status, which tells of the memory; `first` was read of the process. `None` if all have ended.
pub fn living_status(root: &Root, pid: u32, mut first: Stat) -> Option<(u32, Stat, Status)> {
    /// A thread that ends between two readings is another one's turn; not for ever, where nothing shows memory.
    const MOST_LOOKS: u32 = 100;
    for _ in 1..MOST_LOOKS {
        let (thread, stat) = living_thread(root, pid, first)?;
        match Status::read(root, thread) {
            Ok(status) if status.vm_rss_bytes.is_some() || stat.kernel_thread => {
                return Some((thread, stat, status));
            }
            _ => first = Stat::read(root, pid).ok()?,
        }
    }
    None
}

/// The number under which /proc shows what a process has: that of its [`living_thread`], its own if there is none.
pub fn shown_under(root: &Root, pid: u32) -> u32 {
    let living = Stat::read(root, pid).ok().and_then(|first| living_thread(root, pid, first));
    living.map_or(pid, |(thread, _)| thread)
}

/// The program and its arguments as the process was started with them, or has written over them since; its name alone
/// where it has none (a zombie, a thread of the kernel).
pub fn command_line(root: &Root, pid: u32) -> io::Result<Vec<String>> {
    let text = read_text(&process_file(root, shown_under(root, pid), "cmdline"))?;
    let words: Vec<String> =
        text.trim_end_matches('\0').split('\0').map(str::to_owned).filter(|_| !text.is_empty()).collect();
    if words.is_empty() { Ok(vec![Stat::read(root, pid)?.command]) } else { Ok(words) }
}

/// The threads of a process, ascending by number.
pub fn threads(root: &Root, pid: u32) -> io::Result<Vec<u32>> {
    let entries = std::fs::read_dir(process_file(root, pid, "task"))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut threads: Vec<u32> = names.collect();
    threads.sort_unstable();
    Ok(threads)
}

/// Whether two processes run in one memory, as a child of `vfork` does in its parent's until it becomes a program of its own (kcmp(2)).
/// Where that may not be asked, or not of a recorded machine, they are taken for two.
pub fn have_one_memory(root: &Root, one: u32, other: u32) -> bool {
    /// `KCMP_VM` of linux/kcmp.h.
    const MEMORY: usize = 1;
    let arguments = [one as usize, other as usize, MEMORY, 0, 0, 0];
    // SAFETY: the call compares, and touches nothing of ours.
    root.is_live() && unsafe { sys::call(libc::SYS_kcmp, arguments) } == Ok(0)
}

/// Turns the error of a process that is gone into `None`.
pub fn unless_ended<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a process began its program with such an entry (`NAME=VALUE`) in its environment (`/proc/PID/environ`), whatever it has made
/// of that since; no where that may not be read, and `None` where there is nothing to read: it has ended, has an empty one, or is just
/// becoming another program.
pub fn has_variable(root: &Root, pid: u32, is_it: impl Fn(&[u8]) -> bool) -> Option<bool> {
    let of = |number| match unless_ended(std::fs::read(process_file(root, number, "environ"))) {
        Ok(None) => None,
        Ok(Some(environment)) if environment.is_empty() => None,
        Ok(Some(environment)) => Some(environment.split(|byte| *byte == 0).any(&is_it)),
        Err(_) => Some(false),
    };
    // Most have ended whose own number shows none.
    of(pid).or_else(|| Some(shown_under(root, pid)).filter(|number| *number != pid).and_then(of))
}

/// Whether /proc numbers processes as the kernel does for us: one that was mounted in another PID namespace has other processes under the
/// same numbers, or none.
pub fn are_numbers_ours(root: &Root) -> bool {
    let ourselves = std::fs::read_link(root.path().join("proc/self"));
    ourselves.is_ok_and(|link| link.to_str() == Some(std::process::id().to_string().as_str()))
}

/// Whether /proc is there and numbers processes as another PID namespace does: what it shows under the number of a process that we started
/// or were told of is another process, or none.
pub fn shows_others(root: &Root) -> bool {
    root.is_live() && root.has("proc/stat") && !are_numbers_ours(root)
}

/// What to say of such a /proc.
pub const SHOWS_OTHERS: &str =
    "/proc is that of another PID namespace, where the numbers of processes mean others";
/// What mends that.
pub const OWN_PROC: &str =
    "mount -t proc proc /proc   # in the namespace of firsttouch (unshare: --mount-proc)";

/// The PID namespace of this process; `None` where /proc does not tell.
pub fn pid_namespace(root: &Root) -> Option<u64> {
    Some(std::fs::metadata(root.path().join("proc/self/ns/pid")).ok()?.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn our_own_status_reads() {
        let root = &Root::live();
        let status = Status::read(root, std::process::id()).unwrap();
        assert!(status.threads.unwrap() >= 1);
        assert!(status.vm_hwm_bytes.unwrap() >= status.resident_bytes().unwrap() / 2);
        let stat = Stat::read(root, std::process::id()).unwrap();
        assert_eq!(stat.pid, std::process::id());
        assert!(stat.minor_faults > 0 && stat.start_ticks > 0);
        // It started a moment ago: in the same ticks.
        let age = ticks_after_boot().checked_sub(stat.start_ticks);
        assert!(age.is_some_and(|age| age < 24 * 3600 * TICKS_PER_S), "{age:?}");
        let kinds = [status.rss_anon_bytes, status.rss_file_bytes, status.rss_shmem_bytes];
        let sum: u64 = kinds.into_iter().flatten().sum();
        assert_eq!(Some(sum), status.vm_rss_bytes);
        assert!(status.swap_bytes.is_some());
    }

    #[test]
    fn our_own_threads_are_listed_with_what_they_did() {
        let (root, pid) = (&Root::live(), std::process::id());
        let threads = threads(root, pid).unwrap();
        assert!(threads.contains(&pid) && threads.is_sorted());
        let own = Stat::read_thread(root, pid, crate::numa::thread_id()).unwrap();
        assert_eq!((own.pid, own.state), (crate::numa::thread_id(), 'R'));
        assert!(own.processor.is_some());
        assert!(migrations(root, pid, pid).is_ok());
    }

    #[test]
    fn a_process_lives_by_any_thread_that_does() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let thread = |number: u32, state: char, flags: u64| {
            let text = format!("{number} (a) {state} 1 1 1 0 -1 {flags} {}\n", "0 ".repeat(16));
            let task = folder.path().join(format!("proc/7/task/{number}"));
            std::fs::create_dir_all(&task).unwrap();
            std::fs::write(task.join("stat"), &text).unwrap();
            std::fs::write(folder.path().join("proc/7/stat"), &text).unwrap();
        };
        let living = || {
            let first = Stat::read_thread(&root, 7, 7).unwrap();
            living_thread(&root, 7, first).map(|(thread, _)| thread)
        };
        thread(7, 'S', 0);
        assert_eq!(living(), Some(7));
        thread(7, 'Z', PF_EXITING);
        assert_eq!(living(), None);
        // One that ends has given its memory back, though it may not have ended yet.
        thread(8, 'R', PF_EXITING);
        thread(9, 'S', 0);
        thread(7, 'Z', PF_EXITING);
        assert_eq!((living(), shown_under(&root, 7)), (Some(9), 9));
    }

    extern "C" fn starts_the_next_and_ends(_: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: both are live for the calls that fill and take them; the thread is detached, and its entry fits.
        unsafe {
            libc::usleep(20);
            let (mut attributes, mut next) = (std::mem::zeroed(), 0);
            libc::pthread_attr_init(&raw mut attributes);
            libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
            libc::pthread_create(
                &raw mut next,
                &raw const attributes,
                starts_the_next_and_ends,
                std::ptr::null_mut(),
            );
        }
        std::ptr::null_mut()
    }

    #[test]
    fn threads_that_hand_over_are_a_process_that_lives() {
        // SAFETY: the child calls the C library alone, whose fork(3) leaves it fit for threads; its first thread ends by itself.
        let child = unsafe { libc::fork() };
        if child == 0 {
            starts_the_next_and_ends(std::ptr::null_mut());
            // SAFETY: ends this thread, on whose stack nothing is left to do.
            unsafe { libc::syscall(libc::SYS_exit, 0) };
        }
        let (root, pid) = (&Root::live(), u32::try_from(child).unwrap());
        let lives = || Stat::read(root, pid).ok().and_then(|first| living_thread(root, pid, first)).is_some();
        // Of a list that was read once, one or two in a thousand had no thread that lives.
        let taken_for_ended = (0..5000).filter(|_| !lives()).count();
        // SAFETY: our own child, which nobody else waits for.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
        assert_eq!(taken_for_ended, 0);
    }

    #[test]
    fn a_missing_field_is_unknown() {
        let status = Status::parse("Name:\tx\nVmRSS:\t 8 kB\nTHP_enabled:\t0\nThreads:\tmany\n");
        assert_eq!(status.thp_enabled, Some(false));
        assert_eq!((status.threads, status.vm_hwm_bytes), (None, None));
        assert_eq!(status.resident_bytes(), Some(8192));
        let status = Status::parse(
            "Tgid:\t7\nUid:\t1\t2\t3\t4\nTracerPid:\t0\nState:\tT (stopped)\nCpus_allowed_list:\t1-2\nMems_allowed_list:\t0,2\n",
        );
        assert_eq!((status.process, status.effective_user, status.tracer), (Some(7), Some(2), Some(0)));
        assert_eq!((status.state, status.allowed_nodes), (Some('T'), Some(vec![0, 2])));
        assert_eq!(status.allowed_cpus, Some(vec![1, 2]));
        let killed = |set: &str| Status::parse(&format!("SigPnd:\t{set}\n")).killed;
        assert_eq!((killed("0000000000000100"), killed("0000000000000001")), (Some(true), Some(false)));
        assert_eq!(Status::default().resident_bytes(), None);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".{0,40}\\)?( [0-9A-Z-]{1,22}){0,24}", lines in "([A-Za-z_]{1,12}:.{0,20}\n){0,6}") {
            let _ = Stat::parse(&text);
            let _ = Status::parse(&lines);
        }
    }
}
