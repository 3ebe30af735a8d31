//! One copy of a graph for every group of cores, each where its group is.

use super::array::{Owner, Place};
use super::graph::Graph;
use firsttouch_documents::{GraphAsked, GraphReceipt};
use firsttouch_machine::Machine;
use firsttouch_memory::{HUGE, Pages, RegionError};
use firsttouch_placement::{Obtained, Shortfall};
use firsttouch_threads::{GroupsError, Team, groups, groups_across};
use std::collections::BTreeMap;

/// Cores that share a copy, and the node they are on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreGroup {
    /// One CPU of every core.
    pub cpus: Vec<u32>,
    /// Where their memory is, or that of the first of them; `None` where there is but one node, or it has no memory.
    pub node: Option<u32>,
}

/// `count` groups of `cores` cores each, of the CPUs that may be used here (see [`firsttouch_threads::groups`]).
///
/// # Errors
/// Groups that the machine has no room for.
pub fn core_groups(
    machine: &Machine,
    usable: &[u32],
    cores: u32,
    count: u32,
) -> Result<Vec<CoreGroup>, GroupsError> {
    Ok(placed(machine, &groups(machine, usable, cores, count)?, cores))
}

/// The same with groups that reach over the nodes (see [`firsttouch_threads::groups_across`]): their copies lie where the first
/// core of each is.
///
/// # Errors
/// More groups than there are cores for.
pub fn core_groups_across(
    machine: &Machine,
    usable: &[u32],
    cores: u32,
    count: u32,
) -> Result<Vec<CoreGroup>, GroupsError> {
    Ok(placed(machine, &groups_across(machine, usable, cores, count)?, cores))
}

/// The CPUs of groups, one after the other, with the node of each group.
fn placed(machine: &Machine, cpus: &[u32], cores: u32) -> Vec<CoreGroup> {
    let node_of = |cpu: &u32| {
        let node = machine.nodes.iter().find(|node| node.cpus.contains(cpu))?;
        (machine.nodes.len() > 1 && node.size_bytes != Some(0)).then_some(node.id)
    };
    let group = |cpus: &[u32]| CoreGroup { cpus: cpus.to_vec(), node: cpus.first().and_then(node_of) };
    cpus.chunks(cores as usize).map(group).collect()
}

/// Copies of a graph, as many as a team has groups. Cores that share a cache share a copy; the groups share nothing.
///
/// ```
/// use firsttouch_graph::{Copies, Graph};
/// use firsttouch_memory::Pages;
/// use firsttouch_threads::Team;
///
/// let graph = Graph::from_arcs(2, &[(0, 1, 5)])?;
/// let mut team = Team::new(&[vec![0], vec![0]])?; // two groups
/// let copies = Copies::make(&graph, Pages::Transparent, &[None, None], &mut team)?;
/// team.run(|member| assert_eq!(copies.of(member.group()).arcs(), 1));
/// assert_eq!(copies.receipt().copies, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Copies {
    graphs: Vec<Graph>,
    asked: Pages,
    nodes: Vec<Option<u32>>,
}

impl Copies {
    /// Copies a graph once for each group of the team, by its first member, which thereby touches it first. `nodes` names
    /// the node of each group's memory; `None` leaves it to where that member runs.
    ///
    /// # Errors
    /// Memory that cannot be had.
    ///
    /// # Panics
    /// If there are other than one node for every group.
    pub fn make(
        graph: &Graph,
        pages: Pages,
        nodes: &[Option<u32>],
        team: &mut Team,
    ) -> Result<Copies, RegionError> {
        assert_eq!(nodes.len(), team.group_sizes().len(), "one node for every group");
        let made = team.map(|member| {
            let place = Place { pages, node: nodes[member.group()] };
            (member.index_in_group() == 0).then(|| (member.group(), graph.copied_to(place)))
        });
        let mut by_group: Vec<(usize, Graph)> = Vec::new();
        for (group, copy) in made.into_iter().flatten() {
            by_group.push((group, copy?));
        }
        by_group.sort_by_key(|(group, _)| *group);
        let graphs = by_group.into_iter().map(|(_, graph)| graph).collect();
        Ok(Copies { graphs, asked: pages, nodes: nodes.to_vec() })
    }

    /// The copy of a group.
    #[must_use]
    pub fn of(&self, group: usize) -> &Graph {
        &self.graphs[group]
    }

    /// The node of each group's memory, as it was asked for.
    #[must_use]
    pub fn nodes(&self) -> &[Option<u32>] {
        &self.nodes
    }

    /// What all copies have obtained.
    #[must_use]
    pub fn receipt(&self) -> GraphReceipt {
        let owners = self.graphs.iter().zip(&self.nodes);
        let owners = owners.flat_map(|(graph, node)| graph.owners().map(|owner| (owner, *node)));
        receipt_of(owners, self.graphs.len(), self.asked, &self.nodes)
    }
}

/// The graph that each group of a team works on: one for all, or its own copy.
#[derive(Clone, Copy, Debug)]
pub struct Graphs<'a> {
    one: &'a Graph,
    copies: Option<&'a Copies>,
}

impl<'a> Graphs<'a> {
    /// A graph, or the copies of it, if there are some.
    #[must_use]
    pub fn new(one: &'a Graph, copies: Option<&'a Copies>) -> Graphs<'a> {
        Graphs { one, copies }
    }

    /// The one of a group.
    #[must_use]
    pub fn of(self, group: usize) -> &'a Graph {
        self.copies.map_or(self.one, |copies| copies.of(group))
    }
}

impl Graph {
    /// What the memory of this graph has obtained; it was asked to lie on such pages, of this node if one was named.
    #[must_use]
    pub fn receipt(&self, asked: Place) -> GraphReceipt {
        receipt_of(self.owners().map(|owner| (owner, asked.node)), 1, asked.pages, &[asked.node])
    }
}

/// What memory obtained that was to lie on such pages, each piece with the node it was to lie on.
pub(crate) fn receipt_of<'a>(
    owners: impl IntoIterator<Item = (&'a Owner, Option<u32>)>,
    copies: usize,
    asked: Pages,
    nodes: &[Option<u32>],
) -> GraphReceipt {
    let mut obtained = Obtained::default();
    let mut by_node = Some(BTreeMap::new());
    let mut receipt = GraphReceipt {
        asked: GraphAsked { pages: asked.to_string(), nodes: nodes.to_vec() },
        copies,
        obtained: None,
        shortfalls: Vec::new(),
        notes: Vec::new(),
    };
    for (owner, node) in owners {
        let Some(region) = owner.region() else {
            let where_it_is = if matches!(owner, Owner::File(_)) { "the page cache" } else { "the heap" };
            receipt
                .notes
                .push(format!("the graph lies in {where_it_is}, where nothing was asked of its pages"));
            continue;
        };
        let bytes = region.as_slice().len() as u64;
        obtained.placed_blocks += 1;
        obtained.placed_bytes += bytes;
        let mut add = |page_bytes: u64, bytes: u64| {
            if bytes > 0 {
                *obtained.bytes_by_page_size.entry(page_bytes).or_default() += bytes;
            }
        };
        match region.coverage() {
            Some(seen) => {
                add(region.pages().bytes().max(HUGE) as u64, seen.huge as u64);
                add(Pages::Base.bytes() as u64, seen.small as u64);
                if let Some(reason) = region.shortfall() {
                    let small = if region.pages() == Pages::Transparent && asked == Pages::Transparent {
                        seen.small as u64
                    } else {
                        bytes
                    };
                    receipt.fall_short(Shortfall::new(reason, small));
                }
            }
            None => receipt.notes.push("the kernel does not tell the pages of a graph".to_owned()),
        }
        let Some(seen) = region.bytes_by_node() else {
            by_node = None;
            continue;
        };
        for (on, bytes) in seen {
            if let Some(by_node) = &mut by_node {
                *by_node.entry(on).or_default() += bytes as u64;
            }
            if node.is_some_and(|node| node != on) {
                let reason = firsttouch_memory::Reason::PolicyOverridden;
                receipt.fall_short(Shortfall::new(reason, bytes as u64));
            }
        }
    }
    receipt.notes.dedup();
    obtained.peak_bytes = obtained.placed_bytes;
    obtained.bytes_by_node = by_node;
    receipt.obtained = (obtained.placed_blocks > 0).then_some(obtained);
    receipt
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Graph {
        let arcs: Vec<(u32, u32, u32)> = (0..300_000).map(|arc| (arc % 1000, arc % 997, arc)).collect();
        Graph::from_arcs(1000, &arcs).unwrap()
    }

    #[test]
    fn every_group_has_its_own_copy_on_the_pages_asked() {
        let graph = graph();
        let cpu = firsttouch_linux::numa::affinity(0).unwrap().iter().next().unwrap();
        let mut team = Team::new(&[vec![cpu, cpu], vec![cpu]]).unwrap();
        for pages in [Pages::Base, Pages::Transparent] {
            let copies = Copies::make(&graph, pages, &[None, None], &mut team).unwrap();
            assert_eq!((copies.of(0), copies.of(1)), (&graph, &graph));
            assert_ne!(copies.of(0).all_arcs().as_ptr(), copies.of(1).all_arcs().as_ptr());
            let receipt = copies.receipt();
            assert_eq!((receipt.copies, receipt.asked.pages.as_str()), (2, pages.to_string().as_str()));
            let obtained = receipt.obtained.unwrap();
            assert_eq!(obtained.placed_blocks, 4);
            let seen: u64 = obtained.bytes_by_page_size.values().sum();
            assert!(seen >= 2 * graph.bytes() as u64, "{obtained:?}");
            if pages == Pages::Base {
                assert_eq!(obtained.bytes_by_page_size.keys().collect::<Vec<_>>(), [&4096]);
                assert_eq!(receipt.shortfalls, []);
            } else {
                let huge = obtained.bytes_by_page_size.contains_key(&(2 << 20));
                assert!(huge || !receipt.shortfalls.is_empty(), "{obtained:?}");
            }
            if let Some(by_node) = obtained.bytes_by_node {
                assert_eq!(by_node.values().sum::<u64>(), seen);
            }
        }
    }

    #[test]
    fn groups_lie_on_the_nodes_of_their_cores() {
        let description = "pack:2 [numa] l3:1 core:4 pu:1".to_owned();
        let machine = firsttouch_machine::Source::Synthetic(description).machine().unwrap();
        let usable: Vec<u32> = (0..8).collect();
        let found = core_groups(&machine, &usable, 2, 4).unwrap();
        let nodes: Vec<Option<u32>> = found.iter().map(|group| group.node).collect();
        assert_eq!(nodes, [Some(0), Some(0), Some(1), Some(1)]);
        assert!(found.iter().all(|group| group.cpus.len() == 2));
        assert!(core_groups(&machine, &usable, 5, 1).is_err());
        // Across, a group may have as many cores as the machine.
        let across = core_groups_across(&machine, &usable, 4, 2).unwrap();
        let over = |group: &CoreGroup| group.cpus.iter().filter(|cpu| **cpu < 4).count();
        assert!(across.iter().all(|group| over(group) == 2 && group.node == Some(0)), "{across:?}");
        assert_eq!(core_groups_across(&machine, &usable, 8, 1).unwrap()[0].cpus.len(), 8);
        assert!(core_groups_across(&machine, &usable, 8, 2).is_err());
    }

    #[test]
    fn receipts_add_up() {
        let cpu = firsttouch_linux::numa::affinity(0).unwrap().iter().next().unwrap();
        let mut team = Team::new(&[vec![cpu]]).unwrap();
        let one = Copies::make(&graph(), Pages::Base, &[None], &mut team).unwrap().receipt();
        let mut all = graph().receipt(Place::HEAP);
        all.add(&one);
        assert_eq!((&all.obtained, all.notes.len()), (&one.obtained, 1));
        all.add(&one);
        let (one, all) = (one.obtained.unwrap(), all.obtained.unwrap());
        assert_eq!(all.placed_bytes, 2 * one.placed_bytes);
        assert_eq!(all.bytes_by_page_size[&4096], 2 * one.bytes_by_page_size[&4096]);
    }

    #[test]
    fn a_graph_on_the_heap_says_so() {
        let receipt = graph().receipt(Place::HEAP);
        assert_eq!(receipt.obtained, None);
        assert_eq!(receipt.notes, ["the graph lies in the heap, where nothing was asked of its pages"]);
    }

    #[test]
    fn a_node_that_is_not_there_is_an_error() {
        let mut team = Team::of_this_process(1).unwrap();
        let error = Copies::make(&graph(), Pages::Base, &[Some(900)], &mut team).unwrap_err();
        assert!(matches!(error, RegionError::Bind { node: 900, .. }), "{error}");
    }
}
