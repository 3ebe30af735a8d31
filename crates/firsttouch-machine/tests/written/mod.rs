//! Machines that the tests write themselves.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]
#![allow(dead_code, reason = "each test program uses its part")]

pub(crate) mod cpuid;
pub(crate) mod devices;
pub(crate) mod measured;
pub(crate) mod process;

use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A folder that is the root of a machine, and vanishes with the test.
pub(crate) struct Written(TempDir);

impl Written {
    pub(crate) fn new() -> Written {
        Written(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, file: &str, text: &str) -> &Written {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn link(&self, file: &str, target: &str) -> &Written {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
        self
    }
}

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// Two nodes, the second without CPUs and slow; CPU numbers with gaps, one CPU offline; a pool of 2 MiB pages;
/// transparent huge pages on request; a container's share of a version 2 control group.
pub(crate) fn two_nodes() -> Written {
    let machine = Written::new();
    machine
        .file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Written  Processor\nflags\t\t: fpu hypervisor\n")
        .file("proc/meminfo", "MemTotal: 6291456 kB\nMemFree: 5242880 kB\nMemAvailable: 5767168 kB\nSwapTotal: 0 kB\n")
        .file("proc/sys/kernel/osrelease", "6.12.1-written\n")
        .file("proc/sys/kernel/numa_balancing", "1\n")
        .file("proc/sys/kernel/perf_event_paranoid", "3\n")
        .file(
            "proc/self/status",
            "Name:\tx\nCapEff:\t0000000000000000\nCapBnd:\t00000000a80425fb\nCpus_allowed_list:\t0,8\nMems_allowed_list:\t0-1\n",
        )
        .file("proc/self/limits", "Max locked memory         8388608              8388608              bytes\n")
        .file("proc/self/cgroup", "0::/docker/9f/job\n")
        .file("proc/self/mountinfo", "1 0 0:1 /docker/9f /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
        .file("sys/fs/cgroup/memory.max", "4294967296\n")
        .file("sys/fs/cgroup/memory.current", "1073741824\n")
        .file("sys/fs/cgroup/job/memory.max", "max\n")
        .file("sys/fs/cgroup/job/memory.current", "4096\n")
        .file("sys/fs/cgroup/job/hugetlb.2MB.max", "0\n")
        .file("sys/fs/cgroup/job/hugetlb.2MB.current", "0\n")
        .file("sys/fs/cgroup/job/hugetlb.2MB.rsvd.max", "max\n")
        .file("sys/fs/cgroup/job/cpuset.cpus.effective", "0,8\n")
        .file("sys/fs/cgroup/job/cpuset.mems.effective", "0-1\n")
        .file(&format!("{CPU}/online"), "0,8\n")
        .file(&format!("{CPU}/cpu9/online"), "0\n");
    for (cpu, other) in [(0, 8), (8, 0)] {
        let folder = format!("{CPU}/cpu{cpu}");
        machine
            .file(&format!("{folder}/topology/physical_package_id"), "0\n")
            .file(&format!("{folder}/topology/core_id"), "3\n")
            .file(&format!("{folder}/topology/thread_siblings"), "101\n")
            .file(&format!("{folder}/cache/index0/level"), "2\n")
            .file(&format!("{folder}/cache/index0/type"), "Unified\n")
            .file(&format!("{folder}/cache/index0/size"), "1024K\n")
            .file(
                &format!("{folder}/cache/index0/shared_cpu_list"),
                &format!("{},{}\n", cpu.min(other), cpu.max(other)),
            );
    }
    for (node, cpus, distance, total, free) in [(0, "0,8", "10 26", 4, 3), (1, "", "26 10", 2, 2)] {
        let folder = format!("{NODE}/node{node}");
        let memory =
            format!("\nNode {node} MemTotal: {} kB\nNode {node} MemFree: {} kB\n", total << 20, free << 20);
        machine
            .file(&format!("{folder}/cpulist"), &format!("{cpus}\n"))
            .file(&format!("{folder}/distance"), &format!("{distance}\n"))
            .file(&format!("{folder}/meminfo"), &memory)
            .file(&format!("{folder}/hugepages/hugepages-2048kB/nr_hugepages"), "8\n")
            .file(&format!("{folder}/hugepages/hugepages-2048kB/free_hugepages"), "5\n")
            .file(&format!("{folder}/hugepages/hugepages-2048kB/surplus_hugepages"), "0\n");
    }
    machine
        .file(&format!("{NODE}/node1/access0/initiators/read_latency"), "260\n")
        .file(&format!("{NODE}/node1/access0/initiators/read_bandwidth"), "12000\n")
        .file(&format!("{NODE}/node1/access0/initiators/write_latency"), "0\n")
        .link(&format!("{NODE}/node1/access0/initiators/node0"), "../../../node0")
        .file("sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0\n")
        .file("sys/devices/virtual/memory_tiering/memory_tier22/nodelist", "1\n");
    pages(&machine);
    // An absolute link and a relative one, as a copy of /sys has them.
    machine
        .file("sys/devices/pci0000:00/0000:05:00.0/numa_node", "1\n")
        .file("sys/devices/pci0000:00/0000:05:00.0/local_cpus", "101\n")
        .file("sys/devices/pci0000:00/0000:05:00.0/nvme/nvme0/nvme0n1/size", "0\n")
        .link("sys/devices/pci0000:00/0000:05:00.0/nvme/nvme0/device", "/sys/devices/pci0000:00/0000:05:00.0")
        .link("sys/devices/pci0000:00/0000:05:00.0/nvme/nvme0/nvme0n1/device", "../../nvme0")
        .link("sys/class/block/nvme0n1", "../../devices/pci0000:00/0000:05:00.0/nvme/nvme0/nvme0n1")
        .link("sys/class/nvme/nvme0", "/sys/devices/pci0000:00/0000:05:00.0/nvme/nvme0")
        .file("sys/devices/virtual/block/loop0/size", "0\n")
        .link("sys/class/block/loop0", "../../devices/virtual/block/loop0");
    machine
}

fn pages(machine: &Written) {
    const THP: &str = "sys/kernel/mm/transparent_hugepage";
    const POOL: &str = "sys/kernel/mm/hugepages/hugepages-2048kB";
    machine
        .file(&format!("{THP}/enabled"), "always [madvise] never\n")
        .file(&format!("{THP}/defrag"), "always defer defer+madvise [madvise] never\n")
        .file(&format!("{THP}/shmem_enabled"), "always within_size advise [never] deny force\n")
        .file(&format!("{THP}/khugepaged/defrag"), "1\n")
        .file(&format!("{THP}/use_zero_page"), "0\n")
        .file(&format!("{THP}/hpage_pmd_size"), "2097152\n")
        .file(&format!("{THP}/hugepages-64kB/enabled"), "always inherit madvise [never]\n")
        .file(&format!("{THP}/hugepages-128kB/enabled"), "always [inherit] madvise never\n")
        .file(&format!("{THP}/hugepages-2048kB/enabled"), "always [inherit] madvise never\n")
        .file(&format!("{THP}/hugepages-8kB/shmem_enabled"), "always inherit within_size advise [never]\n")
        .file(&format!("{POOL}/nr_hugepages"), "16\n")
        .file(&format!("{POOL}/free_hugepages"), "10\n")
        .file(&format!("{POOL}/resv_hugepages"), "4\n")
        .file(&format!("{POOL}/surplus_hugepages"), "0\n")
        .file(&format!("{POOL}/nr_overcommit_hugepages"), "0\n");
}
