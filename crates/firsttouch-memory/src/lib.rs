//! The memory core: placed blocks of memory, what they got, and why not more.

#![no_std]

#[cfg(test)]
extern crate std;

mod pages;
mod reason;

pub use pages::{BASE, GIGANTIC, HUGE, Pages};
pub use reason::Reason;
