//! Which machines an archive holds, and the one that was meant.

use super::no_machine::{ArchiveError, Folders};
use firsttouch_linux::tree::Tree;
use firsttouch_sorted::SortedMap;
use std::path::{Path, PathBuf};

/// What `hwloc-gather-cpuid` writes beside the answers of the CPUs.
pub(super) const CPUID_MARK: &str = "hwloc-cpuid-info";

/// How a machine was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recording {
    /// Copies of `/proc` and `/sys`.
    Files,
    /// Answers of CPUID.
    Cpuid,
}

/// The folder of the machine that was meant: the one named by its path in the archive or by the end of that, or the only one.
pub(super) fn choose(tree: &Tree, wanted: Option<&Path>) -> Result<(PathBuf, Recording), ArchiveError> {
    let machines = machines(tree);
    if machines.is_empty() {
        return Err(ArchiveError::NotAMachine);
    }
    let found: Vec<&PathBuf> = match wanted {
        None => outermost(&machines),
        Some(wanted) if machines.contains_key(wanted) => {
            machines.keys().filter(|one| *one == wanted).collect()
        }
        Some(wanted) => machines.keys().filter(|folder| folder.ends_with(wanted)).collect(),
    };
    match (found.as_slice(), wanted) {
        ([only], _) => Ok(((*only).clone(), machines[only.as_path()])),
        ([], wanted) => {
            let all = Folders(outermost(&machines).into_iter().cloned().collect());
            Err(ArchiveError::NoSuchMachine { wanted: wanted.unwrap_or(Path::new("")).to_owned(), all })
        }
        (several, _) => Err(ArchiveError::Several(Folders(several.iter().copied().cloned().collect()))),
    }
}

/// Every folder that is a machine.
fn machines(tree: &Tree) -> SortedMap<PathBuf, Recording> {
    let having = |name: &str| tree.folders_with(name).into_iter();
    let candidates: Vec<PathBuf> = having("proc").chain(having("sys")).collect();
    // Folders may be called `proc` or `sys` and be something else. Where nothing is a machine for sure, they count: what they
    // lack is said later, with its name.
    let sure = |folder: &&PathBuf| {
        ["proc/cpuinfo", "sys/devices"].iter().any(|inside| tree.has(&folder.join(inside)))
    };
    let mut machines: SortedMap<PathBuf, Recording> =
        having(CPUID_MARK).map(|folder| (folder, Recording::Cpuid)).collect();
    machines.extend(candidates.iter().filter(sure).map(|folder| (folder.clone(), Recording::Files)));
    if machines.is_empty() {
        machines.extend(candidates.into_iter().map(|folder| (folder, Recording::Files)));
    }
    machines
}

/// Those that are not inside another one: `/sys` has folders called `sys`, and `hwloc-gather-topology` puts the answers of CPUID
/// into a folder `cpuid` inside a machine's, or beside its `/proc` and `/sys`.
fn outermost(machines: &SortedMap<PathBuf, Recording>) -> Vec<&PathBuf> {
    let mut found: Vec<&PathBuf> = Vec::new();
    // A folder comes right before what is inside it.
    for (folder, recording) in machines {
        let beside = *recording == Recording::Cpuid && folder.ends_with("cpuid") && {
            let parent = folder.parent().unwrap_or(Path::new(""));
            let around = machines.from_key(parent).iter().take_while(|(other, _)| other.starts_with(parent));
            around.into_iter().any(|(_, recording)| *recording == Recording::Files)
        };
        if !beside && found.last().is_none_or(|last| !folder.starts_with(last)) {
            found.push(folder);
        }
    }
    found
}
