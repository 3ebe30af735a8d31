//! Who is still in the search: those about whom something can still be decided.

use crate::history::History;
use crate::statistics::best::not_excluded;
use crate::statistics::contrast::{Contrast, contrasts, contrasts_after};
use crate::statistics::forecast::{Question, blocks_to_decide};
use crate::statistics::layout::Block;
use crate::{Decider, Decision, Plan, Ratio, Verdict};
use firsttouch_sorted::sort_by;

/// What waits for time, because the budget does not suffice for all, weighs as much less in the family of verdicts.
const WAITING_WEIGHT: f64 = 0.05;

/// Risk of every interval and of every family of verdicts.
pub(crate) const ALPHA: f64 = 0.05;

/// The baseline's place in every plan.
pub(crate) const BASELINE: usize = 0;

/// What is recommended for asking less may be slower than the best by no more than this, and by no more than half of what the
/// best gains: a small gain must not shrink to nothing.
const LOSS: f64 = 0.05;
const LOSS_OF_GAIN: f64 = 0.5;

/// The state of the questions of one phase. Configurations are named by their places in the blocks, the baseline's being 0.
#[derive(Debug)]
pub(crate) struct Race<'a> {
    plan: &'a Plan,
    /// Blocks that tell of the noise alone.
    earlier: Vec<Block>,
    /// What they ask of the program and of the machine, by place.
    ranks: Vec<u32>,
    decider: Decider,
    /// Every place against the baseline, after the last block.
    contrasts: Vec<Option<Contrast>>,
    /// Faster than the baseline, but not the fastest. That stands, so that nobody comes back when others look slower.
    excluded: Vec<bool>,
    live: Vec<usize>,
}

impl<'a> Race<'a> {
    pub(crate) fn new(plan: &'a Plan, history: &History) -> Race<'a> {
        let places = history.participants.len();
        Race {
            plan,
            earlier: Vec::new(),
            ranks: history.participants.iter().map(|&configuration| plan.rank(configuration)).collect(),
            decider: Decider::new(places.saturating_sub(1), ALPHA, plan.same_band),
            contrasts: vec![None; places],
            excluded: vec![false; places],
            live: (0..places).collect(),
        }
    }

    /// The question whether one that a search found, at this place in it, is what it looked like: of fresh blocks with the baseline. What the
    /// search saw of noise holds on.
    pub(crate) fn confirming(plan: &'a Plan, fresh: &History, search: &History, found: usize) -> Race<'a> {
        let others = (1..search.participants.len()).filter(|&place| place != found);
        let order: Vec<usize> = [BASELINE, found].into_iter().chain(others).collect();
        let reordered = |block: &Block| order.iter().map(|&place| block[place]).collect();
        Race { earlier: search.blocks.iter().map(reordered).collect(), ..Race::new(plan, fresh) }
    }

    /// Before the first block: that only those at these places run for now. They are asked little more than if the others were not there, to which
    /// more evidence than usual belongs should they come to run.
    pub(crate) fn favour(&mut self, places: &[usize]) {
        let weight = |place: usize| if places.contains(&place) { 1.0 } else { WAITING_WEIGHT };
        let weights = (1..self.contrasts.len()).map(weight).collect();
        self.decider = Decider::weighing(weights, ALPHA, self.plan.same_band);
    }

    /// Looks at the blocks after one more of them.
    pub(crate) fn look(&mut self, history: &History) {
        self.contrasts = contrasts_after(&self.earlier, &history.blocks, BASELINE);
        self.decider.judge(self.contrasts.get(1..).unwrap_or(&[]), history.block());
        let contenders = self.best();
        let left = not_excluded(&history.blocks, &contenders, ALPHA);
        for place in contenders {
            self.excluded[place] = !left.contains(&place);
        }
        let best = self.best();
        let contested = self.plan.settle_best && !self.is_settled(history, &best);
        let places = 1..self.contrasts.len();
        let open = |&place: &usize| {
            self.decision(place).is_none() || !self.is_precise(place) || contested && best.contains(&place)
        };
        self.live = places.filter(open).collect();
        if !self.live.is_empty() {
            self.live.insert(0, BASELINE);
        }
    }

    /// Those about whom something is left to decide, the baseline first; none where nothing is.
    pub(crate) fn live(&self) -> &[usize] {
        &self.live
    }

    pub(crate) fn decision(&self, place: usize) -> Option<Decision> {
        self.decider.decisions().get(place.checked_sub(1)?).copied().flatten()
    }

    pub(crate) fn contrast(&self, place: usize) -> Option<&Contrast> {
        self.contrasts.get(place)?.as_ref()
    }

    /// The ratio so far: of one that is decided by the blocks that its verdict is of.
    pub(crate) fn ratio(&self, place: usize) -> Option<Ratio> {
        Ratio::of(&self.judged(place)?, ALPHA)
    }

    /// What a verdict about a place is of.
    fn judged(&self, place: usize) -> Option<Contrast> {
        self.decision(place).map(|decision| decision.contrast).or(self.contrast(place).copied())
    }

    /// Those that are faster than the baseline and may be the fastest, the fastest of them first.
    pub(crate) fn best(&self) -> Vec<usize> {
        let is_faster = |&place: &usize| self.decision(place).is_some_and(|it| it.verdict == Verdict::Faster);
        let mut best: Vec<usize> =
            (1..self.contrasts.len()).filter(is_faster).filter(|&place| !self.excluded[place]).collect();
        sort_by(&mut best, |&left, &right| self.gain(right).total_cmp(&self.gain(left)));
        best
    }

    /// The one that asks least of those that may be the fastest, and of those that ask as little the fastest.
    pub(crate) fn recommended(&self) -> Option<usize> {
        self.best().into_iter().min_by_key(|&place| self.ranks[place])
    }

    /// In how many more blocks a place is decided, probably.
    pub(crate) fn blocks_left(&self, place: usize) -> Option<u32> {
        if place == BASELINE || self.decision(place).is_some() {
            return None;
        }
        let share = self.decider.share(place - 1, Option::is_none);
        let question = Question { alpha: ALPHA * share, same_band: self.plan.same_band };
        let contrast = self.contrast(place)?;
        Some(blocks_to_decide(contrast, &question)? - contrast.blocks)
    }

    fn gain(&self, place: usize) -> f64 {
        self.contrast(place).map_or(f64::NEG_INFINITY, |contrast| contrast.log_ratio)
    }

    fn is_precise(&self, place: usize) -> bool {
        self.plan.precision.is_none_or(|precision| {
            let half_width = self.judged(place).and_then(|contrast| contrast.half_width(ALPHA));
            half_width.is_some_and(|half_width| half_width <= precision.ln_1p())
        })
    }

    /// Whether what is recommended is certainly not much slower than any that may be the best.
    fn is_settled(&self, history: &History, best: &[usize]) -> bool {
        let (Some(&fastest), Some(recommended)) = (best.first(), self.recommended()) else { return true };
        let most = LOSS.ln_1p().min(LOSS_OF_GAIN * self.gain(fastest));
        let beside = contrasts(&history.blocks, recommended);
        best.iter().filter(|&&place| place != recommended).all(|&place| {
            let contrast = beside.get(place).and_then(Option::as_ref);
            contrast
                .and_then(|contrast| Some(contrast.log_ratio + contrast.half_width(ALPHA)?))
                .is_some_and(|loss| loss <= most)
        })
    }
}
