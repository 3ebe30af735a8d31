//! Data that is only read, once on every node: each thread reads what lies next to it.

use super::plain::PlainData;
use super::policy::NodePolicy;
use super::{Builder, Region, RegionError, RegionReceipt};
use crate::coverage::ByNode;
use crate::pages::HUGE;
use crate::reason::Reason;
use core::marker::PhantomData;
use firsttouch_linux::numa::{self, NodeBits};

/// Elements with a copy on every node.
///
/// ```
/// use firsttouch_memory::{Region, Replicated};
/// let table: Vec<f64> = (0..100_000).map(f64::from).collect();
/// let copies = Replicated::new(Region::of(0).name("table"), &table, &[])?;
/// // In each thread, once for each stretch of work:
/// let mine = copies.local();
/// assert_eq!(mine[77], 77.0);
/// if let Some(reason) = copies.shortfall() {
///     println!("one copy for all nodes: {}", reason.remedy());
/// }
/// # Ok::<(), firsttouch_memory::RegionError>(())
/// ```
#[derive(Debug)]
pub struct Replicated<T: PlainData> {
    region: Region,
    elements: usize,
    /// From one copy to the next.
    stride_bytes: usize,
    /// The nodes that have a copy, in the order of the copies.
    nodes: NodeBits,
    shortfall: Option<Reason>,
    element: PhantomData<T>,
}

impl<T: PlainData> Replicated<T> {
    /// Copies data to each of these nodes (without any: to every node this process may take memory from), on memory as it
    /// is described; of its size and nodes nothing is taken. Where a node has no room, or nodes cannot be chosen, there is
    /// one copy for all, and [`Replicated::shortfall`] says why.
    pub fn new(description: Builder, data: &[T], nodes: &[u32]) -> Result<Replicated<T>, RegionError> {
        let bytes = size_of_val(data);
        let chosen = if nodes.is_empty() {
            // Without NUMA there is one.
            numa::allowed_nodes().ok().filter(|nodes| !nodes.is_empty()).or_else(|| NodeBits::of(&[0]))
        } else {
            NodeBits::of(nodes)
        };
        let wrong = RegionError::Bind { node: nodes.iter().copied().max().unwrap_or(0), errno: libc::EINVAL };
        let chosen = chosen.ok_or(wrong)?;
        let single = |shortfall| -> Result<Replicated<T>, RegionError> {
            let mut region = description.memory(NodePolicy::Inherited).sized(bytes).map()?;
            region.as_mut_slice_of()[..data.len()].copy_from_slice(data);
            let nodes = NodeBits::EMPTY;
            let (elements, element) = (data.len(), PhantomData);
            Ok(Replicated { region, elements, stride_bytes: 0, nodes, shortfall, element })
        };
        let copies = chosen.count() as usize;
        if copies < 2 {
            return single(None);
        }
        let stride_bytes = bytes.max(1).next_multiple_of(description.pages.bytes().max(HUGE));
        let all = stride_bytes.saturating_mul(copies);
        let mut region = match description.memory(NodePolicy::Blocks(chosen)).sized(all).map() {
            Ok(region) => region,
            // A node that does not exist is a mistake; one that is full is not.
            Err(error @ (RegionError::Bind { .. } | RegionError::Align { .. })) => return Err(error),
            Err(_) => return single(Some(Reason::NodeFull)),
        };
        if let Some(reason) = region.unplaced {
            drop(region);
            return single(Some(reason));
        }
        for copy in 0..copies {
            let from = copy * stride_bytes;
            copy_into(&mut region.as_mut_slice()[from..from + bytes], data);
        }
        for (copy, node) in chosen.iter().enumerate() {
            let from = region.address + copy * stride_bytes;
            let there = ByNode::look(from, from + bytes, HUGE);
            let is_elsewhere =
                |there: ByNode| there.iter().any(|(of, bytes)| u32::from(of) != node && bytes > 0);
            if there.is_some_and(is_elsewhere) {
                drop(region);
                return single(Some(Reason::NodeFull));
            }
        }
        let (elements, element) = (data.len(), PhantomData);
        Ok(Replicated { region, elements, stride_bytes, nodes: chosen, shortfall: None, element })
    }

    /// The copy on the node of the calling thread; on another node's if that has none. The kernel is asked where the
    /// thread runs: once for a stretch of work, not for each element.
    pub fn local(&self) -> &[T] {
        self.on(numa::place().map_or(0, |(_, node)| node))
    }

    /// The copy on a node, or the first one if that has none.
    pub fn on(&self, node: u32) -> &[T] {
        let copy = self.nodes.iter().position(|with| with == node).unwrap_or(0);
        let start = copy * self.stride_bytes;
        // SAFETY: copies begin with pages and lie in the region, which is borrowed; any bytes are elements.
        unsafe {
            let first = self.region.as_slice().as_ptr().add(start).cast::<T>();
            core::slice::from_raw_parts(first, self.elements)
        }
    }

    /// The nodes with a copy of their own; empty where there is one for all.
    pub fn nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.nodes.iter()
    }

    /// Why there is one copy for all; `None` if every node has its own, or there is but one node.
    pub fn shortfall(&self) -> Option<Reason> {
        self.shortfall
    }

    /// What the memory of all copies has obtained.
    pub fn receipt(&self) -> RegionReceipt {
        self.region.receipt()
    }
}

fn copy_into<T: PlainData>(memory: &mut [u8], data: &[T]) {
    // SAFETY: plain data has no padding: every byte of it is initialised.
    let bytes = unsafe { core::slice::from_raw_parts(data.as_ptr().cast::<u8>(), size_of_val(data)) };
    memory.copy_from_slice(bytes);
}

/// What decides whether a copy on a node pays: measured rates and latencies, as `firsttouch measure` finds them.
///
/// ```
/// use firsttouch_memory::ReplicationCost;
/// let cost = ReplicationCost {
///     copy_bytes_per_s: 10e9,
///     local_bytes_per_s: 20e9,
///     remote_bytes_per_s: 10e9,
///     local_ns: 90.0,
///     remote_ns: 140.0,
/// };
/// // Half as fast from afar: a copy of 1 GiB, which takes as long as two gigabytes read at home, pays after 2 GiB.
/// assert_eq!(cost.streamed_bytes(1 << 30), Some(2.0 * (1_u64 << 30) as f64));
/// assert_eq!(cost.random_reads(1 << 30).map(f64::round), Some(2_147_484.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplicationCost {
    /// Bytes of data copied to the node in a second.
    pub copy_bytes_per_s: f64,
    /// Bytes that the node reads from its own memory in a second.
    pub local_bytes_per_s: f64,
    /// Bytes that it reads from where the data is now.
    pub remote_bytes_per_s: f64,
    /// Nanoseconds of a dependent read of its own memory.
    pub local_ns: f64,
    /// Nanoseconds of a dependent read of where the data is now.
    pub remote_ns: f64,
}

impl ReplicationCost {
    /// Bytes that the node must read one after the other before a copy of so many bytes has paid; `None` if it never does.
    pub fn streamed_bytes(&self, bytes: u64) -> Option<f64> {
        let gain_s = 1.0 / self.remote_bytes_per_s - 1.0 / self.local_bytes_per_s;
        let reads = self.copy_s(bytes) / gain_s;
        (gain_s > 0.0 && reads.is_finite()).then_some(reads)
    }

    /// Dependent reads, here and there in the data, before a copy of so many bytes has paid; `None` if it never does.
    pub fn random_reads(&self, bytes: u64) -> Option<f64> {
        let gain_ns = self.remote_ns - self.local_ns;
        let reads = self.copy_s(bytes) * 1e9 / gain_ns;
        (gain_ns > 0.0 && reads.is_finite()).then_some(reads)
    }

    fn copy_s(&self, bytes: u64) -> f64 {
        bytes as f64 / self.copy_bytes_per_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::Pages;
    use std::vec::Vec;

    #[test]
    fn every_reader_finds_the_data() {
        let data: Vec<u32> = (0..300_000).collect();
        for pages in [Pages::Base, Pages::Transparent] {
            let copies = Replicated::new(Region::of(0).pages(pages), &data, &[]).unwrap();
            assert_eq!(copies.local(), data);
            for node in [0, 1, 900] {
                assert_eq!(copies.on(node), data);
            }
            let own = copies.nodes().count();
            assert!(own != 1 && (own > 1 || copies.shortfall().is_none() || own == 0));
        }
        let none: [u64; 0] = [];
        assert!(Replicated::new(Region::of(0), &none, &[]).unwrap().local().is_empty());
    }

    #[test]
    fn a_node_that_does_not_exist_is_an_error() {
        for node in [900, 5000] {
            let error = Replicated::new(Region::of(0), &[1_u8], &[0, node]).unwrap_err();
            assert!(matches!(error, RegionError::Bind { .. }), "{error}");
        }
    }

    #[test]
    fn a_copy_that_gains_nothing_never_pays() {
        let cost = ReplicationCost {
            copy_bytes_per_s: 1e9,
            local_bytes_per_s: 1e9,
            remote_bytes_per_s: 1e9,
            local_ns: 100.0,
            remote_ns: 90.0,
        };
        assert_eq!((cost.streamed_bytes(1), cost.random_reads(1)), (None, None));
        let nothing = ReplicationCost { copy_bytes_per_s: 0.0, remote_ns: 200.0, ..cost };
        assert_eq!(nothing.random_reads(1), None);
    }
}
