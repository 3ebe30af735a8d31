//! Rules over the machine: a healthy machine of two nodes, written in files, and each fault planted in it alone.

#![expect(clippy::unwrap_used, reason = "every failure here is a failed test")]

#[path = "../../../tests/skipped.rs"]
mod skipped;

use firsttouch_documents::{DoctorHost, Weight};
use firsttouch_explain::{MachineEvidence, Profile, catalog, diagnose};
use firsttouch_linux::trials::Trial;
use firsttouch_machine::Source;
use firsttouch_placement::Reason;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Files of a machine, by their paths.
type Files<'a> = &'a [(&'a str, &'a str)];

const HEALTHY: Files<'static> = &[
    ("proc/cpuinfo", "processor : 0\nmodel name : Test\nflags : fpu tsc\n"),
    (
        "proc/meminfo",
        "MemTotal: 67108864 kB\nMemFree: 33554432 kB\nMemAvailable: 50000000 kB\nSwapTotal: 8388608 kB\nSwapFree: 8388608 kB\n",
    ),
    (
        "proc/buddyinfo",
        "Node 0, zone   Normal   100 100 100 100 100 100 100 100 100 100 4000\n\
         Node 1, zone   Normal   100 100 100 100 100 100 100 100 100 100 4000\n",
    ),
    ("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro\n"),
    (
        "proc/interrupts",
        "      CPU0 CPU1 CPU2 CPU3\n 30: 100 0 0 0 PCI-MSI eth0\n 31: 0 0 0 70 PCI-MSI nvme0q1\nNMI: 0 0 0 0\n",
    ),
    ("proc/irq/30/effective_affinity_list", "0\n"),
    ("proc/irq/31/effective_affinity_list", "3\n"),
    ("proc/1/comm", "systemd\n"),
    ("proc/2/comm", "kthreadd\n"),
    (
        "proc/self/status",
        "Name:\tx\nCapEff:\t0000000000000000\nSeccomp:\t0\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n",
    ),
    (
        "proc/self/limits",
        "Max locked memory 8388608 8388608 bytes\nMax address space unlimited unlimited bytes\n",
    ),
    ("proc/self/cgroup", "0::/user.slice\n"),
    (
        "proc/self/mountinfo",
        "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n2 0 0:2 / /dev/hugepages rw - hugetlbfs none rw\n",
    ),
    ("sys/fs/cgroup/user.slice/memory.max", "max\n"),
    ("sys/fs/cgroup/user.slice/memory.current", "4096\n"),
    ("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"),
    ("sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0-3\n"),
    ("sys/fs/cgroup/user.slice/hugetlb.2MB.max", "max\n"),
    ("proc/sys/kernel/hostname", "written\n"),
    ("proc/sys/kernel/osrelease", "6.12.1-test\n"),
    ("proc/sys/kernel/numa_balancing", "0\n"),
    ("proc/sys/kernel/perf_event_paranoid", "2\n"),
    ("proc/sys/kernel/shmall", "18446744073692774399\n"),
    ("proc/sys/kernel/shmmax", "18446744073692774399\n"),
    ("proc/sys/kernel/yama/ptrace_scope", "0\n"),
    ("proc/sys/vm/max_map_count", "65530\n"),
    ("proc/sys/vm/overcommit_memory", "0\n"),
    ("proc/sys/vm/overcommit_ratio", "50\n"),
    ("proc/sys/vm/swappiness", "60\n"),
    ("proc/sys/vm/zone_reclaim_mode", "0\n"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/isolated", "\n"),
    ("sys/devices/system/cpu/nohz_full", "(null)\n"),
    ("sys/devices/system/cpu/smt/active", "1\n"),
    ("sys/devices/system/cpu/smt/control", "on\n"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "balance_performance\n"),
    ("sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
    ("sys/devices/system/cpu/cpu1/topology/core_id", "1\n"),
    ("sys/devices/system/cpu/cpu2/topology/core_id", "2\n"),
    ("sys/devices/system/cpu/cpu3/topology/core_id", "3\n"),
    ("sys/devices/system/edac/mc/mc0/ce_count", "0\n"),
    ("sys/devices/system/edac/mc/mc0/ue_count", "0\n"),
    ("sys/devices/system/edac/mc/mc0/dimm0/size", "16384\n"),
    ("sys/devices/system/edac/mc/mc0/dimm3/size", "16384\n"),
    ("sys/devices/system/edac/mc/mc1/ce_count", "0\n"),
    ("sys/devices/system/edac/mc/mc1/ue_count", "0\n"),
    ("sys/devices/system/edac/mc/mc1/dimm0/size", "16384\n"),
    ("sys/devices/system/edac/mc/mc1/dimm3/size", "16384\n"),
    ("sys/devices/system/node/node0/cpulist", "0-1\n"),
    ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 33554432 kB\nNode 0 MemFree: 16777216 kB\n"),
    ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "64\n"),
    ("sys/devices/system/node/node1/cpulist", "2-3\n"),
    ("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: 33554432 kB\nNode 1 MemFree: 16777216 kB\n"),
    ("sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "64\n"),
    ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "128\n"),
    ("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "100\n"),
    ("sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "0\n"),
    ("sys/kernel/mm/ksm/run", "0\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never\n"),
    ("sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size advise [never] deny force\n"),
    ("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n"),
    ("sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "always inherit madvise [never]\n"),
    ("sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled", "always [inherit] madvise never\n"),
    ("sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "1\n"),
    ("sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan", "4096\n"),
    // A network adapter, a disk, and a graphics card that is idle, whose link is slow for that.
    ("sys/bus/pci/devices/0000:01:00.0/class", "0x020000\n"),
    ("sys/bus/pci/devices/0000:01:00.0/numa_node", "0\n"),
    ("sys/bus/pci/devices/0000:01:00.0/current_link_speed", "8.0 GT/s PCIe\n"),
    ("sys/bus/pci/devices/0000:01:00.0/max_link_speed", "8.0 GT/s PCIe\n"),
    ("sys/bus/pci/devices/0000:01:00.0/current_link_width", "8\n"),
    ("sys/bus/pci/devices/0000:01:00.0/max_link_width", "8\n"),
    ("sys/bus/pci/devices/0000:01:00.0/msi_irqs/30", "msix\n"),
    ("sys/bus/pci/devices/0000:81:00.0/class", "0x010802\n"),
    ("sys/bus/pci/devices/0000:81:00.0/numa_node", "1\n"),
    ("sys/bus/pci/devices/0000:81:00.0/msi_irqs/31", "msix\n"),
    ("sys/bus/pci/devices/0000:82:00.0/class", "0x030200\n"),
    ("sys/bus/pci/devices/0000:82:00.0/numa_node", "1\n"),
    ("sys/bus/pci/devices/0000:82:00.0/current_link_speed", "2.5 GT/s PCIe\n"),
    ("sys/bus/pci/devices/0000:82:00.0/max_link_speed", "16.0 GT/s PCIe\n"),
    ("sys/bus/pci/devices/0000:82:00.0/current_link_width", "16\n"),
    ("sys/bus/pci/devices/0000:82:00.0/max_link_width", "16\n"),
];

const NODE2: (&str, &str) =
    ("sys/devices/system/node/node2/meminfo", "Node 2 MemTotal: 33554432 kB\nNode 2 MemFree: 33554432 kB\n");
const MEMORY_OF_3: (&str, &str) =
    ("proc/meminfo", "MemTotal: 100663296 kB\nMemFree: 67108864 kB\nSwapTotal: 0 kB\n");
const THP: &str = "sys/kernel/mm/transparent_hugepage";
const ADAPTER: &str = "sys/class/infiniband";

/// Each fault: what it is found by, and the files that make it. A file without text is taken away.
fn faults() -> Vec<(&'static str, Vec<(String, &'static str)>)> {
    let plant = |id: &'static str, files: Files<'static>| {
        (id, files.iter().map(|(file, text)| ((*file).to_owned(), *text)).collect::<Vec<_>>())
    };
    let thp = |id: &'static str, file: &str, text: &'static str| (id, vec![(format!("{THP}/{file}"), text)]);
    let adapters = |id: &'static str, files: Files<'static>| {
        let mut all: Vec<(String, &'static str)> =
            files.iter().map(|(file, text)| (format!("{ADAPTER}/{file}"), *text)).collect();
        all.push(("proc/self/limits".to_owned(), "Max locked memory unlimited unlimited bytes\n"));
        (id, all)
    };
    vec![
        thp("thp-never", "enabled", "always madvise [never]\n"),
        thp("thp-always", "enabled", "[always] madvise never\n"),
        thp("mthp-off", "hugepages-2048kB/enabled", "always inherit madvise [never]\n"),
        thp("thp-defrag", "defrag", "[always] defer defer+madvise madvise never\n"),
        thp("thp-defrag", "defrag", "always defer defer+madvise madvise [never]\n"),
        thp("khugepaged-off", "khugepaged/defrag", "0\n"),
        thp("khugepaged-off", "khugepaged/pages_to_scan", "0\n"),
        thp("shmem-huge", "shmem_enabled", "always within_size advise never [deny] force\n"),
        plant(
            "pool-idle",
            &[
                ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "4096\n"),
                ("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "4096\n"),
            ],
        ),
        plant(
            "pool-uneven",
            &[("sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "8\n")],
        ),
        plant(
            "memory-fragmented",
            &[(
                "proc/buddyinfo",
                "Node 0, zone   Normal   4096000 20000 10000 0 0 0 0 0 0 0 10\n\
                 Node 1, zone   Normal   100 100 100 100 100 100 100 100 100 100 4000\n",
            )],
        ),
        plant(
            "hugetlbfs-unmounted",
            &[("proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")],
        ),
        plant(
            "memlock-low",
            &[
                ("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"),
                ("sys/class/infiniband/mlx5_0/ports/1/phys_state", "5: LinkUp\n"),
            ],
        ),
        plant(
            "address-space-limit",
            &[(
                "proc/self/limits",
                "Max locked memory 8388608 8388608 bytes\nMax address space 1073741824 1073741824 bytes\n",
            )],
        ),
        plant("cgroup-memory", &[("sys/fs/cgroup/user.slice/memory.max", "1073741824\n")]),
        plant("cgroup-hugetlb", &[("sys/fs/cgroup/user.slice/hugetlb.2MB.max", "2097152\n")]),
        plant("shmmax-low", &[("proc/sys/kernel/shmmax", "33554432\n")]),
        plant("shmall-low", &[("proc/sys/kernel/shmall", "2097152\n")]),
        plant("overcommit-strict", &[("proc/sys/vm/overcommit_memory", "2\n")]),
        plant("max-map-count-low", &[("proc/sys/vm/max_map_count", "10000\n")]),
        plant("numa-balancing", &[("proc/sys/kernel/numa_balancing", "1\n")]),
        plant("zone-reclaim", &[("proc/sys/vm/zone_reclaim_mode", "1\n")]),
        plant("swappiness-high", &[("proc/sys/vm/swappiness", "100\n")]),
        plant(
            "swap-used",
            &[(
                "proc/meminfo",
                "MemTotal: 67108864 kB\nMemFree: 33554432 kB\nSwapTotal: 8388608 kB\nSwapFree: 1048576 kB\n",
            )],
        ),
        plant("ksm-runs", &[("sys/kernel/mm/ksm/run", "1\n"), ("sys/kernel/mm/ksm/pages_sharing", "5000\n")]),
        plant("ksm-runs", &[("proc/77/comm", "ksmtuned\n")]),
        plant("free-page-reporting", &[("sys/module/page_reporting/parameters/page_reporting_order", "9\n")]),
        plant(
            "memory-outside-nodes",
            &[("proc/meminfo", "MemTotal: 134217728 kB\nMemFree: 33554432 kB\nSwapTotal: 0 kB\n")],
        ),
        plant(
            "governor",
            &[
                ("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n"),
                ("sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", ""),
            ],
        ),
        plant(
            "governor",
            &[("sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "power\n")],
        ),
        plant("turbo-off", &[("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n")]),
        plant(
            "cpus-offline",
            &[
                ("sys/devices/system/cpu/online", "0-2\n"),
                ("sys/devices/system/cpu/cpu3/online", "0\n"),
                ("sys/devices/system/node/node1/cpulist", "2\n"),
                ("proc/irq/31/effective_affinity_list", "2\n"),
            ],
        ),
        plant("cpu-quota", &[("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n")]),
        plant(
            "isolcpus",
            &[
                ("sys/devices/system/cpu/isolated", "1\n"),
                ("sys/devices/system/cpu/nohz_full", "1\n"),
                ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0,2-3\nMems_allowed_list:\t0-1\n"),
            ],
        ),
        plant("nohz-not-isolated", &[("sys/devices/system/cpu/nohz_full", "1\n")]),
        plant(
            "clocksource-slow",
            &[("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")],
        ),
        plant("irq-far", &[("proc/irq/31/effective_affinity_list", "0\n")]),
        plant(
            "node-without-memory",
            &[
                ("sys/devices/system/node/node1/cpulist", "2\n"),
                ("proc/irq/31/effective_affinity_list", "2\n"),
                ("sys/devices/system/node/node2/cpulist", "3\n"),
                ("sys/devices/system/node/node2/meminfo", "Node 2 MemTotal: 0 kB\nNode 2 MemFree: 0 kB\n"),
            ],
        ),
        plant(
            "nodes-uneven",
            &[
                ("proc/meminfo", "MemTotal: 41943040 kB\nMemFree: 33554432 kB\nSwapTotal: 0 kB\n"),
                (
                    "sys/devices/system/node/node1/meminfo",
                    "Node 1 MemTotal: 8388608 kB\nNode 1 MemFree: 4194304 kB\n",
                ),
            ],
        ),
        plant("dimms-uneven", &[("sys/devices/system/edac/mc/mc1/dimm3/size", "")]),
        plant("dimms-uneven", &[("sys/devices/system/edac/mc/mc1/dimm3/size", "32768\n")]),
        plant("edac-errors", &[("sys/devices/system/edac/mc/mc1/ce_count", "17\n")]),
        plant("edac-errors", &[("sys/devices/system/edac/mc/mc0/ue_count", "1\n")]),
        plant(
            "tier-unused",
            &[
                NODE2,
                MEMORY_OF_3,
                ("sys/devices/system/node/node2/cpulist", "\n"),
                ("sys/devices/system/node/node2/access0/initiators/read_bandwidth", "12000\n"),
                ("sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0-1\n"),
                ("sys/devices/virtual/memory_tiering/memory_tier22/nodelist", "2\n"),
                ("sys/kernel/mm/numa/demotion_enabled", "false\n"),
                ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0-2\n"),
            ],
        ),
        plant(
            "hmat-missing",
            &[
                NODE2,
                MEMORY_OF_3,
                ("sys/devices/system/node/node2/cpulist", "\n"),
                ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0-2\n"),
            ],
        ),
        plant(
            "cache-mode",
            &[("sys/devices/system/node/node0/memory_side_cache/index1/size", "17179869184\n")],
        ),
        plant("pcie-slow-link", &[("sys/bus/pci/devices/0000:01:00.0/current_link_width", "4\n")]),
        plant(
            "pcie-slow-link",
            &[("sys/bus/pci/devices/0000:01:00.0/current_link_speed", "2.5 GT/s PCIe\n")],
        ),
        plant("pcie-slow-link", &[("sys/bus/pci/devices/0000:82:00.0/current_link_width", "1\n")]),
        plant("device-without-node", &[("sys/bus/pci/devices/0000:82:00.0/numa_node", "-1\n")]),
        adapters(
            "several-adapters",
            &[
                ("mlx5_0/ports/1/state", "4: ACTIVE\n"),
                ("mlx5_0/device/numa_node", "0\n"),
                ("mlx5_1/ports/1/state", "4: ACTIVE\n"),
                ("mlx5_1/device/numa_node", "1\n"),
            ],
        ),
        adapters(
            "infiniband-down",
            &[("mlx5_0/ports/1/state", "2: INIT\n"), ("mlx5_0/ports/1/phys_state", "5: LinkUp\n")],
        ),
        plant("cpuset-cpus", &[("sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0-1\n")]),
        plant(
            "cpuset-mems",
            &[("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n")],
        ),
        plant(
            "seccomp",
            &[(
                "proc/self/status",
                "Name:\tx\nSeccomp:\t2\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n",
            )],
        ),
        plant("daemon-numad", &[("proc/812/comm", "numad\n")]),
        plant("daemon-tuned", &[("proc/812/comm", "tuned\n")]),
        plant("daemon-earlyoom", &[("proc/812/comm", "earlyoom\n")]),
        plant("perf-paranoid", &[("proc/sys/kernel/perf_event_paranoid", "4\n")]),
        plant("ptrace-scope", &[("proc/sys/kernel/yama/ptrace_scope", "1\n")]),
        plant("kernel-defect", &[("proc/sys/kernel/osrelease", "6.4.1\n")]),
        plant("kernel-defect", &[("proc/sys/kernel/osrelease", "5.7.2-local\n")]),
    ]
}

/// Faults that only come with others, or that only trying tells.
const TOGETHER: [&str; 6] = [
    "thp-disabled-by-prctl",
    "smt-on",
    "isolcpus-ticks",
    "irq-isolated",
    "refused-call",
    "daemon-irqbalance",
];

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
    let keep = "echo 'vm.swappiness = 10' | sudo tee -a /etc/sysctl.d/90-firsttouch.conf";
    assert_eq!(of("expected-swappiness").keep.as_deref(), Some(keep));
    // What is meant to be so is no finding, and what is found twice is told once.
    let always = [("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")];
    assert_eq!(ids(&judged(&always, "[expect]\nthp = \"always\"")), Vec::<&str>::new());
    let host = judged(&always, "[expect]\nthp = \"never\"");
    assert_eq!((ids(&host), host.findings[0].weight), (vec!["thp-always"], Weight::Weakens));
    assert_eq!(host.findings[0].evidence[1].text, "thp = \"never\"");
    let never = "echo never | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
    assert_eq!(host.findings[0].remedy.as_deref(), Some(never));
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
        return skipped::skipped("there are no recorded machines beside the workspace");
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
