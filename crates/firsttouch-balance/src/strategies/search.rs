//! A mapping that is changed by single moves and swaps, with its work and cost kept up to date.
//!
//! What is minimised is the cost (bytes times distances) and a price for each task that is away from its home, among the
//! mappings whose cores are all done by a cap. A move of a task costs as much as the task has neighbours, whatever the size
//! of the problem.

use super::profile::Profile;
use super::setting::Setting;

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
    pub(super) fn new(setting: &Setting<'_>, cores: Vec<u32>) -> State {
        let count = setting.cores as usize;
        let mut state = State {
            on: vec![Vec::new(); count],
            place: vec![0; cores.len()],
            busy: setting.machine.cores().iter().map(|core| core.background).collect(),
            traffic: vec![(0.0, 0.0); count],
            memory: vec![0; setting.machine.nodes().len()],
            away: 0,
            away_bytes: 0,
            profile: Profile::new(setting.machine),
            second: Profile::new(setting.machine),
            cores,
        };
        for task in 0..state.cores.len() as u32 {
            let core = state.cores[task as usize];
            state.enlist(task, core);
            state.busy[core as usize] += setting.graph.loads[task as usize] * setting.slowness[core as usize];
            state.count(setting, task, core, true);
            for link in setting.graph.links(task) {
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

    fn count(&mut self, setting: &Setting<'_>, task: u32, core: u32, comes: bool) {
        let task = task as usize;
        let memory = &mut self.memory[setting.machine.cores()[core as usize].node as usize];
        let away = setting.homes[task].is_some_and(|home| home != core);
        if comes {
            *memory = memory.saturating_add(setting.memory[task]);
            self.away += usize::from(away);
            self.away_bytes += if away { setting.bytes[task] } else { 0 };
        } else {
            *memory = memory.saturating_sub(setting.memory[task]);
            self.away -= usize::from(away);
            self.away_bytes -= if away { setting.bytes[task] } else { 0 };
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
    pub(super) fn work(&self, setting: &Setting<'_>, core: u32) -> f64 {
        let (sent, received) = self.traffic[core as usize];
        self.busy[core as usize] + setting.machine.seconds_per_byte() * sent.max(received)
    }

    pub(super) fn makespan(&self, setting: &Setting<'_>) -> f64 {
        (0..setting.cores).map(|core| self.work(setting, core)).fold(0.0, f64::max)
    }

    /// The busiest core, of several the first.
    pub(super) fn busiest(&self, setting: &Setting<'_>) -> u32 {
        let mut busiest = 0;
        for core in 1..setting.cores {
            if self.work(setting, core) > self.work(setting, busiest) {
                busiest = core;
            }
        }
        busiest
    }

    /// The core with the least work, of several the first.
    pub(super) fn idlest(&self, setting: &Setting<'_>) -> u32 {
        let mut idlest = 0;
        for core in 1..setting.cores {
            if self.work(setting, core) < self.work(setting, idlest) {
                idlest = core;
            }
        }
        idlest
    }

    /// Whether pins, memory and budget let a step be taken.
    pub(super) fn may_take(&mut self, setting: &Setting<'_>, step: Step) -> bool {
        match step {
            Step::Move { task, to, .. } => self.core(task) != to && self.allowed(setting, task, to),
            Step::Swap { one, two, .. } => self.look_at_swap(setting, one, two, f64::INFINITY).is_some(),
        }
    }

    /// No more than the work of the busier of the two cores that a step is about, after it: communication is left out.
    pub(super) fn after_by_load(&self, setting: &Setting<'_>, step: Step) -> f64 {
        let (from, to, load) = match step {
            Step::Move { task, to, .. } => (self.core(task), to, setting.graph.loads[task as usize]),
            Step::Swap { one, two, .. } => {
                let [one_load, two_load] = [one, two].map(|task| setting.graph.loads[task as usize]);
                (self.core(one), self.core(two), one_load - two_load)
            }
        };
        let from = self.busy[from as usize] - load * setting.slowness[from as usize];
        from.max(self.busy[to as usize] + load * setting.slowness[to as usize])
    }

    /// The work of the busier of the two cores that a step is about, after it.
    pub(super) fn after(&mut self, setting: &Setting<'_>, step: Step) -> f64 {
        let (from, to, back) = match step {
            Step::Move { task, to, .. } => {
                let from = self.core(task);
                (from, to, Step::Move { task, to: from, change: 0.0 })
            }
            Step::Swap { one, two, .. } => (self.core(one), self.core(two), step),
        };
        self.take(setting, step);
        let after = self.work(setting, from).max(self.work(setting, to));
        self.take(setting, back);
        after
    }

    /// Whether nodes have memory and the budget has room for a task to go to a core.
    fn allowed(&self, setting: &Setting<'_>, task: u32, to: u32) -> bool {
        self.may_leave(setting, task) && self.has_memory(setting, task, to)
    }

    /// Whether a task is not pinned, and the budget has room for it to leave its core.
    fn may_leave(&self, setting: &Setting<'_>, task: u32) -> bool {
        let index = task as usize;
        if setting.pinned[index] {
            return false;
        }
        if setting.homes[index] != Some(self.cores[index]) {
            return true;
        }
        let bytes = self.away_bytes.saturating_add(setting.bytes[index]);
        self.away < setting.most_migrations && bytes <= setting.most_migrated_bytes
    }

    /// Whether the node of a core has memory for a task.
    fn has_memory(&self, setting: &Setting<'_>, task: u32, to: u32) -> bool {
        if !setting.is_tight() {
            return true;
        }
        let node = |core: u32| setting.machine.cores()[core as usize].node as usize;
        let from = self.core(task);
        let room = setting.machine.nodes()[node(to)].memory.unwrap_or(u64::MAX);
        let needed = self.memory[node(to)].saturating_add(setting.memory[task as usize]);
        node(from) == node(to) || needed <= room
    }

    /// Where a task might go with profit: the cores of its neighbours, or all where they are few.
    pub(super) fn candidates(&mut self, setting: &Setting<'_>, task: u32, into: &mut Vec<u32>) {
        const FEW: u32 = 32;
        into.clear();
        if setting.cores <= FEW {
            into.extend(0..setting.cores);
            return;
        }
        self.profile.fill(setting, &self.cores, task);
        into.extend(self.profile.cores.iter().copied());
        into.extend(setting.homes[task as usize]);
        into.sort_unstable();
        into.dedup();
    }

    /// What moving a task would change, if its new core is done by `cap` then.
    pub(super) fn look_at_move(
        &mut self,
        setting: &Setting<'_>,
        task: u32,
        to: u32,
        cap: f64,
    ) -> Option<Step> {
        let from = self.core(task);
        if from == to || !self.allowed(setting, task, to) {
            return None;
        }
        let load = setting.graph.loads[task as usize];
        if setting.machine.seconds_per_byte() == 0.0
            && self.busy[to as usize] + load * setting.slowness[to as usize] > cap
        {
            return None;
        }
        self.profile.fill(setting, &self.cores, task);
        if setting.machine.seconds_per_byte() > 0.0 && self.work_with(setting, task, to) > cap {
            return None;
        }
        let change = self.profile.cost(setting, to) - self.profile.cost(setting, from)
            + setting.price(task, to)
            - setting.price(task, from);
        Some(Step::Move { task, to, change })
    }

    /// The work of a core if the task of the profile came to it.
    fn work_with(&self, setting: &Setting<'_>, task: u32, to: u32) -> f64 {
        let (sent, received) = self.traffic[to as usize];
        let (out, back) = self.profile.by_core[to as usize];
        let sent = sent - back + self.profile.out - out;
        let received = received - out + self.profile.back - back;
        self.busy[to as usize]
            + setting.graph.loads[task as usize] * setting.slowness[to as usize]
            + setting.machine.seconds_per_byte() * sent.max(received)
    }

    /// The cheapest move of a task to one of some cores that is done by `cap` then, and what it changes; of several the first.
    pub(super) fn best_move(
        &mut self,
        setting: &Setting<'_>,
        task: u32,
        to: &[u32],
        cap: f64,
    ) -> Option<(u32, f64)> {
        self.look_at_moves(setting, task, to, cap, false)[0]
    }

    /// The same, and beside it the cheapest move whenever its core is done.
    pub(super) fn best_moves(
        &mut self,
        setting: &Setting<'_>,
        task: u32,
        to: &[u32],
        cap: f64,
    ) -> [Option<(u32, f64)>; 2] {
        self.look_at_moves(setting, task, to, cap, true)
    }

    fn look_at_moves(
        &mut self,
        setting: &Setting<'_>,
        task: u32,
        to: &[u32],
        cap: f64,
        late_too: bool,
    ) -> [Option<(u32, f64)>; 2] {
        let [mut best, mut wish]: [Option<(u32, f64)>; 2] = [None; 2];
        if !self.may_leave(setting, task) {
            return [best, wish];
        }
        let from = self.core(task);
        self.profile.fill(setting, &self.cores, task);
        let now = self.profile.cost(setting, from) + setting.price(task, from);
        let load = setting.graph.loads[task as usize];
        let own_time = setting.machine.seconds_per_byte() > 0.0;
        // Cores come by domain, and what is far is as far from all cores of one.
        let (mut domain, mut far) = (u32::MAX, 0.0);
        for &core in to {
            let late = self.busy[core as usize] + load * setting.slowness[core as usize] > cap;
            if core == from || late && !late_too || !self.has_memory(setting, task, core) {
                continue;
            }
            let late = late || own_time && self.work_with(setting, task, core) > cap;
            if late && !late_too {
                continue;
            }
            if setting.domain_of[core as usize] != domain {
                domain = setting.domain_of[core as usize];
                far = self.profile.cost_in(setting, domain);
            }
            let cost = far + self.profile.cost_at(setting, core, domain);
            let change = cost + setting.price(task, core) - now;
            if !late && best.is_none_or(|(_, least)| change < least) {
                best = Some((core, change));
            }
            if late_too && wish.is_none_or(|(_, least)| change < least) {
                wish = Some((core, change));
            }
        }
        [best, wish]
    }

    /// What exchanging two tasks would change, if both cores are done by `cap` then.
    pub(super) fn look_at_swap(
        &mut self,
        setting: &Setting<'_>,
        one: u32,
        two: u32,
        cap: f64,
    ) -> Option<Step> {
        let (from, to) = (self.core(one), self.core(two));
        if from == to || setting.pinned[one as usize] || setting.pinned[two as usize] {
            return None;
        }
        if setting.machine.seconds_per_byte() > 0.0 || setting.is_limited() {
            return self.try_swap(setting, one, two, cap);
        }
        let [load, other] = [one, two].map(|task| setting.graph.loads[task as usize]);
        let after =
            |core: u32, change: f64| self.busy[core as usize] + change * setting.slowness[core as usize];
        if after(to, load - other) > cap.max(self.busy[to as usize])
            || after(from, other - load) > cap.max(self.busy[from as usize])
        {
            return None;
        }
        Some(Step::Swap { one, two, change: self.swap_change(setting, one, two) })
    }

    fn swap_change(&mut self, setting: &Setting<'_>, one: u32, two: u32) -> f64 {
        let (from, to) = (self.core(one), self.core(two));
        self.profile.fill(setting, &self.cores, one);
        self.second.fill(setting, &self.cores, two);
        let mut change = self.profile.cost(setting, to) - self.profile.cost(setting, from)
            + self.second.cost(setting, from)
            - self.second.cost(setting, to)
            + setting.price(one, to)
            - setting.price(one, from)
            + setting.price(two, from)
            - setting.price(two, to);
        // Each of the two was looked at as if the other stayed, so the link between them was counted as if it vanished.
        if let Some(link) = setting.graph.links(one).iter().find(|link| link.other == two) {
            let both = setting.link_cost(link, from, to) + setting.link_cost(link, to, from);
            change += both - 2.0 * (link.out + link.back) * setting.machine.same_core();
        }
        change
    }

    /// Does a swap, looks, and takes it back: for limits that depend on both tasks at once.
    fn try_swap(&mut self, setting: &Setting<'_>, one: u32, two: u32, cap: f64) -> Option<Step> {
        let (from, to) = (self.core(one), self.core(two));
        let change = self.swap_change(setting, one, two);
        let before = (self.work(setting, from), self.work(setting, to));
        self.put(setting, one, to);
        self.put(setting, two, from);
        let fits = self.away <= setting.most_migrations
            && self.away_bytes <= setting.most_migrated_bytes
            && self.work(setting, from) <= cap.max(before.0)
            && self.work(setting, to) <= cap.max(before.1)
            && self.memory_fits(setting);
        self.put(setting, one, from);
        self.put(setting, two, to);
        fits.then_some(Step::Swap { one, two, change })
    }

    pub(super) fn memory_fits(&self, setting: &Setting<'_>) -> bool {
        let mut nodes = setting.machine.nodes().iter().zip(&self.memory);
        !setting.is_tight() || nodes.all(|(node, used)| node.memory.is_none_or(|memory| *used <= memory))
    }

    /// Bytes that do not fit into the memory of their nodes.
    pub(super) fn memory_over(&self, setting: &Setting<'_>) -> u64 {
        let nodes = setting.machine.nodes().iter().zip(&self.memory);
        let over = nodes.map(|(node, used)| node.memory.map_or(0, |memory| used.saturating_sub(memory)));
        over.fold(0, u64::saturating_add)
    }

    /// How many tasks are away from home, and their bytes.
    pub(super) fn moved(&self) -> (usize, u64) {
        (self.away, self.away_bytes)
    }

    /// Whether the budget of migrations is kept.
    pub(super) fn within_budget(&self, setting: &Setting<'_>) -> bool {
        self.away <= setting.most_migrations && self.away_bytes <= setting.most_migrated_bytes
    }

    pub(super) fn take(&mut self, setting: &Setting<'_>, step: Step) {
        match step {
            Step::Move { task, to, .. } => self.put(setting, task, to),
            Step::Swap { one, two, .. } => {
                let (from, to) = (self.core(one), self.core(two));
                self.put(setting, one, to);
                self.put(setting, two, from);
            }
        }
    }

    /// Puts a task on a core.
    pub(super) fn put(&mut self, setting: &Setting<'_>, task: u32, to: u32) {
        let from = self.core(task);
        let load = setting.graph.loads[task as usize];
        if setting.machine.seconds_per_byte() > 0.0 {
            self.profile.fill(setting, &self.cores, task);
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
        self.count(setting, task, from, false);
        self.count(setting, task, to, true);
        self.cores[task as usize] = to;
        self.busy[from as usize] -= load * setting.slowness[from as usize];
        self.busy[to as usize] += load * setting.slowness[to as usize];
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
