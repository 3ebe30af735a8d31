//! The folder that a program works in. It goes with us, however we end, and not before the program has ended.

use std::io::{self, PipeWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Waits for the end of all who hold the other end of its input, and removes the folder if nobody has said that it is gone. Signals to
/// us, and to our terminal, are not for it.
const KEEPER: &str = r#"trap '' HUP INT TERM; read -r word || rm -rf -- "$0""#;

/// A folder that is removed when this is dropped; if we are killed before, by another process.
pub(super) struct Folder {
    folder: TempDir,
    /// `None` where there is no shell: then the folder stays, should we be killed.
    keeper: Option<Keeper>,
}

struct Keeper {
    process: Child,
    line: PipeWriter,
}

impl Folder {
    pub(super) fn new() -> io::Result<Folder> {
        let folder = tempfile::tempdir()?;
        let keeper = Keeper::start(folder.path()).ok();
        Ok(Folder { folder, keeper })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What a program holds, as its input, that works in the folder: it may go on when we have ended, and write still.
    pub(super) fn in_use(&self) -> Stdio {
        let line = self.keeper.as_ref().and_then(|keeper| keeper.line.try_clone().ok());
        line.map_or_else(Stdio::null, Stdio::from)
    }
}

impl Keeper {
    fn start(folder: &Path) -> io::Result<Keeper> {
        let (input, line) = io::pipe()?;
        let mut keeper = Command::new("sh");
        keeper.arg("-c").arg(KEEPER).arg(folder).stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
        // Not of the group that the terminal sends Ctrl-C to.
        let process = keeper.process_group(0).spawn()?;
        Ok(Keeper { process, line })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let Some(Keeper { mut process, mut line }) = self.keeper.take() else { return };
        // The folder goes first, so that there is no moment in which nobody would remove it.
        let _ = std::fs::remove_dir_all(self.folder.path());
        // A keeper that was killed reads nothing.
        let _ = line.write_all(b"gone\n");
        drop(line);
        let _ = process.wait();
    }
}
