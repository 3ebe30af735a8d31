//! Samples: what is due is read, what it cost is counted.

use crate::WatchError;
use crate::family::{Family, Look, Since};
use crate::machine::MachineLooks;
use crate::memory::{Memory, Reading};
use crate::threads::Threads;
use crate::turn::Turn;
use firsttouch_documents::{
    WatchCost, WatchEnd, WatchEnding, WatchHeader, WatchSample, WatchedFaults, WatchedMemory, WatchedProcess,
};
use firsttouch_linux::access::Barrier;
use firsttouch_linux::clock::thread_processor_time;
use firsttouch_linux::process::{self, TICKS_PER_S};
use firsttouch_linux::remote::ProcessHandle;
use firsttouch_machine::{Machine, MeasuredMachine, MeasuredNode, Root};
use std::io;
use std::time::{Duration, Instant};

/// How to watch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WatchOptions {
    /// The time from sample to sample, where the budget allows it.
    pub interval: Duration,
    /// The share of one core that watching may take, for example 0.01.
    pub budget: f64,
    /// Watch the descendants of the process, too.
    pub tree: bool,
}

/// Parts of the budget. What is left is for the beginning, when everything is read for the first time.
const FOR_EVERY_SAMPLE: f64 = 0.25;
const FOR_MEMORY: f64 = 0.4;
const FOR_THREADS: f64 = 0.15;
const FOR_MACHINE: f64 = 0.05;
const FOR_FAMILY: f64 = 0.1;

/// Takes samples of a process. All calls have to come from one thread, whose processor time is counted as the cost.
#[derive(Debug)]
pub struct Sampler {
    root: Root,
    options: WatchOptions,
    pid: u32,
    family: Family,
    threads: Threads,
    machine: MachineLooks,
    about: (MeasuredMachine, Vec<MeasuredNode>),
    memory: Memory,
    remedy: Option<&'static str>,
    /// The beginning, by the wall and by the processor time of this thread.
    began: (Instant, Duration),
    /// The last sample: when it was taken, and the processor time when it was done.
    last: Option<(Duration, Duration)>,
    /// When the next sample is due.
    next: Duration,
    faults: (u64, u64),
    every: Turn,
    memory_turn: Turn,
    threads_turn: Turn,
    machine_turn: Turn,
    family_turn: Turn,
}

impl Sampler {
    /// Takes hold of a process on a machine. Nothing is sampled yet.
    pub fn new(
        root: Root,
        machine: &Machine,
        pid: u32,
        options: WatchOptions,
    ) -> Result<Sampler, WatchError> {
        let began = (Instant::now(), thread_processor_time());
        let mut family = Family::new(&root, pid)?;
        if options.tree {
            family.grow(&root, true).map_err(|source| WatchError::Unreadable { pid, source })?;
        }
        let with_memory: Vec<u32> =
            machine.nodes.iter().filter(|node| node.size_bytes != Some(0)).map(|node| node.id).collect();
        let nodes_of_cpus = machine.cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.node?))).collect();
        let turn = |part: f64| Turn::new(part * options.budget);
        let only_node = match with_memory[..] {
            [node] => Some(node),
            _ => None,
        };
        Ok(Sampler {
            memory: Memory::new(&root, only_node),
            remedy: None,
            root,
            options,
            pid,
            family,
            threads: Threads::new(nodes_of_cpus),
            machine: MachineLooks::new(with_memory),
            about: (MeasuredMachine::of(machine), MeasuredNode::all_of(machine)),
            began,
            last: None,
            next: Duration::ZERO,
            faults: (0, 0),
            every: turn(FOR_EVERY_SAMPLE),
            memory_turn: turn(FOR_MEMORY),
            threads_turn: turn(FOR_THREADS),
            machine_turn: turn(FOR_MACHINE),
            family_turn: turn(FOR_FAMILY),
        })
    }

    /// The process, for waiting on its end.
    pub fn handle(&self) -> &ProcessHandle {
        self.family.handle()
    }

    /// What would let us read what the last samples lack; `None` where nothing is known that would.
    pub fn remedy(&self) -> Option<&'static str> {
        self.remedy
    }

    /// The first line of a recording; `started` is the date, by RFC 3339.
    pub fn header(&self, started: String) -> WatchHeader {
        let (machine, nodes) = self.about.clone();
        // One that has ended has no words any more.
        let command = process::command_line(&self.root, self.pid).unwrap_or_default();
        WatchHeader {
            started,
            command,
            pid: self.pid,
            tree: self.options.tree,
            interval_s: self.options.interval.as_secs_f64(),
            budget: self.options.budget,
            machine,
            nodes,
        }
    }

    /// The last line of a recording.
    pub fn end(&self, ended: WatchEnding) -> WatchEnd {
        let t_s = self.now().as_secs_f64();
        WatchEnd { ended, t_s, core_share: self.core_share() }
    }

    /// How long to wait before the next sample.
    pub fn pause(&self) -> Duration {
        self.next.saturating_sub(self.now())
    }

    /// Looks once; `None` if the process has ended.
    pub fn sample(&mut self) -> Result<Option<WatchSample>, WatchError> {
        let (now, begun) = (self.now(), thread_processor_time());
        let unreadable = |source| WatchError::Unreadable { pid: self.pid, source };
        let mut sample = WatchSample::default();
        if self.options.tree && self.family_turn.is_due(now) {
            let took = cost_of(|| {
                if let Err(error) = self.family.grow(&self.root, false) {
                    sample.unreadable.push(format!("descendants: {error}"));
                }
            });
            self.family_turn.taken(now, took);
        }
        let basics = thread_processor_time();
        let Some((looks, since)) = self.family.look(&self.root).map_err(unreadable)? else { return Ok(None) };
        self.basics(&mut sample, now, &looks, since);
        // What was done with the sample before is part of what every sample costs.
        let outside = self.last.map_or(Duration::ZERO, |(_, done)| begun.saturating_sub(done));
        let every = thread_processor_time().saturating_sub(basics) + outside;
        self.next = now + self.options.interval.max(self.every.rest(every));

        let pids = self.family.pids();
        if self.memory_turn.is_due(now) {
            let begun = Instant::now();
            let mut cost = cost_of(|| self.read_memory(&mut sample, &looks));
            if let Some(memory) = &mut sample.memory {
                memory.took_s = begun.elapsed().as_secs_f64();
                // Time that the lock may have been held counts like time of ours.
                cost = cost.max(Duration::from_secs_f64(memory.longest_call_s));
            }
            self.memory_turn.taken(now, cost);
        }
        if self.threads_turn.is_due(now) {
            let took = cost_of(|| sample.threads = Some(self.threads.look(&self.root, &pids, now)));
            self.threads_turn.taken(now, took);
        }
        if self.machine_turn.is_due(now) {
            let took = cost_of(|| sample.machine = Some(self.machine.look(&self.root, now)));
            self.machine_turn.taken(now, took);
        }
        let done = thread_processor_time();
        sample.cost = WatchCost {
            cpu_s: done.saturating_sub(begun).as_secs_f64(),
            core_share: self.last.and_then(|_| self.core_share()),
        };
        self.last = Some((now, done));
        Ok(Some(sample))
    }

    /// What is read for every sample.
    fn basics(&mut self, sample: &mut WatchSample, now: Duration, looks: &[Look], since: Since) {
        self.faults.0 += since.minor_faults;
        self.faults.1 += since.major_faults;
        let passed_s = self.last.map(|(last, _)| now.saturating_sub(last).as_secs_f64());
        let per_s = |count: u64| passed_s.filter(|s| *s > 0.0).map(|s| count as f64 / s);
        sample.t_s = now.as_secs_f64();
        sample.faults = WatchedFaults {
            minor: self.faults.0,
            major: self.faults.1,
            minor_per_s: per_s(since.minor_faults),
            major_per_s: per_s(since.major_faults),
        };
        sample.cores = per_s(since.ticks).map(|ticks| ticks / TICKS_PER_S as f64);
        let sum = |of: fn(&Look) -> Option<u64>| looks.iter().map(of).sum::<Option<u64>>();
        sample.resident_bytes = looks.iter().filter_map(|look| look.status.resident_bytes()).sum();
        sample.peak_bytes = if let [only] = looks { only.status.vm_hwm_bytes } else { None };
        sample.swap_bytes = sum(|look| look.status.swap_bytes);
        sample.anonymous_bytes = sum(anonymous_bytes);
        let process = |look: &Look| WatchedProcess {
            pid: look.stat.pid,
            command: look.stat.command.clone(),
            state: look.stat.state,
            resident_bytes: look.status.resident_bytes().unwrap_or(0),
        };
        sample.processes = looks.iter().map(process).collect();
    }

    fn read_memory(&mut self, sample: &mut WatchSample, looks: &[Look]) {
        let mut sum: Option<Reading> = None;
        let mut anonymous = Some(0);
        let (mut left_out, mut notes) = (Vec::new(), Vec::new());
        for look in looks {
            let pid = look.stat.pid;
            match self.memory.read(&self.root, look.shown_under, &look.status) {
                Ok(Some(reading)) => {
                    anonymous = anonymous.and_then(|bytes| Some(bytes + anonymous_bytes(look)?));
                    match &mut sum {
                        Some(sum) => sum.join(reading),
                        None => sum = Some(reading),
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    if error.kind() == io::ErrorKind::PermissionDenied {
                        self.remedy = Barrier::of(&self.root, look.status.effective_user).remedy();
                    }
                    left_out.push(pid);
                    let name = &look.stat.command;
                    notes.push(format!("memory of process {pid} ({name}): {}", words(&error)));
                }
            }
        }
        // A sum of some must not look like that of all.
        let but = if sum.is_some() { "; the sums are of the others" } else { "" };
        sample.unreadable.extend(notes.into_iter().map(|note| note + but));
        let Some(sum) = sum else { return };
        sample.memory = Some(WatchedMemory {
            // The two were read one after the other, and the kernel's own count may be off by some pages.
            huge_share: anonymous
                .filter(|bytes| *bytes > 0)
                .map(|bytes| (sum.huge_bytes as f64 / bytes as f64).min(1.0)),
            bytes_by_page_size: sum.bytes_by_page_size,
            bytes_by_node: sum.bytes_by_node,
            huge_bytes: sum.huge_bytes,
            sampled_pages: sum.sampled_pages,
            left_out,
            took_s: 0.0,
            longest_call_s: sum.longest_call.as_secs_f64(),
        });
    }

    /// Time since the beginning.
    fn now(&self) -> Duration {
        self.began.0.elapsed()
    }

    fn core_share(&self) -> Option<f64> {
        let passed_s = self.now().as_secs_f64();
        let used = thread_processor_time().saturating_sub(self.began.1);
        (passed_s > 0.0).then(|| used.as_secs_f64() / passed_s)
    }
}

/// What huge pages of the program's own wish could hold; `None` where the kernel does not say.
fn anonymous_bytes(look: &Look) -> Option<u64> {
    let status = &look.status;
    Some(status.rss_anon_bytes? + status.rss_shmem_bytes? + status.hugetlb_bytes.unwrap_or(0))
}

/// What the kernel answered, without its number.
fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// Processor time that something takes.
fn cost_of(work: impl FnOnce()) -> Duration {
    let begun = thread_processor_time();
    work();
    thread_processor_time().saturating_sub(begun)
}
