//! The kinds of pages that a region is tried on, one after the other.

use super::builder::Builder;
use super::error::RegionError;
use crate::backing::Backing;
use crate::pages::Pages;
use crate::reason::Reason;

/// Why a region cannot be had on some pages.
pub(super) enum Refusal {
    /// Not these pages; others may do.
    Reason(Reason),
    /// No pages will do.
    Error(RegionError),
}

/// Makes a region on the first kind of pages that can be had. `make` learns the kind, and why it is not the first.
pub(super) fn first_of_chain<R>(
    asked: Builder,
    mut make: impl FnMut(Backing, Option<Reason>) -> Result<R, Refusal>,
) -> Result<R, RegionError> {
    let mut fallback = None;
    let chain = match asked.pages {
        Pages::Plain => &[Backing::Base],
        pages => Backing::chain(pages),
    };
    for &backing in chain {
        match make(backing, fallback) {
            Ok(region) => return Ok(region),
            Err(Refusal::Reason(reason)) => fallback = fallback.or(Some(reason)),
            Err(Refusal::Error(error)) => return Err(error),
        }
    }
    // Every chain ends with a kind that needs no pool.
    Err(RegionError::no_memory(asked.bytes))
}
