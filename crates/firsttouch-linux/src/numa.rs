//! Memory policy and CPU affinity by system calls alone: no `errno`, no allocation, nothing that can be interposed.
//!
//! See set_mempolicy(2), mbind(2), get_mempolicy(2), move_pages(2), sched_setaffinity(2). The sets have the size of the
//! largest that a kernel can be built for, so that no call is refused for a set that is too small.

use crate::sys::{Answer, call};
use core::fmt;

/// Words of a set of nodes: 1024 nodes (`CONFIG_NODES_SHIFT` is 10 at most).
const NODE_WORDS: usize = 16;
/// Words of a set of CPUs: 8192 CPUs (`CONFIG_NR_CPUS` of a kernel with `MAXSMP`).
const CPU_WORDS: usize = 128;

/// A set of small numbers, one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Bits<const WORDS: usize>([u64; WORDS]);

/// Digits alone: no sign.
pub(crate) fn decimal(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A set of memory nodes.
pub type NodeBits = Bits<NODE_WORDS>;
/// A set of CPUs.
pub type CpuBits = Bits<CPU_WORDS>;

impl<const WORDS: usize> Bits<WORDS> {
    /// The set of nothing.
    pub const EMPTY: Self = Bits([0; WORDS]);
    /// The set of all numbers that a set can have.
    pub const ALL: Self = Bits([u64::MAX; WORDS]);
    /// Numbers from here on are in no set.
    pub const END: u32 = WORDS as u32 * 64;

    /// A set of these; `None` if one is too large.
    pub fn of(numbers: &[u32]) -> Option<Self> {
        let mut bits = Self::EMPTY;
        numbers.iter().all(|number| bits.insert(*number)).then_some(bits)
    }

    /// Reads a list like `0-3,8`; `None` for anything else, and for numbers that are too large.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bits = Self::EMPTY;
        for word in text.split(',') {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            // A number beyond the set ends the loop, however far the range goes.
            let mut range = decimal(first)?..=decimal(last)?;
            if range.is_empty() || !range.all(|number| bits.insert(number)) {
                return None;
            }
        }
        Some(bits)
    }

    /// Adds a number; false if it is too large.
    pub fn insert(&mut self, number: u32) -> bool {
        let Some(word) = self.0.get_mut(number as usize / 64) else { return false };
        *word |= 1 << (number % 64);
        true
    }

    /// Whether a number is in the set.
    pub fn contains(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).zip(&self.0).flat_map(|(index, word)| {
            let mut rest = *word;
            core::iter::from_fn(move || {
                let lowest = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(index * 64 + lowest)
            })
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The words, the lowest numbers first: what the kernel reads and writes.
    pub fn words(&self) -> &[u64; WORDS] {
        &self.0
    }

    fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }

    fn address_mut(&mut self) -> usize {
        self.0.as_mut_ptr() as usize
    }

    const BYTES: usize = WORDS * 8;
    /// The kernel takes one off the length of a set of nodes before it uses it.
    const MAX_NODE: usize = WORDS * 64 + 1;
}

impl<const WORDS: usize> fmt::Display for Bits<WORDS> {
    /// As [`Bits::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut first = 0;
        for number in self.iter() {
            if number == 0 || !self.contains(number - 1) {
                first = number;
            }
            if !self.contains(number + 1) {
                write!(f, "{separator}{first}")?;
                if number > first {
                    write!(f, "-{number}")?;
                }
                separator = ",";
            }
        }
        Ok(())
    }
}

impl<const WORDS: usize> fmt::Debug for Bits<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Where new pages come from (`MPOL_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Mode {
    /// As the kernel decides: of a thread the node of its CPU, of a mapping what the thread says.
    Default = 0,
    /// One node, and others when it is full.
    Preferred = 1,
    /// These nodes only.
    Bind = 2,
    /// Page by page over these nodes.
    Interleave = 3,
    /// The node of the CPU that touches first.
    Local = 4,
    /// These nodes, and others when they are full (Linux 5.15).
    PreferredMany = 5,
    /// Over these nodes by the weights in `/sys/kernel/mm/mempolicy/weighted_interleave` (Linux 6.9).
    WeightedInterleave = 6,
}

const MPOL_F_NODE: usize = 1;
const MPOL_F_ADDR: usize = 2;
const MPOL_F_MEMS_ALLOWED: usize = 4;

/// Sets the policy of the calling thread; threads and programs that it starts inherit it.
pub fn set_policy(mode: Mode, nodes: &NodeBits) -> Answer {
    let (mask, length) = mask_of(nodes);
    // SAFETY: decides where future pages come from; the kernel reads a set of the length named.
    unsafe { call(libc::SYS_set_mempolicy, [mode as usize, mask, length, 0, 0, 0]) }
}

/// Sets the policy of the whole pages of a range, for pages that do not exist yet.
pub fn set_policy_of(address: usize, bytes: usize, mode: Mode, nodes: &NodeBits) -> Answer {
    let (mask, length) = mask_of(nodes);
    // SAFETY: decides where future pages come from and changes no contents; a range without a mapping is refused.
    unsafe { call(libc::SYS_mbind, [address, bytes, mode as usize, mask, length, 0]) }
}

/// The default and the local policy must come without a set.
fn mask_of(nodes: &NodeBits) -> (usize, usize) {
    if nodes.is_empty() { (0, 0) } else { (nodes.address(), NodeBits::MAX_NODE) }
}

/// The policy of the calling thread: the mode with its flags, as the kernel numbers it, and the nodes.
pub fn policy() -> Result<(usize, NodeBits), i32> {
    get_policy(0, 0)
}

/// The policy that pages at an address follow.
pub fn policy_at(address: usize) -> Result<(usize, NodeBits), i32> {
    get_policy(address, MPOL_F_ADDR)
}

fn get_policy(address: usize, flags: usize) -> Result<(usize, NodeBits), i32> {
    let (mut mode, mut nodes) = (0_i32, NodeBits::EMPTY);
    let arguments = [&raw mut mode as usize, nodes.address_mut(), NodeBits::MAX_NODE, address, flags, 0];
    // SAFETY: the kernel fills the number and the set, whose length is named.
    unsafe { call(libc::SYS_get_mempolicy, arguments) }?;
    Ok((mode as usize, nodes))
}

/// The nodes that the cpuset lets this thread take memory from.
pub fn allowed_nodes() -> Result<NodeBits, i32> {
    let mut nodes = NodeBits::EMPTY;
    let arguments = [0, nodes.address_mut(), NodeBits::MAX_NODE, 0, MPOL_F_MEMS_ALLOWED, 0];
    // SAFETY: the kernel fills the set, whose length is named.
    unsafe { call(libc::SYS_get_mempolicy, arguments) }?;
    Ok(nodes)
}

/// The node that the page at an address lies on; the page is created if there is none.
pub fn node_of(address: usize) -> Result<u32, i32> {
    let mut node = 0_i32;
    let arguments = [&raw mut node as usize, 0, 0, address, MPOL_F_NODE | MPOL_F_ADDR, 0];
    // SAFETY: the kernel fills the number.
    unsafe { call(libc::SYS_get_mempolicy, arguments) }?;
    u32::try_from(node).map_err(|_| libc::EINVAL)
}

/// The node of each page of this process, by address: a negative error number where there is none (`-ENOENT`: not
/// touched yet). `nodes` must be as long as `addresses`.
pub fn nodes_of(addresses: &[usize], nodes: &mut [i32]) -> Answer {
    if nodes.len() != addresses.len() {
        return Err(libc::EINVAL);
    }
    let arguments = [0, addresses.len(), addresses.as_ptr() as usize, 0, nodes.as_mut_ptr() as usize, 0];
    // SAFETY: without target nodes nothing is moved; the kernel fills as many answers as there are addresses.
    unsafe { call(libc::SYS_move_pages, arguments) }
}

/// Moves pages of this process to nodes, by address (`MPOL_MF_MOVE`: only pages that nobody else has); `states` gets what
/// came of each, a node or a negative error number. `nodes` and `states` must be as long as `addresses`.
pub fn move_own_pages(addresses: &[usize], nodes: &[i32], states: &mut [i32]) -> Answer {
    const MPOL_MF_MOVE: usize = 1 << 1;
    if nodes.len() != addresses.len() || states.len() != addresses.len() {
        return Err(libc::EINVAL);
    }
    let (pages, targets) = (addresses.as_ptr() as usize, nodes.as_ptr() as usize);
    let arguments = [0, addresses.len(), pages, targets, states.as_mut_ptr() as usize, MPOL_MF_MOVE];
    // SAFETY: contents and addresses of memory stay; the kernel fills as many answers as there are addresses.
    unsafe { call(libc::SYS_move_pages, arguments) }
}

/// Binds a thread to CPUs; 0 is the calling one.
pub fn set_affinity(thread: u32, cpus: &CpuBits) -> Answer {
    // SAFETY: decides where a thread runs; the kernel reads a set of the length named.
    unsafe { call(libc::SYS_sched_setaffinity, [thread as usize, CpuBits::BYTES, cpus.address(), 0, 0, 0]) }
}

/// The CPUs that a thread may run on; 0 is the calling one.
pub fn affinity(thread: u32) -> Result<CpuBits, i32> {
    let mut cpus = CpuBits::EMPTY;
    let arguments = [thread as usize, CpuBits::BYTES, cpus.address_mut(), 0, 0, 0];
    // SAFETY: the kernel fills at most the length named.
    unsafe { call(libc::SYS_sched_getaffinity, arguments) }?;
    Ok(cpus)
}

/// The CPU that the calling thread runs on now, and its node.
pub fn place() -> Result<(u32, u32), i32> {
    let (mut cpu, mut node) = (0_u32, 0_u32);
    // SAFETY: the kernel fills both numbers.
    unsafe { call(libc::SYS_getcpu, [&raw mut cpu as usize, &raw mut node as usize, 0, 0, 0, 0]) }?;
    Ok((cpu, node))
}

/// The number of the calling thread.
pub fn thread_id() -> u32 {
    // SAFETY: takes no argument and cannot fail.
    unsafe { call(libc::SYS_gettid, [0; 6]) }.unwrap_or(0) as u32
}

/// Whether a thread of a process still runs.
pub fn is_alive(process: u32, thread: u32) -> bool {
    // SAFETY: signal 0 is sent to nobody: the call only looks.
    let answer = unsafe { call(libc::SYS_tgkill, [process as usize, thread as usize, 0, 0, 0, 0]) };
    answer != Err(libc::ESRCH)
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let bits = NodeBits::of(&[0, 63, 64, 1023]).unwrap();
        assert_eq!(bits.iter().collect::<Vec<_>>(), [0, 63, 64, 1023]);
        assert_eq!((bits.count(), bits.contains(1), bits.contains(5000)), (4, false, false));
        assert!(NodeBits::of(&[1024]).is_none() && NodeBits::EMPTY.is_empty());
        assert_eq!(format!("{bits:?}"), "{0, 63, 64, 1023}");
    }

    /// In a thread of its own: the policy dies with it.
    fn apart(test: impl FnOnce() + Send + 'static) {
        assert!(thread::spawn(test).join().is_ok());
    }

    #[test]
    fn a_policy_reads_back() {
        apart(|| {
            let Ok(allowed) = allowed_nodes() else { return };
            let first = NodeBits::of(&[allowed.iter().next().unwrap()]).unwrap();
            for mode in [Mode::Bind, Mode::Preferred, Mode::Interleave] {
                set_policy(mode, &first).unwrap();
                assert_eq!(policy(), Ok((mode as usize, first)), "{mode:?}");
            }
            let page = vec![1_u8; 4096];
            assert_eq!(node_of(page.as_ptr() as usize).ok(), first.iter().next());
            set_policy(Mode::Local, &NodeBits::EMPTY).unwrap();
            assert_eq!(policy().unwrap().0, Mode::Local as usize);
            let nowhere = NodeBits::of(&[NodeBits::END - 1]).unwrap();
            assert_eq!(set_policy(Mode::Bind, &nowhere), Err(libc::EINVAL));
        });
    }

    #[test]
    fn a_range_has_a_policy_of_its_own() {
        let Ok(allowed) = allowed_nodes() else { return };
        let first = NodeBits::of(&[allowed.iter().next().unwrap()]).unwrap();
        // A mapping: the policy of a part of it must not split memory that others share.
        let memory = vec![1_u8; 4 << 20];
        let page = (memory.as_ptr() as usize).next_multiple_of(4096);
        set_policy_of(page, 4096, Mode::Preferred, &first).unwrap();
        assert_eq!(policy_at(page), Ok((Mode::Preferred as usize, first)));
        let mut nodes = [-1; 1];
        nodes_of(&[page], &mut nodes).unwrap();
        assert!(nodes[0] >= 0, "{nodes:?}");
        assert_eq!(nodes_of(&[page], &mut []), Err(libc::EINVAL));
        let mut states = [-1; 2];
        move_own_pages(&[page, 0], &[nodes[0]; 2], &mut states).unwrap();
        assert_eq!(states, [nodes[0], -libc::EFAULT]);
        assert_eq!(move_own_pages(&[page], &[], &mut states), Err(libc::EINVAL));
    }

    #[test]
    fn a_thread_is_bound_and_reads_back() {
        apart(|| {
            let before = affinity(0).unwrap();
            let last = CpuBits::of(&[before.iter().last().unwrap()]).unwrap();
            set_affinity(0, &last).unwrap();
            assert_eq!(affinity(thread_id()), Ok(last));
            assert_eq!(last.iter().next(), place().ok().map(|(cpu, _)| cpu));
            assert_eq!(set_affinity(0, &CpuBits::EMPTY), Err(libc::EINVAL));
            assert!(is_alive(crate::sys::process_id(), thread_id()));
        });
        let gone = thread::spawn(thread_id).join().unwrap();
        // The kernel takes a joined thread down a moment after it was joined.
        while is_alive(crate::sys::process_id(), gone) {
            thread::yield_now();
        }
    }
}
