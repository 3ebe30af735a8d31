//! Machines with known contents: every value that is read, and what is concluded from it.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod written;

use firsttouch_machine::{Bound, Machine, MachineError, Probe, Root, StatusReport};
use written::{Written, two_nodes};

const MIB: u64 = 1 << 20;

fn read(machine: &Written) -> Machine {
    Machine::read(&Root::at(machine.path())).unwrap()
}

fn works() -> Option<Probe> {
    Some(Probe { works: true, errno: None, answer: None })
}

fn refused(errno: i32) -> Option<Probe> {
    Some(Probe { works: false, errno: Some(errno), answer: Some("refused".to_owned()) })
}

#[test]
fn topology_with_gaps_and_an_offline_cpu() {
    let machine = read(&two_nodes());
    assert_eq!(machine.cpu_model.as_deref(), Some("Written Processor"));
    assert_eq!(machine.cpus_online, Some(2));
    let ids: Vec<_> = machine.cpus.iter().map(|cpu| (cpu.id, cpu.online, cpu.node)).collect();
    assert_eq!(ids, [(0, true, Some(0)), (8, true, Some(0)), (9, false, None)]);
    assert_eq!(machine.cores.len(), 1);
    assert_eq!(machine.cores[0].cpus, [0, 8]);
    assert_eq!(
        (machine.packages[0].cpus.as_slice(), machine.packages[0].cores),
        ([0, 8].as_slice(), Some(1))
    );
    assert_eq!(machine.caches.len(), 1, "both CPUs name the same cache");
    assert_eq!(machine.caches[0].size_bytes, Some(MIB));
    assert_eq!(machine.caches[0].line_bytes, None, "a file that is missing is unknown, not 0");
}

#[test]
fn nodes_tiers_and_what_the_firmware_says() {
    let machine = read(&two_nodes());
    let slow = &machine.nodes[1];
    assert!(slow.cpus.is_empty());
    assert_eq!((slow.size_bytes, slow.free_bytes), (Some(2048 * MIB), Some(2048 * MIB)));
    assert_eq!(slow.distances.as_ref().unwrap()[&0], 26);
    let access = slow.speed_from_cpus().unwrap();
    assert_eq!((access.read_latency_ns, access.write_latency_ns), (Some(260), None), "0 means not stated");
    assert_eq!(access.read_bandwidth_bytes_per_s, Some(12_000_000_000));
    assert_eq!(access.initiators, [0]);
    assert_eq!((machine.nodes[0].tier, slow.tier), (Some(4), Some(22)));
    assert_eq!(machine.tiers.iter().map(|tier| tier.id).collect::<Vec<_>>(), [4, 22]);
    assert!(machine.nodes[0].access.is_empty());
}

#[test]
fn page_sizes_and_pools() {
    let machine = read(&two_nodes());
    assert_eq!(machine.thp_mode(), Some("madvise"));
    assert_eq!((machine.thp.khugepaged_defrag, machine.thp.use_zero_page), (Some(true), Some(false)));
    assert_eq!(machine.thp.sizes.len(), 4);
    let pool = machine.pool(2 * MIB).unwrap();
    assert_eq!(
        (pool.pages, pool.free, pool.reserved, pool.available()),
        (Some(16), Some(10), Some(4), Some(6))
    );
    assert_eq!(pool.nodes.iter().map(|part| part.free).collect::<Vec<_>>(), [Some(5), Some(5)]);
    assert!(machine.pool(1024 * MIB).is_none());
}

#[test]
fn limits_of_the_group_around_ours_count() {
    let limits = read(&two_nodes()).limits;
    let memory = limits.cgroup_memory.as_ref().unwrap();
    assert_eq!(
        memory.limit_bytes,
        Bound::Bytes(4096 * MIB),
        "our own group has none, the one around it does"
    );
    assert_eq!(memory.file.as_deref(), Some("/sys/fs/cgroup/memory.max"));
    assert_eq!(limits.cgroup_headroom_bytes(), Some(3072 * MIB));
    assert_eq!(limits.cgroup_hugetlb.len(), 1, "reservation limits are another thing");
    assert_eq!(limits.cgroup_hugetlb[0].limit_bytes, Bound::Bytes(0));
    assert_eq!(limits.cpuset_cpus.as_deref(), Some([0, 8].as_slice()));
    assert_eq!(limits.allowed_nodes.as_deref(), Some([0, 1].as_slice()));
    assert_eq!(limits.memlock_bytes, Some(Bound::Bytes(8 * MIB)));
    assert_eq!(limits.address_space_bytes, None, "the row is missing: unknown");
}

#[test]
fn what_the_kernel_takes_back_for_a_group_is_room_in_both_versions() {
    let second = two_nodes();
    second.file("sys/fs/cgroup/memory.stat", "anon 4096\nactive_file 8192\ninactive_file 536870912\n");
    let machine = read(&second);
    assert_eq!(machine.limits.cgroup_headroom_bytes(), Some((3072 + 512) * MIB));
    assert_eq!(machine.memory_for_us_bytes(), Some((3072 + 512) * MIB));
    // Our own group has the lower limit, and others have left less of the one around it; nobody is killed at `memory.high`, and held up.
    second.file("sys/fs/cgroup/job/memory.max", "3221225472\n");
    second.file("sys/fs/cgroup/memory.current", "3221225472\n");
    let limits = read(&second).limits;
    assert_eq!(limits.cgroup_headroom_bytes(), Some((1024 + 512) * MIB));
    second.file("sys/fs/cgroup/job/memory.high", "1073741824\n");
    let limits = read(&second).limits;
    assert_eq!(limits.cgroup_headroom_bytes(), Some(1024 * MIB - 4096));
    let file = limits.cgroup_memory.and_then(|memory| memory.file);
    assert_eq!(file.as_deref(), Some("/sys/fs/cgroup/job/memory.high"));
    for file in ["job/memory.max", "job/memory.high"] {
        second.file(&format!("sys/fs/cgroup/{file}"), "max\n");
    }
    second.file("sys/fs/cgroup/memory.max", "max\n");
    assert_eq!(read(&second).memory_for_us_bytes(), Some(5632 * MIB), "no limit: the machine's");

    let first = two_nodes();
    let mounts = ["memory", "cpuset", "hugetlb"]
        .map(|one| format!("1 0 0:1 / /sys/fs/cgroup/{one} rw - cgroup cgroup rw,{one}\n"));
    let group = "sys/fs/cgroup/memory/job/memory";
    first
        .file("proc/self/cgroup", "5:hugetlb:/job\n4:memory:/job\n3:cpuset:/job\n")
        .file("proc/self/mountinfo", &mounts.concat())
        .file(&format!("{group}.limit_in_bytes"), "1073741824\n")
        .file(&format!("{group}.usage_in_bytes"), "1073741824\n")
        .file(&format!("{group}.stat"), "inactive_file 1\ntotal_inactive_file 268435456\n")
        .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
        .file("sys/fs/cgroup/cpuset/job/cpuset.effective_cpus", "8\n")
        .file("sys/fs/cgroup/cpuset/job/cpuset.mems", "1\n")
        .file("sys/fs/cgroup/hugetlb/job/hugetlb.2MB.limit_in_bytes", "4194304\n")
        .file("sys/fs/cgroup/hugetlb/job/hugetlb.2MB.usage_in_bytes", "2097152\n");
    let machine = read(&first);
    let limits = &machine.limits;
    assert_eq!(limits.cgroup_memory.as_ref().map(|memory| memory.version), Some(1));
    assert_eq!(
        (limits.cgroup_headroom_bytes(), machine.memory_for_us_bytes()),
        (Some(256 * MIB), Some(256 * MIB))
    );
    assert_eq!(
        (limits.cpuset_cpus.as_deref(), limits.cpuset_mems.as_deref()),
        (Some(&[8][..]), Some(&[1][..]))
    );
    let pages = &limits.cgroup_hugetlb[0];
    assert_eq!((pages.limit_bytes, pages.usage_bytes), (Bound::Bytes(4 * MIB), Some(2 * MIB)));
}

#[test]
fn devices_are_found_through_links_of_both_kinds() {
    let devices = read(&two_nodes()).devices;
    let found: Vec<_> = devices.iter().map(|device| (device.class.as_str(), device.name.as_str())).collect();
    assert_eq!(found, [("block", "nvme0n1"), ("nvme", "nvme0")], "a loop device has no hardware");
    for device in &devices {
        assert_eq!((device.node, device.address.as_deref()), (Some(1), Some("0000:05:00.0")));
        assert_eq!(device.cpus.as_deref(), Some([0, 8].as_slice()));
    }
}

#[test]
fn abilities_name_the_command_that_mends() {
    let written = two_nodes();
    let report = StatusReport::examine(&Root::at(written.path())).unwrap();
    let command = |what: &str| {
        let ability = report.can(what).unwrap_or_else(|| panic!("{what} is missing"));
        (ability.possible, ability.remedy.clone().unwrap_or_default())
    };
    assert_eq!(command("thp"), (Some(true), String::new()));
    let switched_off = "sudo firsttouch setup thp 64k=madvise --apply";
    assert_eq!(command("64k"), (Some(false), switched_off.to_owned()));
    assert_eq!(command("128k"), (Some(true), String::new()), "inherits madvise");
    // A quarter of the 5.5 GiB that are available.
    let group = "echo 1476395008 | sudo tee /sys/fs/cgroup/job/hugetlb.2MB.max";
    assert_eq!(command("2m"), (Some(false), group.to_owned()));
    assert_eq!(command("1g"), (Some(false), String::new()), "no page size of this processor");
    assert_eq!(command("bind"), (Some(true), String::new()));
    for what in ["collapse", "supervise", "receipts", "prefault", "weighted", "counters"] {
        assert_eq!(command(what), (None, String::new()), "{what}: a recording cannot be asked");
    }
}

#[test]
fn a_pool_that_is_used_up_is_enlarged() {
    let written = two_nodes();
    written.file("sys/fs/cgroup/job/hugetlb.2MB.max", "max\n");
    let taken = "sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages";
    assert_eq!(StatusReport::of(read(&written)).can("2m").unwrap().possible, Some(true));
    written.file(taken, "10\n");
    let report = StatusReport::of(read(&written));
    let ability = report.can("2m").unwrap();
    assert_eq!(ability.possible, Some(false), "free pages that are promised are not free");
    let enlarged = "sudo firsttouch setup pages 2m=720 --apply";
    assert_eq!(ability.remedy.as_deref(), Some(enlarged));
}

#[test]
fn nothing_is_proposed_that_setup_would_refuse() {
    let written = two_nodes();
    written.file("sys/fs/cgroup/job/hugetlb.2MB.max", "max\n");
    written.file("sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "10\n");
    let remedy = |available_bytes: u64| {
        let mut machine = read(&written);
        machine.memory_bytes = Some(1024 * MIB);
        machine.memory_available_bytes = Some(available_bytes);
        StatusReport::of(machine).can("2m").unwrap().remedy.clone()
    };
    // Of 276 MiB 256 have to stay free: 10 pages more than the 16 there are.
    assert_eq!(remedy(276 * MIB).as_deref(), Some("sudo firsttouch setup pages 2m=26 --apply"));
    assert_eq!(remedy(257 * MIB), None);
}

#[test]
fn switched_off_pages_say_which_switch() {
    let written = two_nodes();
    written.file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    let report = StatusReport::of(read(&written));
    let general = "sudo firsttouch setup thp madvise --apply";
    assert_eq!(report.can("thp").unwrap().remedy.as_deref(), Some(general));
    assert_eq!(report.can("128k").unwrap().possible, Some(false), "inherits never");
    written.file("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n").file(
        "sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled",
        "always inherit madvise [never]\n",
    );
    let own = "sudo firsttouch setup thp 2m=inherit --apply";
    assert_eq!(StatusReport::of(read(&written)).can("thp").unwrap().remedy.as_deref(), Some(own));
}

#[test]
fn answers_of_the_kernel_become_commands() {
    let mut machine = read(&two_nodes());
    machine.features.madv_collapse = works();
    machine.features.pagemap_scan = refused(25);
    machine.features.process_madvise = refused(1);
    machine.features.hardware_counters = refused(13);
    machine.features.thp_disabled_by_prctl = Some("yes".to_owned());
    machine.own_program = Some("/opt/firsttouch".to_owned());
    let report = StatusReport::of(machine.clone());
    let command = |report: &StatusReport, what: &str| report.can(what).unwrap().remedy.clone();
    assert_eq!(report.can("thp").unwrap().possible, Some(false));
    assert_eq!(report.can("receipts").unwrap().possible, Some(false));
    assert_eq!(command(&report, "counters").as_deref(), Some("sudo sysctl kernel.perf_event_paranoid=2"));
    // The bounding set of a container lacks CAP_SYS_NICE: setcap would not help there.
    let opened = "docker run --cap-add SYS_NICE --cap-add SYS_PTRACE IMAGE";
    assert_eq!(command(&report, "supervise").as_deref(), Some(opened));
    machine.capabilities_possible = Some(vec!["CAP_SYS_NICE".to_owned()]);
    machine.features.process_madvise = refused(13);
    let setcap = "sudo setcap cap_sys_nice+ep /opt/firsttouch";
    assert_eq!(command(&StatusReport::of(machine.clone()), "supervise").as_deref(), Some(setcap));
    // A filter refuses what the capability allows.
    machine.capabilities = machine.capabilities_possible.clone();
    machine.features.process_madvise = refused(1);
    assert_eq!(command(&StatusReport::of(machine), "supervise").as_deref(), Some(opened));
}

#[test]
fn traps_are_seen() {
    let written = two_nodes();
    let names = |machine: &Machine| machine.traps.iter().map(|trap| trap.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&read(&written)), ["numa-balancing"]);
    written
        .file("sys/bus/virtio/devices/virtio0/device", "0x0005\n")
        .file("sys/bus/virtio/devices/virtio0/features", "0110010100000000\n")
        .file("proc/meminfo", "MemTotal: 62914560 kB\n");
    let machine = read(&written);
    assert_eq!(machine.free_page_reporting, Some(true));
    assert_eq!(names(&machine), ["free-page-reporting", "memory-outside-nodes", "numa-balancing"]);
    written.file("sys/bus/virtio/devices/virtio0/features", "0110000100000000\n");
    assert_eq!(read(&written).free_page_reporting, Some(false));
    // -1 as the kernel prints it: compiled in, and no driver has registered.
    written.file("sys/module/page_reporting/parameters/page_reporting_order", "4294967295\n");
    assert_eq!(read(&written).free_page_reporting, Some(false));
    // The same of Linux 6.1: as many as there are orders, which begin with 0.
    written.file("sys/module/page_reporting/parameters/page_reporting_order", "11\n");
    assert_eq!(read(&written).free_page_reporting, Some(false));
    written.file("proc/buddyinfo", "Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3\n");
    assert_eq!(read(&written).free_page_reporting, Some(false));
    // Where pages are of 64 KiB there are more.
    written.file("proc/buddyinfo", "Node 0, zone    DMA32      4      1      2      1      0      0      0      0      1      1      3      0      0      7\n");
    assert_eq!(read(&written).free_page_reporting, Some(true));
    written.file("sys/module/page_reporting/parameters/page_reporting_order", "9\n");
    assert_eq!(read(&written).free_page_reporting, Some(true));
}

#[test]
fn without_node_folders_the_machine_is_one_node() {
    let written = Written::new();
    written
        .file("proc/cpuinfo", "processor : 0\nprocessor : 3\n")
        .file("proc/meminfo", "MemTotal: 1024 kB\nMemFree: 512 kB\n");
    let machine = read(&written);
    assert_eq!(
        machine.cpus.iter().map(|cpu| (cpu.id, cpu.node)).collect::<Vec<_>>(),
        [(0, Some(0)), (3, Some(0))]
    );
    assert_eq!((machine.nodes.len(), machine.nodes[0].size_bytes), (1, Some(MIB)));
    assert_eq!(machine.nodes[0].distances, None);
    assert_eq!(machine.unreadable.len(), 1, "{:?}", machine.unreadable);
    assert!(machine.unreadable[0].starts_with("/sys is missing"));
    assert_eq!((machine.kernel, machine.capabilities, machine.virtual_machine), (None, None, None));
}

#[test]
fn a_machine_without_proc_still_has_its_nodes() {
    let written = two_nodes();
    std::fs::remove_dir_all(written.path().join("proc")).unwrap();
    let machine = read(&written);
    assert_eq!(machine.memory_bytes, Some(6144 * MIB), "the sum of the nodes");
    assert_eq!((machine.cpu_model.as_deref(), machine.cpus_online), (None, Some(2)));
    assert!(machine.unreadable[0].starts_with("/proc is missing"));
    written.file("proc/self/status", "Name:\tx\nMems_allowed_list:\t0-1\n");
    let machine = read(&written);
    assert!(machine.unreadable[0].starts_with("/proc shows processes alone"));
    assert_eq!(machine.limits.allowed_nodes, Some(vec![0, 1]));
}

#[test]
fn what_is_no_machine_is_refused_with_its_path() {
    let folder = Written::new();
    let error = Machine::read(&Root::at(folder.path())).unwrap_err();
    assert!(matches!(error, MachineError::NotAMachine { .. }));
    assert!(error.to_string().contains(&folder.path().display().to_string()), "{error}");
    let error = Machine::read(&Root::at("/no/such/folder")).unwrap_err();
    assert_eq!(error.to_string(), "there is no folder /no/such/folder");
}

#[test]
fn the_live_machine_is_asked() {
    let report = StatusReport::examine(&Root::live()).unwrap();
    assert!(report.machine.cpus_online.is_some_and(|cpus| cpus > 0));
    assert!(report.machine.features.pagemap_scan.is_some());
    assert!(report.can.iter().all(|ability| ability.possible.is_some()), "{:?}", report.can);
}

#[test]
fn the_keys_of_the_document_are_a_contract() {
    let written = two_nodes();
    let report = StatusReport::of(read(&written));
    let document = serde_json::to_value(&report).unwrap();
    let machine = &document["machine"];
    for key in
        ["cpus", "cores", "packages", "nodes", "caches", "tiers", "devices", "pools", "traps", "capabilities"]
    {
        assert!(machine[key].is_array(), "{key}");
    }
    for key in ["thp", "features", "limits"] {
        assert!(machine[key].is_object(), "{key}");
    }
    assert_eq!(machine["kernel"], "6.12.1-written");
    assert_eq!(machine["nodes"][1]["distances"]["0"], 26);
    assert_eq!(machine["limits"]["cgroup_memory"]["limit_bytes"], 4096 * MIB);
    for ability in document["can"].as_array().unwrap() {
        let keys: Vec<_> = ability.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["possible", "remedy", "what", "why"], "alphabetical in a serde_json value");
    }
}

/// One CPU of a machine on which the kernel has no numbers for packages.
fn unnumbered(machine: &Written, cpu: u32, siblings: &str, threads: &str) {
    let folder = format!("sys/devices/system/cpu/cpu{cpu}/topology");
    machine
        .file(&format!("{folder}/physical_package_id"), "-1\n")
        .file(&format!("{folder}/core_id"), &format!("{cpu}\n"))
        .file(&format!("{folder}/core_siblings_list"), siblings)
        .file(&format!("{folder}/thread_siblings_list"), threads);
}

#[test]
fn packages_that_the_kernel_has_no_number_for_are_there() {
    // As POWER7 and s390 say it: each CPU's list names its package, its number is -1. CPU 3 is offline.
    let machine = Written::new();
    machine
        .file("sys/devices/system/cpu/online", "0-2,4-5\n")
        .file("sys/devices/system/cpu/cpu3/online", "0\n");
    for (cpu, siblings) in [(0, "0,2"), (1, "1,4"), (2, "0,2"), (4, "1,4"), (5, "0-7")] {
        unnumbered(&machine, cpu, siblings, &cpu.to_string());
    }
    let found = |machine: &Machine| {
        machine.packages.iter().map(|one| (one.id, one.cpus.clone(), one.cores)).collect::<Vec<_>>()
    };
    let read_back = read(&machine);
    assert_eq!(
        found(&read_back),
        [(0, vec![0, 2], Some(2)), (1, vec![1, 4], Some(2)), (2, vec![5], Some(1))],
        "a list that names CPUs of others takes none away"
    );
    assert_eq!(read_back.cpus[3].package, None, "offline");
    assert_eq!(
        read_back.cores.iter().map(|core| core.package).collect::<Vec<_>>(),
        [0, 1, 0, 1, 2].map(Some)
    );
    // Where some have numbers, the others are counted on from these.
    machine.file("sys/devices/system/cpu/cpu0/topology/physical_package_id", "6\n");
    machine.file("sys/devices/system/cpu/cpu2/topology/physical_package_id", "6\n");
    assert_eq!(found(&read(&machine)).iter().map(|one| one.0).collect::<Vec<_>>(), [6, 7, 8]);
    // Above the highest number there is none, and CPUs whose list leaves them out are in no package.
    machine.file("sys/devices/system/cpu/cpu0/topology/physical_package_id", "4294967295\n");
    assert_eq!(found(&read(&machine)).iter().map(|one| one.0).collect::<Vec<_>>(), [6, u32::MAX]);
    for (cpu, siblings) in [(0, "1"), (1, "0"), (2, "x"), (4, ""), (5, "0-4")] {
        unnumbered(&machine, cpu, siblings, &cpu.to_string());
    }
    assert_eq!(found(&read(&machine)), []);
}

#[test]
fn files_that_end_in_nuls_say_what_they_say() {
    let whole = two_nodes();
    let expected = read(&whole);
    let mut left = vec![whole.path().to_owned()];
    let mut files = 0;
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_symlink() {
                continue;
            }
            if entry.is_dir() {
                left.push(entry);
                continue;
            }
            let mut text = std::fs::read(&entry).unwrap();
            text.extend(b"\0\0\n\0");
            std::fs::write(&entry, text).unwrap();
            files += 1;
        }
    }
    assert!(files > 40, "{files}");
    assert_eq!(expected.cores.len(), 1);

    assert_eq!(read(&whole), expected);
}
