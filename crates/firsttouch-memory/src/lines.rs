//! Reading the kernel's text files line by line, without memory of the heap.

use core::ffi::CStr;
use firsttouch_linux::sys::{Descriptor, open_to_read};
use firsttouch_linux::thread;

/// Reads something; where there are `other` threads, not among the files of the process. `None` where it cannot be read so.
pub fn apart_from<T: Send>(others: bool, read: impl FnOnce() -> Option<T> + Send) -> Option<T> {
    #[cfg(test)]
    waits::before_reading();
    // SAFETY: reading makes system calls only.
    if others { unsafe { thread::apart(read) }.flatten() } else { read() }
}

/// What a test has a thread do before its next reading.
#[cfg(test)]
pub(crate) mod waits {
    use std::boxed::Box;
    use std::cell::Cell;
    use std::thread_local;

    thread_local! {
        static NEXT: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
    }

    pub(crate) fn set(wait: impl FnOnce() + 'static) {
        NEXT.set(Some(Box::new(wait)));
    }

    pub(super) fn before_reading() {
        if let Some(wait) = NEXT.take() {
            wait();
        }
    }
}

/// `Key:   123 kB`.
pub(crate) fn keyed_kib(line: &[u8]) -> Option<(&[u8], usize)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let value = line[colon + 1..].trim_ascii().strip_suffix(b" kB")?;
    Some((&line[..colon], number(value, 10)?))
}

pub(crate) fn number(digits: &[u8], radix: u32) -> Option<usize> {
    usize::from_str_radix(core::str::from_utf8(digits).ok()?, radix).ok()
}

/// The lines of a file through a buffer on the stack. Longer lines are cut, which loses file names only.
pub(crate) struct Lines {
    file: Descriptor,
    buffer: [u8; 2048],
    filled: usize,
    start: usize,
}

impl Lines {
    pub(crate) fn open(path: &CStr) -> Option<Lines> {
        Some(Lines { file: open_to_read(path).ok()?, buffer: [0; 2048], filled: 0, start: 0 })
    }

    pub(crate) fn next(&mut self) -> Option<&[u8]> {
        loop {
            let rest = &self.buffer[self.start..self.filled];
            if let Some(length) = rest.iter().position(|byte| *byte == b'\n') {
                let from = self.start;
                self.start += length + 1;
                return Some(&self.buffer[from..from + length]);
            }
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
            if self.filled == self.buffer.len() {
                // Cut the line here; its rest reads as a line that means nothing.
                let length = self.filled;
                self.start = length;
                return Some(&self.buffer[..length]);
            }
            match self.file.read(&mut self.buffer[self.filled..]) {
                Ok(0) | Err(_) => return None,
                Ok(bytes) => self.filled += bytes,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read() {
        assert_eq!(keyed_kib(b"Rss:                  12 kB"), Some((&b"Rss"[..], 12)));
        assert_eq!(keyed_kib(b"VmFlags: rd wr"), None);
    }
}
