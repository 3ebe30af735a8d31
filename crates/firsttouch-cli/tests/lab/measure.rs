//! `measure` and `doctor --measure` on machines with several nodes: every pair, and every node, that can be measured
//! is. The numbers mean nothing under emulation; that they are there, and where they are not, does.

use crate::bench::{Setting, Test, command, shell};
use crate::counts::succeeded;
use firsttouch_documents::Quantity;
use firsttouch_lab::Collected;
use serde_json::Value;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        pairs("two-node", "measure finds every pair of nodes", &[&[0, 1], &[0, 1]]),
        pairs("knl-flat", "measure knows memory without CPUs", &[&[0, 1], &[]]),
        cores(),
        doctor(),
    ]
}

/// Each node that has room is measured; of one that is nearly full it is told that it has none.
fn doctor() -> Test {
    // All of node 1 but 40 MiB, and of node 0 as much as keeps sizes small, which an emulator takes long for: how much a node has
    // free is another each time, by the files of the guest, which lie in memory.
    let fill = |node: u32, rest_mib: u64| {
        shell(&format!(
            "while read -r _ _ what kib _; do [ $what = MemFree: ] && free=$kib; done \
             < /sys/devices/system/node/node{node}/meminfo; \
             firsttouch setup pages 2m=$(((free - {}) / 2048)) --node {node} --force --apply",
            rest_mib << 10
        ))
    };
    let commands = vec![
        fill(1, 40),
        fill(0, 330),
        command(&["firsttouch", "doctor", "--measure", "--json"]),
        command(&["firsttouch", "setup", "--undo"]),
        command(&["firsttouch", "setup", "--undo"]),
    ];
    let name = "doctor measures the nodes that have room, and says which have none (two-node)";
    Test::new(name, Setting::of("two-node"), commands, |_, ran| {
        // What is left reserved would be missing in the tests that share the boot.
        [0, 1, 3, 4].iter().for_each(|&one| succeeded(&ran[one]));
        let document = document(&ran[2]);
        let host = &document["hosts"][0];
        for quantity in &Quantity::ALL {
            let value = &host["measured"][quantity.word_of(Some(0))];
            assert!(value.as_u64().is_some_and(|value| value > 0), "{document}");
            let word = quantity.word_of(Some(1));
            assert!(host["measured"][&word].is_null(), "{document}");
            let unseen = host["unseen"].as_array().unwrap();
            let unseen = unseen.iter().find(|unseen| unseen["topic"] == word).unwrap();
            assert!(unseen["why"].as_str().unwrap().contains(" can be had, and "), "{unseen}");
        }
    })
}

/// Every pair of CPUs, by what they share.
fn cores() -> Test {
    let measure = ["firsttouch", "measure", "--quick", "--size", "2M", "--cores", "--no-save", "--json"];
    let run = command(&measure);
    Test::new("measure knows what CPUs share (two-node)", Setting::of("two-node"), vec![run], |_, ran| {
        let document = document(&ran[0]);
        let node_of = |cpu: &Value| {
            let nodes = document["nodes"].as_array().unwrap();
            nodes.iter().position(|node| node["cpus"].as_array().unwrap().contains(cpu)).unwrap()
        };
        let cores = &document["cores"];
        let cpus = cores["cpus"].as_array().unwrap().len();
        let pairs = cores["pairs"].as_array().unwrap();
        assert_eq!(pairs.len(), cpus * (cpus - 1) / 2, "{document}");
        for pair in pairs {
            let is_remote = node_of(&pair["cpus"][0]) != node_of(&pair["cpus"][1]);
            assert_eq!(pair["class"] == "remote", is_remote, "{pair}");
            assert!(pair["latency_ns"].as_f64().unwrap() > 0.0, "{pair}");
        }
    })
}

/// The memory nodes, by place, that the CPUs of each node are measured with.
fn pairs(machine: &'static str, name: &str, expected: &'static [&'static [usize]]) -> Test {
    let run = command(&["firsttouch", "measure", "--quick", "--size", "2M", "--no-save", "--json"]);
    Test::new(format!("{name} ({machine})"), Setting::of(machine), vec![run], move |_, ran| {
        let document = document(&ran[0]);
        for key in ["latency_ns", "read_gbps", "write_gbps", "copy_gbps"] {
            let rows = document[key].as_array().unwrap();
            assert_eq!(rows.len(), expected.len(), "{key}: {document}");
            for (row, columns) in rows.iter().zip(expected) {
                let measured: Vec<usize> = row
                    .as_array()
                    .unwrap()
                    .iter()
                    .enumerate()
                    .filter(|(_, value)| value.as_f64().is_some_and(|value| value > 0.0))
                    .map(|(column, _)| column)
                    .collect();
                assert_eq!(&measured, columns, "{key}: {document}");
            }
        }
        for (place, columns) in expected.iter().enumerate() {
            let own = &document["numa_factor"][place][place];
            assert_eq!(own.as_f64(), (!columns.is_empty()).then_some(1.0), "{document}");
        }
    })
}

fn document(one: &Collected) -> Value {
    succeeded(one);
    serde_json::from_str(&one.stdout).unwrap()
}
