//! Rules over the machine: a healthy machine of two nodes, written in files, and each fault planted in it alone.

#![expect(clippy::unwrap_used, reason = "every failure here is a failed test")]

mod planted;
#[path = "../../../../tests/skipped.rs"]
mod skipped;

use firsttouch_documents::{DoctorHost, Finding, Weight};
use firsttouch_explain::{MachineEvidence, Measurements, Profile, catalog, diagnose, hold_against};
use firsttouch_linux::trials::Trial;
use firsttouch_machine::Source;
use firsttouch_placement::Reason;
use planted::{Files, HEALTHY, TOGETHER, faults};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn written<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in HEALTHY.iter().copied().chain(files) {
        let path = folder.path().join(file);
        if text.is_empty() {
            fs::remove_file(path).unwrap();
            continue;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn evidence(folder: &Path) -> MachineEvidence {
    MachineEvidence::collect(&Source::named(folder.to_str().unwrap()).unwrap()).unwrap()
}

fn judged(files: Files<'_>, profile: &str) -> DoctorHost {
    let folder = written(files.iter().copied());
    diagnose(&evidence(folder.path()), &Profile::parse(profile).unwrap(), "written")
}

fn ids(host: &DoctorHost) -> Vec<&str> {
    host.findings.iter().map(|finding| finding.id.as_str()).collect()
}

#[test]
fn a_healthy_machine_has_nothing() {
    let host = judged(&[], "");
    assert_eq!(ids(&host), Vec::<&str>::new(), "{:#?}", host.findings);
    let unseen: Vec<&str> = host.unseen.iter().map(|one| one.topic.as_str()).collect();
    assert_eq!(unseen, ["calls of the kernel"]);
}

#[test]
fn facts_are_what_hosts_of_one_kind_share() {
    let line = "BOOT_IMAGE=/vmlinuz root=UUID=1 password=x isolcpus=2-3 hugepages=16\n";
    let with = |files: Files<'_>| judged(files, "").facts;
    let facts = with(&[("proc/cmdline", line), ("sys/devices/system/cpu/nohz_full", "\n")]);
    assert_eq!(facts["/proc/cmdline"], "isolcpus=2-3 hugepages=16");
    assert_eq!(facts["/sys/devices/system/cpu/nohz_full"], "none");
    // What is free, and how the host is called, is of one host alone.
    let other =
        [("proc/sys/kernel/hostname", "another\n"), ("proc/buddyinfo", "Node 0, zone Normal 1 2 3\n")];
    assert_eq!(with(&other), with(&[]));
    let set = with(&[("proc/sys/vm/swappiness", "7\n")]);
    let differing: Vec<_> =
        with(&[]).into_iter().filter(|(word, text)| set.get(word) != Some(text)).collect();
    assert_eq!(differing.len(), 1, "{differing:?}");
    assert_eq!((set["/proc/sys/vm/swappiness"].as_str(), set["nodes"].as_str()), ("7", "2"));
}

#[test]
fn each_planted_fault_is_found_and_nothing_else() {
    let faults = faults();
    assert!(faults.len() >= 30);
    for (id, files) in &faults {
        let folder = written(files.iter().map(|(file, text)| (file.as_str(), *text)));
        let host = diagnose(&evidence(folder.path()), &Profile::default(), "written");
        assert_eq!(ids(&host), [*id], "{files:?}: {:#?}", host.findings);
        let finding = &host.findings[0];
        assert!(
            !finding.evidence.is_empty() && finding.evidence.iter().all(|proof| !proof.text.is_empty()),
            "{finding:?}"
        );
        assert!(finding.remedy.is_some(), "{finding:?}");
        assert!(!finding.what.ends_with('.') && !finding.effect.ends_with('.'), "{finding:?}");
    }
    let planted: BTreeSet<&str> = faults.iter().map(|(id, _)| *id).chain(TOGETHER).collect();
    let known: BTreeSet<&str> = catalog().map(|(id, _)| id).collect();
    assert_eq!(planted, known, "every word of the catalog is found in some machine here");
}

#[test]
fn isolated_cpus_are_to_be_left_alone() {
    let files = [
        ("sys/devices/system/cpu/isolated", "3\n"),
        ("sys/devices/system/cpu/nohz_full", "(null)\n"),
        ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-2\nMems_allowed_list:\t0-1\n"),
        ("proc/9/comm", "irqbalance\n"),
    ];
    let host = judged(&files, "");
    assert_eq!(ids(&host), ["isolcpus-ticks", "irq-isolated", "isolcpus"]);
    let hint = "echo 0-2 | sudo tee /proc/irq/31/smp_affinity_list";
    assert_eq!(host.findings[1].remedy.as_deref(), Some(hint));
    // A queue that nobody uses interrupts nobody.
    let quiet =
        [&files[..], &[("proc/interrupts", "   CPU0 CPU1 CPU2 CPU3\n 31: 0 0 0 0 PCI-MSI nvme0q1\n")]]
            .concat();
    assert_eq!(ids(&judged(&quiet, "")), ["isolcpus-ticks", "isolcpus"]);
    let weighed = judged(
        &quiet,
        "[findings]\ndaemon-irqbalance = \"overrides\"\nisolcpus = \"ignore\"\nisolcpus-ticks = \"remark\"",
    );
    assert_eq!(ids(&weighed), ["daemon-irqbalance", "isolcpus-ticks"]);
}

#[test]
fn what_is_not_known_is_no_finding() {
    for source in ["pack:2 [numa] core:4 pu:2", "[numa] pack:1 core:4 pu:2"] {
        let evidence = MachineEvidence::collect(&Source::named(source).unwrap()).unwrap();
        let host = diagnose(&evidence, &Profile::default(), source);
        assert_eq!(ids(&host), Vec::<&str>::new(), "{:#?}", host.findings);
        assert!(host.unseen.len() > 5);
    }
    // The file of a module that is not there is a module that is not there.
    for (file, _) in HEALTHY.iter().filter(|(file, _)| !file.contains("/dimm")) {
        // Each file of the healthy machine taken away: less is known, and nothing is wrong for that.
        let host = judged(&[(file, "")], "");
        assert_eq!(ids(&host), Vec::<&str>::new(), "{file}: {:#?}", host.findings);
    }
}

#[test]
fn adapters_that_programs_can_open_are_no_finding() {
    let adapter = [
        ("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"),
        ("proc/self/limits", "Max locked memory unlimited unlimited bytes\n"),
    ];
    let loaded = ("proc/modules", "ib_uverbs 180224 2 rdma_ucm,mlx5_ib, Live 0x0\n");
    // Not a module, and nothing known of modules: a part of the kernel.
    let built_in = ("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n");
    for files in [vec![loaded], vec![("proc/modules", "nvme 53248 1 - Live 0x0\n"), built_in], vec![]] {
        let host = judged(&[&adapter[..], &files].concat(), "");
        assert_eq!(ids(&host), Vec::<&str>::new(), "{files:?}: {:#?}", host.findings);
    }
}

#[test]
fn what_only_the_running_kernel_tells() {
    let folder = written([]);
    let mut evidence = evidence(folder.path());
    evidence.trials =
        vec![("mbind", Trial::Works), ("set_mempolicy", Trial::Refused(1)), ("madvise", Trial::Works)];
    let host = diagnose(&evidence, &Profile::default(), "written");
    assert_eq!(ids(&host), ["refused-call"]);
    assert_eq!(host.findings[0].weight, Weight::Overrides);
    assert_eq!(host.findings[0].evidence[0].text, "set_mempolicy: Operation not permitted (os error 1)");
}

#[test]
fn a_value_that_is_bad_by_the_profile_and_by_what_was_is_told_once() {
    let folder = written([]);
    let mut evidence = evidence(folder.path());
    let values = |latency_ps: u64| BTreeMap::from([("latency_ps".to_owned(), latency_ps)]);
    let mut told = |expected, earlier| {
        evidence.measurements = Measurements { values: values(150_000), expected, tolerance: 0.1 };
        let profile = Profile::parse("[findings]\nlatency-high = \"overrides\"").unwrap();
        let mut host = diagnose(&evidence, &profile, "written");
        hold_against(&mut host, &profile, &("earlier".to_owned(), values(earlier)), 0.1);
        let of = |finding: &Finding| (finding.weight, finding.evidence[1].source.clone());
        host.findings.iter().map(of).collect::<Vec<_>>()
    };
    let overrides = |source: &str| [(Weight::Overrides, source.to_owned())];
    assert_eq!(told(values(100_000), 100_000), overrides("profile"));
    assert_eq!(told(BTreeMap::new(), 100_000), overrides("earlier"));
    assert_eq!(told(BTreeMap::new(), 140_000), []);
}

#[test]
fn what_was_measured_is_held_against_profile_and_nodes() {
    let folder = written([]);
    let mut evidence = evidence(folder.path());
    let values =
        |words: &[(&str, u64)]| words.iter().map(|(word, value)| ((*word).to_owned(), *value)).collect();
    let mut found = |measured: &[(&str, u64)], expected: &[(&str, u64)]| {
        evidence.measurements =
            Measurements { values: values(measured), expected: values(expected), tolerance: 0.1 };
        let host = diagnose(&evidence, &Profile::default(), "written");
        let whats = host.findings.iter().map(|finding| format!("{}: {}", finding.id, finding.what));
        whats.collect::<Vec<_>>()
    };
    let [bandwidth, latency] = ["bandwidth_bytes_per_s", "latency_ps"];
    let expected = [(bandwidth, 20_000_000_000), (latency, 100_000)];
    let none = Vec::<String>::new();
    // Within the tolerance, better than expected, or not expected at all.
    assert_eq!(found(&[(bandwidth, 18_000_000_001), (latency, 109_999)], &expected), none);
    assert_eq!(found(&[(bandwidth, 40_000_000_000), (latency, 50_000)], &expected), none);
    assert_eq!(found(&[(bandwidth, 1), (latency, 1 << 50)], &[]), none);
    assert_eq!(
        found(&[(bandwidth, 15_000_000_000), (latency, 150_000)], &expected),
        [
            "bandwidth-low: the bandwidth of memory is 15.0 GB/s: 25 % less than 20.0 GB/s",
            "latency-high: the latency of memory is 150.0 ns: 50 % more than 100.0 ns"
        ]
    );
    // One node of three is slow, and the other two are not for it; of two the slower is.
    let nodes = |of: [u64; 3]| {
        let words = ["node0_latency_ps", "node1_latency_ps", "node2_latency_ps"].into_iter().zip(of);
        words.filter(|(_, value)| *value > 0).collect::<Vec<_>>()
    };
    let slow = "latency-high: the latency of memory of node 1 is 140.0 ns: 40 % more than 100.0 ns";
    assert_eq!(found(&nodes([99_000, 140_000, 100_000]), &[]), [slow]);
    assert_eq!(found(&nodes([100_000, 140_000, 0]), &[]), [slow]);
    assert_eq!(found(&nodes([100_000, 109_000, 0]), &[]), none);
}

#[test]
fn a_virtual_machine_is_not_laughed_at() {
    // No frequencies, links that are made up, a kernel of a distributor, a container's list of processes.
    let files = [
        ("proc/cpuinfo", "processor : 0\nmodel name : Test\nflags : fpu tsc hypervisor\n"),
        ("proc/sys/kernel/osrelease", "6.4.1-18-amd64\n"),
        ("proc/2/comm", "sleep\n"),
        ("sys/bus/pci/devices/0000:01:00.0/current_link_width", "1\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", ""),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", ""),
        ("sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", ""),
    ];
    let host = judged(&files, "");
    assert_eq!(ids(&host), Vec::<&str>::new(), "{:#?}", host.findings);
    let topics: Vec<&str> = host.unseen.iter().map(|one| one.topic.as_str()).collect();
    let wanted =
        ["calls of the kernel", "frequencies", "links of devices", "daemons", "defects of the kernel"];
    assert_eq!(topics, wanted);
}

#[test]
fn expected_values_are_compared() {
    let profile = "[expect]\nthp = \"always\"\npool-2m = 1024\nswappiness = 10\nmemlock = \"unlimited\"\nsmt = \"off\"\n\
                   cpus = 4\nmemory = \"100G\"\ngovernor = \"powersave\"\nisolated-cpus = 2\nksm = \"off\"\nturbo = \"on\"";
    let host = judged(&[], profile);
    let wanted = [
        "expected-isolated-cpus",
        "expected-memlock",
        "expected-memory",
        "expected-pool-2m",
        "smt-on",
        "expected-swappiness",
        "expected-thp",
    ];
    let mut found = ids(&host);
    found.sort_unstable();
    let mut sorted = wanted.to_vec();
    sorted.sort_unstable();
    assert_eq!(found, sorted);
    let of = |id: &str| host.findings.iter().find(|finding| finding.id == id).unwrap();
    assert_eq!(of("expected-swappiness").what, "swappiness is 60, and the profile expects at most 10");
    assert_eq!(
        of("expected-swappiness").remedy.as_deref(),
        Some("echo 10 | sudo tee /proc/sys/vm/swappiness")
    );
    let keep = "echo 'vm.swappiness = 10' | sudo tee -a /etc/sysctl.d/90-doctor.conf";
    assert_eq!(of("expected-swappiness").keep.as_deref(), Some(keep));
    // What is meant to be so is no finding, and what is found twice is told once.
    let always = [("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")];
    assert_eq!(ids(&judged(&always, "[expect]\nthp = \"always\"")), Vec::<&str>::new());
    let host = judged(&always, "[expect]\nthp = \"never\"");
    assert_eq!((ids(&host), host.findings[0].weight), (vec!["thp-always"], Weight::Weakens));
    assert_eq!(host.findings[0].evidence[1].text, "thp = \"never\"");
    let never = "sudo firsttouch setup thp never --apply";
    assert_eq!(host.findings[0].remedy.as_deref(), Some(never));
}

#[test]
fn remedies_can_be_followed() {
    let remedy = |files: Files<'_>| judged(files, "").findings[0].remedy.clone().unwrap();
    let folder = |node: u32| format!("sys/devices/system/node/node{node}");
    let (pool, meminfo) = (folder(1) + "/hugepages/hugepages-2048kB/nr_hugepages", folder(0) + "/meminfo");
    // Node 0 gets as many as the other has, or half of all where it has too little memory.
    let more = [(pool.as_str(), "200\n")];
    assert_eq!(remedy(&more), "sudo firsttouch setup pages 2m=200 --node 0 --apply");
    let full = [more[0], (meminfo.as_str(), "Node 0 MemTotal: 33554432 kB\nNode 0 MemFree: 204800 kB\n")];
    assert_eq!(remedy(&full), "sudo firsttouch setup pages 2m=264 --node 0-1 --apply");
    let unmounted = [("proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")];
    assert!(remedy(&unmounted).starts_with("sudo mkdir -p /dev/hugepages && "));
}

#[test]
fn a_switch_that_says_the_opposite_is_set_the_other_way() {
    let of = |files: Files<'_>, word: &str| {
        let host = judged(files, &format!("[expect]\nturbo = \"{word}\""));
        let finding = host.findings.into_iter().next();
        finding
            .map(|finding| (finding.id, finding.evidence[0].text.clone(), finding.remedy.unwrap_or_default()))
    };
    const FILE: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
    let off = [(FILE, "1\n")];
    assert_eq!((of(&[], "on"), of(&off, "off")), (None, None));
    let told = |id: &str, text: &str, set: u8| {
        Some((id.to_owned(), text.to_owned(), format!("echo {set} | sudo tee /{FILE}")))
    };
    assert_eq!(of(&[], "off"), told("expected-turbo", "0", 1));
    assert_eq!(of(&off, "on"), told("turbo-off", "1", 0));
    // Where another driver says it, it says it straight.
    let (id, text, remedy) =
        of(&[(FILE, ""), ("sys/devices/system/cpu/cpufreq/boost", "1\n")], "off").unwrap();
    assert_eq!((id.as_str(), text.as_str()), ("expected-turbo", "1"));
    assert_eq!(remedy, "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost");
}

/// What receipts and the doctor call by one word, they mend by one command.
#[test]
fn words_that_receipts_have_too_have_the_same_remedy() {
    let never = judged(&[("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n")], "");
    assert_eq!(never.findings[0].id, Reason::ThpNever.word());
    assert_eq!(never.findings[0].remedy.as_deref(), Some(Reason::ThpNever.remedy()));
}

#[test]
fn shipped_profiles_read_and_others_are_refused_with_a_hint() {
    for name in Profile::NAMES {
        Profile::parse(Profile::shipped(name).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    assert_eq!(Profile::shipped("desktop"), None);
    let wrong = [
        ("[findings]\nthp-alway = \"remark\"", "there is no finding `thp-alway`", "thp-always"),
        ("[findings]\nthp-always = \"bad\"", "`thp-always` is to be \"overrides\"", ""),
        ("[expect]\nthpx = \"never\"", "there is no expectation `thpx`", "thp-defrag"),
        ("[expect]\nswappiness = \"ten\"", "`swappiness` is to be a number", ""),
        ("[expect]\nmemory = \"much\"", "`memory` is to be an amount of memory", ""),
        ("[expect]\nksm = \"no\"", "`ksm` is to be \"on\" or \"off\"", ""),
        ("weights = 1", "there is no key `weights`", "about, findings, expect"),
        ("findings = 1", "`findings` is to be a table", ""),
        ("about = 1", "`about` is to be a text", ""),
        ("thp: never", "not TOML", "[expect]"),
    ];
    for (text, message, hint) in wrong {
        let error = Profile::parse(text).unwrap_err();
        assert!(error.to_string().starts_with(message), "{text}: {error}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{text}: {:?}", error.hint());
    }
}

#[test]
fn a_profile_expects_what_is_measured() {
    let profile =
        Profile::parse("[measured]\nbandwidth_bytes_per_s = 20_000_000_000\nnode1_latency_ps = 95000")
            .unwrap();
    let words: Vec<_> = profile.measured().iter().map(|(word, value)| (word.as_str(), *value)).collect();
    assert_eq!(words, [("bandwidth_bytes_per_s", 20_000_000_000), ("node1_latency_ps", 95_000)]);
    for text in ["bandwidth = 1", "latency_ps = 0", "latency_ps = \"95 ns\"", "latency_ps = -1"] {
        let error = Profile::parse(&format!("[measured]\n{text}")).unwrap_err();
        assert!(error.to_string().contains(text.split(' ').next().unwrap()), "{error}");
    }
}

#[test]
fn a_low_latency_machine_wants_cpus_set_apart() {
    let host = judged(&[], Profile::shipped("low-latency").unwrap());
    let mut found = ids(&host);
    found.sort_unstable();
    let wanted =
        ["expected-governor", "expected-isolated-cpus", "expected-memlock", "expected-swappiness", "smt-on"];
    assert_eq!(found, wanted);
}

/// What recorded machines are found to have; all else about them is unknown, and nothing to be laughed at.
const RECORDED: [(&str, &[&str]); 12] = [
    ("128ia64-17n4s2c.tar.bz2", &["governor"]),
    ("16amd64-8n2c.tar.bz2", &[]),
    ("32amd64-4s2n4c-cgroup2.tar.bz2", &["governor", "cpuset-cpus"]),
    ("40intel64-2g2n4c+pcilocality.tar.bz2", &["device-without-node"]),
    ("48amd64-4pa2n6c-sparse.tar.bz2", &["nodes-uneven"]),
    ("64amd64-4s2n4ca2co.tar.bz2", &["nodes-uneven"]),
    ("AMD-K10-Istanbul-8xOpteron-8439SE.tar.bz2", &[]),
    ("Intel-Nehalem-2xXeon-X5550.tar.bz2", &[]),
    ("memorysidecaches.tar.bz2", &["cache-mode"]),
    ("nvidiagpunumanodes.tar.bz2", &["cpuset-cpus"]),
    ("offline-cpu0-node0.tar.bz2", &["cpus-offline", "memory-outside-nodes"]),
    ("knl-quad-flat-hwloc1.xml", &[]),
];

#[test]
fn recorded_machines_give_no_false_alarm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/machines");
    if !folder.is_dir() {
        return skipped::skipped(&format!("no recorded machines at {}", folder.display()));
    }
    for (file, wanted) in RECORDED {
        let source = Source::named(folder.join(file).to_str().unwrap()).unwrap();
        let host = diagnose(&MachineEvidence::collect(&source).unwrap(), &Profile::default(), file);
        assert_eq!(ids(&host), wanted, "{file}: {:#?}", host.findings);
    }
}

#[test]
fn the_page_has_every_word_with_its_weight() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md")).unwrap();
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let word = cells.next()?.strip_suffix('`')?;
        Some((word.to_owned(), cells.next()?.to_owned())).filter(|_| cells.next().is_some())
    });
    let wanted = catalog().map(|(id, weight)| (id.to_owned(), weight.map_or("-", Weight::word).to_owned()));
    assert_eq!(rows.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
}
