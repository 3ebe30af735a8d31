//! Runtimes of threads that bind or count threads by variables of their own.

use crate::{Evidence, Finding, Weight};
use firsttouch_process::asked_to_bind;

/// Variables that make a library of MPI bind its processes.
const OF_MPI: [&str; 2] = ["I_MPI_PIN_DOMAIN", "MV2_CPU_MAPPING"];

/// Variables that say how many threads there are.
const COUNTING: [&str; 7] = [
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "JULIA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
];

pub(super) fn find(evidence: &Evidence, findings: &mut Vec<Finding>) {
    binding(evidence, findings);
    counting(evidence, findings);
}

fn binding(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let mut set = asked_to_bind(&evidence.environment);
    set.extend(OF_MPI.into_iter().filter_map(|name| Some((name, evidence.variable(name)?))));
    if set.is_empty() {
        return;
    }
    let names: Vec<&str> = set.iter().map(|(name, _)| *name).collect();
    let (weight, effect) = if evidence.asks_threads() {
        (
            Weight::Overrides,
            "the runtime binds its threads itself after they were placed: its word is the last",
        )
    } else if evidence.asks_cpus() {
        (
            Weight::Weakens,
            "the runtime binds its threads itself, to some of the CPUs that were asked for, unless told to leave them",
        )
    } else {
        (Weight::Remark, "the runtime binds its threads itself")
    };
    let what = format!("{} makes the program's runtime bind its threads", names.join(", "));
    let mut finding = Finding::new("thread-runtime", weight, what, effect);
    for (name, value) in &set {
        finding = finding.proof("environment", format!("{name}={value}"));
    }
    findings.push(finding.remedy(format!("unset {}", names.join(" "))));
}

fn counting(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let wanted = evidence.wanted_cpus().len();
    let room = if wanted > 0 { wanted } else { evidence.allowed_cpus().len() };
    if room == 0 {
        return;
    }
    for name in COUNTING {
        let Some(value) = evidence.variable(name) else { continue };
        // OMP_NUM_THREADS may hold one number for each level of nesting: together they make that many.
        let numbers = value.split(',').map(|number| number.trim().parse::<usize>().ok());
        let Some(threads) =
            numbers.collect::<Option<Vec<usize>>>().map(|numbers| numbers.iter().product::<usize>())
        else {
            continue;
        };
        if threads > room {
            findings.push(
                Finding::new(
                    "too-many-threads",
                    Weight::Weakens,
                    format!("{name} asks for {threads} threads, and there are {room} CPUs for them"),
                    "threads share CPUs and wait for each other",
                )
                .proof("environment", format!("{name}={value}"))
                .remedy(format!("export {name}={room}")),
            );
        }
    }
}
