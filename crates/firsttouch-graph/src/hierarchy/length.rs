//! Lengths of 32 and of 64 bits.

use bytemuck::Pod;
use std::fmt::Debug;

/// A length, or that there is none. Two of them can be added without a look at whether they exist.
pub(super) trait Length: Pod + Ord + Debug + Default + Send + Sync + 'static {
    /// No path: at most half of what the type holds, so that the sum of two is not less.
    const NONE: Self;
    /// Sums of two lengths below this are lengths.
    const SAFE: Self;
    /// Sums up to this do not run over, nor are they the sum of a missing length and others.
    const HOLDS: u64;

    fn of(weight: u64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn wide(self) -> u64;
}

impl Length for u32 {
    const NONE: u32 = u32::MAX / 2;
    const SAFE: u32 = u32::MAX / 4;
    const HOLDS: u64 = u32::NONE as u64 - 1;

    fn of(weight: u64) -> u32 {
        u32::try_from(weight).map_or(u32::NONE, |weight| weight.min(u32::NONE))
    }

    fn plus(self, other: u32) -> u32 {
        self + other
    }

    fn wide(self) -> u64 {
        u64::from(self)
    }
}

impl Length for u64 {
    // The sign bit stays free: AVX2 compares signed numbers only.
    const NONE: u64 = u64::MAX / 4;
    const SAFE: u64 = u64::MAX / 8;
    const HOLDS: u64 = u64::NONE - 1;

    fn of(weight: u64) -> u64 {
        weight.min(u64::NONE)
    }

    fn plus(self, other: u64) -> u64 {
        self + other
    }

    fn wide(self) -> u64 {
        self
    }
}
