//! The capabilities that decide what firsttouch may do.

use firsttouch_linux::sysinfo;

/// Name and bit of each, in the order of their worth here.
const KNOWN: [(&str, u32); 6] = [
    ("CAP_SYS_NICE", 23),
    ("CAP_SYS_ADMIN", 21),
    ("CAP_IPC_LOCK", 14),
    ("CAP_SYS_RESOURCE", 24),
    ("CAP_SYS_PTRACE", 19),
    ("CAP_PERFMON", 38),
];

/// The names of those set in a mask of `/proc/self/status`, `CapEff` or `CapBnd`.
pub(crate) fn names(status: &str, field: &str) -> Option<Vec<String>> {
    let mask = sysinfo::capability_mask(sysinfo::status_field(status, field)?)?;
    let held = KNOWN.iter().filter(|(_, bit)| mask >> bit & 1 == 1);
    Some(held.map(|(name, _)| (*name).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn bits_have_their_names() {
        let status = "Name:\tx\nCapEff:\t0000000000804000\nCapBnd:\tzz\n";
        assert_eq!(names(status, "CapEff").unwrap(), ["CAP_SYS_NICE", "CAP_IPC_LOCK"]);
        assert_eq!(names(status, "CapBnd"), None);
        assert_eq!(names(status, "CapAmb"), None);
        assert_eq!(names("CapEff: 0", "CapEff").unwrap(), Vec::<String>::new());
    }
}
