//! The page sizes a placement can ask for.

use core::fmt;

/// 2 MiB: the size of a transparent huge page, and of a block of the span, on x86-64 and on
/// arm64 with 4 KiB base pages.
pub const HUGE: usize = 2 << 20;
/// 1 GiB, the larger reserved huge page.
pub const GIGANTIC: usize = 1 << 30;
/// The base page. Where the kernel's are larger (arm64 has them of 16 and 64 KiB, too) nothing is placed: [`base_pages_fit`].
pub const BASE: usize = 4096;

/// Whether the kernel's base pages are of that size. No system call.
pub fn base_pages_fit() -> bool {
    // SAFETY: reads the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_PAGESZ) == BASE as libc::c_ulong }
}

/// Index of a page within its arena.
pub(crate) type Page = u32;

/// What kind of pages is wanted for a placed allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pages {
    /// Whatever the program would have without us: nothing is placed.
    Plain,
    /// Base pages of 4 KiB, transparent huge pages forbidden.
    Base,
    /// A multi-size transparent huge page (Linux 6.8+): a power of two from 16 KiB to 1 MiB.
    Multi(u32),
    /// Transparent huge pages of 2 MiB, from the kernel's ordinary free memory.
    Transparent,
    /// Reserved 2 MiB pages of the hugetlb pool.
    Huge2M,
    /// Reserved 1 GiB pages of the hugetlb pool.
    Huge1G,
    /// The best that can be had: reserved pages where the pool has them, else transparent ones.
    Auto,
}

impl Pages {
    /// Reads the word used on the command line, in profiles and in the agent's settings.
    ///
    /// Returns `None` for anything else; sizes are powers of two from `16k` to `1024k`.
    ///
    /// ```
    /// use firsttouch_memory::Pages;
    /// assert_eq!(Pages::parse("thp"), Some(Pages::Transparent));
    /// assert_eq!(Pages::parse("64k"), Some(Pages::Multi(64 << 10)));
    /// assert_eq!(Pages::parse("65k"), None);
    /// ```
    pub fn parse(word: &str) -> Option<Pages> {
        Some(match word {
            "plain" => Pages::Plain,
            "4k" => Pages::Base,
            "thp" => Pages::Transparent,
            "2m" => Pages::Huge2M,
            "1g" => Pages::Huge1G,
            "auto" => Pages::Auto,
            "1m" => Pages::Multi(1 << 20),
            _ => {
                let kib: u32 = word.strip_suffix('k')?.parse().ok()?;
                if !kib.is_power_of_two() || !(16..=1024).contains(&kib) {
                    return None;
                }
                Pages::Multi(kib << 10)
            }
        })
    }

    /// The words of all kinds, for messages.
    pub const WORDS: &str = "plain, 4k, thp, 16k…1024k, 2m, 1g, auto";

    /// Whether such pages come from a hugetlb pool that was reserved for them, and from nowhere else.
    pub fn is_reserved(self) -> bool {
        matches!(self, Pages::Huge2M | Pages::Huge1G)
    }

    /// What is asked for where the pool has none: the next smaller.
    pub fn fallback(self) -> Option<Pages> {
        match self {
            Pages::Huge1G => Some(Pages::Huge2M),
            Pages::Huge2M => Some(Pages::Transparent),
            _ => None,
        }
    }

    /// The size of one such page in bytes; for [`Pages::Auto`] that of the smallest acceptable one.
    pub fn bytes(self) -> usize {
        match self {
            Pages::Plain | Pages::Base => BASE,
            Pages::Multi(bytes) => bytes as usize,
            Pages::Transparent | Pages::Huge2M | Pages::Auto => HUGE,
            Pages::Huge1G => GIGANTIC,
        }
    }
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pages::Plain => f.write_str("plain"),
            Pages::Base => f.write_str("4k"),
            Pages::Transparent => f.write_str("thp"),
            Pages::Huge2M => f.write_str("2m"),
            Pages::Huge1G => f.write_str("1g"),
            Pages::Auto => f.write_str("auto"),
            Pages::Multi(bytes) => write!(f, "{}k", bytes >> 10),
        }
    }
}
