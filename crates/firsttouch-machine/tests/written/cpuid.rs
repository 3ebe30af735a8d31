//! Answers of CPUID as processors give them, made from the fields that the manuals describe (Intel, Software Developer's Manual,
//! volume 2A; AMD, Programmer's Manual, volume 3, appendix E), in the form of `hwloc-gather-cpuid`.

#![allow(dead_code, reason = "each test program uses its part")]

use std::fmt::Write as _;

/// The files of one machine by their names.
pub(crate) type Files = Vec<(String, String)>;

const INTEL: [u32; 3] = [0x756e_6547, 0x6c65_746e, 0x4965_6e69];
const AMD: [u32; 3] = [0x6874_7541, 0x444d_4163, 0x6974_6e65];
const DATA: u32 = 1;
const INSTRUCTION: u32 = 2;
const UNIFIED: u32 = 3;
/// Leaf 1, edx: the fields of a package with several ids hold.
const SEVERAL: u32 = 1 << 28;
/// Leaf 0x80000001, ecx: leaves 0x8000001d and 0x8000001e are there.
const EXTENSIONS: u32 = 1 << 22;

/// What one CPU answers, line by line.
pub(crate) struct Lines(String);

impl Lines {
    pub(crate) fn new(maker: [u32; 3], highest: u32, highest_extended: u32, name: &str) -> Lines {
        let mut lines = Lines("# mask e[abcd]x => e[abcd]x\n".to_owned());
        lines.leaf(0, [highest, maker[0], maker[1], maker[2]]).leaf(0x8000_0000, [highest_extended, 0, 0, 0]);
        let mut letters = name.as_bytes().to_vec();
        letters.resize(48, 0);
        for (leaf, part) in (0x8000_0002..).zip(letters.chunks(16)) {
            let word = |at: usize| u32::from_le_bytes([part[at], part[at + 1], part[at + 2], part[at + 3]]);
            lines.leaf(leaf, [word(0), word(4), word(8), word(12)]);
        }
        lines
    }

    pub(crate) fn leaf(&mut self, leaf: u32, [eax, ebx, ecx, edx]: [u32; 4]) -> &mut Lines {
        let _ = writeln!(self.0, "1 {leaf:x} 0 0 0 => {eax:x} {ebx:x} {ecx:x} {edx:x}");
        self
    }

    fn parts(&mut self, leaf: u32, parts: &[[u32; 4]]) -> &mut Lines {
        // The last one says that there are no more.
        for (part, [eax, ebx, ecx, edx]) in parts.iter().chain([&[0, 0, parts.len() as u32, 0]]).enumerate() {
            let _ = writeln!(self.0, "5 {leaf:x} 0 {part:x} 0 => {eax:x} {ebx:x} {ecx:x} {edx:x}");
        }
        self
    }

    /// Steps of an APIC id: the kind of each thing, and how far the id is shifted to the next.
    fn steps(&mut self, leaf: u32, apic: u32, steps: &[(u32, u32)]) -> &mut Lines {
        let part = |(number, (kind, shift)): (usize, &(u32, u32))| {
            [*shift, 1 << shift, kind << 8 | number as u32, apic]
        };
        let parts: Vec<[u32; 4]> = steps.iter().enumerate().map(part).collect();
        self.parts(leaf, &parts)
    }

    /// Leaf 1: signature, APIC id, ids of a package.
    fn first(&mut self, signature: u32, apic: u32, ids: u32, ecx: u32) -> &mut Lines {
        self.leaf(1, [signature, apic << 24 | ids << 16, ecx, SEVERAL])
    }
}

/// One cache as leaves 4 and 0x8000001d tell it; `cores` is how many ids of cores a package has, in leaf 4.
fn cache(kind: u32, level: u32, sharing: u32, kib: u32, ways: u32, cores: u32) -> [u32; 4] {
    let sets = (kib << 10) / (64 * ways);
    [kind | level << 5 | (sharing - 1) << 14 | (cores - 1) << 26, 63 | (ways - 1) << 22, sets - 1, 0]
}

fn files(cpus: impl IntoIterator<Item = Lines>) -> Files {
    let cpus = cpus.into_iter().enumerate().map(|(cpu, lines)| (format!("pu{cpu}"), lines.0));
    [("hwloc-cpuid-info".to_owned(), "Architecture: x86\n".to_owned())].into_iter().chain(cpus).collect()
}

/// Two packages of four cores of two threads; Linux numbers the first threads of all cores first. As two Xeon X5550.
pub(crate) fn nehalem() -> Files {
    let ids = (0..2).flat_map(|thread| {
        (0..2).flat_map(move |package| (0..4).map(move |core| package << 4 | core << 1 | thread))
    });
    files(ids.map(|apic| {
        let mut cpu = Lines::new(INTEL, 0xb, 0x8000_0008, "Intel(R) Xeon(R) CPU           X5550  @ 2.67GHz");
        cpu.first(0x106a5, apic, 16, 0).parts(
            4,
            &[
                cache(DATA, 1, 2, 32, 8, 8),
                cache(INSTRUCTION, 1, 2, 32, 4, 8),
                cache(UNIFIED, 2, 2, 256, 8, 8),
                cache(UNIFIED, 3, 16, 8192, 16, 8),
            ],
        );
        cpu.steps(0xb, apic, &[(1, 1), (2, 4)]);
        cpu
    }))
}

/// Two packages of four cores, before there were steps: leaves 1 and 4 alone. Two cores share a second level.
pub(crate) fn core_2() -> Files {
    let ids = (0..2).flat_map(|package| (0..4).map(move |core| package << 2 | core));
    files(ids.map(|apic| {
        let mut cpu = Lines::new(INTEL, 0xa, 0x8000_0008, "Core 2");
        cpu.first(0x6f7, apic, 4, 0)
            .parts(4, &[cache(DATA, 1, 1, 32, 8, 4), cache(UNIFIED, 2, 2, 4096, 16, 4)]);
        cpu
    }))
}

/// Two packages of two dies of three cores of two threads, under a hypervisor; leaf 0x1f tells the dies, 0xb does not.
pub(crate) fn dies() -> Files {
    const HYPERVISOR: u32 = 1 << 31;
    let ids = (0..2).flat_map(|package| {
        (0..2).flat_map(move |die| (0..6).map(move |thread| package << 4 | die << 3 | thread))
    });
    files(ids.map(|apic| {
        let mut cpu = Lines::new(INTEL, 0x1f, 0x8000_0008, "Two dies");
        cpu.first(0x806f8, apic, 12, HYPERVISOR).parts(4, &[cache(UNIFIED, 3, 8, 12288, 12, 6)]);
        cpu.steps(0xb, apic, &[(1, 1), (2, 4)]).steps(0x1f, apic, &[(1, 1), (2, 3), (5, 4)]);
        cpu
    }))
}

/// Two fast cores of two threads, and four slow ones that share a second level; two more of their kind have no third one.
/// The caches of both kinds have the same number, each among those of its size.
pub(crate) fn hybrid() -> Files {
    const ATOM: u32 = 0x20;
    const CORE: u32 = 0x40;
    let fast = [8, 9, 10, 11].map(|apic| (apic, CORE, 2, true));
    let slow = [32, 34, 36, 38].map(|apic| (apic, ATOM, 8, true));
    let slowest = [64, 66].map(|apic| (apic, ATOM, 4, false));
    files([&fast[..], &slow, &slowest].concat().into_iter().map(|(apic, kind, sharing, third)| {
        let mut cpu = Lines::new(INTEL, 0x1f, 0x8000_0008, "Kinds");
        let second = cache(UNIFIED, 2, sharing, 2048, 16, 64);
        let caches = [second, cache(UNIFIED, 3, 128, 24576, 12, 64)];
        cpu.first(0xb06a2, apic, 128, 0).parts(4, &caches[..if third { 2 } else { 1 }]);
        cpu.parts(7, &[[0, 0, 0, 1 << 15]]).parts(0x1a, &[[kind << 24, 0, 0, 0]]);
        cpu.steps(0x1f, apic, &[(1, 1), (2, 7)]);
        cpu
    }))
}

/// What all of AMD's begin with: signature, ids of a package, how many of them are cores, socket.
fn amd(signature: u32, apic: u32, bits: u32, cores: u32, socket: u32, extensions: bool) -> Lines {
    let mut cpu = Lines::new(AMD, if extensions { 0xd } else { 5 }, 0x8000_001e, "AMD Engineering Sample");
    cpu.first(signature, apic, cores, 0)
        .leaf(0x8000_0001, [signature, socket << 28, if extensions { EXTENSIONS } else { 0 }, 0])
        .leaf(0x8000_0008, [0x3030, 0, bits << 12 | (cores - 1), 0]);
    cpu
}

/// Leaves 0x80000005 and 6: L1 of 64 KiB and two ways, L2 of 512 KiB and 16 ways, and the L3 of the package: units of 512 KiB, code
/// of the ways.
fn amd_caches(cpu: &mut Lines, third: u32, ways: u32) {
    let first = 64 << 24 | 2 << 16 | 1 << 8 | 64;
    cpu.leaf(0x8000_0005, [0, 0, first, first]);
    cpu.leaf(0x8000_0006, [0, 0, 512 << 16 | 8 << 12 | 1 << 8 | 64, third << 18 | ways << 12 | 1 << 8 | 64]);
}

/// Two packages of six cores; the ids of a package are eight. As Opteron 8439 SE.
pub(crate) fn istanbul() -> Files {
    let ids = (0..2).flat_map(|package| (0..6).map(move |core| package << 3 | core));
    files(ids.map(|apic| {
        let mut cpu = amd(0x100f80, apic, 3, 6, 0, false);
        amd_caches(&mut cpu, 10, 0xb);
        cpu
    }))
}

/// One package of two nodes of six cores each, which no leaf tells: only the socket does. As Opteron 6164 HE.
pub(crate) fn magny_cours() -> Files {
    files((0..12).map(|apic| {
        let mut cpu = amd(0x100f91, apic, 4, 12, 3, false);
        amd_caches(&mut cpu, 20, 0xd);
        cpu
    }))
}

/// Two packages of two nodes of three units of two cores: ids of the second node begin at 6. As Opteron 6348.
pub(crate) fn piledriver() -> Files {
    let cpus = (0..2).flat_map(|package| (0..12).map(move |core| (package, core)));
    files(cpus.map(|(package, core)| {
        let apic = package << 4 | core;
        let mut cpu = amd(0x600f20, apic, 4, 12, 3, true);
        cpu.parts(
            0x8000_001d,
            &[
                cache(DATA, 1, 1, 16, 4, 1),
                cache(INSTRUCTION, 1, 2, 64, 2, 1),
                cache(UNIFIED, 3, 6, 6144, 48, 1),
            ],
        );
        cpu.leaf(0x8000_001e, [apic, (1 << 8) | (core / 2), (1 << 8) | (package * 2 + core / 6), 0]);
        cpu
    }))
}

/// Two packages of four nodes of two threes of cores of two threads; each three shares a third level, whose ids are eight. As EPYC 7451.
pub(crate) fn naples() -> Files {
    let three = (0..2)
        .flat_map(|package| (0..4).flat_map(move |node| (0..2).map(move |three| (package, node, three))));
    let cpus = three.flat_map(|place| (0..6).map(move |thread| (place, thread)));
    files(cpus.map(|((package, node, three), thread)| {
        let apic = package << 6 | node << 4 | three << 3 | thread;
        let mut cpu = amd(0x800f12, apic, 6, 48, 4, true);
        cpu.parts(0x8000_001d, &[cache(UNIFIED, 2, 2, 512, 8, 1), cache(UNIFIED, 3, 6, 8192, 16, 1)]);
        // The number of a core begins anew in each node.
        cpu.leaf(0x8000_001e, [apic, 1 << 8 | (apic >> 1 & 7), 3 << 8 | (package * 4 + node), 0]);
        cpu
    }))
}

/// One package of three dies of four cores of two threads, by leaf 0x80000026.
pub(crate) fn genoa() -> Files {
    let ids = (0..3).flat_map(|die| (0..8).map(move |thread| die << 4 | thread));
    files(ids.map(|apic| {
        let mut cpu = Lines::new(AMD, 0x10, 0x8000_0028, "Dies");
        cpu.first(0xa10f11, apic, 64, 0).leaf(0x8000_0001, [0xa10f11, 0, EXTENSIONS, 0]);
        cpu.parts(0x8000_001d, &[cache(UNIFIED, 3, 16, 32768, 16, 1)]);
        cpu.leaf(0x8000_001e, [apic, 1 << 8 | apic >> 1, 0, 0]);
        cpu.steps(0x8000_0026, apic, &[(1, 1), (2, 4), (3, 4), (4, 8)]);
        cpu
    }))
}

/// All of them, with names.
pub(crate) fn all() -> [(&'static str, Files); 9] {
    [
        ("nehalem", nehalem()),
        ("core-2", core_2()),
        ("dies", dies()),
        ("hybrid", hybrid()),
        ("istanbul", istanbul()),
        ("magny-cours", magny_cours()),
        ("piledriver", piledriver()),
        ("naples", naples()),
        ("genoa", genoa()),
    ]
}
