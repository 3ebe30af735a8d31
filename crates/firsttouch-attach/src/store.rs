//! The folder of journals: which there are, of which processes, and which can go.

use crate::journal::JournalHistory;
use firsttouch_documents::JournalBegin;
use firsttouch_linux::process::{Stat, are_numbers_ours, living_thread, pid_namespace, unless_ended};
use firsttouch_linux::root::Root;
use firsttouch_placement::AttachedProcess;
use firsttouch_sorted::sort_by_key;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A journal in the folder.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// The process as it was when it was first attached to; `None` where the file does not read.
    pub begin: Option<JournalBegin>,
    /// The process is still there, or may be: nobody knows where it was attached to on another machine or in another PID namespace, or cannot be looked at.
    pub alive: bool,
    /// The last attach or undo was cut off.
    pub cut_off: bool,
    /// Steps that can be taken back.
    pub open_steps: usize,
}

impl From<&Kept> for AttachedProcess {
    fn from(kept: &Kept) -> AttachedProcess {
        let begin = kept.begin.as_ref();
        AttachedProcess {
            journal: kept.path.display().to_string(),
            pid: begin.map(|begin| begin.pid),
            command: begin.map(|begin| begin.command.clone()),
            began: begin.map(|begin| begin.began.clone()),
            alive: kept.alive,
            cut_off: kept.cut_off,
            steps: kept.open_steps,
        }
    }
}

/// The journals of a folder, the oldest first. None where there is no folder.
pub fn kept(root: &Root, folder: &Path) -> io::Result<Vec<Kept>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let (boot, namespace) = (boot_id(root), pid_namespace(root).filter(|_| are_numbers_ours(root)));
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let history = fs::read(&path).ok().and_then(|text| JournalHistory::parse(&text).ok());
        let begin = history.as_ref().and_then(JournalHistory::begin).cloned();
        let alive = begin.as_ref().is_some_and(|begin| may_be_alive(root, begin, &boot, namespace));
        let cut_off = history.as_ref().is_some_and(JournalHistory::is_cut_off);
        let open_steps = history.as_ref().map_or(0, |history| history.open_steps().len());
        found.push(Kept { path, begin, alive, cut_off, open_steps });
    }
    let began = |kept: &Kept| kept.begin.as_ref().map(|begin| begin.began.clone());
    sort_by_key(&mut found, |kept| (began(kept), kept.path.clone()));
    Ok(found)
}

/// Removes the journals of processes that are gone; the files that went. One that does not read stays.
pub fn forget(root: &Root, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let gone = kept(root, folder)?.into_iter().filter(|kept| kept.begin.is_some() && !kept.alive);
    gone.map(|kept| fs::remove_file(&kept.path).map(|()| kept.path)).collect()
}

/// The name of this boot; empty where the kernel does not tell.
pub fn boot_id(root: &Root) -> String {
    let id = root.read("proc/sys/kernel/random/boot_id").ok().flatten().unwrap_or_default();
    id.trim().to_owned()
}

/// The name of this machine; `None` where the kernel does not tell.
pub(crate) fn host(root: &Root) -> Option<String> {
    Some(root.read("proc/sys/kernel/hostname").ok().flatten()?.trim().to_owned())
}

fn may_be_alive(root: &Root, begin: &JournalBegin, boot: &str, namespace: Option<u64>) -> bool {
    if begin.boot_id != boot {
        // Of this machine before it was booted, or of another machine that has this folder.
        return begin.host.is_some() && begin.host != host(root);
    }
    // Without the key they are from before there was one, and are of the namespace that reads them.
    if namespace.is_none() || begin.pid_namespace.is_some_and(|other| Some(other) != namespace) {
        return true;
    }
    match unless_ended(Stat::read(root, begin.pid)) {
        Ok(Some(stat)) => {
            stat.start_ticks == begin.start_ticks && living_thread(root, begin.pid, stat).is_some()
        }
        Ok(None) => false,
        Err(_) => true,
    }
}
