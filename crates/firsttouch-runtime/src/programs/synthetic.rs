//! Any problem of `firsttouch-balance` as a program: tasks that compute for as long as their loads say and send what their
//! messages say. With `LbTest` and `KNeighbor` these are Charm++'s `lb_test` and `kNeighbor`.
//!
//! Work is counted in rounds, not in time, so that the result is the same however fast the machine is and whoever else
//! runs on it.

use crate::{Context, Program};
use firsttouch_balance::Problem;
use firsttouch_linux::clock::thread_processor_time;
use firsttouch_memory::Region;
use std::hint::black_box;
use std::time::Duration;

/// The state begins with the result so far; what follows is what the work goes through.
const RESULT: usize = 0;

/// Tasks that compute and talk as a problem says.
#[derive(Clone, Debug)]
pub struct Synthetic {
    problem: Problem,
    /// By task.
    rounds: Vec<u64>,
    words: usize,
}

impl Synthetic {
    /// The tasks of a problem, whose loads become rounds at this rate ([`rounds_per_second`] measures that of the CPU), with
    /// states of at least so many bytes.
    #[must_use]
    pub fn new(problem: Problem, rounds_per_second: f64, state_bytes: usize) -> Synthetic {
        let rounds = problem.tasks().iter().map(|task| (task.load * rounds_per_second) as u64).collect();
        let largest = problem.messages().map(|message| words_of(message.bytes / message.count.max(1.0)));
        let words = largest.max().unwrap_or(0).max(state_bytes / 8).max(RESULT + 2);
        Synthetic { problem, rounds, words }
    }

    /// Rounds of all tasks in a step, without those for messages.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds.iter().sum()
    }

    /// The result of a task, of which everything is part that it did and received.
    #[must_use]
    pub fn result(state: &Region) -> u64 {
        state.as_slice_of::<u64>()[RESULT]
    }

    fn talk(&self, task: &mut Context<'_>, state: &[u64]) {
        for arc in self.problem.sent(task.number() as usize) {
            let count = arc.count.max(1.0).round();
            for message in 0..count as u32 {
                task.send(arc.to, message, &state[..words_of(arc.bytes / count)]);
            }
        }
    }
}

fn words_of(bytes: f64) -> usize {
    (bytes / 8.0).ceil() as usize
}

/// One round: a step of Vigna's splitmix64, after a word of the state that the value before names.
fn round(value: u64, data: &mut [u64]) -> u64 {
    let place = (value >> 32) as usize % data.len();
    let mut mixed = (value ^ data[place]).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    data[place] = mixed ^ (mixed >> 31);
    data[place]
}

impl Program for Synthetic {
    fn tasks(&self) -> u32 {
        self.problem.len() as u32
    }

    fn state_bytes(&self, _: u32) -> usize {
        self.words * 8
    }

    fn is_pinned(&self, task: u32) -> bool {
        self.problem.tasks()[task as usize].pinned
    }

    fn begin(&self, task: &mut Context<'_>, state: &mut Region) {
        let words = &mut state.as_mut_slice_of::<u64>()[..self.words];
        for (word, place) in words.iter_mut().zip(0_u64..) {
            *word = place ^ (u64::from(task.number()) << 40);
        }
        self.talk(task, words);
    }

    fn step(&self, task: &mut Context<'_>, state: &mut Region) {
        let words = &mut state.as_mut_slice_of::<u64>()[..self.words];
        let (result, data) = words.split_at_mut(RESULT + 1);
        let mut value = result[RESULT];
        for message in task.inbox() {
            value = round(value ^ (u64::from(message.from) << 32 | u64::from(message.tag)), data);
            value = message.elements::<u64>().iter().fold(value, |sum, word| sum.rotate_left(1) ^ word);
        }
        for _ in 0..self.rounds[task.number() as usize] {
            value = round(value, data);
        }
        result[RESULT] = value;
        self.talk(task, words);
    }
}

/// How many rounds the calling thread's CPU makes in a second of its time, the best of some short trials.
#[must_use]
pub fn rounds_per_second() -> f64 {
    const TRIALS: u32 = 5;
    const LEAST: Duration = Duration::from_millis(5);
    let mut data = [1_u64; 512];
    let mut trial = || {
        let begun = thread_processor_time();
        let mut rounds = 0_u64;
        loop {
            let value = (0..1000).fold(rounds, |value, _| round(value, &mut data));
            black_box(value);
            rounds += 1000;
            let used = thread_processor_time().saturating_sub(begun);
            if used >= LEAST {
                return rounds as f64 / used.as_secs_f64();
            }
        }
    };
    (0..TRIALS).map(|_| trial()).fold(0.0, f64::max)
}
