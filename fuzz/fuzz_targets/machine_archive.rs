//! Recorded machines in an archive: tar with right sums, and whatever it is packed with; of several machines the first and the last.

#![no_main]

use firsttouch_fuzz::{Bound, mend_tar};
use firsttouch_machine::{ArchiveError, Machine, Source, SourceError, StatusReport};
use firsttouch_report::picture;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::ops::Range;
use std::path::Path;

/// Tables of the unpackers, of which the largest is a dictionary of 64 MiB that grows by doubling; a list of CPUs may name
/// every CPU in a few bytes, and several files tell of the same ones.
const BOUND: Bound = Bound { fixed: 160 << 20, per_byte: 4096 };
const WIDTH: usize = 100;

/// A packed archive of more takes a tenth of a second to unpack, and a change of it says nothing: the sums are wrong.
const MOST_PACKED: usize = 4 << 10;
/// Where a header of tar says that it is one.
const MAGIC: Range<usize> = 257..262;

fuzz_target!(|input: &[u8]| -> Corpus {
    if input.len() > MOST_PACKED && input.get(MAGIC) != Some(b"ustar") {
        return Corpus::Reject;
    }
    let mut bytes = input.to_vec();
    mend_tar(&mut bytes);
    let read = |folder: Option<&Path>| -> Result<Machine, SourceError> {
        BOUND.hold(bytes.len(), || {
            Source::of_stream(Path::new("fuzz.tar"), folder, &*bytes).and_then(|source| source.machine())
        })
    };
    match read(None) {
        Ok(machine) => show(machine),
        Err(SourceError::Archive { source: ArchiveError::Several(folders), .. }) => {
            for folder in [folders.0.first(), folders.0.last()].into_iter().flatten() {
                match read(Some(folder)) {
                    Ok(machine) => show(machine),
                    Err(SourceError::Machine(_)) => {}
                    Err(error) => panic!("{} was listed, and is not to be had: {error:?}", folder.display()),
                }
            }
        }
        Err(error) => drop(error.hint()),
    }
    Corpus::Keep
});

fn show(machine: Machine) {
    let _ = picture::text(&machine, WIDTH);
    let _ = StatusReport::of(machine);
}
