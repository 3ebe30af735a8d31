//! Files that are replaced as wholes: whoever reads one sees the old content until the new one is there.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where the content of a file is written to.
#[derive(Debug)]
pub enum Replacement {
    /// A device or a pipe is written to as it is: putting a file in its place would do harm.
    Stream(File),
    /// A file beside the wanted one, to be put in its place (`file.persist(path)`) when it is whole.
    Beside {
        /// What is written.
        file: NamedTempFile,
        /// The wanted file. A link stays one, and leads to the new file.
        path: PathBuf,
    },
}

impl Replacement {
    /// For the content of this file, which has the usual mode.
    ///
    /// # Errors
    /// What the kernel answers where there can be no such file.
    pub fn of(path: &Path) -> io::Result<Replacement> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if path.metadata().is_ok_and(|data| !data.is_file()) {
            return Ok(Replacement::Stream(File::options().write(true).open(path)?));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Where there is no folder the name of the file beside it is nobody's business.
        folder.metadata()?;
        let file = tempfile::Builder::new()
            .prefix(".firsttouch-")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        Ok(Replacement::Beside { file, path })
    }
}
