//! The scheduler and the statistics together, on machines made of random numbers. Nothing here sleeps.

mod best;
mod design;
mod endings;
mod judged;
mod machine;
mod operating;
mod properties;
mod rates;
mod schedule;
#[path = "../../examples/operating/sessions.rs"]
mod sessions;
mod told;
