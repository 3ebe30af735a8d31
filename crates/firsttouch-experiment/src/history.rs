//! The runs of one phase, by configuration.

use crate::SessionRun;
use crate::statistics::ratio::log_ratios;
use crate::{RunRequest, TimedRun};

/// Everything measured in one phase. A configuration runs once in each block from the first until it is dropped, so
/// its runs are its blocks.
#[derive(Debug)]
pub(crate) struct History {
    /// Configurations of this phase, the baseline first.
    pub(crate) participants: Vec<usize>,
    /// Runs by configuration index; empty for those that do not take part.
    pub(crate) runs: Vec<Vec<SessionRun>>,
    /// The block after which a configuration was dropped.
    pub(crate) dropped_after: Vec<Option<u32>>,
    /// Blocks in which every live configuration has run.
    pub(crate) complete_blocks: u32,
}

impl History {
    pub(crate) fn new(configurations: usize, participants: Vec<usize>) -> Self {
        History {
            participants,
            runs: vec![Vec::new(); configurations],
            dropped_after: vec![None; configurations],
            complete_blocks: 0,
        }
    }

    pub(crate) fn record(&mut self, request: &RunRequest, timed: TimedRun) {
        self.runs[request.configuration].push(SessionRun {
            block: request.block,
            order: request.order,
            timed,
            outlier: false,
        });
    }

    /// Configurations that still run, the baseline first.
    pub(crate) fn live(&self) -> Vec<usize> {
        self.participants.iter().copied().filter(|&index| self.dropped_after[index].is_none()).collect()
    }

    /// Wall times of all runs of a configuration, those of an unfinished block included.
    pub(crate) fn wall_s(&self, configuration: usize) -> Vec<f64> {
        self.runs[configuration].iter().map(|run| run.timed.wall_s).collect()
    }

    /// Wall times in complete blocks only.
    pub(crate) fn complete_wall_s(&self, configuration: usize) -> impl Iterator<Item = &f64> {
        self.runs[configuration]
            .iter()
            .filter(|run| run.block < self.complete_blocks)
            .map(|run| &run.timed.wall_s)
    }

    /// Per-block logarithms of how many times faster a configuration is than the reference, complete blocks only.
    pub(crate) fn log_ratios(&self, reference: usize, configuration: usize) -> Vec<f64> {
        log_ratios(self.complete_wall_s(reference).zip(self.complete_wall_s(configuration)))
    }
}
