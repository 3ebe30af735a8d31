//! The record: the reading at the peak, as lines of text that the launcher turns into a receipt.
//!
//! Written through a buffer on the stack; nothing allocates. The lines are those of [`crate::record_line`].

use crate::backing::Backing;
use crate::coverage::{self, ByNode};
use crate::pages::{BASE, GIGANTIC, Pages};
use crate::reason::Reason;
use crate::record_line::{END, HEADER, Name, RecordLine};
use crate::settings::Totals;
use crate::snapshot::Snapshot;
use core::ffi::CStr;
use core::fmt::{self, Write};
use firsttouch_linux::sys::{self, Descriptor};

struct Writer {
    file: Descriptor,
    buffer: [u8; 1024],
    used: usize,
}

impl Writer {
    fn flush(&mut self) -> fmt::Result {
        let done = self.file.write_all(&self.buffer[..self.used]);
        self.used = 0;
        done.map_err(|_| fmt::Error)
    }
}

impl Write for Writer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.as_bytes().chunks(self.buffer.len()) {
            if self.used + part.len() > self.buffer.len() {
                self.flush()?;
            }
            self.buffer[self.used..][..part.len()].copy_from_slice(part);
            self.used += part.len();
        }
        Ok(())
    }
}

/// Hands over lines that somebody else knows.
pub(crate) type More<'a> = &'a (dyn Fn(&mut dyn FnMut(RecordLine<'_>) -> fmt::Result) -> fmt::Result + Sync);

/// What a record says.
pub(crate) struct Record<'a> {
    pub(crate) asked: Pages,
    pub(crate) totals: Totals,
    pub(crate) snapshot: &'a Snapshot,
    /// Bytes that could not be placed at all, by reason, in the order of [`Reason::ALL`].
    pub(crate) refused: &'a [usize; Reason::ALL.len()],
    /// Why nothing is placed any more.
    pub(crate) stood_down: Option<Reason>,
    /// Nothing is held for reuse.
    pub(crate) is_rationed: bool,
    /// The program ends now; otherwise this is a peak, and there may be more to come.
    pub(crate) complete: bool,
    /// Writes further lines.
    pub(crate) more: More<'a>,
}

/// The name that the program was started by, where it leads to the file that runs: a script's name leads elsewhere.
fn started_as() -> Option<&'static [u8]> {
    // SAFETY: the kernel's string for the life of the process, or 0.
    let name = unsafe {
        let name = libc::getauxval(libc::AT_EXECFN) as *const core::ffi::c_char;
        if name.is_null() {
            return None;
        }
        CStr::from_ptr(name)
    };
    // Another one may have become the folder that it was relative to.
    let is_it = name.to_bytes().starts_with(b"/") && sys::is_same_file(name, c"/proc/thread-self/exe");
    is_it.then_some(name.to_bytes())
}

/// Whether the process may write a file of a record's size: beyond its limit (`ulimit -f`) SIGXFSZ would end it.
pub(crate) fn may_be_written() -> bool {
    const RECORD_BYTES: u64 = 64 << 10;
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    let arguments = [0, libc::RLIMIT_FSIZE as usize, 0, &raw mut limit as usize, 0, 0];
    // SAFETY: prlimit64 fills the structure whose address it is given.
    unsafe { sys::call(libc::SYS_prlimit64, arguments) }.is_ok() && limit.rlim_cur >= RECORD_BYTES
}

/// Where a record is written: a file of a folder, which may be gone by then.
#[derive(Debug, Clone, Copy)]
pub struct RecordFile {
    folder: &'static CStr,
    name: &'static CStr,
}

impl RecordFile {
    /// The file of an absolute path, which ends with a zero byte; `None` where it is none. The slash before the name is lost.
    pub fn of(path: &'static mut [u8]) -> Option<RecordFile> {
        let slash = path
            .iter()
            .take_while(|byte| **byte != 0)
            .enumerate()
            .filter(|(_, byte)| **byte == b'/')
            .last()?
            .0;
        path[slash] = 0;
        let (folder, name) = path.split_at(slash + 1);
        let [folder, name] = [folder, name].map(|part| CStr::from_bytes_until_nul(part).ok());
        Some(RecordFile { folder: folder?, name: name? })
    }

    /// One that cannot be made.
    #[cfg(test)]
    pub(crate) const NOWHERE: RecordFile = RecordFile { folder: c"/proc", name: c"none" };
}

impl Record<'_> {
    /// A record that cannot be written is left out: the program comes first.
    pub(crate) fn write(&self, file: RecordFile) {
        let Ok(file) = sys::create_in(file.folder, file.name) else { return };
        let mut writer = Writer { file, buffer: [0; 1024], used: 0 };
        let _ = self.print(&mut writer).and_then(|()| writer.flush());
    }

    fn print(&self, out: &mut Writer) -> fmt::Result {
        let snapshot = self.snapshot;
        let mut path = [0; 1024];
        let name = started_as()
            .or_else(|| sys::read_link(c"/proc/thread-self/exe", &mut path))
            .unwrap_or(b"unknown");
        writeln!(out, "{HEADER}")?;
        let mut line = |line: RecordLine<'_>| writeln!(out, "{line}");
        line(RecordLine::Program(Name(name)))?;
        line(RecordLine::State { is_final: self.complete })?;
        line(RecordLine::Placed(snapshot.placed_bytes as u64))?;
        line(RecordLine::Peak(self.totals.peak_bytes as u64))?;
        line(RecordLine::Blocks(self.totals.placed_blocks))?;
        line(RecordLine::Recycled(self.totals.recycled_bytes))?;
        line(RecordLine::Served(self.totals.recycled_blocks))?;
        line(RecordLine::Held(self.totals.most_held_bytes as u64))?;
        let multi = (self.asked.bytes(), snapshot.multi_bytes.unwrap_or(0));
        let huge = Backing::ALL.map(|backing| (backing.chunk_bytes(), snapshot.huge_bytes[backing as usize]));
        for (page, bytes) in [(BASE, snapshot.small_bytes), multi].into_iter().chain(huge) {
            if bytes > 0 {
                line(RecordLine::Page(page as u64, bytes as u64))?;
            }
        }
        if snapshot.pool_bytes() > 0 {
            line(RecordLine::Pool(snapshot.pool_bytes() as u64))?;
        }
        for (node, bytes) in snapshot.nodes.into_iter().flat_map(ByNode::iter).filter(|(_, bytes)| *bytes > 0)
        {
            line(RecordLine::Node(node.into(), bytes as u64))?;
        }
        if self.complete
            && let Some(process) = coverage::process()
        {
            for (page, bytes) in process.into_iter().filter(|(page, bytes)| *page < GIGANTIC || *bytes > 0) {
                line(RecordLine::Process(page as u64, bytes as u64))?;
            }
        }
        for reasons in [&snapshot.reasons, self.refused] {
            for (reason, bytes) in Reason::ALL.iter().zip(reasons).filter(|(_, bytes)| **bytes > 0) {
                line(RecordLine::Short(*reason, *bytes as u64))?;
            }
        }
        if let Some(reason) = self.stood_down {
            line(RecordLine::Short(reason, 0))?;
        }
        for block in snapshot.blocks.iter().filter(|block| block.bytes > 0) {
            line(RecordLine::Block {
                id: block.id,
                address: block.address as u64,
                bytes: block.bytes as u64,
                huge_bytes: block.huge_bytes.map(|bytes| bytes as u64),
            })?;
        }
        if self.is_rationed {
            line(RecordLine::Note(
                "what was freed was not held for reuse: address space or data is limited, memory is locked or strictly counted, or the program wanted the addresses",
            ))?;
        }
        if snapshot.unreadable {
            line(RecordLine::Note("page sizes could not be read: /proc is not mounted"))?;
        }
        if matches!(self.asked, Pages::Multi(_)) && snapshot.multi_bytes.is_none() {
            line(RecordLine::Note(
                "only CAP_SYS_ADMIN sees multi-size pages: they count as 4 KiB pages here",
            ))?;
        }
        (self.more)(&mut line)?;
        writeln!(out, "{END}")
    }
}
