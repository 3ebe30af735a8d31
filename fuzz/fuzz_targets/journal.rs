//! The journals of `attach` and `setup`: their lines, the steps that are still to be taken back, and the nodes of their pages.

#![no_main]

use firsttouch_attach::{JournalHistory, NodeRuns};
use firsttouch_documents::{JournalEntry, to_line};
use firsttouch_fuzz::Bound;
use firsttouch_setup::SetupHistory;
use libfuzzer_sys::fuzz_target;

/// A step of a few words is a structure of some hundred bytes, and vectors grow by doubling.
const BOUND: Bound = Bound { fixed: 1 << 20, per_byte: 256 };

fuzz_target!(|input: &[u8]| {
    if let Ok(setup) = BOUND.hold(input.len(), || SetupHistory::parse(input)) {
        let lines: Vec<u8> = setup.entries.iter().flat_map(|entry| to_line(entry).into_bytes()).collect();
        assert_eq!(SetupHistory::parse(&lines).expect("what we write, we read").entries, setup.entries);
        assert!(setup.open_changes().len() <= setup.entries.len());
    }
    let Ok(history) = BOUND.hold(input.len(), || JournalHistory::parse(input)) else { return };
    let lines: Vec<u8> = history.entries.iter().flat_map(|entry| to_line(entry).into_bytes()).collect();
    let again = JournalHistory::parse(&lines).expect("what we write, we read");
    assert_eq!(again.entries, history.entries);
    BOUND.hold(input.len(), || {
        let _ = (history.begin(), history.is_cut_off());
        for (line, step) in history.open_steps() {
            assert_eq!(&history.entries[line], step);
            let JournalEntry::Move { nodes, to, .. } = step else { continue };
            let texts = [Some(nodes), to.as_ref()].into_iter().flatten();
            for runs in texts.filter_map(|text| text.parse::<NodeRuns>().ok()) {
                assert_eq!(runs.pages().count() as u64, runs.len());
                assert_eq!(runs.to_string().parse().as_ref(), Ok(&runs));
            }
        }
    });
});
