//! A lab with a kernel that was fetched: what the tests that run in guests stand on.

use crate::runner::Skip;
use firsttouch_lab::{Acceleration, Description, Kernel, KernelStore, Lab, LabError, Qemu, Release};
use std::env;
use std::path::PathBuf;
use std::time::Duration;

/// The slowest machine, on a busy host.
const LIMIT: Duration = Duration::from_secs(1200);

/// A lab that is ready to boot. As many guests run at a time as there are processors, so most of them have one thread each.
pub(crate) fn lab(machine: Description, release: Release, acceleration: Acceleration) -> Result<Lab, Skip> {
    let path = env::var_os("PATH");
    let qemu = Qemu::find(path.as_deref(), acceleration).map_err(|error| skip(&error))?;
    let kernel = kernel(release)?;
    let own = env!("CARGO_BIN_EXE_firsttouch");
    Ok(Lab::new(machine, kernel, qemu, own).path(path.unwrap_or_default()).limit(LIMIT))
}

fn skip(error: &LabError) -> Skip {
    Skip(format!("{error}; {}", error.hint().unwrap_or_default()))
}

fn kernel(release: Release) -> Result<Kernel, Skip> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let Some(cache) = cache else { return Err(Skip("neither XDG_CACHE_HOME nor HOME is set".to_owned())) };
    KernelStore::at(cache.join("firsttouch/lab")).find(release).map_err(|error| skip(&error))
}
