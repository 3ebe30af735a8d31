//! Shortens the step where it is known what receiving messages costs a core: the work of a core is its tasks' loads, which were
//! measured where they are now, and what receiving takes more or less than there.
//!
//! Moves and exchanges of the busiest core are ordered by loads; the most promising are tried with their messages. Afterwards
//! tasks return to their initial cores where that makes no step longer.

use super::compare::heaviest_first;
use super::local_search::Deadline;
use super::portfolio::Portfolio;
use crate::receiving::Receiving;
use crate::{Arc, Asked, Machine, Mapping, Problem, StrategyError, metrics};

/// How many changes of the busiest core are tried with their messages.
const TRIED: usize = 12;
/// Pairs of tasks that are looked at for one exchange; where there are more, tasks are moved only.
const MOST_PAIRS: usize = 20_000;
/// The share by which a change must shorten the step.
const LEAST_GAIN: f64 = 1e-4;
/// Steps without an end in sight, for each task.
const MOST_STEPS: usize = 2;
/// How many of the simpler strategies' mappings are worked at, the best first.
const MOST_ALTERNATIVES: usize = 2;
/// Differences below this share are rounding.
const ROUNDING: f64 = 1e-9;
/// With more cores, those are not exchanged as wholes.
const MOST_EXCHANGED: usize = 256;
/// Passes over tasks that may return to their initial cores.
const MOST_PASSES: usize = 8;
/// How many tasks of its home are tried for an exchange with one that would go there.
const PARTNERS: usize = 8;
/// To how many cores that have little to do such a task may go instead.
const IDLE: usize = 4;

/// A mapping, and how it does.
struct Candidate {
    last: f64,
    migrations: usize,
    mapping: Mapping,
}

/// A mapping whose step is as short as the tolerance asks and no longer than that of any simpler strategy: the one given,
/// worked at; where that is not enough the simpler ones, worked at; or the one given as it is. No memory is filled over, and
/// budgets are kept.
pub(super) fn refine_makespan(
    asked: &Asked<'_>,
    simpler: &mut Portfolio<'_>,
    receiving: &Receiving,
    found: Mapping,
    deadline: Deadline,
) -> Result<Mapping, StrategyError> {
    let Asked { problem, machine, start, options, .. } = *asked;
    let over = metrics::memory_over(problem, machine, &found);
    let judged = |mapping: Mapping| {
        let last = receiving.last(problem, machine, &mapping, start);
        let (migrations, bytes) = mapping.moved(problem, start).fold((0, 0_u64), |(tasks, bytes), task| {
            (tasks + 1, bytes.saturating_add(problem.tasks()[task].bytes))
        });
        let allowed = metrics::memory_over(problem, machine, &mapping) <= over
            && options.most_migrations.is_none_or(|most| migrations <= most)
            && options.most_migrated_bytes.is_none_or(|most| bytes <= most);
        allowed.then_some(Candidate { last, migrations, mapping })
    };
    let mut alternatives = Vec::new();
    for place in Portfolio::places(false) {
        alternatives.extend(judged(simpler.answer(place)?.clone()));
    }
    alternatives.sort_by(|a, b| a.last.total_cmp(&b.last));
    let bar = alternatives.first().map_or(f64::INFINITY, |alternative| alternative.last);
    let begun = std::iter::once(&found)
        .chain(alternatives.iter().map(|alternative| &alternative.mapping).take(MOST_ALTERNATIVES));
    let mut worked: Vec<MakespanRefinement<'_>> = Vec::new();
    for mapping in begun {
        let mut refinement = MakespanRefinement::new(problem, machine, receiving, start, mapping);
        let goal = (refinement.mean() * (1.0 + options.tolerance)).min(bar);
        refinement.refine(goal, deadline);
        let enough = refinement.last() <= goal;
        worked.push(refinement);
        if enough {
            break;
        }
    }
    // The step may be longer again by the tolerance where tasks can stay on their initial cores for it.
    let least = worked.iter().map(MakespanRefinement::last).fold(f64::INFINITY, f64::min);
    let limit = (least * (1.0 + options.tolerance)).min(bar).max(least);
    let mut candidates: Vec<Candidate> = judged(found.clone()).into_iter().collect();
    for mut refinement in worked {
        refinement.return_to_initial_cores(limit);
        candidates.extend(judged(refinement.mapping()));
    }
    let good = |one: &Candidate| one.last <= limit * (1.0 + ROUNDING);
    let key = |one: &Candidate| (!good(one), one.migrations);
    let best = candidates.into_iter().min_by(|a, b| key(a).cmp(&key(b)).then(a.last.total_cmp(&b.last)));
    Ok(best.map_or(found, |one| one.mapping))
}

/// Of a task or two, where they go.
#[derive(Clone, Copy, Debug)]
struct Change {
    task: u32,
    to: u32,
    /// Who makes room there, and where to.
    other: Option<(u32, u32)>,
}

/// A mapping with the work of its cores, messages counted.
#[derive(Clone, Debug)]
struct MakespanRefinement<'a> {
    problem: &'a Problem,
    machine: &'a Machine,
    receiving: &'a Receiving,
    start: &'a Mapping,
    cores: Vec<u32>,
    on: Vec<Vec<u32>>,
    /// What each task keeps its core busy with where it is.
    own: Vec<f64>,
    busy: Vec<f64>,
    /// Cores whose work the last change touched.
    touched: Vec<u32>,
}

impl<'a> MakespanRefinement<'a> {
    fn new(
        problem: &'a Problem,
        machine: &'a Machine,
        receiving: &'a Receiving,
        start: &'a Mapping,
        mapping: &Mapping,
    ) -> MakespanRefinement<'a> {
        let own = receiving.own(problem, machine, mapping, start);
        let mut busy: Vec<f64> = machine.cores().iter().map(|core| core.background).collect();
        let mut on = vec![Vec::new(); busy.len()];
        for (task, (core, own)) in mapping.cores().iter().zip(&own).enumerate() {
            busy[*core as usize] += own;
            on[*core as usize].push(task as u32);
        }
        let cores = mapping.cores().to_vec();
        MakespanRefinement { problem, machine, receiving, start, cores, on, own, busy, touched: Vec::new() }
    }

    /// When the last core is done.
    fn last(&self) -> f64 {
        self.busy.iter().copied().fold(0.0, f64::max)
    }

    fn mean(&self) -> f64 {
        self.busy.iter().sum::<f64>() / self.busy.len() as f64
    }

    fn mapping(&self) -> Mapping {
        Mapping::new(self.cores.clone())
    }

    /// What receiving takes a task on a core.
    fn receives(&self, task: u32, at: u32) -> f64 {
        let time = |(sender, arc): (u32, &Arc)| self.receiving.time(self.cores[sender as usize], at, arc);
        self.problem.received(task as usize).map(time).sum()
    }

    fn put(&mut self, task: u32, to: u32) {
        let index = task as usize;
        let from = self.cores[index];
        if from == to {
            return;
        }
        let (machine, receiving) = (self.machine, self.receiving);
        let speed = |core: u32| machine.cores()[core as usize].speed;
        let load = self.problem.tasks()[index].load;
        let mut own = self.own[index] + load / speed(to) - load / speed(from);
        for (sender, arc) in self.problem.received(index) {
            let sender = self.cores[sender as usize];
            own += receiving.time(sender, to, arc) - receiving.time(sender, from, arc);
        }
        self.busy[from as usize] -= self.own[index];
        self.busy[to as usize] += own;
        self.own[index] = own;
        self.touched.extend([from, to]);
        for arc in self.problem.sent(index) {
            let at = self.cores[arc.to as usize];
            let change = receiving.time(to, at, arc) - receiving.time(from, at, arc);
            self.own[arc.to as usize] += change;
            self.busy[at as usize] += change;
            self.touched.push(at);
        }
        let list = &mut self.on[from as usize];
        if let Some(place) = list.iter().position(|one| *one == task) {
            list.swap_remove(place);
        }
        self.on[to as usize].push(task);
        self.cores[index] = to;
    }

    fn make(&mut self, change: Change) {
        self.put(change.task, change.to);
        if let Some((other, to)) = change.other {
            self.put(other, to);
        }
    }

    fn back(&mut self, change: Change, from: u32) {
        self.put(change.task, from);
        if let Some((other, _)) = change.other {
            self.put(other, change.to);
        }
    }

    /// The latest of the cores that a change touches, after it; the change is taken back.
    fn after(&mut self, change: Change) -> f64 {
        let from = self.cores[change.task as usize];
        self.touched.clear();
        self.make(change);
        let after = self.touched.iter().map(|core| self.busy[*core as usize]).fold(0.0, f64::max);
        self.back(change, from);
        after
    }

    fn busiest(&self) -> u32 {
        let mut busiest = 0;
        for core in 1..self.busy.len() {
            if self.busy[core] > self.busy[busiest] {
                busiest = core;
            }
        }
        busiest as u32
    }

    /// Changes of a core's tasks, those that promise the least work first.
    fn promising(&self, core: u32) -> Vec<Change> {
        let now = self.busy[core as usize];
        let mut found: Vec<(f64, Change)> = Vec::with_capacity(TRIED + 1);
        let mut offer = |after: f64, change: Change| {
            if after >= now || found.len() == TRIED && after >= found[TRIED - 1].0 {
                return;
            }
            let place = found.partition_point(|(least, _)| *least <= after);
            found.insert(place, (after, change));
            found.truncate(TRIED);
        };
        for &task in &self.on[core as usize] {
            if self.problem.tasks()[task as usize].pinned {
                continue;
            }
            let own = self.own[task as usize];
            let silent = own - self.receives(task, core);
            for (to, busy) in (0..).zip(&self.busy) {
                if to != core && busy + silent < now {
                    let there = silent + self.receives(task, to);
                    offer((now - own).max(busy + there), Change { task, to, other: None });
                }
            }
            let swaps = self.on[core as usize].len() * self.own.len() <= MOST_PAIRS;
            for (other, &gives) in (0..).zip(&self.own).filter(|_| swaps) {
                let to = self.cores[other as usize];
                if to != core && gives < own && !self.problem.tasks()[other as usize].pinned {
                    let after = (now - own + gives).max(self.busy[to as usize] + own - gives);
                    offer(after, Change { task, to, other: Some((other, core)) });
                }
            }
        }
        found.into_iter().map(|(_, change)| change).collect()
    }

    /// Changes the busiest core until the last is done by `target`, or nothing helps.
    fn refine(&mut self, target: f64, deadline: Deadline) {
        for _ in 0..MOST_STEPS * self.problem.len() {
            let core = self.busiest();
            let now = self.busy[core as usize];
            if now <= target || deadline.is_over() {
                return;
            }
            let mut best: Option<(f64, Change)> = None;
            for change in self.promising(core) {
                let after = self.after(change);
                if after < best.map_or(now * (1.0 - LEAST_GAIN), |(least, _)| least) {
                    best = Some((after, change));
                }
            }
            let Some((_, change)) = best else { return };
            self.make(change);
        }
    }

    /// Returns tasks to their initial cores as long as no core is done later than `limit`: all of two nodes or cores at once,
    /// then one by one, the lightest first, alone or with another that is away from its initial core, too, and makes room.
    fn return_to_initial_cores(&mut self, limit: f64) {
        let cores: Vec<Vec<u32>> = (0..self.busy.len() as u32).map(|core| vec![core]).collect();
        let mut domains = vec![Vec::new(); self.machine.domains()];
        for (core, one) in (0..).zip(self.machine.cores()) {
            domains[one.domain as usize].push(core);
        }
        for _ in 0..MOST_PASSES {
            let exchanged = self.exchange(&domains, limit) | self.exchange(&cores, limit);
            if !self.return_tasks(limit) && !exchanged {
                break;
            }
        }
    }

    fn is_away(&self, task: u32) -> bool {
        let index = task as usize;
        self.problem.tasks()[index].home.is_some() && self.start.core(index) != self.cores[index]
    }

    /// Tasks one by one; says whether any was returned.
    fn return_tasks(&mut self, limit: f64) -> bool {
        let mut brought = false;
        for task in heaviest_first(self.problem).into_iter().rev() {
            if !self.is_away(task) {
                continue;
            }
            let home = self.start.core(task as usize);
            let alone = Change { task, to: home, other: None };
            if self.after(alone) <= limit {
                self.make(alone);
                brought = true;
                continue;
            }
            if let Some(both) = self.making_room(alone, limit) {
                self.make(both);
                brought = true;
            }
        }
        brought
    }

    /// The same with a task on its initial core that is away from its own, too, which goes the other way or to an idle core.
    fn making_room(&mut self, alone: Change, limit: f64) -> Option<Change> {
        let (from, own) = (self.cores[alone.task as usize], self.own[alone.task as usize]);
        let strange = |other: &u32| self.is_away(*other) && !self.problem.tasks()[*other as usize].pinned;
        let mut others: Vec<u32> = self.on[alone.to as usize].iter().copied().filter(strange).collect();
        let differs = |other: &u32| (self.own[*other as usize] - own).abs();
        others.sort_unstable_by(|a, b| differs(a).total_cmp(&differs(b)).then(a.cmp(b)));
        others.truncate(PARTNERS);
        let exchanges = others.iter().map(|other| (*other, from));
        let mut candidates: Vec<(u32, u32)> = exchanges.collect();
        let idle = self.idlest();
        for &other in &others {
            let fits = |to: &u32| {
                let there = self.busy[*to as usize] + self.own[other as usize];
                *to != alone.to && *to != from && there <= limit
            };
            candidates.extend(idle.iter().copied().filter(fits).map(|to| (other, to)));
        }
        let mut candidates = candidates.into_iter().map(|other| Change { other: Some(other), ..alone });
        candidates.find(|both| self.after(*both) <= limit)
    }

    /// Some of the cores with the least work.
    fn idlest(&self) -> Vec<u32> {
        let mut cores: Vec<u32> = (0..self.busy.len() as u32).collect();
        let work = |core: &u32| self.busy[*core as usize];
        cores.sort_unstable_by(|a, b| work(a).total_cmp(&work(b)).then(a.cmp(b)));
        cores.truncate(IDLE);
        cores
    }

    /// Exchanges everything on two groups of as many cores where that brings more tasks to their group than it takes away, the
    /// most first. Says whether any were.
    fn exchange(&mut self, groups: &[Vec<u32>], limit: f64) -> bool {
        let count = groups.len();
        if count > MOST_EXCHANGED {
            return false;
        }
        let mut group_of = vec![0; self.busy.len()];
        for (group, cores) in groups.iter().enumerate() {
            cores.iter().for_each(|core| group_of[*core as usize] = group);
        }
        // How many tasks of a group's cores are on those of another.
        let mut at = vec![0_i64; count * count];
        for (index, task) in self.problem.tasks().iter().enumerate().filter(|(_, task)| task.home.is_some()) {
            let there = if task.pinned { self.start.core(index) } else { self.cores[index] };
            at[group_of[self.start.core(index) as usize] * count + group_of[there as usize]] += 1;
        }
        let gain = |a: usize, b: usize| {
            at[a * count + b] + at[b * count + a] - at[a * count + a] - at[b * count + b]
        };
        let mut pairs: Vec<(i64, usize, usize)> = (0..count)
            .flat_map(|a| (a + 1..count).map(move |b| (a, b)))
            .filter(|(a, b)| groups[*a].len() == groups[*b].len())
            .map(|(a, b)| (gain(a, b), a, b))
            .filter(|(gain, ..)| *gain > 0)
            .collect();
        pairs.sort_by(|one, two| two.0.cmp(&one.0).then((one.1, one.2).cmp(&(two.1, two.2))));
        let mut changed = vec![false; count];
        for (_, a, b) in pairs {
            // What was counted holds for groups that are as they were.
            if changed[a] || changed[b] {
                continue;
            }
            let mut moved: Vec<(u32, u32, u32)> = Vec::new();
            for (&one, &two) in groups[a].iter().zip(&groups[b]) {
                for (from, to) in [(one, two), (two, one)] {
                    let tasks = self.on[from as usize].iter().copied();
                    let movable = tasks.filter(|task| !self.problem.tasks()[*task as usize].pinned);
                    moved.extend(movable.map(|task| (task, from, to)));
                }
            }
            self.touched.clear();
            moved.iter().for_each(|(task, _, to)| self.put(*task, *to));
            if self.touched.iter().all(|core| self.busy[*core as usize] <= limit) {
                (changed[a], changed[b]) = (true, true);
            } else {
                moved.iter().for_each(|(task, from, _)| self.put(*task, *from));
            }
        }
        changed.contains(&true)
    }
}
