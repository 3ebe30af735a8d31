//! `firsttouch bench`: cases through the launcher of `tune`, each run a process of its own that says what it came to.

use crate::{
    assert_code, assert_said, assert_shown, firsttouch, json, json_of, run, skipped, stderr, stdout, words,
};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A case as small as it gets, and as few runs.
const TINY: &str = "bench gather --set table=64K --set reads=1000 --max-runs 2 --steps 1 --json";

fn tiny(rest: &[&str]) -> Value {
    json_of(&run(&[&words(TINY), rest].concat()))
}

#[test]
fn a_run_measures_the_limit_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("there"), "").unwrap();
    let limit = |asks: &str| {
        let mut command = firsttouch();
        command.args(["case", "stream", "--set", "array=2M", "--steps", "1"]);
        let output = command.arg("--limit-if").arg(path(asks)).arg("--result").arg(path("result")).output();
        assert_code(&output.unwrap(), 0);
        json(&fs::read_to_string(path("result")).unwrap())["limit"].clone()
    };
    assert!(limit("there").as_f64().is_some_and(|limit| limit > 0.0));
    assert_eq!(limit("not-there"), Value::Null);
}

#[test]
fn each_configuration_has_its_limit_and_a_share_of_it() {
    let cases = [
        ("stream --set array=2M --variants past-caches,plain", "copy bandwidth"),
        ("disk --set size=4M --variants direct,cached", "read bandwidth of the disk"),
    ];
    for (case, what) in cases {
        let words = format!("bench {case} --only variants --max-runs 3 --steps 1 --json");
        let output = run(&words.split(' ').collect::<Vec<_>>());
        assert_code(&output, 0);
        for configuration in configurations(&json(&stdout(&output))) {
            assert_eq!(configuration["runs"].as_array().map(Vec::len), Some(3), "{configuration}");
            let limit = &configuration["case"]["limit"];
            assert_eq!(limit["what"], what, "{configuration}");
            assert!(limit["value"].as_f64().is_some_and(|value| value > 0.0), "{configuration}");
            assert!(limit["share"].as_f64().is_some_and(|share| share > 0.0), "{configuration}");
        }
    }
}

/// The configurations of the only comparison of the only case.
fn configurations(document: &Value) -> &[Value] {
    assert_eq!(document["cases"].as_array().unwrap().len(), 1, "{document}");
    let comparisons = document["cases"][0]["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 1, "{document}");
    comparisons[0]["session"]["configurations"].as_array().unwrap()
}

fn refused(arguments: &[&str], parts: &[&str]) {
    let output = run(&[&["bench"], arguments].concat());
    assert_code(&output, 2);
    let told = stderr(&output);
    assert!(parts.iter().all(|part| told.contains(part)), "{arguments:?}: {told}");
}

#[test]
fn a_case_is_run_under_placements_and_says_what_it_came_to() {
    let scratch = tempfile::tempdir().unwrap();
    let mut command = firsttouch();
    command.args(words(TINY)).args(["--configs", "thp 4k"]).env("TMPDIR", scratch.path());
    let document = json_of(&command.output().unwrap());
    assert_eq!((&document["kind"], &document["quick"]), (&json!("bench"), &json!(false)));
    assert_eq!(document["cases"][0]["comparisons"][0]["of"], "placements");
    let configurations = configurations(&document);
    let asked: Vec<&Value> = configurations.iter().map(|one| &one["asked"]["pages"]).collect();
    assert_eq!(asked, [&Value::Null, &json!("thp"), &json!("4k")]);
    for one in configurations {
        let case = &one["case"];
        assert_eq!(case["work"], json!({"bytes": 64_000, "operations": 1000}), "{one}");
        assert_eq!(case["parameters"], json!({"table": "64K", "reads": "1000"}));
        // By hand: 64 bytes and one read each, by the time of a step that every run says.
        let seconds: Vec<f64> =
            one["runs"].as_array().unwrap().iter().map(|run| run["judged"].as_f64().unwrap()).collect();
        let mean = seconds.iter().product::<f64>().powf(1.0 / seconds.len() as f64);
        let figure = case["figure"]["value"].as_f64().unwrap();
        assert!((figure * mean * 1e9 / 1000.0 - 1.0).abs() < 1e-9, "{one}");
        assert_eq!(case["checksum"], configurations[0]["case"]["checksum"]);
    }
    // Nobody has to know where the results lay.
    let (text, place) = (document.to_string(), scratch.path().to_str().unwrap());
    assert!(!text.contains(place) && text.contains("json:result:/seconds"), "{text}");
}

#[test]
fn values_are_compared_in_place_of_placements() {
    let document = tiny(&["--vary", "threads=1,2", "--vary", "reads=1000,2000"]);
    assert_eq!(document["cases"][0]["comparisons"][0]["of"], "varied");
    let seen: Vec<(&Value, &Value)> = configurations(&document)
        .iter()
        .map(|one| (&one["varied"], &one["case"]["work"]["operations"]))
        .collect();
    let value = |threads: &str, reads: &str| json!({"threads": threads, "reads": reads});
    let wanted = [
        (value("1", "1000"), json!(1000)),
        (value("1", "2000"), json!(2000)),
        (value("2", "1000"), json!(1000)),
        (value("2", "2000"), json!(2000)),
    ];
    assert_eq!(seen, wanted.iter().map(|(varied, work)| (varied, work)).collect::<Vec<_>>());
}

#[test]
fn every_form_of_the_document_opens_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (page, table, list) = (file("page.html"), file("table.md"), file("runs.csv"));
    let document =
        tiny(&["--configs", "thp", "--export-html", &page, "--export-md", &table, "--export-csv", &list]);
    let reopened = run(&["report", &page, "--json"]);
    assert_eq!(json_of(&reopened), document);
    assert!(fs::read_to_string(&table).unwrap().contains("## gather"));
    let rows = fs::read_to_string(&list).unwrap();
    assert!(rows.lines().count() > 4 && rows.contains("\ngather,placements,"), "{rows}");
    let shown = run(&["report", &page]);
    assert!(stdout(&shown).contains("Placements of `gather`"), "{}", stdout(&shown));
}

/// The table of that name in a document.
fn table<'a>(document: &'a Value, name: &str) -> &'a Value {
    let articles = document["articles"].as_array().expect("articles");
    let mut tables = articles.iter().flat_map(|article| article["tables"].as_array().expect("tables"));
    tables.find(|table| table["name"] == name).unwrap_or_else(|| panic!("no table {name} in {document}"))
}

#[test]
fn tables_of_articles_are_repeated_theirs_beside_ours() {
    const TABLES: &str = "--documents=hash-usage,hash-speed,techniques,oltp,n30";
    let sizes = ["hash.total-size=1M", "creation.size=4M", "sssp.scale=8"].map(|size| ["--set", size]);
    let sizes = [sizes.as_flattened(), &["--max-runs", "2", "--steps", "1"]].concat();
    let document = json_of(&run(&[&["bench", TABLES, "--json"], &sizes[..]].concat()));
    // Published: 42 % for one producer, which is the first way; here: what a run notes, of a session that the report holds.
    let usage = table(&document, "hash-usage");
    assert_eq!(usage["rows"][0]["published"][0]["value"], 42.0);
    let here = &usage["rows"][0]["here"][0];
    assert_eq!((&here["configuration"], &here["unit"]), (&json!("baseline producers=1"), &json!("%")));
    let value = here["figure"]["value"].as_f64().expect("a figure");
    assert!((0.0..=100.0).contains(&value), "{usage}");
    let case = &document["cases"][usage["case"].as_u64().expect("a place") as usize];
    assert_eq!((&case["name"], &case["parameters"]["total-size"]), (&json!("hash"), &json!("1M")));
    let noted = &case["comparisons"][0]["session"]["configurations"][0]["case"]["notes"][0];
    assert_eq!(noted, &json!(format!("consumer thread usage: {value:.1} %")));
    // Two tables of one run.
    assert_eq!(
        (document["cases"].as_array().map(Vec::len), &table(&document, "hash-speed")["case"]),
        (Some(2), &usage["case"])
    );
    // A way that is another's, and ratios of what the article compares with.
    let techniques = table(&document, "techniques");
    assert_eq!(techniques["rows"][3]["here"][0]["configuration"], "variant=fill");
    assert!(techniques["rows"][2]["reason"].is_string() && techniques["rows"][2]["here"].is_null());
    assert!(techniques["command"].to_string().contains("size=4M"), "{techniques}");
    assert!(table(&document, "oltp")["reason"].as_str().is_some_and(|why| why.contains("vendor")));
    // In whole 96 GiB are needed.
    let n30 = table(&document, "n30");
    assert!(
        n30["case"].is_u64() || n30["reason"].as_str().is_some_and(|why| why.contains("96 GiB")),
        "{n30}"
    );
}

#[test]
fn tables_of_articles_are_listed_without_a_run() {
    let output = run(&["bench", "--documents", "--list"]);
    assert_shown(&output, &["`qr-1000`", "42.988 s", "`kneighbor`", "268.19 s"]);
    assert_shown(&output, &["firsttouch bench gram-schmidt", "Not repeated here"]);
    assert!(stderr(&output).is_empty());
    refused(&["--documents=nothing"], &["nothing", "numalb", "--list"]);
    refused(&["dgemm", "--documents"], &["cannot be used with"]);
    refused(&["--documents=lm", "--set", "hash.producers=1"], &["`producers`", "lm.responses"]);
}

#[test]
fn cases_are_listed_with_what_can_be_chosen() {
    assert_shown(&run(&["bench", "--list", "gather"]), &["--set table=1G"]);
    let all = run(&["bench", "--list", "--json"]);
    let list = json(&stdout(&all));
    assert_eq!(list["kind"], "case-list");
    let names: Vec<&str> =
        list["cases"].as_array().unwrap().iter().map(|case| case["name"].as_str().unwrap()).collect();
    assert!(["gather", "demo"].iter().all(|name| names.contains(name)), "{names:?}");
}

#[test]
fn what_there_is_not_is_refused_with_what_there_is() {
    refused(&["nothing"], &["there is no case `nothing`", "--list"]);
    refused(&["gather", "--set", "size=1"], &["parameter `size`", "gather.table"]);
    refused(&["gather", "--set", "demo.order=3"], &["parameter `order`"]);
    refused(&["gather", "--set", "reads=none"], &["`reads` cannot be `none`", "a whole number"]);
    refused(&["gather", "--set", "reads"], &["expected NAME=VALUE"]);
    refused(&["gather", "--variants", "other"], &["no variant `other`", "it has gather"]);
    refused(&["gather", "--vary", "order=1,2"], &["no parameter `order`", "threads"]);
    refused(&["gather", "--only", "variants"], &["nothing can be compared here"]);
    refused(&["gather", "--list", "--vary", "reads=1,2"], &["--list"]);
}

#[test]
fn no_threads_are_no_number_of_threads() {
    for vary in ["threads=0,1", "threads=1,many"] {
        refused(&["creation", "--vary", vary], &["expected a number, 1 or more"]);
    }
}

/// Somebody else's program that says a result of its own, under the name of one that a variant needs.
#[test]
fn a_variant_that_comes_to_something_else_ends_the_comparison_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let said = r#"echo '{"seconds": 0.001, "checksum": {"value": 12345, "within": 1e-9}}' > "$FIRSTTOUCH_CASE_RESULT""#;
    let program = folder.path().join("Rscript");
    fs::write(&program, format!("#!/bin/sh\n{said}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut command = firsttouch();
    command.args(words("bench hilbert --quick --set order=20 --variants householder,r --only variants"));
    let output = command.args(["--max-runs", "2", "--json"]).env("PATH", path).output().unwrap();
    assert_code(&output, 1);
    let told = stderr(&output);
    assert!(told.contains("12345"), "{told}");
    assert!(told.contains("one of them is wrong"), "{told}");
    // What there is of other comparisons is shown all the same.
    assert_eq!(json(&stdout(&output))["cases"][0]["comparisons"], json!([]));
}

/// Neither what somebody names for all programs decides a comparison, nor that a library does not know the processor.
#[test]
fn libraries_run_the_code_that_the_processor_can() {
    if !fs::read_to_string("/proc/cpuinfo").unwrap().contains(" avx2 ") {
        return skipped("the processor has no AVX2");
    }
    let folder = tempfile::tempdir().unwrap();
    // The last number of BLIS 0.9 is that of plain C; others know no such number.
    for (variant, variable, named) in
        [("openblas", "OPENBLAS_CORETYPE", "Prescott"), ("blis", "BLIS_ARCH_TYPE", "25")]
    {
        let result = folder.path().join(variant);
        let mut command = firsttouch();
        command.args(["case", "dgemm", "--set", "n=100", "--variant", variant, "--steps", "1", "--result"]);
        let output = command.arg(&result).env(variable, named).output().unwrap();
        if stderr(&output).contains("is not installed") {
            skipped(&stderr(&output));
            continue;
        }
        assert_code(&output, 0);
        let notes = &json(&fs::read_to_string(&result).unwrap())["notes"];
        let kernels = notes[0].as_str().and_then(|note| note.strip_prefix("kernels for ")).unwrap();
        assert!(!["Prescott", "generic"].contains(&kernels), "{notes}");
    }
}

#[test]
fn a_named_array_is_placed_alone_and_read_back() {
    let configs = ["--set", "table=32M", "--configs", "plain,object=table:thp plain,object=table:4k:local"];
    let document = tiny(&configs);
    let configurations = configurations(&document);
    assert_eq!(configurations[1]["asked"]["objects"], json!({"table": "thp"}));
    assert_eq!(configurations[2]["asked"]["objects"], json!({"table": "4k:local"}));
    assert_eq!(configurations[0]["case"]["objects"], Value::Null, "nothing was asked of it");
    let bytes = 32_u64 << 20;
    for (one, huge) in [(&configurations[1], bytes), (&configurations[2], 0)] {
        let table = &one["case"]["objects"]["table"];
        assert_eq!(table["bytes"], bytes, "{one}");
        // Older kernels than 6.7 do not tell.
        if !table["huge_bytes"].is_null() {
            assert_eq!(table["huge_bytes"], huge, "{one}");
        }
        let by_node = table["bytes_by_node"].as_object().unwrap();
        assert_eq!(by_node.values().map(|bytes| bytes.as_u64().unwrap()).sum::<u64>(), bytes, "{one}");
    }
    refused(&["gather", "--configs", "plain,object=ta/ble:thp"], &["cannot be the name of memory"]);
    refused(&["gather", "--configs", "plain,object=table:large"], &["`large` is not a kind of pages"]);
}

#[test]
fn placements_that_are_none_are_told_before_variants_are_measured() {
    let output = run(&[&words(TINY)[..], &["--configs", "thp bogus"]].concat());
    assert_code(&output, 2);
    let told = stderr(&output);
    assert!(told.starts_with("error: `bogus` is not a placement"), "{told}");
    assert!(told.contains("hint: firsttouch bench "), "{told}");
}

/// Arcs of nodes in both directions, one of them of weight 0, and a node that nothing leads to.
const GRAPH: &str = "p sp 5 6\na 1 2 4\na 2 1 4\na 2 3 0\na 3 2 0\na 3 4 7\na 4 1 1\n";

/// The threads and the values of the only comparison that some options of `bench sssp` give on that graph.
fn searched(options: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("graph.gr");
    fs::write(&file, GRAPH).unwrap();
    let graph = format!("graph={}", file.display());
    let words =
        ["bench", "sssp", "--set", &graph, "--set", "from=1:3", "--max-runs", "2", "--steps", "1", "--json"];
    json_of(&run(&[&words[..], options].concat()))
}

#[test]
fn shortest_paths_are_found_alike_by_all_variants() {
    let document = searched(&["--only", "variants"]);
    let configurations = configurations(&document);
    let variants: Vec<&Value> = configurations.iter().map(|one| &one["case"]["variant"]).collect();
    assert_eq!(variants, ["buckets", "unbound", "heap", "delta", "partitions"]);
    for one in configurations {
        let case = &one["case"];
        assert_eq!(case["checksum"], configurations[0]["case"]["checksum"], "{one}");
        // From each of both sources four nodes with all six arcs; five distances, there and back.
        assert_eq!(case["work"], json!({"operations": 12, "bytes": 2 * (8 * 4 + 8 * 6) + 2 * 2 * 4 * 5}));
        assert_eq!((&case["unit"], &case["limit"]["what"]), (&json!("Garcs/s"), &json!("read bandwidth")));
        assert_eq!(case["notes"], json!(["5 nodes, 6 arcs"]));
    }
}

#[test]
fn shortest_paths_are_searched_under_placements_with_receipts() {
    let document = searched(&["--configs", "thp 4k", "--only", "placements"]);
    for (one, pages) in configurations(&document)[1..].iter().zip(["thp", "4k"]) {
        assert_eq!(one["asked"]["pages"], pages);
        assert!(one["obtained"].is_object(), "{one}");
    }
}

#[test]
fn groups_of_cores_are_varied_as_this_machine_has_them() {
    let document = searched(&["--vary", "groups=1x1,1x1-across"]);
    let notes: Vec<&Value> = configurations(&document).iter().map(|one| &one["case"]["notes"][0]).collect();
    assert_eq!(notes, ["5 nodes, 6 arcs"; 2]);
    let machine = json(&stdout(&run(&["status", "--json"])));
    if machine["machine"]["cores"].as_array().unwrap().len() > 1 {
        let document = searched(&["--vary", "groups=all"]);
        let configurations = configurations(&document);
        let groups = configurations[0]["varied"]["groups"].as_str().unwrap().strip_prefix("1x").unwrap();
        let note = format!("5 nodes, 6 arcs, a copy for each of {groups} groups");
        assert_eq!(configurations[0]["case"]["notes"][0], json!(note));
        assert_eq!(configurations[0]["case"]["checksum"], configurations[1]["case"]["checksum"]);
    }
    refused(&["sssp", "--vary", "groups=2x"], &["groups=2x", "6x4-across"]);
    refused(&["sssp", "--vary", "groups=1x1,2x1", "--vary", "threads=1,2"], &["both cannot be varied"]);
    refused(&["sssp", "--groups", "1x1", "--num-threads", "1"], &["cannot be used with"]);
}

/// Both processes have rows of the vectors, CPUs of their own, and come to what one comes to.
#[cfg(feature = "mpi")]
#[test]
fn ranks_of_mpi_share_a_case() {
    let words = "bench gram-schmidt --quick --set n=16 --variants modified,classic --vary ranks=1,2 --max-runs 2 --json";
    let mut command = firsttouch();
    command.args(words.split(' ')).args(["--mpi", "mpirun --allow-run-as-root --oversubscribe"]);
    let document = json_of(&command.output().unwrap());
    let configurations = configurations(&document);
    assert_eq!(configurations.len(), 4);
    for one in configurations {
        let (case, ranks) = (&one["case"], &one["varied"]["ranks"]);
        let note = case["notes"][1].as_str().unwrap();
        let end = format!("of the time of the first of {} ranks", ranks.as_str().unwrap());
        assert!(note.starts_with("messages took ") && note.ends_with(&end), "{note}");
        // 32 vectors of 4096 numbers, read three times and written once, however many share them.
        assert_eq!(case["work"]["bytes"], 4 * 32 * 4096 * 8);
        let value = |one: &Value| one["case"]["checksum"].as_str().unwrap().parse::<f64>().unwrap();
        assert!((value(one) / value(&configurations[0]) - 1.0).abs() < 1e-10, "{document}");
    }
    let table = words.replace("gram-schmidt", "--documents=gram-schmidt-mpi");
    let words = table.split(' ').filter(|word| !word.contains("n=16") && !word.contains("modified"));
    let words = words.filter(|word| !["--set", "--variants", "--vary", "ranks=1,2"].contains(word));
    // The launcher is the one on the search path: root's has to be told that it may.
    let mut command = firsttouch();
    command.args(words).env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let document = json_of(&command.output().unwrap());
    let row = &document["articles"][0]["tables"][0]["rows"][0];
    assert_eq!((&row["way"], &row["published"][0]["value"]), (&json!("modified"), &json!(15.3)));
    let share = row["here"][0]["figure"]["value"].as_f64().unwrap();
    assert!((0.0..=100.0).contains(&share) && row["here"][0]["unit"] == "%", "{row}");

    refused(&["gather", "--vary", "ranks=1,2"], &["`gather` has no ranks", "gram-schmidt"]);
}

#[test]
fn ranks_are_refused_where_they_cannot_be() {
    let ranks = ["gram-schmidt", "--vary", "ranks=1,2"];
    refused(&[&ranks[..], &["--configs", "thp"]].concat(), &["neither groups nor placements", "tune --job"]);
    refused(&[&ranks[..], &["--groups", "1x1"]].concat(), &["neither groups nor placements"]);
    if cfg!(not(feature = "mpi")) {
        refused(&ranks, &["built without MPI", "--features mpi"]);
        let document = json_of(&run(&["bench", "--documents=gram-schmidt-mpi", "--quick", "--json"]));
        let reason = document["articles"][0]["tables"][0]["reason"].as_str().unwrap();
        assert!(reason.contains("built without MPI"), "{reason}");
    }
}

#[test]
fn a_graph_that_does_not_read_is_said() {
    let output =
        run(&["bench", "sssp", "--set", "graph=/nowhere.gr", "--only", "variants", "--max-runs", "2"]);
    assert_said(&output, 1, &["/nowhere.gr is not read as a graph"]);
}

#[test]
fn strategies_of_balancing_come_to_the_same() {
    let words = "bench balance --quick --only variants --variants none,greedy,numa,metis --set tasks=20 --set state=8K \
                 --set rounds=20000 --max-runs 2 --json";
    let document = json_of(&run(&words.split_whitespace().collect::<Vec<_>>()));
    let configurations = configurations(&document);
    // METIS is there, or said to be missing.
    let missing = document["cases"][0]["missing"].as_array().map_or(0, Vec::len);
    assert_eq!(configurations.len() + missing, 4, "{document}");
    for one in configurations {
        assert_eq!(one["case"]["checksum"], configurations[0]["case"]["checksum"], "{one}");
        assert!(one["case"]["notes"][0].as_str().unwrap().contains("20 tasks"), "{one}");
    }
}

/// What a search over arrays kept follows from what its steps recommended, and every array that was placed is read back.
#[test]
fn arrays_that_deserve_a_place_are_found_step_by_step() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept.toml");
    let (small, places) = (["--set", "array=4M", "--steps", "1", "--max-runs", "8"], ["--places", "thp 4k"]);
    let mut arguments = vec!["bench", "stream", "--objects=a,c", "--json", "--save", file.to_str().unwrap()];
    arguments.extend(small.iter().chain(&places));
    let document = json_of(&run(&arguments));
    let case = &document["cases"][0];
    let bytes = case["objects"]["arrays"]["a"].as_u64().unwrap();
    assert!(bytes >= 4 << 20, "{case}");
    assert_eq!(case["objects"]["arrays"].as_object().unwrap().keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    let steps = case["comparisons"].as_array().unwrap();
    let first = steps[0]["session"]["configurations"].as_array().unwrap();
    let names: Vec<&str> = first.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["baseline", "a-thp", "a-4k", "c-thp", "c-4k"]);
    for (one, array) in first.iter().skip(1).zip(["a", "a", "c", "c"]) {
        let obtained = one["case"]["objects"].as_object().unwrap();
        assert_eq!(obtained.keys().collect::<Vec<_>>(), [array], "{one}");
        assert!(obtained[array]["bytes"].as_u64().unwrap() >= bytes, "{one}");
    }
    // By hand: a step keeps what is recommended and not refuted, and its place is in every configuration of the next.
    let mut kept = serde_json::Map::new();
    let mut ended = false;
    for step in steps {
        assert_eq!(step["of"], "objects");
        assert!(!ended || kept.len() > 1, "a step after one that kept nothing");
        let session = &step["session"];
        let configurations = session["configurations"].as_array().unwrap();
        if configurations[1]["name"] == "all" {
            assert_eq!(configurations[1]["asked"]["objects"], Value::Object(kept.clone()));
            continue;
        }
        let before = configurations[0]["asked"]["objects"].as_object().cloned().unwrap_or_default();
        assert_eq!(before, kept, "{step}");
        let recommended = &session["recommended"];
        let found = configurations.iter().find(|one| one["name"] == *recommended && !recommended.is_null());
        match found.filter(|_| session["confirmation"]["state"] != "refuted") {
            Some(found) => kept = found["asked"]["objects"].as_object().unwrap().clone(),
            None => ended = true,
        }
    }
    let placement = case["objects"]["placement"]["objects"].as_object().cloned().unwrap_or_default();
    assert_eq!(placement, kept);
    if let Ok(profile) = fs::read_to_string(&file) {
        assert!(kept.keys().all(|array| profile.contains(&format!("{array} = "))), "{profile}");
    }
    let shown = stdout(&run(&words("bench gather --objects --set table=1M --steps 1 --max-runs 2")));
    assert!(shown.contains("deserve") && shown.contains("Arrays: table 1 MiB"), "{shown}");
}

#[test]
fn a_search_over_arrays_that_cannot_be_is_refused() {
    refused(
        &["gather", "--objects=tabel", "--set", "table=64K"],
        &["there is no array `tabel`", "there are table"],
    );
    refused(&["gather", "--objects", "--places", "large"], &["`large` is not a kind of pages"]);
    refused(
        &["gather", "--objects", "--set", "table=64K", "--places", "thp:bind=999"],
        &["no node 999", "hint"],
    );
    refused(&["--objects"], &["CASE"]);
    refused(&["gather", "--places", "thp"], &["--objects"]);
    refused(&["gather", "stream", "--objects", "--save", "x"], &["one case"]);
    refused(&["gather", "--objects", "--vary", "threads=1,2"], &["cannot be used with"]);
}
