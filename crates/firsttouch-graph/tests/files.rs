//! Graphs written and read again, in every format; and the road graph of New York, where its files are.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use firsttouch_graph::{
    Format, Graph, Ids, Loaded, Node, Order, Place, ReadOptions, Recipe, WriteError, generate, read,
    read_coordinates, save,
};
use firsttouch_threads::Team;
use proptest::prelude::*;
use skipped::skipped;
use std::path::{Path, PathBuf};

fn team() -> Team {
    Team::of_this_process(2).expect("this process may run somewhere")
}

fn heap() -> ReadOptions {
    ReadOptions { place: Place::HEAP, ..ReadOptions::default() }
}

fn loaded(graph: Graph, ids: Ids) -> Loaded {
    Loaded { graph, ids, coordinates: None, format: Format::Binary, notes: Vec::new() }
}

/// Saved under this name and read again.
fn again(loaded: &Loaded, format: Format, name: &str) -> Result<Loaded, WriteError> {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join(name);
    save(loaded, &path, format, &mut team())?;
    Ok(read(&path, &heap(), &mut team()).expect(name))
}

/// Arcs between nodes as the file names them, in order.
fn by_name(loaded: &Loaded) -> Vec<(u64, u64, u32)> {
    let mut arcs = Vec::new();
    for tail in 0..loaded.graph.nodes() as Node {
        let row = loaded.graph.out(tail);
        arcs.extend(row.iter().map(|arc| (loaded.ids.of(tail), loaded.ids.of(arc.head), arc.weight)));
    }
    arcs.sort_unstable();
    arcs
}

fn some_graph() -> impl Strategy<Value = Graph> {
    (1_u32..40).prop_flat_map(|nodes| {
        let weight = prop_oneof![0_u32..20, Just(u32::MAX), any::<u32>()];
        proptest::collection::vec((0..nodes, 0..nodes, weight), 0..100).prop_map(move |mut arcs| {
            // As readers leave them: rows in order.
            arcs.sort_unstable();
            Graph::from_arcs(nodes as usize, &arcs).expect("the nodes are there")
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_graph_written_is_the_graph_read(graph in some_graph()) {
        let nodes = graph.nodes();
        for (format, name, first) in [
            (Format::Dimacs, "g.gr", 1),
            (Format::Dimacs, "g.gr.gz", 1),
            (Format::MatrixMarket, "g.mtx", 1),
            (Format::WeightedEdgeList, "g.wel", 0),
            (Format::Binary, "g.ftg", 0),
        ] {
            let read = again(&loaded(graph.clone(), Ids::from_first(0, nodes)), format, name).unwrap();
            prop_assert_eq!(&read.graph, &graph, "{}", name);
            prop_assert_eq!(read.ids, Ids::from_first(first, nodes), "{}", name);
            prop_assert_eq!(read.format, format);
        }
        let read = again(&loaded(graph.clone(), Ids::from_first(0, nodes)), Format::EdgeList, "g.el").unwrap();
        prop_assert_eq!(read.graph.offsets(), graph.offsets());
        prop_assert!(read.graph.all_arcs().iter().zip(graph.all_arcs()).all(|(a, b)| a.head == b.head && a.weight == 1));
    }

    #[test]
    fn metis_files_hold_what_goes_both_ways(graph in some_graph()) {
        let nodes = graph.nodes();
        let mut arcs = Vec::new();
        for tail in 0..nodes as Node {
            for arc in graph.out(tail).iter().filter(|arc| arc.head != tail) {
                arcs.extend([(tail, arc.head, arc.weight), (arc.head, tail, arc.weight)]);
            }
        }
        arcs.sort_unstable();
        let both = loaded(Graph::from_arcs(nodes, &arcs).unwrap(), Ids::from_first(1, nodes));
        prop_assert_eq!(again(&both, Format::Metis, "g.graph").unwrap().graph, both.graph);
        let is_both = by_name(&loaded(graph.clone(), Ids::from_first(1, nodes)))
            == by_name(&loaded(graph.reverse(), Ids::from_first(1, nodes)));
        let has_loop = (0..nodes as Node).any(|node| graph.out(node).iter().any(|arc| arc.head == node));
        let written = again(&loaded(graph, Ids::from_first(1, nodes)), Format::Metis, "g.metis");
        match written {
            Ok(_) => prop_assert!(is_both && !has_loop),
            Err(WriteError::Loop { .. }) => prop_assert!(has_loop),
            Err(error) => prop_assert!(matches!(error, WriteError::OneWay { .. }) && !is_both, "{}", error),
        }
    }

    #[test]
    fn names_and_orders_survive(graph in some_graph(), gap in 1_u64..1 << 50) {
        let names = Ids::listed((0..graph.nodes() as u64).map(|node| (1 << 40) + node * gap).collect()).unwrap();
        let plain = loaded(graph, names);
        let order = Order::depth_first(&plain.graph);
        let reordered = plain.clone().reordered(&order, Place::HEAP).unwrap();
        prop_assert_eq!(by_name(&reordered), by_name(&plain));
        let read = again(&reordered, Format::Binary, "g.ftg").unwrap();
        prop_assert_eq!(&read, &reordered);
        if plain.graph.arcs() > 0 {
            let read = again(&reordered, Format::WeightedEdgeList, "g.wel").unwrap();
            prop_assert_eq!(by_name(&read), by_name(&plain));
        }
    }
}

#[test]
fn generated_graphs_of_many_parts_come_back() {
    let recipe = Recipe::Random { nodes: 50_000, arcs: 150_000, weights: 1..=1_000_000 };
    let made = generate(&recipe, 1, Place::HEAP, &mut team()).unwrap();
    for (format, name) in
        [(Format::Dimacs, "r.gr"), (Format::MatrixMarket, "r.mtx"), (Format::WeightedEdgeList, "r.wel")]
    {
        assert_eq!(again(&made, format, name).unwrap().graph, made.graph, "{name}");
    }
}

#[test]
fn what_is_not_written_says_why() {
    let one = loaded(Graph::from_arcs(1, &[]).unwrap(), Ids::from_first(0, 1));
    assert!(matches!(again(&one, Format::Dimacs, "g.gr.xz"), Err(WriteError::Packing { .. })));
    assert!(matches!(again(&one, Format::Binary, "g.ftg.gz"), Err(WriteError::NeedsFile)));
    let missing = save(&one, Path::new("/nowhere/g.gr"), Format::Dimacs, &mut team()).unwrap_err();
    assert!(matches!(missing, WriteError::File { .. }) && !missing.hint().is_empty());
}

#[test]
fn devices_stay_devices_and_links_stay_links() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let one = loaded(Graph::from_arcs(1, &[]).unwrap(), Ids::from_first(0, 1));
    let (folder, mut team) = (tempfile::tempdir().unwrap(), team());
    let null = Path::new("/dev/null");
    save(&one, null, Format::Dimacs, &mut team).unwrap();
    assert!(null.metadata().unwrap().file_type().is_char_device());
    assert!(matches!(save(&one, null, Format::Binary, &mut team), Err(WriteError::NeedsFile)));
    let (link, target) = (folder.path().join("link.gr"), folder.path().join("target.gr"));
    std::fs::write(&target, "old").unwrap();
    symlink(&target, &link).unwrap();
    save(&one, &link, Format::Dimacs, &mut team).unwrap();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "p sp 1 0\n");
}

/// A file of the shared data; without it the test says so and ends.
fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/graphs").join(name);
    if !path.exists() {
        skipped(&format!("{} is not there", path.display()));
        return None;
    }
    Some(path)
}

#[test]
fn new_york_is_read_whole() {
    let (Some(roads), Some(places)) = (shared("USA-road-d.NY.gr.gz"), shared("USA-road-d.NY.co.gz")) else {
        return;
    };
    let read = read(&roads, &ReadOptions::default(), &mut team()).unwrap();
    let graph = &read.graph;
    assert_eq!((graph.nodes(), graph.arcs(), graph.max_weight()), (264_346, 733_846, 36_946));
    assert!(read.notes.is_empty() && graph.fits_32_bits(), "{:?} {}", read.notes, graph.distance_bound());
    assert_eq!(graph.simple().arcs(), 730_100);
    let places = read_coordinates(&places).unwrap();
    assert_eq!((places.len(), places[0]), (264_346, [-73_530_767, 41_085_396]));
    let names = by_name(&read);
    assert!(names.contains(&(1, 2, 803)));
    for order in [Order::depth_first(graph), Order::coordinates(&places)] {
        assert_eq!(by_name(&read.clone().reordered(&order, Place::default()).unwrap()), names);
    }
}
