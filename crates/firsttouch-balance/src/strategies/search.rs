//! A mapping that is changed by single moves and swaps, with its work and cost kept up to date.
//!
//! What is minimised is the cost (bytes times distances) and a price for each task that is away from its initial core, among the
//! mappings whose cores are all done by a cap. A move of a task costs as much as the task has neighbours, whatever the size
//! of the problem.

use super::context::SearchContext;
use super::profile::Profile;

/// Differences below this share of the cost are rounding.
const ROUNDING: f64 = 1e-12;

/// A mapping under change.
#[derive(Clone, Debug)]
pub(super) struct State {
    cores: Vec<u32>,
    /// The tasks of each core, and where in that list each task is.
    on: Vec<Vec<u32>>,
    place: Vec<u32>,
    busy: Vec<f64>,
    traffic: Vec<(f64, f64)>,
    memory: Vec<u64>,
    away: usize,
    away_bytes: u64,
    profile: Profile,
    second: Profile,
}

/// A change that was looked at: what it does to cost and prices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Move { task: u32, to: u32, change: f64 },
    Swap { one: u32, two: u32, change: f64 },
}

impl State {
    pub(super) fn new(context: &SearchContext<'_>, cores: Vec<u32>) -> State {
        let count = context.cores as usize;
        let mut state = State {
            on: vec![Vec::new(); count],
            place: vec![0; cores.len()],
            busy: context.machine.cores().iter().map(|core| core.background).collect(),
            traffic: vec![(0.0, 0.0); count],
            memory: vec![0; context.machine.nodes().len()],
            away: 0,
            away_bytes: 0,
            profile: Profile::new(context.machine),
            second: Profile::new(context.machine),
            cores,
        };
        for task in 0..state.cores.len() as u32 {
            let core = state.cores[task as usize];
            state.enlist(task, core);
            state.busy[core as usize] += context.graph.loads[task as usize] * context.slowness[core as usize];
            state.count(context, task, core, true);
            for link in context.graph.links(task) {
                if state.cores[link.other as usize] != core {
                    state.traffic[core as usize].0 += link.out;
                    state.traffic[core as usize].1 += link.back;
                }
            }
        }
        state
    }

    fn enlist(&mut self, task: u32, core: u32) {
        let list = &mut self.on[core as usize];
        self.place[task as usize] = list.len() as u32;
        list.push(task);
    }

    fn strike(&mut self, task: u32, core: u32) {
        let list = &mut self.on[core as usize];
        let place = self.place[task as usize];
        list.swap_remove(place as usize);
        if let Some(last) = list.get(place as usize) {
            self.place[*last as usize] = place;
        }
    }

    fn count(&mut self, context: &SearchContext<'_>, task: u32, core: u32, comes: bool) {
        let task = task as usize;
        let memory = &mut self.memory[context.machine.cores()[core as usize].node as usize];
        let away = context.homes[task].is_some_and(|home| home != core);
        if comes {
            *memory = memory.saturating_add(context.memory[task]);
            self.away += usize::from(away);
            self.away_bytes += if away { context.bytes[task] } else { 0 };
        } else {
            *memory = memory.saturating_sub(context.memory[task]);
            self.away -= usize::from(away);
            self.away_bytes -= if away { context.bytes[task] } else { 0 };
        }
    }

    pub(super) fn cores(&self) -> &[u32] {
        &self.cores
    }

    pub(super) fn core(&self, task: u32) -> u32 {
        self.cores[task as usize]
    }

    pub(super) fn tasks_on(&self, core: u32) -> &[u32] {
        &self.on[core as usize]
    }

    /// The work of a core.
    pub(super) fn work(&self, context: &SearchContext<'_>, core: u32) -> f64 {
        let (sent, received) = self.traffic[core as usize];
        self.busy[core as usize] + context.machine.seconds_per_byte() * sent.max(received)
    }

    pub(super) fn makespan(&self, context: &SearchContext<'_>) -> f64 {
        (0..context.cores).map(|core| self.work(context, core)).fold(0.0, f64::max)
    }

    /// The busiest core, of several the first.
    pub(super) fn busiest(&self, context: &SearchContext<'_>) -> u32 {
        let mut busiest = 0;
        for core in 1..context.cores {
            if self.work(context, core) > self.work(context, busiest) {
                busiest = core;
            }
        }
        busiest
    }

    /// The core with the least work, of several the first.
    pub(super) fn idlest(&self, context: &SearchContext<'_>) -> u32 {
        let mut idlest = 0;
        for core in 1..context.cores {
            if self.work(context, core) < self.work(context, idlest) {
                idlest = core;
            }
        }
        idlest
    }

    /// Whether pins, memory and budget let a step be taken.
    pub(super) fn may_take(&mut self, context: &SearchContext<'_>, step: Step) -> bool {
        match step {
            Step::Move { task, to, .. } => self.core(task) != to && self.allowed(context, task, to),
            Step::Swap { one, two, .. } => self.look_at_swap(context, one, two, f64::INFINITY).is_some(),
        }
    }

    /// No more than the work of the busier of the two cores that a step is about, after it: communication is left out.
    pub(super) fn after_by_load(&self, context: &SearchContext<'_>, step: Step) -> f64 {
        let (from, to, load) = match step {
            Step::Move { task, to, .. } => (self.core(task), to, context.graph.loads[task as usize]),
            Step::Swap { one, two, .. } => {
                let [one_load, two_load] = [one, two].map(|task| context.graph.loads[task as usize]);
                (self.core(one), self.core(two), one_load - two_load)
            }
        };
        let from = self.busy[from as usize] - load * context.slowness[from as usize];
        from.max(self.busy[to as usize] + load * context.slowness[to as usize])
    }

    /// The work of the busier of the two cores that a step is about, after it.
    pub(super) fn after(&mut self, context: &SearchContext<'_>, step: Step) -> f64 {
        let (from, to, back) = match step {
            Step::Move { task, to, .. } => {
                let from = self.core(task);
                (from, to, Step::Move { task, to: from, change: 0.0 })
            }
            Step::Swap { one, two, .. } => (self.core(one), self.core(two), step),
        };
        self.take(context, step);
        let after = self.work(context, from).max(self.work(context, to));
        self.take(context, back);
        after
    }

    /// Whether nodes have memory and the budget has room for a task to go to a core.
    fn allowed(&self, context: &SearchContext<'_>, task: u32, to: u32) -> bool {
        self.may_leave(context, task) && self.has_memory(context, task, to)
    }

    /// Whether a task is not pinned, and the budget has room for it to leave its core.
    fn may_leave(&self, context: &SearchContext<'_>, task: u32) -> bool {
        let index = task as usize;
        if context.pinned[index] {
            return false;
        }
        if context.homes[index] != Some(self.cores[index]) {
            return true;
        }
        let bytes = self.away_bytes.saturating_add(context.bytes[index]);
        self.away < context.most_migrations && bytes <= context.most_migrated_bytes
    }

    /// Whether the node of a core has memory for a task.
    fn has_memory(&self, context: &SearchContext<'_>, task: u32, to: u32) -> bool {
        if !context.is_tight() {
            return true;
        }
        let node = |core: u32| context.machine.cores()[core as usize].node as usize;
        let from = self.core(task);
        let room = context.machine.nodes()[node(to)].memory.unwrap_or(u64::MAX);
        let needed = self.memory[node(to)].saturating_add(context.memory[task as usize]);
        node(from) == node(to) || needed <= room
    }

    /// Where a task might go with profit: the cores of its neighbours, or all where they are few.
    pub(super) fn candidates(&mut self, context: &SearchContext<'_>, task: u32, into: &mut Vec<u32>) {
        const FEW: u32 = 32;
        into.clear();
        if context.cores <= FEW {
            into.extend(0..context.cores);
            return;
        }
        self.profile.fill(context, &self.cores, task);
        into.extend(self.profile.cores.iter().copied());
        into.extend(context.homes[task as usize]);
        into.sort_unstable();
        into.dedup();
    }

    /// What moving a task would change, if its new core is done by `cap` then.
    pub(super) fn look_at_move(
        &mut self,
        context: &SearchContext<'_>,
        task: u32,
        to: u32,
        cap: f64,
    ) -> Option<Step> {
        let from = self.core(task);
        if from == to || !self.allowed(context, task, to) {
            return None;
        }
        let load = context.graph.loads[task as usize];
        if context.machine.seconds_per_byte() == 0.0
            && self.busy[to as usize] + load * context.slowness[to as usize] > cap
        {
            return None;
        }
        self.profile.fill(context, &self.cores, task);
        if context.machine.seconds_per_byte() > 0.0 && self.work_with(context, task, to) > cap {
            return None;
        }
        let change = self.profile.cost(context, to) - self.profile.cost(context, from)
            + context.price(task, to)
            - context.price(task, from);
        Some(Step::Move { task, to, change })
    }

    /// The work of a core if the task of the profile came to it.
    fn work_with(&self, context: &SearchContext<'_>, task: u32, to: u32) -> f64 {
        let (sent, received) = self.traffic[to as usize];
        let (out, back) = self.profile.by_core[to as usize];
        let sent = sent - back + self.profile.out - out;
        let received = received - out + self.profile.back - back;
        self.busy[to as usize]
            + context.graph.loads[task as usize] * context.slowness[to as usize]
            + context.machine.seconds_per_byte() * sent.max(received)
    }

    /// The cheapest move of a task to one of some cores that is done by `cap` then, and what it changes; of several the first.
    pub(super) fn best_move(
        &mut self,
        context: &SearchContext<'_>,
        task: u32,
        to: &[u32],
        cap: f64,
    ) -> Option<(u32, f64)> {
        self.look_at_moves(context, task, to, cap, false)[0]
    }

    /// The same, and beside it the cheapest move whenever its core is done.
    pub(super) fn best_moves(
        &mut self,
        context: &SearchContext<'_>,
        task: u32,
        to: &[u32],
        cap: f64,
    ) -> [Option<(u32, f64)>; 2] {
        self.look_at_moves(context, task, to, cap, true)
    }

    fn look_at_moves(
        &mut self,
        context: &SearchContext<'_>,
        task: u32,
        to: &[u32],
        cap: f64,
        late_too: bool,
    ) -> [Option<(u32, f64)>; 2] {
        let [mut best, mut unconstrained]: [Option<(u32, f64)>; 2] = [None; 2];
        if !self.may_leave(context, task) {
            return [best, unconstrained];
        }
        let from = self.core(task);
        self.profile.fill(context, &self.cores, task);
        let now = self.profile.cost(context, from) + context.price(task, from);
        let load = context.graph.loads[task as usize];
        let own_time = context.machine.seconds_per_byte() > 0.0;
        // Cores come by domain, and what is far is as far from all cores of one.
        let (mut domain, mut far) = (u32::MAX, 0.0);
        for &core in to {
            let late = self.busy[core as usize] + load * context.slowness[core as usize] > cap;
            if core == from || late && !late_too || !self.has_memory(context, task, core) {
                continue;
            }
            let late = late || own_time && self.work_with(context, task, core) > cap;
            if late && !late_too {
                continue;
            }
            if context.domain_of[core as usize] != domain {
                domain = context.domain_of[core as usize];
                far = self.profile.cost_in(context, domain);
            }
            let cost = far + self.profile.cost_at(context, core, domain);
            let change = cost + context.price(task, core) - now;
            if !late && best.is_none_or(|(_, least)| change < least) {
                best = Some((core, change));
            }
            if late_too && unconstrained.is_none_or(|(_, least)| change < least) {
                unconstrained = Some((core, change));
            }
        }
        [best, unconstrained]
    }

    /// What exchanging two tasks would change, if both cores are done by `cap` then.
    pub(super) fn look_at_swap(
        &mut self,
        context: &SearchContext<'_>,
        one: u32,
        two: u32,
        cap: f64,
    ) -> Option<Step> {
        let (from, to) = (self.core(one), self.core(two));
        if from == to || context.pinned[one as usize] || context.pinned[two as usize] {
            return None;
        }
        if context.machine.seconds_per_byte() > 0.0 || context.is_limited() {
            return self.try_swap(context, one, two, cap);
        }
        let [load, other] = [one, two].map(|task| context.graph.loads[task as usize]);
        let after =
            |core: u32, change: f64| self.busy[core as usize] + change * context.slowness[core as usize];
        if after(to, load - other) > cap.max(self.busy[to as usize])
            || after(from, other - load) > cap.max(self.busy[from as usize])
        {
            return None;
        }
        Some(Step::Swap { one, two, change: self.swap_change(context, one, two) })
    }

    fn swap_change(&mut self, context: &SearchContext<'_>, one: u32, two: u32) -> f64 {
        let (from, to) = (self.core(one), self.core(two));
        self.profile.fill(context, &self.cores, one);
        self.second.fill(context, &self.cores, two);
        let mut change = self.profile.cost(context, to) - self.profile.cost(context, from)
            + self.second.cost(context, from)
            - self.second.cost(context, to)
            + context.price(one, to)
            - context.price(one, from)
            + context.price(two, from)
            - context.price(two, to);
        // Each of the two was looked at as if the other stayed, so the link between them was counted as if it vanished.
        if let Some(link) = context.graph.links(one).iter().find(|link| link.other == two) {
            let both = context.link_cost(link, from, to) + context.link_cost(link, to, from);
            change += both - 2.0 * (link.out + link.back) * context.machine.same_core();
        }
        change
    }

    /// Does a swap, looks, and takes it back: for limits that depend on both tasks at once.
    fn try_swap(&mut self, context: &SearchContext<'_>, one: u32, two: u32, cap: f64) -> Option<Step> {
        let (from, to) = (self.core(one), self.core(two));
        let change = self.swap_change(context, one, two);
        let before = (self.work(context, from), self.work(context, to));
        self.put(context, one, to);
        self.put(context, two, from);
        let fits = self.away <= context.most_migrations
            && self.away_bytes <= context.most_migrated_bytes
            && self.work(context, from) <= cap.max(before.0)
            && self.work(context, to) <= cap.max(before.1)
            && self.memory_fits(context);
        self.put(context, one, from);
        self.put(context, two, to);
        fits.then_some(Step::Swap { one, two, change })
    }

    pub(super) fn memory_fits(&self, context: &SearchContext<'_>) -> bool {
        let mut nodes = context.machine.nodes().iter().zip(&self.memory);
        !context.is_tight() || nodes.all(|(node, used)| node.memory.is_none_or(|memory| *used <= memory))
    }

    /// Bytes that do not fit into the memory of their nodes.
    pub(super) fn memory_over(&self, context: &SearchContext<'_>) -> u64 {
        let nodes = context.machine.nodes().iter().zip(&self.memory);
        let over = nodes.map(|(node, used)| node.memory.map_or(0, |memory| used.saturating_sub(memory)));
        over.fold(0, u64::saturating_add)
    }

    /// How many tasks are away from their initial cores, and their bytes.
    pub(super) fn moved(&self) -> (usize, u64) {
        (self.away, self.away_bytes)
    }

    /// Whether the budget of migrations is kept.
    pub(super) fn within_budget(&self, context: &SearchContext<'_>) -> bool {
        self.away <= context.most_migrations && self.away_bytes <= context.most_migrated_bytes
    }

    pub(super) fn take(&mut self, context: &SearchContext<'_>, step: Step) {
        match step {
            Step::Move { task, to, .. } => self.put(context, task, to),
            Step::Swap { one, two, .. } => {
                let (from, to) = (self.core(one), self.core(two));
                self.put(context, one, to);
                self.put(context, two, from);
            }
        }
    }

    /// Puts a task on a core.
    pub(super) fn put(&mut self, context: &SearchContext<'_>, task: u32, to: u32) {
        let from = self.core(task);
        let load = context.graph.loads[task as usize];
        if context.machine.seconds_per_byte() > 0.0 {
            self.profile.fill(context, &self.cores, task);
            let (all_out, all_back) = (self.profile.out, self.profile.back);
            let (out, back) = self.profile.by_core[from as usize];
            let left = &mut self.traffic[from as usize];
            *left = (left.0 - (all_out - out) + back, left.1 - (all_back - back) + out);
            let (out, back) = self.profile.by_core[to as usize];
            let came = &mut self.traffic[to as usize];
            *came = (came.0 + all_out - out - back, came.1 + all_back - back - out);
        }
        self.strike(task, from);
        self.enlist(task, to);
        self.count(context, task, from, false);
        self.count(context, task, to, true);
        self.cores[task as usize] = to;
        self.busy[from as usize] -= load * context.slowness[from as usize];
        self.busy[to as usize] += load * context.slowness[to as usize];
    }
}

impl Step {
    /// What it does to cost and prices.
    pub(super) fn change(&self) -> f64 {
        match self {
            Step::Move { change, .. } | Step::Swap { change, .. } => *change,
        }
    }

    /// Whom it is about.
    pub(super) fn tasks(&self) -> impl Iterator<Item = u32> {
        let (one, two) = match *self {
            Step::Move { task, .. } => (task, None),
            Step::Swap { one, two, .. } => (one, Some(two)),
        };
        std::iter::once(one).chain(two)
    }

    /// Whether it saves more than rounding could.
    pub(super) fn saves(&self, cost: f64) -> bool {
        self.change() < -ROUNDING * cost
    }
}
