//! What backs placed memory: each of [`Pages`] as the kernel gives it.

use crate::pages::{BASE, GIGANTIC, HUGE, Pages};

/// What backs an arena or a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Backing {
    Base = 0,
    Multi = 1,
    Transparent = 2,
    Huge2M = 3,
    Huge1G = 4,
}

impl Backing {
    pub(crate) const ALL: [Backing; 5] =
        [Backing::Base, Backing::Multi, Backing::Transparent, Backing::Huge2M, Backing::Huge1G];

    /// What to try in turn for a kind of pages: each falls back to the next smaller.
    pub(crate) fn chain(pages: Pages) -> &'static [Backing] {
        match pages {
            Pages::Plain => &[],
            Pages::Base => &[Backing::Base],
            Pages::Multi(_) => &[Backing::Multi],
            Pages::Transparent => &[Backing::Transparent],
            Pages::Huge2M | Pages::Auto => &[Backing::Huge2M, Backing::Transparent],
            Pages::Huge1G => &[Backing::Huge1G, Backing::Huge2M, Backing::Transparent],
        }
    }

    /// The kind of pages it is, where this was asked for.
    pub(crate) fn pages(self, asked: Pages) -> Pages {
        match self {
            Backing::Base if asked == Pages::Plain => Pages::Plain,
            Backing::Base => Pages::Base,
            Backing::Multi => asked,
            Backing::Transparent => Pages::Transparent,
            Backing::Huge2M => Pages::Huge2M,
            Backing::Huge1G => Pages::Huge1G,
        }
    }

    /// What the kernel is advised of such a mapping in ordinary memory, where this was asked for: nothing of plain memory.
    pub(crate) fn advice(self, asked: Pages) -> Option<i32> {
        match (asked, self) {
            (Pages::Plain, _) => None,
            (_, Backing::Base) => Some(libc::MADV_NOHUGEPAGE),
            _ => Some(libc::MADV_HUGEPAGE),
        }
    }

    /// Bytes of a page of its hugetlb pool; `None` for what is from ordinary memory. All else that depends on the pool follows.
    pub(crate) fn pool_page(self) -> Option<usize> {
        match self {
            Backing::Base | Backing::Multi | Backing::Transparent => None,
            Backing::Huge2M => Some(HUGE),
            Backing::Huge1G => Some(GIGANTIC),
        }
    }

    /// That of the pool with pages of so many bytes.
    pub(crate) fn of_pool(page_bytes: usize) -> Option<Backing> {
        Backing::pools().find(|backing| backing.pool_page() == Some(page_bytes))
    }

    /// Those from pools.
    pub(crate) fn pools() -> impl Iterator<Item = Backing> {
        Backing::ALL.into_iter().filter(|backing| backing.is_reserved_pool())
    }

    pub(crate) fn is_reserved_pool(self) -> bool {
        self.pool_page().is_some()
    }

    /// Bytes that are mapped and given back together: a huge page.
    pub(crate) fn chunk_bytes(self) -> usize {
        self.pool_page().unwrap_or(HUGE)
    }

    /// The flags with which mmap(2) maps pages of its pool, of whatever size.
    pub(crate) fn pool_flags(self) -> i32 {
        self.pool_page()
            .map_or(0, |bytes| libc::MAP_HUGETLB | (bytes.trailing_zeros() as i32) << libc::MAP_HUGE_SHIFT)
    }

    /// Whole pages for so many bytes, at least one; `None` for more than a process can have.
    pub(crate) fn whole(self, bytes: usize) -> Option<usize> {
        let unit = match self {
            Backing::Base | Backing::Multi => BASE,
            _ => self.chunk_bytes(),
        };
        bytes.max(1).checked_next_multiple_of(unit).filter(|whole| *whole < isize::MAX as usize / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_pools_are_those_of_the_c_library() {
        assert_eq!(Backing::Huge2M.pool_flags(), libc::MAP_HUGETLB | libc::MAP_HUGE_2MB);
        assert_eq!(Backing::Huge1G.pool_flags(), libc::MAP_HUGETLB | libc::MAP_HUGE_1GB);
        assert_eq!(Backing::Transparent.pool_flags(), 0);
    }

    #[test]
    fn chains_end_with_what_needs_no_pool_and_pages_lead_back() {
        for backing in Backing::ALL {
            let pages = backing.pages(Pages::Multi(64 << 10));
            let chain = Backing::chain(pages);
            assert_eq!(chain.first(), Some(&backing));
            assert!(chain.last().is_some_and(|last| !last.is_reserved_pool()));
            assert_eq!(pages.is_reserved(), backing.is_reserved_pool());
            let next = chain.get(1).map(|next| next.pages(pages));
            assert_eq!(next, pages.fallback());
            assert_eq!(backing.pool_page().and_then(Backing::of_pool), backing.pool_page().map(|_| backing));
        }
    }
}
