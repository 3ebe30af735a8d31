//! Programs that the means does not reach.

use super::launchers::launches_ranks;
use crate::{Evidence, Finding, Weight};
use firsttouch_placement::{Pages, Via};
use firsttouch_process::agent_reach;

pub(super) fn find(evidence: &Evidence, findings: &mut Vec<Finding>) {
    // Memory policy and CPUs are inherited, which reaches every program; other means than these are preloaded.
    let wanted = &evidence.wanted;
    if wanted.needs_agent || !matches!(wanted.via, Via::Agent | Via::Supervise) {
        reach(evidence, findings);
    }
    starts_others(evidence, findings);
    tunables(evidence, findings);
    java(evidence, findings);
}

/// Programs whose work is done by those that they start. Those that become what they start (`nice`, `taskset`) are none.
const STARTERS: [&str; 22] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "mksh",
    "fish",
    "busybox",
    "make",
    "ninja",
    "parallel",
    "xargs",
    "time",
    "timeout",
    "flock",
    "watch",
    "perf",
    "strace",
    "ltrace",
    "gdb",
    "rr",
    "hyperfine",
];

/// A shell's own memory is nothing; what it starts is not placed unless the agent goes along.
fn starts_others(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let (wanted, program) = (&evidence.wanted, &evidence.program);
    if !wanted.needs_agent || wanted.follow {
        return;
    }
    // Of a script the image is its shell.
    let image = program.image.file_name().unwrap_or_default().to_string_lossy();
    let is_starter = |name: &&str| STARTERS.contains(name) || launches_ranks(name);
    let Some(name) = [program.name(), &image].into_iter().find(is_starter) else { return };
    let remedy = if launches_ranks(name) {
        format!(
            "{name} … firsttouch run … -- PROGRAM, or for ranks of this machine alone: firsttouch run --follow"
        )
    } else {
        "firsttouch run --follow".to_owned()
    };
    findings.push(
        Finding::new(
            "starts-others",
            Weight::Weakens,
            format!("{name} leaves the work to the programs that it starts"),
            "they are not placed; only one that it becomes (`exec`, or the last of `sh -c`) is",
        )
        .proof("program", program.words.join(" "))
        .remedy(remedy),
    );
}

fn reach(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let program = &evidence.program;
    let image = program.image.display().to_string();
    let what = match (evidence.wanted.pages, evidence.asks_threads()) {
        (Pages::Plain, true) => "threads are",
        (Pages::Plain, false) => "memory is",
        (_, true) => "pages and threads are",
        (_, false) => "pages are",
    };
    let effect = format!(
        "no preloaded library gets into it: {what} not placed; policy and CPUs are inherited all the same"
    );
    if let Err(reason) = agent_reach(&program.kind) {
        let what = program.kind.out_of_reach(&image).unwrap_or_else(|| image.clone());
        findings.push(
            Finding::new("program", Weight::Overrides, what, effect)
                .proof(image, reason.word())
                .remedy(reason.remedy()),
        );
    } else if let Some(library) = &program.preloaded_allocator {
        let value = evidence.variable("LD_PRELOAD").unwrap_or_default();
        findings.push(
            Finding::new(
                "preloaded-allocator",
                Weight::Overrides,
                format!("LD_PRELOAD brings another allocator ({library})"),
                effect,
            )
            .proof("environment", format!("LD_PRELOAD={value}"))
            .remedy("unset LD_PRELOAD, or: firsttouch run --via supervise"),
        );
    }
}

/// glibc's own huge pages serve what is too small for the agent, and the other way round.
fn tunables(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let Some(value) = evidence.variable("GLIBC_TUNABLES") else { return };
    let hugetlb =
        value.split(':').any(|word| word.starts_with("glibc.malloc.hugetlb=") && !word.ends_with("=0"));
    if hugetlb && evidence.wanted.via == Via::Agent {
        findings.push(
            Finding::new(
                "glibc-tunables",
                Weight::Remark,
                "glibc was told to use huge pages, too",
                "allocations below --min-size get glibc's huge pages; a receipt counts them for the process, not as placed",
            )
            .proof("environment", format!("GLIBC_TUNABLES={value}"))
            .remedy("unset GLIBC_TUNABLES"),
        );
    }
}

/// A virtual machine maps its heap itself; what it takes from the C library is the smaller part.
fn java(evidence: &Evidence, findings: &mut Vec<Finding>) {
    if evidence.program.kind.jvm && evidence.wanted.via == Via::Agent && evidence.wanted.pages != Pages::Plain
    {
        findings.push(
            Finding::new(
                "java-heap",
                Weight::Overrides,
                "Java maps its heap itself",
                "the agent places what the virtual machine allocates beside the heap: direct buffers and native code",
            )
            .proof(evidence.program.image.display().to_string(), "needs libjli.so")
            .remedy("firsttouch run --via jvm"),
        );
    }
}
