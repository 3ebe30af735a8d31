//! What is asked for, as the command line has it.

use firsttouch_placement::{Placement, parse_size};

/// What is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Pools of reserved huge pages.
    Pages,
    /// Transparent huge pages.
    Thp,
    /// Limits of users, groups, services, a process, and of the machine.
    Limits,
    /// The kernel's command line.
    Boot,
    /// What a profile of `tune` needs.
    For,
}

impl Topic {
    /// The words of the command line.
    const WORDS: [(&str, Topic); 5] = [
        ("pages", Topic::Pages),
        ("thp", Topic::Thp),
        ("limits", Topic::Limits),
        ("boot", Topic::Boot),
        ("for", Topic::For),
    ];

    /// The word of the command line.
    pub fn word(self) -> &'static str {
        Topic::WORDS.iter().find(|(_, topic)| *topic == self).map_or("", |(word, _)| word)
    }

    /// That of what was asked, in the words of the command line, the first of which names it.
    pub(crate) fn of(asked: &[String]) -> Option<Topic> {
        let first = asked.first()?;
        Topic::WORDS.iter().find(|(word, _)| word == first).map(|(_, topic)| *topic)
    }
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
    /// Users whose limits are set.
    pub users: Vec<String>,
    /// Groups whose limits are set.
    pub groups: Vec<String>,
    /// Services of systemd whose limits are set.
    pub services: Vec<String>,
    /// A running process whose limits are set.
    pub pid: Option<u32>,
    /// Bytes that the program of a profile places.
    pub memory_bytes: Option<u64>,
    /// The placement of a profile.
    pub placement: Option<Box<Placement>>,
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

#[cfg(test)]
mod tests {
    use super::page_size;
    use firsttouch_machine::page_word;

    #[test]
    fn sizes_have_words() {
        for (word, bytes) in [("2m", 2 << 20), ("1g", 1 << 30), ("64k", 64 << 10), ("16g", 16 << 30)] {
            assert_eq!((page_size(word), page_word(bytes).as_str()), (Some(bytes), word));
        }
        assert_eq!(
            (page_size("3m"), page_size("4096"), page_size("4k"), page_size("m")),
            (None, None, None, None)
        );
    }
}
