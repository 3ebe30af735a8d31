//! Numbers as people read them. A value that is not finite is shown as unknown.

use firsttouch_experiment::Ratio;
use firsttouch_placement::format_bytes;

/// What stands where nothing is known.
pub(crate) const UNKNOWN: &str = "—";

/// A value with that many significant digits, without exponent unless it is enormous.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-6..1e9).contains(&value.abs()) {
        return format!("{value:.*e}", digits.saturating_sub(1));
    }
    format!("{value:.*}", decimals_for(value, digits))
}

/// Decimals that show that many significant digits of the value.
fn decimals_for(value: f64, digits: usize) -> usize {
    if !value.is_normal() {
        return 0;
    }
    let exponent = value.abs().log10().floor() as i32;
    // 9.996 with three digits is 10.0, not 10.00.
    let rounded_up = value.abs() * 10f64.powi(-exponent) + 0.5 * 10f64.powi(1 - digits as i32) >= 10.0;
    (digits as i32 - 1 - exponent - i32::from(rounded_up)).clamp(0, 12) as usize
}

/// A duration: `12.3 s`, `351 ms`, `42.0 µs`, `17.5 ns`.
pub fn seconds(value: f64) -> String {
    let (unit, factor) = unit_of(value);
    if value.is_finite() { format!("{} {unit}", significant(value * factor, 3)) } else { UNKNOWN.to_owned() }
}

/// A time that may be long: `12.3 s`, `2 min 5 s`, `3 h 7 min`.
pub fn span(value_s: f64) -> String {
    match value_s.round() {
        s if !(100.0..1e12).contains(&s) => seconds(value_s),
        s if s < 3600.0 => format!("{} min {} s", s as u64 / 60, s as u64 % 60),
        s => format!("{} h {} min", s as u64 / 3600, s as u64 / 60 % 60),
    }
}

fn unit_of(value_s: f64) -> (&'static str, f64) {
    match value_s.abs() {
        s if s >= 1.0 || s == 0.0 => ("s", 1.0),
        s if s >= 1e-3 => ("ms", 1e3),
        s if s >= 1e-6 => ("µs", 1e6),
        _ => ("ns", 1e9),
    }
}

/// A mean with the half-width of its interval in one unit: `3.512 ± 0.045 s`.
pub(crate) fn mean_seconds(mean: f64, half_width: Option<f64>) -> String {
    match half_width.filter(|half| half.is_finite()) {
        Some(half) if mean.abs() < 1e9 => {
            let (unit, factor) = unit_of(mean);
            let decimals = if half > 0.0 {
                decimals_for(half * factor, 2).min(4)
            } else {
                decimals_for(mean * factor, 3)
            };
            format!("{:.decimals$} ± {:.decimals$} {unit}", mean * factor, half * factor)
        }
        _ => seconds(mean),
    }
}

/// The same of bytes: `813 ± 12 MiB`.
pub(crate) fn mean_bytes(mean: f64, half_width: Option<f64>) -> String {
    const UNITS: [(&str, f64); 4] =
        [("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0), ("KiB", 1024.0), ("B", 1.0)];
    let (unit, size) = UNITS.into_iter().find(|(_, size)| mean >= *size).unwrap_or(UNITS[3]);
    match half_width.filter(|half| half.is_finite()) {
        Some(half) if mean.is_finite() => {
            let decimals = if half > 0.0 {
                decimals_for(half / size, 2).min(decimals_for(mean / size, 4))
            } else {
                decimals_for(mean / size, 3)
            };
            format!("{:.decimals$} ± {:.decimals$} {unit}", mean / size, half / size)
        }
        _ => bytes(mean),
    }
}

/// The same of what has no unit, or is counted: `0.082 ± 0.053`, `1.20G ± 3.40M`.
pub(crate) fn mean_number(mean: f64, half_width: f64) -> String {
    if mean.abs() >= 1e6 || half_width.abs() >= 1e6 {
        return format!("{} ± {}", count(mean), count(half_width));
    }
    let decimals = if half_width > 0.0 { decimals_for(half_width, 2) } else { decimals_for(mean, 4) };
    format!("{mean:.decimals$} ± {half_width:.decimals$}")
}

/// A factor: `2.85`, `12.4`, `120`; three decimals where two would say nothing ([`ratio_words`]).
pub(crate) fn times(value: f64, fine: bool) -> String {
    match value {
        v if !v.is_finite() => UNKNOWN.to_owned(),
        v if v >= 1e6 => format!("{v:.0e}"),
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v if fine => format!("{v:.3}"),
        v if v >= 0.0995 => format!("{v:.2}"),
        v => significant(v, 2),
    }
}

/// The three numbers of a ratio, at one precision: a finer one where the ratio hugs 1, or an end would be shown as 1 and is not.
pub(crate) fn ratio_words(ratio: &Ratio) -> (String, String, String) {
    let hugs = [ratio.value, ratio.low, ratio.high].iter().all(|v| (0.9..1.1).contains(v));
    let fine = hugs || [ratio.low, ratio.high].iter().any(|&v| v != 1.0 && times(v, false) == "1.00");
    (times(ratio.value, fine), times(ratio.low, fine), times(ratio.high, fine))
}

/// `2.85 [2.79, 2.91]`.
pub(crate) fn ratio(ratio: &Ratio) -> String {
    let (value, low, high) = ratio_words(ratio);
    format!("{value} [{low}, {high}]")
}

/// A share in whole per cent; never rounded up to all nor down to nothing.
pub(crate) fn percent(share: f64) -> String {
    match share {
        s if !s.is_finite() => UNKNOWN.to_owned(),
        s if s <= 0.0 => "0 %".to_owned(),
        s if s < 0.01 => "<1 %".to_owned(),
        s if s >= 1.0 => "100 %".to_owned(),
        s => format!("{:.0} %", (s * 100.0).round().min(99.0)),
    }
}

/// A count or a mean of counts: exact while short, then `104k`, `1.20M`, `3.40G`.
pub(crate) fn count(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => UNKNOWN.to_owned(),
        v if v < 10.0 && v.fract() != 0.0 => format!("{value:.1}"),
        v if v < 9999.5 => format!("{value:.0}"),
        v if v < 999.5e3 => format!("{}k", significant(value / 1e3, 3)),
        v if v < 999.5e6 => format!("{}M", significant(value / 1e6, 3)),
        v if v < 999.5e9 => format!("{}G", significant(value / 1e9, 3)),
        _ => significant(value, 3),
    }
}

/// `1 run`, `2 runs`.
pub(crate) fn plural(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Bytes that may be a mean.
pub(crate) fn bytes(value: f64) -> String {
    if value.is_finite() { format_bytes(value as u64) } else { UNKNOWN.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_digits_survive_rounding() {
        for (value, shown) in [
            (9.996, "10.0"),
            (0.04567, "0.0457"),
            (123.4, "123"),
            (0.0, "0"),
            (999.9, "1000"),
            (1e12, "1.00e12"),
        ] {
            assert_eq!(significant(value, 3), shown);
        }
        assert_eq!(significant(f64::NAN, 3), UNKNOWN);
    }

    #[test]
    fn long_times_have_two_units() {
        assert_eq!([12.34, 125.0, 11_220.0].map(span), ["12.3 s", "2 min 5 s", "3 h 7 min"]);
        assert_eq!(span(f64::INFINITY), UNKNOWN);
    }

    #[test]
    fn a_mean_and_its_interval_share_a_unit() {
        assert_eq!(mean_seconds(3.51234, Some(0.04512)), "3.512 ± 0.045 s");
        assert_eq!(mean_seconds(0.3514, Some(0.012)), "351 ± 12 ms");
        assert_eq!(mean_seconds(3.5, Some(0.0)), "3.50 ± 0.00 s");
        assert_eq!(mean_seconds(3.5, None), "3.50 s");
        assert_eq!(mean_seconds(f64::NAN, None), UNKNOWN);
        assert_eq!(mean_number(0.08197, 0.0534), "0.082 ± 0.053");
        assert_eq!(mean_number(2799.4, 168.2), "2799 ± 168");
        assert_eq!(mean_number(1.2e9, 3.4e6), "1.20G ± 3.40M");
        assert_eq!(mean_bytes(852_492_288.0, Some(12_582_912.0)), "813 ± 12 MiB");
        assert_eq!(mean_bytes(1536.0, Some(0.0)), "1.50 ± 0.00 KiB");
        assert_eq!(
            (mean_bytes(2048.0, None).as_str(), mean_bytes(f64::NAN, Some(1.0)).as_str()),
            ("2 KiB", UNKNOWN)
        );
    }

    #[test]
    fn a_ratio_near_one_gets_a_third_decimal() {
        assert_eq!(ratio(&Ratio { value: 2.849, low: 2.791, high: 2.912 }), "2.85 [2.79, 2.91]");
        assert_eq!(ratio(&Ratio { value: 1.0041, low: 0.9987, high: 1.0102 }), "1.004 [0.999, 1.010]");
        assert_eq!(ratio(&Ratio { value: 120.4, low: 1.0, high: f64::INFINITY }), "120 [1.00, —]");
        assert_eq!(ratio(&Ratio { value: 1.053, low: 1.0017, high: 1.108 }), "1.053 [1.002, 1.108]");
    }

    #[test]
    fn shares_are_not_rounded_into_certainty() {
        assert_eq!(percent(0.9999), "99 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.0001), "<1 %");
    }

    #[test]
    fn counts_stay_short() {
        assert_eq!(count(9999.0), "9999");
        assert_eq!(count(104_123.0), "104k");
        assert_eq!(count(1_204_000.0), "1.20M");
        assert_eq!(count(3.5), "3.5");
    }
}
