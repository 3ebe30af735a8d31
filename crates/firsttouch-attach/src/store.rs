//! The folder of journals: which there are, of which processes, and which can go.

use crate::journal::{Begin, Story, path_of};
use crate::target::{Target, living_thread};
use firsttouch_linux::process::Stat;
use firsttouch_linux::root::Root;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A journal in the folder.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// The process as it was when it was first attached to; `None` where the file does not read.
    pub begin: Option<Begin>,
    /// The process is still there.
    pub alive: bool,
    /// The last attach or undo was cut off.
    pub cut_off: bool,
    /// Steps that can be taken back.
    pub open_steps: usize,
}

/// The journals of a folder, the oldest first. None where there is no folder.
pub fn kept(root: &Root, folder: &Path) -> io::Result<Vec<Kept>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let boot = boot_id(root);
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let story = fs::read(&path).ok().and_then(|text| Story::parse(&text).ok());
        let begin = story.as_ref().and_then(Story::begin).cloned();
        let alive = begin.as_ref().is_some_and(|begin| is_alive(root, begin, &boot));
        let cut_off = story.as_ref().is_some_and(Story::is_cut_off);
        let open_steps = story.as_ref().map_or(0, |story| story.open_steps().len());
        found.push(Kept { path, begin, alive, cut_off, open_steps });
    }
    let began = |kept: &Kept| kept.begin.as_ref().map(|begin| begin.began.clone());
    found.sort_by_key(|kept| (began(kept), kept.path.clone()));
    Ok(found)
}

/// Removes the journals of processes that are gone; the files that went. One that does not read stays.
pub fn forget(root: &Root, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let gone = kept(root, folder)?.into_iter().filter(|kept| kept.begin.is_some() && !kept.alive);
    gone.map(|kept| fs::remove_file(&kept.path).map(|()| kept.path)).collect()
}

/// Whether there is a journal of a process, and what it says.
pub fn story_of(folder: &Path, target: &Target) -> Option<Story> {
    Story::parse(&fs::read(path_of(folder, target.pid(), target.start_ticks())).ok()?).ok()
}

/// The name of this boot; empty where the kernel does not tell.
pub fn boot_id(root: &Root) -> String {
    let id = root.read("proc/sys/kernel/random/boot_id").ok().flatten().unwrap_or_default();
    id.trim().to_owned()
}

fn is_alive(root: &Root, begin: &Begin, boot: &str) -> bool {
    let same = |stat: &Stat| stat.start_ticks == begin.start_ticks;
    let first = Stat::read(root, begin.pid).ok().filter(same);
    begin.boot_id == boot && first.is_some_and(|stat| living_thread(root, begin.pid, stat).is_some())
}
