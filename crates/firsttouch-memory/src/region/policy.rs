//! Where the pages of a region come from.

use super::RegionError;
use crate::pages::HUGE;
use crate::reason::Reason;
use crate::shares::Shares;
use core::ops::Range;
use firsttouch_linux::numa::{self, Mode, NodeBits};

/// Where the pages of a region come from, in place of what the thread or the process says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodePolicy {
    /// As the thread or the process says.
    #[default]
    Inherited,
    /// The node of the CPU that touches a page first.
    Local,
    /// These nodes only. Where they have no more, creating pages fails, and touching them may end the process.
    Bind(NodeBits),
    /// These nodes, and others when they are full. Several need Linux 5.15.
    Prefer(NodeBits),
    /// Page by page over these nodes; a huge page is one step.
    Interleave(NodeBits),
    /// Equal parts in a row, one on each of these nodes (and others when that is full).
    Blocks(NodeBits),
    /// Over nodes by weight, 2 MiB the step.
    Weighted(Shares),
}

impl NodePolicy {
    /// Whether pages of this node are as asked.
    pub fn allows(&self, node: u32) -> bool {
        match self {
            NodePolicy::Inherited | NodePolicy::Local => true,
            NodePolicy::Bind(nodes)
            | NodePolicy::Prefer(nodes)
            | NodePolicy::Interleave(nodes)
            | NodePolicy::Blocks(nodes) => nodes.contains(node),
            NodePolicy::Weighted(shares) => shares.nodes().any(|(of, _)| of == node),
        }
    }

    /// Whether the place of each byte stays right when others are added behind.
    pub(super) fn is_kept_by_growth(&self) -> bool {
        !matches!(self, NodePolicy::Blocks(_))
    }

    fn first_node(&self) -> u32 {
        match self {
            NodePolicy::Inherited | NodePolicy::Local => 0,
            NodePolicy::Bind(nodes)
            | NodePolicy::Prefer(nodes)
            | NodePolicy::Interleave(nodes)
            | NodePolicy::Blocks(nodes) => nodes.iter().next().unwrap_or(0),
            NodePolicy::Weighted(shares) => shares.nodes().map(|(node, _)| node).next().unwrap_or(0),
        }
    }

    /// Puts it in force for `part` of a region that begins at `start`. Where the kernel or a sandbox has no such policy,
    /// the answer is why, and pages come from wherever they come; but what must be bound is bound, or it is an error.
    pub(super) fn apply(&self, start: usize, part: Range<usize>) -> Result<Option<Reason>, RegionError> {
        let set = |mode, nodes: &NodeBits| numa::set_policy_of(part.start, part.len(), mode, nodes);
        let answer = match self {
            NodePolicy::Inherited => return Ok(None),
            NodePolicy::Local => set(Mode::Local, &NodeBits::EMPTY),
            NodePolicy::Bind(nodes) => {
                let wrong = |errno| RegionError::Bind { node: self.first_node(), errno };
                return set(Mode::Bind, nodes).map(|_| None).map_err(wrong);
            }
            NodePolicy::Prefer(nodes) if nodes.count() > 1 => match set(Mode::PreferredMany, nodes) {
                Err(libc::EINVAL) => {
                    let first = NodeBits::of(&[self.first_node()]).unwrap_or(NodeBits::EMPTY);
                    if set(Mode::Preferred, &first).is_ok() {
                        return Ok(Some(Reason::KernelTooOld));
                    }
                    Err(libc::EINVAL)
                }
                answer => answer,
            },
            NodePolicy::Prefer(nodes) => set(Mode::Preferred, nodes),
            NodePolicy::Interleave(nodes) => set(Mode::Interleave, nodes),
            NodePolicy::Blocks(nodes) => share_out(nodes, part.clone()),
            NodePolicy::Weighted(shares) => weigh(shares, start, part.clone()),
        };
        match answer {
            Ok(_) => Ok(None),
            Err(libc::EPERM | libc::EACCES) => Ok(Some(Reason::NoCapability)),
            Err(libc::ENOSYS) => Ok(Some(Reason::KernelTooOld)),
            Err(errno) => Err(RegionError::Bind { node: self.first_node(), errno }),
        }
    }
}

/// Gives each node its part, in whole huge pages.
fn share_out(nodes: &NodeBits, all: Range<usize>) -> Result<usize, i32> {
    let each = all.len().div_ceil(nodes.count().max(1) as usize).next_multiple_of(HUGE);
    for (index, node) in nodes.iter().enumerate() {
        let from = (all.start + index * each).min(all.end);
        let to = (from + each).min(all.end);
        if from < to {
            numa::set_policy_of(
                from,
                to - from,
                Mode::Preferred,
                &NodeBits::of(&[node]).ok_or(libc::EINVAL)?,
            )?;
        }
    }
    Ok(0)
}

/// Lays chunks out by weight, by their places in the region.
fn weigh(shares: &Shares, start: usize, part: Range<usize>) -> Result<usize, i32> {
    let mut at = part.start;
    while at < part.end {
        let chunk = u32::try_from((at - start) / HUGE).map_err(|_| libc::EOVERFLOW)?;
        let Some((node, end)) = shares.at(chunk) else { break };
        let to = (start + end as usize * HUGE).min(part.end);
        let nodes = NodeBits::of(&[node]).ok_or(libc::EINVAL)?;
        numa::set_policy_of(at, to - at, Mode::Preferred, &nodes)?;
        at = to;
    }
    Ok(0)
}
