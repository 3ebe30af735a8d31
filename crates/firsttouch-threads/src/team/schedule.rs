//! How the parts of a range are handed out: the schedules of OpenMP (API specification 5.2, section 11.5.3).

use crate::sync::atomic::{AtomicUsize, Ordering};
use std::ops::Range;

/// How a range is cut, and who gets which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// One part for each member, all of the same length but for one element, in the order of the members. Who touches a
    /// place first is who works on it later.
    Static,
    /// Parts of so many elements, in turn over the members.
    StaticParts(usize),
    /// Parts of so many elements, to whoever asks next: for work of which nobody knows how long it takes.
    Dynamic(usize),
    /// To whoever asks next a share of what is left, one part in as many as there are members, but not fewer than so many
    /// elements: few hand-outs at first, and small parts at the end, where members must end together.
    Guided(usize),
}

/// A range that is being handed out.
#[derive(Debug)]
pub(super) struct Shares {
    range: Range<usize>,
    schedule: Schedule,
    members: usize,
    /// Elements handed out to whoever asked.
    taken: AtomicUsize,
}

impl Shares {
    pub(super) fn new(range: Range<usize>, schedule: Schedule, members: usize) -> Shares {
        Shares { range, schedule, members, taken: AtomicUsize::new(0) }
    }

    /// The parts of one member, one after the other.
    pub(super) fn of(&self, member: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut turn = 0;
        std::iter::from_fn(move || {
            let part = self.next(member, turn)?;
            turn += 1;
            Some(self.range.start + part.start..self.range.start + part.end)
        })
    }

    /// The part of a member at its `turn`, counted from the beginning of the range.
    fn next(&self, member: usize, turn: usize) -> Option<Range<usize>> {
        let length = self.range.len();
        match self.schedule {
            Schedule::Static => {
                let (whole, rest) = (length / self.members, length % self.members);
                let begin = |member: usize| member * whole + member.min(rest);
                Some(begin(member)..begin(member + 1)).filter(|part| turn == 0 && !part.is_empty())
            }
            Schedule::StaticParts(part) => {
                let number = turn.checked_mul(self.members)?.checked_add(member)?;
                let begin = number.checked_mul(part.max(1)).filter(|begin| *begin < length)?;
                Some(begin..length.min(begin.saturating_add(part.max(1))))
            }
            Schedule::Dynamic(part) => self.take(|_| part),
            Schedule::Guided(least) => self.take(|left| (left / self.members).max(least)),
        }
    }

    /// Takes as much of what is left as `asked` says, and at least one element.
    fn take(&self, asked: impl Fn(usize) -> usize) -> Option<Range<usize>> {
        let length = self.range.len();
        let mut begin = self.taken.load(Ordering::Relaxed);
        loop {
            let left = length.checked_sub(begin).filter(|left| *left > 0)?;
            let end = begin + asked(left).clamp(1, left);
            match self.taken.compare_exchange_weak(begin, end, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(begin..end),
                Err(now) => begin = now,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedules() -> impl Strategy<Value = Schedule> {
        prop_oneof![
            Just(Schedule::Static),
            (0_usize..50).prop_map(Schedule::StaticParts),
            (0_usize..50).prop_map(Schedule::Dynamic),
            (0_usize..50).prop_map(Schedule::Guided),
        ]
    }

    #[test]
    fn a_static_schedule_gives_everyone_one_part() {
        let shares = Shares::new(10..20, Schedule::Static, 3);
        let parts: Vec<(usize, Range<usize>)> =
            (0..3).flat_map(|member| shares.of(member).map(move |part| (member, part))).collect();
        assert_eq!(parts, [(0, 10..14), (1, 14..17), (2, 17..20)]);
    }

    #[test]
    fn guided_parts_become_smaller() {
        let shares = Shares::new(0..1000, Schedule::Guided(10), 4);
        let lengths: Vec<usize> = shares.of(0).map(|part| part.len()).collect();
        assert_eq!((lengths[0], lengths[1]), (250, 187));
        let (last, others) = lengths.split_last().unwrap();
        assert!(others.is_sorted_by(|a, b| a >= b) && others.iter().all(|length| *length >= 10) && *last > 0);
    }

    #[test]
    fn sizes_beyond_all_bounds_are_one_part() {
        for schedule in
            [Schedule::StaticParts(usize::MAX), Schedule::Dynamic(usize::MAX), Schedule::Guided(usize::MAX)]
        {
            let shares = Shares::new(5..9, schedule, 2);
            let mut parts = shares.of(0).chain(shares.of(1));
            assert_eq!((parts.next(), parts.next()), (Some(5..9), None), "{schedule:?}");
        }
    }

    proptest! {
        #[test]
        fn every_element_is_handed_out_once(
            start in 0_usize..100, length in 0_usize..500, members in 1_usize..9, schedule in schedules(),
        ) {
            let shares = Shares::new(start..start + length, schedule, members);
            let mut all: Vec<usize> = (0..members).flat_map(|member| shares.of(member)).flatten().collect();
            all.sort_unstable();
            prop_assert_eq!(all, (start..start + length).collect::<Vec<_>>());
        }
    }
}
