//! Distances of one node, from all sources of a sweep.

use super::length::Length;

/// Sources that are swept at once.
pub(super) const LANES: usize = 32;

/// The distances of one node from all sources of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(super) struct Row<T>(pub(super) [T; LANES]);

impl<T: Length> Row<T> {
    pub(super) const NONE: Row<T> = Row([T::NONE; LANES]);
}
