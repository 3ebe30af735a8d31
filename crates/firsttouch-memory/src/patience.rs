//! How long somebody waits for a lock whose holder may not come back for long: a handler of a signal may have stopped it inside, as
//! collectors of garbage stop all threads, and who had it stopped may want memory meanwhile.
//!
//! Whoever waits sees the same holder turn after turn. One that is at work, or waits for the kernel, costs processor time;
//! while one is stopped the process does little else than wait, and then patience ends sooner; not so soon that a process that gets no
//! processor for some turns, because others use them, is taken for stopped.

/// A wait is made of turns that last so long, unless it ends before.
pub(crate) const TURN_NS: u64 = 4_000_000;

/// In an idle turn the process has used less processor time than this.
const IDLE_NS: u64 = TURN_NS / 8;

/// Copying a block, and later back, takes this much for each byte or more, where pages are small.
const COPY_NS: u64 = 4;
/// Nobody waits longer for a fork.
const MOST_SHUT_NS: u64 = 10_000_000_000;

/// How long somebody waits, in turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    /// For a fork to end, and for a holder that others have given up waiting for, in nanoseconds. Of a turn that takes longer only so much
    /// counts: copying, too, would wait for a processor. And no turn in which one fork has ended, though the next has begun.
    pub(crate) shut_ns: u64,
    /// For one holder.
    pub(crate) held: u32,
    /// For one holder while the process is idle. [`u32::MAX`]: that is not asked.
    pub(crate) idle: u32,
}

impl Patience {
    /// Of who may come again.
    pub(crate) const NONE: Patience = Patience { shut_ns: 0, held: 0, idle: u32::MAX };
    /// Of a call that can go on without the lock.
    pub(crate) const SHORT: Patience = Patience { shut_ns: 0, held: 50, idle: 25 };
    /// The same in a program that has confined itself: the kernel is not asked for anybody's time.
    pub(crate) const CONFINED: Patience = Patience { shut_ns: 0, held: 5, idle: u32::MAX };
    /// Of a fork, whose child would have to do without the heap; the C library's own fork waits for ever for who was stopped in its `malloc`.
    pub(crate) const OF_FORKS: Patience = Patience { shut_ns: 250 * TURN_NS, held: 2500, idle: 250 };
    /// The same in a program that has confined itself.
    pub(crate) const OF_CONFINED_FORKS: Patience = Patience { idle: u32::MAX, held: 250, ..Self::OF_FORKS };
    /// Of those that nobody waits for.
    pub(crate) const ENDLESS: Patience = Patience { shut_ns: u64::MAX, held: u32::MAX, idle: u32::MAX };

    /// The same, but for who would have to copy so many bytes: waiting pays as long as it takes no longer.
    pub(crate) fn to_copy(self, bytes: usize) -> Patience {
        Patience { shut_ns: (bytes as u64).saturating_mul(COPY_NS).min(MOST_SHUT_NS), ..self }
    }
}

/// The turns of one wait.
#[derive(Debug)]
pub(crate) struct Turns {
    patience: Patience,
    shut_ns: u64,
    held: u32,
    idle: u32,
    /// What the lock was in the last turn, and the processor time of the process at its end.
    word: u32,
    work_ns: u64,
}

impl Turns {
    pub(crate) fn new(patience: Patience) -> Turns {
        Turns { patience, shut_ns: 0, held: 0, idle: 0, word: 0, work_ns: 0 }
    }

    /// Whether to wait on for a lock that is shut, after a turn of waiting; `wait` answers whether the lock was that all the time, `now_ns` the time.
    pub(crate) fn wait_for_shut(&mut self, now_ns: impl Fn() -> u64, wait: impl FnOnce() -> bool) -> bool {
        if self.shut_ns >= self.patience.shut_ns {
            return false;
        }
        let before_ns = now_ns();
        if wait() {
            self.shut_ns = self.shut_ns.saturating_add((now_ns() - before_ns).min(TURN_NS));
        }
        true
    }

    /// Whether to wait on after a turn in which the lock was that `word` all the time; `work_ns` answers the processor time
    /// of the process.
    pub(crate) fn go_on(&mut self, word: u32, work_ns: impl FnOnce() -> u64) -> bool {
        let is_same = self.word == word;
        self.held = if is_same { self.held + 1 } else { 1 };
        if self.patience.idle != u32::MAX {
            let work_ns = work_ns();
            let is_idle = is_same && work_ns.saturating_sub(self.work_ns) < IDLE_NS;
            self.idle = if is_idle { self.idle + 1 } else { 0 };
            self.work_ns = work_ns;
        }
        self.word = word;
        self.held < self.patience.held && !self.saw_idle()
    }

    /// Whether patience has ended because nothing happened.
    pub(crate) fn saw_idle(&self) -> bool {
        self.idle >= self.patience.idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// So many turns with the same holder, and this much work in each, until patience ends.
    fn turns(patience: Patience, work_ns: u64) -> (u32, bool) {
        let (mut turns, mut now_ns, mut count) = (Turns::new(patience), 7, 0);
        loop {
            count += 1;
            now_ns += work_ns;
            if !turns.go_on(64, || now_ns) {
                return (count, turns.saw_idle());
            }
        }
    }

    #[test]
    fn who_works_is_waited_for_longer() {
        // The first turn has nothing to be compared with.
        assert_eq!(turns(Patience::SHORT, 0), (Patience::SHORT.idle + 1, true));
        assert_eq!(turns(Patience::SHORT, TURN_NS), (Patience::SHORT.held, false));
        assert_eq!(turns(Patience::CONFINED, 0), (Patience::CONFINED.held, false));
    }

    #[test]
    fn a_lock_that_changes_hands_is_waited_for() {
        let mut turns = Turns::new(Patience::SHORT);
        assert!((0..1000).all(|turn| turns.go_on(64 + turn % 2, || 0)));
    }

    #[test]
    fn a_fork_is_waited_for_as_long_as_copying_takes() {
        let waits = |bytes| {
            let mut turns = Turns::new(Patience::SHORT.to_copy(bytes));
            let now_ns = Cell::new(7);
            let mut wait = |ns: u64, is_same| {
                turns.wait_for_shut(
                    || now_ns.get(),
                    || {
                        now_ns.set(now_ns.get() + ns);
                        is_same
                    },
                )
            };
            assert!((0..1000).all(|_| bytes == 0 || wait(TURN_NS, false)), "one fork after the other");
            // Interrupted by a signal; without a processor for long; and as it should be.
            [TURN_NS / 4, 100 * TURN_NS, TURN_NS].into_iter().cycle().take_while(|ns| wait(*ns, true)).count()
        };
        assert_eq!([0, 1 << 20, 500 << 20].map(waits), [0, 2, 700]);
        assert!(Turns::new(Patience::ENDLESS).wait_for_shut(|| u64::MAX, || true));
    }
}
