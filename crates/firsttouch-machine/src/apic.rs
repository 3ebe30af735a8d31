//! The APIC ids of the live machine, asked of each CPU.

use crate::Machine;
use crate::apic_ids::{ApicIds, ApicStep, Unanswered};
use firsttouch_linux::apic;
use std::io;

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
