//! The words of placements for those who place their own data: a region's policy, and when a copy on a node pays.

use crate::resolve::too_large;
use crate::{MemoryPolicy, Placement, ResolveError, Surroundings};
use firsttouch_machine::Measurement;
use firsttouch_memory::{NodePolicy, ReplicationCost};

impl MemoryPolicy {
    /// The policy of a [`firsttouch_memory::Region`] on this machine: numbers for words and tiers, weights from what was
    /// measured. Weights are the region's own, whether or not the kernel has some for the whole machine.
    ///
    /// ```
    /// use firsttouch_machine::{Machine, Root};
    /// use firsttouch_memory::Region;
    /// use firsttouch_placement::{MemoryPolicy, Policies, Surroundings};
    /// let machine = Machine::read(&Root::live())?;
    /// let kernel = Policies { preferred_many: true, weighted_interleave: false };
    /// let around = Surroundings { machine: &machine, near: None, measured: None, kernel };
    /// let policy: MemoryPolicy = "prefer=all".parse()?;
    /// let region = Region::of(2 << 20).memory(policy.for_region(&around)?).map()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_region(&self, around: &Surroundings<'_>) -> Result<NodePolicy, ResolveError> {
        let placement = Placement { memory: self.clone(), ..Placement::default() };
        let memory = placement.resolve(around)?.memory;
        memory.of_region().ok_or_else(|| too_large(&memory.nodes()))
    }
}

/// What decides whether threads of node `reader` should have a copy of data that lies on node `data`, by what one CPU was
/// measured to do; `None` where that was not measured.
pub fn replication_cost(measured: &Measurement, reader: u32, data: u32) -> Option<ReplicationCost> {
    let index = |node: u32| measured.nodes.iter().position(|known| known.id == node);
    let (reader, data) = (index(reader)?, index(data)?);
    let at = |matrix: &firsttouch_machine::Matrix, to: usize| *matrix.get(reader)?.get(to)?;
    let one = &measured.single_cpu;
    // Bytes read and bytes written both count there. What is read comes from afar, so this is no less than the truth.
    let copy = at(&one.copy_gbps, reader)?.min(2.0 * at(&one.read_gbps, data)?) / 2.0;
    Some(ReplicationCost {
        copy_bytes_per_s: copy * 1e9,
        local_bytes_per_s: at(&one.read_gbps, reader)? * 1e9,
        remote_bytes_per_s: at(&one.read_gbps, data)? * 1e9,
        local_ns: at(&measured.latency_ns, reader)?,
        remote_ns: at(&measured.latency_ns, data)?,
    })
}
