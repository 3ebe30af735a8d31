//! Words that several commands understand: kinds of pages, sizes, times, shares.

use firsttouch_experiment::Metric;
use firsttouch_launch::{Budget, parse_budget, parse_metric, parse_share, parse_time};
use firsttouch_measure::Engine;
use firsttouch_placement::{Pages, parse_size};
use std::str::FromStr;
use std::time::Duration;

pub(super) fn pages(text: &str) -> Result<Pages, String> {
    Pages::parse(text).ok_or_else(|| format!("expected one of {}", Pages::WORDS))
}

pub(super) fn size(text: &str) -> Result<u64, String> {
    parse_size(text).ok_or_else(|| "expected a size, for example 65536, 512K, 1.5G".to_owned())
}

pub(super) fn placement_word<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

pub(super) fn engine(text: &str) -> Result<Engine, String> {
    Engine::ALL
        .into_iter()
        .find(|engine| engine.word() == text)
        .ok_or_else(|| format!("expected some of {}", Engine::ALL.map(Engine::word).join(", ")))
}

/// `1%` or `1` as 0.01.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    parse_share(text).ok_or_else(|| "expected a share between 0.05% and 50%, for example 1%".to_owned())
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    parse_time(text).ok_or_else(|| "expected a time, for example 20ms, 90s, 10m, 1h".to_owned())
}

pub(super) fn budget(text: &str) -> Result<Budget, String> {
    parse_budget(text).ok_or_else(|| "expected a time, for example 90s, 10m, 1h, or none".to_owned())
}

pub(super) fn metric(text: &str) -> Result<Metric, String> {
    parse_metric(text).map_err(|error| format!("{error}; {}", error.hint()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_people_write_them() {
        assert_eq!(duration("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        for text in ["", "m", "-1s", "1d", "0", "1e3s", "999999999999999999999h"] {
            assert!(duration(text).is_err() && budget(text).is_err(), "{text}");
        }
        assert_eq!(budget("90s"), Ok(Budget(Some(Duration::from_secs(90)))));
        assert_eq!(budget("none"), Ok(Budget(None)));
    }
}
