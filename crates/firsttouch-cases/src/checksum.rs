//! What a step came to, in one value.

use firsttouch_measure::mix;

/// A value by which variants and placements of one case are held against each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Checksum {
    /// The same to the last bit in every variant.
    Exact(u64),
    /// The same but for rounding: variants may add in another order.
    Near {
        /// The value.
        value: f64,
        /// How far apart two may be, as a share of the larger.
        within: f64,
    },
}

impl Checksum {
    /// Of all words of a result: each counts with an odd weight of its own, so that one that is wrong, missing or at another's
    /// place changes it.
    pub(crate) fn of_words(words: impl IntoIterator<Item = u64>) -> Checksum {
        let weighted = (1_u64..).step_by(2).zip(words).map(|(weight, word)| weight.wrapping_mul(word));
        Checksum::Exact(weighted.fold(0, u64::wrapping_add))
    }

    /// Whether two of one case are of the same result.
    pub fn agrees(self, other: Checksum) -> bool {
        match (self, other) {
            (Checksum::Exact(one), Checksum::Exact(other)) => one == other,
            (Checksum::Near { value: one, within }, Checksum::Near { value: other, .. }) => {
                one == other || (one - other).abs() <= within * one.abs().max(other.abs())
            }
            _ => false,
        }
    }
}

/// A sum of all values, each with a weight of its place between 1 and 2: values that are missing, or in each other's places, change
/// it. Each thousand is added by itself, so that rounding stays below a part in 10^13 for values of one sign.
pub(crate) fn weighted_sum(values: impl IntoIterator<Item = f64>) -> f64 {
    weighted_sum_of((0_u64..).zip(values))
}

/// The same of values that are not all there are, each with its place; sums of all parts add up to that of all.
pub(crate) fn weighted_sum_of(values: impl IntoIterator<Item = (u64, f64)>) -> f64 {
    let weight = |place: u64| 1.0 + (mix(place) >> 11) as f64 / (1_u64 << 53) as f64;
    let (mut sum, mut part) = (0.0, 0.0);
    for (place, value) in values {
        if place.is_multiple_of(1024) {
            sum += std::mem::take(&mut part);
        }
        part += value * weight(place);
    }
    sum + part
}

#[cfg(test)]
mod tests {
    use super::Checksum::{self, Exact, Near};
    use super::weighted_sum;

    #[test]
    fn words_count_at_their_places() {
        assert_eq!(Checksum::of_words([5, 7, u64::MAX]), Exact(5 + 3 * 7 - 5));
        assert_ne!(Checksum::of_words([5, 7]), Checksum::of_words([7, 5]));
        assert_ne!(Checksum::of_words([0, 1]), Checksum::of_words([0, 1, 1]));
    }

    #[test]
    fn results_agree_within_what_rounding_does() {
        let near = |value| Near { value, within: 1e-12 };
        assert!(Exact(7).agrees(Exact(7)) && !Exact(7).agrees(Exact(8)));
        assert!(near(1.0).agrees(near(1.0 + 1e-13)) && !near(1.0).agrees(near(1.0 + 1e-11)));
        assert!(near(0.0).agrees(near(-0.0)) && near(f64::INFINITY).agrees(near(f64::INFINITY)));
        assert!(!near(f64::NAN).agrees(near(f64::NAN)), "a result that is no number proves nothing");
        assert!(!near(7.0).agrees(Exact(7)));
    }

    #[test]
    fn a_weighted_sum_knows_every_value_and_its_place() {
        let values: Vec<f64> = (0..5000).map(|place| 1.0 + f64::from(place) / 5000.0).collect();
        let sum = weighted_sum(values.iter().copied());
        let of = |change: &dyn Fn(&mut Vec<f64>)| {
            let mut values = values.clone();
            change(&mut values);
            Near { value: weighted_sum(values.iter().copied()), within: 1e-12 }
        };
        let whole = Near { value: sum, within: 1e-12 };
        assert!(whole.agrees(of(&|_| ())));
        assert!(!whole.agrees(of(&|values| values.swap(7, 4321))));
        assert!(!whole.agrees(of(&|values| values[4999] = 0.0)));
        assert!(!whole.agrees(of(&|values| values[1024] *= 1.0 + 1e-6)));
        assert!((5000.0 * 1.5 * 1.4..5000.0 * 1.5 * 1.6).contains(&sum), "{sum}");
    }
}
