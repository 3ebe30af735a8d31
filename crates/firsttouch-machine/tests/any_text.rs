//! Whatever text the files hold: no parser panics, and no machine does.

mod written;

use firsttouch_linux::tree::Tree;
use firsttouch_linux::{cpulist, sysinfo};
use firsttouch_machine::{Machine, MemoryKind, Root, Source, StatusReport};
use proptest::prelude::*;
use std::path::Path;

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

fn near_descriptions() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "(pack|numa|die|group|l3|l2|l1i|core|pu):[0-9]{1,2}",
        "(pack|numa|pu):[1-4]\\((memory|size|indexes|memorysidecachesize)=[0-9a-zKMG,*:]{0,8}\\)",
        "\\[(numa|node|core)(\\((memory|indexes)=[0-9,GB]{0,6}\\))?\\]",
        "[0-9]{1,3}",
        "[\\[\\]():= ]{0,3}",
    ];
    (prop::collection::vec(word, 0..6), "( ?pu:[1-9])?").prop_map(|(words, last)| words.join(" ") + &last)
}

fn near_topologies() -> impl Strategy<Value = String> {
    let number = "(0x[0-9a-f]{1,8}(,0x[0-9a-f]{0,8})?|[0-9]{0,12}|-1|0xf\\.\\.\\.f)";
    let attribute = ("(os_index|cpuset|complete_cpuset|nodeset|depth|cache_size|cache_type|local_memory|gp_index|osdev_type|name|value|subtype|type|pci_busid|latency_base)", number)
        .prop_map(|(name, value)| format!(" {name}=\"{value}\""));
    let object = (
        "(Machine|Package|NUMANode|MemCache|L2Cache|Core|PU|PCIDev|OSDev|Die|Group)",
        prop::collection::vec(attribute, 0..4),
    )
        .prop_map(|(kind, attributes)| format!("<object type=\"{kind}\"{}>", attributes.concat()));
    let inside = prop_oneof![
        8 => Just(String::new()),
        2 => "<(info|latency|memattr|memattr_value|cpukind|distances|distances2|indexes|u64values) name=\"[A-Za-z]{0,9}\"/>",
        1 => "[<>&;!\"]{0,3}[0-9 ]{0,6}",
    ];
    // Objects inside each other; after each, some of the open ones are closed.
    prop::collection::vec((object, inside, 0_usize..3), 0..24).prop_map(|objects| {
        let mut text = "<topology>".to_owned();
        let mut open = 0;
        for (object, inside, closed) in objects {
            text += &(object + &inside);
            let closed = closed.min(open + 1);
            text += &"</object>".repeat(closed);
            open = open + 1 - closed;
        }
        text + &"</object>".repeat(open) + "</topology>"
    })
}

/// Answers of CPUID by whatever processor: the leaves that are looked at, with any numbers in their fields.
fn near_answers() -> impl Strategy<Value = String> {
    const MAKERS: [&str; 3] =
        ["756e6547 6c65746e 49656e69", "68747541 444d4163 69746e65", "746e6543 736c7561 48727561"];
    const LEAVES: [u32; 12] = [
        1,
        4,
        7,
        0xb,
        0x1a,
        0x1f,
        0x8000_0001,
        0x8000_0005,
        0x8000_0006,
        0x8000_0008,
        0x8000_001d,
        0x8000_001e,
    ];
    let number =
        || prop_oneof![any::<u32>(), 0_u32..0x400, Just(u32::MAX), (0_u32..32).prop_map(|bit| 1 << bit)];
    let leaf = prop_oneof![9 => prop::sample::select(&LEAVES[..]), 1 => Just(0x8000_0026_u32)];
    let line =
        (leaf, 0_u32..4, [number(), number(), number(), number()]).prop_map(|(leaf, part, [a, b, c, d])| {
            format!("5 {leaf:x} 0 {part:x} 0 => {a:x} {b:x} {c:x} {d:x}\n")
        });
    (prop::sample::select(&MAKERS[..]), prop::collection::vec(line, 0..24)).prop_map(|(maker, lines)| {
        format!("1 0 0 0 0 => 20 {maker}\n1 80000000 0 0 0 => 80000028 0 0 0\n{}", lines.concat())
    })
}

/// What is true of every machine, however odd its description.
fn consistent(machine: &Machine) -> Result<(), TestCaseError> {
    for cpu in &machine.cpus {
        prop_assert!(cpu.core.is_none_or(|core| machine.cores[core].cpus.contains(&cpu.id)));
        prop_assert!(
            cpu.node.is_none_or(|id| machine
                .nodes
                .iter()
                .any(|node| node.id == id && node.cpus.contains(&cpu.id)))
        );
    }
    let housed: usize = machine.nodes.iter().map(|node| node.cpus.len()).sum();
    prop_assert!(housed <= machine.cpus.len(), "a CPU in two nodes");
    prop_assert!(serde_json::to_string(&StatusReport::of(machine.clone())).is_ok());
    Ok(())
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
        let _ = sysinfo::apic_ids(&text);
        let _ = text.parse::<MemoryKind>();
    }

    #[test]
    fn descriptions_survive(text in prop_oneof![any::<String>(), near_descriptions()]) {
        if let Ok(machine) = Source::Synthetic(text).machine() {
            consistent(&machine)?;
        }
    }

    #[test]
    fn topologies_survive(text in prop_oneof![any::<String>(), near_topologies()]) {
        if let Ok(machine) = Source::HwlocXml("any.xml".into(), text).machine() {
            consistent(&machine)?;
        }
    }

    #[test]
    fn answers_of_cpuid_survive(texts in prop::collection::vec(near_answers(), 1..6), odd in near_misses()) {
        let mut tree = Tree::new();
        for (cpu, text) in texts.iter().chain([&odd]).enumerate() {
            tree.add_file(Path::new(&format!("pu{cpu}")), text.clone().into_bytes()).unwrap();
        }
        let machine = Source::Cpuid(Root::of_tree("any", tree)).machine().unwrap();
        prop_assert_eq!((machine.cpus.len(), machine.memory_bytes), (texts.len() + 1, None));
        consistent(&machine)?;
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

    #[test]
    fn a_process_with_odd_files_still_has_its_devices(
        mounts in "([0-9]{1,2} 1 (259|0):[0-9] / /[a-z]{0,3} rw - (ext4|btrfs|overlay|tmpfs|nfs) [a-z0-9/]{0,9} (rw|(upper|lower)dir=/[a-z:]{0,4})\n){0,4}|.{0,60}",
        maps in "([0-9a-f]{4}-[0-9a-f]{5} r[wx-]-[ps] 0 (103|00):0[0-9] [0-9] +/?[a-z/.]{0,9}\n){0,4}|.{0,60}",
        links in prop::collection::vec("(/dev/|/sys/devices/|/|socket:\\[)[a-z0-9./]{0,8}\\]?", 0..5),
        about in "mnt_id:\t[0-9]{1,2}|.{0,20}",
        net in "( {0,2}[0-9]: [0-9A-F]{8}:[0-9A-F]{4} [0-9A-F]{8}:[0-9A-F]{4} 01 0:0 0:0 0 0 0 [0-9] 1\n){0,3}|.{0,60}",
    ) {
        let written = written::two_nodes();
        written.file("proc/7/mountinfo", &mounts).file("proc/7/maps", &maps).file("proc/7/net/tcp", &net);
        written.file("proc/7/net/route", &net).file("proc/7/net/if_inet6", &net);
        written.link("proc/7/fd/99", "/a").link("sys/dev/block/259:1", "/sys/class/block/nvme0n1");
        for (descriptor, link) in links.iter().enumerate() {
            written.link(&format!("proc/7/fd/{descriptor}"), link);
            written.file(&format!("proc/7/fdinfo/{descriptor}"), &about);
        }
        let root = Root::at(written.path());
        let machine = Machine::read(&root).unwrap();
        let own = machine.own_devices(&root, 7).unwrap();
        for device in &own.devices {
            prop_assert!(!device.how.is_empty() && device.nodes.is_empty() == device.unplaced.is_some());
        }
        let _ = own.place(&machine, 7);
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
