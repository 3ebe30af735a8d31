//! Files that one of several processes makes for all of them.

use crate::output;
use crate::output::Outcome;
use firsttouch_graph::claim;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long others wait for whoever makes a file, before they make it themselves: it may have died.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// What has become of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// It is there.
    ByOthers,
    /// This process is to make it.
    ByUs,
}

/// Waits until a file is there, or this process is the one to make it. `claimed` is the file that says that somebody does.
pub(crate) fn made(file: &Path, claimed: &Path, words: &str, stop: &AtomicBool) -> Outcome<Made> {
    let began = Instant::now();
    while !file.exists() {
        if claim(claimed, words)? {
            return Ok(Made::ByUs);
        }
        if began.elapsed() > PATIENCE {
            let what =
                format!("nobody has made {} in {} s: it is made again", file.display(), PATIENCE.as_secs());
            output::warning(&what, None);
            return Ok(Made::ByUs);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Made::ByUs);
        }
        thread::sleep(PAUSE);
    }
    Ok(Made::ByOthers)
}
