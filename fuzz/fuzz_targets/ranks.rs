//! What ranks of a job say to each other: the graph, what is asked and handed out, what was found. The first byte says who hears
//! it.

#![no_main]

use firsttouch_fuzz::{Bound, Scripted, mend_told_graph, with_team};
use firsttouch_graph::{AllPairs, Graph, Graphs, Loaded, Node, Place, Queue, Searches};
use libfuzzer_sys::{Corpus, fuzz_target};

/// Sources are told in four bytes, and a summary of each is kept; a histogram has a thousand counts.
const BOUND: Bound = Bound { fixed: 4 << 20, per_byte: 64 };

/// Sources of a run that rank 0 leads.
const SOURCES: usize = 64;
/// Rank 1 searches from every source as often as it is told to: of a long input, for minutes.
const MOST_HANDED: usize = 1 << 10;

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((&choice, bytes)) = input.split_first() else { return Corpus::Reject };
    match choice % 3 {
        0 => graph(bytes),
        1 => run(bytes, 0),
        _ if bytes.len() <= MOST_HANDED => run(bytes, 1),
        _ => return Corpus::Reject,
    }
    Corpus::Keep
});

/// Memory for a section is refused as the system would refuse it: it is as long as the header says, and filled as it is heard.
fn graph(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    mend_told_graph(&mut bytes);
    with_team(|team| {
        let told = Scripted::new(1, &bytes);
        match BOUND.hold_refusing(bytes.len(), || Loaded::hear(&told, Place::HEAP, team)) {
            Ok(loaded) => {
                let told = Scripted::new(0, &[]);
                loaded.tell(&told).expect("somebody listens");
                let told = Scripted::new(1, &told.said());
                let again = Loaded::hear(&told, Place::HEAP, team).expect("what we tell, we hear");
                assert_eq!(again, loaded);
            }
            Err(error) => assert!(!error.hint().is_empty()),
        }
    });
}

/// A run that this rank leads or follows.
fn run(bytes: &[u8], rank: usize) {
    let graph = Graph::from_arcs(4, &[(0, 1, 5), (1, 2, 6), (2, 3, 0), (3, 0, 7)]).expect("a graph");
    let sources: Vec<Node> = (0..graph.nodes() as Node).cycle().take(SOURCES).collect();
    let settings = AllPairs { histogram: true, ..AllPairs::default() };
    let ranks = Scripted::new(rank, bytes);
    let outcome = with_team(|team| {
        let mut searches = Searches::new(Graphs::new(&graph, None), team, Queue::Heap);
        BOUND.hold(bytes.len(), || match rank {
            0 => settings.lead(&mut searches, &sources, &ranks).map(drop),
            _ => settings.follow(&mut searches, &ranks).map(drop),
        })
    });
    if let Err(error) = outcome {
        assert!(!error.hint().is_empty());
    }
}
