//! A recording made by hand: a program on two nodes whose memory becomes huge and moves, and one of a stranger.

use firsttouch_documents::{
    PoolLevel, Recording, WatchCost, WatchEnd, WatchEnding, WatchHeader, WatchSample, WatchedFaults,
    WatchedMachine, WatchedMemory, WatchedProcess, WatchedThreads,
};
use firsttouch_machine::{MeasuredMachine, MeasuredNode};
use std::collections::BTreeMap;

const MIB: u64 = 1 << 20;

fn node(id: u32, cpus: &[u32]) -> MeasuredNode {
    MeasuredNode { id, cpus: cpus.to_vec(), size_bytes: Some(64 << 30) }
}

fn header(command: &[&str]) -> WatchHeader {
    WatchHeader {
        started: "2026-01-01T00:00:00Z".to_owned(),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        pid: 4321,
        tree: false,
        interval_s: 1.0,
        budget: 0.01,
        machine: MeasuredMachine {
            cpu_model: Some("A Processor".to_owned()),
            kernel: Some("6.12.0".to_owned()),
            virtual_machine: Some(false),
        },
        nodes: vec![node(0, &[0, 1]), node(1, &[2, 3])],
    }
}

fn sample(second: u64) -> WatchSample {
    let huge = 64 * MIB * second;
    let small = 2048 * MIB - huge;
    let moved = 100 * MIB * second.saturating_sub(10).min(10);
    let memory = WatchedMemory {
        bytes_by_page_size: BTreeMap::from([(4096, small), (2 << 20, huge)]),
        bytes_by_node: Some(BTreeMap::from([(0, 2048 * MIB - moved), (1, moved)])),
        sampled_pages: Some(16_384),
        left_out: Vec::new(),
        huge_bytes: huge,
        huge_share: Some(huge as f64 / 2000.0 / MIB as f64).map(|share| share.min(1.0)),
        took_s: 0.018,
        longest_call_s: 0.012,
    };
    let threads = WatchedThreads {
        count: 8,
        running: 2,
        by_cpu: BTreeMap::from([(0, 3), (1, 2), (3, 3)]),
        by_node: BTreeMap::from([(0, 5), (1, 3)]),
        cores_by_node: (second > 0).then(|| BTreeMap::from([(0, 1.25), (1, 0.5)])),
        migrations: Some(second * 3),
        migrations_per_s: (second > 0).then_some(3.0),
    };
    let machine = WatchedMachine {
        rates_per_s: BTreeMap::from([
            ("pgmigrate_success".to_owned(), moved as f64 / 4096.0),
            ("thp_collapse_alloc".to_owned(), 32.0),
            ("thp_split_pmd".to_owned(), 0.0),
        ]),
        free_bytes_by_node: BTreeMap::from([(0, 30 << 30), (1, 50 << 30)]),
        pools: vec![PoolLevel {
            page_bytes: 2 << 20,
            pages: Some(512),
            free: Some(500 - second),
            reserved: Some(4),
            free_by_node: BTreeMap::from([(0, 500 - second)]),
        }],
    };
    let after_first = |value: f64| (second > 0).then_some(value);
    WatchSample {
        t_s: second as f64,
        resident_bytes: 2048 * MIB,
        peak_bytes: Some(2100 * MIB),
        swap_bytes: Some(0),
        anonymous_bytes: Some(2000 * MIB),
        // Walks come every fourth second.
        memory: second.is_multiple_of(4).then_some(memory),
        faults: WatchedFaults {
            minor: second * 1000,
            major: 0,
            minor_per_s: after_first(1000.0 + 40.0 * second as f64),
            major_per_s: after_first(0.0),
        },
        cores: after_first(1.75),
        threads: Some(threads),
        processes: vec![WatchedProcess {
            pid: 4321,
            command: "simulate".to_owned(),
            state: 'R',
            resident_bytes: 2048 * MIB,
        }],
        machine: Some(machine),
        cost: WatchCost { cpu_s: 0.002, core_share: after_first(0.0062) },
        unreadable: Vec::new(),
    }
}

/// Half a minute.
pub fn two_nodes() -> Recording {
    Recording {
        header: header(&["./simulate", "--steps", "1000"]),
        samples: (0..=28).map(sample).collect(),
        end: Some(WatchEnd { ended: WatchEnding::TargetEnded, t_s: 28.4, core_share: Some(0.0061) }),
    }
}

/// With words that a terminal or a page could obey, several processes, nothing readable, and no end.
pub fn awkward() -> Recording {
    let process = |pid| WatchedProcess {
        pid,
        command: "<b>\u{1b}[2J".to_owned(),
        state: 'S',
        resident_bytes: u64::MAX / 4,
    };
    let first = WatchSample {
        processes: vec![process(1), process(2)],
        resident_bytes: u64::MAX / 2,
        unreadable: vec!["memory of process 1: <i>\u{7}permission denied".to_owned()],
        ..WatchSample::default()
    };
    let mut header = header(&["a <b>", "\u{1b}[31m", "</script>"]);
    header.tree = true;
    Recording {
        header,
        samples: vec![first.clone(), WatchSample { t_s: f64::MAX / 2.0, ..first }],
        end: None,
    }
}

/// Watched, but never seen.
pub fn empty() -> Recording {
    Recording { header: header(&["true"]), samples: Vec::new(), end: None }
}
