//! How much memory a process can have altogether: what is available on the machine beside what it has, and what its control
//! groups allow (proc(5), and the kernel's documents on cgroups, versions 1 and 2).

use crate::coverage;
use crate::lines::{Lines, keyed_kib, number};
use core::ffi::CStr;

/// A limit of version 1 that is none: the highest multiple of a page.
const NO_LIMIT: usize = isize::MAX as usize / 2;

/// What this process has, and what it could have.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Its resident set, without pages of a pool.
    pub resident_bytes: usize,
    /// Beside that.
    pub room_bytes: usize,
}

impl Capacity {
    /// `None` without /proc.
    pub fn read() -> Option<Capacity> {
        Some(Capacity {
            resident_bytes: coverage::resident_bytes(false)?,
            room_bytes: room_bytes(usize::MAX)?,
        })
    }
}

/// How many bytes more this process could have before the machine or one of its control groups has no more; `None` without /proc. Who
/// asks whether there are `enough` is not told of what there is beyond.
pub fn room_bytes(enough: usize) -> Option<usize> {
    Room::read(c"/proc/self/cgroup", enough).map(|room| room.bytes)
}

/// How much more memory a process could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes.
    pub bytes: usize,
    /// A control group has less than the machine.
    pub is_of_group: bool,
}

impl Room {
    /// Of the process of this `/proc/PID/cgroup`, as [`room_bytes`].
    pub fn read(cgroup_file: &CStr, enough: usize) -> Option<Room> {
        let on_machine = available_bytes()?;
        let in_groups =
            if on_machine == 0 { usize::MAX } else { room_in_groups(cgroup_file, enough.min(on_machine)) };
        Some(Room { bytes: on_machine.min(in_groups), is_of_group: in_groups < on_machine })
    }
}

#[inline(never)]
fn available_bytes() -> Option<usize> {
    let mut lines = Lines::open(c"/proc/meminfo")?;
    loop {
        if let Some((b"MemAvailable", kib)) = keyed_kib(lines.next()?) {
            return Some(kib << 10);
        }
    }
}

/// What the control groups of this `/proc/PID/cgroup` leave who is in them; without limit if there is none.
fn room_in_groups(cgroup_file: &CStr, enough: usize) -> usize {
    let mut least = usize::MAX;
    let Some(mut lines) = Lines::open(cgroup_file) else { return least };
    while let Some(line) = lines.next() {
        let mut parts = line.splitn(3, |byte| *byte == b':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let version = if controllers.is_empty() {
            &VERSION_2
        } else if controllers.split(|byte| *byte == b',').any(|name| name == b"memory") {
            &VERSION_1
        } else {
            continue;
        };
        for group in ancestors(group) {
            least = least.min(version.room(group, enough));
        }
    }
    least
}

/// Where a version of control groups tells what of memory.
struct Version {
    root: &'static [u8],
    /// Beyond the first of these the kernel kills, beyond others it holds up who wants more.
    limits: &'static [&'static [u8]],
    usage: &'static [u8],
    /// What of the usage the kernel takes back where there is need: files, whoever used them last.
    files: [&'static [u8]; 2],
}

/// Its statistics are of a group alone, and by `total_` of it with those in it, as its limit has it.
const VERSION_1: Version = Version {
    root: b"/sys/fs/cgroup/memory",
    limits: &[b"/memory.limit_in_bytes\0"],
    usage: b"/memory.usage_in_bytes\0",
    files: [b"total_inactive_file ", b"total_active_file "],
};

const VERSION_2: Version = Version {
    root: b"/sys/fs/cgroup",
    limits: &[b"/memory.max\0", b"/memory.high\0"],
    usage: b"/memory.current\0",
    files: [b"inactive_file ", b"active_file "],
};

impl Version {
    /// What a group leaves of its limit; all there can be if it has none.
    fn room(&self, group: &[u8], enough: usize) -> usize {
        let number_in = |file| first_of(&[self.root, group, file], |line| number(line, 10));
        let limits = self.limits.iter().filter_map(|file| number_in(file));
        let Some(limit) = limits.min().filter(|limit| *limit < NO_LIMIT) else { return usize::MAX };
        let free = limit.saturating_sub(number_in(self.usage).unwrap_or(0));
        // Statistics cost more than numbers.
        if free >= enough {
            return free;
        }
        let files = self.files.map(|key| {
            let value = |line: &[u8]| number(line.strip_prefix(key)?, 10);
            first_of(&[self.root, group, b"/memory.stat\0"], value).unwrap_or(0)
        });
        (free + files[0] + files[1]).min(limit)
    }
}

/// The group and every one above it, as paths without a slash at the end: `/a/b`, `/a`, and nothing.
fn ancestors(group: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::successors(Some(group.strip_suffix(b"/").unwrap_or(group)), |group| {
        Some(&group[..group.iter().rposition(|byte| *byte == b'/')?])
    })
}

/// What is found in the first line that has it, of a file whose path is in parts, the last of which ends it.
#[inline(never)]
fn first_of(parts: &[&[u8]], find: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
    let (mut path, mut length) = ([0; 512], 0);
    for part in parts {
        path.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    let mut lines = Lines::open(CStr::from_bytes_with_nul(&path[..length]).ok()?)?;
    loop {
        if let Some(found) = find(lines.next()?) {
            return Some(found);
        }
    }
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
        let all = Capacity::read().unwrap();
        assert!(all.resident_bytes > 0 && all.room_bytes > 0, "{all:?}");
        assert!(room_bytes(1).unwrap() > 0);
    }

    #[test]
    fn a_group_that_is_not_there_limits_nothing() {
        for version in [VERSION_1, VERSION_2] {
            assert_eq!(version.room(b"/no/such/group", usize::MAX), usize::MAX);
        }
    }
}
