//! Machines of which only the answers of CPUID are known.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod written;

use firsttouch_machine::{Machine, MachineError, SourceError, StatusReport};
use std::fs;
use written::Written;
use written::cpuid::{self, Files};

fn folder(files: &Files) -> Written {
    let machine = Written::new();
    for (name, text) in files {
        machine.file(name, text);
    }
    machine
}

fn read(files: &Files) -> Machine {
    Machine::from_source(folder(files).path().to_str().unwrap()).unwrap()
}

/// Packages, cores, CPUs.
fn counts(machine: &Machine) -> (usize, usize, u32) {
    (machine.packages.len(), machine.cores.len(), machine.cpus_online.unwrap())
}

/// Caches of a level: how many, their size in KiB, ways, and the CPUs of the last one.
fn caches(machine: &Machine, level: u32, kind: &str) -> (usize, u64, u32, Vec<u32>) {
    let found: Vec<_> = machine
        .caches
        .iter()
        .filter(|cache| cache.level == level && cache.kind.as_deref() == Some(kind))
        .collect();
    let last = found.last().unwrap();
    assert_eq!(last.line_bytes, Some(64));
    (found.len(), last.size_bytes.unwrap() >> 10, last.ways.unwrap(), last.cpus.clone())
}

#[test]
fn what_the_processor_does_not_know_stays_unknown() {
    for (name, files) in cpuid::all() {
        let machine = read(&files);
        assert_eq!(
            (machine.memory_bytes, &machine.kernel, machine.swap_bytes),
            (None, &None, None),
            "{name}"
        );
        assert!(
            machine.nodes.iter().all(|node| node.size_bytes.is_none() && node.distances.is_none()),
            "{name}"
        );
        let said = machine.unreadable.join("; ");
        assert!(said.starts_with("answers of CPUID alone: memory, "), "{name}: {said}");
        assert_eq!(machine.cpus.len(), files.len() - 1, "{name}");
        assert!(machine.cpus.iter().all(|cpu| cpu.apic_id.is_some() && cpu.core.is_some()), "{name}");
        assert_eq!(StatusReport::of(machine.clone()).machine, machine);
    }
}

#[test]
fn intel_by_the_steps_of_its_ids() {
    let machine = read(&cpuid::nehalem());
    assert_eq!(machine.cpu_model.as_deref(), Some("Intel(R) Xeon(R) CPU X5550 @ 2.67GHz"));
    assert_eq!((counts(&machine), machine.virtual_machine), ((2, 8, 16), Some(false)));
    assert_eq!((machine.cores[1].id, machine.cores[1].package), (Some(1), Some(0)));
    assert_eq!((machine.cores[7].cpus.as_slice(), machine.cpus[7].apic_id), ([7, 15].as_slice(), Some(0x16)));
    assert_eq!(machine.packages[1].cpus, [4, 5, 6, 7, 12, 13, 14, 15]);
    assert_eq!(caches(&machine, 1, "instruction"), (8, 32, 4, vec![7, 15]));
    assert_eq!(caches(&machine, 2, "unified"), (8, 256, 8, vec![7, 15]));
    assert_eq!(caches(&machine, 3, "unified"), (2, 8192, 16, vec![4, 5, 6, 7, 12, 13, 14, 15]));
    assert_eq!((machine.nodes.len(), machine.dies.len(), machine.core_kinds.len()), (0, 0, 0));
}

#[test]
fn intel_before_there_were_steps() {
    let machine = read(&cpuid::core_2());
    assert_eq!(counts(&machine), (2, 8, 8));
    assert_eq!(
        machine.cores.iter().map(|core| core.id.unwrap()).collect::<Vec<_>>(),
        [0, 1, 2, 3, 0, 1, 2, 3]
    );
    assert_eq!(caches(&machine, 2, "unified"), (4, 4096, 16, vec![6, 7]));
}

#[test]
fn dies_are_in_the_newer_leaf() {
    let machine = read(&cpuid::dies());
    assert_eq!((counts(&machine), machine.virtual_machine), ((2, 12, 24), Some(true)));
    let dies: Vec<_> =
        machine.dies.iter().map(|die| (die.id.unwrap(), die.package.unwrap(), die.cpus.len())).collect();
    assert_eq!(dies, [(0, 0, 6), (1, 0, 6), (0, 1, 6), (1, 1, 6)]);
    // Ids with gaps: three cores where there is room for four.
    assert_eq!(machine.cores[3].id, Some(4));
    assert_eq!(caches(&machine, 3, "unified"), (4, 12288, 12, vec![18, 19, 20, 21, 22, 23]));
}

#[test]
fn kinds_of_cores_share_caches_among_themselves() {
    let machine = read(&cpuid::hybrid());
    assert_eq!(counts(&machine), (1, 8, 10));
    let kinds: Vec<_> =
        machine.core_kinds.iter().map(|kind| (kind.name.as_str(), kind.cpus.as_slice())).collect();
    assert_eq!(
        kinds,
        [
            ("performance", [0, 1, 2, 3].as_slice()),
            ("efficient", [4, 5, 6, 7].as_slice()),
            ("low-power", [8, 9].as_slice())
        ]
    );
    let second: Vec<_> =
        machine.caches.iter().filter(|cache| cache.level == 2).map(|cache| cache.cpus.clone()).collect();
    assert_eq!(second, [vec![0, 1], vec![2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
    assert_eq!(caches(&machine, 3, "unified").3, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn amd_before_its_extensions() {
    let machine = read(&cpuid::istanbul());
    assert_eq!(counts(&machine), (2, 12, 12));
    assert_eq!(caches(&machine, 1, "data"), (12, 64, 2, vec![11]));
    assert_eq!(caches(&machine, 2, "unified"), (12, 512, 16, vec![11]));
    assert_eq!(caches(&machine, 3, "unified"), (2, 5120, 48, vec![6, 7, 8, 9, 10, 11]));
    assert!(machine.nodes.is_empty(), "no leaf names them");
    // Two nodes in one socket have half of the cores and of the third level each.
    let machine = read(&cpuid::magny_cours());
    assert_eq!(counts(&machine), (1, 12, 12));
    assert_eq!(caches(&machine, 3, "unified"), (2, 5120, 48, vec![6, 7, 8, 9, 10, 11]));
}

#[test]
fn amd_names_its_nodes() {
    let nodes =
        |machine: &Machine| machine.nodes.iter().map(|node| (node.id, node.cpus.len())).collect::<Vec<_>>();
    // Ids of a node need not begin at a power of two.
    let machine = read(&cpuid::piledriver());
    assert_eq!((counts(&machine), nodes(&machine)), ((2, 24, 24), vec![(0, 6), (1, 6), (2, 6), (3, 6)]));
    assert_eq!(caches(&machine, 3, "unified"), (4, 6144, 48, vec![18, 19, 20, 21, 22, 23]));
    assert_eq!(caches(&machine, 1, "instruction"), (12, 64, 2, vec![22, 23]));
    assert_eq!(machine.cpus[7].node, Some(1));
    // Cores are numbered anew in each node, and six threads share what has room for eight.
    let machine = read(&cpuid::naples());
    assert_eq!((counts(&machine), nodes(&machine)), ((2, 48, 96), (0..8).map(|node| (node, 12)).collect()));
    assert_eq!(machine.packages[1].cores, Some(24));
    assert_eq!(caches(&machine, 3, "unified"), (16, 8192, 16, vec![90, 91, 92, 93, 94, 95]));
    let machine = read(&cpuid::genoa());
    assert_eq!((counts(&machine), nodes(&machine)), ((1, 12, 24), vec![(0, 24)]));
    assert_eq!(
        machine.dies.iter().map(|die| (die.id, die.cpus.len())).collect::<Vec<_>>(),
        [0, 1, 2].map(|id| (Some(id), 8))
    );
    assert_eq!(caches(&machine, 3, "unified").0, 3);
}

#[test]
fn answers_that_tell_nothing_apart_are_not_believed() {
    // Every CPU answered as the first one: who asked was not bound.
    let mut files = cpuid::nehalem();
    let first = files[1].1.clone();
    files.iter_mut().skip(1).for_each(|(_, text)| text.clone_from(&first));
    let machine = read(&files);
    assert_eq!((counts(&machine), machine.caches.len()), ((0, 0, 16), 0));
    assert!(machine.unreadable[0].contains("one APIC id"), "{:?}", machine.unreadable);
    assert_eq!(machine.cpu_model.as_deref(), Some("Intel(R) Xeon(R) CPU X5550 @ 2.67GHz"));
    // One that answered nothing is a CPU of which nothing is known; numbers that no kernel has are no CPUs.
    let mut files = cpuid::nehalem();
    files[16].1 = "hello\n".to_owned();
    for name in ["pu99999999", "pu4294967296", "pu", "pux", "pu-1"] {
        files.push((name.to_owned(), first.clone()));
    }
    let machine = read(&files);
    assert_eq!((counts(&machine), machine.cpus[15].core), ((2, 8, 16), None));
    assert_eq!(machine.cores[7].cpus, [7]);
    // Without the leaf of names, and with sizes that no number holds.
    let mut files = cpuid::nehalem();
    files.truncate(2);
    files[1].1 = "1 0 0 0 0 => b 756e6547 6c65746e 49656e69\n1 1 0 0 0 => 106a5 0 0 0\n\
                  5 4 0 0 0 => 1c004121 ffffffff ffffffff 0\n5 4 0 1 0 => 1c004121 1c0003f 3f 0\n"
        .to_owned();
    let machine = read(&files);
    assert_eq!((counts(&machine), &machine.cpu_model), ((1, 1, 1), &None));
    let sizes: Vec<_> = machine.caches.iter().map(|cache| cache.size_bytes).collect();
    assert_eq!(sizes, [None], "the first answer for a cache counts");
}

#[test]
fn a_folder_without_answers_is_no_machine() {
    let machine = folder(&cpuid::nehalem()[..1].to_vec());
    let error = Machine::from_source(machine.path().to_str().unwrap()).unwrap_err();
    assert!(matches!(error, SourceError::Machine(MachineError::NoAnswers { .. })), "{error}");
    fs::remove_file(machine.path().join("hwloc-cpuid-info")).unwrap();
    let error = Machine::from_source(machine.path().to_str().unwrap()).unwrap_err();
    assert!(matches!(error, SourceError::Machine(MachineError::NotAMachine { .. })), "{error}");
}
