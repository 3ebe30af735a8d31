//! The answers of one CPU, and what they say of where it stands.
//!
//! Sources: Intel, Software Developer's Manual, volume 2A, CPUID, and volume 3A, 10.9 (topology); AMD, Programmer's Manual, volume 3,
//! appendix E; for its families 10h and 15h the BIOS and Kernel Developer's Guides. Zhaoxin answers as Intel does, Hygon as AMD.

use firsttouch_linux::cpuid::{Answers, Registers};

/// A kind of core, the fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Performance,
    Efficient,
    LowPower,
}

impl Kind {
    /// The word of [`crate::CoreKind`].
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Performance => "performance",
            Kind::Efficient => "efficient",
            Kind::LowPower => "low-power",
        }
    }
}

/// Whose leaves it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maker {
    /// Intel, Zhaoxin, and whoever is not known.
    Intel,
    /// AMD and Hygon.
    Amd,
}

/// The answers of one CPU, as far as it has these leaves.
pub(super) struct Leaves<'a> {
    answers: &'a Answers,
    highest: u32,
    highest_extended: u32,
    pub(super) maker: Maker,
    /// With the extended part.
    pub(super) family: u32,
    pub(super) model: u32,
}

/// Where a CPU stands, by the fields of its APIC id.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) apic: u32,
    /// The id shifted by so many bits is the package.
    pub(super) package_shift: Option<u32>,
    pub(super) die: Option<u32>,
    pub(super) core: Option<u32>,
    pub(super) node: Option<u32>,
}

impl<'a> Leaves<'a> {
    pub(super) fn of(answers: &'a Answers) -> Leaves<'a> {
        const EXTENDED: u32 = 0x8000_0000;
        let first = answers.get(0, 0);
        let extended = answers.get(EXTENDED, 0).map_or(0, |answer| answer.eax);
        let maker = match first.map(|answer| letters(&[answer.ebx, answer.edx, answer.ecx])).as_deref() {
            Some(b"AuthenticAMD" | b"HygonGenuine") => Maker::Amd,
            _ => Maker::Intel,
        };
        let signature = answers.get(1, 0).map_or(0, |answer| answer.eax);
        let family = signature >> 8 & 0xf;
        Leaves {
            answers,
            highest: first.map_or(0, |answer| answer.eax),
            highest_extended: if extended >= EXTENDED { extended } else { 0 },
            maker,
            family: if family == 0xf { family + (signature >> 20 & 0xff) } else { family },
            model: (signature >> 4 & 0xf) | (signature >> 12 & 0xf0),
        }
    }

    /// An answer; `None` where the processor has no such leaf, or was not asked.
    pub(super) fn get(&self, leaf: u32, part: u32) -> Option<Registers> {
        let highest = if leaf >> 31 == 0 { self.highest } else { self.highest_extended };
        if leaf <= highest { self.answers.get(leaf, part) } else { None }
    }

    /// AMD's leaves 0x8000001d and 0x8000001e are there.
    pub(super) fn has_topology_extensions(&self) -> bool {
        self.maker == Maker::Amd && self.get(0x8000_0001, 0).is_some_and(|answer| answer.ecx >> 22 & 1 == 1)
    }

    pub(super) fn place(&self) -> Option<Place> {
        if self.maker == Maker::Intel {
            return self.stepped(&[0x1f, 0x0b]).or_else(|| self.intel_before_steps());
        }
        let stepped = self.stepped(&[0x8000_0026, 0x0b]);
        let extensions = self.get(0x8000_001e, 0).filter(|_| self.has_topology_extensions());
        let mut place = stepped.or_else(|| self.amd_before_steps())?;
        if let Some(answer) = extensions {
            // Family 16h has one node, and the field is reserved.
            place.node = Some(if self.family == 0x16 { 0 } else { answer.ecx & 0xff });
            // Before family 17h the field names a unit of two cores.
            if stepped.is_none() && self.family >= 0x17 {
                (place.apic, place.core) = (answer.eax, Some(answer.ebx & 0xff));
            }
        }
        Some(place)
    }

    /// The fields of the APIC id as the first of these leaves tells them that has any: each part has the kind of a thing, and
    /// how far the id is shifted to the number of the thing that it is in.
    fn stepped(&self, leaves: &[u32]) -> Option<Place> {
        /// As many as fit the APIC id.
        const MOST_STEPS: u32 = 32;
        const AMD_DIE: u32 = 4;
        const INTEL_DIE: u32 = 5;
        let has_steps = |leaf: &u32| self.get(*leaf, 0).is_some_and(|answer| answer.ebx & 0xffff != 0);
        let leaf = leaves.iter().copied().find(has_steps)?;
        let steps: Vec<(u32, u32)> = (0..MOST_STEPS)
            .map_while(|part| self.get(leaf, part))
            // Intel ends with a thing of no kind, AMD with one of no CPUs.
            .take_while(|answer| answer.ebx & 0xffff != 0 && answer.ecx >> 8 & 0xff != 0)
            .map(|answer| (answer.ecx >> 8 & 0xff, answer.eax & 0x1f))
            .collect();
        let apic = self.get(leaf, 0)?.edx;
        let package_shift = steps.last()?.1;
        let within = |shift: u32| bits(apic, shift, package_shift);
        let die = if leaf == 0x8000_0026 { AMD_DIE } else { INTEL_DIE };
        let place_of_die = steps.iter().position(|step| step.0 == die).filter(|place| *place > 0);
        Some(Place {
            apic,
            package_shift: Some(package_shift),
            // The first step is that of the threads of a core.
            core: Some(within(steps.first()?.1)),
            die: place_of_die.map(|place| within(steps[place - 1].1)),
            node: None,
        })
    }

    /// Leaf 1: the id, and how many ids a package has, which is a power of two.
    fn initial(&self) -> Option<(u32, u32)> {
        let answer = self.get(1, 0)?;
        let several = answer.edx >> 28 & 1 == 1;
        let ids = if several { (answer.ebx >> 16 & 0xff).max(1) } else { 1 };
        Some((answer.ebx >> 24, ids.next_power_of_two().trailing_zeros()))
    }

    /// Up to Core 2: leaf 1 tells how many ids a package has, leaf 4 how many of them are cores.
    fn intel_before_steps(&self) -> Option<Place> {
        let (apic, package_shift) = self.initial()?;
        let cores = match self.get(4, 0) {
            Some(answer) if answer.eax & 0x1f != 0 => (answer.eax >> 26) + 1,
            // Processors without this leaf have one core. One that has it and says nothing in it is a hypervisor's.
            Some(_) => return Some(Place { apic, package_shift: Some(package_shift), ..Place::default() }),
            None => 1,
        };
        let thread_bits = package_shift.saturating_sub(cores.next_power_of_two().trailing_zeros());
        Some(Place {
            apic,
            package_shift: Some(package_shift),
            core: Some(bits(apic, thread_bits, package_shift)),
            ..Place::default()
        })
    }

    /// Leaf 0x80000008 tells how many bits number the CPUs of a package; before it there was leaf 1 alone.
    fn amd_before_steps(&self) -> Option<Place> {
        let (apic, ids) = self.initial()?;
        let package_shift = self.get(0x8000_0008, 0).map_or(ids, |answer| match answer.ecx >> 12 & 0xf {
            0 => ((answer.ecx & 0xff) + 1).next_power_of_two().trailing_zeros(),
            told => told,
        });
        let core = Some(bits(apic, 0, package_shift));
        Some(Place { apic, package_shift: Some(package_shift), core, ..Place::default() })
    }

    /// The kind of its core, where the processor has several: Intel's leaf 0x1a, AMD's 0x80000026.
    pub(super) fn kind(&self, has_l3: bool) -> Option<Kind> {
        const INTEL_ATOM: u32 = 0x20;
        const INTEL_CORE: u32 = 0x40;
        if self.maker == Maker::Amd {
            let answer = self.get(0x8000_0026, 0)?;
            // Only where the kinds differ, and the field holds one.
            let differ = answer.eax >> 30 & 1 == 1;
            return match answer.ebx >> 28 {
                0 if differ => Some(Kind::Performance),
                1 if differ => Some(Kind::Efficient),
                2 if differ => Some(Kind::LowPower),
                _ => None,
            };
        }
        let hybrid = self.get(7, 0).is_some_and(|answer| answer.edx >> 15 & 1 == 1);
        match self.get(0x1a, 0).filter(|_| hybrid)?.eax >> 24 {
            INTEL_CORE => Some(Kind::Performance),
            // Those beside the others, on a die of their own, do without the last level of cache.
            INTEL_ATOM if !has_l3 => Some(Kind::LowPower),
            INTEL_ATOM => Some(Kind::Efficient),
            _ => None,
        }
    }

    /// The name that the processor gives itself.
    pub(super) fn name(&self) -> Option<String> {
        let parts = [0x8000_0002, 0x8000_0003, 0x8000_0004].map(|leaf| self.get(leaf, 0));
        let registers: Vec<u32> = parts
            .into_iter()
            .collect::<Option<Vec<Registers>>>()?
            .iter()
            .flat_map(|part| [part.eax, part.ebx, part.ecx, part.edx])
            .collect();
        let name = letters(&registers);
        let text = String::from_utf8_lossy(name.split(|letter| *letter == 0).next().unwrap_or_default());
        let words: Vec<&str> = text.split_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}

/// The bits of a number from one up to another one.
fn bits(number: u32, from: u32, to: u32) -> u32 {
    let below = |end: u32| 1_u32.checked_shl(end).map_or(u32::MAX, |bit| bit - 1);
    (number & below(to)).checked_shr(from).unwrap_or(0)
}

/// Registers as the letters in them.
fn letters(registers: &[u32]) -> Vec<u8> {
    registers.iter().flat_map(|register| register.to_le_bytes()).collect()
}
