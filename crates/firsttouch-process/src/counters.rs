//! Hardware counters of one run.

use firsttouch_linux::perf::{Counter, Event};
use firsttouch_linux::root::Root;
use std::collections::BTreeMap;
use std::io;

/// The counters attached to a program; those the kernel refuses are left out.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    counters: Vec<Counter>,
}

impl Counters {
    /// Attaches to a held child; it counts from its exec on, everything it starts included.
    pub(crate) fn attach(pid: u32, events: &[Event]) -> Counters {
        Counters { counters: events.iter().filter_map(|&event| Counter::attach(event, pid).ok()).collect() }
    }

    /// The counts by name. A counter that the hardware never ran is left out, never shown as 0. Names end with `:u`
    /// where only user mode could be counted.
    pub(crate) fn read(&self) -> BTreeMap<String, u64> {
        let counts = self.counters.iter().filter_map(|counter| {
            let value = counter.read().ok()?.estimate()?;
            let suffix = if counter.user_only() { ":u" } else { "" };
            Some((format!("{}{suffix}", counter.event().name()), value))
        });
        counts.collect()
    }
}

/// Why this event cannot be counted here, with what would mend it; `None` if the kernel lets it be opened.
pub fn why_no_counters(root: &Root, event: Event) -> Option<String> {
    let error = Counter::attach(event, std::process::id()).err()?;
    Some(explain(&error, root.read("proc/sys/kernel/perf_event_paranoid").ok().flatten().as_deref()))
}

fn explain(error: &io::Error, paranoid: Option<&str>) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            "the processor, or the virtual machine around it, offers no such counter".to_owned()
        }
        Some(libc::EACCES | libc::EPERM) => match paranoid {
            Some(level) => format!(
                "kernel.perf_event_paranoid is {}; to allow it: sudo sysctl kernel.perf_event_paranoid=2",
                level.trim()
            ),
            None => "not permitted (a container or sandbox forbids perf_event_open)".to_owned(),
        },
        Some(libc::ENOSYS) => "the kernel was built without perf_event_open".to_owned(),
        _ => format!("perf_event_open: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_says_why() {
        let explain = |number, level| explain(&io::Error::from_raw_os_error(number), level);
        assert!(explain(libc::ENOENT, Some("2\n")).contains("virtual machine"));
        assert!(explain(libc::EACCES, Some("4\n")).contains("is 4;"));
        assert!(explain(libc::EPERM, None).contains("sandbox"));
        assert!(explain(libc::ENOSYS, None).contains("built without"));
    }
}
