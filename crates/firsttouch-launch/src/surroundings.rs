//! The machine around a session: what it can do, whether runs need warming up, and whether a run left it as it
//! found it.

use crate::configurations::{Abilities, words};
use crate::nodes::candidates;
use crate::obstacle::Obstacle;
use firsttouch_linux::features::page_bytes;
use firsttouch_linux::sysinfo::pages_in_cpu_lists;
use firsttouch_machine::{Machine, Root, StatusReport};
use firsttouch_placement::MachineKey;

/// What can be done on a machine. `measured`: the bandwidth between the nodes is known.
pub(crate) fn abilities(status: &StatusReport, measured: bool) -> Abilities {
    let obstacles = words().filter_map(|word| {
        let obstacle = match status.can(word) {
            Some(ability) if ability.possible == Some(true) => return None,
            Some(ability) => Obstacle { reason: ability.why.clone(), remedy: ability.remedy.clone() },
            None => Obstacle { reason: "this kernel has no such pages".to_owned(), remedy: None },
        };
        Some((word.to_owned(), obstacle))
    });
    Abilities {
        obstacles: obstacles.collect(),
        over_nodes: candidates(&status.machine, measured),
        unreachable: None,
        jvm: false,
    }
}

/// What decides whether evidence from this machine carries over to another; `None` where the machine keeps it to
/// itself.
pub(crate) fn key(machine: &Machine) -> Option<MachineKey> {
    Some(MachineKey {
        cpu: machine.cpu_model.clone()?,
        cpus: machine.cpus_online?,
        nodes: u32::try_from(machine.nodes.len()).ok()?,
        kernel: machine.kernel.clone()?,
        thp: machine.thp_mode().map(str::to_owned),
    })
}

/// Memory freed here may be gone from the host by the next run. Without free page reporting a guest keeps what it has touched
/// once, as the untimed runs do; where it cannot be seen whether there is any, there may be.
pub(crate) fn needs_warming(machine: &Machine) -> bool {
    machine.free_page_reporting.unwrap_or(machine.virtual_machine == Some(true))
}

/// What a run must leave as it found it, or the next one starts from a worse place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Supplies {
    available_bytes: Option<u64>,
    /// What lies in lists of each CPU: nobody uses it, and the kernel does not count it as available.
    in_cpu_lists_bytes: u64,
    /// What the control group still lets us have.
    group_bytes: Option<u64>,
    total_bytes: Option<u64>,
    /// Page size and free pages of each pool.
    pools: Vec<(u64, Option<u64>)>,
}

impl Supplies {
    /// Those of the machine now; `None` where it cannot be read.
    pub(crate) fn read(root: &Root) -> Option<Supplies> {
        let machine = Machine::read(root).ok()?;
        let zones = root.read("proc/zoneinfo").ok().flatten();
        let pages = zones.and_then(|text| pages_in_cpu_lists(&text)).unwrap_or(0);
        Some(Supplies {
            available_bytes: machine.memory_available_bytes,
            in_cpu_lists_bytes: pages.saturating_mul(page_bytes() as u64),
            group_bytes: machine.limits.cgroup_headroom_bytes(),
            total_bytes: machine.memory_bytes,
            pools: machine.pools.iter().map(|pool| (pool.page_bytes, pool.free)).collect(),
        })
    }

    /// Memory that a program could have.
    pub(crate) fn room_bytes(&self) -> Option<u64> {
        self.available_bytes.map(|bytes| self.group_bytes.map_or(bytes, |group| group.min(bytes)))
    }

    /// What is missing against `before`, in words; `None` when all is back. Ordinary memory may vary by a
    /// thirty-second part of the machine's, as caches of files and other programs do; a pool may not.
    pub(crate) fn missing(&self, before: &Supplies) -> Option<String> {
        for (page_bytes, free_before) in &before.pools {
            let free = self.pools.iter().find(|(bytes, _)| bytes == page_bytes).and_then(|(_, free)| *free);
            if let (Some(free), Some(free_before)) = (free, *free_before)
                && free < free_before
            {
                let size = firsttouch_placement::format_bytes(*page_bytes);
                return Some(format!("{} of {free_before} free pages of {size}", free_before - free));
            }
        }
        let allowed = before.total_bytes? / 32;
        let unused =
            |supplies: &Supplies| Some(supplies.available_bytes?.saturating_add(supplies.in_cpu_lists_bytes));
        let gone = unused(before)?.checked_sub(unused(self)?)?;
        (gone > allowed).then(|| format!("{} of memory", firsttouch_placement::format_bytes(gone)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configurations::choose;

    fn supplies(available: u64, free: u64) -> Supplies {
        Supplies {
            available_bytes: Some(available),
            in_cpu_lists_bytes: 0,
            group_bytes: None,
            total_bytes: Some(32 << 30),
            pools: vec![(2 << 20, Some(free))],
        }
    }

    #[test]
    fn what_is_gone_is_named() {
        let before = supplies(20 << 30, 100);
        assert_eq!(supplies(20 << 30, 100).missing(&before), None);
        assert_eq!(supplies((20 << 30) - 1000, 101).missing(&before), None);
        assert_eq!(supplies(20 << 30, 97).missing(&before).unwrap(), "3 of 100 free pages of 2 MiB");
        assert_eq!(supplies(18 << 30, 100).missing(&before).unwrap(), "2 GiB of memory");
        // What a CPU keeps for itself is not gone, and what it kept before does not hide what is.
        let listed = |in_cpu_lists_bytes| Supplies { in_cpu_lists_bytes, ..supplies(18 << 30, 100) };
        assert_eq!(listed(2 << 30).missing(&before), None);
        assert_eq!(supplies(18 << 30, 100).missing(&listed(2 << 30)).unwrap(), "2 GiB of memory");
    }

    #[test]
    fn a_control_group_leaves_less_room() {
        let with = |group_bytes| Supplies { group_bytes, ..supplies(100, 0) }.room_bytes();
        assert_eq!([None, Some(30), Some(300)].map(with), [Some(100), Some(30), Some(100)]);
    }

    #[test]
    fn warming_is_for_machines_that_give_memory_back() {
        let mut machine = Machine::from_source("core:1 pu:1").unwrap();
        let mut needs = |reporting, guest| {
            (machine.free_page_reporting, machine.virtual_machine) = (reporting, guest);
            needs_warming(&machine)
        };
        assert!(needs(Some(true), Some(true)) && needs(None, Some(true)));
        assert!(!needs(Some(false), Some(true)) && !needs(None, Some(false)) && !needs(None, None));
    }

    #[test]
    fn a_recorded_machine_says_what_it_can_do() {
        let root = tempfile::tempdir().unwrap();
        let thp = root.path().join("sys/kernel/mm/transparent_hugepage");
        let write = |path: std::path::PathBuf, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(root.path().join("proc/cpuinfo"), "");
        write(thp.join("enabled"), "always [madvise] never\n");
        write(thp.join("hugepages-64kB/enabled"), "always inherit madvise [never]\n");
        write(thp.join("hugepages-2048kB/enabled"), "always [inherit] madvise never\n");
        let pool = root.path().join("sys/kernel/mm/hugepages/hugepages-2048kB");
        write(pool.join("nr_hugepages"), "8\n");
        write(pool.join("free_hugepages"), "5\n");
        let status = StatusReport::of(Machine::read(&Root::at(root.path())).unwrap());
        let abilities = abilities(&status, false);
        let obstacle = |word: &str| abilities.obstacles.get(word).map(|obstacle| obstacle.remedy.is_some());
        assert_eq!([obstacle("thp"), obstacle("64k"), obstacle("2m")], [None, Some(true), None]);
        assert_eq!(key(&status.machine), None);
    }

    /// An ability that [`words`] does not name would count as there.
    #[test]
    fn a_machine_without_huge_pages_tries_none() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("proc/cpuinfo"), "").unwrap();
        let status = StatusReport::of(Machine::read(&Root::at(root.path())).unwrap());
        let mut abilities = abilities(&status, false);
        abilities.jvm = true;
        let tried = choose("plain", &[], true, &abilities).unwrap().configurations;
        let names: Vec<&str> = tried.iter().map(|tried| tried.name.as_str()).collect();
        // With what is kept on small pages, and mimalloc, which takes what there is.
        let small =
            ["baseline", "4k", "glibc-keep", "mimalloc", "mimalloc-large", "mimalloc-large-keep", "jemalloc"];
        assert_eq!(names, small);
        abilities.unreachable = Some(Obstacle { reason: "statically linked".to_owned(), remedy: None });
        assert!(choose("plain", &[], true, &abilities).is_err());
    }
}
