//! The memory that is measured: created, written and read back before anything is timed.

use crate::MeasureError;
use crate::plan::{MemoryNode, Plan};
use firsttouch_memory::{Pages, Region};
use firsttouch_threads::at_once;

/// The regions, in the order of the plan's memory nodes.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) chains: Vec<Region>,
    pub(crate) streams: Vec<Region>,
    /// The region of 4 KiB pages, for the comparison of page sizes.
    pub(crate) small: Option<Region>,
    pub(crate) notes: Vec<String>,
}

impl Memory {
    /// Creates everything, one thread for each node.
    pub(crate) fn create(plan: &Plan) -> Result<Memory, MeasureError> {
        let created = at_once(plan.memory_nodes.iter().enumerate().map(|(index, node)| {
            move || {
                let chain = region(plan, node, plan.pages)?;
                let stream = region(plan, node, plan.pages)?;
                let here = plan.page_pair.is_some_and(|(_, memory)| memory == index);
                let small = here.then(|| region(plan, node, Pages::Base)).transpose()?;
                Ok((chain, stream, small))
            }
        }));
        let created = created.into_iter().collect::<Result<Vec<_>, MeasureError>>()?;
        let mut memory = Memory { chains: Vec::new(), streams: Vec::new(), small: None, notes: Vec::new() };
        for (node, (chain, stream, small)) in plan.memory_nodes.iter().zip(created) {
            memory.notes.extend(shortfall(node, plan.pages, &chain));
            memory.chains.push(chain);
            memory.streams.push(stream);
            memory.small = memory.small.or(small);
        }
        Ok(memory)
    }

    /// The kinds of pages that the regions got, each once.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let mut kinds: Vec<String> = Vec::new();
        for kind in self.chains.iter().chain(&self.streams).map(|region| region.pages().to_string()) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }

    /// The least share of a region that lies on huge pages; `None` where that cannot be read.
    pub(crate) fn huge_share(&self) -> Option<f64> {
        let share = |region: &Region| {
            let seen = region.coverage()?;
            let all = seen.huge + seen.small;
            (all > 0).then(|| seen.huge as f64 / all as f64)
        };
        let shares = self.chains.iter().chain(&self.streams).map(share).collect::<Option<Vec<f64>>>()?;
        shares.into_iter().reduce(f64::min)
    }
}

/// A region on the node, with all its pages, and nowhere else.
fn region(plan: &Plan, node: &MemoryNode, pages: Pages) -> Result<Region, MeasureError> {
    let refused = |source| MeasureError::Memory { node: node.id, source };
    let mut region = Region::map(plan.region_bytes, pages, plan.bind.then_some(node.id)).map_err(refused)?;
    region.prefault().map_err(refused)?;
    if plan.bind
        && let Some(mut nodes) = region.bytes_by_node()
        && let Some((elsewhere, bytes)) = nodes.find(|(id, _)| *id != node.id)
    {
        return Err(MeasureError::Elsewhere { node: node.id, elsewhere, bytes: bytes as u64 });
    }
    Ok(region)
}

/// What to know when pages are not those that were asked for.
fn shortfall(node: &MemoryNode, asked: Pages, region: &Region) -> Option<String> {
    let reason = region.shortfall()?;
    let what = if region.pages() == asked || asked == Pages::Auto {
        "not all pages are huge, so latency includes translation misses".to_owned()
    } else {
        format!("{} pages in place of {asked}", region.pages())
    };
    Some(format!("node {}: {what} ({}); {}", node.id, reason.word(), reason.remedy()))
}
