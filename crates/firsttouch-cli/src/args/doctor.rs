//! The options of `doctor`.

use super::ExportDocument;
use super::words::{duration, percent};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Tell what is wrong with this machine or with many, what that does, and what mends it
///
/// Looks at huge pages and pools, limits, reclaim and balancing, CPUs and interrupts, nodes and modules, devices and
/// links, containers, daemons, permissions and known defects of the kernel. Nothing is changed. What is found is no
/// failure: the exit code is 0 without `--strict`.
///
/// With --hosts, --slurm or --mpi the same is done on every host, and what is not the same on all of them is told with what most
/// have and who differs, which of them are slow, and of which there is no document.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch doctor
  firsttouch doctor --profile database            as a server of databases needs it
  firsttouch doctor --profile mine.toml --strict  exit code 3 where something weighs more than a remark
  firsttouch doctor --json | jq '.hosts[].findings[].id'
  firsttouch doctor --root recorded/              a machine recorded as copies of its /proc and /sys
  firsttouch doctor --machine recorded.tar.xz     the same in an archive; or XML of hwloc
  firsttouch doctor --hosts 'n[01-16],login'      by ssh, many at once
  firsttouch doctor --hosts hosts.txt --ssh 'ssh -p 2222 -l admin' --export-html hosts.html
  firsttouch doctor --slurm --measure             the nodes of this job, or of the cluster
  firsttouch doctor --mpi='mpirun --hostfile hosts.txt'
  firsttouch doctor --merge n*.json               documents of doctor, measure and bench that there are")]
pub(crate) struct Doctor {
    /// What the machine is for: hpc, database, data-science, low-latency, container, or a TOML file that weighs findings
    /// and expects values
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) profile: Option<String>,
    /// The text of such a file: what is handed to other hosts
    #[arg(long, value_name = "TOML", hide = true, conflicts_with = "profile")]
    pub(crate) profile_text: Option<String>,
    /// Measure bandwidth and latency of memory and how fast pages are created, of each node too where there are several, and
    /// hold them against what the profile expects, against --against, and against the other nodes
    #[arg(long, group = "values", conflicts_with_all = ["root", "machine"])]
    pub(crate) measure: bool,
    /// What this machine measured earlier, or what others did: documents of `doctor --measure --json`. A host that has its name in them
    /// is held against that, all others against the median of all
    #[arg(long, value_name = "FILE", requires = "values")]
    pub(crate) against: Vec<PathBuf>,
    /// How much worse than expected is no finding yet, and how much slower than the other hosts no outlier
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = percent)]
    pub(crate) tolerance: f64,
    #[command(flatten)]
    pub(crate) export: ExportDocument,
    /// End with exit code 3 when a finding weighs more than a remark; of several hosts also when they differ, one is slow or missing
    #[arg(long)]
    pub(crate) strict: bool,
    /// Read proc/ and sys/ below DIR
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// Look at another machine, as `status --machine` names it
    #[arg(long, value_name = "FILE|DESCRIPTION", conflicts_with = "root")]
    pub(crate) machine: Option<String>,
    /// Look at these hosts: a file with one a line (`-`: standard input), or a list: `a,b,n[01-16]`. By ssh, unless --slurm or --mpi says otherwise
    #[arg(long, value_name = "FILE|LIST", conflicts_with_all = ["root", "machine"])]
    pub(crate) hosts: Option<String>,
    /// By srun: on --hosts, or else on the nodes of this job, or else of the cluster. SRUN is the command, with options of yours
    #[arg(long, value_name = "SRUN", num_args = 0..=1, require_equals = true, default_missing_value = "srun", conflicts_with_all = ["root", "machine", "mpi"])]
    pub(crate) slurm: Option<String>,
    /// By mpirun: on --hosts, or else where mpirun starts something. MPIRUN is the command, with options of yours
    #[arg(long, value_name = "MPIRUN", num_args = 0..=1, require_equals = true, default_missing_value = "mpirun", conflicts_with_all = ["root", "machine"])]
    pub(crate) mpi: Option<String>,
    /// The command that reaches a host, with options of yours; `-o BatchMode=yes` comes after them
    #[arg(long, value_name = "SSH", default_value = "ssh", requires = "hosts", conflicts_with_all = ["slurm", "mpi"])]
    pub(crate) ssh: String,
    /// The command on those hosts
    #[arg(long, value_name = "COMMAND", default_value = "firsttouch")]
    pub(crate) remote: String,
    /// At most N hosts at once
    #[arg(long, value_name = "N", default_value = "32", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) at_once: u16,
    /// A host that has not answered by then is told as missing [default: 1m, with --measure 15m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) host_limit: Option<Duration>,
    /// Put documents together: of `doctor`, of `measure` and of `bench`, the latter of the hosts after which their files are named
    #[arg(long, value_name = "FILE", num_args = 1.., group = "values", conflicts_with_all = ["profile", "measure", "root", "machine", "hosts", "slurm", "mpi"])]
    pub(crate) merge: Vec<PathBuf>,
}
