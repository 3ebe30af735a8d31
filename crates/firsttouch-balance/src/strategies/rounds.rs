//! Which round of a search comes next, and whether one does: by what rounds of its kind brought for their work.
//!
//! Work is counted and never timed, so that the same question has the same answer on every machine and every day. Where the
//! number of rounds is left open they end when some in a row brought nothing worth it, when a beginning of its own led to the best
//! answer once more (searches from many beginnings stop so: Boender and Rinnooy Kan 1987), or when the next one would be
//! more work than an answer is to take.

use super::anneal::SAMPLE;
use super::graph::Graph;

/// A gain below this share of the cost is none.
const LEAST_GAIN: f64 = 1e-3;
/// After as many rounds in a row that brought nothing there are no more.
const MOST_IN_VAIN: u32 = 4;
/// Costs that differ by less than this share are the same.
const SAME: f64 = 1e-9;
/// The work of all rounds whose number is left open. Its unit is about a nanosecond of one core, so this is about a second.
const MOST_WORK: f64 = 1e9;
/// What is worked at for a step of each kind, and for each neighbour of its task; for a task and for a link of a new mapping.
const EXCHANGE: (f64, f64) = (20.0, 4.5);
const MOVE: (f64, f64) = (100.0, 10.0);
const MAPPED: (f64, f64) = (1e5, 5e3);

/// Steps of the first rounds of annealing for each task, and bounds for a round. Every two such rounds take twice as long: slow
/// cooling finds what many fast ones do not.
const STEPS_A_TASK: u64 = 4000;
const LEAST_STEPS: u64 = 20_000;
const MOST_STEPS: u64 = 10_000_000;
const MOST_DOUBLINGS: u32 = 10;
/// The same where tasks are only exchanged, one on each core; every four rounds take twice as long.
const STEPS_OF_EXCHANGES: u64 = 16_000;

/// What a round does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// Anneals a random assignment of one task to each core, by so many exchanges.
    Assign(u64),
    /// Maps all tasks anew.
    Anew,
    /// Anneals the best mapping so far, in so many steps.
    Anneal(u64),
}

/// What rounds there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Assign,
    Anneal,
    AnewOrAnneal,
}

/// What rounds of one kind were and brought.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    made: u32,
    work: f64,
    /// The share by which the last one lowered the cost, for its work; `None` before the first.
    rate: Option<f64>,
}

/// The rounds so far, and what follows from them.
#[derive(Debug)]
pub(super) struct Rounds {
    choice: Choice,
    /// How many there are to be, where that was said.
    asked: Option<u32>,
    tasks: f64,
    /// Neighbours of an average task.
    neighbours: f64,
    /// Those that map anew, or assign; and those that anneal.
    kinds: [Kind; 2],
    in_vain: u32,
    found_again: bool,
}

impl Rounds {
    /// No round yet of as many as asked for, or of as many as bring something.
    pub(super) fn new(graph: &Graph, choice: Choice, asked: Option<u32>) -> Rounds {
        let links: usize = (0..graph.len() as u32).map(|task| graph.links(task).len()).sum();
        let tasks = graph.len() as f64;
        let neighbours = links as f64 / tasks.max(1.0);
        Rounds { choice, asked, tasks, neighbours, kinds: Default::default(), in_vain: 0, found_again: false }
    }

    /// How many were made.
    pub(super) fn made(&self) -> u32 {
        self.kinds.iter().map(|kind| kind.made).sum()
    }

    /// The next one, if there is to be one.
    pub(super) fn next(&self) -> Option<Round> {
        let [anew, anneal] = [self.at(0), self.at(1)];
        let mut order = match self.choice {
            Choice::Assign => vec![anew],
            Choice::Anneal => vec![anneal],
            Choice::AnewOrAnneal => vec![anew, anneal],
        };
        // What was not tried yet first; then what brought the most for its work, or what was worked at less.
        order.sort_by(|a, b| {
            let [a, b] = [a, b].map(|round| self.kinds[place(*round)]);
            let [gain, other] = [a, b].map(|kind| kind.rate.unwrap_or(f64::INFINITY));
            other.total_cmp(&gain).then(a.work.total_cmp(&b.work))
        });
        match self.asked {
            Some(asked) => order.first().copied().filter(|_| self.made() < asked),
            None if self.in_vain >= MOST_IN_VAIN || self.found_again => None,
            None => {
                let left = MOST_WORK - self.kinds.iter().map(|kind| kind.work).sum::<f64>();
                order.into_iter().find(|round| self.work(*round) <= left)
            }
        }
    }

    /// Notes what a round led to: the cost before and after it, the cost that it found itself, and whether cores are done earlier.
    pub(super) fn note(&mut self, round: Round, before: f64, after: f64, found: f64, earlier: bool) {
        let gain = if earlier {
            1.0
        } else if before > 0.0 {
            (1.0 - after / before).max(0.0)
        } else {
            0.0
        };
        let work = self.work(round);
        let kind = &mut self.kinds[place(round)];
        kind.made += 1;
        kind.work += work;
        kind.rate = Some(gain / work);
        self.in_vain = if gain < LEAST_GAIN { self.in_vain + 1 } else { 0 };
        let again = gain <= SAME && found <= before * (1.0 + SAME);
        self.found_again |= again && matches!(round, Round::Assign(_));
    }

    /// The next round of one kind.
    fn at(&self, kind: usize) -> Round {
        let made = self.kinds[kind].made;
        let steps = |a_task: u64, doublings: u32| {
            let first = (self.tasks as u64).saturating_mul(a_task);
            first.saturating_mul(1 << doublings.min(MOST_DOUBLINGS)).clamp(LEAST_STEPS, MOST_STEPS)
        };
        match (self.choice, kind) {
            (Choice::Assign, _) => Round::Assign(steps(STEPS_OF_EXCHANGES, made / 4)),
            (_, 0) => Round::Anew,
            _ => Round::Anneal(steps(STEPS_A_TASK, made / 2)),
        }
    }

    fn work(&self, round: Round) -> f64 {
        let of = |(one, a_neighbour): (f64, f64)| one + a_neighbour * self.neighbours;
        match round {
            Round::Assign(steps) => steps as f64 * of(EXCHANGE),
            Round::Anew => self.tasks * of(MAPPED),
            Round::Anneal(steps) => (steps + SAMPLE as u64) as f64 * of(MOVE),
        }
    }
}

/// Where a kind of rounds is kept.
fn place(round: Round) -> usize {
    usize::from(matches!(round, Round::Anneal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Problem, Task};

    /// A ring.
    fn graph(tasks: u32) -> Graph {
        let ring = |from: u32| Message { from, to: (from + 1) % tasks, count: 1.0, bytes: 8.0 };
        let messages: Vec<Message> = (0..tasks).map(ring).collect();
        Graph::of(&Problem::new(vec![Task::new(1.0); tasks as usize], &messages).unwrap())
    }

    /// Makes rounds until there are no more, each of which lowers the cost by what `gain` says.
    fn made(rounds: &mut Rounds, gain: impl Fn(Round) -> f64) -> Vec<Round> {
        let mut all = Vec::new();
        while let Some(round) = rounds.next() {
            rounds.note(round, 1.0, 1.0 - gain(round), 2.0, false);
            all.push(round);
        }
        all
    }

    #[test]
    fn rounds_end_when_some_in_a_row_brought_nothing() {
        let graph = graph(64);
        for choice in [Choice::Assign, Choice::Anneal, Choice::AnewOrAnneal] {
            let mut rounds = Rounds::new(&graph, choice, None);
            assert_eq!(made(&mut rounds, |_| LEAST_GAIN / 2.0).len(), MOST_IN_VAIN as usize, "{choice:?}");
            // Earlier cores are a gain whatever they cost.
            let mut rounds = Rounds::new(&graph, choice, None);
            let round = rounds.next().unwrap();
            rounds.note(round, 1.0, 2.0, 2.0, true);
            assert_eq!(rounds.in_vain, 0);
        }
        assert_eq!(made(&mut Rounds::new(&graph, Choice::Anneal, Some(9)), |_| 0.0).len(), 9);
    }

    #[test]
    fn an_assignment_that_was_found_again_is_enough() {
        let graph = graph(64);
        let note = |choice, after, found| {
            let mut rounds = Rounds::new(&graph, choice, None);
            let round = rounds.next().unwrap();
            rounds.note(round, 1.0, after, found, false);
            rounds.next().is_none()
        };
        assert!(note(Choice::Assign, 1.0, 1.0));
        assert!(!note(Choice::Assign, 1.0, 1.1), "another one, and dearer");
        assert!(!note(Choice::Assign, 0.9, 0.9), "a better one");
        assert!(!note(Choice::Anneal, 1.0, 1.0), "the same beginning");
    }

    #[test]
    fn the_kind_that_brings_more_for_its_work_is_made_more_often() {
        let graph = graph(64);
        for brings in [Round::Anew, Round::Anneal(0)] {
            let mut rounds = Rounds::new(&graph, Choice::AnewOrAnneal, Some(8));
            let gain = |round: Round| if place(round) == place(brings) { 0.1 } else { 0.0 };
            let all = made(&mut rounds, gain);
            // Each kind is tried once.
            assert_eq!(all.iter().filter(|round| gain(**round) > 0.0).count(), 7, "{all:?}");
        }
    }

    #[test]
    fn work_is_bounded_where_the_number_of_rounds_is_open() {
        let work = |tasks: u32, choice| {
            let mut rounds = Rounds::new(&graph(tasks), choice, None);
            made(&mut rounds, |_| 0.1);
            rounds.kinds.iter().map(|kind| kind.work).sum::<f64>()
        };
        for choice in [Choice::Assign, Choice::Anneal, Choice::AnewOrAnneal] {
            for tasks in [4, 64, 1024] {
                let work = work(tasks, choice);
                assert!(0.0 < work && work <= MOST_WORK, "{tasks} {choice:?}: {work}");
            }
        }
        // So many tasks are mapped once.
        assert_eq!(work(20_000, Choice::AnewOrAnneal), 0.0);
    }
}
