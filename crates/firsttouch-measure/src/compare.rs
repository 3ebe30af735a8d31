//! What was measured against what the firmware's tables state.

use firsttouch_machine::{Disagreement, Machine, Matrix, MeasuredNode};

/// A distance, latency or bandwidth that is off by more than this factor is a disagreement: distances are coarse by
/// design, and a table's latency is that of the hardware without what stands in front of it.
const OFF: f64 = 1.5;
/// A node that the table calls nearer is farther by more than this factor.
const REVERSED: f64 = 1.1;

/// Latency to each node over latency to the own memory; `None` in rows of nodes that have none.
pub(crate) fn numa_factor(latency_ns: &Matrix) -> Matrix {
    let row = |(place, row): (usize, &Vec<Option<f64>>)| {
        let own = row[place];
        row.iter().map(|value| Some((*value)? / own?)).collect()
    };
    latency_ns.iter().enumerate().map(row).collect()
}

/// Every disagreement with distances (SLIT) and stated speeds (HMAT).
pub(crate) fn with_firmware(
    machine: &Machine,
    nodes: &[MeasuredNode],
    latency_ns: &Matrix,
    read_gbps: &Matrix,
    write_gbps: &Matrix,
) -> Vec<Disagreement> {
    let mut found = Vec::new();
    distances(machine, nodes, latency_ns, &mut found);
    speeds(machine, nodes, [latency_ns, read_gbps, write_gbps], &mut found);
    found
}

fn distances(machine: &Machine, nodes: &[MeasuredNode], latency_ns: &Matrix, found: &mut Vec<Disagreement>) {
    let factor = numa_factor(latency_ns);
    for (row, node) in nodes.iter().enumerate() {
        let Some(distances) = machine.nodes.get(row).and_then(|node| node.distances.as_ref()) else {
            continue;
        };
        let Some(own) = distances.get(&node.id).map(|own| f64::from(*own)) else { continue };
        // Stated and measured multiples of the own memory's distance, for the nodes that have both.
        let others: Vec<(u32, f64, f64)> = (nodes.iter().enumerate())
            .filter(|(column, _)| *column != row)
            .filter_map(|(column, other)| {
                Some((other.id, f64::from(*distances.get(&other.id)?) / own, factor[row][column]?))
            })
            .collect();
        for &(memory_node, stated, measured) in &others {
            let reversed = others.iter().find(|(_, other_stated, other_measured)| {
                *other_stated > stated && measured > other_measured * REVERSED
            });
            let what = match reversed {
                _ if is_off(stated, measured) => "distance",
                Some(_) => "order",
                None => continue,
            };
            found.push(Disagreement {
                table: "slit".to_owned(),
                what: what.to_owned(),
                cpu_node: node.id,
                memory_node,
                stated,
                measured,
            });
        }
    }
}

fn speeds(machine: &Machine, nodes: &[MeasuredNode], measured: [&Matrix; 3], found: &mut Vec<Disagreement>) {
    for (column, node) in machine.nodes.iter().enumerate() {
        let Some(access) = node.speed_from_cpus() else { continue };
        let gbps = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / 1e9);
        let stated = [
            ("read_latency_ns", access.read_latency_ns.map(|ns| ns as f64)),
            ("read_gbps", gbps(access.read_bandwidth_bytes_per_s)),
            ("write_gbps", gbps(access.write_bandwidth_bytes_per_s)),
        ];
        for initiator in &access.initiators {
            let Some(row) = nodes.iter().position(|node| node.id == *initiator) else { continue };
            for ((what, stated), measured) in stated.into_iter().zip(measured) {
                if let (Some(stated), Some(measured)) = (stated, measured[row][column])
                    && is_off(stated, measured)
                {
                    found.push(Disagreement {
                        table: "hmat".to_owned(),
                        what: what.to_owned(),
                        cpu_node: *initiator,
                        memory_node: node.id,
                        stated,
                        measured,
                    });
                }
            }
        }
    }
}

fn is_off(stated: f64, measured: f64) -> bool {
    measured > stated * OFF || stated > measured * OFF
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_machine::Root;
    use std::fs;

    /// Three nodes at distances 10, 20 and 30; node 2 has no CPUs, and a table says how fast it is from node 0.
    fn machine() -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: String, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/cpuinfo".to_owned(), "processor : 0\n");
        write("sys/devices/system/cpu/online".to_owned(), "0-1\n");
        for cpu in 0..2 {
            write(format!("sys/devices/system/cpu/cpu{cpu}/topology/core_id"), "0\n");
        }
        for (node, (cpus, distances)) in
            [("0", "10 20 30"), ("1", "20 10 30"), ("", "30 30 10")].iter().enumerate()
        {
            let folder = format!("sys/devices/system/node/node{node}");
            write(format!("{folder}/cpulist"), cpus);
            write(format!("{folder}/distance"), distances);
            write(format!("{folder}/meminfo"), &format!("Node {node} MemTotal: 1024 kB\n"));
        }
        let access = "sys/devices/system/node/node2/access0/initiators";
        write(format!("{access}/node0/x"), "");
        write(format!("{access}/read_latency"), "300\n");
        write(format!("{access}/read_bandwidth"), "20000\n");
        Machine::read(&Root::at(folder.path())).unwrap()
    }

    fn compared(latency: [[f64; 3]; 2], read: f64) -> Vec<(String, u32, u32)> {
        let machine = machine();
        let nodes = MeasuredNode::all_of(&machine);
        let mut latency: Matrix = latency.iter().map(|row| row.iter().copied().map(Some).collect()).collect();
        latency.push(vec![None; 3]);
        let mut rates = vec![vec![None; 3]; 3];
        rates[0][2] = Some(read);
        with_firmware(&machine, &nodes, &latency, &rates, &vec![vec![None; 3]; 3])
            .into_iter()
            .map(|found| (format!("{} {}", found.table, found.what), found.cpu_node, found.memory_node))
            .collect()
    }

    #[test]
    fn what_agrees_is_not_told() {
        assert_eq!(compared([[100.0, 180.0, 280.0], [190.0, 100.0, 290.0]], 18.0), []);
    }

    #[test]
    fn lies_are_found_where_they_are() {
        let found = compared([[100.0, 120.0, 280.0], [240.0, 100.0, 201.0]], 5.0);
        let expected = [("slit distance", 0, 1), ("slit order", 1, 0), ("hmat read_gbps", 0, 2)];
        assert_eq!(found, expected.map(|(what, cpu, memory)| (what.to_owned(), cpu, memory)));
    }

    #[test]
    fn a_factor_needs_own_memory() {
        let latency = vec![vec![Some(100.0), Some(150.0)], vec![Some(160.0), None]];
        assert_eq!(numa_factor(&latency), [[Some(1.0), Some(1.5)], [None, None]]);
    }
}
