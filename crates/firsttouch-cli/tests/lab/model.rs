//! What `status` says in the guest is what the machine's description says.

use crate::bench::{Setting, Test, command, shell};
use crate::counts::succeeded;
use firsttouch_lab::{Collected, Description, DeviceKind, built_in_names};
use serde_json::{Value, json};

/// Of a node's memory the kernel keeps this much at most for itself before it counts: its own code and data, which lie on
/// another node at each boot, 64 MiB of bounce buffers where memory may come above 4 GiB, and a share for the page
/// descriptors.
const KEPT_BYTES: u64 = 128 << 20;
const KEPT_SHARE: u64 = 16;

pub(crate) fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> =
        built_in_names().into_iter().map(|machine| described(Setting::of(machine), machine)).collect();
    tests.push(described(Setting::of("knl-flat").newer(), "knl-flat"));
    tests.push(described(Setting::of("cxl").newer(), "cxl"));
    tests.extend([false, true].map(|newer| kinds("knl-flat", &["dram", "hbm"], newer)));
    tests.extend([false, true].map(|newer| kinds("cxl", &["dram", "dram", "cxl"], newer)));
    tests.extend([tiers(), plugged_later()]);
    tests
}

fn status() -> firsttouch_lab::Command {
    command(&["firsttouch", "status", "--json"])
}

fn machine_of(one: &Collected) -> Value {
    succeeded(one);
    let document: Value = serde_json::from_str(&one.stdout).unwrap();
    assert_eq!(document["machine"]["unreadable"], json!([]), "{document}");
    document["machine"].clone()
}

fn described(setting: Setting, name: &str) -> Test {
    let name = format!("status is the description of {name} (Linux {})", setting.release);
    Test::new(name, setting, vec![status()], |machine, ran| {
        let told = machine_of(&ran[0]);
        processors(machine, &told);
        nodes(machine, &told);
        speeds(machine, &told);
        devices(machine, &told);
    })
}

fn processors(machine: &Description, told: &Value) {
    let parts = machine.processor;
    let length = |key: &str| told[key].as_array().unwrap().len() as u32;
    assert_eq!(length("cpus"), parts.cpus());
    assert_eq!(length("packages"), parts.packages);
    assert_eq!(length("cores"), parts.packages * parts.dies * parts.cores);
}

fn nodes(machine: &Description, told: &Value) {
    let nodes = told["nodes"].as_array().unwrap();
    let ids: Vec<u64> = nodes.iter().map(|node| node["id"].as_u64().unwrap()).collect();
    let wanted: Vec<u64> = machine.nodes.iter().map(|node| node.id.into()).collect();
    assert_eq!(ids, wanted);
    for ((row, node), told) in machine.nodes.iter().enumerate().zip(nodes) {
        let id = node.id;
        assert_eq!(told["cpus"], json!(node.cpus), "node {id}");
        let (size, most) = (told["size_bytes"].as_u64().unwrap_or(0), node.bytes());
        let least = most.saturating_sub(KEPT_BYTES + most / KEPT_SHARE);
        assert!((least..=most).contains(&size), "node {id} has {size} of {most} bytes");
        if let Some(rows) = &machine.distances {
            for (column, other) in machine.nodes.iter().enumerate() {
                let distance = &told["distances"][other.id.to_string()];
                assert_eq!(*distance, json!(rows[row][column]), "from {id} to {}", other.id);
            }
        }
        let caches: Vec<u64> =
            machine.side_caches.iter().filter(|cache| cache.node == id).map(|cache| cache.size.0).collect();
        let told = told["side_caches"].as_array().unwrap();
        let told: Vec<u64> = told.iter().map(|cache| cache["size_bytes"].as_u64().unwrap()).collect();
        assert_eq!(told, caches, "node {id}");
    }
}

/// The kernel shows the speed from the nearest initiator: the best column entry, by the tables.
fn speeds(machine: &Description, told: &Value) {
    let Some(latencies) = &machine.latencies_ns else { return };
    for (column, node) in machine.nodes.iter().enumerate() {
        let best = latencies.iter().map(|row| row[column]).min().unwrap();
        // Class 1 is what CPUs see; every initiator here is one.
        let classes = told["nodes"][column]["access"].as_array().unwrap();
        let access = classes.iter().find(|access| access["class"] == 1).unwrap();
        assert_eq!(access["read_latency_ns"], json!(best), "node {}: {access}", node.id);
        let rates = machine.bandwidths.as_ref().unwrap().iter().map(|row| row[column].0);
        let (best, told) = (rates.max().unwrap(), access["read_bandwidth_bytes_per_s"].as_u64().unwrap());
        // The table counts in MiB/s, the kernel's file says MB/s and means the same number.
        assert_eq!(told / 1_000_000, best >> 20, "node {}: {access}", node.id);
    }
}

fn devices(machine: &Description, told: &Value) {
    for (kind, class) in [(DeviceKind::Nvme, "nvme"), (DeviceKind::Net, "net")] {
        let mut wanted: Vec<u32> =
            machine.devices.iter().filter(|device| device.kind == kind).map(|device| device.node).collect();
        wanted.sort_unstable();
        let devices = told["devices"].as_array().unwrap().iter().filter(|device| device["class"] == class);
        let mut nodes: Vec<u32> = devices.map(|device| device["node"].as_u64().unwrap() as u32).collect();
        nodes.sort_unstable();
        assert_eq!(nodes, wanted, "{class}: {}", told["devices"]);
    }
}

/// What each node's memory is, by the firmware's speeds alone or with the kernel's tiers.
fn kinds(name: &'static str, wanted: &'static [&str], newer: bool) -> Test {
    let setting = if newer { Setting::of(name).newer() } else { Setting::of(name) };
    let title = format!("memory of {name} is {} (Linux {})", wanted.join(", "), setting.release);
    Test::new(title, setting, vec![status()], move |_, ran| {
        let told = machine_of(&ran[0]);
        let kinds: Vec<&Value> = told["nodes"].as_array().unwrap().iter().map(|node| &node["kind"]).collect();
        assert_eq!(kinds, wanted, "{told}");
    })
}

/// From Linux 6.12 on, the tables sort nodes into tiers: lower is faster.
fn tiers() -> Test {
    Test::new("fast memory is in a faster tier", Setting::of("knl-flat").newer(), vec![status()], |_, ran| {
        let told = machine_of(&ran[0]);
        let tier = |node: usize| told["nodes"][node]["tier"].as_u64().unwrap();
        assert!(tier(1) < tier(0), "{told}");
    })
}

/// Memory that was plugged in is a node without memory until someone makes it usable.
fn plugged_later() -> Test {
    let take_in = "for block in /sys/devices/system/node/node1/memory[0-9]*; do echo online_movable > $block/state; done";
    let setting = Setting { left_offline: true, ..Setting::of("hotplug") };
    Test::new(
        "plugged memory comes when it is made usable",
        setting,
        vec![status(), shell(take_in), status()],
        |machine, ran| {
            let size = |one: &Collected| machine_of(one)["nodes"][1]["size_bytes"].as_u64();
            assert_eq!(size(&ran[0]).unwrap_or(0), 0);
            succeeded(&ran[1]);
            assert_eq!(size(&ran[2]), Some(machine.nodes[1].bytes()));
        },
    )
}
