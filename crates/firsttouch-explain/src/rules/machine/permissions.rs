//! What ordinary users may not do here that firsttouch has a use for.

use super::{Found, noted};

pub(super) fn find(found: &mut Found<'_>) {
    let machine = &found.evidence.report.machine;
    let lacks = |name: &str| {
        machine.has_capability(name) == Some(false) && machine.has_capability("CAP_SYS_ADMIN") == Some(false)
    };
    if let Some(level) = machine.perf_event_paranoid.filter(|level| *level > 2 && lacks("CAP_PERFMON")) {
        let what = "ordinary users may not count events of their own programs";
        let effect =
            "counters of `tune` and `watch` are missing: misses, faults and remote accesses are not told";
        let file = "/proc/sys/kernel/perf_event_paranoid";
        found.add(noted("perf-paranoid", what, effect).proof(file, level.to_string()).set(file, "2"));
    }
    let scope = found.number("proc/sys/kernel/yama/ptrace_scope").unwrap_or(0);
    if scope > 0 && lacks("CAP_SYS_PTRACE") {
        let (what, remedy) = match scope {
            1 => ("ordinary users may attach to programs that they started by the same command only", "0"),
            2 => ("only administrators may attach to programs", "1"),
            _ => ("nobody may attach to programs until the next boot", "1"),
        };
        let effect = "`firsttouch attach PID` is refused; programs started by `firsttouch run --attachable` are not concerned";
        let file = "/proc/sys/kernel/yama/ptrace_scope";
        found.add(noted("ptrace-scope", what, effect).proof(file, scope.to_string()).set(file, remedy));
    }
}
