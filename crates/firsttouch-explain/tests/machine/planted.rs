//! A healthy machine of two nodes, written in files, and the faults that are planted in it.

/// Files of a machine, by their paths.
pub(crate) type Files<'a> = &'a [(&'a str, &'a str)];

/// Nothing is wrong with it.
pub(crate) const HEALTHY: Files<'static> = &[
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
pub(crate) fn faults() -> Vec<(&'static str, Vec<(String, &'static str)>)> {
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
        plant(
            "verbs-missing",
            &[
                ("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"),
                ("proc/modules", "mlx5_ib 450560 0 - Live 0x0\nib_core 446464 1 mlx5_ib, Live 0x0\n"),
                ("proc/self/limits", "Max locked memory unlimited unlimited bytes\n"),
            ],
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

/// Faults that only come with others, or that only trying or measuring tells.
pub(crate) const TOGETHER: [&str; 9] = [
    "thp-disabled-by-prctl",
    "smt-on",
    "isolcpus-ticks",
    "irq-isolated",
    "refused-call",
    "daemon-irqbalance",
    "bandwidth-low",
    "latency-high",
    "creation-slow",
];
