//! Builds the agent and hands it to the command line, which carries it inside: one binary to copy, and never an
//! agent of another version than the command that sets it up.
//!
//! Cargo cannot yet depend on a `cdylib` artifact, so this calls Cargo once more, with a target directory of its
//! own (the outer build holds the lock of the other one).

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::env;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates whose sources end up in the agent.
const AGENT_CRATES: [&str; 3] = ["firsttouch-preload", "firsttouch-memory", "firsttouch-linux"];

/// Settings of the outer build that must not reach the agent: `cargo clippy` and `cargo miri` replace the
/// compiler, and flags for sanitizers or coverage would put their runtime into every program we run.
const OUTER_BUILD: [&str; 7] = [
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTFLAGS",
    "CLIPPY_ARGS",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET",
];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let workspace = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let target = env::var("TARGET")?;
    for name in AGENT_CRATES {
        println!("cargo:rerun-if-changed={}", workspace.join("crates").join(name).display());
    }
    for file in ["Cargo.toml", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={}", workspace.join(file).display());
    }

    let target_dir = out.join("agent");
    let mut cargo = Command::new(env::var("CARGO")?);
    cargo
        .args([
            "build",
            "--profile",
            "agent",
            "-p",
            "firsttouch-preload",
            "--features",
            "freestanding",
            "--locked",
            "--target",
            &target,
        ])
        .arg("--target-dir")
        .arg(&target_dir)
        .arg("--manifest-path")
        .arg(workspace.join("Cargo.toml"));
    for name in OUTER_BUILD {
        cargo.env_remove(name);
    }
    if !cargo.status()?.success() {
        return Err("the agent does not build; see the messages above".into());
    }

    let library = fs::read(target_dir.join(&target).join("agent/libfirsttouch_preload.so"))?;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&library)?;
    fs::write(out.join("libfirsttouch_preload.so.z"), packed.finish()?)?;
    println!("cargo:rustc-env=FIRSTTOUCH_AGENT_HASH={:016x}", fnv(&library));
    println!("cargo:rustc-env=FIRSTTOUCH_AGENT_CRC32={:08x}", crc32fast::hash(&library));
    Ok(())
}

/// FNV-1a: names the version of the agent in its file name.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
