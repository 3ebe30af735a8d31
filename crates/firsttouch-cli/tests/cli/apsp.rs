//! `firsttouch apsp`: figures of all pairs, by every algorithm, in the numbers of the file; interrupted and resumed; refused.

use crate::{assert_code, assert_said, firsttouch, json, json_of, run, skipped, stdout, text_of};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// Nodes 1 to 5 of a line with weights 3, 4, 0 both ways, a one-way arc from 4 to 5, and node 6 by itself.
const LINE: &str = "p sp 6 8\na 1 2 3\na 2 1 3\na 2 3 4\na 3 2 4\na 3 4 0\na 4 3 0\na 4 5 9\na 5 5 1\n";

fn line(folder: &Path) -> PathBuf {
    let graph = folder.join("line.gr");
    std::fs::write(&graph, LINE).unwrap();
    graph
}

/// Streets of 2^scale crossings.
fn streets(folder: &Path, scale: &str) -> PathBuf {
    let graph = folder.join(format!("streets{scale}.gr"));
    assert_code(&run(&["graph", "generate", "streets", scale, graph.to_str().unwrap()]), 0);
    graph
}

fn apsp(graph: &Path, arguments: &[&str]) -> Output {
    let mut all = vec!["apsp", graph.to_str().unwrap(), "--num-threads", "2"];
    all.extend_from_slice(arguments);
    run(&all)
}

fn document(graph: &Path, arguments: &[&str]) -> Value {
    json_of(&apsp(graph, &[arguments, &["--json"]].concat()))
}

#[test]
fn graphs_of_next_to_nothing_are_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("small.gr");
    for (header, size, found) in
        [("p sp 0 0\n", "0 nodes, 0 arcs", "0 paths,"), ("p sp 1 0\n", "1 node, 0 arcs", "1 path,")]
    {
        std::fs::write(&graph, header).unwrap();
        let told = text_of(&apsp(&graph, &[])).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.starts_with(&format!("graph {size}")), "{told}");
        assert!(told.contains(&format!(" found {found}")) && !told.contains("obtained ;"), "{told}");
        assert!(!told.contains(" no 1000 nodes"), "{told}");
    }
    // Of the one node, which reaches no other.
    let closeness = stdout(&apsp(&graph, &["--reduce", "closeness"]));
    assert!(closeness.ends_with("closeness  0 to 0, 0 on average\n"), "{closeness}");
}

#[test]
fn every_algorithm_tells_the_same_of_all_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let graph = line(folder.path());
    let (csv, table) = (folder.path().join("nodes.csv"), folder.path().join("all.npy"));
    for algorithm in ["auto", "phast", "buckets", "heap"] {
        for order in [&[][..], &["--reorder", "dfs"]] {
            let files = ["--export-csv", csv.to_str().unwrap(), "--matrix", table.to_str().unwrap()];
            let reduce = [
                "--algorithm",
                algorithm,
                "--reduce",
                "diameter,radius,eccentricity,reach,closeness,histogram",
            ];
            let document = document(&graph, &[&files[..], &reduce, order].concat());
            assert_eq!((&document["graph"]["arcs"], &document["sources"]), (&8.into(), &6.into()));
            // 1: 3 7 7 16, 2: 3 4 4 13, 3: 7 4 0 9, 4: the same, 5 and 6: only themselves.
            assert_eq!(document["checksum"], 33 + 24 + 20 + 20, "{algorithm}: {document}");
            assert_eq!((&document["diameter"], &document["radius"]), (&16.into(), &0.into()));
            assert_eq!(document["reach"]["most"], 5);
            assert_eq!(document["eccentricity"]["most"], 16);
            let counts = document["histogram"]["counts"].as_array().unwrap();
            assert_eq!((counts.len(), &counts[0], &counts[7]), (17, &8.into(), &4.into()));
            for key in [
                "schema_version",
                "threads",
                "parse_s",
                "preprocessing_s",
                "search_s",
                "edges_per_s",
                "receipt",
            ] {
                assert!(!document[key].is_null(), "{key}: {document}");
            }
            let rows = std::fs::read_to_string(&csv).unwrap();
            let rows: Vec<&str> = rows.lines().collect();
            assert_eq!(rows[0], "node,eccentricity,closeness,reach");
            assert!(rows[1].starts_with("1,16,") && rows[1].ends_with(",5"), "{rows:?}");
            assert_eq!((rows.len(), rows[6]), (7, "6,0,0,1"));
            let bytes = std::fs::read(&table).unwrap();
            let cells: Vec<u32> =
                bytes[128..].chunks(4).map(|cell| u32::from_le_bytes(cell.try_into().unwrap())).collect();
            let none = u32::MAX;
            assert_eq!(cells[..6], [0, 3, 7, 7, 16, none], "{algorithm} {order:?}");
            assert_eq!(cells[24..], [none, none, none, none, 0, none, none, none, none, none, none, 0]);
        }
    }
}

#[test]
fn some_sources_are_as_good_as_all() {
    let folder = tempfile::tempdir().unwrap();
    let graph = line(folder.path());
    let (csv, table) = (folder.path().join("nodes.csv"), folder.path().join("some.npy"));
    let files = ["--export-csv", csv.to_str().unwrap(), "--matrix", table.to_str().unwrap()];
    for algorithm in ["phast", "buckets"] {
        let named = ["--sources", "4,2", "--algorithm", algorithm, "--reduce", "reach", "--reorder", "bfs"];
        let document = document(&graph, &[&files[..], &named].concat());
        assert_eq!((&document["sources"], &document["checksum"]), (&2.into(), &44.into()), "{document}");
        assert_eq!(std::fs::read_to_string(&csv).unwrap(), "node,reach\n4,5\n2,5\n");
        let bytes = std::fs::read(&table).unwrap();
        let cells: Vec<u32> =
            bytes[128..].chunks(4).map(|cell| u32::from_le_bytes(cell.try_into().unwrap())).collect();
        assert_eq!(cells, [7, 4, 0, 0, 9, u32::MAX, 3, 0, 4, 4, 13, u32::MAX], "{algorithm}");
    }
    assert_eq!(document(&graph, &["--random", "7", "--seed", "3"])["sources"], 7);
    assert_code(&apsp(&graph, &["--sources", "7"]), 2);
    assert_code(&apsp(&graph, &["--sources", "1", "--random", "2"]), 2);
}

#[test]
fn graphs_that_no_small_cuts_part_are_searched_and_it_is_said_why() {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("random.gr");
    let generate = ["graph", "generate", "random", "14", graph.to_str().unwrap(), "--degree", "6"];
    assert_code(&run(&generate), 0);
    assert_said(&apsp(&graph, &["--algorithm", "phast"]), 1, &["no small cuts", "--algorithm"]);
    let near = ["sssp", graph.to_str().unwrap(), "--random", "320", "--limit", "5", "--json"];
    let document = json(&stdout(&run(&near)));
    assert_eq!(document["algorithm"], "buckets");
    // One that looks like a map, and whose middle is no map at all.
    let mut text = String::from("p sp 30000 149998\n");
    let mut number = 1_u64;
    for node in 1..15_000 {
        text += &format!("a {node} {} 5\na {} {node} 5\n", node + 1, node + 1);
    }
    for node in 15_001..=30_000 {
        for _ in 0..8 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text += &format!("a {node} {} 7\n", 15_001 + (number >> 33) % 15_000);
        }
    }
    std::fs::write(&graph, text).unwrap();
    let many = ["--num-threads", "2", "--random", "320", "--targets", "3", "--json", "--algorithm"];
    let sssp = |algorithm| {
        let all = [&["sssp", graph.to_str().unwrap()], &many[..], &[algorithm]].concat();
        json(&stdout(&run(&all)))
    };
    let (auto, heap) = (sssp("auto"), sssp("heap"));
    assert_eq!((&auto["algorithm"], &auto["checksum"]), (&"buckets".into(), &heap["checksum"]));
    assert!(auto["reason"].as_str().unwrap().contains("sweeps do not suit"), "{auto}");
}

#[test]
fn a_run_that_is_interrupted_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let graph = streets(folder.path(), "12");
    let checkpoint = folder.path().join("part");
    let index = folder.path().join("index");
    let kept = ["--checkpoint", checkpoint.to_str().unwrap()];
    let wanted =
        document(&graph, &["--save-index", index.to_str().unwrap(), "--reduce", "diameter,radius,histogram"]);
    let mut child = firsttouch()
        .args(["apsp", graph.to_str().unwrap(), "--num-threads", "1", "--algorithm", "heap", "--progress"])
        .args(["--reduce", "histogram"])
        .args(kept)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("of 4096 sources") && first.contains("left"), "{first}");
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("--resume")), "{rest:?}");

    assert_said(&apsp(&graph, &kept), 2, &["--resume"]);
    let index = ["--index", index.to_str().unwrap()];
    let resume = [&kept[..], &["--resume"], &index].concat();
    let resumed = document(&graph, &[&resume[..], &["--reduce", "diameter,radius,histogram"]].concat());
    assert!(resumed["resumed"].as_u64().unwrap() > 0, "{resumed}");
    for key in ["checksum", "reached", "diameter", "radius", "histogram"] {
        assert_eq!(resumed[key], wanted[key], "{key}");
    }
    // The same nodes with other weights are another question.
    let text = std::fs::read_to_string(&graph).unwrap();
    let other = folder.path().join("other.gr");
    std::fs::write(&other, text.replacen(" 1\n", " 2\n", 1).replacen("7\n", "8\n", 1)).unwrap();
    assert_said(&apsp(&other, &resume), 1, &["another run"]);
}

#[test]
fn files_that_are_not_what_they_should_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, other) = (line(folder.path()), streets(folder.path(), "6"));
    let index = folder.path().join("index");
    let name = index.to_str().unwrap();
    assert_said(&apsp(&graph, &["--index", name]), 2, &["--save-index"]);
    assert_eq!(document(&graph, &["--save-index", name])["algorithm"], "phast");
    assert_eq!(document(&graph, &["--index", name])["checksum"], 97);
    assert_said(&apsp(&other, &["--index", name]), 1, &["another graph"]);
    let whole = std::fs::read(&index).unwrap();
    std::fs::write(&index, &whole[..whole.len() - 3]).unwrap();
    assert_said(&apsp(&graph, &["--index", name]), 1, &["cut off", "hint:"]);
    assert_code(&apsp(&graph, &["--save-index", name, "--algorithm", "heap"]), 2);

    // A matrix of four terabytes.
    let large = folder.path().join("large.gr");
    std::fs::write(&large, "p sp 1000000 1\na 1 1000000 5\n").unwrap();
    let table = folder.path().join("all.npy");
    assert_said(&apsp(&large, &["--matrix", table.to_str().unwrap()]), 1, &["bytes are needed", "--reduce"]);
    assert!(!table.exists());
    assert_code(&apsp(&graph, &["--resume"]), 2);
    assert_code(&apsp(&graph, &["--reduce", "everything"]), 2);
}

/// The sum that fifteen other implementations find on the roads of New York.
#[test]
fn new_york_adds_up_from_outside() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/graphs/USA-road-d.NY.gr.gz");
    if !path.exists() {
        return skipped(&format!("{} is not there", path.display()));
    }
    // The first 24 draws of random.Random(20100601).randrange(264346) in Python, and 1: files count from 1.
    let sources = "192526,166371,120213,44445,125959,128683,5468,115638,122780,36708,89818,190404,237867,244181,204633,\
                   174402,26164,171699,243260,34436,131482,237656,35352,138205";
    let folder = tempfile::tempdir().unwrap();
    let mut first = None;
    for algorithm in ["buckets", "heap", "delta", "phast"] {
        let search = |sources, more: &[&str]| {
            let from = ["sssp", path.to_str().unwrap(), "--sources", sources, "--algorithm", algorithm];
            run(&[&from[..], &["--json"], more].concat())
        };
        let found = json(&stdout(&search(sources, &[])));
        assert_eq!(found["checksum"], 3_231_766_738_773_u64, "{algorithm}");
        let rows = folder.path().join("rows.csv");
        let exported = ["--targets", "1,264346", "--parents", "--export-csv", rows.to_str().unwrap()];
        assert_code(&search("192526,166371,120213", &exported), 0);
        let rows = std::fs::read_to_string(&rows).unwrap();
        assert_eq!(rows.lines().count(), 7);
        assert_eq!(*first.get_or_insert_with(|| rows.clone()), rows, "{algorithm}");
    }
}
