//! `firsttouch sssp`: distances in the numbers of the file, by every algorithm; what is said of bad wishes.

use crate::{assert_code, assert_said, json, json_of, run, stderr, stdout, text_of};
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// Nodes 0 to 40, of which four have arcs; none leads to 40.
const GRAPH: &str = "10 20 5\n20 30 6\n10 30 100\n40 10 1\n";

fn sssp(folder: &Path, arguments: &[&str]) -> std::process::Output {
    let graph = folder.join("graph.wel");
    std::fs::write(&graph, GRAPH).unwrap();
    let mut all = vec!["sssp", graph.to_str().unwrap(), "--format", "wel"];
    all.extend_from_slice(arguments);
    run(&all)
}

#[test]
fn every_algorithm_exports_the_same_distances() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    let export = ["--export-csv", file.to_str().unwrap()];
    let rows = |options: &[&str]| {
        assert_code(&sssp(folder.path(), &[options, &export].concat()), 0);
        std::fs::read_to_string(&file).unwrap()
    };
    for algorithm in ["auto", "buckets", "heap", "delta", "partitions", "phast"] {
        for order in ["dfs", "bfs"] {
            let options =
                ["--sources", "10,30", "--targets", "30,40", "--algorithm", algorithm, "--reorder", order];
            assert_eq!(
                rows(&options),
                "source,target,distance\n10,30,11\n10,40,\n30,30,0\n30,40,\n",
                "{algorithm}"
            );
        }
    }
    // On stdout they are alone; what is told of them besides is on stderr.
    let piped = sssp(folder.path(), &["--sources", "10", "--targets", "30", "--export-csv", "-"]);
    assert_eq!(text_of(&piped), "source,target,distance\n10,30,11\n");
    assert!(stderr(&piped).contains("searched"), "{}", stderr(&piped));
    for algorithm in ["auto", "buckets", "heap", "delta", "partitions", "phast"] {
        let near = rows(&["--sources", "10", "--limit", "5", "--parents", "--algorithm", algorithm]);
        assert_eq!(near, "source,target,distance,parent\n10,10,0,\n10,20,5,10\n", "{algorithm}");
        let far = ["--sources", "40", "--targets", "30,20,30", "--parents", "--algorithm", algorithm];
        let wanted = "source,target,distance,parent\n40,30,12,20\n40,20,6,10\n40,30,12,20\n";
        assert_eq!(rows(&far), wanted, "{algorithm}");
    }
}

#[test]
fn an_index_never_takes_the_place_of_a_pipe_or_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let save = |to: &Path| {
        assert_code(&sssp(folder.path(), &["--sources", "10", "--save-index", to.to_str().unwrap()]), 0);
    };
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Opened for both, a pipe keeps nobody waiting.
    let open =
        File::options().read(true).write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(&pipe);
    save(&pipe);
    assert!(pipe.metadata().unwrap().file_type().is_fifo());
    let mut begin = [0; 2];
    open.unwrap().read_exact(&mut begin).unwrap();
    assert_eq!(begin, *b"ft");

    let (file, link) = (folder.path().join("index"), folder.path().join("link"));
    fs::write(&file, "").unwrap();
    let usual = file.metadata().unwrap().mode();
    symlink(&file, &link).unwrap();
    save(&link);
    assert!(link.is_symlink() && file.metadata().unwrap().len() > 2);
    assert_eq!(file.metadata().unwrap().mode(), usual, "others may read it, too");
}

#[test]
fn the_document_has_what_was_promised() {
    let folder = tempfile::tempdir().unwrap();
    let document = json_of(&sssp(folder.path(), &["--sources", "40,10", "--num-threads", "1", "--json"]));
    let keys =
        ["schema_version", "parse_s", "preprocessing_s", "search_s", "edges_per_s", "receipt", "reason"];
    assert!(keys.iter().all(|key| !document[key].is_null()), "{document}");
    assert_eq!((&document["sources"], &document["threads"]), (&2.into(), &1.into()));
    assert_eq!((&document["graph"]["arcs"], &document["algorithm"]), (&4.into(), &"buckets".into()));
    // From 40: 1 + 6 + 12. From 10: 5 + 11.
    assert_eq!((&document["checksum"], &document["reached"]), (&35.into(), &7.into()));
    assert_eq!((&document["farthest"], document["query_s"].as_array().unwrap().len()), (&12.into(), 2));
    // Of targets, each counts once.
    for algorithm in ["buckets", "delta", "phast"] {
        let targets = ["--sources", "40", "--targets", "20,30,20", "--algorithm", algorithm, "--json"];
        let document = json(&stdout(&sssp(folder.path(), &targets)));
        assert_eq!((&document["checksum"], &document["reached"]), (&18.into(), &2.into()), "{algorithm}");
    }
    let drawn = |seed: &str| {
        let output = sssp(folder.path(), &["--random", "50", "--seed", seed, "--json"]);
        json(&stdout(&output))["checksum"].clone()
    };
    assert_eq!(drawn("7"), drawn("7"));
    let text = stdout(&sssp(folder.path(), &["--sources", "10"]));
    assert!(text.contains("buckets: ") && text.contains("1 of 1 source"), "{text}");
}

#[test]
fn wishes_that_cannot_be_met_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&[&str], u8, &str); 5] = [
        (&["--sources", "41"], 2, "no node 41"),
        (&["--sources", "10", "--targets", "77"], 2, "no node 77"),
        (&["--sources", "10", "--algorithm", "heap", "--delta", "3"], 2, "--delta means nothing"),
        (&["--sources", "10", "--export-csv", "/nowhere/rows.csv"], 1, "cannot write /nowhere/rows.csv"),
        (&[], 2, "--sources"),
    ];
    for (options, code, words) in cases {
        let output = sssp(folder.path(), options);
        assert_code(&output, i32::from(code));
        assert!(stderr(&output).contains(words), "{options:?}: {}", stderr(&output));
    }
}

#[test]
fn what_it_will_need_is_told_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.gr");
    // Far more than the file holds: its header is all that is looked at.
    std::fs::write(&path, "c large\np sp 4194304 8388608\na 1 2 3\n").unwrap();
    let graph = path.to_str().unwrap();
    let dry = ["sssp", graph, "--random", "2", "--dry-run", "--json", "--groups", "3x2"];
    let document = json(&stdout(&run(&dry)));
    let (need, mib) = (&document["need"], |count: u64| serde_json::Value::from(count << 20));
    assert_eq!((&need["graph_bytes"], &need["search_bytes"]), (&mib(96), &mib(32)), "{document}");
    assert_eq!((&need["copies"], &need["searches"]), (&2.into(), &2.into()));
    assert_eq!(need["bytes"], mib(2 * 96 + 2 * 32));
    assert!(document["available_bytes"].as_u64() > Some(0), "{document}");

    let out = folder.path().join("random.ftg");
    let make = ["graph", "generate", "random", "30", out.to_str().unwrap(), "--dry-run"];
    let text = stdout(&run(&make));
    assert!(text.contains("24 GiB") && text.contains("enough"), "{text}");
    assert!(!out.exists());

    assert_said(&sssp(folder.path(), &["--random", "2", "--dry-run"]), 1, &["does not tell its size"]);
}
