//! What an engine costs, learnt from what it does: a fixed part, and one for each byte.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Work of so many bytes tells of the rate; less tells of what comes with every piece of work.
const LARGE: usize = 256 << 10;
/// What is new counts for so much: what was long ago is forgotten, because machines change their speed by the minute.
const WEIGHT: f64 = 0.125;

/// A cost model that follows what is seen. Shared by threads; a lost update costs nothing but time.
#[derive(Debug, Default)]
pub struct Cost {
    /// Nanoseconds, as bits of a number; 0 is not known yet.
    fixed_ns: AtomicU64,
    /// Nanoseconds of a byte, as above.
    ns_per_byte: AtomicU64,
}

impl Cost {
    /// Nothing is known.
    pub const fn new() -> Cost {
        Cost { fixed_ns: AtomicU64::new(0), ns_per_byte: AtomicU64::new(0) }
    }

    /// So many bytes took so long.
    pub fn learn(&self, bytes: usize, time: Duration) {
        let ns = time.as_nanos() as f64;
        if bytes >= LARGE {
            let seen = (ns - get(&self.fixed_ns)).max(ns / 2.0) / bytes as f64;
            follow(&self.ns_per_byte, seen);
        } else if bytes > 0 {
            follow(&self.fixed_ns, (ns - bytes as f64 * get(&self.ns_per_byte)).max(1.0));
        }
    }

    /// Nanoseconds that it takes, by what was seen; `None` before anything was.
    pub fn predict_ns(&self, bytes: usize) -> Option<f64> {
        let rate = get(&self.ns_per_byte);
        (rate > 0.0).then(|| get(&self.fixed_ns) + bytes as f64 * rate)
    }

    /// Bytes per second for much work; `None` before there was any.
    pub fn bytes_per_s(&self) -> Option<f64> {
        let rate = get(&self.ns_per_byte);
        (rate > 0.0).then(|| 1e9 / rate)
    }
}

fn get(number: &AtomicU64) -> f64 {
    f64::from_bits(number.load(Ordering::Relaxed))
}

fn follow(number: &AtomicU64, seen: f64) {
    let old = get(number);
    let new = if old == 0.0 { seen } else { old + WEIGHT * (seen - old) };
    number.store(new.to_bits(), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parts_are_found_and_followed() {
        let cost = Cost::new();
        assert_eq!((cost.predict_ns(1), cost.bytes_per_s()), (None, None));
        let engine = |fixed: f64, per_byte: f64| {
            for round in 0..200 {
                let bytes = if round % 2 == 0 { 4096 } else { 4 << 20 };
                cost.learn(bytes, Duration::from_nanos((fixed + bytes as f64 * per_byte) as u64));
            }
        };
        engine(5000.0, 0.05);
        let seen = cost.predict_ns(2 << 20).unwrap();
        let right = 5000.0 + f64::from(2 << 20) * 0.05;
        assert!((seen / right - 1.0).abs() < 0.02, "{seen} for {right}");
        // The machine becomes three times as slow.
        engine(5000.0, 0.15);
        assert!((cost.bytes_per_s().unwrap() * 0.15 / 1e9 - 1.0).abs() < 0.05, "{cost:?}");
    }
}
