//! The record: the reading at the peak, as lines of text that the launcher turns into a receipt.
//!
//! Written through a buffer on the stack; nothing allocates. The format is documented where it is read, in
//! `firsttouch-placement`.

use crate::coverage;
use crate::heap::{Heap, Inner};
use crate::pages::Pages;
use crate::reason::Reason;
use core::ffi::CStr;
use core::fmt::{self, Write};
use firsttouch_linux::sys::{self, Descriptor};

/// How long the way out of a process waits for the lock, in looks at it (some milliseconds).
const TRIES_AT_EXIT: u32 = 10_000_000;

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

impl Heap {
    /// From now on, keeps the reading of the peak and writes it to that file.
    pub fn record_to(&self, path: &'static CStr) {
        self.inner.lock().record_path = Some(path);
    }

    /// Writes the record of a program that ends now, if one is wanted.
    pub fn finish_record(&self) {
        if let Some(mut inner) = self.inner.try_lock(TRIES_AT_EXIT)
            && inner.record_path.is_some()
        {
            inner.look();
            inner.write_record(true);
        }
    }
}

impl Inner {
    /// A record that cannot be written is left out: the program comes first.
    pub(crate) fn write_record(&self, complete: bool) {
        let Some(Ok(file)) = self.record_path.map(sys::create) else { return };
        let mut writer = Writer { file, buffer: [0; 1024], used: 0 };
        let _ = self.print(&mut writer, complete).and_then(|()| writer.flush());
    }

    fn print(&self, out: &mut Writer, complete: bool) -> fmt::Result {
        let snapshot = &self.snapshot;
        let mut path = [0; 1024];
        let program =
            sys::read_link(c"/proc/self/exe", &mut path).and_then(|path| core::str::from_utf8(path).ok());
        writeln!(out, "firsttouch-record 1")?;
        writeln!(out, "program {}", program.unwrap_or("unknown").lines().next().unwrap_or(""))?;
        writeln!(out, "state {}", if complete { "final" } else { "peak" })?;
        writeln!(out, "placed {}", snapshot.placed_bytes)?;
        writeln!(out, "peak {}", self.totals.peak_bytes)?;
        writeln!(out, "blocks {}", self.totals.placed_blocks)?;
        writeln!(out, "recycled {}", self.totals.recycled_bytes)?;
        let multi = (self.settings.pages.bytes(), snapshot.multi_bytes.unwrap_or(0));
        for (page, bytes) in [
            (4096, snapshot.small_bytes),
            multi,
            (2 << 20, snapshot.huge_bytes),
            (1 << 30, snapshot.gigantic_bytes),
        ] {
            if bytes > 0 {
                writeln!(out, "page {page} {bytes}")?;
            }
        }
        for (node, bytes) in snapshot.nodes.iter().flatten().enumerate().filter(|(_, bytes)| **bytes > 0) {
            writeln!(out, "node {node} {bytes}")?;
        }
        if complete && let Some(process) = coverage::process() {
            writeln!(out, "process 4096 {}", process.small)?;
            writeln!(out, "process {} {}", 2 << 20, process.huge)?;
        }
        for (reason, bytes) in Reason::ALL.iter().zip(snapshot.reasons).filter(|(_, bytes)| *bytes > 0) {
            writeln!(out, "short {} {bytes}", reason.word())?;
        }
        if let Some((reason, bytes)) = self.refused {
            writeln!(out, "short {} {bytes}", reason.word())?;
        }
        for block in snapshot.blocks.iter().filter(|block| block.bytes > 0) {
            writeln!(out, "block {} {:#x} {} {}", block.id, block.address, block.bytes, block.huge_bytes)?;
        }
        if snapshot.unreadable {
            writeln!(out, "note page sizes could not be read: /proc is not mounted")?;
        }
        if matches!(self.settings.pages, Pages::Multi(_)) && snapshot.multi_bytes.is_none() {
            writeln!(out, "note only CAP_SYS_ADMIN sees multi-size pages: they count as 4 KiB pages here")?;
        }
        writeln!(out, "end")
    }
}
