//! Who will override what was asked of a program's memory and threads, told before it runs.
//!
//! Placement fails in silence: a runtime binds its threads itself, a sandbox answers EPERM to a call nobody checks, a
//! mask set three layers above leaves one CPU. [`Evidence::collect`] reads what there is to see, and [`explain`] makes
//! findings of it: what it is, where it is written, what it does to the placement, and the command that mends it.
//!
//! Architecture invariants: [`explain`] is a pure function of its evidence, so every rule is tested on written evidence;
//! nothing is changed, and the program is not started; a rule never guesses: what cannot be seen makes no finding.

#![forbid(unsafe_code)]

mod doctor;
mod evidence;
mod facts;
mod hosts;
mod profile;
mod rules;

pub use doctor::{MachineEvidence, Measurements, catalog, diagnose, hold_against};
pub use evidence::{Evidence, ExplainedProgram, Inherited, Resolution, Wanted};
pub use firsttouch_documents::{Finding, Proof, Weight};
pub use hosts::compare;
pub use profile::{Profile, ProfileError};
pub use rules::explain;
