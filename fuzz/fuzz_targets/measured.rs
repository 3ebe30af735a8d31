//! What other tools measured: tables, hyperfine's, Google Benchmark's and criterion's JSON, documents of ours; read, decided, shown. A line
//! `--` parts two files, which are two sessions, or one.

#![no_main]

use firsttouch_documents::AnyDocument;
use firsttouch_fuzz::{Bound, two_files};
use firsttouch_report::measured::{DecideOptions, criterion_name, decide, read};
use firsttouch_report::{Style, csv, html, markdown, open, text};
use libfuzzer_sys::fuzz_target;

/// A number of a few bytes is a run of forty; a name of one byte is a string in several places.
const BOUND: Bound = Bound { fixed: 1 << 20, per_byte: 1024 };
/// A page has a table for each session, and a sentence for each configuration in it.
const MOST_SHOWN: Bound = Bound { fixed: 16 << 20, per_byte: 16 << 10 };
/// More runs than these take seconds to decide, and say nothing else.
const MOST_RUNS: usize = 300;

fuzz_target!(|input: &[u8]| {
    let _ = criterion_name(input);
    let (first, second) = two_files(input);
    let mut files = Vec::new();
    for (bytes, name) in [first].into_iter().chain(second).zip(["first", "second"]) {
        match BOUND.hold(bytes.len(), || read(bytes)) {
            Ok(mut file) => {
                if file.lacks_name() {
                    file.name(name);
                }
                files.push((name.to_owned(), file));
            }
            Err(error) => assert!(!error.hint().is_empty()),
        }
    }
    let sessions = files.iter().flat_map(|(_, file)| &file.sessions);
    let runs: usize = sessions.flat_map(|session| &session.configurations).map(|one| one.runs.len()).sum();
    if runs > MOST_RUNS {
        return;
    }
    let higher_is_better = input.len() % 2 == 1;
    let options = DecideOptions { baseline: None, higher_is_better, same_band: 0.02, by_file: false };
    MOST_SHOWN.hold(input.len(), || {
        let Ok(report) = decide(files, &options) else { return };
        let document = AnyDocument::Decision(Box::new(report.clone()));
        assert_eq!(open(&document.to_json()).expect("what we write, we read"), document);
        assert_eq!(open(&html::decision(&report)).expect("what we write, we read"), document);
        let _ = (markdown::decision(&report), csv::decision(&report));
        let _ = text::decision(&report, 60, Style::Plain);
    });
});
