//! The scheduler and the statistics together, on machines made of random numbers. Nothing here sleeps.

mod best;
mod budget;
mod design;
mod elsewhere;
mod endings;
mod judged;
mod machine;
mod operating;
mod properties;
#[path = "../../examples/operating/random.rs"]
mod random;
mod rates;
mod schedule;
#[path = "../../examples/operating/sessions.rs"]
mod sessions;
#[path = "../../examples/elsewhere/simulated.rs"]
mod simulated;
mod told;
