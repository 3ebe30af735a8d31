//! Directions in which a graph may be cut, without knowing where its nodes lie.
//!
//! The distance in steps from one far end less that from the other grows along the line between the ends, as a coordinate
//! would. Two such lines, across each other, and their diagonals are four directions.

use super::part::Part;

/// For each direction a number per node.
pub(super) fn of(part: &Part) -> [Vec<i32>; 4] {
    let nodes = part.nodes();
    let east = farthest(&part.steps_from(0));
    let from_east = part.steps_from(east);
    let west = farthest(&from_east);
    let from_west = part.steps_from(west);
    // Farthest off the line between the two.
    let north = best(nodes, |node| from_east[node] + from_west[node]);
    let from_north = part.steps_from(north);
    let south = best(nodes, |node| 2 * from_north[node] - (from_east[node] - from_west[node]).abs());
    let from_south = part.steps_from(south);
    let along: Vec<i32> = (0..nodes).map(|node| from_east[node] - from_west[node]).collect();
    let across: Vec<i32> = (0..nodes).map(|node| from_north[node] - from_south[node]).collect();
    let sum = (0..nodes).map(|node| along[node] + across[node]).collect();
    let difference = (0..nodes).map(|node| along[node] - across[node]).collect();
    [along, across, sum, difference]
}

fn farthest(steps: &[i32]) -> u32 {
    best(steps.len(), |node| steps[node])
}

fn best(nodes: usize, value: impl Fn(usize) -> i32) -> u32 {
    (0..nodes).max_by_key(|node| value(*node)).unwrap_or(0) as u32
}
