//! Ranges of numbers as values.

use super::{MOST_CONFIGURATIONS, VaryError};

/// A decimal number as it is written: an integer, and how many of its digits stand behind the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    digits: i128,
    scale: u32,
}

/// The values of `LOW..HIGH` or `LOW..HIGH:STEP`, both ends included; `None` for what is no range. Without a step it is 1. All
/// values have as many digits behind the point as the most precise of the three.
pub(super) fn in_range(text: &str) -> Option<Result<Vec<String>, VaryError>> {
    let (low, rest) = text.split_once("..")?;
    let (high, step) = rest.split_once(':').unwrap_or((rest, "1"));
    let [low, high, step] = [Decimal::parse(low)?, Decimal::parse(high)?, Decimal::parse(step)?];
    let scale = low.scale.max(high.scale).max(step.scale);
    let [low, high, step] = [low, high, step].map(|number| number.digits * 10_i128.pow(scale - number.scale));
    if step <= 0 || low > high {
        return Some(Err(VaryError::Range { range: text.to_owned() }));
    }
    let number = ((high - low) / step + 1).unsigned_abs();
    if number > MOST_CONFIGURATIONS as u128 {
        return Some(Err(VaryError::TooMany { number }));
    }
    let each = (0..).map(|index| low + index * step).take_while(|value| *value <= high);
    Some(Ok(each.map(|digits| Decimal { digits, scale }.text()).collect()))
}

impl Decimal {
    /// At most 18 digits, so that nothing overflows.
    fn parse(text: &str) -> Option<Decimal> {
        let (sign, number) = text.strip_prefix('-').map_or((1, text), |number| (-1, number));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("{whole}{fraction}");
        let is_number = !whole.is_empty()
            && number.ends_with(|c: char| c.is_ascii_digit())
            && digits.len() <= 18
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        let digits = is_number.then(|| digits.parse::<i128>().ok())??;
        Some(Decimal { digits: sign * digits, scale: u32::try_from(fraction.len()).ok()? })
    }

    fn text(self) -> String {
        let sign = if self.digits < 0 { "-" } else { "" };
        let scale = self.scale as usize;
        let digits = format!("{:0>width$}", self.digits.unsigned_abs(), width = scale + 1);
        match digits.split_at(digits.len() - scale) {
            (whole, "") => format!("{sign}{whole}"),
            (whole, fraction) => format!("{sign}{whole}.{fraction}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        in_range(text).unwrap().unwrap()
    }

    #[test]
    fn both_ends_are_included() {
        assert_eq!(values("1..4"), ["1", "2", "3", "4"]);
        assert_eq!(values("1..16:5"), ["1", "6", "11", "16"]);
        assert_eq!(values("1..8:3"), ["1", "4", "7"]);
        assert_eq!(values("-1..1"), ["-1", "0", "1"]);
        assert_eq!(values("7..7"), ["7"]);
    }

    /// As hyperfine has them: `--parameter-scan delay 0.3 0.7 --parameter-step-size 0.2`.
    #[test]
    fn steps_may_be_fractions() {
        assert_eq!(values("0.3..0.7:0.2"), ["0.3", "0.5", "0.7"]);
        assert_eq!(values("0.5..2:0.5"), ["0.5", "1.0", "1.5", "2.0"]);
        assert_eq!(values("-0.1..0.05:0.05"), ["-0.10", "-0.05", "0.00", "0.05"]);
    }

    #[test]
    fn what_is_no_range_is_a_value() {
        for text in
            ["", "1", "..", "1..", "..2", "a..b", "1..b", "1...3", "../x", "1.2", "1. ..2", "1..2:", "1..2:x"]
        {
            assert_eq!(in_range(text), None, "{text}");
        }
    }

    #[test]
    fn ranges_of_nothing_or_of_too_much_are_refused() {
        for text in ["8..1", "1..8:0", "1..8:-1"] {
            assert!(matches!(in_range(text), Some(Err(VaryError::Range { .. }))), "{text}");
        }
        let huge = format!("-{0}..{0}", "9".repeat(18));
        assert!(matches!(in_range(&huge), Some(Err(VaryError::TooMany { .. }))));
        // Beyond what is reckoned with it is a word like others.
        assert_eq!(in_range(&format!("1..{}", "9".repeat(40))), None);
    }
}
