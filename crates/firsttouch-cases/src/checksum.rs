//! What a step came to, in one value.

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

#[cfg(test)]
mod tests {
    use super::Checksum::{Exact, Near};

    #[test]
    fn results_agree_within_what_rounding_does() {
        let near = |value| Near { value, within: 1e-12 };
        assert!(Exact(7).agrees(Exact(7)) && !Exact(7).agrees(Exact(8)));
        assert!(near(1.0).agrees(near(1.0 + 1e-13)) && !near(1.0).agrees(near(1.0 + 1e-11)));
        assert!(near(0.0).agrees(near(-0.0)) && near(f64::INFINITY).agrees(near(f64::INFINITY)));
        assert!(!near(f64::NAN).agrees(near(f64::NAN)), "a result that is no number proves nothing");
        assert!(!near(7.0).agrees(Exact(7)));
    }
}
