//! What `doctor` says of hosts: one alone; and several, of which some differ, one is slow and some are missing.

use firsttouch_documents::{
    DifferingFact, DoctorHost, DoctorReport, Finding, HostComparison, MissingHost, SlowHost, Unseen, Weight,
};
use std::collections::BTreeMap;

fn host(name: &str, thp: &str, bandwidth: u64) -> DoctorHost {
    let facts = [("kernel", "6.1.0"), ("/sys/kernel/mm/transparent_hugepage/enabled", thp)];
    let remark = Finding::new("ptrace-scope", Weight::Remark, "users may not attach", "attach needs root")
        .proof("/proc/sys/kernel/yama/ptrace_scope", "1")
        .setup("limits ptrace-scope=0");
    let never =
        Finding::new("thp-never", Weight::Overrides, "huge pages are off", "no program gets any | <none>")
            .proof("/sys/kernel/mm/transparent_hugepage/enabled", thp)
            .remedy("sudo firsttouch setup thp madvise --apply");
    DoctorHost {
        name: name.to_owned(),
        version: Some("1.0.0".to_owned()),
        findings: if thp == "never" { vec![never, remark] } else { vec![remark] },
        unseen: vec![Unseen { topic: "governor".to_owned(), why: "a virtual machine has none".to_owned() }],
        measured: BTreeMap::from([
            ("bandwidth_bytes_per_s".to_owned(), bandwidth),
            ("node1_latency_ps".to_owned(), 98_760),
        ]),
        facts: facts.map(|(word, text)| (word.to_owned(), text.to_owned())).into(),
    }
}

/// One machine, as before there were several.
pub fn one() -> DoctorReport {
    DoctorReport {
        profile: Some("hpc".to_owned()),
        hosts: vec![host("n01", "never", 20_000_000_000)],
        missing: Vec::new(),
        compared: None,
    }
}

/// Several, with words of strangers in every place that has some.
pub fn several() -> DoctorReport {
    let missing = |name: &str, why: &str| MissingHost { name: name.to_owned(), why: why.to_owned() };
    let others = BTreeMap::from([("never".to_owned(), vec!["n03".to_owned()])]);
    DoctorReport {
        profile: None,
        hosts: vec![
            host("n01", "madvise", 20_000_000_000),
            host("n02", "madvise", 20_100_000_000),
            host("n03", "never", 5_000_000_000),
            host("n04", "madvise", 19_900_000_000),
        ],
        missing: vec![
            missing("n05", "connect to host n05 port 22: No route to host (exit status 255)"),
            missing("n06", "connect to host n05 port 22: No route to host (exit status 255)"),
            missing("x", "it says no document, but `\u{1b}[2J</script>|*x*`"),
        ],
        compared: Some(HostComparison {
            differing: vec![DifferingFact {
                fact: "/sys/kernel/mm/transparent_hugepage/enabled".to_owned(),
                majority: "madvise".to_owned(),
                hosts: 3,
                others,
            }],
            slow: vec![SlowHost {
                host: "n03".to_owned(),
                quantity: "bandwidth_bytes_per_s".to_owned(),
                value: 5_000_000_000,
                median: 19_900_000_000,
                limit: 17_910_000_000,
                hosts: 4,
            }],
        }),
    }
}
