//! What the scheduler did with a thread: how often it moved it, how long it ran and waited.

use crate::maps::{process_file, read_text, unreadable};
use crate::root::Root;
use std::io;
use std::time::Duration;

/// How often the scheduler has moved a thread to another CPU (`/proc/PID/task/TID/sched`, a file of kernels with
/// `CONFIG_SCHED_DEBUG`); `None` where it does not say.
pub fn migrations(root: &Root, pid: u32, thread: u32) -> io::Result<Option<u64>> {
    Ok(parse_migrations(&read_text(&process_file(root, pid, &format!("task/{thread}/sched")))?))
}

/// Reads the text of a `sched` file.
pub fn parse_migrations(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("se.nr_migrations"))?;
    line.split_once(':')?.1.trim().parse().ok()
}

/// What the scheduler has done with a thread so far (`/proc/PID/task/TID/schedstat`, a file of kernels with
/// `CONFIG_SCHED_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduled {
    /// How long it has run.
    pub ran: Duration,
    /// How long it has stood in the queue of a CPU that ran something else.
    pub waited: Duration,
}

impl Scheduled {
    /// Reads the text of a `schedstat` file; `None` if it is something else.
    ///
    /// ```
    /// use firsttouch_linux::process::Scheduled;
    /// let seen = Scheduled::parse("5000 7000 3\n").unwrap();
    /// assert_eq!((seen.ran.as_nanos(), seen.waited.as_nanos()), (5000, 7000));
    /// assert_eq!(Scheduled::parse("5000\n"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Scheduled> {
        let mut words = text.split_ascii_whitespace();
        let mut next = || Some(Duration::from_nanos(words.next()?.parse().ok()?));
        Some(Scheduled { ran: next()?, waited: next()? })
    }

    /// That of one thread; not found where it is no thread (any more) of this process, or the kernel does not count.
    pub fn read_thread(root: &Root, pid: u32, thread: u32) -> io::Result<Scheduled> {
        let path = process_file(root, pid, &format!("task/{thread}/schedstat"));
        Scheduled::parse(&read_text(&path)?).ok_or_else(|| unreadable(&path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn migrations_read() {
        let text = "a (1, #threads: 1)\n----\nse.vruntime      :   1.5\nse.nr_migrations    :     14\nnr_switches : 2\n";
        assert_eq!(parse_migrations(text), Some(14));
        assert_eq!(parse_migrations("nr_switches : 2\n"), None);
        assert_eq!(parse_migrations("se.nr_migrations : many"), None);
    }

    proptest! {
        #[test]
        fn any_sched_is_survived(text in "(se.nr_migrations|nr_switches|[a-z._]{0,9}) {0,3}:? {0,3}[0-9.a]{0,22}\n?") {
            let _ = parse_migrations(&text);
        }
    }
}
