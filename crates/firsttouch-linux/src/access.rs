//! What keeps us from looking into another process: "Ptrace access mode checking" of ptrace(2), and the modes of files in /proc.

use crate::process::Status;
use crate::root::Root;
use crate::sysinfo::{capability_mask, status_field};

const DAC_OVERRIDE: u64 = 1 << 1;
const DAC_READ_SEARCH: u64 = 1 << 2;
const SYS_PTRACE: u64 = 1 << 19;

/// What is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// It acts as another user.
    OtherUser,
    /// It acts as our user, and lets nobody of that look into it.
    NotDumpable,
    /// We are root, and without this capability.
    Capability(&'static str),
    /// We are root of a user namespace, which has its capabilities for the processes of that alone.
    Namespace,
    /// Something else, as a security module.
    Unknown,
}

impl Barrier {
    /// What keeps us from looking into a process that acts as this user.
    pub fn of(root: &Root, user: Option<u32>) -> Barrier {
        let text = root.read("proc/self/status").ok().flatten().unwrap_or_default();
        Barrier::between(&text, user, is_in_user_namespace(root))
    }

    fn between(own_status: &str, user: Option<u32>, is_in_namespace: bool) -> Barrier {
        let ourselves = Status::parse(own_status).effective_user;
        let held = status_field(own_status, "CapEff").and_then(capability_mask);
        let lacks = |wanted: u64| held.is_some_and(|held| held & wanted == 0);
        match (ourselves, user) {
            (Some(0), _) if lacks(SYS_PTRACE) => Barrier::Capability("CAP_SYS_PTRACE"),
            (Some(0), Some(user)) if user != 0 && lacks(DAC_OVERRIDE | DAC_READ_SEARCH) => {
                Barrier::Capability("CAP_DAC_READ_SEARCH")
            }
            _ if is_in_namespace && !lacks(SYS_PTRACE) => Barrier::Namespace,
            _ if !lacks(SYS_PTRACE) => Barrier::Unknown,
            (ourselves, user) if ourselves == user => Barrier::NotDumpable,
            _ => Barrier::OtherUser,
        }
    }

    /// What takes it away, where that is known.
    pub fn remedy(self) -> Option<&'static str> {
        Some(match self {
            Barrier::OtherUser => "run firsttouch as its user, or as root",
            Barrier::NotDumpable => {
                "run firsttouch as root; a program that has set PR_SET_DUMPABLE to 0, or has file capabilities or setuid, \
                 keeps its own user out"
            }
            Barrier::Capability("CAP_DAC_READ_SEARCH") => {
                "root needs CAP_DAC_READ_SEARCH for it; in a container: docker run --cap-add DAC_READ_SEARCH IMAGE"
            }
            Barrier::Capability(_) => {
                "root needs CAP_SYS_PTRACE for it; in a container: docker run --cap-add SYS_PTRACE IMAGE"
            }
            Barrier::Namespace => OUTSIDE,
            Barrier::Unknown => return None,
        })
    }
}

/// What mends it where root of a user namespace is not enough.
pub const OUTSIDE: &str = "run firsttouch as root of the machine: that of a user namespace, as in a rootless container, has its capabilities for \
     what is in there alone";

/// Whether we are in another user namespace than the first, which has all users.
pub fn is_in_user_namespace(root: &Root) -> bool {
    let map = root.read("proc/self/uid_map").ok().flatten();
    map.is_some_and(|map| map.split_whitespace().ne(["0", "0", "4294967295"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_depends_on_who_looks_at_whom() {
        let barrier = |ourselves: u32, held: u64, user: u32, is_in_namespace| {
            let status = format!("Uid:\t{ourselves}\t{ourselves}\t0\t0\nCapEff:\t{held:016x}\n");
            Barrier::between(&status, Some(user), is_in_namespace)
        };
        assert_eq!(barrier(7, 0, 8, false), Barrier::OtherUser);
        assert_eq!(
            (barrier(7, 0, 7, false), barrier(7, 0, 7, true)),
            (Barrier::NotDumpable, Barrier::NotDumpable)
        );
        assert_eq!(barrier(0, DAC_OVERRIDE, 0, false), Barrier::Capability("CAP_SYS_PTRACE"));
        assert_eq!(barrier(0, SYS_PTRACE, 8, false), Barrier::Capability("CAP_DAC_READ_SEARCH"));
        let all = SYS_PTRACE | DAC_OVERRIDE;
        assert_eq!(
            (barrier(0, all, 8, true), barrier(0, all, 8, false)),
            (Barrier::Namespace, Barrier::Unknown)
        );
        assert_eq!(barrier(7, SYS_PTRACE, 8, false), Barrier::Unknown);
    }
}
