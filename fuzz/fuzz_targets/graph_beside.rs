//! What stands beside a graph: coordinates and sources of DIMACS, the index that is kept of a hierarchy, the plan of a run
//! that is shared. The first byte says which.

#![no_main]

use firsttouch_fuzz::{Bound, mend_kept, with_file};
use firsttouch_graph::hierarchy::{Hierarchy, HierarchyOptions};
use firsttouch_graph::{Graph, Shards, read_coordinates_from, read_sources_from};
use libfuzzer_sys::fuzz_target;

/// Coordinates of a million nodes may be looked for whatever the length, 12 bytes each, and vectors grow by doubling.
const BOUND: Bound = Bound { fixed: 48 << 20, per_byte: 64 };

/// Of which each has a chunk of its own, and a file that is looked for.
const FEW_SOURCES: usize = 1000;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let error = match choice % 4 {
        0 => BOUND.hold(bytes.len(), || read_coordinates_from(bytes)).err().map(|error| error.hint().len()),
        1 => BOUND.hold(bytes.len(), || read_sources_from(bytes)).err().map(|error| error.hint().len()),
        2 => {
            let mut bytes = bytes.to_vec();
            mend_kept(&mut bytes);
            let graph = Graph::from_arcs(4, &[(0, 1, 5), (1, 2, 6), (2, 3, 0), (3, 0, 7)]).expect("a graph");
            with_file(&bytes, |path| {
                BOUND.hold(bytes.len(), || Hierarchy::load(path, &graph, &HierarchyOptions::default()))
            })
            .err()
            .map(|error| error.hint().len())
        }
        _ => {
            let mut bytes = bytes.to_vec();
            mend_kept(&mut bytes);
            let folder = tempfile::tempdir().expect("a scratch folder");
            std::fs::write(folder.path().join("run"), &bytes).expect("room for a scratch file");
            let opened = BOUND.hold(bytes.len(), || Shards::open(folder.path()));
            // Of many sources the summaries are many, too.
            let small = opened.as_ref().is_ok_and(|shards| shards.plan().sources < FEW_SOURCES);
            if small && let Ok(shards) = &opened {
                let merged = BOUND.hold(bytes.len(), || shards.merge()).expect("a run without parts");
                assert_eq!(merged.missing.is_empty(), shards.plan().sources == 0);
            }
            opened.err().map(|error| error.hint().len())
        }
    };
    assert_ne!(error, Some(0), "every error has a hint");
});
