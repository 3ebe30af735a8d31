//! Sandboxes that refuse the calls of placement.

use crate::{Evidence, Finding, Weight};
use firsttouch_linux::trials::Trial;
use std::io;

/// Each call, whether it is needed for what was asked, and what its loss does.
fn need(evidence: &Evidence, call: &str) -> Option<(Weight, &'static str)> {
    let weight = |asked: bool, loss: Weight| if asked { loss } else { Weight::Remark };
    Some(match call {
        "set_mempolicy" => (
            weight(evidence.asks_memory(), Weight::Overrides),
            "no memory policy can be given to the program",
        ),
        "mbind" => (
            weight(evidence.asks_memory(), Weight::Weakens),
            "placed blocks cannot be bound or weighted one by one",
        ),
        "move_pages" => (Weight::Remark, "pages cannot be moved, nor their nodes asked for one by one"),
        "sched_setaffinity" => {
            let loss = "neither the program nor its threads can be bound to CPUs";
            (weight(evidence.asks_cpus(), Weight::Overrides), loss)
        }
        "madvise" => (Weight::Overrides, "transparent huge pages cannot be asked for"),
        _ => return None,
    })
}

pub(super) fn find(evidence: &Evidence, findings: &mut Vec<Finding>) {
    for (call, trial) in &evidence.trials {
        let answer = match trial {
            Trial::Works => continue,
            Trial::Refused(errno) => format!("{call}: {}", io::Error::from_raw_os_error(*errno)),
            Trial::Killed(signal) => format!("{call}: killed by signal {signal}"),
        };
        let Some((weight, loss)) = need(evidence, call) else { continue };
        let filtered = evidence.status("Seccomp").is_some_and(|mode| mode != "0");
        let who = if filtered { "a sandbox (seccomp) refuses" } else { "the kernel refuses" };
        let mut finding = Finding::new("refused-call", weight, format!("{who} {call}"), loss)
            .proof("tried in a child", answer);
        if let Some(mode) = evidence.status("Seccomp") {
            finding = finding.proof("/proc/self/status", format!("Seccomp: {mode}"));
        }
        findings.push(finding.remedy(if filtered {
            "docker run --cap-add SYS_NICE …, or --security-opt seccomp=FILE with a profile that allows it"
        } else {
            "firsttouch status shows what this kernel has"
        }));
    }
}
