//! Files that are replaced as wholes: whoever reads one sees the old content until the new one is there.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempPath};

/// The usual mode, of which the user's mask takes.
const MODE: u32 = 0o666;

/// Where the content of a file is written to.
#[derive(Debug)]
pub enum Replacement {
    /// A device or a pipe is written to as it is: putting a file in its place would do harm.
    Stream(File),
    /// A file beside the wanted one, to be put in its place when it is whole.
    Beside(Beside),
}

/// A file that takes the place of another when it is whole; until then nobody sees it. Where the file system can (`O_TMPFILE`) it has no
/// name, and who is killed leaves nothing; elsewhere a hidden one.
#[derive(Debug)]
pub struct Beside {
    file: File,
    name: Option<TempPath>,
    /// The wanted file. A link stays one, and leads to the new file.
    path: PathBuf,
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
        // Where there is no folder the name of the file beside it is nobody's business.
        folder_of(&path).metadata()?;
        let (file, name) = match unnamed(folder_of(&path)) {
            Some(file) => (file, None),
            None => {
                let named =
                    hidden().permissions(Permissions::from_mode(MODE)).tempfile_in(folder_of(&path))?;
                let (file, name) = named.into_parts();
                (file, Some(name))
            }
        };
        Ok(Replacement::Beside(Beside { file, name, path }))
    }
}

impl Beside {
    /// What is written.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// The folder in which it is.
    pub fn folder(&self) -> &Path {
        folder_of(&self.path)
    }

    /// Puts the file in the place of the wanted one, or if that is not to be replaced, there where nothing is.
    ///
    /// # Errors
    /// What the kernel answers; `AlreadyExists` where there is a file that is not to be replaced.
    pub fn put(self, replaces: bool) -> io::Result<()> {
        let name = match self.name {
            Some(name) => name,
            None => {
                let open = place(&self.file);
                let link = |name: &Path| Ok(linkat(CWD, &open, CWD, name, AtFlags::SYMLINK_FOLLOW)?);
                hidden().make_in(folder_of(&self.path), link)?.into_temp_path()
            }
        };
        if replaces { name.persist(&self.path) } else { name.persist_noclobber(&self.path) }
            .map_err(|error| error.error)
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn hidden() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".firsttouch-");
    builder
}

/// Where an open file can be reached without a name.
fn place(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// A file that can have a name later; `None` where there can be none, for whatever reason.
fn unnamed(folder: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, folder, flags, Mode::from_raw_mode(MODE)).ok()?);
    Path::new(&place(&file)).exists().then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{ErrorKind, Write};

    #[test]
    fn nobody_sees_a_file_before_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let begin = |text: &str| {
            let Replacement::Beside(mut beside) = Replacement::of(&path).unwrap() else { panic!("a file") };
            beside.file().write_all(text.as_bytes()).unwrap();
            beside
        };
        let seen = || fs::read_dir(folder.path()).unwrap().count();
        let first = begin("first");
        // Where the file system cannot, there is a hidden one.
        assert_eq!(seen(), first.name.iter().count());
        first.put(false).unwrap();
        assert_eq!(begin("second").put(false).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((seen(), fs::read_to_string(&path).unwrap().as_str()), (1, "first"));
        begin("third").put(true).unwrap();
        assert_eq!((seen(), fs::read_to_string(&path).unwrap().as_str()), (1, "third"));
        let usual = fs::File::create(folder.path().join("usual")).unwrap().metadata().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions(), usual.permissions());
    }
}
