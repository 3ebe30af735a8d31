//! Nodes by their places, from 0.

use super::held::Held;
use super::numbers::Numbers;
use crate::errors::bad_argument;
use firsttouch_graph::Node;
use pyo3::{Bound, PyAny, PyErr};

/// The nodes at the places in an array.
pub(super) fn nodes(held: &Held, places: &Bound<'_, PyAny>) -> Result<Vec<Node>, PyErr> {
    let (all, places) = (held.node_count(), Numbers::of(places)?);
    let places = places.slice::<u32>()?;
    if let Some(place) = places.iter().find(|place| **place as usize >= all) {
        let what = format!("there is no node {place}: the graph has {all}");
        return Err(bad_argument(&what, "nodes are counted from 0 here"));
    }
    let order = held.order_inside();
    Ok(places.iter().map(|place| order.map_or(*place, |order| order.after(*place))).collect())
}
