//! What a program and the programs that it started had resident, read from outside.

use firsttouch_linux::maps::{Backing, Mapping};
use firsttouch_memory::may_be_placed;
use serde::{Deserialize, Serialize};

/// Resident memory of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Resident {
    /// Resident bytes.
    pub bytes: u64,
    /// Of these, bytes on huge pages: of 2 MiB or more, transparent or from a pool. Multi-size pages are not seen from outside.
    pub huge_bytes: u64,
}

impl Resident {
    /// The share on huge pages; `None` where nothing is resident.
    pub fn huge_share(self) -> Option<f64> {
        (self.bytes > 0).then(|| self.huge_bytes as f64 / self.bytes as f64)
    }
}

impl std::ops::AddAssign for Resident {
    fn add_assign(&mut self, more: Resident) {
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.huge_bytes = self.huge_bytes.saturating_add(more.huge_bytes);
    }
}

/// Resident memory by kind; no byte is in two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ResidentMemory {
    /// Private memory in blocks that the agent placed.
    pub placed: Resident,
    /// Other private memory: heap, stacks, copies of a file's pages.
    pub private: Resident,
    /// Memory that processes share and no file on a disk: `MAP_SHARED` without a file, memfd, System V segments, `/dev/shm`.
    pub shared: Resident,
    /// Pages of files: code, libraries, mapped data.
    pub files: Resident,
}

impl ResidentMemory {
    /// All but the pages of files. The *share on huge pages* of a program is the share of this.
    pub fn of_no_file(&self) -> Resident {
        let mut sum = self.placed;
        sum += self.private;
        sum += self.shared;
        sum
    }
}

impl ResidentMemory {
    /// Adds a mapping of which only this is known: a file's pages and the process's own copies of them count as files.
    pub fn add_mapping(&mut self, mapping: &Mapping, resident: Resident) {
        let kind = match mapping.backing() {
            _ if may_be_placed(mapping.start as *const u8) => &mut self.placed,
            _ if mapping.is_shared_memory() => &mut self.shared,
            Backing::File | Backing::Kernel => &mut self.files,
            Backing::Anonymous | Backing::Stack => &mut self.private,
        };
        *kind += resident;
    }
}

impl std::ops::AddAssign for ResidentMemory {
    fn add_assign(&mut self, more: ResidentMemory) {
        self.placed += more.placed;
        self.private += more.private;
        self.shared += more.shared;
        self.files += more.files;
    }
}

/// One process, when it had most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProcessMemory {
    /// Its number.
    pub pid: u32,
    /// The number of the process that started it.
    pub parent: u32,
    /// The program that it ran then, by the name that its user knows.
    pub program: String,
    /// Largest resident set by the kernel's own account, in bytes, at the last look; pages of a pool are not in it.
    pub peak_rss_bytes: Option<u64>,
    /// Processor time of its own up to the last look, in milliseconds.
    pub cpu_ms: u64,
    /// What it had at the fullest look; memory that it shares with others is whole in it.
    pub memory: ResidentMemory,
}

/// A program and all that descended from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProcessTree {
    /// The process that was started; 0 where none was seen.
    #[serde(default)]
    pub pid: u32,
    /// All processes together at the moment when they had most (under `attach`: that one process now). Memory that several have counts once, by the kernel's
    /// proportional set size.
    pub at_peak: ResidentMemory,
    /// The processes that lived long enough to be looked at, each when it had most, the largest first; at most 64. None under
    /// `attach`.
    pub processes: Vec<ProcessMemory>,
    /// Further processes, smaller ones or such that nobody looked into.
    #[serde(default)]
    pub unlisted: u64,
    /// Processes that went on when the program had ended.
    #[serde(default)]
    pub outlived: u64,
}

/// The program that did the work of one that was started.
#[derive(Clone, Debug, PartialEq)]
pub struct Worker<'a> {
    /// Its process, the largest if there were several.
    pub process: &'a ProcessMemory,
    /// The share of all memory of no file, or else of all processor time, that was not the started program's.
    pub share: f64,
    /// The share is one of memory, not of time.
    pub of_memory: bool,
}

/// What is less than this is nothing to be placed.
const WORTH_BYTES: u64 = 8 << 20;
/// What is less than this is told by too few ticks of the clock.
const WORTH_MS: u64 = 200;
/// A program with no more of something than this did nothing.
const NOTHING: f64 = 0.1;

impl ProcessTree {
    /// Where no agent placed anything, what lies at addresses such as its blocks have is the program's own (Go maps its heap anywhere).
    #[must_use]
    pub fn without_agent(mut self) -> ProcessTree {
        let processes = self.processes.iter_mut().map(|process| &mut process.memory);
        for memory in processes.chain([&mut self.at_peak]) {
            memory.private += std::mem::take(&mut memory.placed);
        }
        self
    }

    /// Whether other programs did the work, as they do for a script: nearly all that there was of memory, or of processor time,
    /// was theirs. Processes that the started program forked run the same program and are not meant.
    pub fn worker(&self) -> Option<Worker<'_>> {
        let started = self.processes.iter().find(|process| process.pid == self.pid);
        let program = started.map(|started| started.program.as_str());
        let (own, others): (Vec<_>, Vec<_>) =
            self.processes.iter().partition(|process| Some(process.program.as_str()) == program);
        let bytes = |process: &&ProcessMemory| process.memory.of_no_file().bytes;
        let time = |process: &&ProcessMemory| process.cpu_ms;
        let not_own = |of: &dyn Fn(&&ProcessMemory) -> u64, worth| {
            let sum = |some: &[&ProcessMemory]| some.iter().map(of).fold(0u64, u64::saturating_add);
            let share = sum(&others) as f64 / sum(&own).saturating_add(sum(&others)).max(1) as f64;
            (sum(&others) >= worth && share >= 1.0 - NOTHING).then_some(share)
        };
        let (share, of_memory) = match (not_own(&bytes, WORTH_BYTES), not_own(&time, WORTH_MS)) {
            (Some(share), _) => (share, true),
            (None, Some(share)) => (share, false),
            (None, None) => return None,
        };
        let by: &dyn Fn(&&ProcessMemory) -> u64 = if of_memory { &bytes } else { &time };
        let process = others.iter().copied().max_by_key(|process| by(process))?;
        Some(Worker { process, share, of_memory })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, program: &str, mib: u64, cpu_ms: u64) -> ProcessMemory {
        let private = Resident { bytes: mib << 20, huge_bytes: 0 };
        ProcessMemory {
            pid,
            parent: 1,
            program: program.to_owned(),
            peak_rss_bytes: None,
            cpu_ms,
            memory: ResidentMemory { private, ..ResidentMemory::default() },
        }
    }

    #[test]
    fn nothing_is_placed_where_no_agent_is() {
        let placed = Resident { bytes: 3 << 20, huge_bytes: 2 << 20 };
        let mut one = process(7, "/bin/go", 1, 0);
        one.memory.placed = placed;
        let tree =
            ProcessTree { pid: 7, at_peak: one.memory, processes: vec![one], ..ProcessTree::default() };
        let all = tree.at_peak.of_no_file();
        let tree = tree.without_agent();
        let memory = ResidentMemory { private: all, ..ResidentMemory::default() };
        assert_eq!((tree.at_peak, tree.processes[0].memory), (memory, memory));
    }

    #[test]
    fn the_work_of_a_script_is_done_by_others() {
        let worker = |processes: &[ProcessMemory]| {
            let tree = ProcessTree { pid: 7, processes: processes.to_vec(), ..ProcessTree::default() };
            tree.worker().map(|worker| (worker.process.pid, worker.of_memory))
        };
        let shell = process(7, "/bin/sh", 1, 0);
        let server = process(9, "/usr/bin/redis-server", 60, 10);
        assert_eq!(worker(&[shell.clone(), server.clone(), process(8, "/bin/cat", 1, 0)]), Some((9, true)));
        assert_eq!(worker(&[shell.clone(), process(9, "/usr/bin/bc", 1, 900)]), Some((9, false)));
        assert_eq!(worker(&[shell.clone(), process(9, "/usr/bin/bc", 1, 90)]), None, "too little to tell");
        assert_eq!(worker(&[process(7, "/usr/bin/make", 40, 300), server.clone()]), None, "it works, too");
        assert_eq!(worker(&[shell.clone(), process(9, "/bin/sh", 60, 900)]), None, "it forked");
        assert_eq!(worker(&[shell]), None);
        assert_eq!(worker(&[server]), Some((9, true)), "the script was too short-lived to be seen");
    }

    #[test]
    fn files_count_for_no_share() {
        let resident = |bytes, huge_bytes| Resident { bytes, huge_bytes };
        let mut memory = ResidentMemory {
            placed: resident(30, 30),
            private: resident(20, 0),
            shared: resident(50, 10),
            files: resident(900, 900),
        };
        assert_eq!(memory.of_no_file(), resident(100, 40));
        assert_eq!(memory.of_no_file().huge_share(), Some(0.4));
        memory += memory;
        assert_eq!(memory.files, resident(1800, 1800));
        let mut memory = ResidentMemory::default();
        assert_eq!(memory.of_no_file().huge_share(), None);
        for line in [
            "7f0000000000-7f0001000000 rw-p 00000000 00:00 0",
            "7f1000000000-7f1001000000 rw-s 00000000 00:01 9 /memfd:x (deleted)",
            "7f2000000000-7f2001000000 r-xp 00000000 08:01 7 /lib/libc.so",
            "200000000000-200001000000 rw-p 00000000 00:00 0",
        ] {
            memory.add_mapping(&Mapping::parse(line).unwrap(), resident(4, 2));
        }
        assert_eq!([memory.placed, memory.private, memory.shared, memory.files], [resident(4, 2); 4]);
    }
}
