//! The journal of `attach`: its lines, the steps that are still to be taken back, and the nodes of their pages.

#![no_main]

use firsttouch_attach::{Entry, NodeRuns, Story};
use firsttouch_fuzz::Bound;
use libfuzzer_sys::fuzz_target;

/// A step of a few words is a structure of some hundred bytes, and vectors grow by doubling.
const BOUND: Bound = Bound { fixed: 1 << 20, per_byte: 256 };

fuzz_target!(|input: &[u8]| {
    let Ok(story) = BOUND.hold(input.len(), || Story::parse(input)) else { return };
    let lines: Vec<u8> = story
        .entries
        .iter()
        .flat_map(|entry| serde_json::to_vec(entry).expect("JSON").into_iter().chain([b'\n']))
        .collect();
    let again = Story::parse(&lines).expect("what we write, we read");
    assert_eq!(again.entries, story.entries);
    BOUND.hold(input.len(), || {
        let _ = (story.begin(), story.is_cut_off(), story.masks_given());
        for (line, step) in story.open_steps() {
            assert_eq!(&story.entries[line], step);
            if let Entry::Move { nodes, .. } | Entry::Collapse { nodes: Some(nodes), .. } = step
                && let Ok(runs) = nodes.parse::<NodeRuns>()
            {
                assert_eq!(runs.pages().count() as u64, runs.len());
                assert_eq!(runs.to_string().parse().as_ref(), Ok(&runs));
            }
        }
    });
});
