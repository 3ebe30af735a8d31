//! Recorded machines (`../shared/data/machines` beside the workspace, where it exists): facts that were taken from
//! the files by hand.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../../../tests/skipped.rs"]
mod skipped;
mod written;

use firsttouch_machine::{Features, Machine, Root, StatusReport};
use skipped::skipped;
use std::path::{Path, PathBuf};
use std::thread;

const KIB: u64 = 1 << 10;

/// What is known of a recorded machine.
struct Known {
    archive: &'static str,
    model: &'static str,
    /// All CPUs, those online, cores, packages.
    counts: (usize, u32, usize, usize),
    /// Ids of the nodes.
    nodes: &'static [u32],
    /// A node: its id, how many CPUs, its size in KiB, its distances in the order of `nodes`.
    node: (u32, usize, u64, &'static [u32]),
    /// How many last-level caches, and their size in KiB.
    last_cache: Option<(usize, u64)>,
    /// Size of a page in KiB and the number of pages, for each pool.
    pools: &'static [(u64, u64)],
}

const MACHINES: [Known; 10] = [
    Known {
        archive: "128ia64-17n4s2c",
        model: "Dual-Core Intel(R) Itanium(R) Processor 9140N",
        counts: (128, 128, 128, 64),
        nodes: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
        node: (16, 0, 1_020_176, &[14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 10]),
        last_cache: None,
        pools: &[],
    },
    Known {
        archive: "16amd64-8n2c",
        model: "Dual Core AMD Opteron(tm) Processor 865",
        counts: (16, 16, 16, 8),
        nodes: &[0, 1, 2, 3, 4, 5, 6, 7],
        node: (3, 2, 8_388_608, &[20, 20, 20, 10, 20, 20, 20, 20]),
        last_cache: Some((16, 1024)),
        pools: &[],
    },
    Known {
        archive: "32amd64-4s2n4c-cgroup2",
        model: "AMD Opteron(tm) Processor 6134",
        counts: (32, 32, 32, 4),
        nodes: &[0, 1, 2, 3, 4, 5, 6, 7],
        node: (3, 4, 16_777_216, &[22, 16, 16, 10, 22, 16, 22, 16]),
        last_cache: Some((8, 5118)),
        pools: &[(2048, 513)],
    },
    Known {
        archive: "40intel64-2g2n4c+pcilocality",
        model: "Intel(R) Xeon(R) CPU E7- 4870 @ 2.40GHz",
        counts: (40, 40, 40, 4),
        nodes: &[0, 1, 2, 3],
        node: (2, 10, 134_217_728, &[20, 20, 10, 20]),
        last_cache: Some((4, 30_720)),
        pools: &[(2048, 0)],
    },
    Known {
        archive: "48amd64-4pa2n6c-sparse",
        model: "AMD Engineering Sample",
        counts: (48, 48, 48, 4),
        nodes: &[0, 1, 2, 33, 34, 45, 72, 73],
        node: (33, 6, 16_777_216, &[22, 16, 16, 10, 16, 16, 22, 22]),
        last_cache: Some((8, 5118)),
        pools: &[(2048, 0)],
    },
    Known {
        archive: "64amd64-4s2n4ca2co",
        model: "AMD Opteron(TM) Processor 6276",
        // Two cores in each compute unit.
        counts: (64, 64, 64, 4),
        nodes: &[0, 1, 2, 3, 4, 5, 6, 7],
        node: (5, 8, 8_388_608, &[22, 22, 16, 16, 16, 10, 22, 16]),
        last_cache: Some((8, 6144)),
        pools: &[(2048, 0)],
    },
    Known {
        archive: "fakeheteromemtiers",
        model: "QEMU Virtual CPU version 2.5+",
        counts: (6, 6, 6, 1),
        nodes: &[0, 1, 2, 4, 6, 8, 9],
        node: (4, 0, 524_288, &[20, 20, 20, 10, 20, 20, 20]),
        last_cache: Some((1, 16_384)),
        pools: &[(2048, 0)],
    },
    Known {
        archive: "memorysidecaches",
        model: "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz",
        counts: (80, 80, 40, 2),
        nodes: &[0, 1, 2, 3],
        node: (1, 20, 390_163_848, &[21, 10, 21, 11]),
        last_cache: Some((2, 28_160)),
        pools: &[(2048, 0), (1_048_576, 0)],
    },
    Known {
        archive: "nvidiagpunumanodes",
        model: "POWER9, altivec supported",
        counts: (32, 32, 8, 2),
        nodes: &[0, 8, 250, 251, 252, 253, 254, 255],
        node: (252, 0, 15_728_640, &[80, 80, 80, 80, 10, 80, 80, 80]),
        last_cache: Some((4, 10_240)),
        pools: &[(2048, 0), (1_048_576, 0)],
    },
    Known {
        archive: "offline-cpu0-node0",
        model: "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz",
        counts: (24, 17, 17, 2),
        nodes: &[1],
        // The row of distances counts node 0 too, which is offline.
        node: (1, 8, 67_108_864, &[10]),
        last_cache: Some((2, 30_720)),
        pools: &[(2048, 0), (1_048_576, 0)],
    },
];

/// The folder of the recordings; `None`, with a word about it, where the workspace stands alone.
fn recordings() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/machines");
    if !folder.is_dir() {
        skipped(&format!("no recorded machines at {}: the written machine stands in", folder.display()));
        return None;
    }
    Some(folder)
}

fn check(known: &Known, machine: &Machine) {
    let name = known.archive;
    assert_eq!(machine.cpu_model.as_deref(), Some(known.model), "{name}");
    let counts =
        (machine.cpus.len(), machine.cpus_online.unwrap(), machine.cores.len(), machine.packages.len());
    assert_eq!(counts, known.counts, "{name}");
    assert_eq!(machine.nodes.iter().map(|node| node.id).collect::<Vec<_>>(), known.nodes, "{name}");
    let (id, cpus, kib, distances) = known.node;
    let node = machine.nodes.iter().find(|node| node.id == id).unwrap();
    assert_eq!((node.cpus.len(), node.size_bytes), (cpus, Some(kib * KIB)), "{name}");
    let row: Vec<u32> = known.nodes.iter().map(|other| node.distances.as_ref().unwrap()[other]).collect();
    assert_eq!(row, distances, "{name}");
    let level = machine.caches.iter().map(|cache| cache.level).max();
    let last: Vec<_> = machine.caches.iter().filter(|cache| Some(cache.level) == level).collect();
    let found = last.first().map(|cache| (last.len(), cache.size_bytes.unwrap() / KIB));
    assert_eq!(found, known.last_cache, "{name}");
    let pools: Vec<_> =
        machine.pools.iter().map(|pool| (pool.page_bytes / KIB, pool.pages.unwrap())).collect();
    assert_eq!(pools, known.pools, "{name}");
    for node in &machine.nodes {
        assert!(node.free_bytes <= node.size_bytes, "{name}");
    }
    assert!(machine.unreadable.is_empty(), "{name}: {:?}", machine.unreadable);
    assert_eq!(machine.features, Features::default(), "{name}: the kernel that runs the test was not asked");
}

#[test]
fn recordings_say_what_their_files_say() {
    let Some(folder) = recordings() else {
        let written = written::two_nodes();
        let known = Known {
            archive: "written",
            model: "Written Processor",
            counts: (3, 2, 1, 1),
            nodes: &[0, 1],
            node: (1, 0, 2 << 20, &[26, 10]),
            last_cache: Some((1, 1024)),
            pools: &[(2048, 16)],
        };
        check(&known, &StatusReport::examine(&Root::at(written.path())).unwrap().machine);
        return;
    };
    // Unpacking takes nearly all the time.
    thread::scope(|scope| {
        for known in &MACHINES {
            let folder = &folder;
            scope.spawn(move || {
                let archive = folder.join(format!("{}.tar.bz2", known.archive));
                let machine = Machine::from_source(archive.to_str().unwrap()).unwrap();
                check(known, &machine);
                check_particulars(known.archive, &machine);
            });
        }
    });
}

#[test]
fn recorded_answers_of_cpuid_say_what_the_processors_are() {
    // Packages, cores, CPUs; last-level caches and their size in KiB. Where there are no recordings, two packages of the same
    // processors as their manuals describe them.
    let (nehalem, istanbul) = match recordings() {
        Some(folder) => {
            let read = |name: &str| Machine::from_source(folder.join(name).to_str().unwrap()).unwrap();
            (
                read("Intel-Nehalem-2xXeon-X5550.tar.bz2"),
                (read("AMD-K10-Istanbul-8xOpteron-8439SE.tar.bz2"), 8),
            )
        }
        None => {
            let read = |files: written::cpuid::Files| {
                let folder = written::Written::new();
                for (name, text) in &files {
                    folder.file(name, text);
                }
                Machine::from_source(folder.path().to_str().unwrap()).unwrap()
            };
            (read(written::cpuid::nehalem()), (read(written::cpuid::istanbul()), 2))
        }
    };
    let counts = |machine: &Machine| {
        let last: Vec<_> = machine.caches.iter().filter(|cache| cache.level == 3).collect();
        let kib = last.first().unwrap().size_bytes.unwrap() / KIB;
        (machine.packages.len(), machine.cores.len(), machine.cpus_online.unwrap(), last.len(), kib)
    };
    assert_eq!(counts(&nehalem), (2, 8, 16, 2, 8192));
    assert_eq!(nehalem.cpu_model.as_deref(), Some("Intel(R) Xeon(R) CPU X5550 @ 2.67GHz"));
    let (istanbul, packages) = istanbul;
    assert_eq!(counts(&istanbul), (packages, 6 * packages, 6 * packages as u32, packages, 5120));
    assert_eq!((nehalem.memory_bytes, istanbul.memory_bytes), (None, None), "not known, not 0");
}

fn check_particulars(archive: &str, machine: &Machine) {
    let limits = &machine.limits;
    match archive {
        "memorysidecaches" => {
            assert_eq!(machine.nodes[0].side_caches[0].size_bytes, Some(103_079_215_104));
            assert!(machine.nodes[0].access.is_empty(), "the firmware's entries are all 0");
            assert_eq!(machine.cores[0].cpus.len(), 2);
        }
        "fakeheteromemtiers" => {
            let access = machine.nodes[3].speed_from_cpus().unwrap();
            assert_eq!((access.class, access.initiators.as_slice()), (1, [1].as_slice()));
            assert_eq!(access.read_bandwidth_bytes_per_s, Some(10_000_000_000));
            assert_eq!(access.read_latency_ns, None);
            assert_eq!((machine.virtual_machine, machine.hypervisor.as_deref()), (Some(true), Some("QEMU")));
            assert_eq!(limits.cpuset_mems.as_deref(), Some([0, 1, 2, 4, 6, 8, 9].as_slice()));
        }
        "offline-cpu0-node0" => {
            assert_eq!(machine.nodes[0].distances.as_ref().unwrap()[&0], 21);
            assert!(!machine.cpus[0].online);
            assert_eq!(machine.cpus[4].node, None, "its node is offline");
        }
        "40intel64-2g2n4c+pcilocality" => {
            let near = |name: &str| machine.devices.iter().find(|device| device.name == name).unwrap();
            assert_eq!((near("qib0").node, near("qib0").address.as_deref()), (Some(2), Some("0000:43:00.0")));
            assert_eq!((near("ib0").node, near("eth0").node), (Some(2), None));
            assert!(
                machine.devices.iter().all(|device| !device.name.starts_with("loop") && device.name != "lo")
            );
            assert_eq!(limits.cpuset_cpus.as_ref().map(Vec::len), Some(40), "mounted without prefix");
        }
        "32amd64-4s2n4c-cgroup2" => {
            assert_eq!(limits.cpuset_cpus.as_deref(), Some([0, 1, 2, 3, 4, 5].as_slice()));
            assert_eq!(machine.pools[0].free, Some(513));
        }
        "nvidiagpunumanodes" => {
            assert_eq!(machine.kernel.as_deref(), Some("4.14.0-49.el7a.bz1553205.page_fault_hang.ppc64le"));
            assert_eq!((machine.virtual_machine, &machine.hypervisor), (None, &None));
        }
        _ => {}
    }
}
