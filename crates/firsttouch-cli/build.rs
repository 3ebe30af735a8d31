//! What the linker does to the released command, so that it stays small.
//!
//! Names of functions are left out: Cargo forgets `strip` of a profile for the package of a program that has settings of its own there. And
//! the addresses that the loader has to adjust, of which there are some thirty thousand, are packed where the loader can unpack them:
//! glibc from 2.36 on, on the machine that compiles, which is where the command needs to run. The linkers of that time can pack
//! (binutils 2.38, LLVM 15).

use std::env;
use std::ffi::{CStr, c_char};

const STRIP: &str = "CARGO_PROFILE_RELEASE_STRIP";

/// The glibc whose loader knows packed relocations.
const PACKING: (u32, u32) = (2, 36);

unsafe extern "C" {
    /// gnu_get_libc_version(3).
    fn gnu_get_libc_version() -> *const c_char;
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={STRIP}");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let is_kept = env::var(STRIP).is_ok_and(|strip| ["none", "false"].contains(&strip.as_str()));
    if is_release && !is_kept {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
    if is_release
        && env::var("HOST") == env::var("TARGET")
        && glibc().is_some_and(|version| version >= PACKING)
    {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of the C library of this machine.
fn glibc() -> Option<(u32, u32)> {
    // SAFETY: the function takes nothing and answers a string that is always there.
    let version = unsafe { CStr::from_ptr(gnu_get_libc_version()) }.to_str().ok()?;
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
