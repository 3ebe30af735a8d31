//! When a program is looked at again, by what the looks have cost and what they have shown.

use std::time::{Duration, Instant};

const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// Reading mappings walks page tables, and processes may have to wait for that: at most one part in ten, and as much for what the
/// kernel counts anyway. What it waits for a processor does not count: on a busy machine looks would come too late for who starts
/// and ends.
const PAUSE_TO_COST: u32 = 10;
/// What the kernel counts anyway comes to this at last, one more each second.
const LAST_PAUSE_TO_COST: u32 = 50;
/// The search for processes that are not below the program, of which there are as many as the machine has, to this: ten more each second.
const LAST_PAUSE_TO_SEARCH: u32 = 400;
/// Where the account says that nothing has changed, pages may have: mappings are read again after pauses that become twice as long each
/// time, up to this, or so many times the cost where that is more.
const LONGEST_UNREAD: Duration = Duration::from_secs(10);
const UNREAD_TO_COST: u32 = 100;

/// When to look again, to search for processes by a mark, and to read mappings. Costs are processor time of who looks.
#[derive(Debug)]
pub(super) struct Pace {
    began: Instant,
    pause: Duration,
    /// Of the last look, but for its reading of mappings.
    cost: Duration,
    pub(super) next_search: Instant,
    /// When mappings may be read again, and when they are though nothing has changed.
    pub(super) next_reading: Instant,
    pub(super) stale: Instant,
    /// How often they were read since something has changed.
    unchanged: u32,
}

impl Pace {
    pub(super) fn new() -> Pace {
        let now = Instant::now();
        Pace {
            began: now,
            pause: SHORTEST_PAUSE,
            cost: Duration::ZERO,
            next_search: now,
            next_reading: now,
            stale: now,
            unchanged: 0,
        }
    }

    /// After a look that cost so much without its reading of mappings.
    pub(super) fn looked(&mut self, cost: Duration) {
        (self.cost, self.pause) = (cost, (self.pause * 5 / 4).min(LONGEST_PAUSE));
    }

    /// Before the next look.
    pub(super) fn pause(&self) -> Duration {
        self.pause.max(self.cost * pause_to_cost(self.began.elapsed(), 1, LAST_PAUSE_TO_COST))
    }

    pub(super) fn is_search_due(&self) -> bool {
        Instant::now() >= self.next_search
    }

    pub(super) fn searched(&mut self, cost: Duration) {
        let factor = pause_to_cost(self.began.elapsed(), 10, LAST_PAUSE_TO_SEARCH);
        self.next_search = Instant::now() + cost * factor;
    }

    /// Whether mappings are read now, which have changed by the account or not.
    pub(super) fn is_reading_due(&self, is_changed: bool) -> bool {
        let now = Instant::now();
        now >= self.next_reading && (is_changed || now >= self.stale)
    }

    /// After mappings were read at that cost, because something has changed or for a long time nothing.
    pub(super) fn has_read(&mut self, cost: Duration, is_changed: bool) {
        let (now, pause) = (Instant::now(), cost * PAUSE_TO_COST);
        self.next_reading = now + pause;
        self.unchanged = if is_changed { 0 } else { self.unchanged.saturating_add(1) };
        let doubled = pause.saturating_mul(1_u32.checked_shl(self.unchanged).unwrap_or(u32::MAX));
        self.stale = now + doubled.min(LONGEST_UNREAD.max(cost * UNREAD_TO_COST));
    }

    /// Mappings are read again as soon as the last reading allows, whatever the account says.
    pub(super) fn expect_change(&mut self) {
        (self.stale, self.unchanged) = (self.next_reading, 0);
    }
}

/// So many times a cost is to be waited after a life of that length, which becomes more by so much each second.
fn pause_to_cost(life: Duration, each_second: u32, most: u32) -> u32 {
    let seconds = u32::try_from(life.as_secs()).unwrap_or(u32::MAX);
    seconds.saturating_mul(each_second).saturating_add(PAUSE_TO_COST).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_change_is_read_half_as_often_each_time() {
        let mut pace = Pace::new();
        let mut rests = |cost_ms, is_changed| {
            let now = Instant::now();
            pace.has_read(Duration::from_millis(cost_ms), is_changed);
            let about_s = |due: Instant| due.saturating_duration_since(now).as_secs_f64().round() as u64;
            (about_s(pace.next_reading), about_s(pace.stale))
        };
        let costs =
            [(100, true), (100, false), (100, false), (100, false), (100, false), (100, false), (100, true)];
        let rested = costs.map(|(cost_ms, is_changed)| rests(cost_ms, is_changed));
        assert_eq!(rested, [(1, 1), (1, 2), (1, 4), (1, 8), (1, 10), (1, 10), (1, 1)]);
        let last = (0..40).map(|_| rests(500, false)).last();
        assert_eq!(last, Some((5, 50)), "a hundredth of the time, where it is costly");
    }

    #[test]
    fn the_longer_a_program_lives_the_less_is_searched_for() {
        let factor = |life_s| pause_to_cost(Duration::from_secs(life_s), 10, LAST_PAUSE_TO_SEARCH);
        assert_eq!([0, 5, 1000].map(factor), [10, 60, 400]);
    }
}
