//! The words of `setup`.

use super::words::size;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Set this machine up for memory: pools of huge pages, transparent ones, limits, the kernel's command line; and take it back
///
/// Prints what would be changed: the file, what is there, what it becomes, why, and the command of the shell that does the
/// same. `--apply` makes the changes and reads back what was obtained, `--persist` writes what survives a boot, too, and `--undo` restores
/// what was there. Without a topic it shows what can be taken back. A session that was cut off is taken back by the next one.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch setup pages 2m=4096                   what reserving 8 GiB takes, evenly over nodes
  sudo firsttouch setup pages 2m=8G --apply        the same, done
  sudo firsttouch setup pages 1g=2 --node 1 --apply --persist
  sudo firsttouch setup pages 2m --node 0=1024 --node 1=512 --apply
  firsttouch setup thp madvise thp-defrag=madvise 64k=madvise
  sudo firsttouch setup limits memlock=unlimited --group hpc --apply
  firsttouch setup boot 1g=2 isolcpus=2-7          from the next boot on
  firsttouch setup for lm.toml --memory 8G         what a profile of tune needs
  firsttouch setup                                 what can be taken back
  sudo firsttouch setup thp --undo                 of that topic what it was before
  sudo firsttouch setup --undo                     everything as it was before")]
pub(crate) struct Setup {
    /// What to set up
    #[arg(value_enum)]
    pub(crate) topic: Option<SetupTopic>,
    /// Pages: SIZE=COUNT, or an amount. Thp: a mode, thp-defrag=, shmem-huge=, khugepaged=, SIZE= with a word. Limits: memlock=, as=, stack=, nofile=, nproc=,
    /// max-map-count=, shmmax=, shmall=, overcommit=. Boot: SIZE=COUNT, thp=, isolcpus=. For: the file
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Make the changes
    #[arg(long)]
    pub(crate) apply: bool,
    /// Write what survives a boot, too
    #[arg(long)]
    pub(crate) persist: bool,
    /// Restore what was there before all that was set up, or all of the topic
    #[arg(long, conflicts_with_all = ["apply", "persist"])]
    pub(crate) undo: bool,
    /// Reserve pages on these nodes, or so many on a node: 1, 0-3, hbm, 0=1024 [default: evenly on those with CPUs]
    #[arg(long = "node", value_name = "LIST|NODE=COUNT")]
    pub(crate) nodes: Vec<String>,
    /// Limits of this user, from the next login on; `--group NAME` of a group [default: everybody]
    #[arg(long = "user", value_name = "NAME")]
    pub(crate) users: Vec<String>,
    #[arg(long = "group", value_name = "NAME", hide_short_help = true)]
    pub(crate) groups: Vec<String>,
    /// Limits of a service of systemd, from its next start on
    #[arg(long = "service", value_name = "UNIT")]
    pub(crate) services: Vec<String>,
    /// Limits of a running process, at once: `$$` is the shell that is typed into
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// How much memory the program of the profile places, where that lies on reserved pages
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Memory that has to stay free [default: an eighth, at least 256M]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) rest: Option<u64>,
    /// Reserve pages even where less stays free; restore even what somebody else has changed since
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Set up the machine that is written below DIR
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetupTopic {
    /// Pools of reserved huge pages
    Pages,
    /// Transparent huge pages
    Thp,
    /// Limits of users, groups, services, a process, and of the machine
    Limits,
    /// The kernel's command line
    Boot,
    /// Everything that a profile of `tune` needs
    For,
}
