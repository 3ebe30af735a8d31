//! Shortening a run that fails: to one thread, to fewer kinds of operations, to fewer operations.
//!
//! Every operation draws from random numbers of its own, so what is left does the same without what was left out. Parts
//! are left out as in Zeller and Hildebrandt's "Simplifying and isolating failure-inducing input" (2002).

use crate::here::Failure;
use crate::plan::{Plan, Range};

/// Whoever runs plans until one fails with a sign: which, and what it said.
pub(crate) type Try<'a> = dyn FnMut(&[Plan], &str) -> Option<(usize, String)> + 'a;

/// So many plans are tried.
const MOST_TRIES: usize = 160;
/// While shortening, a hang is taken for one sooner.
const LIMIT_S: u64 = 15;

struct Shrink<'a, 'b> {
    best: Plan,
    said: String,
    tries: usize,
    try_all: &'a mut Try<'b>,
}

/// The shortest plan found that fails, and what it says. `kinds` are all there are. Tells first what failed: this takes a while.
pub(crate) fn shrink(plan: &Plan, said: &str, kinds: &[String], try_all: &mut Try<'_>) -> (Plan, String) {
    println!("this failed, and is made shorter now (at most {MOST_TRIES} runs):\n{said}");
    let best = Plan { limit_s: LIMIT_S, ..plan.clone() };
    let mut shrink = Shrink { best, said: said.to_owned(), tries: 0, try_all };
    shrink.simplify();
    shrink.cut();
    let now = if shrink.best.kinds.is_empty() { kinds.to_vec() } else { shrink.best.kinds.clone() };
    shrink.reduce(now, |plan, kinds| plan.kinds = kinds.to_vec());
    shrink.cut();
    let operations: Vec<u64> =
        (0..shrink.best.operations).filter(|at| is_in(&shrink.best.ranges, *at)).collect();
    shrink.reduce(operations, |plan, operations| plan.ranges = ranges(operations));
    (Plan { limit_s: plan.limit_s, ..shrink.best }, shrink.said)
}

impl Shrink<'_, '_> {
    /// Keeps the first of the plans that fails; answers which.
    fn keep(&mut self, plans: &[Plan]) -> Option<usize> {
        if plans.is_empty() || self.tries + plans.len() > MOST_TRIES {
            return None;
        }
        self.tries += plans.len();
        let (index, said) = (self.try_all)(plans, &sign(&self.said))?;
        self.best = plans[index].clone();
        self.said = said;
        Some(index)
    }

    /// Without threads, signals and others that attach, where it fails so as well.
    fn simplify(&mut self) {
        let plan = self.best.clone();
        let mut simpler = vec![Plan { threads: None, signals: None, attached: false, ..plan.clone() }];
        for threads in [1, 2, 3] {
            simpler.push(Plan { threads: Some(threads), signals: None, attached: false, ..plan.clone() });
        }
        if plan.threads.is_none() && plan.signals.is_none() && !plan.attached {
            return;
        }
        self.keep(&simpler);
    }

    /// Without what came after the operation that failed.
    fn cut(&mut self) {
        let Some(last) = operation(&self.said).filter(|last| last + 1 < self.best.operations) else { return };
        let plan = Plan { operations: last + 1, ..self.best.clone() };
        self.keep(&[plan]);
    }

    /// Leaves out ever smaller parts of a list while it fails without them.
    fn reduce<T: Clone>(&mut self, mut items: Vec<T>, apply: impl Fn(&mut Plan, &[T])) {
        let mut parts = 2;
        while items.len() > 1 && parts <= items.len() {
            let size = items.len().div_ceil(parts);
            let rests: Vec<Vec<T>> = (0..items.len())
                .step_by(size)
                .map(|at| {
                    let rest = items.iter().enumerate().filter(|(index, _)| !(at..at + size).contains(index));
                    rest.map(|(_, item)| item.clone()).collect()
                })
                .collect();
            let plans: Vec<Plan> = rests
                .iter()
                .map(|rest| {
                    let mut plan = self.best.clone();
                    apply(&mut plan, rest);
                    plan
                })
                .collect();
            match self.keep(&plans) {
                Some(index) => {
                    items.clone_from(&rests[index]);
                    parts = (parts - 1).max(2);
                }
                None if size == 1 => return,
                None => parts = (parts * 2).min(items.len()),
            }
        }
    }
}

fn is_in(ranges: &[Range], at: u64) -> bool {
    ranges.is_empty() || ranges.iter().any(|(first, last)| (*first..=*last).contains(&at))
}

/// Numbers in order as ranges.
fn ranges(numbers: &[u64]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    ranges
}

/// The number of the operation that a failure names.
fn operation(said: &str) -> Option<u64> {
    let (_, rest) = said.split_once("operation ").filter(|_| said.contains("depth 0"))?;
    rest.split(|at: char| !at.is_ascii_digit()).next()?.parse().ok()
}

/// What is told of a failure that was found.
pub(crate) fn told(first: &str, plan: &Plan, said: &str, command: &str) -> String {
    format!(
        "{first}\n\nshortened to seed {}, kinds {:?}:\n{said}\n\nrepeat it by\n  {command}\n",
        plan.seed, plan.kinds
    )
}

/// What tells a failure from others, so that on the way one is not taken for another: the check that failed, a signal, a
/// hang.
fn sign(said: &str) -> String {
    let (_, rest) = said.split_once("failed: ").unwrap_or(("", said));
    rest.split(' ').take(if rest.starts_with("signal") { 2 } else { 1 }).collect::<Vec<_>>().join(" ")
}

/// The first failure of some runs that has a sign.
pub(crate) fn first(failures: impl IntoIterator<Item = Failure>, wanted: &str) -> Option<(usize, String)> {
    let mut failures = failures.into_iter().enumerate();
    failures.find_map(|(index, failure)| Some((index, failure.filter(|said| sign(said) == wanted)?)))
}
