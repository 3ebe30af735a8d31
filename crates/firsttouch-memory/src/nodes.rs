//! Which recycled memory may serve, on machines with several memory nodes.
//!
//! A large block of the C library's is new: its pages lie where they are touched first, or where the memory policy has them that the
//! program has set by then (set_mempolicy(2)). Recycled pages lie where their last owner had them. So only those serve that lie
//! where the next owner would get new ones, by the kernel's own account (move_pages(2)); the others go back to the kernel.
//!
//! Who allocates a block need not be who touches it: programs of several threads allocate in one and touch in all, each its part. So large
//! blocks are new, as without us, until it has been seen often enough that all of one lies on one node. What serves again tells
//! nothing of who touches it: so one in sixteen is new after that, too. A program that reads its input by one thread
//! and computes by many creates these in between, and what was seen before counts no more.
//!
//! A filter of system calls (seccomp) that a process has inherited may end it for either question, at whatever moment a block is asked
//! for. So with a filter none is asked: large blocks are new, and smaller ones serve again wherever they lie.

use crate::arena::Wanted;
use crate::lines::Lines;
use crate::pages::BASE;
use core::ffi::CStr;
use core::fmt::Write;
use firsttouch_linux::channel::Line;
use firsttouch_linux::numa::{self, CpuBits, Mode, NodeBits};

/// Smaller blocks glibc recycles as well, wherever they lie (`DEFAULT_MMAP_THRESHOLD_MAX`, mallopt(3)).
const NEW_BYTES: usize = 32 << 20;
/// `MPOL_F_STATIC_NODES`, `MPOL_F_RELATIVE_NODES` and `MPOL_F_NUMA_BALANCING`.
const MODE_FLAGS: usize = 0b111 << 13;
const HAS_CPU: &CStr = c"/sys/devices/system/node/has_cpu";
const HAS_MEMORY: &CStr = c"/sys/devices/system/node/has_memory";

/// What is known of the nodes when a process begins.
#[derive(Debug)]
pub(crate) struct Nodes {
    /// It may have memory of several.
    are_several: bool,
    /// The kernel may be asked where memory lies, and what the policy is.
    may_ask: bool,
    /// Those that it may have memory of, where it matters.
    allowed: NodeBits,
    /// All memory of the machine is of one.
    machine_has_one: bool,
    /// Its threads may run on CPUs of several.
    runs_on_several: bool,
    /// The memory policy that it began with, which what it freed was laid out by.
    first_policy: Option<(usize, NodeBits)>,
    touched: Touched,
}

/// Who touches large blocks, as far as was seen.
#[derive(Debug)]
struct Touched {
    /// So many in a row were touched on one node each.
    in_a_row: u32,
    /// So many show that the program does not spread them: after each that it has spread, twice as many.
    enough: u32,
}

impl Touched {
    const UNKNOWN: Touched = Touched { in_a_row: 0, enough: ENOUGH };

    /// Whether the next may serve again, as it will be touched on one node.
    fn is_on_one(&self) -> bool {
        self.in_a_row >= self.enough && self.in_a_row % ENOUGH != ENOUGH - 1
    }
}

/// So many large blocks in a row that lie on one node each show that their program does not spread them, and one in so many is new after that.
const ENOUGH: u32 = 16;
/// A block whose nodes are looked at is asked about in so many places. Few, as there may be little stack: here, and below, it takes
/// some only where there are several nodes.
const PROBES: usize = 32;

impl Nodes {
    /// One node, as on most machines.
    pub(crate) const ONE: Nodes = Nodes {
        are_several: false,
        may_ask: false,
        allowed: NodeBits::EMPTY,
        machine_has_one: true,
        runs_on_several: false,
        first_policy: None,
        touched: Touched::UNKNOWN,
    };

    /// Perhaps several, of which nothing may be asked.
    const UNASKED: Nodes = Nodes { are_several: true, machine_has_one: false, ..Nodes::ONE };

    /// Finds out, as long as the program has not confined itself.
    pub(crate) fn ask() -> Nodes {
        // On most machines this is enough.
        let of_machine = list(HAS_MEMORY);
        if of_machine.is_some_and(|nodes| nodes.count() <= 1) {
            return Nodes::ONE;
        }
        let (allowed, may_ask) = own_status().unwrap_or((None, false));
        match allowed.or(of_machine) {
            Some(allowed) if allowed.count() <= 1 => Nodes { machine_has_one: false, ..Nodes::ONE },
            Some(allowed) if may_ask => Nodes {
                are_several: true,
                may_ask,
                allowed,
                machine_has_one: false,
                runs_on_several: runs_on_several(),
                first_policy: numa::policy().ok(),
                touched: Touched::UNKNOWN,
            },
            _ => Nodes::UNASKED,
        }
    }

    /// Whether it matters where memory lies.
    pub(crate) fn are_several(&self) -> bool {
        self.are_several
    }

    /// Whether it matters, and the kernel may be asked where memory lies and what the policy is.
    pub(crate) fn may_ask(&self) -> bool {
        self.may_ask
    }

    /// The calling thread's memory policy.
    fn policy(&self) -> Option<(usize, NodeBits)> {
        if self.may_ask { numa::policy().ok() } else { None }
    }

    /// Whether the kernel may be offered pages that are held, to take when it is short of memory (`MADV_FREE`). Linux 6.12 has
    /// been seen to take huge pages that had been written to since, where it balances the nodes of a machine (`kernel.numa_balancing`) and is
    /// short of memory (`lab c/pressure.c`). It may come to do so at any time, whatever nodes the process has.
    pub(crate) fn allow_offers(&self) -> bool {
        self.machine_has_one
    }

    /// Looks where a block lies that is about to be freed.
    pub(crate) fn before_free(&mut self, address: usize, bytes: usize) {
        if self.runs_on_several && bytes >= NEW_BYTES {
            self.look(address, bytes);
        }
    }

    /// The program creates a thread: what it does from now on may be another's work.
    pub(crate) fn before_thread(&mut self) {
        self.touched.in_a_row = 0;
    }

    #[inline(never)]
    fn look(&mut self, address: usize, bytes: usize) {
        // Under any other policy it says nothing of who touches what.
        if !self.policy().is_some_and(|(_, nodes)| nodes.is_empty()) {
            return;
        }
        let addresses: [usize; PROBES] =
            core::array::from_fn(|probe| address + bytes / PROBES / BASE * BASE * probe);
        let mut answers = [-1; PROBES];
        if numa::nodes_of(&addresses, &mut answers).is_err() {
            return;
        }
        let mut nodes = answers.iter().filter(|answer| **answer >= 0);
        let Some(first) = nodes.next() else { return };
        let Touched { in_a_row, enough } = &mut self.touched;
        if !nodes.clone().all(|node| node == first) {
            (*in_a_row, *enough) = (0, enough.saturating_mul(2));
        } else if nodes.count() >= PROBES / 2 {
            *in_a_row = in_a_row.wrapping_add(1);
        }
    }

    /// What of recycled memory may serve a block of so many bytes of the calling thread's, where there are several nodes.
    pub(crate) fn wanted(&self, bytes: usize) -> Wanted {
        let is_new_without_us = bytes >= NEW_BYTES;
        let Some((mode, nodes)) = self.policy() else {
            return if is_new_without_us { Wanted::Nothing } else { Wanted::All };
        };
        let is_mode = |one: Mode| mode & !MODE_FLAGS == one as usize;
        if is_mode(Mode::Interleave) || is_mode(Mode::WeightedInterleave) {
            return if self.first_policy == Some((mode, nodes)) { Wanted::All } else { Wanted::Nothing };
        }
        if is_new_without_us && self.runs_on_several && nodes.count() != 1 && !self.touched.is_on_one() {
            return Wanted::Nothing;
        }
        let targets = if nodes.is_empty() { self.allowed } else { nodes };
        // A node without memory has it of others.
        let own =
            numa::place().ok().and_then(|(_, node)| NodeBits::of(&[node]).filter(|_| targets.contains(node)));
        Wanted::On(own.unwrap_or(targets))
    }
}

/// The nodes that a process may have memory of, where the kernel tells of them, and whether no filter of system calls is in its way.
fn own_status() -> Option<(Option<NodeBits>, bool)> {
    let mut lines = Lines::open(c"/proc/thread-self/status")?;
    let (mut nodes, mut is_unfiltered) = (None, true);
    while let Some(line) = lines.next() {
        if let Some(mode) = line.strip_prefix(b"Seccomp:") {
            is_unfiltered = mode.trim_ascii() == b"0";
        } else if let Some(list) = line.strip_prefix(b"Mems_allowed_list:") {
            nodes = parsed(list.trim_ascii());
        }
    }
    Some((nodes, is_unfiltered))
}

/// Whether the CPUs of the calling thread, which is the first of its process, are those of several nodes; where that cannot be read,
/// whether there are several.
fn runs_on_several() -> bool {
    let Ok(cpus) = numa::affinity(0) else { return true };
    let has_own = |node: u32| Some(cpus_of(node)?.iter().any(|cpu| cpus.contains(cpu)));
    let count = || {
        let (nodes, mut count): (NodeBits, _) = (list(HAS_CPU)?, 0);
        for node in nodes.iter() {
            count += u32::from(has_own(node)?);
        }
        Some(count)
    };
    count().unwrap_or_else(|| cpus.count()) > 1
}

fn cpus_of(node: u32) -> Option<CpuBits> {
    let mut path = Line::<64>::EMPTY;
    write!(path, "/sys/devices/system/node/node{node}/cpulist\0").ok()?;
    list(CStr::from_bytes_until_nul(path.bytes()).ok()?)
}

/// The numbers that a file lists.
fn list<const WORDS: usize>(path: &CStr) -> Option<numa::Bits<WORDS>> {
    parsed(Lines::open(path)?.next()?)
}

fn parsed<const WORDS: usize>(list: &[u8]) -> Option<numa::Bits<WORDS>> {
    numa::Bits::parse(core::str::from_utf8(list).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_linux::sys;
    use std::thread;

    /// What a process finds on a machine with two nodes, whose CPUs all are its own.
    fn two() -> Nodes {
        let allowed = NodeBits::of(&[0, 1]).unwrap();
        Nodes {
            are_several: true,
            may_ask: true,
            allowed,
            machine_has_one: false,
            runs_on_several: true,
            first_policy: numa::policy().ok(),
            touched: Touched::UNKNOWN,
        }
    }

    fn touched(bytes: usize) -> usize {
        let read_write = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, with all of its pages.
        unsafe { sys::map_anonymous(0, bytes, read_write, libc::MAP_POPULATE) }.unwrap()
    }

    #[test]
    fn large_blocks_are_new_until_many_lay_on_one_node_and_one_in_so_many_after_that() {
        let own = NodeBits::of(&[numa::place().unwrap().1]).unwrap();
        let (mut nodes, memory) = (two(), touched(NEW_BYTES));
        let are_new = |nodes: &mut Nodes, count: u32| {
            for _ in 0..count {
                assert_eq!(nodes.wanted(NEW_BYTES), Wanted::Nothing);
                assert_eq!(nodes.wanted(NEW_BYTES - 1), Wanted::On(own));
                nodes.before_free(memory, NEW_BYTES - 1);
                nodes.before_free(memory, NEW_BYTES);
            }
            assert_eq!(nodes.wanted(NEW_BYTES), Wanted::On(own));
        };
        are_new(&mut nodes, ENOUGH);
        (1..ENOUGH).for_each(|_| nodes.before_free(memory, NEW_BYTES));
        are_new(&mut nodes, 1);
        nodes.before_thread();
        are_new(&mut nodes, ENOUGH);
        nodes.touched = Touched { in_a_row: 0, enough: 2 * ENOUGH };
        are_new(&mut nodes, 2 * ENOUGH);
        nodes.before_thread();
        assert_eq!(nodes.wanted(NEW_BYTES), Wanted::Nothing);
        nodes.runs_on_several = false;
        assert_eq!(nodes.wanted(NEW_BYTES), Wanted::On(own));
        assert!(nodes.are_several() && !Nodes::ONE.are_several());
    }

    #[test]
    fn without_a_question_large_blocks_are_new_and_small_ones_serve_again() {
        let (mut nodes, memory) = (Nodes::UNASKED, touched(NEW_BYTES));
        for _ in 0..=ENOUGH {
            nodes.before_free(memory, NEW_BYTES);
        }
        assert!(nodes.are_several() && nodes.policy().is_none());
        assert_eq!(nodes.wanted(NEW_BYTES), Wanted::Nothing);
        assert_eq!(nodes.wanted(NEW_BYTES - 1), Wanted::All);
    }

    #[test]
    fn the_policy_of_the_thread_counts() {
        // In a thread of its own: the policy dies with it.
        let apart = thread::spawn(|| {
            let (mut nodes, first) = (two(), NodeBits::of(&[0]).unwrap());
            numa::set_policy(Mode::Bind, &first).unwrap();
            assert_eq!(nodes.wanted(NEW_BYTES), Wanted::On(first));
            numa::set_policy(Mode::Interleave, &first).unwrap();
            assert_eq!(nodes.wanted(1), Wanted::Nothing);
            nodes.first_policy = numa::policy().ok();
            assert_eq!(nodes.wanted(1), Wanted::All);
        });
        assert!(apart.join().is_ok());
    }
}
