//! What a search is given: tasks, machine, and what being away from its initial core costs.

use super::graph::{Graph, Link};
use crate::{Machine, Problem, SolveOptions};

/// What does not change while searching.
#[derive(Debug)]
pub(super) struct SearchContext<'a> {
    pub(super) graph: &'a Graph,
    pub(super) machine: &'a Machine,
    pub(super) homes: Vec<Option<u32>>,
    pub(super) pinned: Vec<bool>,
    pub(super) bytes: Vec<u64>,
    pub(super) memory: Vec<u64>,
    /// Whether any node's memory could be too small.
    tight: bool,
    /// What being away from its initial core costs any task.
    away: f64,
    scale: f64,
    /// Of each task, the share of its bytes that migrating costs a step: none where a mapping serves for ever.
    carried: Vec<f64>,
    pub(super) most_migrations: usize,
    pub(super) most_migrated_bytes: u64,
    pub(super) cores: u32,
    pub(super) domain_of: Vec<u32>,
    pub(super) slowness: Vec<f64>,
}

impl<'a> SearchContext<'a> {
    pub(super) fn new(
        problem: &Problem,
        machine: &'a Machine,
        graph: &'a Graph,
        start: &[u32],
        options: &SolveOptions,
    ) -> SearchContext<'a> {
        let task = |place: &u32| &problem.tasks()[*place as usize];
        let needed: u64 = problem.tasks().iter().fold(0, |sum, task| sum.saturating_add(task.memory));
        let memory = machine.nodes().iter().filter_map(|node| node.memory).min();
        let steps = options.steps.unwrap_or(f64::INFINITY);
        let mut context = SearchContext {
            graph,
            machine,
            // A migration is counted from where the task is now.
            homes: graph.tasks.iter().zip(start).map(|(at, core)| task(at).home.map(|_| *core)).collect(),
            pinned: graph.tasks.iter().map(|at| task(at).pinned).collect(),
            bytes: graph.tasks.iter().map(|at| task(at).bytes).collect(),
            memory: graph.tasks.iter().map(|at| task(at).memory).collect(),
            tight: memory.is_some_and(|memory| needed > memory),
            away: 0.0,
            scale: 0.0,
            carried: graph.tasks.iter().map(|at| task(at).bytes as f64 / steps).collect(),
            most_migrations: options.most_migrations.unwrap_or(usize::MAX),
            most_migrated_bytes: options.most_migrated_bytes.unwrap_or(u64::MAX),
            cores: machine.cores().len() as u32,
            domain_of: machine.cores().iter().map(|core| core.domain).collect(),
            slowness: machine.cores().iter().map(|core| 1.0 / core.speed).collect(),
        };
        let traffic = context.mean_traffic();
        context.away = options.migration_weight * traffic;
        context.scale = if traffic > 0.0 { traffic } else { 1.0 };
        context
    }

    /// The bytes of an average task at the distance 1.
    fn mean_traffic(&self) -> f64 {
        let all: f64 =
            (0..self.graph.len() as u32).flat_map(|task| self.graph.links(task)).map(|link| link.out).sum();
        all / self.graph.len().max(1) as f64
    }

    fn distance(&self, from: u32, to: u32) -> f64 {
        if from == to {
            return self.machine.same_core();
        }
        self.machine.domain_distance(self.domain_of[from as usize], self.domain_of[to as usize])
    }

    /// A cost that stands for one task's, where costs are to be compared with none.
    pub(super) fn scale(&self) -> f64 {
        self.scale
    }

    /// Whether any node's memory could be too small.
    pub(super) fn is_tight(&self) -> bool {
        self.tight
    }

    /// Whether more than pins says which tasks may go to a core: memory, or the budget of migrations.
    pub(super) fn is_limited(&self) -> bool {
        self.tight || self.most_migrations < usize::MAX || self.most_migrated_bytes < u64::MAX
    }

    /// What it costs that a task is on a core other than its initial one.
    pub(super) fn price(&self, task: u32, core: u32) -> f64 {
        match self.homes[task as usize] {
            Some(home) if home != core => match self.carried[task as usize] {
                0.0 => self.away,
                carried => self.away + carried * self.distance(home, core),
            },
            _ => 0.0,
        }
    }

    pub(super) fn link_cost(&self, link: &Link, here: u32, there: u32) -> f64 {
        link.out * self.distance(here, there) + link.back * self.distance(there, here)
    }

    /// Whether a mapping moves no more than it may.
    pub(super) fn budget_allows(&self, cores: &[u32]) -> bool {
        let (mut tasks, mut bytes) = (0, 0_u64);
        for (task, core) in cores.iter().enumerate() {
            if self.homes[task].is_some_and(|home| home != *core) {
                tasks += 1;
                bytes = bytes.saturating_add(self.bytes[task]);
            }
        }
        tasks <= self.most_migrations && bytes <= self.most_migrated_bytes
    }

    /// Cost and prices of a mapping.
    pub(super) fn cost(&self, cores: &[u32]) -> f64 {
        let mut cost = 0.0;
        for task in 0..self.graph.len() as u32 {
            let here = cores[task as usize];
            for link in self.graph.links(task) {
                cost += link.out * self.distance(here, cores[link.other as usize]);
            }
            cost += self.price(task, here);
        }
        cost
    }
}
