//! A mapping as launchers read it: Open MPI's rankfile, Slurm's arbitrary distribution and `--cpu-bind`, lists for `taskset`.
//!
//! A task is a rank. Cores are those of hosts in turn: with two hosts the first half of the cores is the first host's.

use crate::{Machine, Mapping};
use std::fmt::Write;

/// Why a mapping cannot be written for a launcher.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The cores are not a multiple of the hosts.
    #[error("{cores} cores cannot be shared out over {hosts} hosts evenly")]
    Uneven {
        /// How many cores the machine has.
        cores: usize,
        /// How many hosts were named.
        hosts: usize,
    },
    /// A form that knows one list of CPUs for all hosts.
    #[error(
        "--cpu-bind has one list for all hosts, but ranks {one} and {two}, the same in order on their hosts, have CPUs {a} and {b}"
    )]
    Unlike {
        /// A rank.
        one: usize,
        /// A rank of another host.
        two: usize,
        /// The CPU of the one.
        a: u32,
        /// The CPU of the other.
        b: u32,
    },
}

/// The hosts of a machine's cores.
#[derive(Clone, Debug)]
pub struct JobLayout<'a> {
    machine: &'a Machine,
    hosts: &'a [String],
    cores_per_host: usize,
}

impl<'a> JobLayout<'a> {
    /// Shares the cores out over hosts.
    ///
    /// # Errors
    ///
    /// That cannot be done evenly.
    pub fn new(machine: &'a Machine, hosts: &'a [String]) -> Result<JobLayout<'a>, LaunchError> {
        let cores = machine.cores().len();
        if hosts.is_empty() || !cores.is_multiple_of(hosts.len()) {
            return Err(LaunchError::Uneven { cores, hosts: hosts.len() });
        }
        Ok(JobLayout { machine, hosts, cores_per_host: cores / hosts.len() })
    }

    fn host(&self, core: u32) -> &str {
        &self.hosts[core as usize / self.cores_per_host]
    }

    /// The CPU of a core on its host: the kernel's number where it is known, else the place among the host's cores.
    fn cpu(&self, core: u32) -> u32 {
        let place = core % self.cores_per_host as u32;
        self.machine.cores()[core as usize].cpu.unwrap_or(place)
    }
}

/// Open MPI's rankfile: `rank 0=host slot=cpu`.
#[must_use]
pub fn rankfile(layout: &JobLayout<'_>, mapping: &Mapping) -> String {
    let mut text = String::new();
    for (rank, &core) in mapping.cores().iter().enumerate() {
        let _ = writeln!(text, "rank {rank}={} slot={}", layout.host(core), layout.cpu(core));
    }
    text
}

/// Slurm's `SLURM_HOSTFILE` for `--distribution=arbitrary`: the host of each rank in turn.
#[must_use]
pub fn slurm_hostfile(layout: &JobLayout<'_>, mapping: &Mapping) -> String {
    mapping.cores().iter().map(|core| format!("{}\n", layout.host(*core))).collect()
}

/// Slurm's `--cpu-bind=map_cpu:…`, which is the same on all hosts.
///
/// # Errors
///
/// Two hosts would need different lists.
pub fn cpu_bind(layout: &JobLayout<'_>, mapping: &Mapping) -> Result<String, LaunchError> {
    let mut list: Vec<(usize, u32)> = Vec::new();
    for host in layout.hosts {
        let ranks = mapping.cores().iter().enumerate().filter(|(_, core)| layout.host(**core) == host);
        for (place, (rank, core)) in ranks.enumerate() {
            let cpu = layout.cpu(*core);
            match list.get(place) {
                None => list.push((rank, cpu)),
                Some((one, a)) if *a != cpu => {
                    return Err(LaunchError::Unlike { one: *one, two: rank, a: *a, b: cpu });
                }
                Some(_) => {}
            }
        }
    }
    let list: Vec<String> = list.iter().map(|(_, cpu)| cpu.to_string()).collect();
    Ok(format!("--cpu-bind=map_cpu:{}\n", list.join(",")))
}

/// A line for each rank: its number and its CPU, for `taskset -c` or a cpuset.
#[must_use]
pub fn cpusets(layout: &JobLayout<'_>, mapping: &Mapping) -> String {
    let line = |(rank, core): (usize, &u32)| format!("{rank} {}\n", layout.cpu(*core));
    mapping.cores().iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_get_hosts_and_cpus() {
        let machine = Machine::parse("2:2 + 1:10").unwrap();
        let hosts = ["a".to_owned(), "b".to_owned()];
        let layout = JobLayout::new(&machine, &hosts).unwrap();
        let mapping = Mapping::new(vec![1, 3, 0, 2]);
        assert_eq!(
            rankfile(&layout, &mapping),
            "rank 0=a slot=1\nrank 1=b slot=1\nrank 2=a slot=0\nrank 3=b slot=0\n"
        );
        assert_eq!(slurm_hostfile(&layout, &mapping), "a\nb\na\nb\n");
        assert_eq!(cpu_bind(&layout, &mapping).unwrap(), "--cpu-bind=map_cpu:1,0\n");
        assert_eq!(cpusets(&layout, &mapping), "0 1\n1 1\n2 0\n3 0\n");
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let machine = Machine::parse("2:2 + 1:10").unwrap();
        let three = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(JobLayout::new(&machine, &three).unwrap_err(), LaunchError::Uneven { cores: 4, hosts: 3 });
        let two = ["a", "b"].map(str::to_owned);
        let unlike =
            cpu_bind(&JobLayout::new(&machine, &two).unwrap(), &Mapping::new(vec![0, 3])).unwrap_err();
        assert_eq!(unlike, LaunchError::Unlike { one: 0, two: 1, a: 0, b: 1 });
    }
}
