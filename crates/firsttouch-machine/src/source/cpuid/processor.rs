//! What one CPU says of itself and of its place.

use super::caches::{Cached, caches};
use super::leaves::{Kind, Leaves};
use firsttouch_linux::cpuid::Answers;

/// One logical CPU. What it does not answer is `None`.
#[derive(Clone, Debug)]
pub(super) struct Processor {
    /// Its number.
    pub(super) cpu: u32,
    /// Its APIC id.
    pub(super) apic: Option<u32>,
    /// Its package: what is left of the APIC id.
    pub(super) package: Option<u32>,
    /// Its die, numbered within the package.
    pub(super) die: Option<u32>,
    /// Its core, numbered within the package or, in some, within the node.
    pub(super) core: Option<u32>,
    /// Its memory node.
    pub(super) node: Option<u32>,
    /// Its kind of core, in processors that have several.
    pub(super) kind: Option<Kind>,
    /// Its caches.
    pub(super) caches: Vec<Cached>,
    /// The name of the processor.
    pub(super) model: Option<String>,
    /// Whether a hypervisor answered.
    pub(super) virtual_machine: Option<bool>,
}

impl Processor {
    pub(super) fn of(cpu: u32, answers: &Answers) -> Processor {
        let leaves = Leaves::of(answers);
        let place = leaves.place();
        let mut processor = Processor {
            cpu,
            apic: place.map(|place| place.apic),
            package: place.and_then(|place| Some(place.apic >> place.package_shift?)),
            die: place.and_then(|place| place.die),
            core: place.and_then(|place| place.core),
            node: place.and_then(|place| place.node),
            kind: None,
            caches: place.map(|place| caches(&leaves, place)).unwrap_or_default(),
            model: leaves.name(),
            virtual_machine: leaves.get(1, 0).map(|answer| answer.ecx >> 31 == 1),
        };
        processor.kind = leaves.kind(processor.caches.iter().any(|cache| cache.level == 3));
        processor
    }

    /// Leaves what the processor is, and not where it stands.
    pub(super) fn forget_place(&mut self) {
        (self.apic, self.package, self.die, self.core, self.node) = (None, None, None, None, None);
        self.caches.clear();
    }
}
