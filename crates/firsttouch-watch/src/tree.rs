//! A program and what it starts, looked at from time to time while it runs, to say afterwards what they had at their peak.

use crate::marks::{Mark, Marked};
use crate::price::{Price, Work};
use firsttouch_linux::clock::{process_processor_time, thread_processor_time};
use firsttouch_linux::maps::Backing;
use firsttouch_linux::process::{
    self, SHOWS_OTHERS, Stat, Status, TICKS_PER_S, have_one_memory, living_status, living_thread,
    shows_others, unless_ended,
};
use firsttouch_linux::program::{program_of, text_of};
use firsttouch_linux::root::Root;
use firsttouch_linux::smaps::{Region, read_bytes_by_node, read_smaps};
use firsttouch_placement::{ProcessMemory, ProcessResident, ProcessTree, Together, Unserved};
use firsttouch_sorted::sort_by_key;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

/// Processes in a document.
const MOST_LISTED: usize = 64;
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// Reading mappings walks page tables, and processes may have to wait for that: at most one part in ten of the time that passes, and as
/// much for what the kernel counts anyway, however much may still be spent.
const PAUSE_TO_COST: u32 = 10;
/// The same for asking whether a look is affordable.
const PAUSE_TO_ASK: u32 = 1000;
/// So many times the usual price is spent where memory grows. It comes to an end, and is paid for by what is done afterwards.
const GROWTH_TO_WORK: u32 = 10;

/// What was resident by page size and by node, in the terms of a receipt: all processes together, at their peak.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeakPages {
    /// Resident bytes of no file by page size; multi-size pages count as base pages.
    pub bytes_by_page_size: BTreeMap<u64, u64>,
    /// Resident bytes by node, but for pages of files and memory that processes share; `None` if the kernel does not say.
    pub bytes_by_node: Option<BTreeMap<u32, u64>>,
    /// What came past the agent.
    pub unserved: Unserved,
    /// The files whose code the processes had mapped.
    pub modules: BTreeSet<String>,
}

/// Looks at a program and its descendants from time to time; the caller waits between looks.
#[derive(Debug)]
pub struct TreeWatch {
    root: Root,
    pid: u32,
    marked: Option<Marked>,
    /// The first is the program itself; none where /proc shows other processes than ours.
    members: Vec<Member>,
    /// Members that have ended, the largest of them.
    ended: Vec<Member>,
    forgotten: u64,
    at_peak: Together,
    /// The cheap account when mappings of all were last read, and what of it counted once.
    last_read: Option<(u64, u64)>,
    nodes_at_peak: Option<BTreeMap<u32, u64>>,
    modules_at_peak: BTreeSet<String>,
    pause: Duration,
    /// What the last look cost, or asking for one, as the time to wait for it.
    rest: Duration,
    /// When mappings may be read again, though little has changed.
    next_reading: Instant,
    work: Work,
    /// What those used that have ended.
    used_by_ended: Duration,
    /// What the kernel counts anyway, the search for marked processes, and mappings. All together are a hundredth of the work.
    glances: Price,
    searches: Price,
    readings: Price,
    /// The largest cheap account at which they were read, and that of the last look.
    most_read: u64,
    last_account: u64,
    /// The node that all memory is on, where there is one only.
    only_node: Option<u32>,
    /// Whether the kernel lists the children of a process.
    lists_children: bool,
    /// The CPUs that the first thread of the program may run on.
    cpus: Option<Vec<u32>>,
    /// Why a member could not be looked into.
    blind: Option<io::Error>,
}

#[derive(Debug)]
struct Member {
    memory: ProcessMemory,
    start_ticks: u64,
    /// Processor time, by its clock.
    used: Duration,
    /// By the cheap account, at the fullest look.
    fullest: u64,
    looked_into: bool,
}

impl Member {
    fn new(pid: u32, stat: Stat) -> Member {
        Member {
            memory: ProcessMemory {
                pid,
                parent: stat.parent,
                program: stat.command,
                peak_rss_bytes: None,
                cpu_ms: 0,
                memory: Default::default(),
            },
            start_ticks: stat.start_ticks,
            used: Duration::ZERO,
            fullest: 0,
            looked_into: false,
        }
    }
}

/// A member at this look.
struct Look {
    /// Its place among the members.
    member: usize,
    /// The number under which /proc shows its memory.
    shown_under: u32,
    bytes: u64,
    own_bytes: u64,
    shared_bytes: u64,
}

impl TreeWatch {
    /// A watch of the process `pid` that has not looked yet.
    pub fn new(root: Root, pid: u32, mark: Option<Mark>) -> TreeWatch {
        let mut watch = TreeWatch {
            lists_children: root.has(&format!("proc/{pid}/task/{pid}/children")),
            only_node: only_node(&root),
            marked: mark.filter(|_| !shows_others(&root)).map(|mark| Marked::new(&root, pid, mark)),
            root,
            pid,
            members: Vec::new(),
            ended: Vec::new(),
            forgotten: 0,
            at_peak: Together::default(),
            last_read: None,
            nodes_at_peak: None,
            modules_at_peak: BTreeSet::new(),
            pause: SHORTEST_PAUSE,
            rest: Duration::ZERO,
            next_reading: Instant::now(),
            work: Work::new(Instant::now()),
            used_by_ended: Duration::ZERO,
            glances: Price::new(400),
            searches: Price::new(400),
            readings: Price::new(200),
            most_read: 0,
            last_account: 0,
            cpus: None,
            blind: None,
        };
        if shows_others(&watch.root) {
            watch.blind = Some(io::Error::other(SHOWS_OTHERS));
            return watch;
        }
        // Ended or not: its place is the first, and who has ended and was not collected has its CPUs still.
        let program = Stat::read(&watch.root, pid).unwrap_or_default();
        watch.members.push(Member::new(pid, program));
        // Those that there are now are asked here, and not at the expense of the first look: the pause after it is by its cost.
        let marked = watch.find_marked(&HashSet::from([pid]));
        marked.into_iter().for_each(|pid| watch.welcome(pid));
        watch
    }

    /// Looks once, if that is affordable; false if the program has ended, or nothing can be seen of it.
    pub fn look(&mut self) -> bool {
        if self.members.is_empty() {
            return false;
        }
        let before = thread_processor_time();
        let spent = || thread_processor_time().saturating_sub(before);
        self.pause = (self.pause * 5 / 4).min(LONGEST_PAUSE);
        let program = Stat::read(&self.root, self.pid).ok();
        let work = self.work_done(program.as_ref());
        if !self.glances.is_affordable(work) {
            self.glances.paid += spent();
            self.rest = spent() * PAUSE_TO_ASK;
            return program.is_some_and(|program| living_thread(&self.root, self.pid, program).is_some());
        }
        self.search();
        let searched = spent();
        if self.searches.is_affordable(work) {
            self.search_marked();
        }
        let marked = spent().saturating_sub(searched);
        self.searches.paid += marked;
        let looks = self.glance();
        let glanced = spent();
        self.glances.paid += glanced.saturating_sub(marked);
        self.rest = glanced * PAUSE_TO_COST;
        let all = account(&looks);
        if !looks.is_empty() && self.may_read(all, work) {
            let has_read = self.look_into(&looks, all);
            let cost = spent().saturating_sub(glanced);
            self.readings.paid += cost;
            self.next_reading = Instant::now() + cost * PAUSE_TO_COST;
            if has_read {
                self.most_read = self.most_read.max(all);
            }
        }
        self.last_account = all;
        looks.first().is_some_and(|look| look.member == 0)
    }

    /// How long to wait before the next look: 5 ms at first, growing to 100 ms, more where even what the kernel counts anyway is
    /// costly.
    pub fn pause(&self) -> Duration {
        self.pause.max(self.rest)
    }

    /// The work that all have done: by the clocks of the processes that are known, and by what the program has collected of others.
    fn work_done(&mut self, program: Option<&Stat>) -> Duration {
        for member in self.members.iter_mut().filter(|_| self.root.is_live()) {
            let used = process_processor_time(member.memory.pid).unwrap_or_default();
            member.used = member.used.max(used);
        }
        let seen: Duration = self.members.iter().map(|member| member.used).sum();
        let ticks = program.map_or(0, |program| program.ticks() + program.collected_ticks);
        let used = (seen + self.used_by_ended).max(Duration::from_millis(ticks * 1000 / TICKS_PER_S));
        let root = &self.root;
        let waits = |member: &Member| Stat::read(root, member.memory.pid).is_ok_and(|stat| stat.state == 'R');
        self.work.done(used, Instant::now(), || self.members.iter().any(waits))
    }

    /// Whether mappings are to be read now. Where the account has grown much they are at once, though only later work will pay for
    /// it: what there is may be gone by then.
    fn may_read(&self, all: u64, work: Duration) -> bool {
        let kinds = [self.glances, self.searches, self.readings];
        match self.has_grown(all) {
            true => Price::are_affordable(kinds, work * GROWTH_TO_WORK),
            false => self.readings.is_affordable(work) && Instant::now() >= self.next_reading,
        }
    }

    /// Looks for processes that are new below those that are known.
    fn search(&mut self) {
        let known: Vec<u32> = self.members.iter().map(|member| member.memory.pid).collect();
        self.search_below(known);
    }

    /// Looks for those that are known by a mark, and what is below them.
    fn search_marked(&mut self) {
        let seen = self.members.iter().map(|member| member.memory.pid).collect();
        let marked = self.find_marked(&seen);
        marked.iter().for_each(|pid| self.welcome(*pid));
        if !marked.is_empty() {
            self.search_below(marked);
        }
    }

    fn search_below(&mut self, of: Vec<u32>) {
        let mut seen: HashSet<u32> = self.members.iter().map(|member| member.memory.pid).collect();
        if !self.lists_children {
            let found = process::descendants(&self.root, &of).unwrap_or_default();
            found.into_iter().filter(|pid| seen.insert(*pid)).for_each(|pid| self.welcome(pid));
            return;
        }
        let mut parents = of;
        while let Some(parent) = parents.pop() {
            for pid in process::children(&self.root, parent).unwrap_or_default() {
                if seen.insert(pid) {
                    self.welcome(pid);
                    parents.push(pid);
                }
            }
        }
    }

    fn find_marked(&mut self, seen: &HashSet<u32>) -> Vec<u32> {
        let began = self.members.first().map_or(0, |program| program.start_ticks);
        let Some(marked) = &mut self.marked else { return Vec::new() };
        marked.find(&self.root, seen, began, self.lists_children)
    }

    fn welcome(&mut self, pid: u32) {
        // Who has ended and was not collected would be somebody new at every look.
        let Ok(stat) = Stat::read(&self.root, pid) else { return };
        if living_thread(&self.root, pid, stat.clone()).is_some() {
            self.members.push(Member::new(pid, stat));
        }
    }

    /// What the kernel counts anyway, of every member; members that have ended go.
    fn glance(&mut self) -> Vec<Look> {
        let mut looks = Vec::with_capacity(self.members.len());
        let (mut kept, mut ended) = (Vec::with_capacity(self.members.len()), Vec::new());
        for (place, mut member) in std::mem::take(&mut self.members).into_iter().enumerate() {
            let pid = member.memory.pid;
            let stat = Stat::read(&self.root, pid).ok().filter(|stat| stat.start_ticks == member.start_ticks);
            if let Some(stat) = &stat {
                member.memory.cpu_ms = stat.ticks() * 1000 / TICKS_PER_S;
            }
            let status = stat.as_ref().and_then(|_| Status::read(&self.root, pid).ok());
            if place == 0 {
                // One that has ended and was not collected has them still.
                let cpus = status.as_ref().and_then(|status| status.allowed_cpus.clone());
                self.cpus = cpus.or(self.cpus.take());
            }
            match stat.zip(status).and_then(|(stat, status)| self.resident(pid, stat, status)) {
                Some((shown_under, status, bytes)) => {
                    member.memory.peak_rss_bytes = status.vm_hwm_bytes.or(member.memory.peak_rss_bytes);
                    let shared_bytes = status.rss_shmem_bytes.unwrap_or(0);
                    let files = status.rss_file_bytes.unwrap_or(0);
                    let own_bytes = bytes.saturating_sub(shared_bytes).saturating_sub(files);
                    looks.push(Look { member: kept.len(), shown_under, bytes, own_bytes, shared_bytes });
                    kept.push(member);
                }
                // The program itself stays the first, so that a number never means another.
                None if place == 0 => kept.push(member),
                None => ended.push(member),
            }
        }
        self.members = kept;
        self.used_by_ended += ended.iter().map(|member| member.used).sum::<Duration>();
        self.ended.append(&mut ended);
        self.forget_small();
        looks
    }

    /// What is resident of a process, with the number under which that is seen and what `status` says there; `first` and `status` were
    /// read of the process. `None` if it has ended.
    fn resident(&self, pid: u32, first: Stat, status: Status) -> Option<(u32, Status, u64)> {
        if let Some(bytes) = status.resident_bytes() {
            return Some((pid, status, bytes));
        }
        let (thread, _, status) = living_status(&self.root, pid, first)?;
        let bytes = status.resident_bytes()?;
        Some((thread, status, bytes))
    }

    /// Of those that ended only the largest are kept: a build starts thousands.
    fn forget_small(&mut self) {
        if self.ended.len() > 2 * MOST_LISTED {
            sort_by_key(&mut self.ended, |member| std::cmp::Reverse(member.fullest));
            self.forgotten += (self.ended.len() - MOST_LISTED) as u64;
            self.ended.truncate(MOST_LISTED);
        }
    }

    /// Reads the mappings of members that are fuller than ever, and those of all where all together are. Close to a peak the
    /// later look is the better one: pages are collapsed after they are filled. Answers whether any were read.
    fn look_into(&mut self, looks: &[Look], all: u64) -> bool {
        let enough = |fullest: u64| fullest - fullest / 50;
        let known = self.at_peak.memory.of_no_file().bytes;
        let is_peak = self.expected(all) >= enough(known);
        let (mut read, mut modules, mut is_whole) = (Vec::new(), BTreeSet::new(), true);
        for look in looks {
            let Member { memory, fullest, .. } = &self.members[look.member];
            let is_fullest = look.bytes >= enough(*fullest);
            if !is_peak && !is_fullest {
                continue;
            }
            let parent = memory.parent;
            // A child of `vfork` has nothing of its own yet, and is not what it will be.
            let of_parent = looks.iter().find(|look| self.members[look.member].memory.pid == parent);
            let is_shared = |with: &Look| have_one_memory(&self.root, look.shown_under, with.shown_under);
            if of_parent.is_some_and(is_shared) {
                continue;
            }
            match unless_ended(read_smaps(&self.root, look.shown_under)) {
                Ok(Some(regions)) if !regions.is_empty() => {
                    let resident = ProcessResident::of(&regions);
                    let nodes = self.only_node.map(|node| BTreeMap::from([(node, private_bytes(&regions))]));
                    if is_fullest {
                        self.remember(look, &resident);
                    }
                    read.push((look.shown_under, resident, nodes));
                    let code = regions.into_iter().map(|region| region.mapping);
                    let code = code.filter(|it| it.execute && it.backing() == Backing::File);
                    modules.extend(code.map(|mapping| mapping.name));
                }
                // It ended after the glance; one that was not collected has no mappings left.
                Ok(_) => is_whole = false,
                Err(error) => self.blind = Some(error),
            }
        }
        if !is_peak || read.is_empty() {
            return !read.is_empty();
        }
        let together = Together::of(read.iter().map(|(_, resident, _)| resident));
        let bytes = together.memory.of_no_file().bytes;
        self.last_read = is_whole.then_some((all, bytes));
        if bytes >= enough(known) {
            self.at_peak = together;
            self.modules_at_peak = modules;
            self.nodes_at_peak =
                read.into_iter().try_fold(BTreeMap::new(), |mut nodes, (number, _, known)| {
                    for (node, bytes) in known.or_else(|| private_nodes(&self.root, number))? {
                        *nodes.entry(node).or_insert(0) += bytes;
                    }
                    Some(nodes)
                });
        }
        true
    }

    /// Whether the cheap account is half as much again as at any reading and has come to rest, or four times as much. Few readings come
    /// of it, however often the account falls and rises again.
    fn has_grown(&self, all: u64) -> bool {
        let is_at_rest = all <= self.last_account + self.last_account / 10;
        all > self.most_read + self.most_read / 2 && (is_at_rest || all / 4 >= self.most_read)
    }

    /// What all probably have together, by the cheap account. That counts what a parent and its child have in common twice, and of several pieces
    /// of shared memory the largest: in the same proportion as when it was last read. Where it has changed since, it may be as much as
    /// it says.
    fn expected(&self, account: u64) -> u64 {
        let Some((last, counted)) = self.last_read else { return account };
        let alike = (u128::from(account) * u128::from(counted) / u128::from(last.max(1))) as u64;
        if account.abs_diff(last) <= last / 8 { alike } else { alike.max(account) }
    }

    fn remember(&mut self, look: &Look, resident: &ProcessResident) {
        let member = &mut self.members[look.member];
        member.fullest = member.fullest.max(look.bytes);
        member.looked_into = true;
        member.memory.memory = resident.memory;
        if let Ok(program) = program_of(&self.root, look.shown_under) {
            member.memory.program = text_of(program.as_os_str().as_bytes());
        }
    }

    /// Why a process could not be looked into, if one could not.
    pub fn blind(&self) -> Option<&io::Error> {
        self.blind.as_ref()
    }

    /// The CPUs that the first thread of the program could run on at the last look; `None` if it had gone before the first.
    pub fn cpus(&self) -> Option<&[u32]> {
        self.cpus.as_deref()
    }

    /// What was seen; `None` if the program ended before anything was.
    pub fn into_tree(mut self) -> Option<(ProcessTree, PeakPages)> {
        self.glance();
        let outlived = self.members.len().saturating_sub(1) as u64;
        let mut processes: Vec<Member> = self.members.into_iter().chain(self.ended).collect();
        let all = processes.len() as u64 + self.forgotten;
        processes.retain(|member| member.looked_into);
        if processes.is_empty() {
            return None;
        }
        sort_by_key(&mut processes, |member| std::cmp::Reverse(member.memory.memory.of_no_file().bytes));
        processes.truncate(MOST_LISTED);
        let tree = ProcessTree {
            pid: self.pid,
            at_peak: self.at_peak.memory,
            unlisted: all - processes.len() as u64,
            processes: processes.into_iter().map(|member| member.memory).collect(),
            outlived,
        };
        let pages = PeakPages {
            bytes_by_page_size: self.at_peak.bytes_by_page_size,
            bytes_by_node: self.nodes_at_peak,
            unserved: self.at_peak.unserved,
            modules: self.modules_at_peak,
        };
        Some((tree, pages))
    }
}

/// The cheap account of all: what each has of its own, and the largest piece of shared memory.
fn account(looks: &[Look]) -> u64 {
    let shared = looks.iter().map(|look| look.shared_bytes).max().unwrap_or(0);
    looks.iter().fold(shared, |sum, look| sum.saturating_add(look.own_bytes))
}

/// The node of a machine that has all of its memory; `None` if there are several, or the kernel does not say.
fn only_node(root: &Root) -> Option<u32> {
    root.read("sys/devices/system/node/has_memory").ok()??.trim().parse().ok()
}

/// Resident bytes but for pages of files and memory that processes share, as [`private_nodes`] has them: mappings tell it, and to have
/// the kernel walk them once more would cost as much as the first time.
fn private_bytes(regions: &[Region]) -> u64 {
    let of_region = |region: &Region| match region.mapping.backing() {
        Backing::Anonymous | Backing::Stack => region.figures.rss.unwrap_or(0),
        Backing::File | Backing::Kernel => 0,
    };
    regions.iter().map(|region| of_region(region) + region.figures.hugetlb()).sum()
}

/// Resident bytes by node of the process that is shown under a number; `None` if the kernel does not say.
fn private_nodes(root: &Root, number: u32) -> Option<BTreeMap<u32, u64>> {
    match read_bytes_by_node(root, number) {
        Ok(nodes) => nodes,
        // It has ended since its mappings were read.
        Err(_) if Stat::read(root, number).is_err() => Some(BTreeMap::new()),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests;
