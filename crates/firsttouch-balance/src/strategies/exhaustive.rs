//! Every mapping of a few tasks, tried in turn, those that cannot be the best left out early.

use super::context::SearchContext;
use crate::{Machine, Problem};

/// Most mappings that are tried.
const MOST_MAPPINGS: f64 = 300_000.0;

/// Whether the problem is small enough.
pub(super) fn is_tiny(context: &SearchContext<'_>) -> bool {
    let free = context.pinned.iter().filter(|pinned| !**pinned).count();
    (context.machine.cores().len() as f64).powi(free as i32) <= MOST_MAPPINGS
}

/// The cheapest mapping whose cores are done by `cap`, or if there is none, by the least time that is possible.
pub(super) fn cheapest(
    problem: &Problem,
    context: &SearchContext<'_>,
    start: &[u32],
    cap: f64,
) -> Option<Vec<u32>> {
    let mut trial = Trial::new(problem, context, start);
    trial.cheapest(cap).or_else(|| {
        let least = trial.least_makespan()?;
        trial.cheapest(least)
    })
}

struct Trial<'a, 'b> {
    context: &'a SearchContext<'b>,
    machine: &'b Machine,
    free: Vec<u32>,
    /// Whether a task has a core yet: what is pinned, and what was put.
    placed: Vec<bool>,
    cores: Vec<u32>,
    busy: Vec<f64>,
    memory: Vec<u64>,
    needs: Vec<u64>,
    best: Option<(f64, Vec<u32>)>,
}

impl<'a, 'b> Trial<'a, 'b> {
    fn new(problem: &Problem, context: &'a SearchContext<'b>, start: &[u32]) -> Trial<'a, 'b> {
        let machine = context.machine;
        let mut trial = Trial {
            context,
            machine,
            free: (0..start.len() as u32).filter(|task| !context.pinned[*task as usize]).collect(),
            placed: vec![false; start.len()],
            cores: start.to_vec(),
            busy: machine.cores().iter().map(|core| core.background).collect(),
            memory: vec![0; machine.nodes().len()],
            needs: context.graph.tasks.iter().map(|task| problem.tasks()[*task as usize].memory).collect(),
            best: None,
        };
        for task in 0..start.len() as u32 {
            if context.pinned[task as usize] {
                trial.place(task, start[task as usize]);
            }
        }
        trial
    }

    fn place(&mut self, task: u32, core: u32) {
        self.placed[task as usize] = true;
        self.cores[task as usize] = core;
        let its = &self.machine.cores()[core as usize];
        self.busy[core as usize] += self.context.graph.loads[task as usize] / its.speed;
        self.memory[its.node as usize] += self.needs[task as usize];
    }

    fn remove(&mut self, task: u32, busy: f64) {
        let core = self.cores[task as usize];
        self.placed[task as usize] = false;
        self.busy[core as usize] = busy;
        self.memory[self.machine.cores()[core as usize].node as usize] -= self.needs[task as usize];
    }

    fn least_makespan(&mut self) -> Option<f64> {
        self.best = None;
        self.go_on(0, 0.0, &|_, makespan| makespan, f64::INFINITY);
        self.best.take().map(|(makespan, _)| makespan)
    }

    fn cheapest(&mut self, cap: f64) -> Option<Vec<u32>> {
        self.best = None;
        self.go_on(0, 0.0, &|cost, _| cost, cap);
        self.best.take().map(|(_, cores)| cores)
    }

    /// Places the rest of the tasks; `worth` says of cost and makespan what is to be least. Both only grow with each task.
    fn go_on(&mut self, depth: usize, cost: f64, worth: &dyn Fn(f64, f64) -> f64, cap: f64) {
        let makespan = self.busy.iter().copied().fold(0.0, f64::max);
        let least = self.best.as_ref().map_or(f64::INFINITY, |best| best.0);
        if makespan > cap || worth(cost, makespan) >= least {
            return;
        }
        let Some(&task) = self.free.get(depth) else {
            // The sums of a search are rounded in another order than those of the whole.
            let cost = self.context.cost(&self.cores);
            let makespan = self.makespan();
            let fits = self.machine.nodes().iter().zip(&self.memory);
            let fits = fits.into_iter().all(|(node, used)| node.memory.is_none_or(|memory| *used <= memory));
            if makespan <= cap
                && worth(cost, makespan) < least
                && fits
                && self.context.budget_allows(&self.cores)
            {
                self.best = Some((worth(cost, makespan), self.cores.clone()));
            }
            return;
        };
        for core in 0..self.machine.cores().len() as u32 {
            let busy = self.busy[core as usize];
            self.place(task, core);
            let more = self.cost_of(task);
            self.go_on(depth + 1, cost + more, worth, cap);
            self.remove(task, busy);
        }
    }

    /// What a task adds to the cost beside the tasks that are placed.
    fn cost_of(&self, task: u32) -> f64 {
        let core = self.cores[task as usize];
        let links = self.context.graph.links(task).iter().filter(|link| self.placed[link.other as usize]);
        let links = links.map(|link| self.context.link_cost(link, core, self.cores[link.other as usize]));
        links.sum::<f64>() + self.context.price(task, core)
    }

    fn makespan(&self) -> f64 {
        if self.machine.seconds_per_byte() == 0.0 {
            return self.busy.iter().copied().fold(0.0, f64::max);
        }
        super::search::State::new(self.context, self.cores.clone()).makespan(self.context)
    }
}
