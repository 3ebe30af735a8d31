//! The words of placements for those who place their own data: a region's policy, and when a copy on a node pays.

use crate::{MemoryPolicy, Placement, ResolveError, Surroundings};
use firsttouch_linux::numa::{Mode, NodeBits};
use firsttouch_machine::Measurement;
use firsttouch_memory::{NodePolicy, ReplicationCost, Shares};

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
        let mut around = *around;
        around.kernel.weighted_interleave = false;
        let placement = Placement { memory: self.clone(), ..Placement::default() };
        let resolved = placement.resolve(&around)?;
        if !resolved.weights.is_empty() {
            // A byte for each, as the region keeps them; more the ratios have not.
            let byte = |weight: u32| u8::try_from(weight).unwrap_or(u8::MAX);
            let rows: Vec<(u32, u8)> =
                resolved.weights.iter().map(|(node, weight)| (*node, byte(*weight))).collect();
            let shares = Shares::of(&rows).ok_or(ResolveError::TooLarge {
                what: "node",
                number: rows.iter().map(|(node, _)| *node).max().unwrap_or(0),
            })?;
            return Ok(NodePolicy::Weighted(shares));
        }
        let Some((mode, nodes)) = resolved.memory else { return Ok(NodePolicy::Inherited) };
        let number = nodes.iter().copied().max().unwrap_or(0);
        let bits = NodeBits::of(&nodes).ok_or(ResolveError::TooLarge { what: "node", number })?;
        Ok(match mode {
            Mode::Default => NodePolicy::Inherited,
            Mode::Local => NodePolicy::Local,
            Mode::Bind => NodePolicy::Bind(bits),
            Mode::Preferred | Mode::PreferredMany => NodePolicy::Prefer(bits),
            Mode::Interleave | Mode::WeightedInterleave => NodePolicy::Interleave(bits),
        })
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
