//! `firsttouch graph`: graphs made, converted and described; what is said of bad ones.

use crate::{assert_code, assert_said, json_of, run, stderr, stdout, text_of};
use std::path::Path;

/// Runs with the last argument inside a folder.
fn in_folder(folder: &Path, arguments: &[&str], files: &[&str]) -> std::process::Output {
    let files: Vec<String> = files.iter().map(|name| folder.join(name).display().to_string()).collect();
    let mut all = arguments.to_vec();
    all.extend(files.iter().map(String::as_str));
    run(&all)
}

#[test]
fn a_graph_is_made_converted_and_described() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let made = in_folder(here, &["graph", "generate", "streets", "10", "--seed", "3", "--json"], &["s.ftg"]);
    let made = json_of(&made);
    assert_eq!((&made["graph"]["nodes"], &made["seed"]), (&1024.into(), &3.into()), "{made}");

    let converted =
        in_folder(here, &["graph", "convert", "--reorder", "hilbert", "--json"], &["s.ftg", "t.ftg"]);
    assert_eq!(json_of(&converted)["graph"]["is_reordered"], true);
    assert_code(&in_folder(here, &["graph", "convert"], &["t.ftg", "t.gr.gz"]), 0);
    assert_code(&in_folder(here, &["graph", "convert"], &["s.ftg", "s.gr"]), 0);
    let described =
        |name: &str| json_of(&in_folder(here, &["graph", "info", "--groups", "1x1", "--json"], &[name]));
    let (packed, plain) = (described("t.gr.gz"), described("s.gr"));
    assert_eq!(packed["graph"], plain["graph"]);
    assert_eq!(plain["graph"]["arcs"], made["graph"]["arcs"]);
    assert_eq!((&plain["graph"]["first_id"], &plain["receipt"]["copies"]), (&1.into(), &1.into()));
    assert!(plain["parse_s"].as_f64().unwrap() > 0.0 && plain["file_bytes"].as_u64().unwrap() > 1000);
    let obtained = &plain["receipt"]["obtained"]["bytes_by_page_size"];
    assert!(obtained.as_object().is_some_and(|sizes| !sizes.is_empty()), "{plain}");

    let text = in_folder(here, &["graph", "info", "--pages", "plain"], &["t.ftg"]);
    assert_code(&text, 0);
    for words in
        ["nodes       1024", "from 0 on, in another order inside, with coordinates", "page cache", "MB/s"]
    {
        assert!(stdout(&text).contains(words), "{words}: {}", stdout(&text));
    }
}

/// A header may not allocate: a graph has the memory that the length of its file pays for, or that it is allowed.
#[test]
fn nodes_beyond_the_length_of_a_file_need_an_allowance() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    let info = |name: &str, options: &[&str]| {
        let words = [&["graph", "info", "--pages", "plain", "--json"], options].concat();
        in_folder(folder.path(), &words, &[name])
    };
    // A gigabyte of nodes by lines that are not there.
    write("blank.gr", format!("p sp 134217728 2097152\n{}", "\n".repeat(8 << 20)));
    let output = info("blank.gr", &[]);
    assert_code(&output, 1);
    let said = stderr(&output);
    assert!(
        said.contains("line 1 promises 134217728 nodes") && said.contains("is believed 8388631"),
        "{said}"
    );
    assert!(said.contains("\n\nhint: ") && said.contains("--most-memory SIZE"), "{said}");

    write("alone.gr", "p sp 2000000 1\na 1 2000000 5\n".to_owned());
    assert_code(&info("alone.gr", &[]), 1);
    let output = info("alone.gr", &["--most-memory", "16M"]);
    assert_eq!(json_of(&output)["graph"]["nodes"], 2_000_000);
}

#[test]
fn a_graph_goes_to_stdout_whole() {
    let text = text_of(&run(&["graph", "generate", "random", "4", "-", "--to", "wel", "--weights", "7-7"]));
    assert!(text.starts_with("# Nodes: 16 Edges: 32\n"), "{text}");
    assert_eq!(text.lines().skip(1).filter(|line| line.ends_with(" 7")).count(), 32, "{text}");
}

/// What is made is described as it is in the file.
#[test]
fn a_graph_that_is_made_is_described_as_it_is_written() {
    for (format, first) in [("gr", 1), ("mtx", 1), ("wel", 0), ("ftg", 0)] {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("made.{format}");
        let told = |words: &[&str]| json_of(&in_folder(folder.path(), words, &[&name]));
        let made = told(&["graph", "generate", "random", "6", "--json"]);
        let read = told(&["graph", "info", "--json"]);
        for key in ["format", "first_id", "nodes", "arcs"] {
            assert_eq!(made["graph"][key], read["graph"][key], "{format} {key}");
        }
        assert_eq!((&made["graph"]["format"], &made["graph"]["first_id"]), (&format.into(), &first.into()));
    }
}

#[test]
fn bad_graphs_are_refused_with_the_line_and_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.gr"), "p sp 2 1\na 1 3 5\n").unwrap();
    let output = in_folder(folder.path(), &["graph", "info"], &["bad.gr"]);
    assert_code(&output, 1);
    let said = stderr(&output);
    assert!(said.contains("line 2: there is no node 3: they are numbered from 1 to 2"), "{said}");
    assert!(said.contains("hint: the header promises too few nodes"), "{said}");

    let missing = in_folder(folder.path(), &["graph", "info"], &["missing.gr"]);
    assert_said(&missing, 1, &["No such file"]);
    assert_said(&run(&["graph", "generate", "random", "4", "/tmp/graph-without-ending"]), 2, &["--to gr"]);
    for wrong in [["--weights", "9-1"], ["--weights", "x"], ["--num-threads", "0"]] {
        assert_code(&run(&["graph", "generate", "random", "4", "-", wrong[0], wrong[1]]), 2);
    }
    assert_code(&run(&["graph", "info", "x.gr", "--reorder", "sideways"]), 2);
}
