//! The scheduler and the statistics together, on machines made of random numbers. Nothing here sleeps.

mod design;
mod endings;
mod machine;
mod properties;
mod rates;
mod schedule;
mod ties;
