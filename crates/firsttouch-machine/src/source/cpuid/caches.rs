//! The caches of one CPU, and who shares them.

use super::leaves::{Leaves, Maker, Place};
use crate::topology::Cache;
use firsttouch_linux::cpuid::Registers;

/// More than any processor has.
const MOST_CACHES: u32 = 16;

/// Who shares a cache, within a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shared {
    /// CPUs whose APIC ids differ in the lowest bits only: how many bits, and the rest of the id.
    Ids(u32, u32),
    /// The CPUs of this node.
    Node(u32),
    /// All.
    Package,
}

/// A cache as one CPU sees it.
#[derive(Clone, Debug)]
pub(super) struct Cached {
    pub(super) level: u32,
    pub(super) kind: Option<&'static str>,
    pub(super) shared: Shared,
    size_bytes: Option<u64>,
    line_bytes: Option<u32>,
    /// 0: fully associative.
    ways: Option<u32>,
}

impl Cached {
    /// The cache, without the CPUs that share it.
    pub(super) fn described(&self) -> Cache {
        Cache {
            level: self.level,
            kind: self.kind.map(str::to_owned),
            size_bytes: self.size_bytes,
            line_bytes: self.line_bytes,
            ways: self.ways,
            cpus: Vec::new(),
        }
    }
}

/// The caches that a CPU tells.
pub(super) fn caches(leaves: &Leaves<'_>, place: Place) -> Vec<Cached> {
    let leaf = match leaves.maker {
        Maker::Amd if leaves.has_topology_extensions() => 0x8000_001d,
        Maker::Amd => return amd_before_parts(leaves, place),
        Maker::Intel => 4,
    };
    let parts =
        (0..MOST_CACHES).map_while(|part| leaves.get(leaf, part)).take_while(|answer| answer.eax & 0x1f != 0);
    // One of level 0 is none. Xeon Phi (Knights Landing and Mill) may tell a third level that it does not have.
    let phi = leaves.maker == Maker::Intel && leaves.family == 6 && matches!(leaves.model, 0x57 | 0x85);
    parts
        .map(|answer| cached(answer, leaves, place))
        .filter(|cache| cache.level > 0 && !(phi && cache.level == 3))
        .collect()
}

/// One part of Intel's leaf 4 and AMD's 0x8000001d, which have the same fields.
fn cached(answer: Registers, leaves: &Leaves<'_>, place: Place) -> Cached {
    let level = answer.eax >> 5 & 7;
    let fields = [answer.ebx & 0xfff, answer.ebx >> 12 & 0x3ff, answer.ebx >> 22, answer.ecx];
    let size_bytes = fields.iter().try_fold(1_u64, |size, field| size.checked_mul(u64::from(*field) + 1));
    let sharing = (answer.eax >> 14 & 0xfff) + 1;
    let shared = match place.node {
        // Up to family 16h the third level is the node's, whose ids need not begin at a multiple of a power of two.
        Some(node) if level == 3 && leaves.family < 0x17 => Shared::Node(node),
        _ => ids(place.apic, sharing.next_power_of_two().trailing_zeros()),
    };
    Cached {
        level,
        kind: match answer.eax & 0x1f {
            1 => Some("data"),
            2 => Some("instruction"),
            3 => Some("unified"),
            _ => None,
        },
        shared,
        size_bytes,
        line_bytes: Some(fields[0] + 1),
        ways: Some(if answer.eax >> 9 & 1 == 1 { 0 } else { fields[2] + 1 }),
    }
}

fn ids(apic: u32, bits: u32) -> Shared {
    Shared::Ids(bits, apic >> bits)
}

/// Leaves 0x80000005 and 0x80000006, which tell the caches of each level and not who shares them: the third level is that of
/// the package, all others are the core's, and there were no threads.
fn amd_before_parts(leaves: &Leaves<'_>, place: Place) -> Vec<Cached> {
    const KIB: u64 = 1 << 10;
    let own = ids(place.apic, 0);
    let cache = |level, kind, shared, size_bytes: u64, line: u32, ways| {
        (size_bytes > 0).then_some(Cached {
            level,
            kind: Some(kind),
            shared,
            size_bytes: Some(size_bytes),
            line_bytes: Some(line & 0xff).filter(|bytes| *bytes > 0),
            ways,
        })
    };
    let first = |kind, register: u32| {
        let ways = match register >> 16 & 0xff {
            0 => None,
            0xff => Some(0),
            ways => Some(ways),
        };
        cache(1, kind, own, u64::from(register >> 24) * KIB, register, ways)
    };
    let mut found: Vec<Option<Cached>> = Vec::new();
    if let Some(answer) = leaves.get(0x8000_0005, 0) {
        found.extend([first("data", answer.ecx), first("instruction", answer.edx)]);
    }
    // Associativity 0: the cache is switched off.
    let on = |register: u32| register >> 12 & 0xf != 0;
    if let Some(answer) = leaves.get(0x8000_0006, 0) {
        let (second, third) = (answer.ecx, answer.edx);
        if on(second) {
            found.push(cache(2, "unified", own, u64::from(second >> 16) * KIB, second, ways(second)));
        }
        if on(third) {
            let size = u64::from(third >> 18) * (512 * KIB);
            let (shared, nodes) =
                halves(leaves, place).map_or((Shared::Package, 1), |half| (Shared::Node(half), 2));
            let ways = ways(third).map(|ways| ways / nodes);
            found.push(cache(3, "unified", shared, size / u64::from(nodes), third, ways));
        }
    }
    found.into_iter().flatten().collect()
}

/// The half of a package with two nodes that a CPU is in. Family 10h in its socket G34 has two, each with half of the cores and of
/// the third level, and no leaf that names them; their cores are counted through.
fn halves(leaves: &Leaves<'_>, place: Place) -> Option<u32> {
    const G34: u32 = 3;
    let socket = leaves.get(0x8000_0001, 0)?.ebx >> 28;
    let cores = (leaves.get(0x8000_0008, 0)?.ecx & 0xff) + 1;
    (leaves.family == 0x10 && socket == G34 && cores > 1)
        .then(|| place.core.map(|core| u32::from(core >= cores / 2)))?
}

/// Ways of the second and third level: a code.
fn ways(register: u32) -> Option<u32> {
    Some(match register >> 12 & 0xf {
        1 => 1,
        2 => 2,
        3 => 3,
        4 => 4,
        5 => 6,
        6 => 8,
        8 => 16,
        0xa => 32,
        0xb => 48,
        0xc => 64,
        0xd => 96,
        0xe => 128,
        0xf => 0,
        _ => return None,
    })
}
