//! What a program inherits from the process that becomes it, and all its threads and children from it: the memory policy
//! and the CPUs. It works for every program, static ones too, because the kernel alone is asked.

use firsttouch_linux::numa::{self, CpuBits, Mode, NodeBits};
use firsttouch_linux::trials;
use std::fmt;

/// Memory policy and CPUs of a program from its first instruction on; `None` leaves what we have ourselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inheritance {
    /// The memory policy.
    ///
    /// Set without `MPOL_F_STATIC_NODES`: programs that ask for their policy (libnuma does) compare the mode with the
    /// plain one, and would take a bound program for an unbound one. The price is that a cpuset which changes while the
    /// program runs moves the nodes by their order in it, as it does with numactl.
    pub memory: Option<(Mode, NodeBits)>,
    /// The CPUs.
    pub cpus: Option<CpuBits>,
}

/// A call that starting a program takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Step {
    /// execve(2).
    Execute = 0,
    /// set_mempolicy(2).
    MemoryPolicy = 1,
    /// sched_setaffinity(2).
    Affinity = 2,
}

impl Step {
    pub(crate) fn of_number(number: i32) -> Step {
        match number {
            1 => Step::MemoryPolicy,
            2 => Step::Affinity,
            _ => Step::Execute,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Execute => "execve",
            Step::MemoryPolicy => "set_mempolicy",
            Step::Affinity => "sched_setaffinity",
        })
    }
}

impl Inheritance {
    /// Sets it for the calling thread; the step that was refused, with the kernel's error number. Async-signal-safe.
    pub(crate) fn apply(&self) -> Result<(), (Step, i32)> {
        if let Some((mode, nodes)) = &self.memory {
            numa::set_policy(*mode, nodes).map_err(|error| (Step::MemoryPolicy, error))?;
        }
        if let Some(cpus) = &self.cpus {
            numa::set_affinity(0, cpus).map_err(|error| (Step::Affinity, error))?;
        }
        Ok(())
    }

    /// The step that a filter of system calls kills who takes it for, if there is one, as one that is refused.
    pub(crate) fn deadly_step(&self) -> Option<(Step, i32)> {
        let is_asked = self.memory.is_some() || self.cpus.is_some();
        if !is_asked || !trials::is_deadly(|| self.apply().map_or_else(|(_, error)| Err(error), |()| Ok(0))) {
            return None;
        }
        let memory = Inheritance { cpus: None, ..*self };
        let is_first = trials::is_deadly(|| memory.apply().map_or_else(|(_, error)| Err(error), |()| Ok(0)));
        Some((if is_first { Step::MemoryPolicy } else { Step::Affinity }, libc::EPERM))
    }
}
