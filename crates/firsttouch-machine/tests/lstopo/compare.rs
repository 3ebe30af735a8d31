//! What two readers say of one machine, thing by thing.

use firsttouch_machine::Machine;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// What differs: for each kind of thing, what the model alone has (`+`) and what lstopo alone has (`-`).
pub(crate) type Differences = BTreeMap<&'static str, Vec<String>>;

pub(crate) fn differences(ours: &Machine, theirs: &Machine) -> Differences {
    let mut found = Differences::new();
    let mut compare = |what: &'static str, list: &dyn Fn(&Machine) -> Vec<String>| {
        let (mine, other) = (counted(list(ours)), counted(list(theirs)));
        let only = |sign: char, mine: &BTreeSet<String>, other: &BTreeSet<String>| {
            mine.difference(other).map(|thing| format!("{sign} {thing}")).collect::<Vec<_>>()
        };
        let lines = [only('+', &mine, &other), only('-', &other, &mine)].concat();
        if !lines.is_empty() {
            found.insert(what, lines);
        }
    };
    compare("cpus", &|machine| shown(machine.cpus.iter().map(|cpu| (cpu.id, cpu.online))));
    compare("cores", &|machine| shown(machine.cores.iter().map(|core| (core.id, core.package, &core.cpus))));
    compare("packages", &|machine| {
        shown(machine.packages.iter().map(|package| (package.id, &package.cpus, package.cores)))
    });
    compare("dies", &|machine| shown(machine.dies.iter().map(|die| (die.id, &die.cpus))));
    compare("clusters", &|machine| shown(machine.clusters.iter().map(|cluster| &cluster.cpus)));
    compare("caches", &|machine| {
        shown(machine.caches.iter().map(|cache| {
            (
                cache.level,
                &cache.kind,
                cache.size_bytes,
                cache.line_bytes,
                cache.ways.filter(|ways| *ways > 0),
                &cache.cpus,
            )
        }))
    });
    compare("nodes", &|machine| {
        shown(machine.nodes.iter().map(|node| (node.id, node.size_bytes, &node.cpus)))
    });
    compare("distances", &|machine| {
        shown(machine.nodes.iter().map(|node| (node.id, between_known(machine, node.id))))
    });
    compare("side caches", &|machine| {
        let caches =
            machine.nodes.iter().flat_map(|node| node.side_caches.iter().map(|cache| (node.id, cache)));
        shown(caches.map(|(node, cache)| (node, cache.size_bytes, cache.line_bytes)))
    });
    compare("devices", &|machine| {
        // hwloc keeps the disks of a controller, and not the controller's own entry.
        let devices = machine.devices.iter().filter(|device| device.class != "nvme");
        shown(devices.map(|device| {
            (&device.class, &device.name, &device.address, device.node, &device.pci_class, &device.pci_id)
        }))
    });
    compare("allowed cpus", &|machine| {
        // The control group's, or all: lstopo looks at nothing else in a recording.
        let online: Vec<u32> = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
        let limits = &machine.limits;
        let set = limits.cpuset_cpus.as_ref().or(limits.allowed_cpus.as_ref()).unwrap_or(&online);
        shown([set.iter().filter(|cpu| online.contains(cpu)).collect::<Vec<_>>()])
    });
    compare("processor", &|machine| shown([&machine.cpu_model]));
    found
}

fn shown<T: Debug>(things: impl IntoIterator<Item = T>) -> Vec<String> {
    things.into_iter().map(|thing| format!("{thing:?}")).collect()
}

/// Equal things counted, so that two of a kind differ from one.
fn counted(list: Vec<String>) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for thing in list {
        *counts.entry(thing).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|(thing, count)| if count == 1 { thing } else { format!("{count} x {thing}") })
        .collect()
}

/// Distances between nodes that exist: the kernel's rows count offline nodes, too.
fn between_known(machine: &Machine, node: u32) -> Option<Vec<(u32, u32)>> {
    let known: BTreeSet<u32> = machine.nodes.iter().map(|node| node.id).collect();
    // One node has no distance to speak of.
    let own =
        machine.nodes.iter().find(|own| own.id == node)?.distances.as_ref().filter(|_| known.len() > 1)?;
    Some(
        own.iter()
            .filter(|(other, _)| known.contains(other))
            .map(|(other, distance)| (*other, *distance))
            .collect(),
    )
}

/// Where the two say different things of one machine, and why.
pub(crate) fn explained(name: &str) -> Differences {
    match name {
        // The card's own files say node 2. lstopo asks the bridge above it, whose firmware says nothing; hwloc's own test
        // of this recording names the place of that bus by hand.
        "40intel64-2g2n4c+pcilocality" => {
            let lines = [("+", "Some(2)"), ("-", "None")].map(|(sign, node)| {
                let address = "\"0000:43:00.0\"";
                [
                    format!("{sign} (\"infiniband\", \"qib0\", Some({address}), {node}, None, None)"),
                    format!("{sign} (\"net\", \"ib0\", Some({address}), {node}, None, None)"),
                    format!("{sign} (\"pci\", {address}, Some({address}), {node}, Some(\"0c06\"), Some(\"1077:7322\"))"),
                ]
            });
            Differences::from([("devices", lines.concat())])
        }
        // lstopo takes what the group asked for (cpuset.cpus), the model what it has (cpuset.effective_cpus).
        "nvidiagpunumanodes" => {
            let has: Vec<u32> = (0..16).collect();
            let asked: Vec<u32> = (0..16).chain(88..104).collect();
            Differences::from([("allowed cpus", vec![format!("+ {has:?}"), format!("- {asked:?}")])])
        }
        _ => Differences::new(),
    }
}
