//! Distances of 32 or 64 bits, alone and shared between threads.

use super::memory;
use crate::rows::UNREACHED;
use bytemuck::Pod;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// An integer that distances are kept in.
pub(crate) trait Distance: Pod + Ord + Debug + Default + Send + Sync + 'static {
    /// Stands for a node that no path has been found to.
    const UNREACHED: Self;
    /// The same, for several threads.
    type Shared: Debug + Sync;

    /// Longer by one arc. Whoever calls has made sure that it fits.
    fn plus(self, weight: u32) -> Self;
    /// The number of its bucket, where buckets are 2^`shift` wide.
    fn bucket(self, shift: u32) -> u64;
    /// The same number, wider.
    fn wide(self) -> u64;
    /// The greatest distance of this width that is no greater than `distance`, and not [`Distance::UNREACHED`].
    fn at_most(distance: u64) -> Self;
    /// The same cells, for several threads while they are borrowed.
    fn share(cells: &mut [Self]) -> &[Self::Shared];
    /// A new cell.
    fn cell() -> Self::Shared;
    /// What a cell holds.
    fn read(cell: &Self::Shared) -> Self;
    /// Writes to a cell.
    fn write(cell: &Self::Shared, distance: Self);
    /// Writes to a cell if it holds more, even while other threads do.
    fn lower(cell: &Self::Shared, distance: Self);
}

macro_rules! distance {
    ($integer:ty, $atomic:ty, $unreached:expr, $share:path) => {
        impl Distance for $integer {
            const UNREACHED: $integer = $unreached;
            type Shared = $atomic;

            #[inline(always)]
            fn plus(self, weight: u32) -> $integer {
                self + <$integer>::from(weight)
            }

            #[inline(always)]
            fn bucket(self, shift: u32) -> u64 {
                u64::from(self) >> shift
            }

            #[inline(always)]
            fn wide(self) -> u64 {
                u64::from(self)
            }

            fn at_most(distance: u64) -> $integer {
                <$integer>::try_from(distance).unwrap_or(<$integer>::MAX).min($unreached - 1)
            }

            fn share(cells: &mut [$integer]) -> &[$atomic] {
                $share(cells)
            }

            fn cell() -> $atomic {
                <$atomic>::new(0)
            }

            #[inline(always)]
            fn read(cell: &$atomic) -> $integer {
                // Whoever needs the last word waits at a barrier: no order is needed here.
                cell.load(Ordering::Relaxed)
            }

            #[inline(always)]
            fn write(cell: &$atomic, distance: $integer) {
                cell.store(distance, Ordering::Relaxed);
            }

            #[inline(always)]
            fn lower(cell: &$atomic, distance: $integer) {
                // Nearly always there is nothing to do, and reading is cheaper than writing.
                if cell.load(Ordering::Relaxed) > distance {
                    cell.fetch_min(distance, Ordering::Relaxed);
                }
            }
        }
    };
}

distance!(u32, AtomicU32, UNREACHED, memory::share_u32);
distance!(u64, AtomicU64, u64::MAX, memory::share_u64);

/// A search in 32 bits came so far that the next distances might not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooFar;

/// Fails if a path of `distance` and one arc more might not fit.
#[inline]
pub(crate) fn fits<D: Distance>(distance: u64, greatest_weight: u32) -> Result<(), TooFar> {
    match distance.checked_add(u64::from(greatest_weight)) {
        Some(sum) if sum < D::UNREACHED.wide() => Ok(()),
        _ => Err(TooFar),
    }
}
