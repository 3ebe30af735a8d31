//! Turns: how often something that costs time may be done.

use std::time::Duration;

/// The turn of one part of a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// The share of one core that it may take.
    share: f64,
    due: Duration,
}

impl Turn {
    /// Due at once. Times are counted from the beginning of watching.
    pub(crate) fn new(share: f64) -> Turn {
        Turn { share, due: Duration::ZERO }
    }

    pub(crate) fn is_due(&self, now: Duration) -> bool {
        now >= self.due
    }

    /// It was done at `now` and cost so much: it is due again when that is its share of the time passed.
    pub(crate) fn taken(&mut self, now: Duration, cost: Duration) {
        self.due = now.saturating_add(self.rest(cost));
    }

    /// The time of which a cost is the share.
    pub(crate) fn rest(&self, cost: Duration) -> Duration {
        Duration::try_from_secs_f64(cost.as_secs_f64() / self.share).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Turn;
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn a_turn_comes_when_the_last_is_paid_for() {
        let mut turn = Turn::new(0.005);
        let at = Duration::from_secs;
        assert!(turn.is_due(at(0)));
        turn.taken(at(0), Duration::from_millis(20));
        assert!(!turn.is_due(at(3)) && turn.is_due(at(4)));
        turn.taken(at(9), Duration::ZERO);
        assert!(turn.is_due(at(9)));
    }

    proptest! {
        #[test]
        fn no_share_is_exceeded(costs in prop::collection::vec(0_u64..200, 1..40), share in 0.001_f64..0.5, tick in 1_u64..500) {
            let mut turn = Turn::new(share);
            let (mut now, mut spent) = (Duration::ZERO, Duration::ZERO);
            let mut costs = costs.into_iter().map(Duration::from_millis).peekable();
            while let Some(cost) = costs.next_if(|_| turn.is_due(now)).or_else(|| costs.peek().map(|_| Duration::MAX)) {
                if cost == Duration::MAX {
                    now += Duration::from_millis(tick);
                    continue;
                }
                // What was spent before this turn is within the share of the time passed.
                prop_assert!(spent.as_secs_f64() <= share * now.as_secs_f64() + 1e-9);
                turn.taken(now, cost);
                spent += cost;
            }
        }

        #[test]
        fn any_cost_has_its_time(cost: u64, share in 0.0_f64..1.0) {
            let mut turn = Turn::new(share);
            turn.taken(Duration::MAX, Duration::from_nanos(cost));
            let _ = turn.is_due(Duration::ZERO);
        }
    }
}
