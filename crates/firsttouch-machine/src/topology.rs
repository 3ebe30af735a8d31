//! CPUs, cores, clusters, dies, packages and caches.

use crate::core_kinds::{CoreKind, core_kinds};
use crate::nodes::Node;
use crate::reader::Reader;
use firsttouch_linux::cpulist::parse_list;
use firsttouch_linux::sysinfo;
use firsttouch_sorted::{SortedMap, SortedSet};
use serde::{Deserialize, Serialize};

const CPUS: &str = "sys/devices/system/cpu";

/// One logical CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// Its number; numbers may have gaps.
    pub id: u32,
    /// Whether it runs.
    pub online: bool,
    /// Its core, as an index into `cores`.
    pub core: Option<usize>,
    /// Its package, by the id in `packages`.
    pub package: Option<u32>,
    /// Its die, as an index into `dies`.
    pub die: Option<usize>,
    /// Its cluster, as an index into `clusters`.
    pub cluster: Option<usize>,
    /// Its memory node.
    pub node: Option<u32>,
    /// The number by which interrupts and firmware know it (x86).
    pub apic_id: Option<u32>,
}

impl Cpu {
    /// A CPU of which nothing is known but that it is there.
    pub(crate) fn new(id: u32, online: bool) -> Cpu {
        Cpu { id, online, core: None, package: None, die: None, cluster: None, node: None, apic_id: None }
    }
}

/// One core: the CPUs that share its execution units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Core {
    /// The kernel's number, unique within its package at best.
    pub id: Option<u32>,
    /// Its package.
    pub package: Option<u32>,
    /// Its CPUs that are online.
    pub cpus: Vec<u32>,
}

/// One package, a socket in most machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Package {
    /// The kernel's number. Packages that the kernel knows and has no number for (it writes -1 on POWER7 and s390) are counted
    /// here, in the order of their first CPUs, behind those that have one.
    pub id: u32,
    /// Its CPUs that are online.
    pub cpus: Vec<u32>,
    /// How many cores they make; `None` when the machine does not say which CPUs share a core.
    pub cores: Option<usize>,
}

/// A part of a package: a die, or a cluster of cores that share some cache or interconnect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Part {
    /// The kernel's number, unique within its package at best.
    pub id: Option<u32>,
    /// Its package.
    pub package: Option<u32>,
    /// Its CPUs that are online.
    pub cpus: Vec<u32>,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Cache {
    /// 1 is the nearest to the core.
    pub level: u32,
    /// `data`, `instruction` or `unified`.
    pub kind: Option<String>,
    /// Its size.
    pub size_bytes: Option<u64>,
    /// Bytes of one line.
    pub line_bytes: Option<u32>,
    /// Ways of associativity; 0 means fully associative.
    pub ways: Option<u32>,
    /// The CPUs that share it.
    pub cpus: Vec<u32>,
}

#[derive(Default)]
pub(crate) struct Topology {
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) cores: Vec<Core>,
    pub(crate) core_kinds: Vec<CoreKind>,
    pub(crate) clusters: Vec<Part>,
    pub(crate) dies: Vec<Part>,
    pub(crate) packages: Vec<Package>,
    pub(crate) caches: Vec<Cache>,
}

impl Topology {
    pub(crate) fn read(reader: &Reader<'_>, cpuinfo: Option<&str>) -> Topology {
        let mut cpus = cpus(reader, cpuinfo);
        count_packages(reader, &mut cpus);
        let online: Vec<u32> = cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
        let packages: SortedMap<u32, u32> =
            cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.package?))).collect();
        let mut topology = Topology {
            cores: cores(reader, &online, &packages),
            core_kinds: core_kinds(reader, &online),
            clusters: parts(reader, &online, &packages, "cluster"),
            dies: parts(reader, &online, &packages, "die"),
            packages: Vec::new(),
            caches: caches(reader, &online),
            cpus,
        };
        topology.join();
        topology.leave_out_repetitions();
        topology
    }

    /// A die that is its package, and a cluster that is its core, its die or its package, say nothing more.
    pub(crate) fn leave_out_repetitions(&mut self) {
        let Topology { dies, clusters, packages, cores, .. } = self;
        dies.retain(|die| packages.iter().all(|package| package.cpus != die.cpus));
        clusters.retain(|cluster| {
            packages.iter().all(|package| package.cpus != cluster.cpus)
                && dies.iter().all(|die| die.cpus != cluster.cpus)
                && cores.iter().all(|core| core.cpus != cluster.cpus)
        });
        self.join();
    }

    /// Tells each CPU what it belongs to, and makes the packages of that.
    pub(crate) fn join(&mut self) {
        let cores = owners(self.cores.iter().map(|core| &core.cpus));
        let clusters = owners(self.clusters.iter().map(|cluster| &cluster.cpus));
        let dies = owners(self.dies.iter().map(|die| &die.cpus));
        for cpu in &mut self.cpus {
            let of = |owners: &SortedMap<u32, usize>| owners.get(&cpu.id).copied();
            (cpu.core, cpu.cluster, cpu.die) = (of(&cores), of(&clusters), of(&dies));
        }
        self.packages = packages(&self.cpus, !self.cores.is_empty());
    }

    pub(crate) fn assign_nodes(&mut self, nodes: &[Node]) {
        let owners = owners(nodes.iter().map(|node| &node.cpus));
        for cpu in &mut self.cpus {
            cpu.node = owners.get(&cpu.id).and_then(|index| nodes.get(*index)).map(|node| node.id);
        }
    }
}

/// For each CPU the first list that has it.
fn owners<'a>(lists: impl Iterator<Item = &'a Vec<u32>>) -> SortedMap<u32, usize> {
    let mut owners = SortedMap::new();
    for (index, cpus) in lists.enumerate() {
        for cpu in cpus {
            owners.entry(*cpu).or_insert(index);
        }
    }
    owners
}

fn cpus(reader: &Reader<'_>, cpuinfo: Option<&str>) -> Vec<Cpu> {
    let listed: Option<SortedSet<u32>> =
        reader.text(&format!("{CPUS}/online")).and_then(|text| parse_list(&text)).map(SortedSet::from_iter);
    let mut ids = reader.numbered(CPUS, "cpu");
    if ids.is_empty() {
        ids = cpuinfo.map(processors).unwrap_or_default();
    }
    let apic_ids: SortedMap<u32, u32> =
        cpuinfo.map(sysinfo::apic_ids).unwrap_or_default().into_iter().collect();
    ids.into_iter()
        .map(|id| {
            let online = match &listed {
                Some(listed) => listed.contains(&id),
                // CPU 0 of most machines cannot be switched off and has no such file.
                None => reader.flag(&format!("{CPUS}/cpu{id}/online")).unwrap_or(true),
            };
            let package = if online { topology_number(reader, id, "physical_package_id") } else { None };
            let apic_id = apic_ids.get(&id).copied();
            Cpu { package, apic_id, ..Cpu::new(id, online) }
        })
        .collect()
}

/// The numbers after `processor :` in `/proc/cpuinfo`, for machines without `/sys`.
fn processors(cpuinfo: &str) -> Vec<u32> {
    let fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    fields.filter(|(key, _)| key.trim() == "processor").filter_map(|(_, id)| id.trim().parse().ok()).collect()
}

/// A number of a CPU's topology folder; the kernel writes -1 for what it does not know.
fn topology_number(reader: &Reader<'_>, cpu: u32, name: &str) -> Option<u32> {
    reader.number(&format!("{CPUS}/cpu{cpu}/topology/{name}"))
}

/// Gives packages a number where the kernel has none for them: it writes -1, or nothing, and says all the same which CPUs are
/// together (`package_cpus_list`, up to Linux 5.1 `core_siblings_list`). hwloc makes packages without numbers of these.
fn count_packages(reader: &Reader<'_>, cpus: &mut [Cpu]) {
    let places: SortedMap<u32, usize> = cpus.iter().enumerate().map(|(place, cpu)| (cpu.id, place)).collect();
    let highest = cpus.iter().filter_map(|cpu| cpu.package).max();
    let mut next = highest.map_or(Some(0), |highest| highest.checked_add(1));
    for first in 0..cpus.len() {
        let (Some(number), Cpu { id, online: true, package: None, .. }) = (next, &cpus[first]) else {
            continue;
        };
        let folder = format!("{CPUS}/cpu{id}/topology");
        let lists = ["package_cpus_list", "core_siblings_list"];
        let Some(together) = reader.set(&lists, &["package_cpus", "core_siblings"], &folder) else {
            continue;
        };
        if !together.contains(id) {
            continue;
        }
        for place in together.iter().filter_map(|cpu| places.get(cpu)) {
            let cpu = &mut cpus[*place];
            if cpu.online && cpu.package.is_none() {
                cpu.package = Some(number);
            }
        }
        next = number.checked_add(1);
    }
}

fn cores(reader: &Reader<'_>, online: &[u32], packages: &SortedMap<u32, u32>) -> Vec<Core> {
    let mut cores: Vec<Core> = Vec::new();
    for &cpu in online {
        if cores.iter().any(|core| core.cpus.contains(&cpu)) {
            continue;
        }
        let folder = format!("{CPUS}/cpu{cpu}/topology");
        let lists = ["core_cpus_list", "thread_siblings_list"];
        let Some(siblings) = reader.set(&lists, &["core_cpus", "thread_siblings"], &folder) else { continue };
        let core_id = |cpu| topology_number(reader, cpu, "core_id");
        let id = core_id(cpu);
        // AMD's compute units of two cores are siblings to the kernel, and have core numbers of their own.
        let cpus: Vec<u32> =
            siblings.into_iter().filter(|other| online.contains(other) && core_id(*other) == id).collect();
        if cpus.contains(&cpu) {
            cores.push(Core { id, package: packages.get(&cpu).copied(), cpus });
        }
    }
    cores
}

/// Dies or clusters. A number of -1, or 65535 in a field of 16 bits, is the kernel's word for "there is none".
fn parts(reader: &Reader<'_>, online: &[u32], packages: &SortedMap<u32, u32>, word: &str) -> Vec<Part> {
    const NONE: u32 = 65_535;
    let mut parts: Vec<Part> = Vec::new();
    for &cpu in online {
        if parts.iter().any(|part| part.cpus.contains(&cpu)) {
            continue;
        }
        let Some(id) = topology_number(reader, cpu, &format!("{word}_id")).filter(|id| *id != NONE) else {
            continue;
        };
        let folder = format!("{CPUS}/cpu{cpu}/topology");
        let (list, mask) = (format!("{word}_cpus_list"), format!("{word}_cpus"));
        let Some(mut cpus) = reader.set(&[&list], &[&mask], &folder) else { continue };
        cpus.retain(|cpu| online.contains(cpu));
        // Some architectures call every CPU a die, or a cluster.
        if cpus.len() > 1 && cpus.contains(&cpu) {
            parts.push(Part { id: Some(id), package: packages.get(&cpu).copied(), cpus });
        }
    }
    parts
}

fn packages(cpus: &[Cpu], cores_known: bool) -> Vec<Package> {
    let mut packages: SortedMap<u32, (Vec<u32>, SortedSet<usize>)> = SortedMap::new();
    for cpu in cpus {
        if let Some(package) = cpu.package {
            let (members, cores) = packages.entry(package).or_default();
            members.push(cpu.id);
            cores.extend(cpu.core);
        }
    }
    let package = |(id, (cpus, cores)): (u32, (Vec<u32>, SortedSet<usize>))| Package {
        id,
        cpus,
        cores: cores_known.then_some(cores.len()),
    };
    packages.into_iter().map(package).collect()
}

fn caches(reader: &Reader<'_>, online: &[u32]) -> Vec<Cache> {
    let mut caches = SortedSet::new();
    for &cpu in online {
        let folder = format!("{CPUS}/cpu{cpu}/cache");
        for index in reader.numbered(&folder, "index") {
            let folder = format!("{folder}/index{index}");
            let Some(level) = reader.number(&format!("{folder}/level")) else { continue };
            // The mask first: a recording of compute units has lists that name one CPU where the masks name both.
            let shared = reader
                .set(&[], &["shared_cpu_map"], &folder)
                .or_else(|| reader.set(&["shared_cpu_list"], &[], &folder));
            let mut cpus: Vec<u32> = shared.unwrap_or_default();
            cpus.retain(|cpu| online.contains(cpu));
            if cpus.is_empty() {
                cpus.push(cpu);
            }
            caches.insert(Cache {
                level,
                kind: reader.word(&format!("{folder}/type")).map(|kind| kind.to_lowercase()),
                size_bytes: reader
                    .word(&format!("{folder}/size"))
                    .and_then(|size| sysinfo::cache_size(&size)),
                line_bytes: reader.number(&format!("{folder}/coherency_line_size")),
                ways: reader.number(&format!("{folder}/ways_of_associativity")),
                cpus,
            });
        }
    }
    caches.into_iter().collect()
}
