//! Features of the running kernel, found by trying.

use firsttouch_linux::features::{self as kernel, ThpDisable};
use serde::{Deserialize, Serialize};
use std::io;

/// The outcome of trying one feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Probe {
    /// Whether it did what it should.
    pub works: bool,
    /// The error number of the kernel, if it refused.
    pub errno: Option<i32>,
    /// What it answered, when it does not work.
    pub answer: Option<String>,
}

impl Probe {
    fn works() -> Probe {
        Probe { works: true, errno: None, answer: None }
    }

    fn fails(answer: &str) -> Probe {
        Probe { works: false, errno: None, answer: Some(answer.to_owned()) }
    }

    fn refused(error: &io::Error) -> Probe {
        Probe { works: false, errno: error.raw_os_error(), answer: Some(error.to_string()) }
    }

    fn of(answer: io::Result<()>) -> Probe {
        answer.map_or_else(|error| Probe::refused(&error), |()| Probe::works())
    }
}

/// What the running kernel can do; all `None` for a recorded machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Features {
    /// `MADV_COLLAPSE` made a huge page of a touched block, read back.
    pub madv_collapse: Option<Probe>,
    /// `MADV_POPULATE_WRITE` creates pages ahead of the program.
    pub madv_populate_write: Option<Probe>,
    /// `PAGEMAP_SCAN` reads page sizes of our own memory.
    pub pagemap_scan: Option<Probe>,
    /// `process_madvise(MADV_COLLAPSE)` is allowed on another process (nothing is changed).
    pub process_madvise: Option<Probe>,
    /// A mapping may carry the policy of weighted interleaving.
    pub weighted_interleave: Option<Probe>,
    /// The processor counts instructions, a number above zero having been read.
    pub hardware_counters: Option<Probe>,
    /// `PR_SET_THP_DISABLE` of this process: `no`, `yes` or `except-advised`.
    pub thp_disabled_by_prctl: Option<String>,
}

impl Features {
    /// Tries each feature in this process; the process stays as it was.
    pub fn probe() -> Features {
        let collapse = match kernel::madvise_collapse() {
            Ok(Some(false)) => Probe::fails("the kernel answered success, and no huge page was made"),
            Ok(Some(true) | None) => Probe::works(),
            Err(error) => Probe::refused(&error),
        };
        let counters = match kernel::hardware_counter() {
            Ok(0) => Probe::fails("the counter opens and counts nothing"),
            Ok(_) => Probe::works(),
            // "No such file or directory" means here that no such counter exists.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Probe::fails("there is no hardware counter")
            }
            Err(error) => Probe::refused(&error),
        };
        Features {
            madv_collapse: Some(collapse),
            madv_populate_write: Some(Probe::of(kernel::madvise_populate_write())),
            pagemap_scan: Some(Probe::of(kernel::pagemap_scan())),
            process_madvise: Some(Probe::of(kernel::process_madvise_collapse())),
            weighted_interleave: Some(Probe::of(kernel::weighted_interleave())),
            hardware_counters: Some(counters),
            thp_disabled_by_prctl: thp_disabled_by_prctl(),
        }
    }
}

/// The word of [`Features::thp_disabled_by_prctl`] for this process.
pub(crate) fn thp_disabled_by_prctl() -> Option<String> {
    let word = match kernel::thp_disable().ok()? {
        ThpDisable::No => "no",
        ThpDisable::Yes => "yes",
        ThpDisable::ExceptAdvised => "except-advised",
    };
    Some(word.to_owned())
}
