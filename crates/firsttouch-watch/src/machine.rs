//! The machine around the process: what the kernel moved, and what memory and pools have left.

use firsttouch_documents::{PoolLevel, WatchedMachine};
use firsttouch_linux::root::Root;
use firsttouch_linux::sysinfo::meminfo;
use firsttouch_linux::vmstat::parse_vmstat;
use firsttouch_machine::Pool;
use std::collections::BTreeMap;
use std::time::Duration;

/// Counters of `/proc/vmstat` that tell of pages that moved, and of huge pages made, missed and split. Not every kernel has
/// all of them.
const COUNTERS: [&str; 12] = [
    "numa_hint_faults",
    "numa_hint_faults_local",
    "numa_pages_migrated",
    "pgmigrate_success",
    "pgmigrate_fail",
    "thp_collapse_alloc",
    "thp_fault_alloc",
    "thp_fault_fallback",
    "thp_migration_success",
    "thp_split_page",
    "thp_split_pmd",
    "compact_stall",
];

/// Looks at the machine, and remembers its counters.
#[derive(Debug)]
pub(crate) struct MachineLooks {
    nodes: Vec<u32>,
    before: Option<(Duration, BTreeMap<String, u64>)>,
}

impl MachineLooks {
    pub(crate) fn new(nodes: Vec<u32>) -> MachineLooks {
        MachineLooks { nodes, before: None }
    }

    pub(crate) fn look(&mut self, root: &Root, now: Duration) -> WatchedMachine {
        let text = root.read("proc/vmstat").ok().flatten().unwrap_or_default();
        let counters: BTreeMap<String, u64> = parse_vmstat(&text)
            .into_iter()
            .filter(|(name, _)| COUNTERS.contains(name))
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let mut rates_per_s = BTreeMap::new();
        if let Some((then, before)) = &self.before {
            let passed_s = now.saturating_sub(*then).as_secs_f64();
            let since =
                |name: &String, value: u64| Some(value.checked_sub(*before.get(name)?)? as f64 / passed_s);
            rates_per_s = counters
                .iter()
                .filter(|_| passed_s > 0.0)
                .filter_map(|(name, value)| Some((name.clone(), since(name, *value)?)))
                .collect();
        }
        self.before = Some((now, counters));
        let free_bytes_by_node =
            self.nodes.iter().filter_map(|&node| Some((node, free_bytes(root, node)?))).collect();
        WatchedMachine { rates_per_s, free_bytes_by_node, pools: pools(root) }
    }
}

/// Free memory of a node; of the machine, where it is one node without a folder.
fn free_bytes(root: &Root, node: u32) -> Option<u64> {
    let read = |file: &str| root.read(file).ok().flatten();
    let text = read(&format!("sys/devices/system/node/node{node}/meminfo"))
        .or_else(|| if node == 0 { read("proc/meminfo") } else { None })?;
    meminfo(&text).free_bytes
}

fn pools(root: &Root) -> Vec<PoolLevel> {
    let level = |pool: Pool| PoolLevel {
        page_bytes: pool.page_bytes,
        pages: pool.pages,
        free: pool.free,
        reserved: pool.reserved,
        free_by_node: pool.nodes.iter().filter_map(|node| Some((node.node, node.free?))).collect(),
    };
    Pool::read_all(root).into_iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn counters_become_rates_and_levels_are_levels() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let pool = folder.path().join("sys/devices/system/node/node1/hugepages/hugepages-2048kB");
        fs::create_dir_all(&pool).unwrap();
        fs::write(pool.join("nr_hugepages"), "8\n").unwrap();
        fs::write(pool.join("free_hugepages"), "3\n").unwrap();
        fs::write(folder.path().join("sys/devices/system/node/node1/meminfo"), "Node 1 MemFree: 4 kB\n")
            .unwrap();
        fs::create_dir(folder.path().join("proc")).unwrap();
        let vmstat = |moved: u64| {
            fs::write(folder.path().join("proc/vmstat"), format!("pgfault 9\npgmigrate_success {moved}\n"))
                .unwrap();
        };
        let mut machine = MachineLooks::new(vec![1]);
        vmstat(100);
        let first = machine.look(&root, Duration::ZERO);
        assert_eq!(first.rates_per_s, BTreeMap::new());
        assert_eq!(first.free_bytes_by_node, BTreeMap::from([(1, 4096)]));
        assert_eq!((first.pools[0].pages, first.pools[0].free), (Some(8), Some(3)));
        assert_eq!(first.pools[0].free_by_node, BTreeMap::from([(1, 3)]));
        vmstat(140);
        let second = machine.look(&root, Duration::from_secs(4));
        assert_eq!(second.rates_per_s, BTreeMap::from([("pgmigrate_success".to_owned(), 10.0)]));
    }

    #[test]
    fn the_live_machine_has_levels() {
        let look = MachineLooks::new(vec![0]).look(&Root::live(), Duration::ZERO);
        assert!(look.free_bytes_by_node[&0] > 0);
    }
}
