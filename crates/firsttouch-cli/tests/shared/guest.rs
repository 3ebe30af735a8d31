//! A machine of the lab and a kernel, ready to boot: what the tests that run in guests stand on.

use crate::runner::Skip;
use firsttouch_lab::{Acceleration, Description, Kernel, KernelStore, Lab, LabError, Qemu, Release};
use std::env;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The slowest machine, on a busy host.
const LIMIT: Duration = Duration::from_secs(1200);

/// What is booted. Tests that agree on it share the boot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Setting {
    pub(crate) machine: &'static str,
    pub(crate) newer: bool,
    /// Plugged memory stays as it was plugged.
    pub(crate) left_offline: bool,
}

impl Setting {
    /// A built-in machine with the older kernel.
    pub(crate) fn of(machine: &'static str) -> Setting {
        Setting { machine, newer: false, left_offline: false }
    }

    /// The newer kernel: weighted interleaving, tiers from the speed tables.
    pub(crate) fn newer(mut self) -> Setting {
        self.newer = true;
        self
    }

    pub(crate) fn release(&self) -> Release {
        if self.newer { Release::V6_12 } else { Release::V6_1 }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with Linux {}", self.machine, self.release())?;
        if self.left_offline { f.write_str(", plugged memory left offline") } else { Ok(()) }
    }
}

/// The machine and the lab that boots it.
pub(crate) fn ready(setting: &Setting) -> Result<(Description, Lab), Skip> {
    let mut machine = Description::named(setting.machine).unwrap();
    // Pages that the kernel watches for balancing are hidden from move_pages(2) in Linux 6.1, and it may move them: both
    // would be seen now and then only, in programs that happen to run for seconds.
    machine.kernel_options = format!("{} numa_balancing=disable", machine.kernel_options);
    if setting.left_offline {
        machine.nodes.iter_mut().for_each(|node| node.online = false);
    }
    let path = env::var_os("PATH");
    let qemu = Qemu::find(path.as_deref(), Acceleration::Software).map_err(|error| skip(&error))?;
    let kernel = kernel(setting.release())?;
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let lab = Lab::new(machine.clone(), kernel, qemu, own).path(path.unwrap_or_default()).limit(LIMIT);
    Ok((machine, lab))
}

fn skip(error: &LabError) -> Skip {
    Skip(format!("{error}; {}", error.hint().unwrap_or_default()))
}

fn kernel(release: Release) -> Result<Kernel, Skip> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let Some(cache) = cache else { return Err(Skip("neither XDG_CACHE_HOME nor HOME is set".to_owned())) };
    KernelStore::at(cache.join("firsttouch/lab")).find(release).map_err(|error| skip(&error))
}
