//! What is read of texts of every format, and what is said of bad ones.

use super::read::read_text;
use super::text::{Text, beside};
use super::*;
use crate::{Graph, GraphError, Node, OutArc, Place, Size};
use firsttouch_threads::Team;
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;

fn team() -> Team {
    Team::of_this_process(2).unwrap()
}

fn options() -> ReadOptions {
    ReadOptions { place: Place::HEAP, ..ReadOptions::default() }
}

/// Reads a text whose name ends in `.{ending}`.
fn read_as(ending: &str, text: impl AsRef<[u8]>) -> Result<Loaded, ReadError> {
    read_from(text.as_ref(), Format::parse(ending), &options(), &mut team())
}

fn arcs(graph: &Graph) -> Vec<(Node, Node, u32)> {
    let row = |tail: Node| graph.out(tail).iter().map(move |arc| (tail, arc.head, arc.weight));
    (0..graph.nodes() as Node).flat_map(row).collect()
}

/// The line that is wrong, and why.
fn wrong_line(ending: &str, text: &str) -> (u64, LineError) {
    match read_as(ending, text).unwrap_err() {
        ReadError::Line { line, reason } => {
            assert!(!reason.hint().is_empty());
            (line, reason)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn dimacs_is_read_with_its_numbers() {
    let text = "c a comment\n\np sp 4 3\nc another\na 1 2 803\r\na\t4 1 5\n  a 1 2 7  \nc end";
    let loaded = read_as("gr", text).unwrap();
    assert_eq!(arcs(&loaded.graph), [(0, 1, 7), (0, 1, 803), (3, 0, 5)]);
    assert_eq!((loaded.ids.of(3), loaded.ids.node(4), loaded.format), (4, Some(3), Format::Dimacs));
    assert!(loaded.notes.is_empty());
    // Known by its contents, whatever its name.
    assert_eq!(read_as("wel", text).unwrap().graph, loaded.graph);
}

/// Editors put one before a text, from memory and from a file.
#[test]
fn a_mark_before_a_text_is_read_over() {
    let folder = tempfile::tempdir().unwrap();
    for (ending, text) in [
        ("gr", "c a comment\np sp 3 2\na 1 2 8\na 3 1 5\n"),
        ("gr", "0 1 5\n1 0 6\n"),
        ("wel", "10 20 5\n20 30 6\n"),
        ("el", "# Nodes: 3\n0 1\n"),
        ("mtx", "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 5\n3 1 2\n"),
        ("metis", "3 2 1\n2 5\n1 5 3 7\n2 7\n"),
    ] {
        let (plain, marked) = (read_as(ending, text).unwrap(), format!("\u{feff}{text}"));
        let same = |found: Loaded| {
            assert_eq!((found.graph, found.ids), (plain.graph.clone(), plain.ids.clone()), "{text}")
        };
        same(read_as(ending, &marked).unwrap());
        let file = folder.path().join(format!("graph.{ending}"));
        std::fs::write(&file, &marked).unwrap();
        same(read(&file, &options(), &mut team()).unwrap());
    }
    assert_eq!(wrong_line("gr", "\u{feff}p sp 2 1\na 1 x 2\n").0, 2);
    assert!(matches!(read_as("gr", "\u{feff}"), Err(ReadError::Empty)));
    assert_eq!(read_sources_from("\u{feff}p aux sp ss 1\ns 5\n".as_bytes()).unwrap(), [5]);
}

#[test]
fn dimacs_without_header_is_told_apart_and_said() {
    for (text, first) in [("0 1 5\n1 0 6\n", 0), ("a 0 1 5\na 1 0 6\n", 0), ("c x\na 1 2 5\na 2 1 6\n", 1)] {
        let loaded = read_as("gr", text).unwrap();
        assert_eq!(arcs(&loaded.graph), [(0, 1, 5), (1, 0, 6)], "{text}");
        assert_eq!(loaded.ids.of(0), first);
        assert!(
            loaded.notes[0]
                .contains(&format!("no header (`p sp NODES ARCS`): its 2 nodes are counted from {first}")),
            "{:?}",
            loaded.notes
        );
        assert_eq!(loaded.format, Format::Dimacs);
    }
}

#[test]
fn bad_dimacs_lines_are_named() {
    let expected = |expected, found: &str| LineError::Expected { expected, found: found.to_owned() };
    let cases: [(&str, u64, LineError); 13] = [
        ("p sp 2 1\na 1 3 5\n", 2, LineError::NoSuchNode { id: 3, first: 1, last: 2 }),
        ("c\np sp 2 1\nc\na 0 1 5\n", 4, LineError::NodeZero { format: Format::Dimacs }),
        ("p sp 2 2\na 1 2 3\na 1 2 -5\n", 3, LineError::NegativeWeight { found: "-5".into() }),
        ("p sp 2 1\na 1 2 4294967296\n", 2, LineError::WeightTooLarge { found: "4294967296".into() }),
        ("p sp 2 1\na 1 2 1.5\n", 2, LineError::FractionalWeight { found: "1.5".into() }),
        ("p sp 2 1\na 1 2\n", 2, LineError::EndsEarly { expected: "a weight" }),
        ("p sp 2 1\na 1 2 3 4\n", 2, expected("the end of the line", "4")),
        ("p sp 2 1\na 1 x 3\n", 2, expected("a node", "x")),
        ("p sp 2 1\ne 1 2 3\n", 2, expected("`a` and an arc, or `c` and a comment,", "e")),
        ("p sp 2 1\na 1 2 3\np sp 2 1\n", 3, LineError::SecondHeader),
        ("p sp 2\n", 1, LineError::EndsEarly { expected: "the number of arcs" }),
        ("p sp -2 1\n", 1, expected("the number of nodes", "-2")),
        ("p sp 99999999999999999999 1\n", 1, LineError::TooLarge { found: "99999999999999999999".into() }),
    ];
    for (text, line, reason) in cases {
        assert_eq!(wrong_line("gr", text), (line, reason), "{text}");
    }
    for (ending, text) in [("gr", "p sp 99999999999999999999 0\n"), ("el", "18446744073709551616 0\n")] {
        let (_, reason) = wrong_line(ending, text);
        assert!(
            matches!(reason, LineError::TooLarge { .. }) && !reason.hint().contains("weights"),
            "{reason}"
        );
    }
    let (line, reason) = wrong_line("gr", "c PACE\np ocr 3 1 1\n1 2\n");
    assert!(matches!(reason, LineError::NotSupported { .. }) && line == 2, "{reason}");
}

#[test]
fn edges_of_the_pace_challenges_are_two_arcs() {
    let text = "c PACE\np tw 4 3\n1 2\nc halfway\n3 2\n3 3\n";
    for name in ["gr", "el"] {
        let loaded = read_as(name, text).unwrap();
        assert_eq!(arcs(&loaded.graph), [(0, 1, 1), (1, 0, 1), (1, 2, 1), (2, 1, 1), (2, 2, 1)]);
        assert_eq!((loaded.graph.nodes(), loaded.ids.of(0), loaded.format), (4, 1, Format::Dimacs));
        assert_eq!(loaded.notes, ["a file of the PACE challenge: each of its edges is two arcs of weight 1"]);
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let size = Size::of_file(file.path(), None).unwrap();
    assert_eq!((size.nodes, size.arcs), (4, 6), "of each edge two, before a loop turns out to be one");
    let error = read_as("gr", "p tdp 4 3\n1 2\n").unwrap_err();
    assert_eq!(error.to_string(), "line 1 promises 3 arcs, but there are 1");
    assert_eq!(wrong_line("gr", "p tw 2 1\n1 3\n").1, LineError::NoSuchNode { id: 3, first: 1, last: 2 });
    assert!(matches!(wrong_line("gr", "p tw 2 1\n1 2 7\n"), (2, LineError::Expected { .. })));
    assert_eq!(wrong_line("gr", "p tw 2 2\n1 2\np tw 2 2\n"), (3, LineError::SecondHeader));
    let steiner = read_as("gr", "SECTION Graph\nNodes 2\nEdges 1\nE 1 2 3\nEND\n").unwrap_err();
    assert!(steiner.to_string().contains("Steiner"), "{steiner}");
}

#[test]
fn tables_are_told_how_to_become_edge_lists() {
    for (text, hint) in
        [("0,1,5\n1,2,3\n", "put blanks"), ("\"source\";\"target\"\n0;1\n", "leave out the line of names")]
    {
        let error = read_as("csv", text).unwrap_err();
        assert!(
            error.to_string().contains("a table with commas") && error.hint().contains(hint),
            "{error}: {}",
            error.hint()
        );
    }
    assert!(matches!(read_as("json", "{\"nodes\": [1, 2],\n").unwrap_err(), ReadError::Unknown));
}

/// As GAP's `WriteSerializedGraph` writes a graph.
fn gap(graph: &Graph, is_directed: bool, has_weights: bool) -> Vec<u8> {
    let mut bytes = vec![u8::from(is_directed)];
    bytes.extend((graph.arcs() as u64).to_ne_bytes());
    bytes.extend((graph.nodes() as u64).to_ne_bytes());
    for rows in [graph, &graph.reverse()].into_iter().take(1 + usize::from(is_directed)) {
        bytes.extend(rows.offsets().iter().flat_map(|offset| offset.to_ne_bytes()));
        for arc in rows.all_arcs() {
            bytes.extend(arc.head.to_ne_bytes());
            bytes.extend(arc.weight.to_ne_bytes().into_iter().filter(|_| has_weights));
        }
    }
    bytes
}

fn some_arcs() -> Graph {
    Graph::from_arcs(3, &[(0, 1, 5), (0, 2, 6), (2, 0, 0), (2, 2, 7)]).unwrap()
}

#[test]
fn graphs_of_the_gap_benchmark_are_known_by_their_numbers() {
    let graph = some_arcs();
    for is_directed in [true, false] {
        for (ending, place) in [("wsg", Place::HEAP), ("el", Place::default())] {
            let bytes = gap(&graph, is_directed, true);
            let options = ReadOptions { place, ..ReadOptions::default() };
            let streamed = read_from(&*bytes, Format::parse(ending), &options, &mut team()).unwrap();
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&bytes).unwrap();
            let read = read(file.path(), &options, &mut team()).unwrap();
            assert_eq!((&read.graph, read.format, read.ids.of(2)), (&graph, Format::Gap, 2));
            assert_eq!((&read, read.graph.distance_bound()), (&streamed, graph.distance_bound()));
            let size = Size::of_file(file.path(), None).unwrap();
            assert_eq!((size.nodes, size.arcs), (3, 4));
        }
        let plain = read_as("sg", gap(&graph, is_directed, false)).unwrap();
        assert_eq!(plain.graph, graph.unweighted(Place::HEAP).unwrap());
        assert_eq!(plain.notes, ["the file has no weights: every arc has weight 1"]);
    }
    assert_eq!(Format::of_name(Path::new("kron.sg")), Some(Format::Gap));
    // More heads than are read at once.
    let arcs: Vec<(Node, Node, u32)> = (0..600_000).map(|arc| (arc / 2, arc * 7 % 300_000, 1)).collect();
    let large = Graph::from_arcs(300_000, &arcs).unwrap();
    assert_eq!(read_as("sg", gap(&large, false, false)).unwrap().graph, large);
}

#[test]
fn bad_graphs_of_the_gap_benchmark_are_refused() {
    let whole = gap(&some_arcs(), true, true);
    // Cut off there, it is as long as one without weights, and weights are no heads.
    let plain = gap(&some_arcs(), true, false).len();
    for length in 0..whole.len() {
        let error = read_as("wsg", &whole[..length]).unwrap_err();
        let is_reported = matches!(error, ReadError::GapLength { found, .. } if found == length as u64);
        assert!(is_reported || length < 25 || length == plain, "{length}: {error}");
    }
    let with = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        read_as("wsg", bytes).unwrap_err()
    };
    // Whether there are two tables, arcs, nodes.
    for (at, byte) in [(0, 0), (1, 5), (1, 3), (9, 4), (9, 2), (13, 1)] {
        assert!(matches!(with(at, byte), ReadError::GapLength { .. } | ReadError::Other { .. }), "{at}");
    }
    let rows = 17;
    let first_arc = rows + 4 * 8;
    assert!(matches!(with(rows + 8, 9), ReadError::Graph(GraphError::BadRow { node: 0, .. })));
    assert!(matches!(with(rows + 24, 3), ReadError::Graph(GraphError::BadRow { node: 2, .. })));
    let no_node = with(first_arc, 3);
    assert!(matches!(no_node, ReadError::Graph(GraphError::NoSuchNode { head: 3, .. })), "{no_node}");
    let negative = with(first_arc + 7, 0x80);
    assert!(matches!(negative, ReadError::Graph(GraphError::BadWeight { arc: 0, .. })), "{negative}");
}

#[test]
fn headers_that_lie_are_found_out() {
    for (promised, found) in [(3, 2), (1, 2)] {
        let error = read_as("gr", format!("c\np sp 2 {promised}\na 1 2 3\na 2 1 3\n")).unwrap_err();
        assert_eq!(error.to_string(), format!("line 2 promises {promised} arcs, but there are {found}"));
    }
    let error = read_as("gr", "p sp 4000000000 1\na 1 2 3\n").unwrap_err();
    let most = 1 << 20;
    let is_reported = matches!(error, ReadError::TooManyAlone { line: 1, nodes: 4_000_000_000, arcs: 1, most: reported } if reported == most);
    assert!(is_reported, "{error}");
    let error = read_as("gr", "p sp 4000000000 4000000000\na 1 2 3\n").unwrap_err();
    assert!(matches!(error, ReadError::TooManyAlone { nodes: 4_000_000_000, arcs: 8, .. }), "{error}");
    let error = read_as("gr", "p sp 5000000000 5000000000\na 1 2 3\n").unwrap_err();
    assert!(matches!(error, ReadError::Graph(GraphError::TooManyNodes { .. })), "{error}");
    let error = read_as("mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n").unwrap_err();
    assert_eq!(error.to_string(), "line 2 promises 2 arcs, but there are 1");
    let error = read_as("metis", "3 2\n2\n1\n\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1 promises 4 entries, two for each edge, of which none joins a node to itself, but there are 2"
    );
    let error = read_as("metis", "2 1\n1 2\n1\n").unwrap_err();
    assert!(matches!(error, ReadError::Count { promised: 2, found: 3, .. }), "{error}");
    let error = read_as("metis", "9 1\n2\n1\n").unwrap_err();
    assert_eq!(error.to_string(), "line 1 promises 9 nodes, but there are 2");
}

/// Memory is taken by the length of a file. Blank lines make it long, and packing makes blank lines short.
#[test]
fn headers_and_packing_take_no_memory_that_the_length_does_not_pay_for() {
    let nodes = 1 << 22;
    let blank = "\n".repeat(1 << 20);
    for (ending, header) in [
        ("gr", format!("p sp {nodes} 262144\n")),
        ("gr", format!("p tw {nodes} 262144\n")),
        ("mtx", format!("%%MatrixMarket matrix coordinate integer general\n{nodes} {nodes} 262144\n")),
        ("el", format!("# Nodes: {nodes} Edges: 262144\n{}", "0 1\n".repeat(1 << 17))),
    ] {
        let error = read_as(ending, format!("{header}{blank}")).unwrap_err();
        let ReadError::TooManyAlone { nodes: 4_194_304, most, .. } = error else {
            panic!("{ending}: {error}")
        };
        assert!(most < 2 << 20, "{most}");
        assert!(error.hint().contains("--most-memory"));
    }
    // Where most nodes are alone indeed, they are allowed; and moderately many need nobody to do so.
    let alone = format!("p sp {nodes} 1\na 1 {nodes} 7\n");
    let allowed = ReadOptions { most_memory_bytes: Some(8 * nodes), ..options() };
    let loaded = read_from(alone.as_bytes(), None, &allowed, &mut team()).unwrap();
    assert_eq!((loaded.graph.nodes() as u64, loaded.graph.arcs()), (nodes, 1));
    let less = ReadOptions { most_memory_bytes: Some(8 * nodes - 8), ..options() };
    let error = read_from(alone.as_bytes(), None, &less, &mut team()).unwrap_err();
    assert!(matches!(error, ReadError::TooManyAlone { most, .. } if most == nodes - 1), "{error}");
    assert_eq!(read_as("gr", "p sp 1000000 0\n").unwrap().graph.nodes(), 1_000_000);
    assert_eq!(read_as("el", "# Nodes: 1000000\n0 1\n").unwrap().graph.nodes(), 1_000_000);
    assert_eq!(read_as("el", "# Nodes: 436999\n").unwrap().graph.nodes(), 436_999);
}

#[test]
fn coordinates_of_nodes_that_no_line_can_have_are_refused() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"p aux sp co 4000000000\nv 1048577 0 0\nv 2097153 0 0\n").unwrap();
    let error = read_coordinates(file.path()).unwrap_err();
    let reason = LineError::NoSuchNode { id: 1_048_577, first: 1, last: 6 };
    assert!(matches!(&error, ReadError::Line { line: 2, reason: found } if *found == reason), "{error}");
}

#[test]
fn what_unpacks_to_much_more_than_any_graph_is_refused() {
    let text = vec![b'\n'; 17 << 20];
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(b"p sp 2 1\na 1 2 3\n").and_then(|()| gz.write_all(&text)).unwrap();
    let gz = gz.finish().unwrap();
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bz2.write_all(&text).unwrap();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(0)).unwrap();
    xz.write_all(&text).unwrap();
    for (packed, name) in
        [(gz.clone(), "gzip"), (bz2.finish().unwrap(), "bzip2"), (xz.finish().unwrap(), "xz")]
    {
        let error = read_as("gr", &packed).unwrap_err();
        let most = 16 << 20;
        let is_reported = matches!(error, ReadError::TooMuchText { packing, most: reported, packed: read }
            if packing == name && reported == most && read <= packed.len() as u64);
        assert!(is_reported && error.hint().contains("--most-memory"), "{error}");
    }
    let allowed = ReadOptions { most_memory_bytes: Some(18 << 20), ..options() };
    assert_eq!(read_from(&*gz, None, &allowed, &mut team()).unwrap().graph.arcs(), 1);
    // Two of them, one behind the other, are no way around it.
    let twice = [&*gz, &*gz].concat();
    assert!(matches!(read_from(&*twice, None, &allowed, &mut team()), Err(ReadError::TooMuchText { .. })));
    // The same text, of a file that is as long.
    let mut stored = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    stored.write_all(b"p sp 2 1\na 1 2 3\n").and_then(|()| stored.write_all(&text)).unwrap();
    assert_eq!(read_as("gr", stored.finish().unwrap()).unwrap().graph.arcs(), 1);
}

#[test]
fn matrix_market_kinds() {
    let general = "%%MatrixMarket matrix coordinate integer general\n% c\n3 3 2\n1 2 5\n3 1 0\n";
    assert_eq!(arcs(&read_as("mtx", general).unwrap().graph), [(0, 1, 5), (2, 0, 0)]);
    let unsigned = general.replace("integer", "unsigned-integer");
    assert_eq!(arcs(&read_as("mtx", unsigned).unwrap().graph), [(0, 1, 5), (2, 0, 0)]);
    // The first line tells, not the name.
    assert_eq!(read_as("el", general).unwrap().format, Format::MatrixMarket);
    let symmetric = "%%MatrixMarket MATRIX Coordinate Real Symmetric\n3 3 3\n2 1 5.0\n3 3 1e2\n3 2 7\n";
    let both = [(0, 1, 5), (1, 0, 5), (1, 2, 7), (2, 1, 7), (2, 2, 100)];
    assert_eq!(arcs(&read_as("mtx", symmetric).unwrap().graph), both);
    let pattern = read_as("mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n").unwrap();
    assert_eq!(arcs(&pattern.graph), [(0, 1, 1)]);
    assert_eq!(pattern.notes, ["the file has no weights: every arc has weight 1"]);

    let banner = "%%MatrixMarket matrix coordinate";
    for (text, line) in [
        ("%%MatrixMarket matrix array real general\n2 2\n1\n".to_owned(), 1),
        (format!("{banner} complex general\n1 1 0\n"), 1),
        (format!("{banner} real skew-symmetric\n1 1 0\n"), 1),
        (format!("{banner} real general\n2 3 0\n"), 2),
    ] {
        let (at, reason) = wrong_line("mtx", &text);
        assert!(matches!(reason, LineError::NotSupported { .. }) && at == line, "{text}: {at} {reason}");
    }
    let (line, reason) = wrong_line("mtx", &format!("{banner} quaternion general\n1 1 0\n"));
    assert!(
        matches!(&reason, LineError::Expected { found, .. } if *found == "quaternion"),
        "{line} {reason}"
    );
    let (line, reason) = wrong_line("mtx", &format!("{banner} real general\n2 2 1\n1 2 0.25\n"));
    assert_eq!((line, reason), (3, LineError::FractionalWeight { found: "0.25".into() }));
    assert!(matches!(read_as("mtx", banner.to_owned() + " real general\n%\n"), Err(ReadError::NoHeader)));
}

#[test]
fn edge_lists_count_from_zero_or_have_names() {
    let loaded = read_as("el", "# SNAP\n0\t1\n2 0\n").unwrap();
    assert_eq!(arcs(&loaded.graph), [(0, 1, 1), (2, 0, 1)]);
    assert_eq!((loaded.ids.of(2), loaded.format), (2, Format::EdgeList));
    let loaded = read_as("txt", "% comment\n0 1 9\n3 1 8\n").unwrap();
    assert_eq!((arcs(&loaded.graph), loaded.format), (vec![(0, 1, 9), (3, 1, 8)], Format::WeightedEdgeList));
    assert_eq!(loaded.graph.nodes(), 4);

    let names = format!("{} 7 1\n7 1000000000000 2\n", u64::MAX);
    let loaded = read_as("wel", names).unwrap();
    assert_eq!(arcs(&loaded.graph), [(0, 1, 2), (2, 0, 1)]);
    assert_eq!([0, 1, 2].map(|node| loaded.ids.of(node)), [7, 1_000_000_000_000, u64::MAX]);
    assert_eq!((loaded.ids.node(u64::MAX), loaded.ids.node(8)), (Some(2), None));
    assert!(loaded.notes[0].contains("gaps"), "{:?}", loaded.notes);

    let snap = "# Undirected graph\n# Nodes: 9 Edges: 1\n0 1\n1 1\n";
    let loaded = read_as("txt", snap).unwrap();
    assert_eq!(loaded.graph.nodes(), 9);
    assert!(loaded.notes[1].contains("--undirected"), "{:?}", loaded.notes);
    let both = ReadOptions { undirected: true, ..options() };
    let loaded = read_from(snap.as_bytes(), None, &both, &mut team()).unwrap();
    assert_eq!(arcs(&loaded.graph), [(0, 1, 1), (1, 0, 1), (1, 1, 1)]);
}

#[test]
fn metis_formats() {
    let plain = "% c\n4 3\n2 3\n1\n% c\n1 4\n3\n";
    let wanted = [(0, 1, 1), (0, 2, 1), (1, 0, 1), (2, 0, 1), (2, 3, 1), (3, 2, 1)];
    assert_eq!(arcs(&read_as("metis", plain).unwrap().graph), wanted);
    let weighted = [(0, 1, 5), (1, 0, 5)];
    for text in [
        "3 1 1\n2 5\n1 5\n\n",
        "3 1 001\n2 5\n1 5\n\n",
        "3 1 011\n9 2 5\n9 1 5\n9\n",
        "3 1 011 2\n9 9 2 5\n9 9 1 5\n9 9\n",
        "3 1 111 2\n8 9 9 2 5\n8 9 9 1 5\n8 9 9\n",
        "3 1 101\n8 2 5\n8 1 5\n8\n",
        // The last line, which is empty, was lost; and one too many.
        "3 1 1\n2 5\n1 5\n",
        "3 1 1\n2 5\n1 5\n\n\n\n",
    ] {
        let loaded = read_as("metis", text).unwrap();
        assert_eq!((arcs(&loaded.graph), loaded.graph.nodes()), (weighted.to_vec(), 3), "{text}");
    }
    let no_such = LineError::NoSuchNode { id: 4, first: 1, last: 3 };
    assert_eq!(wrong_line("metis", "3 2\n2\n1 3\n2 4\n"), (4, no_such));
    assert_eq!(wrong_line("metis", "2 1\n2\n0\n"), (3, LineError::NodeZero { format: Format::Metis }));
    assert_eq!(wrong_line("metis", "2 1 1\n2 7\n1\n"), (3, LineError::EndsEarly { expected: "a weight" }));
    let expected = |expected, found: &str| LineError::Expected { expected, found: found.to_owned() };
    assert_eq!(
        wrong_line("metis", "1 0 7\n\n"),
        (1, expected("a format of three digits, each 0 or 1,", "7"))
    );
    assert_eq!(wrong_line("metis", "2 1\n2\n1\n2\n"), (4, expected("the end of the file", "2")));
}

#[test]
fn what_is_no_graph_is_said() {
    let what = |bytes: &[u8]| match read_as("gr", bytes).unwrap_err() {
        ReadError::Other { what, .. } => what,
        other => panic!("{other}"),
    };
    assert!(matches!(read_as("gr", ""), Err(ReadError::Empty)));
    assert!(matches!(read_as("gr", "hello world\n"), Err(ReadError::Unknown)));
    assert!(matches!(read_as("gr", "c only\nc comments\n"), Err(ReadError::NoHeader)));
    assert!(matches!(read_as("txt", "1 2 3\n4 5\n"), Err(ReadError::Ambiguous)));
    assert!(matches!(read_as("txt", "# nothing\n"), Err(ReadError::Unknown)));
    assert!(matches!(read_as("el", "# nothing\n"), Err(ReadError::Empty)));
    let mut galois = Vec::new();
    for word in [1_u64, 4, 2, 1, 1, 1] {
        galois.extend(word.to_le_bytes());
    }
    assert!(what(&galois).contains("Galois"));
    assert!(what(b"\x7fELF\x02").contains("program"));
    assert!(what(b"12 13\0").contains("binary"));
    assert!(what(b"c\np aux sp co 3\nv 1 2 3\n").contains("coordinates"));
    assert!(what(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0]).contains("zstd"));
}

#[test]
fn packed_files_are_unpacked_and_cut_ones_noticed() {
    let text = format!("p sp 2 2000\n{}", "a 1 2 3\na 2 1 4\n".repeat(1000));
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bz2.write_all(text.as_bytes()).unwrap();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    xz.write_all(text.as_bytes()).unwrap();
    for packed in [gz.finish().unwrap(), bz2.finish().unwrap(), xz.finish().unwrap()] {
        assert_eq!(read_as("gr", &packed).unwrap().graph.arcs(), 2000);
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&packed).unwrap();
        assert_eq!(read(file.path(), &options(), &mut team()).unwrap().graph.arcs(), 2000);
        for cut in [packed.len() / 2, packed.len() - 1] {
            let error = read_as("gr", &packed[..cut]).unwrap_err();
            assert!(matches!(error, ReadError::CutOff { .. }), "{error:?}");
        }
        match read_as("gr", [&packed[..], b"junk\n"].concat()).unwrap_err() {
            ReadError::Damaged { .. } => {}
            error => assert!(error.to_string().ends_with("or something else follows"), "{error}"),
        }
    }
    let mut damaged = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    damaged.write_all(text.as_bytes()).unwrap();
    let mut damaged = damaged.finish().unwrap();
    let last = damaged.len() - 6;
    damaged[last] ^= 1;
    assert!(matches!(read_as("gr", &damaged), Err(ReadError::Damaged { .. })));
}

#[test]
fn coordinates_and_sources() {
    let file = |text: &str| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    };
    let points = |text: &str| read_coordinates(file(text).path());
    assert_eq!(points("c\np aux sp co 2\nv 2 -5 7\nv 1 0 -1\n").unwrap(), [[0, -1], [-5, 7]]);
    let line = |error: ReadError| match error {
        ReadError::Line { line, .. } => line,
        other => panic!("{other}"),
    };
    assert_eq!(line(points("p aux sp co 1\nv 2 1 1\n").unwrap_err()), 2);
    assert_eq!(line(points("p aux sp co 1\nv 1 1 1\nv 1 1 1\n").unwrap_err()), 3);
    assert_eq!(line(points("p aux sp co 1\nv 1 1 3000000000\n").unwrap_err()), 2);
    assert_eq!(line(points("p aux sp ss 1\n").unwrap_err()), 1);
    // Few lines take no memory for many nodes, however they lead on.
    let far: String = (1..9).map(|line| format!("v {} 1 1\n", line * 1_000_000)).collect();
    assert_eq!(line(points(&format!("p aux sp co 9000000\n{far}")).unwrap_err()), 2);
    assert!(matches!(
        points("p aux sp co 2\nv 1 1 1\n"),
        Err(ReadError::Count { promised: 2, found: 1, .. })
    ));
    assert!(matches!(points("v 1 1 1\n"), Err(ReadError::NoHeader)));
    assert!(ReadError::NoHeader.hint().contains("`p aux sp co NODES`"));
    assert!(matches!(points(""), Err(ReadError::Empty)));

    let listed = |text: &str| read_sources(file(text).path());
    assert_eq!(listed("c\np aux sp ss 3\ns 5\ns 1\ns 5\n").unwrap(), [5, 1, 5]);
    assert!(matches!(listed("p aux sp ss 2\ns 5\n"), Err(ReadError::Count { .. })));
    assert_eq!(line(listed("p aux sp ss 1\nt 5\n").unwrap_err()), 2);
}

/// Reads a text in parts of so many bytes.
fn in_parts_of(text: &[u8], bytes: usize, format: Format) -> Result<Loaded, ReadError> {
    let text = Text::of_memory(text.to_vec()).in_parts_of(bytes);
    read_text(&text, Some(format), &options(), &mut team())
}

#[test]
fn every_border_between_parts_gives_the_same_graph_and_the_same_error() {
    let good = [
        (Format::Dimacs, "c x\np sp 30 4\na 1 22 333\n\nc y\na 30 1 4\na 7 8 90000\r\na 7 8 1"),
        (Format::WeightedEdgeList, "# x\n1 22 333\n30 1 4\n\n7 8 90000\n7 8 1\n"),
        (Format::Metis, "5 3 1\n2 10 3 20\n1 10\n% c\n1 20\n\n5 7\n"),
        (Format::MatrixMarket, "%%MatrixMarket matrix coordinate real symmetric\n%\n9 9 2\n1 2 3\n9 1 44\n"),
    ];
    // The loop of the METIS graph above stands twice in one line, as both its ends do.
    let good = good.map(|(format, text)| (format, text.replace("\n\n5 7\n", "\n\n5 7 5 7\n")));
    for (format, text) in good {
        let whole = in_parts_of(text.as_bytes(), 1 << 20, format).unwrap();
        for bytes in 1..text.len() {
            assert_eq!(in_parts_of(text.as_bytes(), bytes, format).unwrap(), whole, "{format} {bytes}");
        }
    }
    let bad = [
        (Format::Dimacs, "c x\np sp 30 4\na 1 22 333\n\na 30 31 4\na 7 8 9\na 7 8 -1"),
        (Format::WeightedEdgeList, "# x\n1 22 333\n30 1 x\n\n7 8 9\n7 8 1\n"),
        (Format::Metis, "5 3 1\n2 10 3 20\n1 10\n% c\n1 20\n\n6 7\n"),
    ];
    for (format, text) in bad {
        let whole = in_parts_of(text.as_bytes(), 1 << 20, format).unwrap_err().to_string();
        assert!(whole.starts_with("line "), "{whole}");
        for bytes in 1..text.len() {
            let error = in_parts_of(text.as_bytes(), bytes, format).unwrap_err();
            assert_eq!(error.to_string(), whole, "{format} {bytes}");
        }
    }
}

proptest! {
    /// Random bytes, and random words of the formats, end with a graph or an error.
    #[test]
    fn nothing_makes_it_panic(
        bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..300),
            proptest::collection::vec(
                proptest::sample::select(vec![
                    "p sp ", "a ", "c ", "\n", "1 ", "2 ", "0 ", "-1 ", "99999999999 ", "18446744073709551615 ", "3.0 ",
                    "%%MatrixMarket matrix coordinate ", "integer ", "pattern ", "general\n", "symmetric\n", "% ", "# ",
                    "Nodes: ", "p aux sp co ", "v ", "e5 ", "\r\n", "\t", "\u{1f}\u{8b}", "BZh", "\u{89}FTGRAPH",
                ]),
                0..40,
            ).prop_map(|words| words.concat().into_bytes()),
        ],
        part in 1_usize..64,
        format in proptest::sample::select(Format::ALL.to_vec()),
        undirected in any::<bool>(),
    ) {
        let options = ReadOptions { undirected, ..options() };
        let check = |read: Result<Loaded, ReadError>| match read {
            Ok(loaded) => {
                let nodes = loaded.graph.nodes();
                assert_eq!(loaded.ids.nodes(), nodes);
                assert!(loaded.graph.all_arcs().iter().all(|OutArc { head, .. }| (*head as usize) < nodes));
            }
            Err(error) => assert!(!error.hint().is_empty() && !error.to_string().is_empty()),
        };
        let mut team = Team::of_this_process(1).unwrap();
        check(read_from(&*bytes, Some(format), &options, &mut team));
        let named = ReadOptions { format: Some(format), ..options };
        check(read_from(&*bytes, None, &named, &mut team));
        let text = Text::of_memory(bytes).in_parts_of(part);
        check(read_text(&text, Some(format), &options, &mut team));
        let _ = beside::coordinates(&text);
        let _ = beside::sources(&text);
    }
}
