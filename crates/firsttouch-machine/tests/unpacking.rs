//! What an archive of xz says of itself takes no more memory than the dictionary of `xz -9`. In a program of its own, because
//! the peak is the process's.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod written;
#[path = "../../firsttouch-graph/tests/xz/mod.rs"]
mod xz;

use firsttouch_machine::{ArchiveError, Machine, Root, Source, SourceError};
use std::path::Path;

fn machine(archive: &[u8]) -> Result<Machine, SourceError> {
    Source::of_stream(Path::new("m.tar.xz"), None, archive)?.machine()
}

#[test]
fn what_an_archive_of_xz_says_of_itself_takes_no_memory() {
    let written = written::two_nodes();
    let expected = Machine::read(&Root::at(written.path())).unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    builder.follow_symlinks(false);
    builder.append_dir_all("m", written.path()).unwrap();
    let largest = xz::packed(9, &builder.into_inner().unwrap());
    let (vast, many) = (xz::with_vast_dictionary(largest.clone()), xz::with_many_records(&largest));

    let before = xz::peak();
    let error = machine(&vast).unwrap_err();
    assert!(matches!(error, SourceError::Archive { source: ArchiveError::Dictionary, .. }), "{error:?}");
    let error = machine(&many).unwrap_err();
    assert!(matches!(error, SourceError::Archive { source: ArchiveError::Damaged(_), .. }), "{error:?}");
    assert_eq!(machine(&largest).unwrap(), expected);
    assert!(xz::peak() - before < xz::SMALL, "{} bytes", xz::peak() - before);
}
