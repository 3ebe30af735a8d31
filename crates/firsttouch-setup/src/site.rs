//! The machine that is changed: this one, or one that is written below a folder.

use crate::SetupError;
use crate::limits::row_of;
use firsttouch_documents::SetupKind;
use firsttouch_linux::process::Stat;
use firsttouch_linux::sysinfo::chosen;
use firsttouch_machine::Root;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown, symlink};
use std::path::{Path, PathBuf};

/// Where changes are made.
#[derive(Clone, Debug)]
pub struct Site {
    root: Root,
}

/// The value of a folder that is there.
pub(crate) const FOLDER: &str = "a folder";

impl Site {
    /// The machine below a root.
    pub fn at(root: Root) -> Site {
        Site { root }
    }

    /// Its root.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// A file of the machine as a path on this one. Links on the way lead nowhere outside of the root.
    pub fn disk(&self, path: &str) -> PathBuf {
        let mut path = PathBuf::from(path.trim_start_matches('/'));
        if self.root.is_live() {
            return self.root.path().join(path);
        }
        // As often as the kernel follows links before it answers ELOOP.
        for _ in 0..40 {
            let mut beginnings = path.ancestors().skip(1);
            let (start, resolved) = beginnings
                .find_map(|start| Some((start, self.root.resolve(&start.to_string_lossy())?)))
                .unwrap_or((Path::new(""), PathBuf::new()));
            let end = path.strip_prefix(start).unwrap_or(&path).to_owned();
            let mut steps = end.components();
            let here = self.root.path().join(&resolved);
            // A step that is there and does not resolve is a link to nothing below the root, whatever it is elsewhere.
            let link = steps.next().map(|step| fs::read_link(here.join(step)));
            match link {
                Some(Ok(target)) if !steps.as_path().as_os_str().is_empty() => {
                    let target = resolved.join(target).join(steps.as_path());
                    path = target.strip_prefix("/").map(Path::to_owned).unwrap_or(target);
                }
                _ => return here.join(end),
            }
        }
        self.root.path().join("..too many links..")
    }

    /// Whether there is such a file or folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.root.has(path.trim_start_matches('/'))
    }

    /// What is there now; `None`: nothing.
    pub(crate) fn value(&self, kind: SetupKind, path: &str) -> Result<Option<String>, SetupError> {
        let disk = self.disk(path);
        let found = match kind {
            SetupKind::Setting => fs::read_to_string(disk).map(|text| value_of(&text).to_owned()),
            SetupKind::Once => return Ok(None),
            SetupKind::File => return self.text(path, &disk),
            SetupKind::Link => fs::read_link(disk).map(|target| target.to_string_lossy().into_owned()),
            SetupKind::Folder => fs::metadata(disk).map(|_| FOLDER.to_owned()),
            SetupKind::Limit => {
                fs::read_to_string(self.disk(before_mark(path))).map(|text| limit_in(&text, path))
            }
        };
        present(found).map_err(|source| match source.raw_os_error() {
            Some(libc::EINVAL) if kind == SetupKind::Link => {
                SetupError::InTheWay { path: path.to_owned(), found: "no link" }
            }
            _ => SetupError::io("read", path, source),
        })
    }

    /// The whole text of a plain file.
    fn text(&self, path: &str, disk: &Path) -> Result<Option<String>, SetupError> {
        let failed = |source| SetupError::io("read", path, source);
        let in_the_way = |found| SetupError::InTheWay { path: path.to_owned(), found };
        match present(fs::symlink_metadata(disk)).map_err(failed)? {
            None => Ok(None),
            Some(found) if !found.is_file() => Err(in_the_way("no plain file")),
            Some(_) => {
                let text = String::from_utf8(fs::read(disk).map_err(failed)?);
                text.map(Some).map_err(|_| in_the_way("no text"))
            }
        }
    }

    /// Puts a value there; `None` takes away what is there.
    pub(crate) fn set(&self, kind: SetupKind, path: &str, value: Option<&str>) -> io::Result<()> {
        let disk = self.disk(path);
        match (kind, value) {
            (SetupKind::Setting | SetupKind::Once, Some(value)) if self.root.is_live() => {
                // No file is made: where the kernel has none, there is nothing to set.
                OpenOptions::new().write(true).open(disk)?.write_all(value.as_bytes())
            }
            (SetupKind::Setting, Some(value)) => {
                let text = fs::read_to_string(&disk)?;
                replace(&disk, with_value(&text, value).as_bytes())
            }
            (SetupKind::File, Some(text)) => replace(&disk, text.as_bytes()),
            (SetupKind::File, None) => {
                absent(fs::remove_file(beside(&disk)))?;
                absent(fs::remove_file(&disk))?;
                sync_folder(&disk)
            }
            (SetupKind::Link, Some(target)) => {
                absent(fs::remove_file(&disk))?;
                symlink(target, &disk)?;
                sync_folder(&disk)
            }
            (SetupKind::Link, None) => {
                absent(fs::remove_file(&disk))?;
                sync_folder(&disk)
            }
            (SetupKind::Folder, Some(_)) => {
                fs::create_dir(&disk)?;
                sync_folder(&disk)
            }
            // What others have put into it meanwhile keeps it.
            (SetupKind::Folder, None) => match fs::remove_dir(disk) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
                other => absent(other),
            },
            (SetupKind::Limit, Some(value)) => set_limit(path, value),
            (SetupKind::Once, Some(_)) | (_, None) => Ok(()),
        }
    }

    /// Whether the process whose limit it is still runs.
    pub(crate) fn runs(&self, path: &str, start_ticks: u64) -> bool {
        let pid = path.split('/').nth(2).and_then(|pid| pid.parse().ok());
        let stat = pid.and_then(|pid| Stat::read(&self.root, pid).ok());
        stat.is_some_and(|stat| stat.start_ticks == start_ticks)
    }

    /// Removes what a change of a file that was cut off may have left beside it.
    pub(crate) fn sweep(&self, kind: SetupKind, path: &str) {
        if kind == SetupKind::File || (kind == SetupKind::Setting && !self.root.is_live()) {
            // What cannot be removed is overwritten by the next change of the file.
            let _ = fs::remove_file(beside(&self.disk(path)));
        }
    }
}

/// The file of a limit: `/proc/PID/limits#WORD` without what stands behind.
fn before_mark(path: &str) -> &str {
    path.split('#').next().unwrap_or(path)
}

/// `SOFT:HARD`, each a number or `unlimited`.
fn limit_in(text: &str, path: &str) -> String {
    let row = path.split('#').nth(1).and_then(row_of).unwrap_or_default();
    let rest = text.lines().find_map(|line| line.strip_prefix(row)).unwrap_or_default();
    rest.split_whitespace().take(2).collect::<Vec<_>>().join(":")
}

fn set_limit(path: &str, value: &str) -> io::Result<()> {
    let odd = || io::Error::from_raw_os_error(libc::EINVAL);
    let (soft, hard) = value.split_once(':').ok_or_else(odd)?;
    let pid = path.split('/').nth(2).and_then(|pid| Pid::from_raw(pid.parse().ok()?)).ok_or_else(odd)?;
    let resource = match path.split('#').nth(1) {
        Some("memlock") => Resource::Memlock,
        Some("as") => Resource::As,
        Some("stack") => Resource::Stack,
        Some("nofile") => Resource::Nofile,
        Some("nproc") => Resource::Nproc,
        _ => return Err(odd()),
    };
    let bound = |text: &str| match text {
        "unlimited" => Ok(None),
        text => text.parse().map(Some).map_err(|_| odd()),
    };
    prlimit(Some(pid), resource, Rlimit { current: bound(soft)?, maximum: bound(hard)? })?;
    Ok(())
}

/// The word in brackets where there are several, or the whole.
fn value_of(text: &str) -> &str {
    chosen(text).unwrap_or(text.trim())
}

/// What a written setting says when it has another value: as the kernel would put it.
fn with_value(text: &str, value: &str) -> String {
    let old = value_of(text);
    if !text.contains('[') {
        return text.replacen(old, value, usize::from(!old.is_empty()));
    }
    let plain = text.replace(['[', ']'], "");
    let end = &plain[plain.trim_end().len()..];
    let words = plain.split_whitespace();
    let marked = words.map(|word| if word == value { format!("[{word}]") } else { word.to_owned() });
    marked.collect::<Vec<_>>().join(" ") + end
}

/// The new text of a file, until it takes the place of the old one.
fn beside(disk: &Path) -> PathBuf {
    let name = disk.file_name().unwrap_or_default().to_string_lossy();
    disk.with_file_name(format!(".{name}.firsttouch"))
}

/// Whoever reads the file sees the old text or the new one, and nothing between.
fn replace(disk: &Path, text: &[u8]) -> io::Result<()> {
    let (new, old) = (beside(disk), present(fs::symlink_metadata(disk))?);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&new)?;
    let mode = old.as_ref().map_or(0o644, |old| old.mode() & 0o7777);
    if let Some(old) = &old {
        fchown(&file, Some(old.uid()), Some(old.gid()))?;
    }
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(new, disk)?;
    sync_folder(disk)
}

fn sync_folder(disk: &Path) -> io::Result<()> {
    absent(File::open(disk.parent().unwrap_or(Path::new("/"))).and_then(|folder| folder.sync_all()))
}

fn present<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn absent(answer: io::Result<()>) -> io::Result<()> {
    present(answer).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::{Site, with_value};
    use firsttouch_documents::SetupKind;
    use firsttouch_machine::Root;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_written_setting_changes_as_the_kernels_would() {
        assert_eq!(with_value("always [madvise] never\n", "never"), "always madvise [never]\n");
        assert_eq!(with_value("always madvise [never]", "always"), "[always] madvise never");
        assert_eq!(with_value("64\n", "128"), "128\n");
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let site = Site::at(Root::at(folder.path()));
        let file = folder.path().join("etc/a.conf");
        fs::create_dir(folder.path().join("etc")).unwrap();
        fs::write(&file, "old\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        site.set(SetupKind::File, "/etc/a.conf", Some("new\n")).unwrap();
        assert_eq!(site.value(SetupKind::File, "/etc/a.conf").unwrap().as_deref(), Some("new\n"));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        site.set(SetupKind::File, "/etc/a.conf", None).unwrap();
        assert_eq!(site.value(SetupKind::File, "/etc/a.conf").unwrap(), None);
        assert_eq!(fs::read_dir(folder.path().join("etc")).unwrap().count(), 0);
    }

    #[test]
    fn links_lead_nowhere_outside_and_are_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let site = Site::at(Root::at(folder.path()));
        symlink(outside.path(), folder.path().join("etc")).unwrap();
        site.set(SetupKind::File, "/etc/y.conf", Some("text")).unwrap_err();
        site.set(SetupKind::Folder, "/etc/x", Some("")).unwrap_err();
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        fs::create_dir(folder.path().join("sys")).unwrap();
        symlink("/dev/null", folder.path().join("sys/z.conf")).unwrap();
        let error = site.value(SetupKind::File, "/sys/z.conf").unwrap_err();
        assert!(error.to_string().contains("no plain file"), "{error}");
    }
}
