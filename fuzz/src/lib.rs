//! What all targets share: a limit of memory that depends on the length of the input, a team, a scratch file, checksums that
//! are right.
//!
//! A target calls what the command line calls, on bytes. It fails if that panics, takes more memory than its [`Bound`], or
//! reads what it wrote itself in another way.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use firsttouch_graph::Format;
use firsttouch_linux::tree::Tree;
use firsttouch_threads::Team;
use tempfile::TempDir;

mod mend;
mod rank;
mod run;

pub use mend::{mend_binary_graph, mend_kept, mend_tar, mend_told_graph};
pub use rank::Scripted;
pub use run::SharedRun;

/// Counts the bytes that are allocated at any moment.
struct Counting;

#[global_allocator]
static MEMORY: Counting = Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);
static MOST: AtomicIsize = AtomicIsize::new(isize::MAX);
static REFUSES: AtomicBool = AtomicBool::new(false);

/// Takes note of memory before it is there: what is too much must not be touched first. False if it is refused.
fn count(more: isize) -> bool {
    let live = LIVE.fetch_add(more, Ordering::Relaxed) + more;
    let most = MOST.load(Ordering::Relaxed);
    if more <= 0 || live <= most {
        return true;
    }
    if REFUSES.load(Ordering::Relaxed) {
        LIVE.fetch_sub(more, Ordering::Relaxed);
        return false;
    }
    // An allocator must not unwind; the fuzzer keeps the input of a process that aborts, and shows who allocated.
    MOST.store(isize::MAX, Ordering::Relaxed);
    let _ =
        writeln!(std::io::stderr(), "fuzz: {more} bytes more make {live}, and the input is good for {most}");
    std::process::abort();
}

// SAFETY: every call is handed on to the system's allocator as it is, or answered by the null pointer that says no.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !count(layout.size() as isize) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !count(layout.size() as isize) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's layout.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's block, which the system's allocator gave.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if !count(bytes as isize - layout.size() as isize) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's block, which the system's allocator gave.
        unsafe { System.realloc(block, layout, bytes) }
    }
}

/// The memory that a reader may take beside what was there before.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// For whatever it is given.
    pub fixed: usize,
    /// For each byte of the input.
    pub per_byte: usize,
}

impl Bound {
    /// Runs a reader of so many bytes within the bound; ends the process if it asks for more.
    pub fn hold<T>(self, input_bytes: usize, read: impl FnOnce() -> T) -> T {
        let most = self.fixed + self.per_byte * input_bytes;
        MOST.store(LIVE.load(Ordering::Relaxed) + most as isize, Ordering::Relaxed);
        let answer = read();
        MOST.store(isize::MAX, Ordering::Relaxed);
        answer
    }

    /// The same, but a request for more is refused: for readers that ask for what is stated and go by the answer. One that
    /// cannot do without ends the process.
    pub fn hold_refusing<T>(self, input_bytes: usize, read: impl FnOnce() -> T) -> T {
        REFUSES.store(true, Ordering::Relaxed);
        let answer = self.hold(input_bytes, read);
        REFUSES.store(false, Ordering::Relaxed);
        answer
    }
}

/// Lends the target's team, which is made once: threads are not what is tried here.
pub fn with_team<T>(work: impl FnOnce(&mut Team) -> T) -> T {
    thread_local! {
        static TEAM: RefCell<Option<Team>> = const { RefCell::new(None) };
    }
    TEAM.with_borrow_mut(|team| {
        work(team.get_or_insert_with(|| Team::of_this_process(1).expect("a team of one thread")))
    })
}

/// Puts the bytes into a file, in memory where the machine has such a file system, and hands its path on.
pub fn with_file<T>(bytes: &[u8], work: impl FnOnce(&Path) -> T) -> T {
    let mut file = tempfile::NamedTempFile::new_in(scratch()).expect("a scratch file");
    file.write_all(bytes).expect("room for a scratch file");
    work(file.path())
}

/// A folder for files, in memory where the machine has such a file system.
pub fn scratch_folder() -> TempDir {
    tempfile::tempdir_in(scratch()).expect("a scratch folder")
}

fn scratch() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

/// The files of a recorded machine: a line `== PATH`, then what is in that file; or `-> TARGET` for a link.
pub fn machine_tree(text: &str) -> Tree {
    let mut tree = Tree::new();
    for file in text.split("== ") {
        let (path, contents) = file.split_once('\n').unwrap_or((file, ""));
        let path = Path::new(path);
        if path.file_name().is_some() {
            let link = contents.strip_prefix("-> ").map(str::trim_end);
            // A path that no file of /proc and /sys has is left out.
            let _ = match link {
                Some(target) => tree.add_link(path, Path::new(target)),
                None => tree.add_file(path, contents.as_bytes().to_vec()),
            };
        }
    }
    tree
}

/// First bytes that [`named_format`] tells apart.
pub const NAMED_FORMATS: u8 = 2 * (1 + Format::ALL.len() as u8);

/// The format that the name of a text tells, if any, and whether edges go both ways, by the first byte of an input.
pub fn named_format(choice: u8) -> (Option<Format>, bool) {
    let named = usize::from(choice % NAMED_FORMATS / 2).checked_sub(1);
    (named.map(|at| Format::ALL[at]), choice % 2 == 1)
}

/// Splits the bytes at a line of their own: for readers of two files.
pub fn two_files(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    const BETWEEN: &[u8] = b"\n--\n";
    match bytes.windows(BETWEEN.len()).position(|window| window == BETWEEN) {
        Some(at) => (&bytes[..=at], Some(&bytes[at + BETWEEN.len()..])),
        None => (bytes, None),
    }
}
