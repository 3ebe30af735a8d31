//! How fast a disk is read: a file of it, past the page cache.

use crate::MeasureError;
use crate::team::timed;
use firsttouch_memory::{Pages, Region};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a request.
const REQUEST_BYTES: usize = 1 << 20;
/// Requests at a time, of as many threads: some disks want few of them, others many.
const REQUESTS: [usize; 3] = [2, 8, 32];
/// A disk that has not read all by then has told how fast it is.
const LONGEST: Duration = Duration::from_secs(1);

/// A file that is read past the page cache (`O_DIRECT` of open(2)).
#[derive(Debug)]
pub struct DirectFile {
    file: File,
}

impl DirectFile {
    /// What places in the file and in memory, and lengths, are multiples of: at least what any disk asks for.
    pub const BLOCK_BYTES: usize = 4096;

    /// Opens a file once more, so; it may have no name any more.
    ///
    /// # Errors
    /// Where its file system does not know such reads, or the file may not be read.
    pub fn of(file: &File) -> io::Result<DirectFile> {
        let direct = OFlags::DIRECT.bits().cast_signed();
        let again = format!("/proc/self/fd/{}", file.as_raw_fd());
        let file = OpenOptions::new().read(true).custom_flags(direct).open(again)?;
        Ok(DirectFile { file })
    }

    /// Fills memory with what lies from a place of the file on.
    ///
    /// # Errors
    /// Where the file ends before that, place, memory or length are no multiples of [`DirectFile::BLOCK_BYTES`], or the disk fails.
    pub fn read_at(&self, to: &mut [u8], place: u64) -> io::Result<()> {
        self.file.read_exact_at(to, place)
    }
}

/// Bytes by second of the first `bytes` of a file, or of as many as are read in [`LONGEST`], with as many requests at a time as are
/// fastest.
pub(crate) fn bandwidth(file: &File, cpus: &[u32], bytes: u64) -> Result<f64, MeasureError> {
    let there = file.metadata().map_err(MeasureError::File)?.len().min(bytes);
    let length = there as usize / DirectFile::BLOCK_BYTES * DirectFile::BLOCK_BYTES;
    if length == 0 {
        return Err(MeasureError::File(io::ErrorKind::UnexpectedEof.into()));
    }
    let file = DirectFile::of(file).map_err(MeasureError::File)?;
    let most = REQUESTS.into_iter().max().unwrap_or(1);
    let mut memory = Region::map(most * REQUEST_BYTES, Pages::Auto, None)?;
    let memory = memory.as_mut_slice();
    // No page is made while the disk is timed.
    memory.fill(0);
    REQUESTS.into_iter().try_fold(0.0, |most: f64, requests| {
        let buffers = &mut memory[..requests * REQUEST_BYTES];
        let (bytes, seconds) = read_through(&file, length, cpus, buffers, LONGEST)?;
        Ok(most.max(bytes as f64 / seconds))
    })
}

/// Reads the first `length` bytes of a file, with as many requests at a time as memory has room for, and begins none after `longest`.
/// How many bytes were read, and the seconds that took.
fn read_through(
    file: &DirectFile,
    length: usize,
    cpus: &[u32],
    memory: &mut [u8],
    longest: Duration,
) -> Result<(usize, f64), MeasureError> {
    let (failed, read) = (Mutex::new(None), AtomicUsize::new(0));
    let requests = memory.len() / REQUEST_BYTES;
    let began = Instant::now();
    let threads = cpus.iter().cycle().zip(memory.chunks_exact_mut(REQUEST_BYTES));
    let work = threads.enumerate().map(|(first, (&cpu, buffer))| {
        let (failed, read) = (&failed, &read);
        // Threads take requests in turn, so that the disk is read from its begin to its end.
        let places = (first * REQUEST_BYTES..length).step_by(requests * REQUEST_BYTES);
        (cpu, move || {
            for place in places {
                let bytes = REQUEST_BYTES.min(length - place);
                if let Err(error) = file.read_at(&mut buffer[..bytes], place as u64) {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    return;
                }
                read.fetch_add(bytes, Ordering::Relaxed);
                if began.elapsed() >= longest {
                    return;
                }
            }
        })
    });
    let seconds = timed(work)?;
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(MeasureError::File(error)),
        None => Ok((read.into_inner(), seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::own_cpus;
    use std::io::Write;

    fn made(bytes: usize) -> File {
        let mut file = tempfile::tempfile_in("/var/tmp").unwrap();
        let data: Vec<u8> = (0..bytes).map(|place| (place / 4096 + place) as u8).collect();
        file.write_all(&data).unwrap();
        file
    }

    #[test]
    fn what_is_read_past_the_cache_is_what_was_written() {
        let file = made(5 * 4096);
        let direct = DirectFile::of(&file).unwrap();
        let mut memory = Region::map(2 << 20, Pages::Auto, None).unwrap();
        let to = &mut memory.as_mut_slice()[..2 * 4096];
        direct.read_at(to, 2 * 4096).unwrap();
        assert!((2 * 4096..).zip(to.iter()).all(|(place, byte)| *byte == (place / 4096 + place) as u8));
        let error = direct.read_at(to, 4 * 4096).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn files_shorter_and_longer_than_requests_have_a_bandwidth() {
        let cpus = own_cpus();
        for bytes in [4096, 4097, REQUEST_BYTES + 8192] {
            assert!(bandwidth(&made(bytes), &cpus, 1 << 30).unwrap() > 0.0, "{bytes}");
        }
        assert!(matches!(bandwidth(&made(100), &cpus, 1 << 30), Err(MeasureError::File(_))));
    }

    #[test]
    fn a_slow_disk_is_read_no_longer_than_it_takes_to_know_it() {
        let file = made(5 * REQUEST_BYTES + 4096);
        let direct = DirectFile::of(&file).unwrap();
        let mut memory = Region::map(2 * REQUEST_BYTES, Pages::Auto, None).unwrap();
        let mut read = |longest| {
            read_through(&direct, 5 * REQUEST_BYTES + 4096, &own_cpus(), memory.as_mut_slice(), longest)
                .unwrap()
                .0
        };
        assert_eq!(read(Duration::ZERO), 2 * REQUEST_BYTES);
        assert_eq!(read(Duration::MAX), 5 * REQUEST_BYTES + 4096);
    }
}
