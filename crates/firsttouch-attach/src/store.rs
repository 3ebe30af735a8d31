//! The folder of journals: which there are, of which processes, and which can go.

use crate::journal::{JournalHistory, boot_id};
use firsttouch_documents::JournalBegin;
use firsttouch_journal::JournalFile;
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

/// The files of a folder, with what they say; `None` where one does not read. None where there is no folder.
fn journals(folder: &Path) -> io::Result<Vec<(PathBuf, Option<JournalHistory>)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let history = fs::read(&path).ok().and_then(|text| JournalHistory::parse(&text).ok());
            found.push((path, history));
        }
    }
    Ok(found)
}

/// Nothing was written yet: somebody still looks at the process, or was killed while he did.
fn is_empty(history: &Option<JournalHistory>) -> bool {
    history.as_ref().is_some_and(|history| history.entries.is_empty())
}

/// The journals of a folder, the oldest first.
pub fn kept(root: &Root, folder: &Path) -> io::Result<Vec<Kept>> {
    let (boot, namespace) = (boot_id(root), pid_namespace(root).filter(|_| are_numbers_ours(root)));
    let mut found = Vec::new();
    for (path, history) in journals(folder)?.into_iter().filter(|(_, history)| !is_empty(history)) {
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

/// Removes the journals of processes that are gone, and of who was killed before he wrote anything; the files that went. One that does not
/// read stays.
pub fn forget(root: &Root, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let empty = journals(folder)?.into_iter().filter(|(_, history)| is_empty(history));
    let mut gone: Vec<PathBuf> = empty.map(|(path, _)| path).filter(|path| remove_empty(path)).collect();
    for Kept { path, .. } in
        kept(root, folder)?.into_iter().filter(|kept| kept.begin.is_some() && !kept.alive)
    {
        fs::remove_file(&path)?;
        gone.push(path);
    }
    Ok(gone)
}

/// Removes a journal without a line, unless somebody has it open to write one.
fn remove_empty(path: &Path) -> bool {
    let opened = JournalFile::open_kept(path, "").ok().flatten();
    opened.filter(|(_, text)| !text.contains(&b'\n')).is_some_and(|(file, _)| {
        file.remove();
        true
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_killed_before_it_wrote_leaves_nothing_for_long() {
        let folder = tempfile::tempdir().unwrap();
        let (path, root) = (folder.path().join("7-99.jsonl"), Root::live());
        // Cut off in its first line.
        fs::write(&path, "{\"kind\":\"attach-jou").unwrap();
        let other = folder.path().join("8-99.jsonl");
        fs::write(&other, "hello\n").unwrap();
        let listed = kept(&root, folder.path()).unwrap();
        assert!(listed.len() == 1 && listed[0].path == other, "{listed:?}");
        let open = JournalFile::open_kept(&path, "").unwrap();
        assert!(forget(&root, folder.path()).unwrap().is_empty());
        drop(open);
        assert_eq!(forget(&root, folder.path()).unwrap().len(), 1);
        assert!(!path.exists() && other.exists());
    }
}
