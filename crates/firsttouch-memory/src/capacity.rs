//! How much memory a process can have altogether: what is available on the machine beside what it has, and what its control
//! groups allow (proc(5), and the kernel's documents on cgroups, versions 1 and 2).

use crate::coverage;
use crate::lines::{Lines, keyed_kib, number};
use core::ffi::CStr;

/// What this process has and could have, in bytes; `None` without /proc.
pub(crate) fn bytes() -> Option<usize> {
    let mut lines = Lines::open(c"/proc/meminfo")?;
    let available = loop {
        if let Some((b"MemAvailable", kib)) = keyed_kib(lines.next()?) {
            break kib << 10;
        }
    };
    let on_machine = available.saturating_add(coverage::resident_bytes(false)?);
    Some(group_limit().map_or(on_machine, |limit| limit.min(on_machine)))
}

/// The least limit of the control groups that this process is in; `None` if there is none.
fn group_limit() -> Option<usize> {
    let mut lines = Lines::open(c"/proc/self/cgroup")?;
    let mut least = None;
    while let Some(line) = lines.next() {
        let mut parts = line.splitn(3, |byte| *byte == b':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (root, file): (&[u8], &[u8]) = if controllers.is_empty() {
            (b"/sys/fs/cgroup", b"memory.max")
        } else if controllers.split(|byte| *byte == b',').any(|name| name == b"memory") {
            (b"/sys/fs/cgroup/memory", b"memory.limit_in_bytes")
        } else {
            continue;
        };
        for limit in ancestors(group).filter_map(|group| limit_in(&[root, group, b"/", file, b"\0"])) {
            least = Some(least.map_or(limit, |least: usize| least.min(limit)));
        }
    }
    least
}

/// The group and every one above it, as paths without a slash at the end: `/a/b`, `/a`, and nothing.
fn ancestors(group: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::successors(Some(group.strip_suffix(b"/").unwrap_or(group)), |group| {
        Some(&group[..group.iter().rposition(|byte| *byte == b'/')?])
    })
}

/// The limit in a file, whose path is in parts, the last of which ends it; `None` if there is no such file, or no limit.
fn limit_in(parts: &[&[u8]]) -> Option<usize> {
    let (mut path, mut length) = ([0; 512], 0);
    for part in parts {
        path.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    number(Lines::open(CStr::from_bytes_with_nul(&path[..length]).ok()?)?.next()?, 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_group_is_below_every_group_above_it() {
        let all = |group: &'static str| -> Vec<&str> {
            ancestors(group.as_bytes()).map(|group| std::str::from_utf8(group).unwrap()).collect()
        };
        assert_eq!(all("/a/b"), ["/a/b", "/a", ""]);
        assert_eq!(all("/"), [""]);
    }

    #[test]
    fn this_process_could_have_more_than_it_has() {
        assert!(bytes().unwrap() > coverage::resident_bytes(false).unwrap());
    }
}
