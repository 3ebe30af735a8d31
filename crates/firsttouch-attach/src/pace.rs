//! How much is asked of the kernel in one call, so that no thread of the process waits longer than allowed.
//!
//! A thread that needs what a call holds waits at most for the whole call: the time of the longest call bounds every pause.
//! How long a call takes by the clock is decided by its size, by who else wants its processor, by other threads that it
//! waits for (those of the kernel that hand in batches of pages, those of the process that hold its locks), and by the host of
//! a virtual machine, which may take a processor at any moment. Sizes follow the processor time of calls, and the time in
//! queues: a large call stands in one several times. What a call waits for otherwise, it waits for about as long when it is
//! small, or for each moment that is worked; still the smallest are tried before the limit is found not to be kept.

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
    /// The same since the call before. Who goes before others while he makes a call sees only here that there are any.
    pub(crate) between: Duration,
}

impl Took {
    /// What it waited, for whatever.
    fn waited(&self) -> Duration {
        self.wall.saturating_sub(self.processor)
    }
}

/// Calls that waited for longer than a pause may be, though no smaller ones can be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stalls {
    pub(crate) calls: u32,
    /// The longest of them.
    pub(crate) longest: Duration,
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
    /// Calls to go before they may grow again.
    wary: u32,
    /// Calls in a row that waited too long.
    row: u32,
    /// Those of the smallest size that did, since they last were few, and how many they are too many.
    stalls: Stalls,
    strikes: u32,
}

/// Calls that are as short as they should be, after one that was not, before larger ones are tried.
const WARY: u32 = 8;
/// What a call that waited too long counts, against one for each that did not; and how many are too many: four in a row, or
/// more than every third for long.
const STRIKES: u32 = 2;
const MOST_STRIKES: u32 = 8;
/// Waiting for less is no reason to give up: it is the turn of whoever else runs on a processor.
pub(crate) const A_TURN: Duration = Duration::from_millis(4);
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
        Pace {
            limit,
            chunk: first,
            smallest,
            largest,
            alone: Duration::ZERO,
            wary: 0,
            row: 0,
            stalls: Stalls::default(),
            strikes: 0,
        }
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
        let stalled = took.waited() > self.limit.max(A_TURN);
        self.row = if stalled { self.row + 1 } else { 0 };
        self.wary = if late || stalled { WARY } else { self.wary.saturating_sub(1) };
        self.count(stalled && bytes <= self.smallest, took.wall);
        // One that waited for something else than a processor may be the host's doing, for which none need be smaller.
        if took.processor > self.limit / 4 || late || self.row > 1 {
            self.chunk = (self.chunk / 2).max(self.smallest);
        } else if self.wary == 0 && took.processor < self.limit / 8 && bytes >= self.chunk {
            self.chunk = (self.chunk * 2).min(self.largest);
        }
        let is_shared = took.queue + took.between > took.processor / WORK_TO_QUEUE;
        self.alone = if is_shared { Duration::ZERO } else { self.alone + took.processor };
        let share = if self.alone < ALONE { took.processor / WORK_TO_GAP } else { Duration::ZERO };
        // Whoever waited for a long call has as long to get on, where it was others that made it long.
        let long = took.wall > self.limit / 2 && self.alone < ALONE;
        if late || long { share.max(took.wall.min(self.limit)) } else { share }
    }

    fn count(&mut self, stalled: bool, wall: Duration) {
        if stalled {
            self.strikes += STRIKES;
            self.stalls.calls += 1;
            self.stalls.longest = self.stalls.longest.max(wall);
        } else {
            self.strikes = self.strikes.saturating_sub(1);
        }
        if self.strikes == 0 {
            self.stalls = Stalls::default();
        }
    }

    /// Where the limit cannot be kept: the calls that show it.
    pub(crate) fn stalls(&self) -> Option<Stalls> {
        (self.strikes >= MOST_STRIKES).then_some(self.stalls)
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
        let busy = |time| Took { wall: ms(time), processor: ms(time), ..Took::default() };
        let mut pace = Pace::new(ms(20), 2 * MIB, 4 * MIB, 16 * MIB);
        pace.took(busy(1), 4 * MIB);
        assert_eq!(pace.chunk(), 8 * MIB);
        assert_eq!((pace.took(busy(3), 8 * MIB), pace.chunk()), (ms(1), 8 * MIB));
        // A call that was not a whole one says nothing about whole ones.
        pace.took(busy(1), 2 * MIB);
        assert_eq!(pace.chunk(), 8 * MIB);
        assert_eq!((pace.took(busy(11), 8 * MIB), pace.chunk()), (ms(11), 4 * MIB));
        // It was taken off its processor: a smaller one is so less often.
        let waited = Took { wall: ms(50), processor: ms(1), queue: ms(49), between: ms(0) };
        assert_eq!((pace.took(waited, 4 * MIB), pace.chunk()), (ms(20), 2 * MIB));
    }

    #[test]
    fn what_the_host_takes_changes_nothing() {
        let ms = Duration::from_millis;
        let mut pace = Pace::new(ms(20), 2 * MIB, 8 * MIB, 16 * MIB);
        let call = |stolen: u64| Took { wall: ms(3 + stolen), processor: ms(3), ..Took::default() };
        let gaps: Vec<Duration> = (0..20).map(|_| pace.took(call(0), 8 * MIB)).collect();
        assert_eq!(gaps.last(), Some(&ms(0)));
        assert_eq!((pace.took(call(47), 8 * MIB), pace.chunk()), (ms(0), 8 * MIB));
    }

    #[test]
    fn who_is_alone_on_a_processor_leaves_no_gaps() {
        let ms = Duration::from_millis;
        let mut pace = Pace::new(ms(20), 2 * MIB, 8 * MIB, 8 * MIB);
        let call =
            |queue| Took { wall: ms(3 + queue), processor: ms(3), queue: ms(queue), ..Took::default() };
        let gaps: Vec<Duration> = (0..20).map(|_| pace.took(call(0), 8 * MIB)).collect();
        assert_eq!((gaps[0], gaps[10], gaps[19]), (ms(1), ms(1), ms(0)));
        assert_eq!((pace.took(call(1), 8 * MIB), pace.took(call(0), 8 * MIB)), (ms(1), ms(1)));
        // Who goes before others sees them between his calls.
        let gaps: Vec<Duration> = (0..20).map(|_| pace.took(call(0), 8 * MIB)).collect();
        assert_eq!(gaps.last(), Some(&ms(0)));
        assert_eq!(pace.took(Took { between: ms(4), ..call(0) }, 8 * MIB), ms(1));
    }

    /// What waited so long, for something that is no processor.
    fn waited(waited_ms: u64) -> Took {
        let ms = Duration::from_millis;
        Took { wall: ms(1 + waited_ms), processor: ms(1), ..Took::default() }
    }

    #[test]
    fn calls_that_were_late_make_for_small_ones_until_others_are_in_time() {
        let ms = Duration::from_millis;
        let mut pace = Pace::new(ms(20), 2 * MIB, 32 * MIB, 32 * MIB);
        pace.took(waited(30), 32 * MIB);
        assert_eq!(pace.chunk(), 32 * MIB, "once may be the host");
        for _ in 0..4 {
            pace.took(waited(30), pace.chunk());
        }
        assert_eq!(pace.chunk(), 2 * MIB);
        let calls = (0..).take_while(|_| {
            pace.took(waited(2), pace.chunk());
            pace.chunk() == 2 * MIB
        });
        assert_eq!(calls.count() as u32, WARY - 1);
        assert_eq!(pace.stalls(), None);
    }

    #[test]
    fn only_the_smallest_calls_show_that_a_limit_cannot_be_kept() {
        let ms = Duration::from_millis;
        let mut pace = Pace::new(ms(20), 2 * MIB, 32 * MIB, 32 * MIB);
        while pace.chunk() > 2 * MIB {
            pace.took(waited(300), pace.chunk());
            assert_eq!(pace.stalls(), None);
        }
        let after = |pace: &mut Pace, times: &[u64]| {
            for time in times {
                pace.took(waited(*time), 2 * MIB);
            }
            pace.stalls()
        };
        assert_eq!(after(&mut pace.clone(), &[30, 30, 30]), None);
        assert_eq!(after(&mut pace.clone(), &[30, 50, 30, 30]), Some(Stalls { calls: 4, longest: ms(51) }));
        // Seldom is no reason; every other time is.
        assert_eq!(after(&mut pace.clone(), &[30, 2, 2].repeat(50)), None);
        assert!(after(&mut pace.clone(), &[30, 2].repeat(7)[..13]).is_some());
        // However short a pause is to be, nobody runs without waiting for a turn.
        let mut pace = Pace::new(Duration::from_micros(40), 2 * MIB, 2 * MIB, 32 * MIB);
        assert_eq!(after(&mut pace, &[3; 100]), None);
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
                let took = Took { wall, processor, queue, between: Duration::ZERO };
                let gap = pace.took(took, pace.chunk());
                prop_assert!((2 * MIB..=32 * MIB).contains(&pace.chunk()) && pace.chunk().is_power_of_two());
                prop_assert!(gap <= wall);
            }
        }
    }
}
