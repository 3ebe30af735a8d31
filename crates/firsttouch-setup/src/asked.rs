//! What is asked for, as the command line has it.

use firsttouch_placement::parse_size;

/// What is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Pools of reserved huge pages.
    Pages,
    /// Transparent huge pages.
    Thp,
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Words of the topic: `2m=4096`, `madvise`, `64k=madvise`.
    pub words: Vec<String>,
    /// Nodes: lists, or `NODE=COUNT`.
    pub nodes: Vec<String>,
    /// Bytes that are to stay free; `None`: as much as usual.
    pub rest_bytes: Option<u64>,
    /// Even where little would stay free.
    pub force: bool,
    /// What survives a boot is written, too.
    pub persist: bool,
}

/// `KEY=VALUE`, or a word alone.
pub(crate) fn key_value(word: &str) -> (&str, Option<&str>) {
    word.split_once('=').map_or((word, None), |(key, value)| (key, Some(value)))
}

/// The size of a page by its word (`2m`, `1g`, `64k`): a power of two.
pub(crate) fn page_size(word: &str) -> Option<u64> {
    let is_word = word.ends_with(|end: char| end.is_ascii_alphabetic());
    parse_size(word).filter(|bytes| is_word && bytes.is_power_of_two() && *bytes >= 8 << 10)
}

/// The word of a size of pages.
pub(crate) fn size_word(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        30.. => format!("{}g", bytes >> 30),
        20.. => format!("{}m", bytes >> 20),
        _ => format!("{}k", bytes >> 10),
    }
}

#[cfg(test)]
mod tests {
    use super::{page_size, size_word};

    #[test]
    fn sizes_have_words() {
        for (word, bytes) in [("2m", 2 << 20), ("1g", 1 << 30), ("64k", 64 << 10), ("16g", 16 << 30)] {
            assert_eq!((page_size(word), size_word(bytes).as_str()), (Some(bytes), word));
        }
        assert_eq!(
            (page_size("3m"), page_size("4096"), page_size("4k"), page_size("m")),
            (None, None, None, None)
        );
    }
}
