//! Files of a run that several processes share: rows of a chunk and, behind a line `--`, its part; or the checkpoint of one
//! process. The first byte says which, and whether the files begin as those of this run do and have right sums.

#![no_main]

use firsttouch_documents::to_json;
use firsttouch_fuzz::{Bound, SharedRun, scratch_folder, two_files};
use firsttouch_graph::{Figure, Histogram, Shards, Stored, merge_report};
use firsttouch_report::{Style, text};
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::path::Path;

/// A histogram of a thousand counts, copied some times; the memory of a search; buffers.
const BOUND: Bound = Bound { fixed: 2 << 20, per_byte: 16 };
const WIDTH: usize = 100;

thread_local! {
    static RUN: SharedRun = SharedRun::made();
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let belongs = choice / 2 % 2 == 0;
    RUN.with(|run| if choice % 2 == 0 { merged(run, bytes, belongs) } else { resumed(run, bytes, belongs) });
});

fn put(run: &SharedRun, folder: &Path, name: &str, bytes: &[u8], belongs: bool) {
    let file = if belongs { run.saying(name, bytes) } else { bytes.to_vec() };
    fs::write(folder.join(name), file).expect("room for a scratch file");
}

fn merged(run: &SharedRun, bytes: &[u8], belongs: bool) {
    let folder = scratch_folder();
    for (name, contents) in run.others(&[SharedRun::PART, SharedRun::ROWS]) {
        fs::write(folder.path().join(name), contents).expect("room for a scratch file");
    }
    let (rows, part) = two_files(bytes);
    put(run, folder.path(), SharedRun::ROWS, rows, belongs);
    if let Some(part) = part {
        put(run, folder.path(), SharedRun::PART, part, belongs);
    }
    let shards = Shards::open(folder.path()).expect("the run");
    let mut copied = Vec::new();
    let copy = BOUND.hold(bytes.len(), || shards.copy_rows(&mut copied));
    match copy {
        Ok(()) if belongs && part.is_some() => assert!(copied.starts_with(rows)),
        Ok(()) => {}
        Err(error) => assert!(!error.hint().is_empty()),
    }
    let merged = match BOUND.hold(bytes.len(), || shards.merge()) {
        Ok(merged) => merged,
        Err(error) => return assert!(!error.hint().is_empty()),
    };
    BOUND.hold(bytes.len(), || {
        let report = merge_report(shards.plan(), &merged, &Figure::ALL);
        let _ = (to_json(&report), text::merge(&report, WIDTH, Style::Ansi));
    });
    if merged.missing.is_empty() {
        let stored = &merged.stored;
        let folder = scratch_folder();
        let again = run.write(folder.path(), |sources| Stored {
            // The other part counts nothing.
            histogram: if sources.start == 0 { stored.histogram.clone() } else { Some(Histogram::default()) },
            summaries: stored.summaries[sources].to_vec(),
        });
        assert_eq!(again.merge().expect("what we write, we read"), merged);
    }
}

fn resumed(run: &SharedRun, bytes: &[u8], belongs: bool) {
    let folder = scratch_folder();
    let path = folder.path().join(SharedRun::CHECKPOINT);
    put(run, folder.path(), SharedRun::CHECKPOINT, bytes, belongs);
    for histogram in [true, false] {
        match BOUND.hold(bytes.len(), || run.resume(&path, histogram)) {
            Ok(outcome) => {
                assert_eq!(outcome.stored.done(), run.sources().len());
                let again = run.resume(&path, histogram).expect("what we write, we read");
                assert_eq!((again.resumed, &again.stored), (outcome.stored.done(), &outcome.stored));
            }
            Err(error) => assert!(!error.hint().is_empty()),
        }
    }
}
