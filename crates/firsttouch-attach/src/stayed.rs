//! What stays on the nodes where it is.

use firsttouch_placement::format_bytes;

/// What mends it where the cpuset leaves out a node.
pub(crate) const WIDEN_CPUSET: &str =
    "widen cpuset.mems of its control group (docker: --cpuset-mems; systemd: AllowedMemoryNodes=)";

/// Bytes that were to be moved and were not, by what the kernel said.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stayed {
    /// Others map them, too.
    pub(crate) shared: u64,
    /// The node has no memory left.
    pub(crate) full: u64,
    /// The cpuset leaves the node out.
    pub(crate) barred: u64,
    /// The kernel could not take them out of use.
    pub(crate) busy: u64,
    /// They are there, and the kernel does not say where.
    pub(crate) hidden: u64,
}

impl Stayed {
    /// All that was tried, and stayed.
    pub(crate) fn bytes(&self) -> u64 {
        self.shared + self.full + self.barred + self.busy
    }

    /// What was not tried any more, for the reason of what was tried last.
    pub(crate) fn add_rest(&mut self, bytes: u64) {
        *(if self.barred > 0 { &mut self.barred } else { &mut self.full }) += bytes;
    }
}

/// Of an attach that did not come to its end.
pub(crate) fn about_not_reached(bytes: u64) -> String {
    format!("{} were not reached and are as they were", format_bytes(bytes))
}
