//! Charm++'s `kNeighbor`: each task sends to the tasks before and behind it, and waits for their answers.

use super::{GenerateError, count, parameter, seconds};
use crate::{Message, Problem, Task};

/// How the work of a step is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Work {
    /// As in the original: task i of n goes (i i / n) 100 times, in whole numbers, through a loop of as many turns, which is
    /// nearly the fourth power of its number.
    #[default]
    Skewed,
    /// Every task the same.
    Equal,
}

/// The benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KNeighbor {
    /// How many tasks.
    pub tasks: usize,
    /// To how many others each sends, half of them before and half behind it; twice the original's STRIDEK.
    pub neighbours: usize,
    /// How far these are from one another.
    pub stride: usize,
    /// The bytes of a message, and of its answer.
    pub message_bytes: f64,
    /// The work of all tasks in a step, in seconds.
    pub work_s: f64,
    /// How it is shared out.
    pub work: Work,
}

impl KNeighbor {
    /// Tasks and messages of a step. Each message comes back as its answer, so a pair exchanges two each way.
    ///
    /// # Errors
    ///
    /// Parameters that mean nothing.
    pub fn problem(&self) -> Result<Problem, GenerateError> {
        let tasks = count("the number of tasks", self.tasks)?;
        let work = seconds("the work", self.work_s)?;
        let half = self.neighbours / 2;
        if !self.neighbours.is_multiple_of(2) || half == 0 {
            return Err(parameter("the number of neighbours", &self.neighbours, "it is an even number"));
        }
        if self.stride == 0 || half.saturating_mul(self.stride).saturating_mul(2) >= self.tasks {
            let wanted = "it is at least 1, and no neighbour is met twice";
            return Err(parameter("the stride", &self.stride, wanted));
        }
        if !(self.message_bytes.is_finite() && self.message_bytes >= 0.0) {
            return Err(parameter(
                "the size of a message",
                &self.message_bytes,
                "it is a finite number, 0 or more",
            ));
        }
        let turns = |task: u32| match self.work {
            Work::Equal => 1.0,
            Work::Skewed => ((u64::from(task) * u64::from(task) / u64::from(tasks) * 100) as f64).powi(2),
        };
        let all: f64 = (0..tasks).map(turns).sum();
        let load = |task| if all > 0.0 { work * turns(task) / all } else { 0.0 };
        let mut messages = Vec::with_capacity(self.tasks * self.neighbours);
        for from in 0..tasks {
            for step in 1..=half {
                let step = (step * self.stride) as u32;
                for to in [(from + step) % tasks, (from + tasks - step) % tasks] {
                    messages.push(Message { from, to, count: 2.0, bytes: 2.0 * self.message_bytes });
                }
            }
        }
        Ok(Problem::new((0..tasks).map(|task| Task::new(load(task))).collect(), &messages)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: KNeighbor = KNeighbor {
        tasks: 10,
        neighbours: 4,
        stride: 2,
        message_bytes: 100.0,
        work_s: 1.0,
        work: Work::Skewed,
    };

    #[test]
    fn neighbours_are_on_both_sides_and_around_the_end() {
        let problem = SMALL.problem().unwrap();
        let to: Vec<u32> = problem.sent(1).iter().map(|arc| arc.to).collect();
        assert_eq!(to, [3, 5, 7, 9]);
        assert_eq!((problem.sent(1)[0].count, problem.sent(1)[0].bytes), (2.0, 200.0));
    }

    #[test]
    fn skewed_work_is_in_whole_numbers() {
        let problem = SMALL.problem().unwrap();
        let load = |task: usize| problem.tasks()[task].load;
        // i i / 10 is 0 0 0 0 1 2 3 4 6 8; the sum of the squares is 130.
        assert_eq!((load(3), load(4), load(9)), (0.0, 1.0 / 130.0, 64.0 / 130.0));
        assert!((problem.total_load() - 1.0).abs() < 1e-12);
        let equal = KNeighbor { work: Work::Equal, ..SMALL }.problem().unwrap();
        assert!(equal.tasks().iter().all(|task| task.load == 0.1));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let refused = |one: KNeighbor| one.problem().unwrap_err().to_string();
        assert!(refused(KNeighbor { neighbours: 3, ..SMALL }).contains("even"));
        assert!(refused(KNeighbor { stride: 3, ..SMALL }).starts_with("the stride is 3"));
        assert!(refused(KNeighbor { stride: 0, ..SMALL }).starts_with("the stride is 0"));
        assert!(refused(KNeighbor { message_bytes: -1.0, ..SMALL }).contains("-1"));
        assert!(refused(KNeighbor { work_s: f64::INFINITY, ..SMALL }).starts_with("the work is inf"));
    }
}
