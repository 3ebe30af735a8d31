//! How often the kernel had no huge page for memory that was touched, and gave a small one.
//!
//! It counts that for the whole machine: what is counted may have been another program's, and what is not counted was nobody's.

use crate::lines::{Lines, number};

/// Whose huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// Private memory.
    Anonymous,
    /// Shared memory.
    Files,
}

/// Huge pages that there were not, since the machine started (Linux 5.8, `Documentation/admin-guide/mm/transhuge.rst`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failures {
    /// The kernel found no free memory of that size.
    pub(crate) memory: usize,
    /// A control group had no room for it.
    pub(crate) group: usize,
}

impl Failures {
    /// Up to now; `None` where the kernel does not tell. Out of line: who reads has little stack left.
    #[inline(never)]
    pub(crate) fn read(of: Of) -> Option<Failures> {
        let event: &[u8] = match of {
            Of::Anonymous => b"thp_fault_fallback",
            Of::Files => b"thp_file_fallback",
        };
        let mut lines = Lines::open(c"/proc/vmstat")?;
        let (mut all, mut group) = (None, None);
        while let Some(line) = lines.next() {
            let Some(rest) = line.strip_prefix(event) else { continue };
            let count = |key: &[u8]| number(rest.strip_prefix(key)?, 10);
            all = all.or_else(|| count(b" "));
            group = group.or_else(|| count(b"_charge "));
        }
        Some(Failures { memory: all?.saturating_sub(group?), group: group? })
    }

    /// Those that came after `earlier`.
    pub(crate) fn since(self, earlier: Failures) -> Failures {
        Failures {
            memory: self.memory.saturating_sub(earlier.memory),
            group: self.group.saturating_sub(earlier.group),
        }
    }
}
