//! Placement words for regions, and copies that pay or not.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use firsttouch_linux::numa::NodeBits;
use firsttouch_machine::{Machine, Measurement, MemoryKind};
use firsttouch_memory::NodePolicy;
use firsttouch_placement::{MemoryPolicy, Policies, ResolveError, Surroundings, replication_cost};

/// A node of ordinary memory, and one of high bandwidth.
fn machine() -> Machine {
    let mut machine = Machine::from_source("[numa] pack:1 [numa] core:4 pu:1").unwrap();
    machine.limits.allowed_nodes = None;
    for node in &mut machine.nodes {
        node.kind = Some(if node.cpus.is_empty() { MemoryKind::Hbm } else { MemoryKind::Dram });
    }
    machine
}

fn policy(words: &str) -> Result<NodePolicy, ResolveError> {
    let kernel = Policies { preferred_many: true, weighted_interleave: true };
    let around = Surroundings { machine: &machine(), near: None, measured: None, kernel };
    words.parse::<MemoryPolicy>().unwrap().for_region(&around)
}

#[test]
fn words_and_tiers_become_nodes() {
    let machine = machine();
    let hbm = machine.nodes.iter().find(|node| node.cpus.is_empty()).unwrap().id;
    let one = NodeBits::of(&[hbm]).unwrap();
    let both = NodeBits::of(&[0, 1]).unwrap();
    assert_eq!(policy("bind=hbm").unwrap(), NodePolicy::Bind(one));
    assert_eq!(policy("prefer=hbm").unwrap(), NodePolicy::Prefer(one));
    assert_eq!(policy("interleave=all").unwrap(), NodePolicy::Interleave(both));
    assert_eq!(policy("local").unwrap(), NodePolicy::Local);
    assert!(matches!(policy("bind=cxl"), Err(ResolveError::NoSuchKind { .. })));
    assert!(policy("weighted").is_err(), "nothing was measured");
}

#[test]
fn a_copy_pays_by_what_was_measured() {
    let nodes = r#"[{"id":0,"cpus":[0],"size_bytes":1},{"id":1,"cpus":[1],"size_bytes":1}]"#;
    let square = |own: f64, other: f64| format!("[[{own},{other}],[{other},{own}]]");
    let (latency, read, copy, none) = (square(90.0, 140.0), square(10.0, 5.0), square(8.0, 6.0), "[]");
    let text = format!(
        r#"{{"schema_version":1,"date":"","machine":{{"cpu_model":null,"kernel":null,"virtual_machine":null}},"nodes":{nodes},
        "latency_ns":{latency},"loaded_latency_ns":{none},"load_gbps":{none},"read_gbps":{read},"write_gbps":{none},
        "copy_gbps":{copy},"numa_factor":{none},
        "single_cpu":{{"read_gbps":{read},"write_gbps":{none},"copy_gbps":{copy}}},
        "spread":{{"latency_ns":{{"low":[],"high":[]}},"loaded_latency_ns":{{"low":[],"high":[]}},
        "read_gbps":{{"low":[],"high":[]}},"write_gbps":{{"low":[],"high":[]}},"copy_gbps":{{"low":[],"high":[]}}}},
        "pages":{{"asked":"thp","huge_share":null,"latency_bytes":1,"bandwidth_bytes":1}},"page_latency":null,
        "method":{{"repetitions":1,"reads":1,"all_cpus":{{"read":"","write":"","copy":""}},
        "one_cpu":{{"read":"","write":"","copy":""}},"quick":false}},"disagreements":[],"notes":[]}}"#
    );
    let measured: Measurement = serde_json::from_str(&text).unwrap();
    let cost = replication_cost(&measured, 0, 1).unwrap();
    assert_eq!((cost.local_bytes_per_s, cost.remote_bytes_per_s, cost.copy_bytes_per_s), (10e9, 5e9, 4e9));
    // A gigabyte takes a quarter of a second to copy, and a tenth is won with each that is read.
    assert!((cost.streamed_bytes(1_000_000_000).unwrap() / 2.5e9 - 1.0).abs() < 1e-9);
    assert!((cost.random_reads(1_000_000_000).unwrap() / 5e6 - 1.0).abs() < 1e-9);
    // A copy of what is there already, and a node that was not measured.
    assert_eq!(replication_cost(&measured, 0, 0).unwrap().streamed_bytes(1 << 30), None);
    assert!(replication_cost(&measured, 0, 7).is_none());
}
