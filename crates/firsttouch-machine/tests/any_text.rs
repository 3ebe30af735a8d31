//! Whatever text the files hold: no parser panics, and no machine does.

mod written;

use firsttouch_linux::{cpulist, sysinfo};
use firsttouch_machine::{Root, StatusReport};
use proptest::prelude::*;

/// Text that looks enough like the real thing to get past the first checks.
fn near_misses() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[0-9a-f,:\\-/\n ]{0,40}",
        "(Node [0-9]{0,3} )?(MemTotal|MemFree|flags|CapEff|Max locked memory)[: \t]{0,3}[0-9]{0,25}( kB| [KMG]B)?\n?",
        "[0-9]{0,2}:[a-z,=]{0,12}:/?[a-z./]{0,12}\n?",
        "[0-9 :/]{0,12} /[a-z\\\\04]{0,9} (- )?cgroup2? [a-z]{0,5} rw,memory",
        "(always|madvise|\\[never\\]|\\[|\\]){1,4}",
    ]
}

proptest! {
    #[test]
    fn parsers_survive(text in near_misses(), wanted in "[A-Za-z ]{0,8}", bit in 0_usize..200) {
        let _ = cpulist::parse_list(&text);
        let _ = cpulist::parse_mask(&text);
        let _ = sysinfo::meminfo(&text);
        let _ = sysinfo::chosen(&text);
        let _ = sysinfo::cache_size(&text);
        let _ = sysinfo::cpu_model(&text);
        let _ = sysinfo::cpu_flag(&text, &wanted);
        let _ = sysinfo::status_field(&text, &wanted);
        let _ = sysinfo::kernel_release(&text);
        let _ = sysinfo::capability_mask(&text);
        let _ = sysinfo::soft_limit(&text, &wanted);
        let _ = sysinfo::cgroup_limit(&text);
        let _ = sysinfo::cgroups(&text);
        let _ = sysinfo::mounts(&text);
        let _ = sysinfo::virtio_feature(&text, bit);
        let _ = sysinfo::distances(&text);
    }

    #[test]
    fn lists_print_and_read_back(mut numbers in prop::collection::vec(0_u32..5000, 0..40)) {
        let text = cpulist::format_list(&numbers);
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(cpulist::parse_list(&text), Some(numbers));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_machine_with_odd_files_still_prints(texts in prop::collection::vec(near_misses(), FILES.len())) {
        let machine = written::two_nodes();
        for (file, text) in FILES.iter().zip(&texts) {
            machine.file(file, text);
        }
        let report = StatusReport::examine(&Root::at(machine.path())).unwrap();
        prop_assert!(serde_json::to_string(&report).is_ok());
    }
}

/// Files of the written machine, one of each kind.
const FILES: [&str; 14] = [
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/self/status",
    "proc/self/limits",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "sys/fs/cgroup/job/hugetlb.2MB.max",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings",
    "sys/devices/system/node/node0/distance",
    "sys/devices/system/node/node1/meminfo",
    "sys/devices/system/node/node1/cpulist",
    "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
];
