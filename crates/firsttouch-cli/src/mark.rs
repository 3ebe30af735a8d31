//! The mark that some editors put before a text.

/// The byte-order mark of Unicode, in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The bytes of a file, without the mark.
pub(crate) fn without_mark(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    bytes
}
