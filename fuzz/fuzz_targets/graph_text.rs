//! Graphs as text: DIMACS, PACE, Matrix Market, edge lists, METIS. The first byte says what the name ends with and whether
//! edges go both ways.

#![no_main]

use firsttouch_fuzz::{Bound, named_format, with_team};
use firsttouch_graph::{Format, Place, ReadOptions, read_from, write_text};
use libfuzzer_sys::fuzz_target;

/// A header may promise a million nodes, which take 8 MiB whatever comes of them. An arc is 8 bytes and its shortest line 4;
/// while numbers are collected and sorted there are several of each.
const BOUND: Bound = Bound { fixed: 24 << 20, per_byte: 64 };

fuzz_target!(|input: &[u8]| {
    let Some((&choice, text)) = input.split_first() else { return };
    let (named, undirected) = named_format(choice);
    let options = ReadOptions { place: Place::HEAP, undirected, ..ReadOptions::default() };
    with_team(|team| {
        let loaded = match BOUND.hold(text.len(), || read_from(text, named, &options, team)) {
            Ok(loaded) => loaded,
            Err(error) => {
                assert!(!error.hint().is_empty(), "{error}");
                return;
            }
        };
        if !loaded.format.is_text() {
            return;
        }
        let mut written = Vec::new();
        // Not everything that reads as METIS may be written so: other readers would refuse it.
        if write_text(&loaded, loaded.format, &mut written, team).is_err() {
            return;
        }
        let options = ReadOptions { undirected: false, ..options };
        let again =
            read_from(&*written, Some(loaded.format), &options, team).expect("what we write, we read");
        assert_eq!(again.graph, loaded.graph);
        if matches!(loaded.format, Format::EdgeList | Format::WeightedEdgeList) {
            assert_eq!(again.ids, loaded.ids);
        }
    });
});
