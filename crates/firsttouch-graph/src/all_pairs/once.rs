//! Files that one of several processes makes for all of them.

use crate::file::FileError;
use std::fs::{File, TryLockError};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often whoever waits looks again.
const PAUSE: Duration = Duration::from_millis(20);

/// Who makes a file.
#[derive(Debug)]
pub enum Once {
    /// It is there.
    There,
    /// This process, as long as it keeps this.
    Ours(Turn),
    /// Whoever needs it: the file system has no locks. The last one's stays.
    Everyone,
    /// Nobody: this process was told to stop while it waited.
    Stopped,
}

/// The lock of a process that makes a file. The kernel takes it back when the process dies, on other machines of a shared file
/// system (NFS) too; so others wait exactly as long as there is somebody to wait for.
#[derive(Debug)]
pub struct Turn {
    /// Closing it ends the lock.
    _lock: File,
}

/// Waits until a file is there, or it is this process's turn to make it. `lock` is the file that is locked meanwhile; whoever has
/// the turn writes into it what it makes.
///
/// # Errors
///
/// If the lock cannot be opened or written to.
pub fn once(file: &Path, lock: &Path, words: &str, stop: &AtomicBool) -> Result<Once, FileError> {
    let failed = |source| FileError::access(lock, source);
    let held =
        File::options().read(true).write(true).create(true).truncate(false).open(lock).map_err(failed)?;
    let write = || held.set_len(0).and_then(|()| held.write_all_at(words.as_bytes(), 0)).map_err(failed);
    while !file.exists() {
        match held.try_lock() {
            // It may have come between the two looks.
            Ok(()) if file.exists() => break,
            Ok(()) => {
                write()?;
                return Ok(Once::Ours(Turn { _lock: held }));
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(_)) => {
                write()?;
                return Ok(Once::Everyone);
            }
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Once::Stopped);
        }
        thread::sleep(PAUSE);
    }
    Ok(Once::There)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn others_wait_for_whoever_makes_it_and_take_over_when_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (file, lock) = (folder.path().join("made"), folder.path().join("made.lock"));
        let go_on = AtomicBool::new(false);
        let Once::Ours(turn) = once(&file, &lock, "the first", &go_on).unwrap() else { panic!() };
        assert_eq!(fs::read_to_string(&lock).unwrap(), "the first");
        assert!(matches!(once(&file, &lock, "", &AtomicBool::new(true)).unwrap(), Once::Stopped));
        thread::scope(|scope| {
            let second = scope.spawn(|| once(&file, &lock, "2", &go_on).unwrap());
            // As the kernel does for one that died.
            drop(turn);
            let Once::Ours(turn) = second.join().unwrap() else { panic!() };
            assert_eq!(fs::read_to_string(&lock).unwrap(), "2");
            let third = scope.spawn(|| once(&file, &lock, "the third", &go_on).unwrap());
            fs::write(&file, "").unwrap();
            drop(turn);
            assert!(matches!(third.join().unwrap(), Once::There));
        });
        assert!(matches!(once(&file, &lock, "", &go_on).unwrap(), Once::There));
        assert_eq!(fs::read_to_string(&lock).unwrap(), "2");
    }
}
