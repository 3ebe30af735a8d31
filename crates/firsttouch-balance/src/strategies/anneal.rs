//! Simulated annealing (Kirkpatrick et al. 1983) by moves and exchanges: out of the nearest hollow, where time remains.

use super::context::SearchContext;
use super::local_search::Deadline;
use super::search::{State, Step};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::Rng;

/// Steps that are looked at to learn how large changes are.
pub(super) const SAMPLE: usize = 200;
/// How much cooler the end is than the beginning.
const COOLING: f64 = 1e-3;
/// How often the deadline is looked at.
const STEPS_A_LOOK: u64 = 1024;

/// A number below a bound.
pub(super) fn below(random: &mut ChaCha8Rng, bound: usize) -> usize {
    ((u64::from(random.next_u32()) * bound as u64) >> 32) as usize
}

/// A number from 0 to 1.
pub(super) fn unit(random: &mut ChaCha8Rng) -> f64 {
    f64::from(random.next_u32()) / f64::from(u32::MAX)
}

/// Anneals a mapping and leaves the cheapest one met in `state`. The temperature begins at `heat` times the mean change.
/// Says whether the deadline ended it.
pub(super) fn anneal(
    context: &SearchContext<'_>,
    state: &mut State,
    cap: f64,
    heat: f64,
    steps: u64,
    random: &mut ChaCha8Rng,
    deadline: Deadline,
) -> bool {
    let movable: Vec<u32> =
        (0..context.graph.len() as u32).filter(|task| !context.pinned[*task as usize]).collect();
    if movable.is_empty() {
        return false;
    }
    let (mut sum, mut count) = (0.0, 0_usize);
    for _ in 0..SAMPLE {
        if let Some(step) = propose(context, state, &movable, cap, random) {
            sum += step.change().abs();
            count += 1;
        }
    }
    if sum == 0.0 {
        return false;
    }
    let hot = heat * sum / count as f64;
    let scale = context.cost(state.cores());
    let (mut cost, mut least) = (scale, scale);
    let mut best = state.cores().to_vec();
    let mut temperature = hot;
    for step_number in 0..steps {
        if step_number % STEPS_A_LOOK == 0 {
            if deadline.is_over() {
                restore(context, state, &best);
                return true;
            }
            temperature = hot * COOLING.powf(step_number as f64 / steps as f64);
        }
        let Some(step) = propose(context, state, &movable, cap, random) else { continue };
        let change = step.change();
        if change <= 0.0 || unit(random) < (-change / temperature).exp() {
            state.take(context, step);
            cost += change;
            if cost < least - 1e-9 * scale {
                least = cost;
                best.copy_from_slice(state.cores());
            }
        }
    }
    restore(context, state, &best);
    false
}

fn restore(context: &SearchContext<'_>, state: &mut State, cores: &[u32]) {
    *state = State::new(context, cores.to_vec());
}

/// A task, and a core next to one it talks to, or any: a move if it fits there, else an exchange.
fn propose(
    context: &SearchContext<'_>,
    state: &mut State,
    movable: &[u32],
    cap: f64,
    random: &mut ChaCha8Rng,
) -> Option<Step> {
    let task = movable[below(random, movable.len())];
    let links = context.graph.links(task);
    let cores = context.machine.cores().len();
    let to = match below(random, 4) {
        0 | 1 if !links.is_empty() => {
            let core = state.core(links[below(random, links.len())].other) as usize;
            // Where a core holds one task, its neighbours in number are the way to be near it.
            let offset = [0, 0, 1, cores - 1][below(random, 4)];
            ((core + offset) % cores) as u32
        }
        _ => below(random, cores) as u32,
    };
    if let Some(step) = state.look_at_move(context, task, to, cap) {
        return Some(step);
    }
    let count = state.tasks_on(to).len();
    if count == 0 {
        return None;
    }
    let other = state.tasks_on(to)[below(random, count)];
    state.look_at_swap(context, task, other, cap)
}
