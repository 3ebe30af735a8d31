//! How much is asked of the kernel in one call, so that no thread of the process waits longer than allowed.
//!
//! A thread that needs what a call holds waits at most for the whole call: the time of the longest call bounds every pause.

use std::time::Duration;

/// Sizes of calls of one kind, adapted to the time they take.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    limit: Duration,
    chunk: u64,
    smallest: u64,
    largest: u64,
}

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
    pub(crate) fn took(&mut self, time: Duration, bytes: u64) -> Duration {
        if time > self.limit / 2 {
            self.chunk = (self.chunk / 2).max(self.smallest);
            // Whoever waited has this long to get on.
            time
        } else {
            if time < self.limit / 4 && bytes >= self.chunk {
                self.chunk = (self.chunk * 2).min(self.largest);
            }
            Duration::ZERO
        }
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
        let mut pace = Pace::new(ms(20), 2 * MIB, 4 * MIB, 16 * MIB);
        assert_eq!((pace.took(ms(1), 4 * MIB), pace.chunk()), (Duration::ZERO, 8 * MIB));
        assert_eq!((pace.took(ms(7), 8 * MIB), pace.chunk()), (Duration::ZERO, 8 * MIB));
        // A call that was not a whole one says nothing about whole ones.
        assert_eq!((pace.took(ms(1), 2 * MIB), pace.chunk()), (Duration::ZERO, 8 * MIB));
        assert_eq!((pace.took(ms(11), 8 * MIB), pace.chunk()), (ms(11), 4 * MIB));
    }

    proptest! {
        #[test]
        fn sizes_stay_in_their_bounds(times in proptest::collection::vec(0u64..100, 0..100)) {
            let mut pace = Pace::new(Duration::from_millis(20), 2 * MIB, 4 * MIB, 32 * MIB);
            for time in times {
                let gap = pace.took(Duration::from_millis(time), pace.chunk());
                prop_assert!((2 * MIB..=32 * MIB).contains(&pace.chunk()) && pace.chunk().is_power_of_two());
                prop_assert!(gap <= Duration::from_millis(time));
            }
        }
    }
}
