//! A machine of the lab and a kernel, by name.

use crate::guest;
use crate::runner::Skip;
use firsttouch_lab::{Acceleration, Description, Lab, Release};
use std::fmt;

/// What is booted. Tests that agree on it share the boot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Setting {
    pub(crate) machine: &'static str,
    pub(crate) release: Release,
    /// Plugged memory stays as it was plugged.
    pub(crate) left_offline: bool,
}

impl Setting {
    /// A built-in machine with the kernel that `lab` boots unless it is told otherwise.
    pub(crate) fn of(machine: &'static str) -> Setting {
        Setting { machine, release: Release::default(), left_offline: false }
    }

    /// The newer kernel: weighted interleaving, tiers from the speed tables.
    pub(crate) fn newer(self) -> Setting {
        Setting { release: Release::V6_12, ..self }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with Linux {}", self.machine, self.release)?;
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
    let lab = guest::lab(machine.clone(), setting.release, Acceleration::SingleThread)?;
    Ok((machine, lab))
}
