//! Which pages of an arena may hold something else than zeroes: one bit a page.
//!
//! `calloc` clears exactly these; the recycling budget counts those that lie in free runs.

use crate::pages::Page;

/// A bit per page over a table of words. All zeroes means that every page is fresh from the kernel.
#[derive(Debug)]
pub(crate) struct Dirty<'a>(pub(crate) &'a mut [u64]);

/// Number of words for that many pages.
pub(crate) const fn words(pages: usize) -> usize {
    pages.div_ceil(64)
}

/// The first bit at or after `from` and before `end` that is set (or not).
pub(crate) fn next(words: &[u64], from: usize, end: usize, set: bool) -> Option<usize> {
    let mut at = from;
    while at < end {
        let word = if set { words[at / 64] } else { !words[at / 64] } >> (at % 64);
        if word != 0 {
            let found = at + word.trailing_zeros() as usize;
            return (found < end).then_some(found);
        }
        at = (at / 64 + 1) * 64;
    }
    None
}

/// The last bit up to `at` that is set.
pub(crate) fn last(words: &[u64], at: usize) -> Option<usize> {
    let mut index = at / 64;
    let mut word = words.get(index)? & (u64::MAX >> (63 - at % 64));
    while word == 0 {
        index = index.checked_sub(1)?;
        word = words[index];
    }
    Some(index * 64 + 63 - word.leading_zeros() as usize)
}

impl Dirty<'_> {
    /// Sets or clears the bits of a run.
    pub(crate) fn set(&mut self, start: Page, pages: u32, dirty: bool) {
        let part = |word: &mut u64, mask: u64| *word = if dirty { *word | mask } else { *word & !mask };
        self.each_word(start, pages, part, |words| words.fill(if dirty { u64::MAX } else { 0 }));
    }

    /// Number of dirty pages in a run.
    pub(crate) fn count(&mut self, start: Page, pages: u32) -> u32 {
        let (mut at_ends, mut between) = (0, 0);
        self.each_word(
            start,
            pages,
            |word, mask| at_ends += (*word & mask).count_ones(),
            |words| between = words.iter().map(|word| ones(*word)).sum(),
        );
        at_ends + between
    }

    /// The first run of dirty pages inside a run, as start and length.
    pub(crate) fn first_run(&self, start: Page, pages: u32) -> Option<(Page, u32)> {
        let end = start as usize + pages as usize;
        let first = next(self.0, start as usize, end, true)?;
        let after = next(self.0, first, end, false).unwrap_or(end);
        Some((first as Page, (after - first) as u32))
    }

    /// Gives the words that a run has a `part` of, with its bits, and those that it has as a `whole`.
    fn each_word(
        &mut self,
        start: Page,
        pages: u32,
        mut part: impl FnMut(&mut u64, u64),
        whole: impl FnOnce(&mut [u64]),
    ) {
        let (start, end) = (start as usize, start as usize + pages as usize);
        let (from, until) = (start.div_ceil(64), end / 64);
        let (front, back) = (u64::MAX << (start % 64), !(u64::MAX << (end % 64)));
        if from > until {
            return part(&mut self.0[until], front & back);
        }
        if start % 64 > 0 {
            part(&mut self.0[from - 1], front);
        }
        whole(&mut self.0[from..until]);
        if end % 64 > 0 {
            part(&mut self.0[until], back);
        }
    }
}

/// The bits that are set of a word, most often all or none.
fn ones(word: u64) -> u32 {
    match word {
        0 => 0,
        u64::MAX => u64::BITS,
        _ => word.count_ones(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Dirty, last, words};
    use std::vec;

    #[test]
    fn bits_are_those_of_a_plain_array() {
        let mut model = [false; 300];
        let mut bits = vec![0; words(model.len())];
        let mut dirty = Dirty(&mut bits);
        for (start, pages, value) in [
            (0, 300, true),
            (10, 100, false),
            (63, 2, true),
            (64, 1, false),
            (128, 64, true),
            (299, 1, false),
            (129, 0, false),
            (130, 30, false),
        ] {
            dirty.set(start, pages, value);
            model[start as usize..][..pages as usize].fill(value);
            for from in 0..model.len() {
                let tail = &model[from..];
                let pages = tail.len() as u32;
                assert_eq!(dirty.count(from as u32, pages), tail.iter().filter(|bit| **bit).count() as u32);
                let first = tail.iter().position(|bit| *bit);
                let expected = first.map(|first| {
                    let length = tail[first..].iter().take_while(|bit| **bit).count();
                    ((from + first) as u32, length as u32)
                });
                assert_eq!(dirty.first_run(from as u32, pages), expected);
                assert_eq!(last(dirty.0, from), model[..=from].iter().rposition(|bit| *bit));
            }
        }
    }
}
