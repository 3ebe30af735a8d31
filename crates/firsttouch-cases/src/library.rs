//! Libraries of others, opened where they are installed: nothing of ours is linked to them.

use crate::error::Missing;
use libloading::Library;

/// The first of these files that the loader finds.
///
/// # Errors
/// Where there is none; `remedy` is what brings it.
#[expect(unsafe_code, reason = "a library's initialisers run")]
pub(crate) fn open(files: &[&str], remedy: &str) -> Result<Library, Missing> {
    // SAFETY: these are libraries of computation, which do nothing when they are loaded but look at the processor.
    let opened = files.iter().find_map(|file| unsafe { Library::new(*file) }.ok());
    opened.ok_or_else(|| {
        Missing::new(format!("{} is not installed", files.first().unwrap_or(&"the library")), remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_opened_or_missed_with_what_brings_it() {
        open(&["libnothere.so.7", "libc.so.6"], "").unwrap();
        let missing = open(&["libnothere.so.7"], "sudo apt install nothere").unwrap_err();
        assert_eq!(missing.to_string(), "libnothere.so.7 is not installed");
        assert_eq!(missing.remedy, "sudo apt install nothere");
    }
}
