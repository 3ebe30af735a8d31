//! `firsttouch run`: memory, threads and devices of programs that know nothing of nodes, by what the kernel made of it.

use crate::bench::{RECEIPT, Setting, Test, command, placed, shell, words_of};
use crate::counts::{Counts, assert_shares, counts, only, succeeded};
use firsttouch_lab::{Collected, Command, Cpuset, Ending, Release};
use serde_json::Value;
use std::ffi::OsString;

/// Pages of a MiB.
const MIB: u64 = 256;
/// A program that touches 16 MiB of small pages wherever its policy says.
const TOUCH: &str = "none - 16 small";
/// The demo with a table of 64 MiB, which the agent places.
const TABLE: &str = "case demo --set table=64M --set reads=1000 --set order=8";

pub(crate) fn tests() -> Vec<Test> {
    let mut tests = memory();
    tests.extend(Release::ALL.map(table));
    tests.extend(Release::ALL.map(|release| prefaulted(release, "--prefault")));
    tests.extend(Release::ALL.map(|release| prefaulted(release, "--prefault=background")));
    tests.extend(Release::ALL.map(own_policy));
    tests.extend([full(), demoted(), plugged()]);
    tests.extend([weighted(false), weighted(true)]);
    tests.extend(threads());
    tests.extend(as_numactl());
    tests.extend([mask_without_memory(), masked_threads(), mask_of_a_cpuset()]);
    tests.extend([near_card(), near_disk()]);
    tests.extend(named_arrays());
    tests.extend(searched_arrays());
    tests.extend(refused());
    tests
}

pub(crate) fn receipt(one: &Collected) -> Value {
    file(one, RECEIPT)
}

/// A file of JSON that was copied out.
fn file(one: &Collected, name: &str) -> Value {
    let file = one.finished.files.iter().find(|file| file.path.to_str() == Some(name));
    serde_json::from_slice(&file.unwrap_or_else(|| panic!("no {name}: {one:?}")).contents).unwrap()
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

/// Threads of ours that create pages run where there is time; the pages lie where the program's thread is, which stays bound.
fn prefaulted(release: Release, how: &'static str) -> Test {
    let table = "case demo --set table=128M --set reads=1000 --set order=8";
    let run = placed(&format!("--threads 2,0 {how}"), "firsttouch", table);
    let name = format!("run {how} creates pages on the node of who allocates (Linux {release})");
    Test::new(name, Setting { release, ..Setting::of("two-node") }, vec![run], |_, ran| {
        let receipt = receipt(&ran[0]);
        let placed = bytes(&receipt);
        assert!(placed[&1] >= 128 << 20 && placed.get(&0).is_none_or(|&bytes| bytes == 0), "{receipt}");
        assert_eq!(receipt["obtained"]["threads"][0]["cpus_obtained"], serde_json::json!([2]), "{receipt}");
    })
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

/// Memory is to be spread, and the program binds its own to one node.
fn own_policy(release: Release) -> Test {
    let runs = ["own-policy", "under-policy"].map(|what| placed("--memory interleave=all", "recycled", what));
    let name = format!("run tells that the program has set a memory policy of its own (Linux {release})");
    Test::new(name, Setting { release, ..Setting::of("two-node") }, runs.to_vec(), |_, ran| {
        let [own, ours] = [&ran[0], &ran[1]].map(receipt);
        assert_eq!(own["obtained"]["own_policies"], 1, "{own}");
        let told = overridden(&own).unwrap_or_else(|| panic!("{own}"));
        // Of 48 MiB.
        assert!(told["bytes"].as_u64().unwrap() >= 22 << 20, "{own}");
        assert!(told["remedy"].as_str().unwrap().contains("1 call of set_mempolicy"), "{own}");
        assert!(overridden(&ours).is_none() && ours["obtained"].get("own_policies").is_none(), "{ours}");
    })
}

/// What a receipt says of memory that lies elsewhere than asked.
fn overridden(receipt: &Value) -> Option<&Value> {
    receipt["shortfalls"].as_array()?.iter().find(|shortfall| shortfall["reason"] == "policy-overridden")
}

/// Fast memory of 256 MiB is preferred for 512: the rest is ordinary, and the receipt says so.
fn full() -> Test {
    let table = "case demo --set table=512M --set reads=1000 --set order=8";
    let run = placed("--memory prefer=hbm", "firsttouch", table);
    Test::new("run tells that fast memory was full", Setting::of("knl-flat"), vec![run], |_, ran| {
        let (receipt, mib) = (receipt(&ran[0]), 1 << 20);
        let placed = bytes(&receipt);
        // The kernel keeps a part of the fast node for itself, now more, now less.
        assert!(placed[&1] > 128 * mib && placed[&0] >= 256 * mib, "{receipt}");
        assert!(overridden(&receipt).unwrap()["bytes"].as_u64().unwrap() >= 256 * mib, "{receipt}");
    })
}

/// Demotion heeds no policy: that is told before and after, and not that the node was full.
fn demoted() -> Test {
    let run = placed("--memory bind=0", "demoted", "");
    let before = command(&["firsttouch", "explain", "--json", "--memory", "bind=0", "--", "sh"]);
    Test::new("run tells what was demoted", Setting::of("cxl").newer(), vec![run, before], |_, ran| {
        let (receipt, mib) = (receipt(&ran[0]), 1 << 20);
        assert!(bytes(&receipt)[&2] >= 32 * mib, "{receipt}");
        let mut reasons = receipt["shortfalls"].as_array().unwrap().iter();
        let overridden = reasons.find(|shortfall| shortfall["reason"] == "policy-overridden").unwrap();
        assert!(overridden["bytes"].as_u64().unwrap() >= 32 * mib, "{receipt}");
        let remedy = overridden["remedy"].as_str().unwrap();
        assert!(remedy.contains("demotion_enabled") && !remedy.contains("full"), "{remedy}");
        succeeded(&ran[1]);
        let explained: Value = serde_json::from_str(&ran[1].stdout).unwrap();
        let mut findings = explained["findings"].as_array().unwrap().iter();
        assert!(findings.any(|finding| finding["id"] == "demotion"), "{explained}");
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

/// Options as numactl has them, the CPUs of the mask, and the shares of 16 MiB that the program touches: `-N` decides where
/// by where it runs, `-m` wherever it runs.
type AsNumactl = (&'static str, &'static str, &'static [u32], &'static [(u32, u64)]);

fn as_numactl() -> Vec<Test> {
    let cases: [AsNumactl; 10] = [
        ("two-node", "-N 1", &[2, 3], &[(1, 1)]),
        ("two-node", "-N 0", &[0, 1], &[(0, 1)]),
        ("two-node", "-m 1", &[0, 1, 2, 3], &[(1, 1)]),
        ("two-node", "-m 1 -N 0", &[0, 1], &[(1, 1)]),
        ("two-node", "-C 1,3 -m 0", &[1, 3], &[(0, 1)]),
        ("two-node", "-p 1 -C 0", &[0], &[(1, 1)]),
        ("two-node", "-i all -N 0", &[0, 1], &[(0, 1), (1, 1)]),
        ("two-node", "-l -C 2", &[2], &[(1, 1)]),
        ("two-node", "--node 1", &[2, 3], &[(1, 1)]),
        ("istanbul", "-N 1,3 -m 2", &[6, 7, 8, 9, 10, 11, 18, 19, 20, 21, 22, 23], &[(2, 1)]),
    ];
    let test = |(machine, options, cpus, shares): AsNumactl| {
        let touch = placed(&format!("--pages plain {options}"), "policy", TOUCH);
        // numactl itself, which has no word for both.
        let theirs = options.replace("--node 1", "-m 1 -N 1");
        let theirs: Vec<&str> = ["numactl"].into_iter().chain(theirs.split(' ')).chain(["--"]).collect();
        let words = theirs.iter().map(OsString::from).chain(words_of("policy", TOUCH));
        let status = ["cat", "/proc/self/status"];
        let ours: Vec<&str> =
            ["firsttouch", "run"].into_iter().chain(options.split(' ')).chain(["--"]).collect();
        Test::new(
            format!("run {options} as numactl ({machine})"),
            Setting::of(machine),
            vec![
                touch,
                command(&[&ours[..], &status].concat()),
                Command::new(words),
                command(&[&theirs[..], &status].concat()),
            ],
            move |_, ran| {
                for (touched, masked) in [(&ran[0], &ran[1]), (&ran[2], &ran[3])] {
                    let pages = counts(touched, "pages");
                    assert_eq!(pages.values().sum::<u64>(), 16 * MIB);
                    assert_shares(&pages, shares);
                    assert_eq!(mask_of(&masked.stdout), cpus, "{masked:?}");
                }
                let receipt = receipt(&ran[0]);
                let obtained = &receipt["cpus_obtained"];
                match receipt["asked"].get("cpus") {
                    Some(_) => assert_eq!(*obtained, serde_json::json!(cpus), "{receipt}"),
                    None => assert!(obtained.is_null(), "{receipt}"),
                }
            },
        )
    };
    cases.into_iter().map(test).collect()
}

/// The CPUs of a status file.
fn mask_of(status: &str) -> Vec<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    firsttouch_linux::cpulist::parse_list(line.unwrap()).unwrap()
}

/// Node 1 has a CPU and no memory: for numactl it does not exist.
fn mask_without_memory() -> Test {
    let run = placed("--pages plain -N 1 -m 2", "policy", TOUCH);
    Test::new("run -N takes a node without memory", Setting::of("memory-less"), vec![run], |_, ran| {
        assert_eq!(counts(&ran[0], "pages"), only(2, 16 * MIB));
        let receipt = receipt(&ran[0]);
        assert_eq!(receipt["cpus_obtained"], serde_json::json!([1]), "{receipt}");
    })
}

/// Threads bound one by one take CPUs of the mask only.
fn masked_threads() -> Test {
    let run = placed("--pages plain -N 1,2 --threads scatter", "first_touch", "- - -");
    let name = "run -N 1,2 --threads scatter binds within the mask";
    Test::new(name, Setting::of("istanbul"), vec![run], |_, ran| {
        // The main thread has the first CPU of node 1.
        for (node, thread) in [2, 1, 2].into_iter().zip(1..) {
            assert_eq!(counts(&ran[0], &format!("thread{thread}")), only(node, 2), "{:?}", ran[0]);
        }
    })
}

/// In a container with one CPU of the node the program has that one, and the receipt says what was lost.
fn mask_of_a_cpuset() -> Test {
    let confined = Cpuset { cpus: Some("0-2".to_owned()), nodes: None };
    let run = placed("--pages plain -N 1", "policy", TOUCH).cpuset(confined);
    Test::new("run -N 1 within a cpuset", Setting::of("two-node"), vec![run], |_, ran| {
        assert_eq!(counts(&ran[0], "pages"), only(1, 16 * MIB));
        let receipt = receipt(&ran[0]);
        assert_eq!(receipt["cpus_obtained"], serde_json::json!([2]), "{receipt}");
        assert!(
            receipt["notes"].to_string().contains("CPUs 3 of the nodes are offline or not ours"),
            "{receipt}"
        );
    })
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
    let cases: [(&str, &str, &str); 11] = [
        ("two-node", "-N 7", "there is no node 7"),
        ("two-node", "-C 0-9", "there is no CPU 4"),
        ("two-node", "-N 1 --threads 0,2", "--threads names CPU 0, which --cpus nodes=1 leaves out"),
        ("cxl", "-N 2", "node 2 has no CPUs, only memory"),
        ("memory-less", "--node 1", "node 1 has no memory, only CPUs"),
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
        ("-C 0,2", "CPU 0 is outside the cpuset"),
        ("-N 0", "none of the CPUs of node 0 may be used: they are 0-1, and we may use 2-3"),
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

/// An array of a case that was given a node of its own lies there, and its other memory does not.
fn named_arrays() -> Vec<Test> {
    const TABLE: &str =
        "case gather --set table=64M --set reads=1000 --steps 1 --num-threads 1 --result said.json";
    let cases = [("knl-flat", "prefer=hbm", 1), ("cxl", "bind=cxl", 2), ("two-node", "bind=1", 1)];
    let test = |(machine, memory, node): (&'static str, &'static str, u32)| {
        let run = placed(&format!("--pages plain --object table:thp:{memory}"), "firsttouch", TABLE);
        let run = run.copy_out("said.json");
        let name = format!("run --object places a named array ({machine})");
        Test::new(name, Setting::of(machine), vec![run], move |_, ran| {
            let said = file(&ran[0], "said.json");
            let nodes = said["objects"]["table"]["bytes_by_node"].as_object().unwrap();
            assert_eq!(nodes.len(), 1, "{said}");
            assert_eq!(nodes[&node.to_string()], 64 << 20, "{said}");
            assert_eq!(receipt(&ran[0])["asked"]["objects"]["table"], format!("thp:{memory}"));
        })
    };
    cases.into_iter().map(test).collect()
}

/// The arrays that `bench --objects` tries lie where each step says: in the memory that is not ordinary, or where places were named.
fn searched_arrays() -> Vec<Test> {
    const BENCH: &str = "firsttouch bench gather --objects=table --set table=64M --set reads=1000 --steps 1 --max-runs 2 --budget none";
    let cases = [
        ("knl-flat", "", "prefer=hbm", 1),
        ("cxl", "", "prefer=cxl", 2),
        ("two-node", "--places plain:bind=1", "bind=1", 1),
    ];
    let on = |release| cases.map(|case| (release, case));
    let test = |(release, (machine, places, memory, node)): (
        Release,
        (&'static str, &'static str, &'static str, u32),
    )| {
        let name = format!("bench --objects reads back where an array lies ({machine}, Linux {release})");
        let run = shell(&format!("{BENCH} {places} --json"));
        let setting = Setting { release, ..Setting::of(machine) };
        Test::new(name, setting, vec![run], move |_, ran| {
            succeeded(&ran[0]);
            let document: Value = serde_json::from_str(&ran[0].stdout).unwrap();
            let step = &document["cases"][0]["comparisons"][0];
            assert_eq!(step["of"], "objects");
            let tried = &step["session"]["configurations"][1];
            assert_eq!(tried["asked"]["objects"]["table"], format!("plain:{memory}"), "{tried}");
            let nodes = tried["case"]["objects"]["table"]["bytes_by_node"].as_object().unwrap();
            assert_eq!(nodes.len(), 1, "{tried}");
            assert_eq!(nodes[&node.to_string()], 64 << 20, "{tried}");
        })
    };
    [Release::V6_1, Release::V6_12].into_iter().flat_map(on).map(test).collect()
}
