//! Graphs as bytes: our own format, with right checksums, and that of the GAP benchmark suite; from memory and from a file,
//! which is mapped.

#![no_main]

use firsttouch_fuzz::{Bound, mend_binary_graph, with_file, with_team};
use firsttouch_graph::{Format, Place, ReadOptions, Size, read, read_from, save};
use libfuzzer_sys::fuzz_target;

/// Nothing is taken that is not there: the graph, and once more what is copied of it. Text that begins like neither is for
/// `graph_text`.
const BOUND: Bound = Bound { fixed: 4 << 20, per_byte: 16 };
const OURS: &[u8] = b"\x89FTGRAPH";
/// What GAP's files begin with: directed or not.
const MOST_GAP_BEGINNING: u8 = 1;

fuzz_target!(|input: &[u8]| {
    let mut bytes = input.to_vec();
    if bytes.starts_with(OURS) {
        mend_binary_graph(&mut bytes);
    } else if bytes.first().is_none_or(|first| *first > MOST_GAP_BEGINNING) {
        return;
    }
    let options = ReadOptions { place: Place::HEAP, ..ReadOptions::default() };
    with_team(|team| {
        let streamed = BOUND.hold(bytes.len(), || read_from(&*bytes, None, &options, team));
        with_file(&bytes, |path| {
            let mapped = BOUND.hold(bytes.len(), || read(path, &options, team));
            let size = BOUND.hold(bytes.len(), || Size::of_file(path, None));
            let (loaded, mapped) = match (streamed, mapped) {
                (Ok(streamed), Ok(mapped)) => (streamed, mapped),
                (Err(streamed), Err(mapped)) => {
                    assert_eq!(streamed.to_string(), mapped.to_string());
                    assert!(!mapped.hint().is_empty(), "{mapped}");
                    return;
                }
                (streamed, mapped) => panic!("from memory {streamed:?}, from a file {mapped:?}"),
            };
            assert_eq!(loaded, mapped);
            if !matches!(loaded.format, Format::Gap | Format::Binary) {
                return;
            }
            let size = size.expect("the size of what reads");
            assert_eq!((size.nodes, size.arcs), (loaded.graph.nodes() as u64, loaded.graph.arcs() as u64));
            let folder = tempfile::tempdir_in(path.parent().expect("a folder")).expect("a scratch folder");
            let copy = folder.path().join("copy.ftg");
            save(&loaded, &copy, Format::Binary, team).expect("what was read can be saved");
            let again = read(&copy, &options, team).expect("what we save, we read");
            assert_eq!((again.graph, again.ids), (loaded.graph, loaded.ids));
            assert_eq!(again.coordinates, loaded.coordinates);
        });
    });
});
