//! What the arcs of a hierarchy are long, for given weights of the graph's arcs.
//!
//! Two passes over the tree. From the leaves to the roots, each node offers the paths through it to all pairs of nodes above
//! it; after that, up and then down the tree always leads along shortest paths (Dibbelt, Strasser and Wagner, *Customizable
//! Contraction Hierarchies*, 2016). From the roots to the leaves, each arc is compared with the shortest path between its
//! ends; those that are longer are on no shortest path and are taken out: most are.
//!
//! Both passes keep the lengths between the nodes above the present one in a triangle indexed by depths. So a way through
//! a third node costs a load and a store, and no search for the arc that it is compared with.

use super::length::Length;
use super::tree::{NONE, Tree};
use firsttouch_threads::at_once;
use std::ops::Range;

/// Up and down.
pub(super) type Both<T> = [T; 2];

/// The arcs' lengths, `T::NONE` for those that are not needed; or nothing if `T` is too small for them.
pub(super) fn lengths<T: Length>(tree: &Tree, weights: &[u32], threads: usize) -> Option<Vec<Both<T>>> {
    let mut lengths = vec![[T::NONE; 2]; tree.slots.len()];
    for (place, weight) in tree.places.iter().zip(weights) {
        if *place != NONE {
            let length = &mut lengths[*place as usize / 2][*place as usize % 2];
            *length = (*length).min(T::of(u64::from(*weight)));
        }
    }
    let tasks = if threads > 1 { tasks(tree, threads) } else { Vec::new() };
    up(tree, &mut lengths, &tasks, threads);
    let longest = lengths.iter().flatten().filter(|length| **length < T::NONE).max();
    let cut_off = weights.iter().any(|weight| u64::from(*weight) >= T::SAFE.wide());
    if cut_off || longest.is_some_and(|longest| *longest >= T::SAFE) {
        return None;
    }
    down(tree, &mut lengths, &tasks, threads);
    (longest_distance(tree, &lengths) < T::NONE.wide()).then_some(lengths)
}

/// The largest subtrees that are small enough to be shared out.
fn tasks(tree: &Tree, threads: usize) -> Vec<Range<usize>> {
    let most = tree.len() / (8 * threads) + 1;
    let mut tasks = Vec::new();
    let mut position = 0;
    while position < tree.len() {
        let size = tree.sizes[position] as usize;
        if size <= most {
            tasks.push(position..position + size);
            position += size;
        } else {
            position += 1;
        }
    }
    tasks
}

/// Lengths between nodes above each other, by their depths.
struct Triangle<T> {
    lengths: Vec<Both<T>>,
}

impl<T: Length> Triangle<T> {
    fn new(height: usize) -> Triangle<T> {
        Triangle { lengths: vec![[T::NONE; 2]; height * (height + 1) / 2] }
    }

    /// The lengths from the node at this depth to those above it, and back.
    fn row(&mut self, depth: u16) -> &mut [Both<T>] {
        let depth = usize::from(depth);
        let begin = depth * depth.saturating_sub(1) / 2;
        &mut self.lengths[begin..begin + depth]
    }

    /// A node's paths through it, offered to the nodes above.
    fn offer(&mut self, slots: &[u16], arcs: &[Both<T>]) {
        for (place, (slot, [up, down])) in slots.iter().zip(arcs).enumerate() {
            let row = self.row(*slot);
            for (higher, arc) in slots[..place].iter().zip(arcs) {
                let path = &mut row[usize::from(*higher)];
                *path = [path[0].min(down.plus(arc[0])), path[1].min(up.plus(arc[1]))];
            }
        }
    }

    /// What was offered to the arcs of a node is taken, and the place left empty for the next node of this depth.
    fn take(&mut self, depth: u16, slots: &[u16], arcs: &mut [Both<T>]) {
        let row = self.row(depth);
        for (slot, arc) in slots.iter().zip(arcs) {
            let path = std::mem::replace(&mut row[usize::from(*slot)], [T::NONE; 2]);
            *arc = [arc[0].min(path[0]), arc[1].min(path[1])];
        }
    }

    /// Takes out those arcs of a node that are longer than a path over a node above both ends or between them, and notes
    /// what is shortest. `shortest` is scratch.
    fn prune(&mut self, depth: u16, slots: &[u16], arcs: &mut [Both<T>], shortest: &mut Vec<Both<T>>) {
        shortest.clear();
        shortest.extend_from_slice(arcs);
        for (place, slot) in slots.iter().enumerate() {
            let row = self.row(*slot);
            let (higher, rest) = shortest.split_at_mut(place);
            let own = &mut rest[0];
            let [mut up, mut down] = *own;
            for (other, arc) in slots.iter().zip(higher) {
                let [rise, fall] = row[usize::from(*other)];
                up = up.min(arc[0].plus(fall));
                down = down.min(arc[1].plus(rise));
                *arc = [arc[0].min(own[0].plus(rise)), arc[1].min(own[1].plus(fall))];
            }
            *own = [up, down];
        }
        let row = self.row(depth);
        for ((slot, arc), best) in slots.iter().zip(arcs).zip(&*shortest) {
            row[usize::from(*slot)] = *best;
            for direction in 0..2 {
                if best[direction] < arc[direction] {
                    arc[direction] = T::NONE;
                }
            }
        }
    }
}

/// Leaves to roots.
fn up<T: Length>(tree: &Tree, lengths: &mut [Both<T>], tasks: &[Range<usize>], threads: usize) {
    let mut offered = vec![Vec::new(); tasks.len()];
    in_parallel(tree, lengths, tasks, &mut offered, threads, &|triangle, task, arcs, offered| {
        for position in task.clone().rev() {
            step_up(tree, triangle, position, arcs, tree.first[task.start] as usize);
        }
        // All that was offered above the task lies between nodes that its root has arcs to.
        let slots = &tree.slots[tree.arcs(task.start)];
        offered.reserve(slots.len() * slots.len() / 2);
        for (place, slot) in slots.iter().enumerate() {
            let row = triangle.row(*slot);
            for higher in &slots[..place] {
                offered.push(std::mem::replace(&mut row[usize::from(*higher)], [T::NONE; 2]));
            }
        }
    });
    let mut triangle = Triangle::<T>::new(tree.height);
    let mut waiting = tasks.iter().zip(offered).rev().peekable();
    let mut position = tree.len();
    while position > 0 {
        if let Some((task, offered)) = waiting.next_if(|(task, _)| task.end == position) {
            let slots = &tree.slots[tree.arcs(task.start)];
            let mut offered = offered.into_iter();
            for (place, slot) in slots.iter().enumerate() {
                let row = triangle.row(*slot);
                for (higher, path) in slots[..place].iter().zip(&mut offered) {
                    let held = &mut row[usize::from(*higher)];
                    *held = [held[0].min(path[0]), held[1].min(path[1])];
                }
            }
            position = task.start;
        } else {
            position -= 1;
            step_up(tree, &mut triangle, position, lengths, 0);
        }
    }
}

/// `lengths` begin with the arc number `begin`.
fn step_up<T: Length>(
    tree: &Tree,
    triangle: &mut Triangle<T>,
    position: usize,
    lengths: &mut [Both<T>],
    begin: usize,
) {
    let arcs = tree.arcs(position);
    let slots = &tree.slots[arcs.clone()];
    let lengths = &mut lengths[arcs.start - begin..arcs.end - begin];
    triangle.take(tree.depths[position], slots, lengths);
    triangle.offer(slots, lengths);
}

/// Roots to leaves.
fn down<T: Length>(tree: &Tree, lengths: &mut [Both<T>], tasks: &[Range<usize>], threads: usize) {
    let mut triangle = Triangle::new(tree.height);
    let mut shortest = Vec::new();
    // For each task, what is shortest between the nodes above it that its root has arcs to.
    let mut above = Vec::with_capacity(tasks.len());
    let mut waiting = tasks.iter().peekable();
    let mut position = 0;
    while position < tree.len() {
        if let Some(task) = waiting.next_if(|task| task.start == position) {
            let slots = &tree.slots[tree.arcs(position)];
            let mut known = Vec::with_capacity(slots.len() * slots.len() / 2);
            for (place, slot) in slots.iter().enumerate() {
                let row = triangle.row(*slot);
                known.extend(slots[..place].iter().map(|higher| row[usize::from(*higher)]));
            }
            above.push(known);
            position = task.end;
        } else {
            let arcs = tree.arcs(position);
            triangle.prune(
                tree.depths[position],
                &tree.slots[arcs.clone()],
                &mut lengths[arcs],
                &mut shortest,
            );
            position += 1;
        }
    }
    in_parallel(tree, lengths, tasks, &mut above, threads, &|triangle, task, lengths, above| {
        let slots = &tree.slots[tree.arcs(task.start)];
        let mut known = above.iter();
        for (place, slot) in slots.iter().enumerate() {
            let row = triangle.row(*slot);
            for (higher, path) in slots[..place].iter().zip(&mut known) {
                row[usize::from(*higher)] = *path;
            }
        }
        let begin = tree.first[task.start] as usize;
        let mut shortest = Vec::new();
        for position in task {
            let arcs = tree.arcs(position);
            triangle.prune(
                tree.depths[position],
                &tree.slots[arcs.clone()],
                &mut lengths[arcs.start - begin..arcs.end - begin],
                &mut shortest,
            );
        }
    });
}

/// One of the tasks: given the lengths of its own arcs, a triangle that earlier tasks of the thread have used, and what lies between the
/// nodes above the task that its root has arcs to.
type Task<'a, T> = &'a (dyn Fn(&mut Triangle<T>, Range<usize>, &mut [Both<T>], &mut Vec<Both<T>>) + Sync);

/// Does the tasks on some threads, the largest first to whoever has least.
fn in_parallel<T: Length>(
    tree: &Tree,
    lengths: &mut [Both<T>],
    tasks: &[Range<usize>],
    between: &mut [Vec<Both<T>>],
    threads: usize,
    work: Task<'_, T>,
) {
    let mut pieces = Vec::with_capacity(tasks.len());
    let (mut rest, mut begin) = (lengths, 0);
    for (task, between) in tasks.iter().zip(between) {
        let arcs = tree.first[task.start] as usize..tree.first[task.end] as usize;
        let (_, behind) = std::mem::take(&mut rest).split_at_mut(arcs.start - begin);
        let (piece, behind) = behind.split_at_mut(arcs.len());
        (rest, begin) = (behind, arcs.end);
        pieces.push((task.clone(), piece, between));
    }
    pieces.sort_by_key(|(_, piece, _)| std::cmp::Reverse(piece.len()));
    let mut shares: Vec<(usize, Vec<_>)> = (0..threads).map(|_| (0, Vec::new())).collect();
    for piece in pieces {
        if let Some(least) = shares.iter_mut().min_by_key(|(arcs, _)| *arcs) {
            least.0 += piece.1.len();
            least.1.push(piece);
        }
    }
    let busy = shares.into_iter().filter(|(_, pieces)| !pieces.is_empty());
    at_once(busy.map(|(_, pieces)| {
        move || {
            let mut triangle = Triangle::new(tree.height);
            for (task, piece, between) in pieces {
                work(&mut triangle, task, piece, between);
            }
        }
    }));
}

/// No distance is longer than this. Where every node reaches its root and is reached by it, none is longer than the longest
/// path up and the longest path down; elsewhere, than as many arcs as lie above each other.
fn longest_distance<T: Length>(tree: &Tree, lengths: &[Both<T>]) -> u64 {
    let mut to_root = vec![[0_u64; 2]; tree.height];
    let mut most_arcs = vec![[0_u64; 2]; tree.height];
    let (mut farthest, mut longest) = ([0_u64; 2], [0_u64; 2]);
    let mut hangs_together = true;
    for position in 0..tree.len() {
        let arcs = tree.arcs(position);
        let (mut least, mut most) = ([u64::MAX; 2], [0_u64; 2]);
        if tree.parents[position] == NONE {
            least = [0; 2];
        }
        for (slot, length) in tree.slots[arcs.clone()].iter().zip(&lengths[arcs]) {
            for direction in 0..2 {
                if length[direction] < T::NONE {
                    let above = usize::from(*slot);
                    least[direction] = least[direction]
                        .min(to_root[above][direction].saturating_add(length[direction].wide()));
                    most[direction] = most[direction]
                        .max(most_arcs[above][direction].saturating_add(length[direction].wide()));
                }
            }
        }
        let depth = usize::from(tree.depths[position]);
        (to_root[depth], most_arcs[depth]) = (least, most);
        for direction in 0..2 {
            hangs_together &= least[direction] < u64::MAX;
            farthest[direction] = farthest[direction].max(least[direction]);
            longest[direction] = longest[direction].max(most[direction]);
        }
    }
    let [up, down] = if hangs_together { farthest } else { longest };
    up.saturating_add(down)
}
