//! Programs that change settings, move pages or end others while ours runs.

use super::{Found, noted};

/// The name of a process, the finding, what it does, what comes of it, and what ends it.
const DAEMONS: [(&str, &str, &str, &str, &str); 5] = [
    (
        "numad",
        "daemon-numad",
        "numad moves processes and their memory between nodes",
        "pages and threads do not stay where they were placed",
        "sudo systemctl disable --now numad   # or for one process: sudo numad -x PID",
    ),
    (
        "tuned",
        "daemon-tuned",
        "tuned sets huge pages, governors and sysctl by a profile",
        "settings made by hand are overwritten when it starts or changes its profile",
        "tuned-adm active   # make the setting in that profile, or: tuned-adm off",
    ),
    (
        "irqbalance",
        "daemon-irqbalance",
        "irqbalance moves interrupts between CPUs",
        "interrupts do not stay where they were set, and may come to CPUs that are to be quiet",
        "sudo systemctl disable --now irqbalance   # or IRQBALANCE_BANNED_CPULIST in its settings",
    ),
    (
        "earlyoom",
        "daemon-earlyoom",
        "earlyoom ends programs when memory runs short, before the kernel would",
        "a program that is meant to fill the memory is ended while some is still free",
        "sudo systemctl disable --now earlyoom   # or EARLYOOM_ARGS=\"--avoid '^NAME$'\"",
    ),
    (
        "ksmtuned",
        "ksm-runs",
        "ksmtuned switches the merging of equal pages (KSM) on and off",
        "merging splits the huge pages of programs that asked for it (virtual machines)",
        "sudo systemctl disable --now ksmtuned ksm",
    ),
];

pub(super) fn find(found: &mut Found<'_>) {
    let processes = found.evidence.settings.between("proc/", "/comm");
    for (name, id, what, effect, remedy) in DAEMONS {
        let runs = processes.iter().find(|(_, comm)| *comm == name);
        let Some((pid, comm)) = runs else { continue };
        found.add(noted(id, what, effect).proof(format!("/proc/{pid}/comm"), *comm).remedy(remedy));
    }
}
