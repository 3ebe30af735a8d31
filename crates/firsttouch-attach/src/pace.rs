//! How much is asked of the kernel in one call, so that no thread of the process waits longer than allowed.
//!
//! A thread that needs what a call holds waits at most for the whole call: the time of the longest call bounds every pause.
//! How long a call takes by the clock is decided by its size, by who else wants its processor, and by the host of a virtual
//! machine, which may take that at any moment. Only the first can be changed here, so that sizes follow the processor time
//! of calls. Who stands in the queue of a processor fares better with smaller calls, between which others get on. What
//! the host takes, it takes from small calls as often as from large ones, for each moment that is worked.

use std::time::Duration;

/// What a call took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Took {
    /// By the clock.
    pub(crate) wall: Duration,
    /// Of a processor.
    pub(crate) processor: Duration,
    /// In the queue of a processor that ran something else.
    pub(crate) queue: Duration,
}

/// Sizes of calls of one kind, adapted to the time they take.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    limit: Duration,
    chunk: u64,
    smallest: u64,
    largest: u64,
    /// Processor time of the calls since one last had to wait for its processor.
    alone: Duration,
}

/// One part in so many of the processor time of a call is left to others after it, where others want this very processor:
/// a thread of the process may be among them.
const WORK_TO_GAP: u32 = 3;
/// A call that stood in the queue for a larger part of its processor time than this shares its processor.
const WORK_TO_QUEUE: u32 = 16;
/// Nobody else wants the processor when nobody did for so long.
const ALONE: Duration = Duration::from_millis(50);

impl Pace {
    /// Calls of `first` bytes to begin with, none smaller than `smallest` or larger than `largest`.
    pub(crate) fn new(limit: Duration, smallest: u64, first: u64, largest: u64) -> Pace {
        Pace { limit, chunk: first, smallest, largest, alone: Duration::ZERO }
    }

    /// Bytes of the next call.
    pub(crate) fn chunk(&self) -> u64 {
        self.chunk
    }

    /// Has calls grow anew from the smallest.
    pub(crate) fn restart(&mut self) {
        self.chunk = self.smallest;
    }

    /// Takes note of a call, and answers how long to leave the process alone before the next.
    pub(crate) fn took(&mut self, took: Took, bytes: u64) -> Duration {
        let late = (took.processor + took.queue).min(took.wall) > self.limit / 2;
        // Of a call that mostly waited a smaller one would wait as long.
        if took.processor > self.limit / 4 || (late && took.processor > self.limit / 16) {
            self.chunk = (self.chunk / 2).max(self.smallest);
        } else if !late && took.processor < self.limit / 8 && bytes >= self.chunk {
            self.chunk = (self.chunk * 2).min(self.largest);
        }
        let is_shared = took.queue > took.processor / WORK_TO_QUEUE;
        self.alone = if is_shared { Duration::ZERO } else { self.alone + took.processor };
        let share = if self.alone < ALONE { took.processor / WORK_TO_GAP } else { Duration::ZERO };
        // Whoever waited for a long call has as long to get on, where it was others that made it long.
        let long = took.wall > self.limit / 2 && self.alone < ALONE;
        if late || long { share.max(took.wall.min(self.limit)) } else { share }
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
        let busy = |time| Took { wall: ms(time), processor: ms(time), queue: ms(0) };
        let mut pace = Pace::new(ms(20), 2 * MIB, 4 * MIB, 16 * MIB);
        pace.took(busy(1), 4 * MIB);
        assert_eq!(pace.chunk(), 8 * MIB);
        assert_eq!((pace.took(busy(3), 8 * MIB), pace.chunk()), (ms(1), 8 * MIB));
        // A call that was not a whole one says nothing about whole ones.
        pace.took(busy(1), 2 * MIB);
        assert_eq!(pace.chunk(), 8 * MIB);
        assert_eq!((pace.took(busy(11), 8 * MIB), pace.chunk()), (ms(11), 4 * MIB));
        // It waited for others: a smaller one would wait as long.
        let waited = Took { wall: ms(50), processor: ms(1), queue: ms(49) };
        assert_eq!((pace.took(waited, 4 * MIB), pace.chunk()), (ms(20), 4 * MIB));
    }

    #[test]
    fn what_the_host_takes_changes_nothing() {
        let ms = Duration::from_millis;
        let mut pace = Pace::new(ms(20), 2 * MIB, 8 * MIB, 16 * MIB);
        let call = |stolen: u64| Took { wall: ms(3 + stolen), processor: ms(3), queue: ms(0) };
        let gaps: Vec<Duration> = (0..20).map(|_| pace.took(call(0), 8 * MIB)).collect();
        assert_eq!(gaps.last(), Some(&ms(0)));
        assert_eq!((pace.took(call(47), 8 * MIB), pace.chunk()), (ms(0), 8 * MIB));
    }

    #[test]
    fn who_is_alone_on_a_processor_leaves_no_gaps() {
        let ms = Duration::from_millis;
        let mut pace = Pace::new(ms(20), 2 * MIB, 8 * MIB, 8 * MIB);
        let call = |queue| Took { wall: ms(3 + queue), processor: ms(3), queue: ms(queue) };
        let gaps: Vec<Duration> = (0..20).map(|_| pace.took(call(0), 8 * MIB)).collect();
        assert_eq!((gaps[0], gaps[10], gaps[19]), (ms(1), ms(1), ms(0)));
        assert_eq!((pace.took(call(1), 8 * MIB), pace.took(call(0), 8 * MIB)), (ms(1), ms(1)));
    }

    proptest! {
        #[test]
        fn sizes_stay_in_their_bounds(
            times in proptest::collection::vec((0u64..100, 0u64..100, 0u64..100), 0..100),
        ) {
            let mut pace = Pace::new(Duration::from_millis(20), 2 * MIB, 4 * MIB, 32 * MIB);
            for (processor, queue, stolen) in times {
                let [processor, queue, stolen] = [processor, queue, stolen].map(Duration::from_millis);
                let wall = processor + queue + stolen;
                let gap = pace.took(Took { wall, processor, queue }, pace.chunk());
                prop_assert!((2 * MIB..=32 * MIB).contains(&pace.chunk()) && pace.chunk().is_power_of_two());
                prop_assert!(gap <= wall);
            }
        }
    }
}
