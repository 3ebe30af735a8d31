//! The threads of a process, as the kernel shows them.

use firsttouch_linux::cpulist::parse_list;
use firsttouch_linux::root::Root;
use firsttouch_linux::sysinfo::status_field;
use std::io;

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadState {
    /// Its number; that of the first thread is the number of the process.
    pub id: u32,
    /// Its name, cut to 15 bytes by the kernel.
    pub name: String,
    /// The CPUs it may run on.
    pub cpus: Vec<u32>,
}

/// The threads of a process from `/proc/PID/task/*/status`, in order of their numbers, which is that of their creation
/// unless numbers came round. One that ends meanwhile is left out; a process that is gone has none.
pub fn threads_of(root: &Root, process: u32) -> io::Result<Vec<ThreadState>> {
    let folder = format!("proc/{process}/task");
    let unreadable = |error: firsttouch_linux::root::ReadError| error.source;
    let mut ids: Vec<u32> = root
        .list(&folder)
        .map_err(unreadable)?
        .unwrap_or_default()
        .iter()
        .filter_map(|name| name.parse().ok())
        .collect();
    ids.sort_unstable();
    Ok(ids.into_iter().filter_map(|id| thread_of(root, process, id)).collect())
}

/// One thread of a process; `None` if it has ended, or is another's.
pub fn thread_of(root: &Root, process: u32, thread: u32) -> Option<ThreadState> {
    let text = root.read(&format!("proc/{process}/task/{thread}/status")).ok().flatten()?;
    let name = status_field(&text, "Name")?.trim().to_owned();
    Some(ThreadState { id: thread, name, cpus: parse_list(status_field(&text, "Cpus_allowed_list")?)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_threads_read_back() {
        let root = Root::live();
        let threads = threads_of(&root, std::process::id()).unwrap();
        assert!(threads.iter().any(|thread| thread.id == std::process::id()), "{threads:?}");
        assert!(threads.iter().all(|thread| !thread.cpus.is_empty()));
        assert_eq!(threads_of(&root, u32::MAX / 2).unwrap(), []);
    }
}
