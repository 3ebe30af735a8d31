//! What limits the memory of this process.

use crate::cgroup::{Cgroups, Group};
use crate::reader::Reader;
use firsttouch_linux::cpulist::parse_list;
use firsttouch_linux::root::Root;
use firsttouch_linux::sysinfo::{self, Limit};
use firsttouch_sorted::sort_by_key;
use serde::{Deserialize, Serialize};

/// A limit in bytes, or none. A document has a number or `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Bound {
    /// At most this many bytes.
    Bytes(u64),
    /// No limit.
    #[serde(with = "unlimited")]
    #[cfg_attr(feature = "schemas", schemars(with = "Unlimited"))]
    Unlimited,
}

/// The word for no limit.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum Unlimited {
    Unlimited,
}

mod unlimited {
    use super::Unlimited;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
        Unlimited::Unlimited.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
        Unlimited::deserialize(deserializer).map(|_| ())
    }
}

impl From<Limit> for Bound {
    fn from(limit: Limit) -> Bound {
        match limit {
            Limit::At(bytes) => Bound::Bytes(bytes),
            Limit::Unlimited => Bound::Unlimited,
        }
    }
}

/// The limits of this process and of its control groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Bytes that may be locked in memory (`ulimit -l`).
    pub memlock_bytes: Option<Bound>,
    /// Bytes of address space (`ulimit -v`).
    pub address_space_bytes: Option<Bound>,
    /// Of our control group and those around it the one that leaves the least memory.
    pub cgroup_memory: Option<GroupMemory>,
    /// Limits of the control group on reserved huge pages, by size.
    pub cgroup_hugetlb: Vec<HugetlbLimit>,
    /// CPUs of the cpuset.
    pub cpuset_cpus: Option<Vec<u32>>,
    /// Nodes of the cpuset.
    pub cpuset_mems: Option<Vec<u32>>,
    /// CPUs this process may run on, its affinity included.
    pub allowed_cpus: Option<Vec<u32>>,
    /// Nodes this process may take memory from.
    pub allowed_nodes: Option<Vec<u32>>,
}

/// A control group's limit on memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GroupMemory {
    /// Version of the control groups, 1 or 2.
    pub version: u8,
    /// The limit of that group.
    pub limit_bytes: Bound,
    /// What it uses now.
    pub usage_bytes: Option<u64>,
    /// What of it the kernel takes back where there is need: files that nobody has used for a while. Absent where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaimable_bytes: Option<u64>,
    /// The file that holds the limit; `None` when no group has one.
    pub file: Option<String>,
}

/// A control group's limit on reserved pages of one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HugetlbLimit {
    /// The size of the pages.
    pub page_bytes: u64,
    /// The lowest limit of our group and the groups around it.
    pub limit_bytes: Bound,
    /// What the group with that limit uses now.
    pub usage_bytes: Option<u64>,
    /// The file that holds the limit.
    pub file: String,
}

impl Limits {
    pub(crate) fn read(reader: &Reader<'_>, status: Option<&str>) -> Limits {
        let rows = reader.text("proc/self/limits");
        let row = |name: &str| sysinfo::soft_limit(rows.as_deref()?, name).map(Bound::from);
        let allowed = |name: &str| parse_list(sysinfo::status_field(status?, name)?);
        let groups = Cgroups::of_process(reader, "self");
        let cpuset = groups.of("cpuset");
        Limits {
            memlock_bytes: row("Max locked memory"),
            address_space_bytes: row("Max address space"),
            cgroup_memory: groups.of("memory").and_then(|group| group_memory(reader, &group)),
            cgroup_hugetlb: groups.of("hugetlb").map(|group| hugetlb(reader, &group)).unwrap_or_default(),
            cpuset_cpus: cpuset.as_ref().and_then(|group| cpuset_list(reader, group, "cpus")),
            cpuset_mems: cpuset.as_ref().and_then(|group| cpuset_list(reader, group, "mems")),
            allowed_cpus: allowed("Cpus_allowed_list"),
            allowed_nodes: allowed("Mems_allowed_list"),
        }
    }

    /// Memory that the control group still lets us have, what the kernel takes back for it included; `None` when unknown or without
    /// limit.
    pub fn cgroup_headroom_bytes(&self) -> Option<u64> {
        let memory = self.cgroup_memory.as_ref()?;
        memory.usage_bytes.and(memory.room())
    }
}

impl GroupMemory {
    /// What it leaves; all of the limit where it does not tell what it uses. `None` without limit.
    fn room(&self) -> Option<u64> {
        let used = self.usage_bytes.unwrap_or(0).saturating_sub(self.reclaimable_bytes.unwrap_or(0));
        match self.limit_bytes {
            Bound::Bytes(limit) => Some(limit.saturating_sub(used)),
            Bound::Unlimited => None,
        }
    }
}

/// The lowest limit from the innermost group to the top, with the folder it was found in. A group without the file
/// has no limit of its own.
fn lowest(reader: &Reader<'_>, group: &Group, file: &str) -> Option<(Bound, String)> {
    let limit = |folder: &String| {
        let text = reader.text(&format!("{folder}/{file}"))?;
        Some((Bound::from(sysinfo::cgroup_limit(&text)?), folder.clone()))
    };
    // The first of equals is the innermost.
    group.folders.iter().filter_map(limit).min_by_key(|(bound, _)| *bound)
}

fn group_memory(reader: &Reader<'_>, group: &Group) -> Option<GroupMemory> {
    // Version 1 tells of a group alone, and by `total_` of it with those in it, as the limit has it. Beyond `memory.max` the kernel kills, beyond
    // `memory.high` it holds up who wants more.
    let (limit_files, usage_file, reclaimable): (&[&str], _, _) = match group.version {
        1 => (&["memory.limit_in_bytes"], "memory.usage_in_bytes", "total_inactive_file "),
        _ => (&["memory.max", "memory.high"], "memory.current", "inactive_file "),
    };
    let of_folder = |folder: &String| {
        let limits = limit_files.iter().filter_map(|file| {
            let text = reader.text(&format!("{folder}/{file}"))?;
            Some((Bound::from(sysinfo::cgroup_limit(&text)?), file))
        });
        let (limit_bytes, file) = limits.min_by_key(|(bound, _)| *bound)?;
        Some(GroupMemory {
            version: group.version,
            limit_bytes,
            usage_bytes: reader.number(&format!("{folder}/{usage_file}")),
            reclaimable_bytes: reader.text(&format!("{folder}/memory.stat")).and_then(|text| {
                text.lines().find_map(|line| line.strip_prefix(reclaimable)?.trim().parse().ok())
            }),
            file: (limit_bytes != Bound::Unlimited).then(|| format!("/{folder}/{file}")),
        })
    };
    // The one with the least room, which need not be the one with the lowest limit: others are in the groups around it. The first of equals
    // is the innermost.
    let found = group.folders.iter().filter_map(of_folder).min_by_key(|one| one.room().unwrap_or(u64::MAX));
    found.or_else(|| {
        // The top group of version 2 has no such file: it cannot be limited.
        let controllers = reader.text(&format!("{}/cgroup.controllers", group.folders.last()?))?;
        (group.folders.len() == 1 && controllers.split_whitespace().any(|name| name == "memory")).then_some(
            GroupMemory {
                version: 2,
                limit_bytes: Bound::Unlimited,
                usage_bytes: None,
                reclaimable_bytes: None,
                file: None,
            },
        )
    })
}

fn hugetlb(reader: &Reader<'_>, group: &Group) -> Vec<HugetlbLimit> {
    let (limit_file, usage_file) = match group.version {
        1 => ("limit_in_bytes", "usage_in_bytes"),
        _ => ("max", "current"),
    };
    let Some(innermost) = group.folders.first() else { return Vec::new() };
    let names = reader.names(innermost);
    let sizes = names
        .iter()
        .filter_map(|name| name.strip_prefix("hugetlb.")?.strip_suffix(limit_file)?.strip_suffix('.'));
    let mut limits: Vec<HugetlbLimit> = sizes
        .filter_map(|word| {
            let (limit_bytes, folder) = lowest(reader, group, &format!("hugetlb.{word}.{limit_file}"))?;
            Some(HugetlbLimit {
                page_bytes: page_size(word)?,
                limit_bytes,
                usage_bytes: reader.number(&format!("{folder}/hugetlb.{word}.{usage_file}")),
                file: format!("/{folder}/hugetlb.{word}.{limit_file}"),
            })
        })
        .collect();
    sort_by_key(&mut limits, |limit| limit.page_bytes);
    limits
}

/// `2MB`, `1GB`, `64KB`: the names that control groups use for page sizes.
fn page_size(word: &str) -> Option<u64> {
    let shifts = [("KB", 10), ("MB", 20), ("GB", 30)];
    let (number, shift) = shifts.iter().find_map(|(unit, shift)| Some((word.strip_suffix(unit)?, shift)))?;
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The CPUs that the cpuset of a process lets it run on, whatever its threads are bound to; `None` where there are no cpusets.
pub fn cpuset_of_process(root: &Root, pid: u32) -> Option<Vec<u32>> {
    let reader = Reader::new(root);
    let group = Cgroups::of_process(&reader, &pid.to_string()).of("cpuset")?;
    cpuset_list(&reader, &group, "cpus")
}

fn cpuset_list(reader: &Reader<'_>, group: &Group, what: &str) -> Option<Vec<u32>> {
    let names = match (group.version, group.bare_names) {
        (1, true) => [format!("effective_{what}"), what.to_owned()],
        (1, false) => [format!("cpuset.effective_{what}"), format!("cpuset.{what}")],
        _ => [format!("cpuset.{what}.effective"), format!("cpuset.{what}")],
    };
    // An empty list of a group means that of the group around it.
    let list = |folder: &String| {
        let texts = names.iter().filter_map(|name| reader.word(&format!("{folder}/{name}")));
        texts.filter_map(|text| parse_list(&text)).find(|list| !list.is_empty())
    };
    group.folders.iter().find_map(list)
}

#[cfg(test)]
mod tests {
    use super::{Bound, page_size};

    #[test]
    fn an_unlimited_bound_is_the_highest() {
        assert!(Bound::Bytes(u64::MAX) < Bound::Unlimited);
        assert_eq!(serde_json::to_string(&[Bound::Bytes(7), Bound::Unlimited]).unwrap(), "[7,\"unlimited\"]");
    }

    #[test]
    fn page_sizes_of_control_groups() {
        assert_eq!(page_size("2MB"), Some(2 << 20));
        assert_eq!(page_size("16GB"), Some(16 << 30));
        assert_eq!(page_size("2MB.rsvd"), None);
        assert_eq!(page_size("99999999999999999999GB"), None);
    }
}
