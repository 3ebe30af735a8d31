//! CPU and node lists (`0-3,8`) and masks (`00000000,0000ffff`) as the kernel prints them.

use crate::numa::CpuBits;

/// More than Linux can be built for: a higher number is garbage, and a few bytes must not become many numbers.
const END: u32 = CpuBits::END;

/// Reads a list such as `0-3,8,10-14:2`, sorted and without repetition. An empty list is a list.
///
/// ```
/// use firsttouch_linux::cpulist::parse_list;
/// assert_eq!(parse_list("0-2,33-34\n"), Some(vec![0, 1, 2, 33, 34]));
/// assert_eq!(parse_list(""), Some(vec![]));
/// assert_eq!(parse_list("3-1"), None);
/// ```
pub fn parse_list(text: &str) -> Option<Vec<u32>> {
    // A set, because a list may name the same numbers again and again.
    let mut numbers = CpuBits::EMPTY;
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (range, step) = match part.split_once(':') {
            Some((range, step)) => (range, number(step.split('/').next_back()?)?),
            None => (part, 1),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(range)?, number(range)?),
        };
        if first > last || step == 0 {
            return None;
        }
        for number in (first..=last).step_by(step as usize) {
            numbers.insert(number);
        }
    }
    Some(numbers.iter().collect())
}

fn number(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|number| *number < END)
}

/// Reads a mask: hexadecimal words of 32 bits separated by commas, the highest first.
///
/// ```
/// use firsttouch_linux::cpulist::parse_mask;
/// assert_eq!(parse_mask("1,00000003\n"), Some(vec![0, 1, 32]));
/// assert_eq!(parse_mask("f0"), Some(vec![4, 5, 6, 7]));
/// ```
pub fn parse_mask(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for (index, word) in text.trim().rsplit(',').enumerate() {
        let base = u32::try_from(index).ok().filter(|index| *index < END / 32)? * 32;
        let bits = u32::from_str_radix(word.trim(), 16).ok()?;
        numbers.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| base + bit));
    }
    Some(numbers)
}

/// Prints numbers in the kernel's list format.
///
/// ```
/// use firsttouch_linux::cpulist::format_list;
/// assert_eq!(format_list(&[0, 1, 2, 8]), "0-2,8");
/// assert_eq!(format_list(&[]), "");
/// ```
pub fn format_list(numbers: &[u32]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [only] => only.to_string(),
            run => format!("{}-{}", run[0], run[run.len() - 1]),
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::{format_list, parse_list, parse_mask};

    #[test]
    fn lists_read_back() {
        for text in ["0", "0-3", "0-2,33-34,45,72-73", "4-20"] {
            assert_eq!(format_list(&parse_list(text).unwrap()), text);
        }
        assert_eq!(parse_list("0-7:2"), Some(vec![0, 2, 4, 6]));
    }

    #[test]
    fn garbage_is_refused() {
        for text in ["x", "1-", "-1", "0-4294967295", "1:0", "5-4", "1-2-3"] {
            assert_eq!(parse_list(text), None, "{text:?}");
        }
        for text in ["", "g", "100000000", "1,,2"] {
            assert_eq!(parse_mask(text), None, "{text:?}");
        }
        assert_eq!(parse_mask(&"0,".repeat(257)), None);
    }

    #[test]
    fn a_few_bytes_are_no_more_numbers_than_linux_has_cpus() {
        for text in ["0-8192", "0-1048575"] {
            assert_eq!(parse_list(text), None, "{text:?}");
        }
        let list = parse_list(&"0-8191,".repeat(1000)).unwrap();
        assert_eq!(list.len(), 8192);
        assert!(list.capacity() <= 2 * 8192, "room for {}", list.capacity());
    }

    #[test]
    fn masks_count_from_the_right() {
        assert_eq!(parse_mask("80000000,00000000,00000001"), Some(vec![0, 95]));
        assert_eq!(parse_mask("00000000,00000000"), Some(vec![]));
    }
}
