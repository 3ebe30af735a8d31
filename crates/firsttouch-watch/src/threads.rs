//! The threads: which CPU and node they ran on, what they used, how often they were moved.

use firsttouch_documents::WatchedThreads;
use firsttouch_linux::process::{self, Stat, TICKS_PER_S};
use firsttouch_linux::root::Root;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// What a thread had done when it was looked at.
#[derive(Clone, Copy, Debug)]
struct Seen {
    start_ticks: u64,
    ticks: u64,
    migrations: Option<u64>,
}

/// Looks at threads, and remembers what they had done at the last look.
#[derive(Debug)]
pub(crate) struct Threads {
    node_of_cpu: BTreeMap<u32, u32>,
    seen: HashMap<u32, Seen>,
    /// When; `None` before the first look.
    looked: Option<Duration>,
    migrations: u64,
    /// The kernel counts migrations, as far as is known.
    counted: bool,
}

impl Threads {
    pub(crate) fn new(node_of_cpu: BTreeMap<u32, u32>) -> Threads {
        Threads { node_of_cpu, seen: HashMap::new(), looked: None, migrations: 0, counted: true }
    }

    /// Looks at every thread of these processes. One that ends meanwhile is left out.
    pub(crate) fn look(&mut self, root: &Root, processes: &[u32], now: Duration) -> WatchedThreads {
        let mut threads = WatchedThreads::default();
        let mut seen = HashMap::with_capacity(self.seen.len());
        let mut ticks_by_node = BTreeMap::new();
        let before = self.migrations;
        for &pid in processes {
            for thread in process::threads(root, pid).unwrap_or_default() {
                let Ok(stat) = Stat::read_thread(root, pid, thread) else { continue };
                // A first thread that has ended stays for as long as the others go on.
                let lives = !matches!(stat.state, 'Z' | 'X');
                threads.count += u32::from(lives);
                threads.running += u32::from(stat.state == 'R');
                let node = stat.processor.and_then(|cpu| self.node_of_cpu.get(&cpu)).copied();
                if let Some(cpu) = stat.processor.filter(|_| lives) {
                    *threads.by_cpu.entry(cpu).or_insert(0) += 1;
                }
                let now = Seen {
                    start_ticks: stat.start_ticks,
                    ticks: stat.ticks(),
                    migrations: self.migrations_of(root, pid, thread),
                };
                let (ticks, migrations) = self.since(thread, now);
                self.migrations += migrations;
                if let Some(node) = node {
                    if lives {
                        *threads.by_node.entry(node).or_insert(0) += 1;
                    }
                    *ticks_by_node.entry(node).or_insert(0) += ticks;
                }
                seen.insert(thread, now);
            }
        }
        let passed = self.looked.map(|looked| now.saturating_sub(looked).as_secs_f64()).filter(|s| *s > 0.0);
        if let Some(passed_s) = passed {
            let cores = |ticks: u64| ticks as f64 / TICKS_PER_S as f64 / passed_s;
            threads.cores_by_node =
                Some(ticks_by_node.into_iter().map(|(node, ticks)| (node, cores(ticks))).collect());
        }
        if self.counted {
            threads.migrations = Some(self.migrations);
            threads.migrations_per_s = passed.map(|passed_s| (self.migrations - before) as f64 / passed_s);
        }
        self.seen = seen;
        self.looked = Some(now);
        threads
    }

    fn migrations_of(&mut self, root: &Root, pid: u32, thread: u32) -> Option<u64> {
        if !self.counted {
            return None;
        }
        let answer = process::migrations(root, pid, thread);
        // The file is there for every thread or for none; a thread that has ended has no other file either.
        if matches!(answer, Ok(None)) || answer.is_err() && Stat::read_thread(root, pid, thread).is_ok() {
            self.counted = false;
        }
        answer.ok().flatten()
    }

    /// Ticks and migrations since the last look. What a thread did before the first look is not counted; a thread that is
    /// new since did it all since.
    fn since(&self, thread: u32, now: Seen) -> (u64, u64) {
        let migrations = now.migrations.unwrap_or(0);
        match self.seen.get(&thread).filter(|before| before.start_ticks == now.start_ticks) {
            Some(before) => (
                now.ticks.saturating_sub(before.ticks),
                migrations.saturating_sub(before.migrations.unwrap_or(migrations)),
            ),
            None if self.looked.is_some() => (now.ticks, migrations),
            None => (0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn write(root: &Path, pid: u32, thread: u32, state: char, cpu: u32, ticks: u64, migrations: Option<u64>) {
        let folder = root.join(format!("proc/{pid}/task/{thread}"));
        fs::create_dir_all(&folder).unwrap();
        let zeros = "0 ".repeat(16);
        let stat =
            format!("{thread} (a b) {state} 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 2 0 55 {zeros}{cpu} 0\n");
        fs::write(folder.join("stat"), stat).unwrap();
        if let Some(migrations) = migrations {
            fs::write(folder.join("sched"), format!("x\nse.nr_migrations : {migrations}\n")).unwrap();
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn looks_are_compared() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        write(folder.path(), 7, 7, 'R', 0, 1000, Some(10));
        write(folder.path(), 7, 8, 'S', 2, 500, Some(5));
        let mut threads = Threads::new(BTreeMap::from([(0, 0), (1, 0), (2, 1)]));
        let first = threads.look(&root, &[7], SECOND);
        assert_eq!((first.count, first.running), (2, 1));
        assert_eq!(first.by_cpu, BTreeMap::from([(0, 1), (2, 1)]));
        assert_eq!(first.by_node, BTreeMap::from([(0, 1), (1, 1)]));
        assert_eq!((first.cores_by_node, first.migrations, first.migrations_per_s), (None, Some(0), None));

        write(folder.path(), 7, 7, 'R', 2, 1200, Some(13));
        fs::remove_dir_all(folder.path().join("proc/7/task/8")).unwrap();
        write(folder.path(), 7, 9, 'S', 1, 40, Some(2));
        let second = threads.look(&root, &[7], 3 * SECOND);
        assert_eq!(second.cores_by_node, Some(BTreeMap::from([(0, 0.2), (1, 1.0)])));
        assert_eq!((second.migrations, second.migrations_per_s), (Some(5), Some(2.5)));
    }

    #[test]
    fn what_the_kernel_does_not_count_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        write(folder.path(), 7, 7, 'S', 5, 0, None);
        let mut threads = Threads::new(BTreeMap::new());
        let look = threads.look(&root, &[7, 99], SECOND);
        assert_eq!((look.count, look.migrations), (1, None));
        assert_eq!((look.by_cpu, look.by_node.len()), (BTreeMap::from([(5, 1)]), 0));
    }
}
