//! Files that are read as a whole: stdin, too, and without the mark that some editors put before a text.

use crate::output::Outcome;
use anyhow::Context;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// The byte-order mark of Unicode, in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// What a file holds, without the mark; `-` is stdin.
pub(crate) fn bytes_of(file: &Path) -> Outcome<Vec<u8>> {
    let read = if file == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(file)
    };
    Ok(without_mark(read.with_context(|| format!("cannot read {}", file.display()))?))
}

/// The bytes of a file, without the mark.
pub(crate) fn without_mark(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    bytes
}
