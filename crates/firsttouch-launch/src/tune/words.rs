//! Shares and times as people write them.

use std::time::Duration;

/// The most time that a session may take; `None` for as long as it takes to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(pub Option<Duration>);

impl Default for Budget {
    /// Ten minutes.
    fn default() -> Budget {
        Budget(Some(Duration::from_secs(600)))
    }
}

/// `none`, or a time as in [`parse_time`].
pub fn parse_budget(text: &str) -> Option<Budget> {
    match text {
        "none" => Some(Budget(None)),
        _ => parse_time(text).map(|time| Budget(Some(time))),
    }
}

/// `1%` or `1` as 0.01; `None` for what is no share between 0.05 % and 50 %.
pub fn parse_share(text: &str) -> Option<f64> {
    let percent = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok()?;
    (0.05..=50.0).contains(&percent).then_some(percent / 100.0)
}

/// `20ms`, `90s`, `10m`, `1h`; without a unit seconds. `None` for what is no time above nothing.
pub fn parse_time(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_s = match unit.trim() {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let time = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * unit_s).ok()?;
    (!time.is_zero()).then_some(time)
}
