//! How much is asked of the kernel in one call, so that no thread of the process waits longer than allowed.
//!
//! A thread that needs what a call holds waits at most for the whole call: the time of the longest call bounds every pause.
//! How long a call takes by the clock is decided by its size and by who else wants the processors; only the first can be
//! changed here, so that sizes follow the processor time of calls, and the clock is heeded as well where that helps.

use std::time::Duration;

/// What a call took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Took {
    /// By the clock.
    pub(crate) wall: Duration,
    /// Of a processor.
    pub(crate) processor: Duration,
}

/// Sizes of calls of one kind, adapted to the time they take.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    limit: Duration,
    chunk: u64,
    smallest: u64,
    largest: u64,
}

/// One part in so many of the processor time of a call is left to others after it: a thread of the process may be waiting
/// for this very processor.
const WORK_TO_GAP: u32 = 3;

impl Pace {
    /// Calls of `first` bytes to begin with, none smaller than `smallest` or larger than `largest`.
    pub(crate) fn new(limit: Duration, smallest: u64, first: u64, largest: u64) -> Pace {
        Pace { limit, chunk: first, smallest, largest }
    }

    /// Bytes of the next call.
    pub(crate) fn chunk(&self) -> u64 {
        self.chunk
    }

    /// Takes note of a call, and answers how long to leave the process alone before the next.
    pub(crate) fn took(&mut self, took: Took, bytes: u64) -> Duration {
        let late = took.wall > self.limit / 2;
        // Of a call that mostly waited a smaller one would wait as long.
        if took.processor > self.limit / 4 || (late && took.processor > self.limit / 16) {
            self.chunk = (self.chunk / 2).max(self.smallest);
        } else if !late && took.processor < self.limit / 8 && bytes >= self.chunk {
            self.chunk = (self.chunk * 2).min(self.largest);
        }
        // Whoever waited for a long call has as long to get on.
        let share = took.processor / WORK_TO_GAP;
        if late { share.max(took.wall.min(self.limit)) } else { share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn calls_grow_while_they_are_short_and_shrink_when_they_are_long() {
        let ms = Duration::from_millis;
        let busy = |time| Took { wall: ms(time), processor: ms(time) };
        let mut pace = Pace::new(ms(20), 2 * MIB, 4 * MIB, 16 * MIB);
        pace.took(busy(1), 4 * MIB);
        assert_eq!(pace.chunk(), 8 * MIB);
        assert_eq!((pace.took(busy(3), 8 * MIB), pace.chunk()), (ms(1), 8 * MIB));
        // A call that was not a whole one says nothing about whole ones.
        pace.took(busy(1), 2 * MIB);
        assert_eq!(pace.chunk(), 8 * MIB);
        assert_eq!((pace.took(busy(11), 8 * MIB), pace.chunk()), (ms(11), 4 * MIB));
        // It waited for others: a smaller one would wait as long.
        assert_eq!(
            (pace.took(Took { wall: ms(50), processor: ms(1) }, 4 * MIB), pace.chunk()),
            (ms(20), 4 * MIB)
        );
    }

    proptest! {
        #[test]
        fn sizes_stay_in_their_bounds(times in proptest::collection::vec((0u64..100, 0u64..100), 0..100)) {
            let mut pace = Pace::new(Duration::from_millis(20), 2 * MIB, 4 * MIB, 32 * MIB);
            for (processor, waited) in times {
                let wall = Duration::from_millis(processor + waited);
                let gap = pace.took(Took { wall, processor: Duration::from_millis(processor) }, pace.chunk());
                prop_assert!((2 * MIB..=32 * MIB).contains(&pace.chunk()) && pace.chunk().is_power_of_two());
                prop_assert!(gap <= wall);
            }
        }
    }
}
