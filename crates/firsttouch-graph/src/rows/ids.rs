//! The numbers that a file gives its nodes, and those they have inside.

use super::arc::Node;
use super::order::Order;
use std::sync::Arc;

/// Which node of a graph is which of the file. Every result is given in the numbers of the file.
///
/// ```
/// use firsttouch_graph::Ids;
/// let ids = Ids::from_first(1, 100); // as DIMACS files count
/// assert_eq!(ids.of(0), 1);
/// assert_eq!((ids.node(100), ids.node(0), ids.node(101)), (Some(99), None, None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ids {
    nodes: usize,
    /// The number of the file's first node, if they have no gaps.
    first: u64,
    /// Otherwise all of them, rising.
    listed: Option<Arc<[u64]>>,
    /// Where the nodes of the file have gone, if they were brought into another order.
    order: Option<Arc<Order>>,
}

impl Ids {
    /// Numbers without gaps, from `first` on.
    #[must_use]
    pub fn from_first(first: u64, nodes: usize) -> Ids {
        Ids { nodes, first, listed: None, order: None }
    }

    /// These numbers. They must be rising; `None` if they are not.
    #[must_use]
    pub fn listed(ids: Vec<u64>) -> Option<Ids> {
        let rising = ids.is_sorted_by(|a, b| a < b);
        rising.then(|| Ids { nodes: ids.len(), first: 0, listed: Some(ids.into()), order: None })
    }

    /// The same for a graph whose nodes were brought into another order: those of `order` are counted as the graph counted
    /// them before.
    #[must_use]
    pub fn reordered(&self, order: &Order) -> Ids {
        let order = match &self.order {
            None => order.clone(),
            Some(before) => before.then(order),
        };
        Ids { order: Some(Arc::new(order)), ..self.clone() }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The file's number of a node.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn of(&self, node: Node) -> u64 {
        assert!((node as usize) < self.nodes, "node {node} of {}", self.nodes);
        let place = self.order.as_ref().map_or(node, |order| order.before(node));
        self.listed.as_ref().map_or(self.first + u64::from(place), |listed| listed[place as usize])
    }

    /// The node that has this number in the file.
    #[must_use]
    pub fn node(&self, id: u64) -> Option<Node> {
        let place = match &self.listed {
            Some(listed) => listed.binary_search(&id).ok()? as Node,
            None => {
                let place = id.checked_sub(self.first)?;
                if place >= self.nodes as u64 {
                    return None;
                }
                place as Node
            }
        };
        Some(self.order.as_ref().map_or(place, |order| order.after(place)))
    }

    /// The number of the first node, if they have no gaps.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.listed.is_none().then_some(self.first)
    }

    /// All numbers, rising, if they have gaps.
    #[must_use]
    pub fn list(&self) -> Option<&[u64]> {
        self.listed.as_deref()
    }

    /// The order the nodes were brought into, if they were.
    #[must_use]
    pub fn order(&self) -> Option<&Order> {
        self.order.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_there_and_back_through_gaps_and_orders() {
        let listed = Ids::listed(vec![3, 5, 1 << 60, u64::MAX]).unwrap();
        let order = Order::new(vec![2, 0, 3, 1]).unwrap();
        for ids in [Ids::from_first(1, 4), listed.clone(), listed.reordered(&order).reordered(&order)] {
            for node in 0..4 {
                assert_eq!(ids.node(ids.of(node)), Some(node), "{ids:?}");
            }
            assert_eq!(ids.node(77), None);
        }
        let once = listed.reordered(&order);
        assert_eq!([0, 1, 2, 3].map(|node| once.of(node)), [1 << 60, 3, u64::MAX, 5]);
        assert_eq!(Ids::listed(vec![3, 3]), None);
    }
}
