//! Sizes as people write them: `1M`, `1.5 GiB`, `65536`.

/// Reads a size in bytes. Suffixes `K M G T` (also `KiB`, `kB`, `kb`, …) are powers of 1024,
/// as everywhere in memory management; a plain number is bytes. `None` when it is neither, or overflows.
///
/// ```
/// assert_eq!(firsttouch_placement::parse_size("1M"), Some(1 << 20));
/// assert_eq!(firsttouch_placement::parse_size("1.5GiB"), Some(3 << 29));
/// assert_eq!(firsttouch_placement::parse_size("many"), None);
/// ```
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let shift = match suffix.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(1 << shift);
    }
    let value = number.parse::<f64>().ok()? * (1u64 << shift) as f64;
    (value.is_finite() && value >= 0.0 && value < u64::MAX as f64).then_some(value as u64)
}

/// Prints bytes in the largest unit that keeps three digits: `1.50 GiB`, `400 MiB`, `12 B`.
pub fn format_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = 0;
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = if unit == 0 || value >= 99.95 || value.fract() == 0.0 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::{format_bytes, parse_size};
    use proptest::prelude::*;

    #[test]
    fn refuses_what_is_no_size() {
        for text in ["", "M", "-1", "1X", "1 2", "1e9", "99999999999999999999", "20000000000G", "1..5M"] {
            assert_eq!(parse_size(text), None, "{text:?}");
        }
    }

    #[test]
    fn prints_three_digits() {
        assert_eq!(format_bytes(12), "12 B");
        assert_eq!(format_bytes(1 << 20), "1 MiB");
        assert_eq!(format_bytes(400_000_000), "381 MiB");
        assert_eq!(format_bytes(3 << 29), "1.50 GiB");
    }

    proptest! {
        #[test]
        fn a_number_of_bytes_is_itself(bytes: u64) {
            prop_assert_eq!(parse_size(&bytes.to_string()), Some(bytes));
        }

        #[test]
        fn any_text_is_survived(text in ".{0,12}") {
            let _ = parse_size(&text);
        }
    }
}
