//! Changing the settings of a machine that decide over memory, and taking it back: pools of huge pages, transparent ones, limits,
//! the kernel's command line.
//!
//! - A plan is data: what is changed, what is there now, what it becomes, why, and the command that does the same. [`plan`] makes
//!   it of words and of a machine, and changes nothing.
//! - [`Session`] makes the changes and reads back what was obtained; [`Session::undo`] restores what was there.
//!
//! Architecture invariants: what was there before a change is in the journal, on the disk, before the change is made, so that
//! whoever is killed at any moment is mended by the next session ([`Session::open`]). All of it goes through a root path, so that
//! tests change a written machine. This crate never prints, never exits and never reads the environment.

#![forbid(unsafe_code)]

mod asked;
mod boot;
mod draft;
mod error;
mod history;
mod limits;
mod lines;
mod needs;
mod pages;
mod plan;
mod rivals;
mod session;
mod site;
mod texts;
mod thp;

pub use asked::{Asked, Topic};
pub use error::SetupError;
pub use history::{SetupHistory, journal_path};
pub use plan::plan;
pub use session::{Session, listed};
pub use site::Site;
