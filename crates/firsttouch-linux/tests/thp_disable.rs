//! A process of its own, because the flag belongs to the whole process and every child inherits it.

use firsttouch_linux::features::{ThpDisable, thp_disable};

fn set(flag: libc::c_ulong) -> bool {
    // SAFETY: changes a flag of this process, in which nothing else runs.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, flag, 0, 0, 0) == 0 }
}

#[test]
fn the_flag_is_seen_when_it_is_set_and_when_it_is_cleared() {
    assert!(set(1), "every kernel since 3.15 has the flag");
    assert_eq!(thp_disable().unwrap(), ThpDisable::Yes);
    assert!(set(0));
    assert_eq!(thp_disable().unwrap(), ThpDisable::No);
}
