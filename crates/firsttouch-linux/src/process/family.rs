//! The family of a process: its children, those below, those above, and all processes that there are.

use super::{Stat, threads, unless_ended};
use crate::maps::{process_file, read_text};
use crate::root::Root;
use std::io;

/// The processes that the threads of a process have started and that still run (`/proc/PID/task/TID/children`, a file of
/// kernels with `CONFIG_PROC_CHILDREN`); not found where the kernel has no such file, or the process has ended.
///
/// This reads as many files as the process has threads, where [`descendants`] reads one for every process of the machine. The
/// price (`proc_pid_task_children(5)`): while one child ends another may be left out, so it is for who asks again.
pub fn children(root: &Root, pid: u32) -> io::Result<Vec<u32>> {
    let of_thread = |thread: u32| read_text(&process_file(root, pid, &format!("task/{thread}/children")));
    let mut text = of_thread(pid)?;
    for thread in threads(root, pid)?.into_iter().filter(|thread| *thread != pid) {
        // The children of a thread that ends go over to another one.
        text += &unless_ended(of_thread(thread))?.unwrap_or_default();
    }
    Ok(text.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect())
}

/// All processes that there are, by number.
pub fn all(root: &Root) -> io::Result<Vec<u32>> {
    let names = root.list("proc").map_err(|error| error.source)?.unwrap_or_default();
    Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
}

/// The parent of a process, the parent of that and so on; at last the first process of the machine or the container, also where it is
/// no ancestor, as for who entered a container from outside.
pub fn ancestors(root: &Root, pid: u32) -> Vec<u32> {
    /// Who takes in orphans that no other does.
    const FIRST: u32 = 1;
    let mut found = Vec::new();
    let mut child = pid;
    while let Ok(stat) = Stat::read(root, child) {
        // A number twice would be a circle, which the kernel does not make but a torn reading could.
        if stat.parent == 0 || found.contains(&stat.parent) {
            break;
        }
        found.push(stat.parent);
        child = stat.parent;
    }
    if !found.contains(&FIRST) {
        found.push(FIRST);
    }
    found
}

/// The processes that descend from some, these first; those whose parent has ended belong to another by then. Reads the
/// stat line of every process there is.
pub fn descendants(root: &Root, of: &[u32]) -> io::Result<Vec<u32>> {
    // One that ends meanwhile is no descendant any more.
    let numbers = all(root)?.into_iter();
    let parents: Vec<(u32, u32)> =
        numbers.filter_map(|number| Some((number, Stat::read(root, number).ok()?.parent))).collect();
    Ok(below(of, &parents))
}

/// The processes and all below them, among pairs of a process and its parent.
fn below(of: &[u32], parents: &[(u32, u32)]) -> Vec<u32> {
    let mut found = of.to_vec();
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        for (number, of) in parents {
            // A number twice would be a circle, which the kernel does not make but a torn reading could.
            if *of == parent && !found.contains(number) {
                found.push(*number);
            }
        }
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_family_is_found_through_generations() {
        let parents = [(1, 0), (7, 1), (9, 7), (8, 9), (10, 1), (11, 8), (3, 3)];
        assert_eq!(below(&[7], &parents), [7, 9, 8, 11]);
        assert_eq!(below(&[3], &parents), [3], "a process is not below itself");
        let own = std::process::id();
        let mut child =
            std::process::Command::new("cat").arg("-").stdin(std::process::Stdio::piped()).spawn().unwrap();
        assert!(descendants(&Root::live(), &[own]).unwrap().contains(&child.id()));
        // The test's own thread has started it, which is not the first one.
        match children(&Root::live(), own) {
            Ok(children) => assert!(children.contains(&child.id())),
            Err(error) => assert!(!Root::live().has(&format!("proc/{own}/task/{own}/children")), "{error}"),
        }
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    proptest! {
        #[test]
        fn any_family_ends(parents in proptest::collection::vec((0_u32..9, 0_u32..9), 0..20), pid in 0_u32..9) {
            let found = below(&[pid], &parents);
            let mut once = found.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!((found[0], found.len()), (pid, once.len()));
        }
    }
}
