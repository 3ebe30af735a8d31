//! The processes of a job on one machine tell each other something before they begin: each which CPUs it was given, for example.
//!
//! They meet in a file that the last to have read it removes. It is named for the process that started them all, by number and
//! start time, which no two jobs share; what is in it of processes that died while they waited counts for nothing.
//!
//! Each line is `STATE LOCAL_RANK PID START WORD`; the state is `waits`, or `read` once the process has read what all have told.

use firsttouch_linux::process::{Stat, has_variable};
use firsttouch_linux::root::Root;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How the names of the files begin; the user, and the launcher's number and start time, follow.
const PREFIX: &str = "firsttouch-ranks-";
/// Nobody waits so long: a file that nobody has written to since was left by ranks that were killed.
const LONG_AGO: Duration = Duration::from_secs(3600);
/// How often those who wait look.
const PAUSE: Duration = Duration::from_millis(5);

/// Who meets, and where.
#[derive(Clone, Debug)]
pub struct Meeting<'a> {
    /// A folder that all of them reach, where temporary files lie.
    pub folder: &'a Path,
    /// The process that started them all, by number and start time ([`launcher_of`]).
    pub launcher: (u32, u64),
    /// How many they are.
    pub ranks: u32,
    /// Which of them this is; `None` is the first that is free.
    pub local_rank: Option<u32>,
    /// What this one tells the others: a word without blanks.
    pub word: &'a str,
    /// How long to wait for the others.
    pub limit: Duration,
    /// How long to wait without a word.
    pub silent: Duration,
}

/// Who came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Met {
    /// Which of them this is, from 0 on.
    pub local_rank: u32,
    /// What each told, by local rank; `None` did not come in time.
    pub told: Vec<Option<String>>,
}

#[derive(Clone, Debug)]
struct Line {
    has_read: bool,
    local_rank: u32,
    process: (u32, u64),
    word: String,
}

impl Line {
    fn parse(text: &str) -> Option<Line> {
        let mut words = text.split(' ');
        let has_read = match words.next()? {
            "read" => true,
            "waits" => false,
            _ => return None,
        };
        Some(Line {
            has_read,
            local_rank: words.next()?.parse().ok()?,
            process: (words.next()?.parse().ok()?, words.next()?.parse().ok()?),
            word: words.next()?.to_owned(),
        })
    }
}

/// The nearest process above this one that is of no rank: whose environment has not the variable by which the launcher numbers
/// ranks with this rank's value, or may not be read. Without such a variable the parent. By number and start time;
/// zeros where that is in another PID namespace.
///
/// # Errors
/// Where /proc cannot be read.
pub fn launcher_of(number: Option<&(&'static str, String)>) -> io::Result<(u32, u64)> {
    let root = Root::live();
    let identity = |pid| Stat::read(&root, pid).map(|stat| (pid, stat.start_ticks, stat.parent));
    let own = Stat::read(&root, std::process::id())?;
    if own.parent == 0 {
        // It is outside of what we see: we are a container's first process, or came into it from there.
        return Ok((0, 0));
    }
    let mut above = identity(own.parent)?;
    if let Some((name, value)) = number {
        let entry = format!("{name}={value}").into_bytes();
        while above.2 != 0 && has_variable(&root, above.0, |known| known == entry) == Some(true) {
            above = identity(above.2)?;
        }
    }
    Ok((above.0, above.1))
}

/// Tells the others, and waits until all have come, or the time is over. Where that takes long, the first of those who wait calls
/// `tell`, once, with how many have come.
///
/// # Errors
/// Where there can be no such file, or somebody else's is there; `AlreadyExists` where another process is that rank, or all are there.
pub fn meet(meeting: &Meeting<'_>, tell: impl Fn(usize)) -> io::Result<Met> {
    let user = fs::metadata("/proc/self")?.uid();
    let name = format!("{PREFIX}{user}-{}-{}", meeting.launcher.0, meeting.launcher.1);
    let place = Place { path: meeting.folder.join(name), user };
    // Nothing depends on whether that succeeds.
    drop(sweep(meeting.folder, user));
    let begun = Instant::now();
    let own = std::process::id();
    let process = (own, Stat::read(&Root::live(), own)?.start_ticks);
    let mut local_rank = None;
    let mut is_told = false;
    loop {
        let is_late = begun.elapsed() >= meeting.limit;
        let mut come = None;
        let mut met = None;
        place.change(|lines| {
            let is_full = |lines: &[Line]| lines.len() >= meeting.ranks as usize;
            if local_rank.is_none() {
                // Whoever died while it waited has left.
                if !is_full(lines) {
                    lines.retain(|line| is_alive(line.process));
                } else if lines.iter().all(|line| line.has_read || !is_alive(line.process)) {
                    lines.clear();
                } else if !is_late {
                    // That of the job before, which its members are about to leave.
                    return Ok(());
                }
                let is_free = |rank: &u32| lines.iter().all(|line| line.local_rank != *rank);
                let Some(free) = (0..meeting.ranks)
                    .find(|rank| meeting.local_rank.unwrap_or(*rank) == *rank && is_free(rank))
                else {
                    return Err(io::ErrorKind::AlreadyExists.into());
                };
                local_rank = Some(free);
                let word = meeting.word.to_owned();
                lines.push(Line { has_read: false, local_rank: free, process, word });
            }
            if lines.iter().map(|line| line.local_rank).min() == local_rank {
                come = Some(lines.len());
            }
            if is_full(lines) || is_late {
                let of =
                    |rank| lines.iter().find(|line| line.local_rank == rank).map(|line| line.word.clone());
                met = local_rank
                    .map(|local_rank| Met { local_rank, told: (0..meeting.ranks).map(of).collect() });
                lines
                    .iter_mut()
                    .filter(|line| Some(line.local_rank) == local_rank)
                    .for_each(|line| line.has_read = true);
                if lines.iter().all(|line| line.has_read) {
                    lines.clear();
                }
            }
            Ok(())
        })?;
        if let Some(met) = met {
            return Ok(met);
        }
        if let Some(come) = come.filter(|_| !is_told && begun.elapsed() >= meeting.silent) {
            is_told = true;
            tell(come);
        }
        thread::sleep(PAUSE);
    }
}

/// Removes what ranks of this user that were killed left there.
fn sweep(folder: &Path, user: u32) -> io::Result<()> {
    let start = format!("{PREFIX}{user}-");
    for entry in fs::read_dir(folder)?.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(&start));
        let about = entry.metadata().ok().filter(|about| is_ours && about.is_file() && about.uid() == user);
        let age = about.and_then(|about| about.modified().ok()?.elapsed().ok());
        if age.is_some_and(|age| age > LONG_AGO) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn is_alive((pid, start): (u32, u64)) -> bool {
    Stat::read(&Root::live(), pid).is_ok_and(|stat| stat.start_ticks == start)
}

struct Place {
    path: PathBuf,
    user: u32,
}

impl Place {
    /// Lets nobody else in, and lets `change` have the lines; a file without any is removed.
    fn change(&self, change: impl FnOnce(&mut Vec<Line>) -> io::Result<()>) -> io::Result<()> {
        let mut file = self.locked()?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let mut lines: Vec<Line> = text.lines().filter_map(Line::parse).collect();
        change(&mut lines)?;
        if lines.is_empty() {
            return fs::remove_file(&self.path);
        }
        let mut changed = String::new();
        for Line { has_read, local_rank, process: (pid, start), word } in &lines {
            let state = if *has_read { "read" } else { "waits" };
            changed.push_str(&format!("{state} {local_rank} {pid} {start} {word}\n"));
        }
        if changed != text {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(changed.as_bytes())?;
        }
        Ok(())
    }

    fn locked(&self) -> io::Result<File> {
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
            let file = options.open(&self.path)?;
            file.lock()?;
            let about = file.metadata()?;
            if about.uid() != self.user || !about.is_file() {
                return Err(io::Error::other(format!("{} is somebody else's", self.path.display())));
            }
            // It may have been removed between the two steps.
            if about.nlink() > 0 {
                return Ok(file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAUNCHER: (u32, u64) = (4711, 42);

    fn meeting<'a>(folder: &'a Path, local_rank: Option<u32>, word: &'a str) -> Meeting<'a> {
        Meeting {
            folder,
            launcher: LAUNCHER,
            ranks: 3,
            local_rank,
            word,
            limit: Duration::from_secs(100),
            silent: Duration::ZERO,
        }
    }

    fn path(folder: &Path) -> PathBuf {
        let user = fs::metadata("/proc/self").expect("one").uid();
        folder.join(format!("firsttouch-ranks-{user}-4711-42"))
    }

    fn all(folder: &Path, ranks: [Option<u32>; 3]) -> Vec<Met> {
        thread::scope(|scope| {
            let met = ranks.map(|rank| {
                let word = rank.map_or("0-3".to_owned(), |rank| format!("{rank}"));
                scope.spawn(move || meet(&meeting(folder, rank, &word), |_| ()).expect("all come"))
            });
            met.into_iter().map(|met| met.join().expect("no panic")).collect()
        })
    }

    #[test]
    fn all_hear_what_all_tell_and_leave_nothing() {
        let scratch = tempfile::tempdir().expect("a folder");
        // One that died while it waited, in the place of another.
        fs::write(path(scratch.path()), "waits 1 1 7 dead\n").expect("written");
        for _ in 0..20 {
            let met = all(scratch.path(), [Some(2), Some(0), Some(1)]);
            assert_eq!(met.iter().map(|met| met.local_rank).collect::<Vec<_>>(), [2, 0, 1]);
            let told = ["0", "1", "2"].map(|word| Some(word.to_owned()));
            assert!(met.iter().all(|met| met.told == told), "{met:?}");
            assert!(!path(scratch.path()).exists());
        }
    }

    #[test]
    fn who_has_no_number_gets_one() {
        let scratch = tempfile::tempdir().expect("a folder");
        let mut ranks: Vec<u32> = all(scratch.path(), [None; 3]).iter().map(|met| met.local_rank).collect();
        ranks.sort_unstable();
        assert_eq!(ranks, [0, 1, 2]);
        // All of the job before have ended.
        let over = "read 0 1 7 a\nread 1 1 7 b\nwaits 2 1 7 c\n";
        fs::write(path(scratch.path()), over).expect("written");
        assert_eq!(all(scratch.path(), [None; 3]).len(), 3);
    }

    #[test]
    fn who_does_not_come_is_not_waited_for_without_end() {
        let scratch = tempfile::tempdir().expect("a folder");
        let alone = Meeting { limit: Duration::ZERO, ..meeting(scratch.path(), Some(1), "5") };
        let met = meet(&alone, |_| ()).expect("it may go on");
        assert_eq!(met.told, [None, Some("5".to_owned()), None]);
        assert!(!path(scratch.path()).exists());
        // What is left by those who were killed goes, when nobody can be waiting there.
        let user = fs::metadata("/proc/self").expect("one").uid();
        let [old, young] = ["1-2", "3-4"].map(|name| scratch.path().join(format!("{PREFIX}{user}-{name}")));
        let theirs = scratch.path().join("another");
        for file in [&old, &young, &theirs] {
            let file = File::create(file).expect("made");
            file.set_modified(std::time::SystemTime::now() - 2 * LONG_AGO).expect("set");
        }
        File::open(&young).expect("there").set_modified(std::time::SystemTime::now()).expect("set");
        meet(&alone, |_| ()).expect("it may go on");
        assert_eq!((old.exists(), young.exists(), theirs.exists()), (false, true, true));
        // Another is that rank, and lives.
        let own = Stat::read(&Root::live(), std::process::id()).expect("we live");
        fs::write(path(scratch.path()), format!("waits 1 {} {} 5\n", own.pid, own.start_ticks))
            .expect("written");
        assert_eq!(meet(&alone, |_| ()).expect_err("taken").kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn the_first_who_waits_long_says_so_once() {
        let scratch = tempfile::tempdir().expect("a folder");
        let (told, waits) = std::sync::mpsc::channel();
        let come = |rank, told: std::sync::mpsc::Sender<usize>| {
            meet(&meeting(scratch.path(), Some(rank), "5"), |come| told.send(come).expect("heard"))
                .expect("all come");
        };
        thread::scope(|scope| {
            let first = told.clone();
            scope.spawn(move || come(0, first));
            // The others come when they are missed.
            assert_eq!(waits.recv_timeout(Duration::from_secs(100)).expect("it says so"), 1);
            for rank in [1, 2] {
                let told = told.clone();
                scope.spawn(move || come(rank, told));
            }
        });
        drop(told);
        assert_eq!(waits.iter().count(), 0);
    }

    #[test]
    fn a_launcher_is_above_all_of_a_rank() {
        let own = Stat::read(&Root::live(), std::process::id()).expect("we live");
        let parent = Stat::read(&Root::live(), own.parent).expect("it lives");
        assert_eq!(launcher_of(None).expect("found"), (parent.pid, parent.start_ticks));
        let nobodys = ("FIRSTTOUCH_NO_RANK", "7".to_owned());
        assert_eq!(launcher_of(Some(&nobodys)).expect("found").0, parent.pid);
    }
}
