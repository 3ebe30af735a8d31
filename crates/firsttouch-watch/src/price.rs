//! What looks at a program may cost: a hundredth of the processor time that it has used itself.
//!
//! The clock on the wall would not do. On a busy machine a program has a small part of the time that passes, and looks by that clock
//! cost it as much as ever: a tenth of the time is all of what a program with a tenth of a processor has.

use std::time::{Duration, Instant};

/// Over so long it is told whether a program sleeps.
const WINDOW: Duration = Duration::from_millis(250);
/// Who uses less than this part of the time sleeps, or waits for a processor.
const ASLEEP: u32 = 4;

/// The work that a program has done, by the processor time of its processes. One that sleeps waits for something else than a
/// processor: its time is that of the wall, as looks keep it from nothing.
#[derive(Debug)]
pub(crate) struct Work {
    /// Until the window began.
    done: Duration,
    used_before: Duration,
    since: Instant,
}

impl Work {
    pub(crate) fn new(now: Instant) -> Work {
        Work { done: Duration::ZERO, used_before: Duration::ZERO, since: now }
    }

    /// The work done by now, when so much processor time has been used since the beginning; `waits` tells whether somebody waits for a
    /// processor.
    pub(crate) fn done(&mut self, used: Duration, now: Instant, waits: impl FnOnce() -> bool) -> Duration {
        let used_since = used.saturating_sub(self.used_before);
        let passed = now.saturating_duration_since(self.since);
        if passed < WINDOW {
            return self.done + used_since;
        }
        let is_asleep = used_since * ASLEEP < passed && !waits();
        self.done += if is_asleep { passed } else { used_since };
        (self.used_before, self.since) = (used_since + self.used_before, now);
        self.done
    }
}

/// What one kind of look has cost, and how much that may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Price {
    /// So many times the cost has to have been worked, but for what is free.
    work_to_cost: u32,
    pub(crate) paid: Duration,
}

impl Price {
    /// Processor time that is free: a program that ends soon is seen, too, where processors are slow.
    pub(crate) const FREE: Duration = Duration::from_millis(50);

    pub(crate) const fn new(work_to_cost: u32) -> Price {
        Price { work_to_cost, paid: Duration::ZERO }
    }

    /// Whether one more may be made after so much work.
    pub(crate) fn is_affordable(&self, work: Duration) -> bool {
        self.paid <= self.limit(work)
    }

    /// Whether one more may be made of any of some kinds, by what the others have left.
    pub(crate) fn are_affordable<const KINDS: usize>(kinds: [Price; KINDS], work: Duration) -> bool {
        let sum = |of: &dyn Fn(&Price) -> Duration| kinds.iter().map(of).sum::<Duration>();
        sum(&|kind| kind.paid) <= sum(&|kind| kind.limit(work))
    }

    fn limit(&self, work: Duration) -> Duration {
        Price::FREE + work / self.work_to_cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn work_is_what_was_used_and_who_sleeps_has_the_time_that_passes() {
        let began = Instant::now();
        let mut work = Work::new(began);
        let mut done = |used_ms: u32, at_ms: u32, waits: bool| {
            work.done(used_ms * MS, began + at_ms * MS, || waits).as_millis()
        };
        // A window that is not over, one that is, and a program that waits for a processor most of the time.
        assert_eq!([done(5, 100, false), done(400, 1000, false)], [5, 400]);
        assert_eq!([done(420, 1200, true), done(430, 2000, true)], [420, 430]);
        // It sleeps; what it uses afterwards is added.
        assert_eq!(
            [done(431, 2100, false), done(432, 3000, false), done(440, 3100, false)],
            [431, 1430, 1438]
        );
        // A process that is gone counts no less than before.
        assert_eq!(done(10, 3200, false), 1430);
    }

    #[test]
    fn who_has_something_left_pays_for_another() {
        let (dear, cheap) = (Price { paid: 35 * MS, ..Price::new(200) }, Price::new(200));
        assert!(!dear.is_affordable(Duration::from_secs(4)) && dear.is_affordable(Duration::from_secs(5)));
        assert!(Price::are_affordable([dear, cheap], Duration::from_secs(2)));
        assert!(!Price::are_affordable([dear, dear], Duration::from_secs(2)));
    }

    proptest! {
        #[test]
        fn the_price_is_kept_but_for_the_last_look(costs in prop::collection::vec(0_u32..50, 1..60), work_ms in 1_u32..2000) {
            let mut price = Price::new(100);
            let (mut work, mut last) = (Duration::ZERO, Duration::ZERO);
            for cost in costs {
                if price.is_affordable(work) {
                    last = cost * MS;
                    price.paid += last;
                }
                prop_assert!(price.paid <= Price::FREE + work / 100 + last);
                work += work_ms * MS;
            }
        }
    }
}
