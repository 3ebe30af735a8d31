//! The statistics: pure functions over slices of numbers.
//!
//! None of them panics or returns NaN for finite samples; what cannot be known from so few values is `None`.

pub mod association;
pub mod best;
pub mod closure;
pub mod contrast;
pub mod dependence;
pub mod dip;
pub mod drift;
pub mod forecast;
pub mod layout;
pub mod sample;
pub mod sessions;
pub mod slow_runs;
pub mod student;
pub mod unpaired;
