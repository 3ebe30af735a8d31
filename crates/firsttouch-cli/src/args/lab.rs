//! The words of `lab`.

use super::words::duration;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Run a program on a machine with several memory nodes, booted under emulation
///
/// The program, its libraries and the files its arguments name are copied into the guest; nothing there can change
/// anything here. Its output and exit status come back; 125 is a failure of ours. An emulator shows where pages and
/// threads go, and nothing about speed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch lab --fetch                                            the kernel, once
  firsttouch lab --machine knl-flat -- firsttouch status            what such a machine looks like
  firsttouch lab --machine two-node -- firsttouch run --receipt - -- ./simulate
  firsttouch lab --machine mine.toml --kernel 6.12 --keep -- ./simulate
  firsttouch lab --list                                             the machines there are")]
pub(crate) struct Lab {
    /// A machine of the list, or a file that describes one
    #[arg(long, value_name = "NAME|FILE", default_value = "two-node")]
    pub(crate) machine: String,
    /// Debian's kernel 5.10, 6.1 or 6.12, or a kernel image
    #[arg(long, value_name = "5.10|6.1|6.12|FILE", default_value = "6.1")]
    pub(crate) kernel: String,
    /// Download the kernel into the cache (once; needs apt), and run nothing
    #[arg(long, conflicts_with = "program")]
    pub(crate) fetch: bool,
    /// List the machines
    #[arg(long)]
    pub(crate) list: bool,
    /// Print JSON: how it ended, and what was written
    #[arg(long)]
    pub(crate) json: bool,
    /// Open a shell in the guest when the program has ended
    #[arg(long, conflicts_with = "json")]
    pub(crate) keep: bool,
    /// Stop the guest after this time: 90s, 10m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "120s")]
    pub(crate) timeout: Duration,
    /// Use the processor's virtualisation, where it may be used
    #[arg(long)]
    pub(crate) kvm: bool,
    /// Run all processors of the guest in turns, by one thread: quicker where this machine's are busy, but nothing in the guest
    /// happens at the same time
    #[arg(long, conflicts_with = "kvm")]
    pub(crate) single_thread: bool,
    /// Copy a file or a folder into the guest, to the same path
    #[arg(long, value_name = "PATH")]
    pub(crate) copy_in: Vec<PathBuf>,
    /// Copy a file of the guest to HERE, or into this folder
    #[arg(long, value_name = "FILE[:HERE]")]
    pub(crate) copy_out: Vec<String>,
    /// Set a variable of the program's environment
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Confine the program to these CPUs, as a container does
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,
    /// Confine the program to these memory nodes, as a container does
    #[arg(long, value_name = "LIST")]
    pub(crate) mems: Option<String>,
    /// The program and its arguments; `firsttouch` is this one
    #[arg(required_unless_present_any = ["fetch", "list", "keep"], trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}
