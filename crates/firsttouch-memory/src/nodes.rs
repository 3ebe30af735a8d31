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
    /// Those that it may have memory of; none where it is one at most.
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
        allowed: NodeBits::EMPTY,
        machine_has_one: true,
        runs_on_several: false,
        first_policy: None,
        touched: Touched::UNKNOWN,
    };

    /// Asks the kernel, as long as the program has not confined itself.
    pub(crate) fn ask() -> Nodes {
        let on_machine = list(HAS_MEMORY);
        let machine_has_one = on_machine.is_some_and(|nodes: NodeBits| nodes.count() == 1);
        // Containers may forbid the question (seccomp).
        let allowed = numa::allowed_nodes().ok().or(on_machine);
        let Some(allowed) = allowed.filter(|nodes| nodes.count() > 1) else {
            return Nodes { machine_has_one, ..Nodes::ONE };
        };
        Nodes {
            allowed,
            machine_has_one,
            runs_on_several: runs_on_several(),
            first_policy: numa::policy().ok(),
            touched: Touched::UNKNOWN,
        }
    }

    /// Whether it matters where memory lies.
    pub(crate) fn are_several(&self) -> bool {
        !self.allowed.is_empty()
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
        if !numa::policy().is_ok_and(|(_, nodes)| nodes.is_empty()) {
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
        let Ok((mode, nodes)) = numa::policy() else {
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
    let mut lines = Lines::open(path)?;
    numa::Bits::parse(core::str::from_utf8(lines.next()?).ok()?)
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
