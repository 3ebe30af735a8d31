//! The tree of boxes that a machine is drawn as.

use firsttouch_machine::{Cache, Machine, Node};
use firsttouch_placement::format_bytes;
use firsttouch_sorted::{SortedMap, SortedSet, sort_by_key};
use std::cmp::Reverse;

/// What a box stands for: it decides the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Machine,
    Package,
    Node,
    /// Memory without CPUs.
    Memory,
    Group,
    Cache,
}

/// A box.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) title: String,
    /// Facts about it.
    pub(super) lines: Vec<String>,
    /// CPUs of the cores that are directly inside it.
    pub(super) cores: Vec<Vec<u32>>,
    /// Boxes inside it.
    pub(super) parts: Vec<Part>,
    cpus: SortedSet<u32>,
}

impl Part {
    fn new(kind: Kind, title: String, cpus: impl IntoIterator<Item = u32>) -> Part {
        let cpus = cpus.into_iter().collect();
        Part { kind, title, lines: Vec::new(), cores: Vec::new(), parts: Vec::new(), cpus }
    }

    /// The whole machine.
    pub(super) fn of(machine: &Machine) -> Part {
        let online = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id);
        let title = machine.cpu_model.clone().unwrap_or_else(|| "machine".to_owned());
        let mut root = Part::new(Kind::Machine, title, online);
        for part in by_size(machine) {
            root.insert(part);
        }
        for cpus in core_lists(machine) {
            root.insert_core(&cpus);
        }
        root.name_own_caches(machine);
        for node in machine.nodes.iter().filter(|node| node.cpus.is_empty()) {
            let mut part = Part::new(Kind::Memory, node_title(node), []);
            part.lines.push("no cpus".to_owned());
            part.lines.extend(node_lines(machine, node));
            root.parts.push(part);
        }
        root.lines.extend(machine_lines(machine));
        root
    }

    /// Puts a box into the innermost one around it. One that holds the same CPUs becomes a line there; one that holds
    /// a part of another's CPUs fits nowhere, and is left out.
    fn insert(&mut self, part: Part) {
        if part.cpus == self.cpus {
            self.lines.push(part.title);
            self.lines.extend(part.lines);
            return;
        }
        if let Some(around) = self.parts.iter_mut().find(|own| part.cpus.is_subset(&own.cpus)) {
            return around.insert(part);
        }
        if part.cpus.is_subset(&self.cpus) && self.parts.iter().all(|own| part.cpus.is_disjoint(&own.cpus)) {
            self.parts.push(part);
        }
    }

    fn insert_core(&mut self, cpus: &[u32]) {
        match self.parts.iter_mut().find(|own| cpus.iter().all(|cpu| own.cpus.contains(cpu))) {
            Some(around) => around.insert_core(cpus),
            None => self.cores.push(cpus.to_vec()),
        }
    }

    /// Says which caches each core has for itself: once where that is the same everywhere, else of each box.
    fn name_own_caches(&mut self, machine: &Machine) {
        let mut found = SortedSet::new();
        self.own_caches(machine, &mut |_, line| {
            found.insert(line);
        });
        match &*found {
            [line] => self.lines.push(line.clone()),
            _ => self.own_caches(machine, &mut |part, line| part.lines.push(line)),
        }
    }

    fn own_caches(&mut self, machine: &Machine, tell: &mut dyn FnMut(&mut Part, String)) {
        for part in &mut self.parts {
            part.own_caches(machine, tell);
        }
        let Some(largest) = self.cores.iter().max_by_key(|core| core.len()) else { return };
        let own =
            |cache: &&Cache| !cache.cpus.is_empty() && cache.cpus.iter().all(|cpu| largest.contains(cpu));
        let mut caches: Vec<&Cache> = machine.caches.iter().filter(own).collect();
        sort_by_key(&mut caches, |cache| Reverse(cache.level));
        let mut names: Vec<String> = caches.into_iter().map(cache_title).collect();
        names.dedup();
        if !names.is_empty() {
            tell(self, format!("each core: {}", names.join(", ")));
        }
    }
}

/// All boxes that hold CPUs, those with the most first; of equals the outer kind first.
fn by_size(machine: &Machine) -> Vec<Part> {
    let mut parts: Vec<(u32, Part)> = Vec::new();
    for package in &machine.packages {
        parts.push((0, Part::new(Kind::Package, format!("package {}", package.id), package.cpus.clone())));
    }
    for die in &machine.dies {
        let name = die.id.map_or_else(|| "die".to_owned(), |id| format!("die {id}"));
        parts.push((1, Part::new(Kind::Group, name, die.cpus.clone())));
    }
    for node in machine.nodes.iter().filter(|node| !node.cpus.is_empty()) {
        let mut part = Part::new(Kind::Node, node_title(node), node.cpus.clone());
        part.lines.extend(node_lines(machine, node));
        parts.push((2, part));
    }
    let cores = core_lists(machine);
    let shared = |cpus: &[u32]| {
        !cores.iter().any(|core| cpus.iter().all(|cpu| core.contains(cpu))) && !cpus.is_empty()
    };
    for cluster in &machine.clusters {
        let name = cluster.id.map_or_else(|| "cluster".to_owned(), |id| format!("cluster {id}"));
        parts.push((3, Part::new(Kind::Group, name, cluster.cpus.clone())));
    }
    for cache in machine.caches.iter().filter(|cache| shared(&cache.cpus)) {
        parts.push((
            4 + 8_u32.saturating_sub(cache.level),
            Part::new(Kind::Cache, cache_title(cache), cache.cpus.clone()),
        ));
    }
    sort_by_key(&mut parts, |(rank, part)| {
        (usize::MAX - part.cpus.len(), *rank, part.cpus.first().copied().unwrap_or_default())
    });
    parts.into_iter().map(|(_, part)| part).collect()
}

/// The CPUs of each core; each CPU alone where cores are not known.
fn core_lists(machine: &Machine) -> Vec<Vec<u32>> {
    let mut lists: Vec<Vec<u32>> = machine.cores.iter().map(|core| core.cpus.clone()).collect();
    let known: SortedSet<u32> = lists.iter().flatten().copied().collect();
    let alone = machine.cpus.iter().filter(|cpu| cpu.online && !known.contains(&cpu.id));
    lists.extend(alone.map(|cpu| vec![cpu.id]));
    lists.sort_unstable();
    lists
}

fn cache_title(cache: &Cache) -> String {
    let letter = match cache.kind.as_deref() {
        Some("data") => "d",
        Some("instruction") => "i",
        _ => "",
    };
    let size = cache.size_bytes.map(|bytes| format!(" {}", format_bytes(bytes))).unwrap_or_default();
    format!("L{}{letter}{size}", cache.level)
}

fn node_title(node: &Node) -> String {
    let size = node.size_bytes.map_or_else(|| "memory of unknown size".to_owned(), format_bytes);
    let kind = node.kind.map(|kind| format!(" {kind}")).unwrap_or_default();
    format!("node {}: {size}{kind}", node.id)
}

fn node_lines(machine: &Machine, node: &Node) -> Vec<String> {
    let mut lines = Vec::new();
    for cache in &node.side_caches {
        let size = cache.size_bytes.map(|bytes| format!(" {}", format_bytes(bytes))).unwrap_or_default();
        lines.push(format!("memory-side cache{size}"));
    }
    if let Some(names) = device_names(machine, Some(node.id)) {
        lines.push(format!("devices {names}"));
    }
    lines
}

/// Names of the devices at a node, or of those whose place nobody states.
fn device_names(machine: &Machine, node: Option<u32>) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    let here = || machine.devices.iter().filter(move |device| device.node == node);
    names.extend(here().filter(|device| device.class != "pci").map(|device| device.name.clone()));
    // A PCI device that no driver gave another name.
    let named = |address: &str| {
        let mut others = machine.devices.iter().filter(|device| device.class != "pci");
        others.any(|device| device.address.as_deref() == Some(address))
    };
    names.extend(
        here()
            .filter(|device| device.class == "pci" && !named(&device.name))
            .map(|device| device.name.clone()),
    );
    (!names.is_empty()).then(|| names.join(" "))
}

fn machine_lines(machine: &Machine) -> Vec<String> {
    let list = |cpus: &[u32]| cpu_list(cpus);
    let mut lines = Vec::new();
    for kind in &machine.core_kinds {
        lines.push(format!("{} cores: cpus {}", kind.name, list(&kind.cpus)));
    }
    let offline: Vec<u32> = machine.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
    if !offline.is_empty() {
        lines.push(format!("offline: cpus {}", list(&offline)));
    }
    if let Some(names) = device_names(machine, None) {
        let place = if machine.nodes.len() > 1 { "devices of unknown place:" } else { "devices" };
        lines.push(format!("{place} {names}"));
    }
    lines
}

/// CPUs as short as can be: `0-3,8`.
pub(super) fn cpu_list(cpus: &[u32]) -> String {
    let sorted: SortedSet<u32> = cpus.iter().copied().collect();
    // Runs, keyed by what stays the same in one.
    let mut runs: SortedMap<i64, (u32, u32)> = SortedMap::new();
    for (index, cpu) in sorted.into_iter().enumerate() {
        let key = i64::from(cpu) - index as i64;
        runs.entry(key).or_insert((cpu, cpu)).1 = cpu;
    }
    let text = |(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    runs.values().map(text).collect::<Vec<_>>().join(",")
}
