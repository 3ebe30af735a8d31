//! The runs of one phase, by configuration.

use crate::SessionRun;
use crate::statistics::layout::Block;
use crate::statistics::sample::mean;
use crate::{Objective, Plan, RunRequest, TimedRun};
use firsttouch_sorted::SortedMap;

/// Everything measured in one phase.
#[derive(Debug)]
pub(crate) struct History {
    objective: Objective,
    /// Configurations of this phase, the baseline first. Their places here are the entries of [`History::blocks`].
    pub(crate) participants: Vec<usize>,
    /// Runs by configuration index; empty for those that do not take part.
    pub(crate) runs: Vec<Vec<SessionRun>>,
    /// Of every complete block, one in which all that had to run has run: logarithms of what is judged, the less the better.
    pub(crate) blocks: Vec<Block>,
}

impl History {
    /// Nothing yet of these configurations of the plan, the baseline first.
    pub(crate) fn new(plan: &Plan, participants: Vec<usize>) -> Self {
        let runs = vec![Vec::new(); plan.configurations.len()];
        History { objective: plan.objective.clone(), participants, runs, blocks: Vec::new() }
    }

    /// The number of the block that runs now, or next.
    pub(crate) fn block(&self) -> u32 {
        self.blocks.len() as u32
    }

    pub(crate) fn record(&mut self, request: &RunRequest, timed: TimedRun) {
        self.runs[request.configuration].push(SessionRun {
            block: request.block,
            order: request.order,
            timed,
            outlier: false,
        });
    }

    /// Ends the block. What is not positive and finite says nothing and is left out.
    pub(crate) fn finish_block(&mut self) {
        let number = self.block();
        let entry = |configuration: &usize| {
            let run = self.runs[*configuration].last().filter(|run| run.block == number)?;
            self.objective.log_loss(&run.timed)
        };
        let block = self.participants.iter().map(entry).collect();
        self.blocks.push(block);
    }

    /// What is judged of all runs of a configuration, those of an unfinished block included.
    pub(crate) fn values(&self, configuration: usize) -> Vec<f64> {
        self.runs[configuration].iter().filter_map(|run| self.objective.value(&run.timed)).collect()
    }

    /// Logarithms of how many times better a participant is than the baseline, block by block.
    pub(crate) fn log_ratios(&self, participant: usize) -> Vec<f64> {
        self.blocks.iter().filter_map(|block| Some(block[0]? - block[participant]?)).collect()
    }

    /// How many times less a participant takes than the baseline in the sum of the blocks that both ran in; of rates, in the time that equal work
    /// takes.
    pub(crate) fn ratio_of_sums(&self, participant: usize) -> Option<f64> {
        let both = self.blocks.iter().filter_map(|block| Some((block[0]?.exp(), block[participant]?.exp())));
        let (baseline, own): (Vec<f64>, Vec<f64>) = both.unzip();
        Some(mean(&baseline)? / mean(&own)?)
    }

    /// In the shape of the blocks: something else of each run.
    pub(crate) fn beside(&self, of: impl Fn(&TimedRun) -> Option<f64>) -> Vec<Block> {
        let mut beside = vec![vec![None; self.participants.len()]; self.blocks.len()];
        for (place, &configuration) in self.participants.iter().enumerate() {
            for run in &self.runs[configuration] {
                if let Some(block) = beside.get_mut(run.block as usize) {
                    block[place] = of(&run.timed);
                }
            }
        }
        beside
    }

    /// In the shape of the blocks: which participant ran directly before each of their runs. What ran in another phase counts as none.
    pub(crate) fn before(&self) -> Vec<Vec<Option<usize>>> {
        let mut of_order = SortedMap::new();
        for (place, &configuration) in self.participants.iter().enumerate() {
            of_order
                .extend(self.runs[configuration].iter().map(|run| (run.order, (place, run.block as usize))));
        }
        let mut before = vec![vec![None; self.participants.len()]; self.blocks.len()];
        for &(order, (place, block)) in &of_order {
            let earlier = order.checked_sub(1).and_then(|earlier| of_order.get(&earlier));
            if let Some(block) = before.get_mut(block) {
                block[place] = earlier.map(|(place, _)| *place);
            }
        }
        before
    }

    /// Whether anything ran.
    pub(crate) fn is_begun(&self) -> bool {
        self.runs.iter().any(|runs| !runs.is_empty())
    }
}
