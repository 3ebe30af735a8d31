//! An undirected graph with weights, as cutting wants it: what two vertices exchange in both directions is one number.

use crate::strategies::graph::Graph;
use std::ops::Range;

/// Vertices with a load each, and for each its neighbours with what they exchange.
#[derive(Clone, Debug)]
pub(in crate::strategies) struct Net {
    pub(super) loads: Vec<f64>,
    offsets: Vec<u32>,
    ends: Vec<(u32, f64)>,
}

impl Net {
    /// Some tasks of a graph, in this order, with the links among themselves.
    pub(in crate::strategies) fn of(graph: &Graph, members: &[u32]) -> Net {
        let place = places(graph.len(), members);
        let mut net = Net::with_loads(members.iter().map(|task| graph.loads[*task as usize]).collect());
        for &task in members {
            let links = graph.links(task).iter();
            let near = links.filter(|link| place[link.other as usize] != NOWHERE);
            net.ends.extend(near.map(|link| (place[link.other as usize], link.out + link.back)));
            net.offsets.push(net.ends.len() as u32);
        }
        // Tasks without any load are shared out by their number.
        if net.total() == 0.0 {
            net.loads.fill(1.0);
        }
        net
    }

    /// Some vertices, in this order, with the links among themselves.
    pub(in crate::strategies) fn induced(&self, members: &[u32]) -> Net {
        let place = places(self.len(), members);
        let mut net = Net::with_loads(members.iter().map(|vertex| self.loads[*vertex as usize]).collect());
        for &vertex in members {
            let near = self.ends(vertex).iter().filter(|(other, _)| place[*other as usize] != NOWHERE);
            net.ends.extend(near.map(|(other, weight)| (place[*other as usize], *weight)));
            net.offsets.push(net.ends.len() as u32);
        }
        net
    }

    /// Vertices of these loads, whose links are told one vertex after the other.
    pub(super) fn with_loads(loads: Vec<f64>) -> Net {
        let mut offsets = Vec::with_capacity(loads.len() + 1);
        offsets.push(0);
        Net { loads, offsets, ends: Vec::new() }
    }

    /// Tells the links of the next vertex.
    pub(super) fn push(&mut self, ends: impl Iterator<Item = (u32, f64)>) {
        self.ends.extend(ends);
        self.offsets.push(self.ends.len() as u32);
    }

    pub(in crate::strategies) fn len(&self) -> usize {
        self.loads.len()
    }

    /// Vertices and both ends of links: what going through it costs.
    pub(super) fn size(&self) -> usize {
        self.len() + self.ends.len()
    }

    pub(super) fn ends(&self, vertex: u32) -> &[(u32, f64)] {
        &self.ends[self.span(vertex as usize)]
    }

    fn span(&self, vertex: usize) -> Range<usize> {
        self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize
    }

    pub(super) fn total(&self) -> f64 {
        self.loads.iter().sum()
    }
}

const NOWHERE: u32 = u32::MAX;

/// Where each of `count` is among the members.
fn places(count: usize, members: &[u32]) -> Vec<u32> {
    let mut place = vec![NOWHERE; count];
    for (index, member) in (0..).zip(members) {
        place[*member as usize] = index;
    }
    place
}
