//! What the linker does to the released command, so that it stays small.
//!
//! Names of functions are left out: Cargo forgets `strip` of a profile for the package of a program that has settings of its own there. And
//! the addresses that the loader has to adjust, of which there are some thirty thousand, are packed where the loader can unpack them:
//! glibc from 2.36 on, on the machine that compiles, which is where the command needs to run. The linkers of that time can pack
//! (binutils 2.38, LLVM 15). Functions of the same instructions are kept once by linkers that can do so (LLD, which Rust brings from
//! 1.90 on for x86-64; GNU ld can not): generic code of several types often is the same.

use std::env;
use std::ffi::{CStr, c_char};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Rust promises no two functions different addresses, so that nothing may compare them.
const FOLD: &str = "-Wl,--icf=all";
/// The same for constants of the same bytes, tables of functions for one, and so for more functions. Nothing here compares addresses of
/// constants either; what can be written to stays apart.
const FOLD_DATA: &str = "-Wl,--ignore-data-address-equality";
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
    for fold in [FOLD, FOLD_DATA] {
        if is_release && links(fold) {
            println!("cargo::rustc-link-arg-bins={fold}");
        }
    }
}

/// Whether the linker, with the flags that the command will be linked with, takes this option: tried with a program that does
/// nothing.
fn links(option: &str) -> bool {
    let [Some(rustc), Some(target), Some(folder)] = ["RUSTC", "TARGET", "OUT_DIR"].map(env::var_os) else {
        return false;
    };
    let source = Path::new(&folder).join("empty.rs");
    if fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let mut trial = Command::new(rustc);
    trial.arg("--edition=2024").arg("--target").arg(target).arg("--out-dir").arg(&folder);
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    trial.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut word = std::ffi::OsString::from("linker=");
        word.push(linker);
        trial.arg("-C").arg(word);
    }
    trial.arg("-C").arg(format!("link-arg={option}")).arg(&source);
    trial.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The version of the C library of this machine.
fn glibc() -> Option<(u32, u32)> {
    // SAFETY: the function takes nothing and answers a string that is always there.
    let version = unsafe { CStr::from_ptr(gnu_get_libc_version()) }.to_str().ok()?;
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
