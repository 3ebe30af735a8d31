//! What a container or a sandbox keeps from programs.

use super::{Found, noted};
use crate::rules::{cpus, sandbox};
use firsttouch_linux::sysinfo::status_field;

pub(super) fn find(found: &mut Found<'_>) {
    let evidence = found.evidence;
    let status = evidence.settings.text("proc/self/status");
    let seccomp = status.and_then(|text| status_field(text, "Seccomp"));
    let machine = &evidence.report.machine;
    found.findings.extend(cpus::cpuset_cpus(machine, status, "programs run on the CPUs of the cpuset only"));
    found.findings.extend(cpus::cpuset_mems(machine, status));
    found.findings.extend(sandbox::refused(&evidence.trials, seccomp, true, true));
    // Where calls could not be tried all that is known is that there is a filter.
    if evidence.trials.is_empty()
        && let Some(mode) = seccomp.filter(|mode| *mode != "0")
    {
        let what = "a sandbox (seccomp) decides which calls of the kernel are let through";
        let effect = "those that set policies and move pages may be refused; here they could not be tried";
        found.add(
            noted("seccomp", what, effect)
                .proof("/proc/self/status", format!("Seccomp: {mode}"))
                .remedy("firsttouch doctor on the machine itself, where it may start a process, tries them"),
        );
    }
}
