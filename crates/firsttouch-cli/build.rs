//! Leaves the names of functions out of the released command: Cargo forgets `strip` of a profile for the package of a program
//! that has settings of its own there.

use std::env;

const STRIP: &str = "CARGO_PROFILE_RELEASE_STRIP";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={STRIP}");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let is_kept = env::var(STRIP).is_ok_and(|strip| ["none", "false"].contains(&strip.as_str()));
    if is_release && !is_kept {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
}
