//! What a placement means on this machine: which nodes and CPUs the kernel is told.

use crate::measure;
use firsttouch_linux::cpulist::parse_list;
use firsttouch_linux::features;
use firsttouch_linux::sysinfo::status_field;
use firsttouch_machine::{Machine, MachineError, Measurement, NearError, Root};
use firsttouch_placement::{MemoryPolicy, Placement, Policies, ResolveError, Resolved, Surroundings};
use firsttouch_process::{CpuBits, Inheritance, NodeBits};

/// A placement that this machine cannot give.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotHere {
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error(transparent)]
    Near(#[from] NearError),
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}

impl NotHere {
    /// The line that mends it.
    pub(crate) fn hint(&self) -> String {
        match self {
            NotHere::Machine(_) => "mount -t proc proc /proc; mount -t sysfs sysfs /sys".to_owned(),
            NotHere::Near(error) => error.hint().to_owned(),
            NotHere::Resolve(error) => error.hint(),
        }
    }
}

/// The machine we are on, as far as placements depend on it.
#[derive(Debug)]
pub(crate) struct Here {
    machine: Machine,
    measured: Option<Measurement>,
}

impl Here {
    pub(crate) fn read() -> Result<Here, NotHere> {
        Ok(Here::on(Machine::read(&Root::live())?))
    }

    pub(crate) fn on(machine: Machine) -> Here {
        // A file that does not read is as good as none: `firsttouch measure` says what is wrong with it.
        let measured =
            measure::kept_file().and_then(|file| Measurement::load(&file, &machine).ok().flatten());
        Here { machine, measured }
    }

    /// For what is done to another process: our own affinity and cpuset mean nothing for it. The nodes it may use are in its
    /// status; within its CPUs the kernel keeps it, and what that leaves of a wish is read back.
    pub(crate) fn for_process(mut self, pid: u32) -> Here {
        let status = Root::live().read(&format!("proc/{pid}/status")).ok().flatten();
        let nodes = status.as_deref().and_then(|text| parse_list(status_field(text, "Mems_allowed_list")?));
        let limits = &mut self.machine.limits;
        limits.allowed_nodes = nodes;
        (limits.allowed_cpus, limits.cpuset_cpus, limits.cpuset_mems) = (None, None, None);
        self
    }

    /// The machine.
    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What `firsttouch measure` found on it.
    pub(crate) fn measured(&self) -> Option<&Measurement> {
        self.measured.as_ref()
    }

    /// Whether `firsttouch measure` ran on this machine.
    pub(crate) fn is_measured(&self) -> bool {
        self.measured.is_some()
    }

    /// What `asked` means here.
    pub(crate) fn resolve(&self, asked: &Placement) -> Result<Resolved, NotHere> {
        let near = match &asked.near {
            Some(device) => Some(self.machine.near(&Root::live(), device)?),
            None => None,
        };
        let mut resolved = asked.resolve(&Surroundings {
            machine: &self.machine,
            near: near.as_ref(),
            measured: self.measured.as_ref(),
            kernel: policies(asked),
        })?;
        resolved.notes.extend(near.iter().map(ToString::to_string));
        Ok(resolved)
    }
}

/// What `asked` means on this machine, which is looked at only if something depends on it.
pub(crate) fn resolve(asked: &Placement) -> Result<Resolved, NotHere> {
    if asked.needs_resolving() { Here::read()?.resolve(asked) } else { Ok(Resolved::default()) }
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
    // Numbers beyond what the sets hold were refused when the placement was resolved.
    let nodes = |nodes: &[u32]| NodeBits::of(nodes).unwrap_or(NodeBits::EMPTY);
    Inheritance {
        memory: resolved.memory.as_ref().map(|(mode, list)| (*mode, nodes(list))),
        cpus: CpuBits::of(&resolved.cpus).filter(|cpus| !cpus.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_here_is_what_a_program_inherits() {
        let resolved = resolve(&"thp".parse().unwrap()).unwrap();
        assert_eq!((inheritance(&resolved), resolved), (Inheritance::default(), Resolved::default()));
        let here = Here::read().unwrap();
        let Some(node) = here.machine.nodes.iter().find(|node| node.is_ordinary()) else { return };
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
