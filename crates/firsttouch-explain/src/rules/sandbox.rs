//! Sandboxes that refuse the calls of placement.

use crate::{Evidence, Finding, Weight};
use firsttouch_linux::trials::Trial;
use std::io;

/// Each call, what it weighs with what is asked, and what its loss does.
fn need(call: &str, asks_memory: bool, asks_cpus: bool) -> Option<(Weight, &'static str)> {
    let weight = |asked: bool, loss: Weight| if asked { loss } else { Weight::Remark };
    Some(match call {
        "set_mempolicy" => {
            (weight(asks_memory, Weight::Overrides), "no memory policy can be given to the program")
        }
        "mbind" => {
            (weight(asks_memory, Weight::Weakens), "placed blocks cannot be bound or weighted one by one")
        }
        "move_pages" => (Weight::Remark, "pages cannot be moved, nor their nodes asked for one by one"),
        "sched_setaffinity" => {
            let loss = "neither the program nor its threads can be bound to CPUs";
            (weight(asks_cpus, Weight::Overrides), loss)
        }
        "madvise" => (Weight::Overrides, "transparent huge pages cannot be asked for"),
        _ => return None,
    })
}

/// The calls that are refused; `seccomp` is that field of `/proc/self/status`.
pub(super) fn refused(
    trials: &[(&'static str, Trial)],
    seccomp: Option<&str>,
    asks_memory: bool,
    asks_cpus: bool,
) -> Vec<Finding> {
    let finding = |(call, trial): &(&'static str, Trial)| {
        let answer = match trial {
            Trial::Works => return None,
            Trial::Refused(errno) => format!("{call}: {}", io::Error::from_raw_os_error(*errno)),
            Trial::Killed(signal) => format!("{call}: killed by signal {signal}"),
        };
        let (weight, loss) = need(call, asks_memory, asks_cpus)?;
        let filtered = seccomp.is_some_and(|mode| mode != "0");
        let who = if filtered { "a sandbox (seccomp) refuses" } else { "the kernel refuses" };
        let mut finding = Finding::new("refused-call", weight, format!("{who} {call}"), loss)
            .proof("tried in a child", answer);
        if let Some(mode) = seccomp {
            finding = finding.proof("/proc/self/status", format!("Seccomp: {mode}"));
        }
        Some(finding.remedy(match *call {
            _ if !filtered => "firsttouch status shows what this kernel has",
            "set_mempolicy" | "mbind" => {
                "docker run --cap-add SYS_NICE …, or --security-opt seccomp=FILE with a profile that allows it"
            }
            // No capability opens the filters of Docker and Podman for these.
            _ => "docker run --security-opt seccomp=FILE … with a profile that allows it",
        }))
    };
    trials.iter().filter_map(finding).collect()
}

pub(super) fn find(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let (memory, cpus) = (evidence.asks_memory(), evidence.asks_cpus());
    let seccomp = evidence.status("Seccomp");
    findings.extend(refused(&evidence.trials, seccomp, memory, cpus));
    if let Some(error) = &evidence.untried {
        let what = "calls of placement could not be tried";
        let effect = "whether the kernel or a sandbox refuses one is not known: run --receipt tells what the program got";
        let finding = Finding::new("untried-calls", Weight::Remark, what, effect)
            .proof("starting a process", error)
            .remedy("let one more process start: pids.max of the control group (docker run --pids-limit), ulimit -u");
        findings.push(match seccomp {
            Some(mode) => finding.proof("/proc/self/status", format!("Seccomp: {mode}")),
            None => finding,
        });
    }
}
