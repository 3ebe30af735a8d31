//! What a placement means on this machine: which nodes and CPUs the kernel is told.

use crate::environment::caches;
use firsttouch_documents::{MeasurementError, load_measurement};
use firsttouch_linux::cpulist::parse_list;
use firsttouch_linux::features;
use firsttouch_linux::numa;
use firsttouch_linux::sysinfo::status_field;
use firsttouch_machine::{Machine, MachineError, Measurement, Near, NearError, Root, cpuset_of_process};
use firsttouch_placement::{MemoryPolicy, Placement, Policies, RankOf, ResolveError, Resolved, Surroundings};
use firsttouch_process::{CpuBits, Environment, Inheritance};
use std::path::{Path, PathBuf};

/// A placement that this machine cannot give.
#[derive(Debug, thiserror::Error)]
pub enum NotHere {
    /// The machine cannot be read.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// There is no such device.
    #[error(transparent)]
    Near(#[from] NearError),
    /// The machine has no such nodes or CPUs.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}

impl NotHere {
    /// The line that mends it.
    pub fn hint(&self) -> String {
        match self {
            NotHere::Machine(_) => "mount -t proc proc /proc; mount -t sysfs sysfs /sys".to_owned(),
            NotHere::Near(error) => error.hint().to_owned(),
            NotHere::Resolve(error) => error.hint(),
        }
    }
}

/// The machine we are on, as far as placements depend on it.
#[derive(Debug)]
pub struct Here {
    machine: Machine,
    measured: Option<Measurement>,
    unread: Option<MeasurementError>,
}

impl Here {
    /// Reads the machine; `kept` is the file of `firsttouch measure`, if there is one.
    ///
    /// # Errors
    /// Where /proc or /sys are not there.
    pub fn read(kept: Option<&Path>) -> Result<Here, NotHere> {
        Ok(Here::on(Machine::read(&Root::live())?, kept))
    }

    /// This machine, which was read before.
    pub fn on(machine: Machine, kept: Option<&Path>) -> Here {
        // A file that does not read is as good as none: whoever would use it is told by `unread`.
        let (measured, unread) = match kept.map(|file| load_measurement(file, &machine)) {
            None => (None, None),
            Some(Ok(measured)) => (measured, None),
            Some(Err(error)) => (None, Some(error)),
        };
        Here { machine, measured, unread }
    }

    /// For what is done to another process: our own affinity and cpuset mean nothing for it, but its own cpuset does. The nodes it may
    /// use are in its status.
    pub fn for_process(mut self, pid: u32) -> Here {
        let status = Root::live().read(&format!("proc/{pid}/status")).ok().flatten();
        let nodes = status.as_deref().and_then(|text| parse_list(status_field(text, "Mems_allowed_list")?));
        let limits = &mut self.machine.limits;
        limits.allowed_nodes = nodes;
        limits.cpuset_cpus = cpuset_of_process(&Root::live(), pid);
        (limits.allowed_cpus, limits.cpuset_mems) = (None, None);
        self
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What `firsttouch measure` found on it.
    pub fn measured(&self) -> Option<&Measurement> {
        self.measured.as_ref()
    }

    /// Why what `firsttouch measure` kept cannot be used, if it cannot: an older version wrote it, or something else is there.
    pub fn unread(&self) -> Option<&MeasurementError> {
        self.unread.as_ref()
    }

    /// Whether `firsttouch measure` ran on this machine.
    pub fn is_measured(&self) -> bool {
        self.measured.is_some()
    }

    /// What `asked` means here.
    ///
    /// # Errors
    /// Where this machine cannot give it.
    pub fn resolve(&self, asked: &Placement) -> Result<Resolved, NotHere> {
        let mut near = self.near(asked)?;
        if let (2.., Some(devices)) = (near.len(), &asked.near) {
            return Err(ResolveError::SeveralNear { devices: devices.clone() }.into());
        }
        let near = near.pop();
        let mut resolved = asked.resolve(&Surroundings {
            machine: &self.machine,
            near: near.as_ref(),
            measured: self.measured.as_ref(),
            kernel: policies(asked),
        })?;
        resolved.notes.extend(near.iter().map(ToString::to_string));
        Ok(resolved)
    }

    /// The placement of one of several processes on this machine, which may use the CPUs of `masks`, by local rank.
    ///
    /// # Errors
    /// Where this machine cannot give each of them something of its own.
    pub fn of_rank(
        &self,
        asked: &Placement,
        local_rank: usize,
        masks: &[Vec<u32>],
    ) -> Result<Placement, NotHere> {
        const KERNELS_OWN: usize = 0;
        let kernel = Policies { preferred_many: features::preferred_many().is_ok(), ..Policies::default() };
        let has_policy = numa::policy().is_ok_and(|(mode, _)| mode != KERNELS_OWN);
        let near = self.near(asked)?;
        let of = RankOf { local_rank, masks, near: &near, kernel, has_policy };
        Ok(asked.of_rank(&self.machine, &of)?)
    }

    fn near(&self, asked: &Placement) -> Result<Vec<Near>, NearError> {
        asked.near_devices().map(|device| self.machine.near(&Root::live(), device)).collect()
    }
}

/// Where `firsttouch measure` keeps what it found unless somebody names a file; in `environment`, XDG_CACHE_HOME and HOME
/// name the folders of a user. `None` without a home.
pub fn kept_file(environment: &Environment) -> Option<PathBuf> {
    caches(environment).next().map(|cache| cache.join("measured.json"))
}

/// Asks the kernel for what the wish may need.
fn policies(asked: &Placement) -> Policies {
    let prefers = matches!(asked.memory, MemoryPolicy::Prefer(_)) || asked.near.is_some();
    Policies {
        preferred_many: prefers && features::preferred_many().is_ok(),
        weighted_interleave: matches!(asked.memory, MemoryPolicy::Weighted(_))
            && features::weighted_interleave().is_ok(),
    }
}

/// What a program inherits from us so that it is placed as resolved.
pub(crate) fn inheritance(resolved: &Resolved) -> Inheritance {
    Inheritance {
        memory: resolved.memory.of_process(),
        cpus: CpuBits::of(&resolved.cpus).filter(|cpus| !cpus.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_process::NodeBits;

    #[test]
    fn what_is_asked_here_is_what_a_program_inherits() {
        let here = Here::read(None).unwrap();
        let resolved = here.resolve(&"thp".parse().unwrap()).unwrap();
        assert_eq!((inheritance(&resolved), resolved), (Inheritance::default(), Resolved::default()));
        let node = here.machine.nodes.iter().find(|node| node.is_ordinary()).unwrap();
        let asked: Placement = format!("plain,bind={},threads=compact", node.id).parse().unwrap();
        let given = inheritance(&here.resolve(&asked).unwrap());
        assert_eq!(given.memory.map(|(_, nodes)| nodes), NodeBits::of(&[node.id]));
        assert!(given.cpus.unwrap().count() > 0);
        let error = here.resolve(&"plain,bind=999".parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains("no node 999") && error.hint().contains("status"));
        let error = here.resolve(&"plain,near=no-such-device".parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains("no-such-device"), "{error}");
    }
}
