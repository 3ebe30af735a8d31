//! What the guest says to us: frames on a serial line of their own, so that the program's stdout, its stderr and the
//! kernel's messages stay apart.
//!
//! A frame is a kind (one byte), a length (four, the least significant first) and that many bytes.

use crate::job::Ending;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::path::PathBuf;

/// What the guest says first, so that a stray byte of firmware is not taken for a frame.
const HELLO: &[u8] = b"\nfirsttouch lab 1\n";
/// The longest frame: a length beyond it is damage.
const MOST_BYTES: u32 = 1 << 20;
/// Contents are sent in frames of this size.
const CHUNK: usize = 64 << 10;

const REPORT: u8 = b'R';
const STDOUT: u8 = b'O';
const STDERR: u8 = b'E';
const CONTENTS: u8 = b'C';

/// Something that happened in the guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// Everything is set up; seconds since the kernel started.
    Ready { uptime_s: f64 },
    /// The next command ended, and all of its output was sent.
    Ended { ending: Ending, seconds: f64 },
    /// A file of the command that ended last; as many bytes follow.
    File { path: PathBuf, mode: u32, bytes: u64 },
    /// A file that was to be handed back and cannot be.
    Missing { path: PathBuf, why: String },
    /// The job cannot be done.
    Failed { why: String },
    /// Everything was done.
    Done,
}

/// One frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Frame {
    Report(Report),
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Contents(Vec<u8>),
}

/// The guest's end of the line.
#[derive(Debug)]
pub(crate) struct Sender<W: Write>(W);

impl<W: Write> Sender<W> {
    pub(crate) fn new(mut line: W) -> io::Result<Sender<W>> {
        line.write_all(HELLO)?;
        Ok(Sender(line))
    }

    pub(crate) fn report(&mut self, report: &Report) -> io::Result<()> {
        self.frame(REPORT, &serde_json::to_vec(report)?)
    }

    pub(crate) fn stdout(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes.chunks(CHUNK).try_for_each(|chunk| self.frame(STDOUT, chunk))
    }

    pub(crate) fn stderr(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes.chunks(CHUNK).try_for_each(|chunk| self.frame(STDERR, chunk))
    }

    pub(crate) fn contents(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes.chunks(CHUNK).try_for_each(|chunk| self.frame(CONTENTS, chunk))
    }

    fn frame(&mut self, kind: u8, bytes: &[u8]) -> io::Result<()> {
        let mut head = [kind, 0, 0, 0, 0];
        head[1..].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.0.write_all(&head)?;
        self.0.write_all(bytes)
    }
}

/// Our end of the line.
#[derive(Debug)]
pub(crate) struct Receiver<R: Read>(R);

impl<R: Read> Receiver<R> {
    /// Waits for the guest's first words; `None` if the line ends before.
    pub(crate) fn new(mut line: R) -> io::Result<Option<Receiver<R>>> {
        let (mut matched, mut byte) = (0, [0]);
        while matched < HELLO.len() {
            if line.read(&mut byte)? == 0 {
                return Ok(None);
            }
            // Only its first byte is a line feed at the start of a word, so a mismatch begins anew at most there.
            matched = if byte[0] == HELLO[matched] { matched + 1 } else { usize::from(byte[0] == HELLO[0]) };
        }
        Ok(Some(Receiver(line)))
    }

    /// The next frame; `None` at the end of the line, also within a frame: the guest is gone.
    pub(crate) fn next(&mut self) -> io::Result<Option<Frame>> {
        let mut head = [0; 5];
        if !self.fill(&mut head)? {
            return Ok(None);
        }
        let [kind, length @ ..] = head;
        let length = u32::from_le_bytes(length);
        if length > MOST_BYTES {
            return Err(damaged("a frame of impossible length"));
        }
        let mut bytes = vec![0; length as usize];
        if !self.fill(&mut bytes)? {
            return Ok(None);
        }
        match kind {
            REPORT => {
                let text = String::from_utf8(bytes).map_err(|_| damaged("a report that is no text"))?;
                Ok(Some(Frame::Report(serde_json::from_str(&text)?)))
            }
            STDOUT => Ok(Some(Frame::Stdout(bytes))),
            STDERR => Ok(Some(Frame::Stderr(bytes))),
            CONTENTS => Ok(Some(Frame::Contents(bytes))),
            _ => Err(damaged("a frame of unknown kind")),
        }
    }

    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        match self.0.read_exact(buffer) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8]) -> io::Result<Vec<Frame>> {
        let Some(mut receiver) = Receiver::new(bytes)? else { return Ok(Vec::new()) };
        std::iter::from_fn(|| receiver.next().transpose()).collect()
    }

    #[test]
    fn what_is_sent_arrives_whatever_came_before() {
        let report = Report::Ended { ending: Ending::Signaled(11), seconds: 0.5 };
        let mut line = b"SeaBIOS\n\nfirst".to_vec();
        let mut sender = Sender::new(&mut line).unwrap();
        sender.stdout(b"out").unwrap();
        sender.stderr(&[b'e'; CHUNK + 1]).unwrap();
        sender.report(&report).unwrap();
        sender.contents(b"").unwrap();
        let frames = all(&line).unwrap();
        assert_eq!(frames.len(), 4);
        assert_eq!(frames[0], Frame::Stdout(b"out".to_vec()));
        assert_eq!(frames[2], Frame::Stderr(b"e".to_vec()));
        assert_eq!(frames[3], Frame::Report(report));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut line = HELLO.to_vec();
            line.extend(bytes);
            let _ = all(&line);
        }
    }
}
