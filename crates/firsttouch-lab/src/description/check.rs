//! What a description must fulfil to be a machine, each with the sentence that says what is wrong.

use super::parts::{Bytes, Description, LabNode};
use firsttouch_linux::cpulist::format_list;
use firsttouch_sorted::SortedSet;

/// The emulated chipset has no room for more without another interrupt controller.
const MOST_CPUS: u32 = 255;
/// The emulator's limit.
const MOST_NODES: u32 = 128;
/// The kernel, the file system in memory and a program: less does not boot.
const LEAST_FIRST_NODE: u64 = 256 << 20;
/// Linux takes memory in by blocks of this size (`block_size_bytes` of x86-64 machines below 64 GiB).
const MEMORY_BLOCK: u64 = 128 << 20;
/// 10 is the node itself and 255 means out of reach (ACPI 6.5, 5.2.17).
const DISTANCES: std::ops::RangeInclusive<u32> = 11..=254;

type Checked = Result<(), String>;

pub(super) fn check(machine: &Description) -> Checked {
    processor(machine)?;
    nodes(machine)?;
    cpus(machine)?;
    numbering(machine)?;
    distances(machine)?;
    speeds(machine)?;
    extras(machine)
}

fn refuse_if(wrong: bool, why: impl FnOnce() -> String) -> Checked {
    if wrong { Err(why()) } else { Ok(()) }
}

fn processor(machine: &Description) -> Checked {
    let parts = &machine.processor;
    refuse_if(parts.cpus() == 0, || {
        "the processor has no CPU: packages, dies, cores and threads are at least 1".into()
    })?;
    refuse_if(parts.cpus() > MOST_CPUS, || {
        format!("{} CPUs are more than the {MOST_CPUS} that can be emulated", parts.cpus())
    })
}

fn nodes(machine: &Description) -> Checked {
    let Some(first) = machine.nodes.first() else { return Err("there is no node".into()) };
    refuse_if(first.id != 0, || "node 0 is missing: the kernel boots from it".into())?;
    refuse_if(first.memory.0 < LEAST_FIRST_NODE, || "node 0 needs 256M of memory to boot from".into())?;
    for pair in machine.nodes.windows(2) {
        refuse_if(pair[0].id >= pair[1].id, || {
            format!("node {} follows node {}: nodes ascend, each id once", pair[1].id, pair[0].id)
        })?;
    }
    let last = machine.nodes.last().map_or(0, |node| node.id);
    refuse_if(last >= MOST_NODES, || {
        format!("node {last} is beyond the last possible one, {}", MOST_NODES - 1)
    })?;
    machine.nodes.iter().try_for_each(|node| one_node(machine, node))
}

fn one_node(machine: &Description, node: &LabNode) -> Checked {
    let id = node.id;
    refuse_if(node.cpus.is_empty() && node.bytes() == 0, || {
        format!("node {id} has neither CPUs nor memory")
    })?;
    for (name, Bytes(bytes)) in [("memory", node.memory), ("plugged", node.plugged)] {
        refuse_if(bytes % MEMORY_BLOCK != 0, || {
            format!("{name} of node {id} is no multiple of 128M, the kernel's block of memory")
        })?;
        refuse_if(bytes > 1 << 40, || format!("{name} of node {id} is more than 1T"))?;
    }
    match node.nearest {
        None => Ok(()),
        Some(_) if !node.cpus.is_empty() => {
            Err(format!("node {id} has CPUs, so none are nearer: `nearest` is for nodes without"))
        }
        Some(near) if machine.node(near).is_none_or(|near| near.cpus.is_empty()) => {
            Err(format!("the CPUs nearest to node {id} cannot be those of node {near}, which has none"))
        }
        Some(_) => Ok(()),
    }
}

fn cpus(machine: &Description) -> Checked {
    let count = machine.processor.cpus();
    let mut taken = SortedSet::new();
    for node in &machine.nodes {
        for cpu in &node.cpus {
            refuse_if(*cpu >= count, || {
                format!("node {} has CPU {cpu}, but the processor's are 0-{}", node.id, count - 1)
            })?;
            refuse_if(!taken.insert(*cpu), || {
                format!("CPU {cpu} is in node {} and in another one", node.id)
            })?;
        }
    }
    let rest: Vec<u32> = (0..count).filter(|cpu| !taken.contains(cpu)).collect();
    refuse_if(!rest.is_empty(), || format!("CPUs {} are in no node", format_list(&rest)))
}

/// Linux numbers nodes in the order in which the firmware's table names them: by their first CPU, then those without.
fn numbering(machine: &Description) -> Checked {
    for pair in machine.nodes.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        let as_written = match (before.cpus.first(), after.cpus.first()) {
            (Some(earlier), Some(later)) => earlier < later,
            (None, Some(_)) => false,
            (_, None) => true,
        };
        refuse_if(!as_written, || {
            format!(
                "Linux would number nodes {} and {} the other way round: nodes with CPUs come first, in the order of their first CPU",
                before.id, after.id
            )
        })?;
    }
    let with_gaps = machine.nodes.iter().zip(0..).any(|(node, index)| node.id != index);
    let per_package = machine.processor.cpus_per_package();
    let split = machine.nodes.iter().any(|node| {
        let packages: SortedSet<u32> = node.cpus.iter().map(|cpu| cpu / per_package).collect();
        packages.len() as u32 * per_package != node.cpus.len() as u32
    });
    refuse_if(with_gaps && split, || {
        "ids with gaps are made of empty sockets, so each node with CPUs must be whole packages".into()
    })
}

fn distances(machine: &Description) -> Checked {
    let Some(rows) = &machine.distances else { return Ok(()) };
    shape("distances", rows, machine.nodes.len(), machine)?;
    for (from, row) in machine.nodes.iter().zip(rows) {
        for (to, &distance) in machine.nodes.iter().zip(row) {
            let fits = if from.id == to.id { distance == 10 } else { DISTANCES.contains(&distance) };
            refuse_if(!fits, || {
                format!(
                    "the distance from node {} to node {} is {distance}; a node to itself is 10, others are 11 to 254",
                    from.id, to.id
                )
            })?;
        }
    }
    Ok(())
}

fn speeds(machine: &Description) -> Checked {
    let initiators = machine.initiators().count();
    if let Some(rows) = &machine.latencies_ns {
        shape("latencies_ns", rows, initiators, machine)?;
        let possible = rows.iter().flatten().all(|ns| (1..=65_534).contains(ns));
        refuse_if(!possible, || "latencies_ns are 1 to 65534".into())?;
    }
    if let Some(rows) = &machine.bandwidths {
        shape("bandwidths", rows, initiators, machine)?;
        let possible = rows.iter().flatten().all(|rate| rate.0 >= 1 << 20 && rate.0 % (1 << 20) == 0);
        refuse_if(!possible, || "bandwidths are multiples of 1M (bytes per second)".into())?;
    }
    let told = machine.latencies_ns.is_some() || machine.bandwidths.is_some();
    let lost = machine.nodes.iter().find(|node| node.cpus.is_empty() && node.nearest.is_none());
    match lost {
        Some(node) if told => {
            Err(format!("node {} has no CPUs: say with `nearest` whose are the nearest", node.id))
        }
        _ => Ok(()),
    }
}

fn shape<T>(name: &str, rows: &[Vec<T>], count: usize, machine: &Description) -> Checked {
    let columns = machine.nodes.len();
    let fits = rows.len() == count && rows.iter().all(|row| row.len() == columns);
    refuse_if(!fits, || format!("{name} must be {count} rows of {columns} numbers, one column for each node"))
}

fn extras(machine: &Description) -> Checked {
    for cache in &machine.side_caches {
        refuse_if(machine.node(cache.node).is_none(), || {
            format!("a cache is in front of node {}, which is not there", cache.node)
        })?;
        refuse_if(machine.latencies_ns.is_none(), || {
            "memory-side caches are told with latencies_ns: give those too".into()
        })?;
        refuse_if(cache.size.0 == 0 || cache.size.0 > u64::from(u32::MAX), || {
            "a memory-side cache has 1 byte to 4G".into()
        })?;
    }
    for device in &machine.devices {
        refuse_if(machine.node(device.node).is_none_or(|node| node.cpus.is_empty()), || {
            format!("a device is next to node {}, which has no CPUs", device.node)
        })?;
    }
    // Sixteen buses for each node's slots: what the emulator's 256 have room for.
    refuse_if(machine.devices.len() > 24, || "more than 24 devices".into())?;
    if let Some(thp) = &machine.thp {
        let known = ["always", "madvise", "never"].contains(&thp.as_str());
        refuse_if(!known, || format!("thp is always, madvise or never, not `{thp}`"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Description, built_in_names};

    const GOOD: &str = r#"
about = "two nodes and one of memory alone"
distances = [[10, 21, 17], [21, 10, 28], [17, 28, 10]]
latencies_ns = [[100, 200, 50], [200, 100, 90]]
bandwidths = [["10G", "5G", "40G"], ["5G", "10G", "20G"]]
processor = { packages = 2, cores = 2 }
nodes = [
    { id = 0, cpus = "0-1", memory = "256M" },
    { id = 1, cpus = "2-3", memory = "128M", plugged = "128M" },
    { id = 2, memory = "128M", nearest = 0 },
]
devices = [{ kind = "nvme", node = 1 }]
"#;

    #[test]
    fn the_built_in_machines_are_machines() {
        for name in built_in_names() {
            Description::named(name).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        }
        let error = Description::named("two").unwrap_err().to_string();
        assert!(error.contains("`two`") && error.contains("two-node"), "{error}");
    }

    #[test]
    fn what_makes_no_machine_says_why() {
        Description::parse(GOOD).unwrap();
        let cases = [
            ("cpus = \"2-3\"", "cpus = \"2\"", "CPUs 3 are in no node"),
            ("cpus = \"2-3\"", "cpus = \"2-4\"", "CPU 4"),
            ("cpus = \"2-3\"", "cpus = \"1-3\"", "CPU 1 is in node 1 and in another"),
            ("cpus = \"2-3\"", "cpus = \"3-2\"", "no list of CPUs"),
            ("\"256M\"", "\"128M\"", "node 0 needs 256M"),
            ("\"256M\"", "\"much\"", "no size"),
            ("plugged = \"128M\"", "plugged = \"100M\"", "multiple of 128M"),
            ("id = 1", "id = 0", "nodes ascend"),
            ("id = 0", "id = 3", "node 0 is missing"),
            ("id = 2", "id = 200", "beyond the last"),
            ("nearest = 0", "nearest = 2", "cannot be those of node 2"),
            (", nearest = 0", "", "say with `nearest`"),
            ("memory = \"128M\", nearest = 0", "nearest = 0", "neither CPUs nor memory"),
            ("[10, 21, 17]", "[10, 21]", "3 rows of 3"),
            ("[10, 21, 17]", "[11, 21, 17]", "a node to itself is 10"),
            ("[10, 21, 17]", "[10, 9, 17]", "others are 11 to 254"),
            ("[[100, 200, 50], ", "[", "2 rows of 3"),
            ("\"40G\"", "1000", "multiples of 1M"),
            ("node = 1", "node = 2", "has no CPUs"),
            ("\"nvme\"", "\"disk\"", "not the description"),
            ("packages", "sockets", "not the description"),
            ("packages = 2", "packages = 4000000000", "more than the 255"),
            ("packages = 2", "packages = 0", "no CPU"),
        ];
        for (good, bad, why) in cases {
            assert!(GOOD.contains(good), "{good}");
            let error = Description::parse(&GOOD.replacen(good, bad, 1)).expect_err(bad);
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            let text = format!("{error}: {cause}");
            assert!(text.contains(why), "{bad}: {text}");
        }
    }

    #[test]
    fn nodes_that_linux_would_renumber_are_refused() {
        let swapped =
            GOOD.replace("\"0-1\"", "\"9\"").replace("\"2-3\"", "\"0-1\"").replace("\"9\"", "\"2-3\"");
        let error = Description::parse(&swapped).unwrap_err().to_string();
        assert!(error.contains("the other way round"), "{error}");
        let gap = "about = ''\nprocessor = { packages = 1, cores = 2 }\n\
                   nodes = [{ id = 0, cpus = '0', memory = '256M' }, { id = 2, cpus = '1', memory = '128M' }]";
        let error = Description::parse(gap).unwrap_err().to_string();
        assert!(error.contains("whole packages"), "{error}");
    }
}
