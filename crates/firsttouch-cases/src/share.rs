//! Work shared by a team, each member with a part of its own.

use firsttouch_threads::{Member, Team};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Cuts `length` into so many consecutive parts, all but the last multiples of `granule`, as equal as that allows.
pub(crate) fn cut(length: usize, parts: usize, granule: usize) -> Vec<Range<usize>> {
    let granules = length.div_ceil(granule);
    let end = |part: usize| (granules * part / parts * granule).min(length);
    (0..parts).map(|part| end(part)..end(part + 1)).collect()
}

/// The parts of a slice that [`cut`] makes of its length.
pub(crate) fn cut_slice<T>(mut slice: &mut [T], parts: usize, granule: usize) -> Vec<&mut [T]> {
    let ranges = cut(slice.len(), parts, granule);
    let take = |range: Range<usize>| {
        let (part, rest) = std::mem::take(&mut slice).split_at_mut(range.len());
        slice = rest;
        part
    };
    ranges.into_iter().map(take).collect()
}

/// Cuts a slice into pieces of that length, and each of them into parts: for each part where it lies in its piece, and that of all
/// pieces.
pub(crate) fn cut_each<T>(
    slice: &mut [T],
    piece: usize,
    parts: usize,
    granule: usize,
) -> Vec<(Range<usize>, Vec<&mut [T]>)> {
    let mut all: Vec<_> = cut(piece, parts, granule).into_iter().map(|range| (range, Vec::new())).collect();
    for piece in slice.chunks_exact_mut(piece) {
        all.iter_mut()
            .zip(cut_slice(piece, parts, granule))
            .for_each(|((_, pieces), part)| pieces.push(part));
    }
    all
}

/// Gives each member its part, all at the same time, and answers what each made of it, in order.
///
/// # Panics
/// If there are not as many parts as members, and with the panic of a member.
pub(crate) fn each<P: Send, T: Send>(
    team: &mut Team,
    parts: Vec<P>,
    work: impl Fn(&Member<'_>, P) -> T + Sync,
) -> Vec<T> {
    assert_eq!(parts.len(), team.size(), "a part for each member");
    let parts: Vec<Mutex<Option<P>>> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
    team.map(|member| {
        let part = parts[member.index()].lock().unwrap_or_else(PoisonError::into_inner).take();
        work(member, part.expect("each member takes its part once"))
    })
}

/// Lets the first member alone work on something, while the others have nothing to do.
pub(crate) fn alone<P: Send, T: Send>(team: &mut Team, part: P, work: impl Fn(P) -> T + Sync) -> T {
    let parts = std::iter::once(Some(part)).chain(std::iter::repeat_with(|| None)).take(team.size());
    let made = each(team, parts.collect(), |_, part| part.map(&work));
    made.into_iter().flatten().next().expect("every team has a first member")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_everything_once_and_begin_with_a_granule() {
        for length in [0, 1, 7, 64, 1000] {
            for parts in [1, 2, 3, 7] {
                for granule in [1, 8, 64] {
                    let ranges = cut(length, parts, granule);
                    assert_eq!(ranges.len(), parts);
                    assert_eq!((ranges[0].start, ranges[parts - 1].end), (0, length));
                    assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
                    assert!(ranges.iter().all(|range| range.is_empty() || range.start % granule == 0));
                    let mut numbers: Vec<usize> = (0..length).collect();
                    let slices = cut_slice(&mut numbers, parts, granule);
                    assert!(
                        slices
                            .iter()
                            .zip(&ranges)
                            .all(|(slice, range)| slice.iter().copied().eq(range.clone()))
                    );
                }
            }
        }
    }

    #[test]
    fn pieces_are_cut_alike() {
        let mut numbers: Vec<usize> = (0..30).collect();
        let parts = cut_each(&mut numbers, 10, 2, 4);
        assert_eq!(parts.iter().map(|(range, _)| range.clone()).collect::<Vec<_>>(), [0..4, 4..10]);
        assert_eq!(parts[1].1, [&[4, 5, 6, 7, 8, 9], &[14, 15, 16, 17, 18, 19], &[24, 25, 26, 27, 28, 29]]);
    }

    #[test]
    fn one_member_works_alone() {
        let mut team = Team::of_this_process(2).unwrap();
        let mut numbers = vec![1, 2];
        alone(&mut team, &mut numbers, |numbers| numbers.push(3));
        assert_eq!(alone(&mut team, numbers, |numbers| numbers.len()), 3);
    }

    #[test]
    fn members_work_on_their_own_parts() {
        let mut team = Team::of_this_process(2).unwrap();
        let mut numbers = [1, 2, 3, 4, 5];
        let parts = cut_slice(&mut numbers, team.size(), 1);
        let sums = each(&mut team, parts, |_, part| {
            part.iter_mut().for_each(|number| *number *= 2);
            part.iter().sum::<i32>()
        });
        assert_eq!((numbers, sums.iter().sum::<i32>()), ([2, 4, 6, 8, 10], 30));
    }
}
