//! Receipts of all ranks of a job, gathered by files in a folder that they share.
//!
//! `rank-R.begun` says which process rank R is; `rank-R.json` is its receipt. Whoever ends last makes one document of all and removes
//! the folder: a rank whose process on this machine is gone without a receipt is waited for by nobody. Where nobody can know that all
//! have ended the folder stays, and [`gathered`] makes the document of what is there.

use firsttouch_documents::{JobRank, JobReport, from_json};
use firsttouch_linux::process::Stat;
use firsttouch_machine::Root;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

/// A rank that is about to begin.
#[derive(Clone, Debug)]
pub struct Gathering {
    /// The folder that all ranks of the job share.
    pub folder: PathBuf,
    /// What started the ranks, in words.
    pub launcher: Option<String>,
    /// What no other job is called that may use the folder.
    pub job: String,
    /// Which rank this is.
    pub rank: u32,
    /// How many there are.
    pub size: u32,
}

/// The file by which one of the last is the last.
const LAST: &str = "gathered";

impl Gathering {
    /// Says that this rank takes part, and forgets what one of the same number left there before. To be called before the program starts.
    ///
    /// # Errors
    /// What the kernel says where the folder cannot be made or written to.
    pub fn begin(&self) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        // Left by a last one that was killed at it.
        for stale in [self.folder.join(LAST), receipt_file(&self.folder, self.rank)] {
            match fs::remove_file(stale) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let own = process::id();
        let start = Stat::read(&Root::live(), own)?.start_ticks;
        let launcher = self.launcher.as_deref().unwrap_or_default();
        let text = format!("{own} {start} {} {}\n{}\n{launcher}\n", boot(), self.size, self.job);
        self.put(&begun_file(&self.folder, self.rank), &text)
    }

    /// Leaves this rank's receipt. The last one gets the report of all, and the folder is gone.
    ///
    /// # Errors
    /// What the kernel says where it cannot be written.
    pub fn end(&self, rank: &JobRank) -> io::Result<Option<JobReport>> {
        // In the form that documents have, so that nothing is compiled for another.
        self.put(&receipt_file(&self.folder, self.rank), &serde_json::to_string_pretty(rank)?)?;
        for other in 0..self.size {
            let begun = Begun::read(&self.folder, other).filter(|begun| begun.job == self.job);
            let has_ended = receipt_file(&self.folder, other).exists();
            if !begun.is_some_and(|begun| has_ended || begun.is_gone()) {
                return Ok(None);
            }
        }
        if let Err(error) = fs::File::create_new(self.folder.join(LAST)) {
            // Another found the same, and may be done with it.
            let is_late = matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound);
            return if is_late { Ok(None) } else { Err(error) };
        }
        let report = gathered(&self.folder)?;
        fs::remove_dir_all(&self.folder)?;
        Ok(Some(report))
    }

    /// Writes a file that others see whole or not at all.
    fn put(&self, file: &Path, text: &str) -> io::Result<()> {
        let new = file.with_extension(format!("{}.new", process::id()));
        fs::write(&new, text)?;
        fs::rename(new, file)
    }
}

/// The report of the ranks that have left receipts in a folder.
///
/// # Errors
/// Where the folder cannot be read, or no rank has begun there; a receipt that does not read counts as missing.
pub fn gathered(folder: &Path) -> io::Result<JobReport> {
    let mut begun: Vec<(u32, Begun)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let rank =
            name.to_str().and_then(|name| name.strip_prefix("rank-")?.strip_suffix(".begun")?.parse().ok());
        begun.extend(rank.and_then(|rank| Some((rank, Begun::read(folder, rank)?))));
    }
    // What another job left is not of the one that began last.
    let Some(Begun { job, size, launcher, .. }) =
        begun.iter().map(|(_, one)| one).max_by_key(|one| one.start).cloned()
    else {
        let what = format!("no rank of a job has begun in {}", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    };
    let of_job = begun.iter().filter(|(rank, one)| one.job == job && *rank < size);
    let read = |rank: u32| from_json(&fs::read_to_string(receipt_file(folder, rank)).ok()?).ok();
    let ranks = of_job.filter_map(|(rank, _)| read(*rank)).collect();
    Ok(JobReport::of((!launcher.is_empty()).then_some(launcher), job, size, ranks))
}

fn begun_file(folder: &Path, rank: u32) -> PathBuf {
    folder.join(format!("rank-{rank}.begun"))
}

fn receipt_file(folder: &Path, rank: u32) -> PathBuf {
    folder.join(format!("rank-{rank}.json"))
}

/// What no other machine, and no other boot of this one, is called.
fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    if text.trim().is_empty() { "unknown".to_owned() } else { text.trim().to_owned() }
}

/// What a rank said when it began.
#[derive(Clone, Debug)]
struct Begun {
    pid: u32,
    start: u64,
    boot: String,
    size: u32,
    job: String,
    launcher: String,
}

impl Begun {
    fn read(folder: &Path, rank: u32) -> Option<Begun> {
        let text = fs::read_to_string(begun_file(folder, rank)).ok()?;
        let mut lines = text.lines();
        let mut words = lines.next()?.split(' ');
        Some(Begun {
            pid: words.next()?.parse().ok()?,
            start: words.next()?.parse().ok()?,
            boot: words.next()?.to_owned(),
            size: words.next()?.parse().ok()?,
            job: lines.next()?.to_owned(),
            launcher: lines.next().unwrap_or_default().to_owned(),
        })
    }

    /// Its process ran on this machine, and is no more.
    fn is_gone(&self) -> bool {
        let is_alive = || {
            Stat::read(&Root::live(), self.pid)
                .is_ok_and(|stat| stat.start_ticks == self.start && stat.state != 'Z')
        };
        self.boot == boot() && !is_alive()
    }
}
