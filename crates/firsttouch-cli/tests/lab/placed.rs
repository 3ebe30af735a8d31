//! `firsttouch run`: memory, threads and devices of programs that know nothing of nodes, by what the kernel made of it.

use crate::bench::{RECEIPT, Setting, Test, command, placed, words_of};
use crate::counts::{Counts, assert_shares, counts, only};
use firsttouch_lab::{Collected, Command, Cpuset, Ending, Release};
use serde_json::Value;
use std::ffi::OsString;

/// Pages of a MiB.
const MIB: u64 = 256;
/// A program that touches 16 MiB of small pages wherever its policy says.
const TOUCH: &str = "none - 16 small";
/// The demo with a table of 64 MiB, which the agent places.
const TABLE: &str = "demo-workload --table 64M --reads 1000 --order 8";

pub(crate) fn tests() -> Vec<Test> {
    let mut tests = memory();
    tests.extend(Release::ALL.map(table));
    tests.extend([full(), plugged()]);
    tests.extend([weighted(false), weighted(true)]);
    tests.extend(threads());
    tests.extend([near_card(), near_disk()]);
    tests.extend(refused());
    tests
}

fn receipt(one: &Collected) -> Value {
    let file = one.finished.files.iter().find(|file| file.path.to_str() == Some(RECEIPT));
    serde_json::from_slice(&file.unwrap_or_else(|| panic!("no receipt: {one:?}")).contents).unwrap()
}

/// Bytes by node of a receipt.
fn bytes(receipt: &Value) -> Counts {
    let nodes = receipt["obtained"]["bytes_by_node"].as_object().unwrap().iter();
    nodes.map(|(node, bytes)| (node.parse().unwrap(), bytes.as_u64().unwrap())).collect()
}

/// Machine, `--memory`, and the shares that must come of it.
type Case = (&'static str, &'static str, &'static [(u32, u64)]);

fn memory() -> Vec<Test> {
    let cases: [Case; 13] = [
        ("two-node", "local", &[(0, 1)]),
        ("istanbul", "prefer=1,3", &[(1, 1)]),
        ("two-node", "bind=1", &[(1, 1)]),
        ("two-node", "prefer=1", &[(1, 1)]),
        ("two-node", "interleave=all", &[(0, 1), (1, 1)]),
        ("istanbul", "interleave=1-3", &[(1, 1), (2, 1), (3, 1)]),
        ("holes", "interleave=all", &[(0, 1), (2, 1), (5, 1)]),
        ("holes", "bind=5", &[(5, 1)]),
        ("memory-less", "interleave=all", &[(0, 1), (2, 1)]),
        ("knl-flat", "bind=hbm", &[(1, 1)]),
        ("knl-flat", "interleave=dram,hbm", &[(0, 1), (1, 1)]),
        ("cxl", "prefer=cxl", &[(2, 1)]),
        ("cxl", "bind=dram", &[(0, 1)]),
    ];
    let test = |release: Release, (machine, memory, shares): Case| {
        let run = placed(&format!("--pages plain --threads 0 --memory {memory}"), "policy", TOUCH);
        Test::new(
            format!("run --memory {memory} ({machine}, Linux {release})"),
            Setting { release, ..Setting::of(machine) },
            vec![run],
            move |_, ran| {
                let pages = counts(&ran[0], "pages");
                assert_eq!(pages.values().sum::<u64>(), 16 * MIB);
                assert_shares(&pages, shares);
                assert_eq!(receipt(&ran[0])["asked"]["memory"], memory);
            },
        )
    };
    // One machine tells what a kernel does; the others tell about machines.
    let on = |release| {
        let all = release == Release::default();
        cases
            .into_iter()
            .filter(move |(machine, ..)| all || *machine == "two-node")
            .map(move |case| test(release, case))
    };
    Release::ALL.into_iter().flat_map(on).collect()
}

/// Huge pages of the agent, interleaved: the receipt tells both.
fn table(release: Release) -> Test {
    let run = placed("--memory interleave=all", "firsttouch", TABLE);
    let name = format!("run places huge pages on both nodes (Linux {release})");
    Test::new(name, Setting { release, ..Setting::of("two-node") }, vec![run], |_, ran| {
        let receipt = receipt(&ran[0]);
        let huge = receipt["obtained"]["bytes_by_page_size"]["2097152"].as_u64().unwrap();
        assert!(huge >= 56 << 20, "{receipt}");
        let placed = bytes(&receipt);
        assert!(placed[&0] >= 24 << 20 && placed[&1] >= 24 << 20, "{receipt}");
    })
}

/// Fast memory of 256 MiB is preferred for 512: the rest is ordinary, and the receipt says so.
fn full() -> Test {
    let table = "demo-workload --table 512M --reads 1000 --order 8";
    let run = placed("--memory prefer=hbm", "firsttouch", table);
    Test::new("run tells that fast memory was full", Setting::of("knl-flat"), vec![run], |_, ran| {
        let (receipt, mib) = (receipt(&ran[0]), 1 << 20);
        let placed = bytes(&receipt);
        // The kernel keeps a part of the fast node for itself, now more, now less.
        assert!(placed[&1] > 128 * mib && placed[&0] >= 256 * mib, "{receipt}");
        let mut reasons = receipt["shortfalls"].as_array().unwrap().iter();
        let overridden = reasons.find(|shortfall| shortfall["reason"] == "policy-overridden");
        assert!(overridden.unwrap()["bytes"].as_u64().unwrap() >= 256 * mib, "{receipt}");
    })
}

fn plugged() -> Test {
    let run = placed("--pages plain --memory bind=1", "policy", TOUCH);
    Test::new("run uses memory that was plugged in", Setting::of("hotplug"), vec![run], |_, ran| {
        assert_eq!(counts(&ran[0], "pages"), only(1, 16 * MIB));
    })
}

/// Weights from the firmware's bandwidths, 100 : 100 : 20, whoever keeps them: the agent, or a newer kernel.
fn weighted(newer: bool) -> Test {
    let setting = if newer { Setting::of("cxl").newer() } else { Setting::of("cxl") };
    let name = format!("run weighs nodes by their bandwidth (Linux {})", setting.release);
    let run = placed("--memory weighted", "firsttouch", TABLE);
    Test::new(name, setting, vec![run], |_, ran| {
        let (receipt, mib) = (receipt(&ran[0]), 1 << 20);
        let placed = bytes(&receipt);
        let near = |node: u32, fair: u64| placed[&node].abs_diff(fair * mib) <= 8 * mib;
        assert!(near(0, 29) && near(1, 29) && near(2, 6), "{receipt}");
    })
}

/// What `--threads`, and the nodes that four threads and the main thread before them touch first.
fn threads() -> Vec<Test> {
    let cases: [(&str, [u32; 3]); 4] =
        [("scatter", [1, 2, 3]), ("compact", [0, 0, 0]), ("groups=2x4", [0, 1, 1]), ("0,23,6,12", [3, 1, 2])];
    let test = |(order, nodes): (&'static str, [u32; 3])| {
        let run = placed(&format!("--pages plain --threads {order}"), "first_touch", "- - -");
        Test::new(
            format!("run --threads {order} decides first touch"),
            Setting::of("istanbul"),
            vec![run],
            move |_, ran| {
                for (node, thread) in nodes.into_iter().zip(1..) {
                    assert_eq!(counts(&ran[0], &format!("thread{thread}")), only(node, 2), "{:?}", ran[0]);
                }
            },
        )
    };
    cases.into_iter().map(test).collect()
}

fn near_card() -> Test {
    let run = placed("--pages plain --near eth0", "policy", TOUCH);
    Test::new("run --near a network card on node 1", Setting::of("devices"), vec![run], |_, ran| {
        assert_eq!(counts(&ran[0], "pages"), only(1, 16 * MIB));
    })
}

/// Disks change their names between boots, so the guest looks for the one that is on node 1.
fn near_disk() -> Test {
    let find = "for disk in /sys/class/nvme/nvme*; do read node < $disk/device/numa_node; \
                if [ $node = 1 ]; then exec firsttouch run --pages plain --near ${disk##*/}n1 -- \"$@\"; fi; done";
    let words = ["sh", "-c", find, "sh"].map(OsString::from).into_iter();
    let run = Command::new(words.chain(words_of("policy", TOUCH)));
    Test::new("run --near the disk on node 1", Setting::of("devices"), vec![run], |_, ran| {
        assert_eq!(counts(&ran[0], "pages"), only(1, 16 * MIB));
    })
}

/// What a machine cannot give: the reason, a hint, 125, and the program was not started.
fn refused() -> Vec<Test> {
    let cases: [(&str, &str, &str); 6] = [
        ("two-node", "--memory bind=7", "there is no node 7"),
        ("two-node", "--memory bind=hbm", "no node has memory of the kind `hbm`"),
        ("two-node", "--threads 0,9", "there is no CPU 9"),
        ("two-node", "--near eth7", "eth7"),
        ("memory-less", "--memory bind=1", "node 1 has no memory, only CPUs"),
        ("holes", "--memory interleave=0-2", "there is no node 1"),
    ];
    let test = |(machine, options, why): (&'static str, &'static str, &'static str)| {
        let words =
            ["firsttouch", "run"].into_iter().chain(options.split(' ')).chain(["--", "echo", "started"]);
        let run = command(&words.collect::<Vec<_>>());
        Test::new(
            format!("run {options} is refused ({machine})"),
            Setting::of(machine),
            vec![run],
            move |_, ran| {
                said(&ran[0], why);
            },
        )
    };
    let mut tests: Vec<Test> = cases.into_iter().map(test).collect();
    let confined = Cpuset { cpus: Some("2-3".to_owned()), nodes: Some("1".to_owned()) };
    for (options, why) in [
        ("--memory bind=0", "node 0 is outside the cpuset, which allows"),
        ("--threads 0,2", "CPU 0 is outside the cpuset"),
    ] {
        let words =
            ["firsttouch", "run"].into_iter().chain(options.split(' ')).chain(["--", "echo", "started"]);
        let run = command(&words.collect::<Vec<_>>()).cpuset(confined.clone());
        tests.push(Test::new(
            format!("run {options} is refused in a container"),
            Setting::of("two-node"),
            vec![run],
            move |_, ran| {
                said(&ran[0], why);
            },
        ));
    }
    tests
}

fn said(one: &Collected, why: &str) {
    assert_eq!(one.finished.ending, Ending::Exited(125), "{one:?}");
    assert!(one.stdout.is_empty(), "it was started: {one:?}");
    assert!(one.stderr.contains(why) && one.stderr.contains("\n\nhint: "), "{}", one.stderr);
}
