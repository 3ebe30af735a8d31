//! A part of a graph that is to be cut, and what hangs together in it.

/// A graph without directions; the nodes are numbered on their own.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) offsets: Vec<usize>,
    pub(super) heads: Vec<u32>,
}

impl Part {
    pub(super) fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(super) fn around(&self, node: u32) -> &[u32] {
        &self.heads[self.offsets[node as usize]..self.offsets[node as usize + 1]]
    }

    /// How many steps each node is away; -1 where no path leads.
    pub(super) fn steps_from(&self, start: u32) -> Vec<i32> {
        let mut steps = vec![-1; self.nodes()];
        steps[start as usize] = 0;
        let mut queue = Vec::with_capacity(self.nodes());
        queue.push(start);
        let mut next = 0;
        while let Some(&node) = queue.get(next) {
            next += 1;
            for &head in self.around(node) {
                if steps[head as usize] < 0 {
                    steps[head as usize] = steps[node as usize] + 1;
                    queue.push(head);
                }
            }
        }
        steps
    }

    /// The part that these nodes and what joins them make. `number` is scratch: one entry per node, all `u32::MAX`, and so
    /// it is left.
    pub(super) fn restricted(&self, nodes: &[u32], number: &mut [u32]) -> Part {
        for (new, old) in nodes.iter().enumerate() {
            number[*old as usize] = new as u32;
        }
        let mut offsets = Vec::with_capacity(nodes.len() + 1);
        let mut heads = Vec::new();
        offsets.push(0);
        for &old in nodes {
            heads.extend(
                self.around(old).iter().map(|head| number[*head as usize]).filter(|new| *new != u32::MAX),
            );
            offsets.push(heads.len());
        }
        for &old in nodes {
            number[old as usize] = u32::MAX;
        }
        Part { offsets, heads }
    }
}

/// The pieces that hang together.
pub(super) fn connected(part: &Part) -> Vec<Vec<u32>> {
    let mut seen = vec![false; part.nodes()];
    let mut pieces = Vec::new();
    for start in 0..part.nodes() as u32 {
        if std::mem::replace(&mut seen[start as usize], true) {
            continue;
        }
        let mut piece = vec![start];
        let mut next = 0;
        while let Some(&node) = piece.get(next) {
            next += 1;
            for &head in part.around(node) {
                if !std::mem::replace(&mut seen[head as usize], true) {
                    piece.push(head);
                }
            }
        }
        pieces.push(piece);
    }
    pieces
}
