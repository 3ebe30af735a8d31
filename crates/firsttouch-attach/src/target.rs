//! Who is attached to: one process, by a handle that cannot come to mean another, with the program that it is.
//!
//! Invariant: [`Target::check`] is called before every step. A number that was reused, a process that ended, became another
//! program, or that somebody began to trace or stopped, ends the attach before the step is made.

use crate::journal::Owner;
use firsttouch_documents::ProgramImage;
use firsttouch_linux::access::Barrier;
use firsttouch_linux::pagemap::Pagemap;
use firsttouch_linux::process::{OWN_PROC, Stat, Status, ancestors, are_numbers_ours, living_thread};
use firsttouch_linux::program::{program_of, text_of};
use firsttouch_linux::remote::{ProcessHandle, needs_handles};
use firsttouch_linux::root::Root;
use firsttouch_linux::urgent::Precedence;
use firsttouch_placement::AttachEnded;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Why a process cannot be attached to. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoSuchProcess {
        /// As asked.
        pid: u32,
    },
    /// The number is that of a thread.
    #[error("{pid} is a thread of process {process}")]
    Thread {
        /// As asked.
        pid: u32,
        /// Its process.
        process: u32,
    },
    /// It has ended, and its parent has not collected it.
    #[error("process {pid} has ended; it is left over as a zombie")]
    Zombie {
        /// As asked.
        pid: u32,
        /// Who should collect it.
        parent: u32,
    },
    /// It is a part of the kernel.
    #[error("process {pid} ({name}) is a thread of the kernel: it has no memory of its own")]
    KernelThread {
        /// As asked.
        pid: u32,
        /// Its name.
        name: String,
    },
    /// It is the first process.
    #[error(
        "process 1 is not attached to: if anything happened to it, the whole system, or its whole PID namespace, would end"
    )]
    Init,
    /// It is this process.
    #[error("process {pid} is this firsttouch itself")]
    Ourselves {
        /// As asked.
        pid: u32,
    },
    /// It belongs to somebody else.
    #[error("process {pid} belongs to user {owner}, and we are user {ourselves}")]
    OtherUser {
        /// As asked.
        pid: u32,
        /// Whom it acts as.
        owner: u32,
        /// Whom we act as.
        ourselves: u32,
    },
    /// It lets nobody look into it.
    #[error("process {pid} lets nobody look into it (it is not dumpable)")]
    NotDumpable {
        /// As asked.
        pid: u32,
    },
    /// Root has not what it takes to look into it.
    #[error("{}", out_of_reach(*pid, *barrier))]
    OutOfReach {
        /// As asked.
        pid: u32,
        /// What is in the way.
        barrier: Barrier,
    },
    /// /proc is that of another PID namespace: under this number it shows another process.
    #[error("/proc is that of another PID namespace: what it shows of {pid} is another process")]
    OtherNamespace {
        /// As asked.
        pid: u32,
    },
    /// Something of it cannot be read.
    #[error("cannot read {what} of process {pid}")]
    Unreadable {
        /// As asked.
        pid: u32,
        /// What.
        what: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
}

impl TargetError {
    /// The line that mends it.
    pub fn hint(&self) -> String {
        match self {
            TargetError::NoSuchProcess { .. } => {
                "ps -e -o pid,rss,args --sort=-rss | head   # lists processes by memory".to_owned()
            }
            TargetError::Thread { process, .. } => format!("firsttouch attach {process}"),
            TargetError::Zombie { parent, .. } => {
                format!("nothing is left of it to place; its parent {parent} has to collect it")
            }
            TargetError::KernelThread { .. } => {
                "name a program: ps -e -o pid,ppid,args lists kernel threads in [brackets]".to_owned()
            }
            TargetError::Init => "name one of the services that it started".to_owned(),
            TargetError::Ourselves { .. } => "name the process of another program".to_owned(),
            TargetError::OtherUser { .. } => hint(Barrier::OtherUser),
            TargetError::NotDumpable { .. } => hint(Barrier::NotDumpable),
            TargetError::OutOfReach { barrier, .. } => hint(*barrier),
            TargetError::OtherNamespace { .. } => OWN_PROC.to_owned(),
            TargetError::Unreadable { source, .. } => needs_handles(source)
                .unwrap_or(
                    "mount -t proc proc /proc, without hidepid; in a container, share the PID namespace of the process",
                )
                .to_owned(),
        }
    }
}

fn hint(barrier: Barrier) -> String {
    barrier
        .remedy()
        .unwrap_or("ask the security module of the machine (dmesg tells of SELinux, AppArmor)")
        .to_owned()
}

fn out_of_reach(pid: u32, barrier: Barrier) -> String {
    match barrier {
        Barrier::Capability(capability) => format!("we may not look into process {pid} without {capability}"),
        Barrier::Namespace => format!("process {pid} is of another user namespace, whose root we are not"),
        _ => format!("the kernel does not let root look into process {pid}"),
    }
}

/// How often, and after what time, a process is looked at that becomes another program at this very moment.
const MOST_LOOKS: u32 = 100;
/// The same of one that was not reached: on a busy machine, threads of a killed process wait for a CPU to end on.
const PATIENT_LOOKS: u32 = 1000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// A process that is attached to.
#[derive(Debug)]
pub struct Target {
    root: Root,
    pid: u32,
    /// The thread by which /proc shows the memory: the first one, or if that has ended another.
    member: AtomicU32,
    handle: ProcessHandle,
    start_ticks: u64,
    image: ProgramImage,
    name: String,
    command: String,
    /// Bound to the memory that the process had when this was opened.
    pagemap: Pagemap,
    precedence: Arc<Precedence>,
    tracer: u32,
    stopped: bool,
}

impl Target {
    /// Takes hold of a process that may be attached to.
    pub fn open(root: &Root, pid: u32) -> Result<Target, TargetError> {
        if pid == 1 {
            return Err(TargetError::Init);
        }
        if pid == std::process::id() {
            return Err(TargetError::Ourselves { pid });
        }
        if !are_numbers_ours(root) {
            return Err(TargetError::OtherNamespace { pid });
        }
        let unreadable = |what| move |source| TargetError::Unreadable { pid, what, source };
        let handle = match ProcessHandle::open(pid) {
            Ok(handle) => handle,
            Err(error) => {
                return Err(match error.raw_os_error() {
                    // Not the first thread of its process: EINVAL, from Linux 6.9 on ENOENT.
                    Some(libc::EINVAL | libc::ENOENT) => thread_or_nothing(root, pid),
                    Some(libc::ESRCH) => TargetError::NoSuchProcess { pid },
                    _ => unreadable("a handle")(error),
                });
            }
        };
        // A process that has just been started is on its way to its program.
        for _ in 0..MOST_LOOKS {
            if let Some(target) = Target::look(root, pid, &handle)? {
                return Ok(target);
            }
            let _ = handle.wait_ended(Some(BETWEEN_LOOKS));
        }
        Err(TargetError::NoSuchProcess { pid })
    }

    /// Reads who the process is; `None` if it became somebody else meanwhile.
    fn look(root: &Root, pid: u32, handle: &ProcessHandle) -> Result<Option<Target>, TargetError> {
        let unreadable = |what| move |source| TargetError::Unreadable { pid, what, source };
        let stat = Stat::read(root, pid).map_err(|error| gone_or(error, pid, "stat"))?;
        if stat.kernel_thread {
            return Err(TargetError::KernelThread { pid, name: stat.command });
        }
        let Some((member, living)) = living_thread(root, pid, stat.clone()) else {
            return Err(TargetError::Zombie { pid, parent: stat.parent });
        };
        let status = Status::read(root, member).map_err(|error| gone_or(error, pid, "status"))?;
        let precedence = Arc::new(Precedence::new(root));
        let pagemap = match Pagemap::open_first(root, member, Arc::clone(&precedence)) {
            Ok(pagemap) => pagemap,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(who_may_not(root, pid, &status));
            }
            Err(error) => return Err(gone_or(error, pid, "pagemap")),
        };
        // Nobody who may read the pagemap is refused these.
        let Some((start_code, start_stack)) = living.image.filter(|image| *image != (0, 0)) else {
            return Ok(None);
        };
        let folder = root.path().join(format!("proc/{member}"));
        let program = match fs::read_link(folder.join("exe")) {
            Ok(program) => text_of(program.as_os_str().as_bytes()),
            // Root without CAP_SYS_PTRACE may open the pagemap of a process that is not dumpable, and not read this.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(who_may_not(root, pid, &status));
            }
            Err(error) => return Err(gone_or(error, pid, "exe")),
        };
        let command = fs::read(folder.join("cmdline")).unwrap_or_default();
        let words = command.split(|byte| *byte == 0).map(text_of);
        let name = program_of(root, member).map(|name| text_of(name.as_os_str().as_bytes()));
        let fd = handle.as_fd().try_clone_to_owned().map_err(unreadable("a handle"))?;
        let target = Target {
            root: root.clone(),
            pid,
            member: AtomicU32::new(member),
            handle: ProcessHandle::from(fd),
            start_ticks: stat.start_ticks,
            name: name.unwrap_or_else(|_| program.clone()),
            image: ProgramImage { program, start_code, start_stack },
            command: words.collect::<Vec<_>>().join(" ").trim_end().to_owned(),
            pagemap,
            precedence,
            tracer: status.tracer.unwrap_or(0),
            stopped: status.state == Some('T'),
        };
        // What was read under its number was read of it, if the handle still has its process now.
        match target.check() {
            Err(AttachEnded::TargetEnded) => Err(TargetError::NoSuchProcess { pid }),
            Err(AttachEnded::TargetExec) => Ok(None),
            _ => Ok(Some(target)),
        }
    }

    /// Whether the process is still the one that was taken hold of, still the same program, and left alone by others;
    /// if not, why to end.
    pub fn check(&self) -> Result<(), AttachEnded> {
        let first = Stat::read(&self.root, self.pid).ok();
        let started = first.as_ref().map(|stat| stat.start_ticks);
        let living = first.and_then(|stat| living_thread(&self.root, self.pid, stat));
        let status = living.as_ref().and_then(|(member, _)| Status::read(&self.root, *member).ok());
        // After the reading: a process that has not ended until now was the one that was read.
        if self.handle.wait_ended(Some(Duration::ZERO)).unwrap_or(true) {
            return Err(AttachEnded::TargetEnded);
        }
        let (Some((member, living)), Some(status)) = (living, status) else {
            return Err(AttachEnded::TargetEnded);
        };
        if started != Some(self.start_ticks) {
            return Err(AttachEnded::TargetEnded);
        }
        self.member.store(member, Ordering::Relaxed);
        if !self.is_image(&living) || !self.has_its_memory() {
            self.what_became()?;
        }
        let tracer = status.tracer.unwrap_or(0);
        if tracer != 0 && tracer != self.tracer {
            return Err(AttachEnded::TargetTraced);
        }
        if status.state == Some('T') && !self.stopped {
            return Err(AttachEnded::TargetStopped);
        }
        Ok(())
    }

    /// The same, for a while, after the process was not reached: the threads of one that was killed end one by one.
    pub(crate) fn check_patiently(&self) -> Result<(), AttachEnded> {
        for _ in 0..PATIENT_LOOKS {
            self.check()?;
            let _ = self.handle.wait_ended(Some(BETWEEN_LOOKS));
        }
        self.check()
    }

    /// What a process has become that seems not to have its old memory any more: another program, or about to end. Both are
    /// without memory for a moment; so is a thread that ends while others go on.
    fn what_became(&self) -> Result<(), AttachEnded> {
        for _ in 0..MOST_LOOKS {
            let first = Stat::read(&self.root, self.pid).ok();
            let same = first.filter(|stat| stat.start_ticks == self.start_ticks);
            match same.and_then(|stat| living_thread(&self.root, self.pid, stat)) {
                None => return Err(AttachEnded::TargetEnded),
                Some((_, Stat { image: Some((0, 0)), .. })) => {}
                Some((member, living)) if self.is_image(&living) && self.has_its_memory() => {
                    self.member.store(member, Ordering::Relaxed);
                    return Ok(());
                }
                Some(_) => return Err(AttachEnded::TargetExec),
            }
            if self.handle.wait_ended(Some(BETWEEN_LOOKS)).unwrap_or(true) {
                break;
            }
        }
        Err(AttachEnded::TargetEnded)
    }

    fn is_image(&self, stat: &Stat) -> bool {
        stat.image.unwrap_or((0, 0)) == (self.image.start_code, self.image.start_stack)
    }

    /// An `exec` leaves the memory that the pagemap was opened for.
    fn has_its_memory(&self) -> bool {
        self.pagemap.entries(0, 1).is_ok_and(|entries| !entries.is_empty())
    }

    /// Whether it descends from another that is attached to: both are what they were when that is read.
    pub fn descends_from(&self, ancestor: &Target) -> bool {
        ancestors(&self.root, self.pid).contains(&ancestor.pid)
            && self.check().is_ok()
            && ancestor.start_ticks <= self.start_ticks
            && !ancestor.handle.wait_ended(Some(Duration::ZERO)).unwrap_or(true)
    }

    /// Waits, at most so long; ends early when the process ends.
    pub fn pause(&self, time: Duration) {
        // A signal ends the wait early as well: the caller looks whether it is to stop.
        let _ = self.handle.wait_ended(Some(time));
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The number by which /proc and move_pages(2) reach its memory: that of its first thread, as usual, or if that has
    /// ended (`pthread_exit` in `main`) of another; as of the last [`Target::check`].
    pub fn member(&self) -> u32 {
        self.member.load(Ordering::Relaxed)
    }

    /// The handle on it.
    pub fn handle(&self) -> &ProcessHandle {
        &self.handle
    }

    /// When it started, in clock ticks after boot.
    pub fn start_ticks(&self) -> u64 {
        self.start_ticks
    }

    /// Whose journal is that of what is done to it.
    pub fn owner(&self) -> Owner {
        Owner::of(&self.root, self.pid, self.start_ticks)
    }

    /// The program that it is.
    pub fn image(&self) -> &ProgramImage {
        &self.image
    }

    /// What its user calls the program, which need not be the file that links lead to.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its words, as it was started with.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// For whatever holds locks of the process: a thread that is taken off its processor meanwhile holds up the process for
    /// as long as others run there.
    pub(crate) fn precedence(&self) -> &Precedence {
        &self.precedence
    }

    /// Which of its pages exist.
    pub fn pagemap(&self) -> &Pagemap {
        &self.pagemap
    }

    /// Where /proc is.
    pub fn root(&self) -> &Root {
        &self.root
    }
}

fn thread_or_nothing(root: &Root, pid: u32) -> TargetError {
    match Status::read(root, pid) {
        Ok(Status { process: Some(process), .. }) if process != pid => TargetError::Thread { pid, process },
        _ => TargetError::NoSuchProcess { pid },
    }
}

fn gone_or(error: io::Error, pid: u32, what: &'static str) -> TargetError {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ESRCH) => TargetError::NoSuchProcess { pid },
        _ => TargetError::Unreadable { pid, what, source: error },
    }
}

fn who_may_not(root: &Root, pid: u32, status: &Status) -> TargetError {
    let ourselves = Status::read(root, std::process::id()).ok().and_then(|own| own.effective_user);
    match (Barrier::of(root, status.effective_user), status.effective_user, ourselves) {
        (Barrier::OtherUser, Some(owner), Some(ourselves)) => {
            TargetError::OtherUser { pid, owner, ourselves }
        }
        (Barrier::OtherUser | Barrier::NotDumpable, ..) => TargetError::NotDumpable { pid },
        (barrier, ..) => TargetError::OutOfReach { pid, barrier },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_linux::process::children;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_descends_from_its_parent_for_as_long_as_that_lives() {
        let root = Root::live();
        let mut shell = Command::new("sh").args(["-c", "cat; :"]).stdin(Stdio::piped()).spawn().unwrap();
        let cat = loop {
            // A shell like its parent at first, which becomes another program.
            let is_cat =
                |pid: u32| std::fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name == b"cat\n");
            match children(&root, shell.id()).unwrap_or_default()[..] {
                [cat] if is_cat(cat) => break cat,
                _ => std::thread::yield_now(),
            }
        };
        let [above, below] = [shell.id(), cat].map(|pid| Target::open(&root, pid).unwrap());
        assert!(below.descends_from(&above) && !above.descends_from(&below));
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(!below.descends_from(&above));
    }
}
