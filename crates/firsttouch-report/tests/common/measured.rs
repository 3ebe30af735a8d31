//! Measurements made by hand: two sockets with slow memory beside them, and one node.

use firsttouch_machine::{
    CoreLatency, CpuPair, CpuPairClass, Disagreement, Matrix, MeasuredMachine, MeasuredNode, MeasuredPages,
    Measurement, Method, PageLatency, Range, SingleCpu, Spread, StreamInstructions,
};

fn node(id: u32, cpus: &[u32]) -> MeasuredNode {
    MeasuredNode { id, cpus: cpus.to_vec(), size_bytes: Some(64 << 30) }
}

/// Rows of nodes 0 and 1; the third node has no CPUs.
fn matrix(rows: [[f64; 3]; 2]) -> Matrix {
    let mut matrix: Matrix = rows.iter().map(|row| row.iter().copied().map(Some).collect()).collect();
    matrix.push(vec![None; 3]);
    matrix
}

fn scaled(matrix: &Matrix, factor: f64) -> Matrix {
    matrix.iter().map(|row| row.iter().map(|value| value.map(|value| value * factor)).collect()).collect()
}

fn around(matrix: &Matrix) -> Range {
    Range { low: scaled(matrix, 0.9), high: scaled(matrix, 1.25) }
}

fn means() -> StreamInstructions {
    StreamInstructions {
        read: "avx512".to_owned(),
        write: "avx2 non-temporal".to_owned(),
        copy: "plain".to_owned(),
    }
}

/// Three nodes, of which the last is slow and without CPUs.
pub fn three_nodes() -> Measurement {
    let latency = matrix([[92.0, 148.0, 310.0], [151.0, 90.0, 335.0]]);
    let read = matrix([[180.0, 62.0, 24.0], [61.0, 182.0, 20.0]]);
    let single = matrix([[12.0, 9.0, 6.0], [9.1, 12.1, 5.5]]);
    Measurement {
        date: "2026-01-01T00:00:00Z".to_owned(),
        machine: MeasuredMachine {
            cpu_model: Some("Processor <b>\u{7}</b> \"9\"".to_owned()),
            kernel: Some("6.12.0".to_owned()),
            virtual_machine: Some(false),
        },
        nodes: vec![node(0, &[0, 1, 2, 3]), node(1, &[4, 5, 6, 7]), node(4, &[])],
        numa_factor: matrix([[1.0, 148.0 / 92.0, 310.0 / 92.0], [151.0 / 90.0, 1.0, 335.0 / 90.0]]),
        loaded_latency_ns: scaled(&latency, 2.2),
        load_gbps: scaled(&read, 0.7),
        write_gbps: scaled(&read, 0.6),
        copy_gbps: scaled(&read, 0.8),
        single_cpu: SingleCpu {
            write_gbps: scaled(&single, 0.7),
            copy_gbps: scaled(&single, 0.9),
            read_gbps: single,
        },
        spread: Spread {
            latency_ns: around(&latency),
            loaded_latency_ns: around(&latency),
            read_gbps: around(&read),
            write_gbps: around(&read),
            copy_gbps: around(&read),
        },
        latency_ns: latency,
        read_gbps: read,
        pages: MeasuredPages {
            asked: "2m".to_owned(),
            obtained: vec!["2m".to_owned(), "thp".to_owned()],
            huge_share: Some(0.997),
            latency_bytes: 1 << 30,
            bandwidth_bytes: 1 << 30,
        },
        cores: Some(cores()),
        page_latency: Some(PageLatency { size_bytes: 1 << 30, small_ns: 133.4, huge_ns: 92.0 }),
        method: Method { repetitions: 7, reads: 1 << 20, all_cpus: means(), one_cpu: means(), quick: false },
        disagreements: vec![
            Disagreement {
                table: "slit".to_owned(),
                what: "order".to_owned(),
                cpu_node: 0,
                memory_node: 1,
                stated: 2.1,
                measured: 1.6,
            },
            Disagreement {
                table: "hmat".to_owned(),
                what: "read_gbps".to_owned(),
                cpu_node: 1,
                memory_node: 4,
                stated: 60.0,
                measured: 20.0,
            },
        ],
        notes: vec!["node 5 was left out: </script><script>".to_owned()],
    }
}

/// Two CPUs of each node, which share a cache.
fn cores() -> CoreLatency {
    let pair = |a: u32, b: u32, latency_ns| CpuPair {
        cpus: [a, b],
        class: if a / 4 == b / 4 { CpuPairClass::Cache } else { CpuPairClass::Remote },
        latency_ns,
        low_ns: latency_ns - 1.0,
        high_ns: latency_ns + 20.0,
    };
    let pairs = vec![
        pair(0, 1, 24.4),
        pair(0, 4, 141.0),
        pair(0, 5, 139.5),
        pair(1, 4, 140.2),
        pair(1, 5, 138.0),
        pair(4, 5, 25.0),
    ];
    CoreLatency::of("2026-01-01T00:00:00Z".to_owned(), vec![0, 1, 4, 5], pairs, 45, 200)
}

/// One node with one CPU: no loaded latency, nothing to compare.
pub fn one_node() -> Measurement {
    let one = |value| vec![vec![value]];
    let range = |low, high| Range { low: one(Some(low)), high: one(Some(high)) };
    let three = three_nodes();
    Measurement {
        nodes: vec![node(0, &[0])],
        cores: None,
        latency_ns: one(Some(92.4)),
        loaded_latency_ns: one(None),
        load_gbps: one(None),
        read_gbps: one(Some(12.5)),
        write_gbps: one(Some(8.25)),
        copy_gbps: one(Some(9.75)),
        numa_factor: one(Some(1.0)),
        single_cpu: SingleCpu {
            read_gbps: one(Some(12.5)),
            write_gbps: one(Some(8.25)),
            copy_gbps: one(Some(9.75)),
        },
        spread: Spread {
            latency_ns: range(91.0, 99.5),
            loaded_latency_ns: Range { low: one(None), high: one(None) },
            read_gbps: range(11.0, 13.0),
            write_gbps: range(8.0, 8.5),
            copy_gbps: range(9.0, 10.0),
        },
        disagreements: Vec::new(),
        notes: vec!["one node: there is no other to compare with".to_owned()],
        ..three
    }
}
