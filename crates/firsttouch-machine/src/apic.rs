//! The APIC ids of the live machine, asked of each CPU.

use crate::Machine;
use firsttouch_linux::apic;
use serde::Serialize;
use std::io;

/// What the processor says of the ids of its CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApicIds {
    /// The CPUID leaf that told them: 31 (0x1f), 11 (0x0b) or 1.
    pub leaf: u32,
    /// The steps in the bits, from the threads of a core up.
    pub levels: Vec<ApicStep>,
    /// CPUs that could not be asked, and the kernel's answer.
    pub unanswered: Vec<Unanswered>,
}

/// One step in the bits of an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApicStep {
    /// `thread`, `core`, `module`, `tile`, `die` or `die-group`.
    pub name: String,
    /// The id shifted right by this many bits is the number of the next larger thing; beyond the last step that is
    /// the package.
    pub shift: u32,
}

/// A CPU that could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unanswered {
    /// The CPU.
    pub cpu: u32,
    /// The kernel's answer.
    pub answer: String,
}

impl Machine {
    /// Goes to each CPU that is online, asks for its APIC id and writes it into `cpus`. Of use on the live machine
    /// only: the answers are those of the processor that runs this.
    pub fn ask_apic_ids(&mut self) -> io::Result<()> {
        let online: Vec<u32> = self.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
        let mut ids = ApicIds { leaf: 0, levels: Vec::new(), unanswered: Vec::new() };
        for (cpu, answer) in apic::read(&online)? {
            match answer {
                Ok(apic) => {
                    ids.leaf = apic.leaf;
                    // Kinds of cores in one processor may differ in their threads; the widest field holds for all.
                    if apic.levels.len() >= ids.levels.len() {
                        ids.levels = apic.levels.iter().map(step).collect();
                    }
                    if let Some(own) = self.cpus.iter_mut().find(|own| own.id == cpu) {
                        own.apic_id = Some(apic.id);
                    }
                }
                Err(error) => ids.unanswered.push(Unanswered { cpu, answer: error.to_string() }),
            }
        }
        self.apic = Some(ids);
        Ok(())
    }
}

fn step(level: &apic::ApicLevel) -> ApicStep {
    let name = match level.kind {
        1 => "thread",
        2 => "core",
        3 => "module",
        4 => "tile",
        5 => "die",
        6 => "die-group",
        _ => "unknown",
    };
    ApicStep { name: name.to_owned(), shift: level.shift }
}
