//! Each rule on written evidence: a machine of two nodes in files, and whatever the case adds.

#![expect(clippy::unwrap_used, reason = "every failure here is a failed test")]

use firsttouch_explain::{Evidence, ExplainedProgram, Finding, Resolution, Wanted, Weight, explain};
use firsttouch_linux::trials::Trial;
use firsttouch_machine::Root;
use firsttouch_placement::{Pages, Via};
use firsttouch_process::{Environment, Linkage, ProgramKind};
use std::fs;
use std::path::Path;

const STATUS: &str = "Name:\tx\nSeccomp:\t0\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n";

/// A machine below a folder; files given here are added to it or replace its own.
fn root(folder: &Path, files: &[(&str, &str)]) -> Root {
    let usual = [
        ("proc/cpuinfo", "processor : 0\nmodel name : Test\n"),
        ("proc/self/status", STATUS),
        ("proc/self/numa_maps", "5500000000 default file=/bin/x mapped=4 N0=4 kernelpagesize_kB=4\n"),
        ("proc/sys/kernel/numa_balancing", "0\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
        ("sys/devices/system/cpu/cpu1/topology/core_id", "1\n"),
        ("sys/devices/system/cpu/cpu2/topology/core_id", "2\n"),
        ("sys/devices/system/cpu/cpu3/topology/core_id", "3\n"),
        ("sys/devices/system/cpu/isolated", "\n"),
        ("sys/devices/system/node/node0/cpulist", "0-1\n"),
        ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 1048576 kB\n"),
        ("sys/devices/system/node/node1/cpulist", "2-3\n"),
        ("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: 1048576 kB\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n"),
    ];
    for (file, text) in usual.iter().chain(files) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Root::at(folder)
}

fn program(words: &[&str]) -> ExplainedProgram {
    ExplainedProgram {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        image: words[0].into(),
        kind: ProgramKind {
            linkage: Linkage::Glibc,
            foreign: None,
            privilege: None,
            sanitizer: None,
            allocator: None,
            go: false,
            jvm: false,
        },
        preloaded_allocator: None,
    }
}

fn pages_only() -> Wanted {
    Wanted {
        words: "--pages thp".to_owned(),
        pages: Pages::Transparent,
        via: Via::Agent,
        needs_agent: true,
        follow: false,
        memory: None,
        cpus: None,
        threads: None,
        resolved: Ok(Resolution::default()),
    }
}

/// Memory on node 1, threads on its CPUs.
fn placed() -> Wanted {
    Wanted {
        memory: Some("bind=1".to_owned()),
        threads: Some("compact".to_owned()),
        resolved: Ok(Resolution { nodes: vec![1], cpus: vec![2, 3] }),
        ..pages_only()
    }
}

/// The program on the CPUs of node 1, its threads on any of them.
fn masked() -> Wanted {
    Wanted {
        cpus: Some("nodes=1".to_owned()),
        resolved: Ok(Resolution { nodes: vec![], cpus: vec![2, 3] }),
        ..pages_only()
    }
}

/// What to change in the evidence after it was collected.
type Change = fn(&mut Evidence);

fn found(
    wanted: Wanted,
    files: &[(&str, &str)],
    environment: &[(&str, &str)],
    change: Change,
) -> Vec<Finding> {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path(), files);
    let environment: Environment =
        environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let mut evidence = Evidence::collect(&root, wanted, program(&["/bin/x"]), environment).unwrap();
    assert!(evidence.trials.is_empty(), "the kernel of a recorded machine cannot be asked");
    change(&mut evidence);
    explain(&evidence)
}

fn nothing(_: &mut Evidence) {}

fn ids(findings: &[Finding]) -> Vec<(&str, Weight)> {
    findings.iter().map(|finding| (finding.id.as_str(), finding.weight)).collect()
}

#[test]
fn a_machine_without_obstacles_has_no_findings() {
    for wanted in [pages_only(), placed()] {
        assert_eq!(found(wanted, &[], &[], nothing), []);
    }
}

#[test]
fn every_finding_says_where_it_is_written() {
    let findings = found(
        placed(),
        &[("proc/sys/kernel/numa_balancing", "1\n"), ("sys/devices/system/cpu/isolated", "3\n")],
        &[("OMP_PROC_BIND", "close"), ("SLURM_CPU_BIND", "quiet,mask_cpu:0x3"), ("OMP_NUM_THREADS", "64")],
        |evidence| {
            evidence.trials = vec![("mbind", Trial::Refused(1))];
            evidence.program.kind.go = true;
        },
    );
    assert_eq!(findings.len(), 7, "{:?}", ids(&findings));
    assert!(findings.is_sorted_by_key(|finding| finding.weight));
    for finding in findings {
        assert!(!finding.evidence.is_empty() && !finding.effect.is_empty(), "{finding:?}");
        assert!(
            finding.evidence.iter().all(|proof| !proof.source.is_empty() && !proof.text.is_empty()),
            "{finding:?}"
        );
    }
}

#[test]
fn runtimes_that_bind_their_threads_override_ours() {
    let variables = [("OMP_PROC_BIND", "close"), ("KMP_AFFINITY", "granularity=fine,compact")];
    let findings = found(placed(), &[], &variables, nothing);
    assert_eq!(ids(&findings), [("thread-runtime", Weight::Overrides)]);
    assert_eq!(findings[0].remedy.as_deref(), Some("unset OMP_PROC_BIND KMP_AFFINITY"));
    assert_eq!(findings[0].evidence[0].text, "OMP_PROC_BIND=close");
    assert_eq!(ids(&found(pages_only(), &[], &variables, nothing)), [("thread-runtime", Weight::Remark)]);
    let off = [("OMP_PROC_BIND", "FALSE"), ("KMP_AFFINITY", "verbose,none"), ("GOMP_CPU_AFFINITY", "")];
    assert_eq!(found(placed(), &[], &off, nothing), []);
}

#[test]
fn more_threads_than_cpus_are_told() {
    let threads = |wanted, value| found(wanted, &[], &[("OMP_NUM_THREADS", value)], nothing);
    assert_eq!(ids(&threads(placed(), "2")), []);
    assert_eq!(ids(&threads(placed(), "3")), [("too-many-threads", Weight::Weakens)]);
    assert_eq!(ids(&threads(pages_only(), "4")), []);
    assert_eq!(ids(&threads(pages_only(), "2,4")), [("too-many-threads", Weight::Weakens)]);
    assert_eq!(ids(&threads(pages_only(), "many")), []);
}

#[test]
fn batch_systems_and_ranks() {
    let slurm = [("SLURM_CPU_BIND", "quiet,mask_cpu:0x3"), ("SLURM_MEM_BIND", "quiet,none")];
    assert_eq!(ids(&found(placed(), &[], &slurm, nothing)), [("slurm-cpu-bind", Weight::Weakens)]);
    let ranks = [
        ("OMPI_COMM_WORLD_RANK", "5"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
        ("OMPI_MCA_hwloc_base_binding_policy", "core"),
    ];
    assert_eq!(
        ids(&found(placed(), &[], &ranks, nothing)),
        [("mpi-ranks", Weight::Overrides), ("mpi-binding", Weight::Weakens)]
    );
    assert_eq!(ids(&found(pages_only(), &[], &ranks, nothing)), [("mpi-binding", Weight::Remark)]);
    let alone = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "1"), ("I_MPI_PIN", "off")];
    assert_eq!(found(placed(), &[], &alone, nothing), []);
    let step = |tasks, node| {
        let step = [
            ("SLURM_STEP_ID", "0"),
            ("SLURM_PROCID", "0"),
            ("SLURM_STEP_TASKS_PER_NODE", tasks),
            ("SLURM_NODEID", node),
        ];
        found(placed(), &[], &step, nothing)
    };
    let findings = step("8(x3),2", "3");
    assert_eq!(ids(&findings), [("mpi-ranks", Weight::Overrides)]);
    assert!(findings[0].what.starts_with("2 ranks run"), "{findings:?}");
    assert!(findings[0].remedy.as_deref().expect("one").contains("run --ranks auto"), "{findings:?}");
    assert_eq!(step("8(x3),1", "3"), []);
}

#[test]
fn a_program_that_starts_the_program_is_told_by_what_it_does() {
    let started = |wanted, change| found(wanted, &[], &[], change);
    let numactl: Change = |evidence| evidence.program = program(&["/usr/bin/numactl", "-m", "0", "x"]);
    assert_eq!(ids(&started(placed(), numactl)), [("starter-binds", Weight::Overrides)]);
    assert_eq!(ids(&started(pages_only(), numactl)), [("starter-binds", Weight::Remark)]);
    assert_eq!(
        ids(&started(pages_only(), |evidence| evidence.program = program(&["docker", "run", "x"]))),
        [("starter-elsewhere", Weight::Overrides)]
    );
    assert_eq!(
        ids(&started(pages_only(), |evidence| evidence.program = program(&["sudo", "x"]))),
        [("starter-cleans", Weight::Overrides)]
    );
}

#[test]
fn cpusets_and_masks() {
    let narrow = STATUS.replace("Cpus_allowed_list:\t0-3", "Cpus_allowed_list:\t2");
    let mask = [("proc/self/status", narrow.as_str())];
    let findings = found(placed(), &mask, &[], nothing);
    assert_eq!(ids(&findings), [("affinity", Weight::Weakens)]);
    assert_eq!(findings[0].evidence[0].text, "Cpus_allowed_list: 2");

    let group = [
        ("proc/self/status", narrow.as_str()),
        ("proc/self/cgroup", "0::/a\n"),
        ("proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("sys/fs/cgroup/a/cpuset.cpus.effective", "2\n"),
    ];
    assert_eq!(ids(&found(placed(), &group, &[], nothing)), [("cpuset-cpus", Weight::Weakens)]);
    assert_eq!(ids(&found(pages_only(), &group, &[], nothing)), [("cpuset-cpus", Weight::Remark)]);

    let nodes = STATUS.replace("Mems_allowed_list:\t0-1", "Mems_allowed_list:\t0");
    let findings = found(placed(), &[("proc/self/status", nodes.as_str())], &[], nothing);
    assert_eq!(ids(&findings), [("cpuset-mems", Weight::Weakens)]);
    assert!(findings[0].what.contains("0 of 0-1"), "{}", findings[0].what);
}

#[test]
fn isolated_cpus_matter_when_threads_go_there() {
    let mask = STATUS.replace("Cpus_allowed_list:\t0-3", "Cpus_allowed_list:\t0-2");
    let files = [("sys/devices/system/cpu/isolated", "3\n"), ("proc/self/status", mask.as_str())];
    assert_eq!(ids(&found(placed(), &files, &[], nothing)), [("isolcpus", Weight::Weakens)]);
    assert_eq!(ids(&found(pages_only(), &files, &[], nothing)), [("isolcpus", Weight::Remark)]);
    let tickless = [("sys/devices/system/cpu/nohz_full", "2-3\n")];
    assert_eq!(ids(&found(placed(), &tickless, &[], nothing)), [("nohz-full", Weight::Remark)]);
    assert_eq!(found(pages_only(), &tickless, &[], nothing), []);
}

#[test]
fn sandboxes_are_told_from_old_kernels() {
    let refused: Change = |evidence| {
        evidence.trials = vec![
            ("set_mempolicy", Trial::Refused(1)),
            ("sched_setaffinity", Trial::Works),
            ("move_pages", Trial::Killed(31)),
        ];
    };
    let filtered = STATUS.replace("Seccomp:\t0", "Seccomp:\t2");
    let findings = found(placed(), &[("proc/self/status", filtered.as_str())], &[], refused);
    assert_eq!(ids(&findings), [("refused-call", Weight::Overrides), ("refused-call", Weight::Remark)]);
    assert!(
        findings[0].what.contains("sandbox") && findings[0].remedy.as_ref().unwrap().contains("SYS_NICE")
    );
    assert!(findings[1].evidence[0].text.contains("signal 31"), "{:?}", findings[1]);
    let remedy = findings[1].remedy.as_ref().unwrap();
    assert!(
        remedy.contains("seccomp=FILE") && !remedy.contains("SYS_NICE"),
        "no capability allows it: {remedy}"
    );
    let findings = found(pages_only(), &[], &[], refused);
    assert_eq!(findings[0].weight, Weight::Remark, "no memory policy was asked for");
    assert!(findings[0].what.starts_with("the kernel refuses"), "{}", findings[0].what);
}

#[test]
fn memory_that_somebody_else_decides_over() {
    let balanced = [("proc/sys/kernel/numa_balancing", "1\n")];
    assert_eq!(ids(&found(placed(), &balanced, &[], nothing)), [("numa-balancing", Weight::Weakens)]);
    assert_eq!(ids(&found(pages_only(), &balanced, &[], nothing)), [("numa-balancing", Weight::Remark)]);
    let wrapped = [("proc/self/numa_maps", "5500000000 bind:0 file=/bin/x mapped=4 N0=4\n")];
    let findings = found(pages_only(), &wrapped, &[], nothing);
    assert_eq!(ids(&findings), [("inherited-policy", Weight::Weakens)]);
    assert!(findings[0].what.ends_with("bind:0"));
    assert_eq!(ids(&found(placed(), &wrapped, &[], nothing)), [("inherited-policy", Weight::Remark)]);
    let limits =
        [("proc/self/limits", "Max address space         4294967296           unlimited            bytes\n")];
    assert_eq!(ids(&found(pages_only(), &limits, &[], nothing)), [("address-space-limit", Weight::Weakens)]);
}

#[test]
fn pages_that_cannot_be_had() {
    let never = [("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n")];
    let findings = found(pages_only(), &never, &[], nothing);
    assert_eq!(ids(&findings), [("pages", Weight::Overrides)]);
    assert!(findings[0].remedy.as_ref().unwrap().contains("firsttouch setup thp madvise"));
    let pool = [
        ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n"),
        ("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0\n"),
    ];
    let reserved = Wanted { pages: Pages::Huge2M, ..pages_only() };
    let findings = found(reserved, &pool, &[], nothing);
    assert_eq!(ids(&findings), [("pages", Weight::Weakens)]);
    assert_eq!(findings[0].evidence[0].text, "nr_hugepages 0, free_hugepages 0");
    let always = [("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")];
    assert_eq!(ids(&found(pages_only(), &always, &[], nothing)), [("thp-always", Weight::Remark)]);
}

#[test]
fn programs_out_of_reach() {
    let unreached: Change = |evidence| evidence.program.kind.linkage = Linkage::Static;
    let findings = found(pages_only(), &[], &[], unreached);
    assert_eq!(ids(&findings), [("program", Weight::Overrides)]);
    assert_eq!(findings[0].what, "/bin/x is statically linked");
    let supervised = Wanted { via: Via::Supervise, needs_agent: false, ..pages_only() };
    assert_eq!(found(supervised.clone(), &[], &[], unreached), []);
    let inherited = Wanted { pages: Pages::Plain, threads: None, needs_agent: false, ..placed() };
    assert_eq!(found(inherited, &[], &[], unreached), [], "policy and CPUs reach every program");
    let script: Change = |evidence| evidence.program.image = "/usr/bin/dash".into();
    let findings = found(pages_only(), &[], &[], script);
    assert_eq!(ids(&findings), [("starts-others", Weight::Weakens)]);
    assert_eq!(findings[0].remedy.as_deref(), Some("firsttouch run --follow"));
    assert_eq!(found(Wanted { follow: true, ..pages_only() }, &[], &[], script), []);
    let timed: Change = |evidence| evidence.program = program(&["/usr/bin/timeout", "5", "x"]);
    assert_eq!(ids(&found(pages_only(), &[], &[], timed)), [("starts-others", Weight::Weakens)]);
    let nice: Change = |evidence| evidence.program = program(&["nice", "x"]);
    assert_eq!(found(pages_only(), &[], &[], nice), [], "it becomes the program");
    let ranks: Change = |evidence| evidence.program = program(&["mpirun.openmpi", "-n", "2", "x"]);
    let findings = found(pages_only(), &[], &[], ranks);
    assert_eq!(ids(&findings), [("starts-others", Weight::Weakens), ("starter-binds", Weight::Remark)]);
    let remedy = findings[0].remedy.as_deref().expect("one");
    assert!(remedy.starts_with("mpirun.openmpi … firsttouch run … -- PROGRAM"), "{remedy}");
    assert_eq!(found(supervised.clone(), &[], &[], script), [], "the agent is not in it");
    let java: Change = |evidence| evidence.program.kind.jvm = true;
    assert_eq!(ids(&found(pages_only(), &[], &[], java)), [("java-heap", Weight::Overrides)]);
    assert_eq!(found(Wanted { via: Via::Jvm, needs_agent: false, ..pages_only() }, &[], &[], java), []);
    let preloaded: Change =
        |evidence| evidence.program.preloaded_allocator = Some("libjemalloc.so.2".to_owned());
    let findings = found(pages_only(), &[], &[("LD_PRELOAD", "/usr/lib/libjemalloc.so.2")], preloaded);
    assert_eq!(ids(&findings), [("preloaded-allocator", Weight::Overrides)]);
    let tunables = [("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1:glibc.malloc.check=0")];
    assert_eq!(ids(&found(pages_only(), &[], &tunables, nothing)), [("glibc-tunables", Weight::Remark)]);
    assert_eq!(found(pages_only(), &[], &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=0")], nothing), []);
}

#[test]
fn a_placement_that_cannot_be_given_is_the_first_finding() {
    let resolved = Err(("there is no node 7".to_owned(), "firsttouch status".to_owned()));
    let words = "--memory bind=7".to_owned();
    let wanted = Wanted { words, memory: Some("bind=7".to_owned()), resolved, ..pages_only() };
    let findings = found(wanted, &[("proc/sys/kernel/numa_balancing", "1\n")], &[], nothing);
    assert_eq!(ids(&findings), [("impossible", Weight::Overrides), ("numa-balancing", Weight::Weakens)]);
    assert_eq!(findings[0].evidence[0].text, "--memory bind=7");
}

#[test]
fn what_counts_for_threads_counts_for_the_cpus_of_a_program_too() {
    let with = |files, variables, change| found(masked(), files, variables, change);
    let mask = STATUS.replace("Cpus_allowed_list:\t0-3", "Cpus_allowed_list:\t2");
    let narrow = [("proc/self/status", mask.as_str())];
    assert_eq!(ids(&with(&narrow, &[], nothing)), [("affinity", Weight::Weakens)]);
    let isolated = [("sys/devices/system/cpu/isolated", "3\n")];
    let findings = found(masked(), &isolated, &[], nothing);
    assert_eq!(ids(&findings), [("isolcpus", Weight::Weakens)]);
    assert!(findings[0].effect.starts_with("the scheduler spreads nothing over CPUs 3"), "{findings:?}");
    let bound = [("OMP_PROC_BIND", "close"), ("OMP_NUM_THREADS", "3")];
    assert_eq!(
        ids(&with(&[], &bound, nothing)),
        [("thread-runtime", Weight::Weakens), ("too-many-threads", Weight::Weakens)]
    );
    let slurm = [("SLURM_CPU_BIND", "quiet,mask_cpu:0x3")];
    assert_eq!(ids(&with(&[], &slurm, nothing)), [("slurm-cpu-bind", Weight::Weakens)]);
    let ranks = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "4")];
    let findings = found(masked(), &[], &ranks, nothing);
    assert_eq!(ids(&findings), [("mpi-ranks", Weight::Weakens)]);
    assert!(findings[0].remedy.as_deref().unwrap().contains("leave --cpus out"), "{findings:?}");
    let starter: Change = |evidence| evidence.program = program(&["taskset", "-c", "0", "x"]);
    assert_eq!(ids(&with(&[], &[], starter)), [("starter-binds", Weight::Overrides)]);
    let sandbox: Change = |evidence| evidence.trials = vec![("sched_setaffinity", Trial::Refused(1))];
    assert_eq!(ids(&with(&[], &[], sandbox)), [("refused-call", Weight::Overrides)]);
}

/// What `doctor` says of the machine is told where it decides over what is asked, and only there.
#[test]
fn findings_about_the_machine_come_with_what_they_decide_over() {
    let files = [
        ("sys/kernel/mm/transparent_hugepage/defrag", "[always] defer defer+madvise madvise never\n"),
        ("proc/sys/vm/zone_reclaim_mode", "1\n"),
        ("proc/sys/vm/swappiness", "100\n"),
    ];
    let defrag = ("thp-defrag", Weight::Weakens);
    assert_eq!(ids(&found(pages_only(), &files, &[], nothing)), [defrag]);
    assert_eq!(ids(&found(placed(), &files, &[], nothing)), [defrag, ("zone-reclaim", Weight::Weakens)]);
    let plain = Wanted { pages: Pages::Plain, ..placed() };
    assert_eq!(ids(&found(plain, &files, &[], nothing)), [("zone-reclaim", Weight::Weakens)]);
}

/// Demotion heeds no policy; where there is one tier nothing is demoted.
#[test]
fn demotion_is_told_where_memory_was_asked_for_and_there_is_slower_memory() {
    let tier =
        |tier: &str, nodes| (format!("sys/devices/virtual/memory_tiering/memory_tier{tier}/nodelist"), nodes);
    let (fast, slow) = (tier("4", "0\n"), tier("22", "1\n"));
    let tiers = [(fast.0.as_str(), fast.1), (slow.0.as_str(), slow.1)];
    let on = ("sys/kernel/mm/numa/demotion_enabled", "true\n");
    let of = |wanted, files: &[(&str, &str)]| {
        found(wanted, files, &[], nothing).into_iter().filter(|finding| finding.id == "demotion").count()
    };
    assert_eq!(of(placed(), &[tiers[0], tiers[1], on]), 1);
    assert_eq!(of(pages_only(), &[tiers[0], tiers[1], on]), 0);
    assert_eq!(of(placed(), &[tiers[0], on]), 0);
    let off = (on.0, "false\n");
    assert_eq!(of(placed(), &[tiers[0], tiers[1], off]), 0);
}

/// Nobody is killed at `memory.high`.
#[test]
fn what_a_limit_does_is_that_of_its_file() {
    let effect = |file: &str| {
        let file = format!("sys/fs/cgroup/{file}");
        let files = [
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            (file.as_str(), "4194304\n"),
        ];
        let findings = found(pages_only(), &files, &[], nothing);
        findings.into_iter().find(|finding| finding.id == "cgroup-memory").unwrap().effect
    };
    assert!(effect("memory.max").ends_with("at the limit the program is killed"));
    assert!(effect("memory.high").ends_with("the program is slowed down, and its memory reclaimed"));
}
