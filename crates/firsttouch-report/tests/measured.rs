//! Files of other tools, as these wrote them, and what is wrong with others.

mod common;

use common::markup;
use firsttouch_documents::{AnyDocument, DecisionReport, to_json};
use firsttouch_experiment::{MeasuredConfiguration, Metric, Verdict};
use firsttouch_report::measured::{
    DecideError, DecideOptions, MeasuredError, MeasuredFile, MeasuredFormat, criterion_name, decide, read,
};
use firsttouch_report::{Format, Style, csv, formats, html, markdown, open, show, text};
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;

/// A file as a tool wrote it; what told of the machine is taken out.
fn written(name: &str) -> Vec<u8> {
    fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/elsewhere").join(name)).expect("a fixture")
}

fn read_text(text: &str) -> Result<MeasuredFile, MeasuredError> {
    read(text.as_bytes())
}

/// Names and numbers of runs of a file with one session.
fn shape(file: &MeasuredFile) -> Vec<(&str, usize)> {
    let [session] = &file.sessions[..] else { panic!("{} sessions", file.sessions.len()) };
    session.configurations.iter().map(|one| (one.name.as_str(), one.runs.len())).collect()
}

fn values(configuration: &MeasuredConfiguration) -> Vec<f64> {
    configuration.runs.iter().map(|run| run.value).collect()
}

fn options() -> DecideOptions {
    DecideOptions { baseline: None, higher_is_better: false, same_band: 0.02, by_file: false }
}

fn decided(files: &[(&str, &str)], options: &DecideOptions) -> Result<DecisionReport, DecideError> {
    let read =
        |(name, text): &(&str, &str)| ((*name).to_owned(), read_text(text).expect("a file that is read"));
    decide(files.iter().map(read).collect(), options)
}

/// Hyperfine's file of these commands and times.
fn hyperfine(commands: &[(&str, &[f64])]) -> String {
    let result = |(command, times): &(&str, &[f64])| serde_json::json!({"command": command, "times": times});
    serde_json::json!({"results": commands.iter().map(result).collect::<Vec<_>>()}).to_string()
}

const OLD: [f64; 8] = [5.1, 5.0, 5.2, 5.1, 5.0, 5.12, 5.2, 5.05];
const NEW: [f64; 8] = [4.1, 4.2, 4.1, 4.0, 4.1, 4.21, 4.0, 4.15];

#[test]
fn hyperfine_is_read() {
    let file = read(&written("hyperfine.json")).unwrap();
    assert_eq!((file.format, file.unit.as_deref()), (MeasuredFormat::Hyperfine, Some("s")));
    assert_eq!(shape(&file), [("true", 12), ("sleep 0.002", 12)]);
    assert_eq!(file.sessions[0].configurations[0].runs[0].value, 0.004_241_163);
    assert!(!file.sessions[0].is_paired());
    let file = read(&written("hyperfine-parameters.json")).unwrap();
    assert_eq!(shape(&file), [("same (a=x)", 3), ("same (a=y)", 3)]);
    let file = read(&written("hyperfine-failures.json")).unwrap();
    assert!(file.notes[0].starts_with("fails is left out: all of its 4 runs ended"), "{:?}", file.notes);
    let ended = |command, code| serde_json::json!({"command": command, "times": [1.0], "exit_codes": [code]});
    let of = |codes: [i64; 2]| {
        let results = [ended("a", codes[0]), ended("b", codes[1])];
        read_text(&serde_json::json!({"results": results}).to_string()).unwrap()
    };
    let failed = of([0, 2]);
    assert_eq!(
        (shape(&failed), failed.notes[0].as_str()),
        (vec![("a", 1)], "b is left out: its run ended with another status than 0")
    );
    // As diff and grep end, which is nothing to them.
    let like_diff = of([1, 1]);
    assert_eq!(shape(&like_diff), [("a", 1), ("b", 1)]);
    assert!(like_diff.notes[0].starts_with("1 of 1 run of a ended"), "{:?}", like_diff.notes);
    let twice = read_text(&hyperfine(&[("a", &[1.0]), ("a", &[2.0]), ("a", &[3.0])])).unwrap();
    assert_eq!(shape(&twice), [("a", 1), ("a #2", 1), ("a #3", 1)]);
    let missing = read_text(r#"{"results":[{"command":"a"},{"command":"b","times":[1]}]}"#).unwrap();
    assert_eq!((shape(&missing), missing.notes.len()), (vec![("b", 1)], 1));
    // hyperfine takes off what its shell took, and of what is shorter nothing is left.
    let zeros = read_text(&hyperfine(&[("a", &[0.0, 1e-5, 0.0]), ("b", &[2.0])])).unwrap();
    assert_eq!(shape(&zeros), [("b", 1)]);
    assert!(zeros.notes[0].starts_with("a is left out: 2 of its 3 times are 0"), "{:?}", zeros.notes);
    let error = read_text(&hyperfine(&[("a", &[0.0])])).unwrap_err();
    assert!(error.hint().contains("hyperfine -N"), "{}", error.hint());
}

#[test]
fn google_benchmark_is_read() {
    let file = read(&written("google-benchmark.json")).unwrap();
    assert_eq!((file.format, file.unit.as_deref()), (MeasuredFormat::GoogleBenchmark, Some("s")));
    assert_eq!(shape(&file), [("BM_sum/1000", 5), ("BM_sum/1100", 5)]);
    assert_eq!(file.notes, ["BM_err is left out: it ended with an error, or was skipped"]);
    let first = file.sessions[0].configurations[0].runs[0].value;
    assert!((first - 3.958_803_344_390_222e-7).abs() < 1e-20, "{first}");
    let error = read(&written("google-benchmark-aggregates.json")).unwrap_err();
    assert!(matches!(error, MeasuredError::Nothing { format: MeasuredFormat::GoogleBenchmark }));
    assert!(error.hint().contains("--benchmark_repetitions"));
    let entry = |index: u32, time: f64, unit: &str| {
        serde_json::json!({"name": "b", "run_name": "b", "run_type": "iteration", "repetition_index": index,
            "real_time": time, "time_unit": unit})
    };
    let output =
        |entries: &[serde_json::Value]| serde_json::json!({"context": {}, "benchmarks": entries}).to_string();
    let mixed = read_text(&output(&[entry(1, 2.0, "ms"), entry(0, 3.0, "us")])).unwrap();
    assert_eq!(values(&mixed.sessions[0].configurations[0]), [3e-6, 2e-3]);
    // Counters of 0/0 and 1/0, and a name that has the words and quotation marks.
    let mut named = entry(0, 1.0, "ns");
    named["name"] = r#"say "NaN\" or -Infinity"#.into();
    named["run_name"] = named["name"].clone();
    let counted = output(&[named])
        .replace("\"run_type\"", "\"rate\":NaN,\"gain\":-Infinity,\"loss\":-NaN,\"run_type\"");
    assert_eq!(shape(&read_text(&counted).unwrap()), [(r#"say "NaN\" or -Infinity"#, 1)]);
    let error = read_text(&output(&[entry(0, 1.0, "fortnights")])).unwrap_err().to_string();
    assert!(error.contains("`fortnights`"), "{error}");
}

#[test]
fn criterion_is_read() {
    let mut file = read(&written("criterion/new/sample.json")).unwrap();
    assert!(file.lacks_name() && file.format == MeasuredFormat::Criterion);
    let name = criterion_name(&written("criterion/new/benchmark.json")).unwrap();
    file.name(&name);
    assert_eq!(shape(&file), [("sum/count/100", 10)]);
    let value = file.sessions[0].configurations[0].runs[0].value;
    assert!((1e-8..1e-6).contains(&value), "{value} seconds");
    for beside in ["criterion/new/benchmark.json", "criterion/new/estimates.json"] {
        assert!(matches!(read(&written(beside)), Err(MeasuredError::BesideSample)), "{beside}");
    }
    let error = read_text(r#"{"sampling_mode":"Flat","iters":[1,2],"times":[1]}"#).unwrap_err();
    assert!(error.to_string().contains("1 times of 2 samples"), "{error}");
    let file = read(&written("cargo-criterion.json")).unwrap();
    assert_eq!((file.format, file.unit.as_deref()), (MeasuredFormat::CargoCriterion, Some("s")));
    assert_eq!(shape(&file), [("sum/count/100", 10), ("sum/count/200", 10), ("sum/large input", 10)]);
    // What was appended is another session.
    let twice = String::from_utf8(written("cargo-criterion.json")).unwrap().repeat(2);
    let names: Vec<String> =
        read_text(&twice).unwrap().sessions.into_iter().map(|session| session.name).collect();
    assert_eq!(names, ["run 1", "run 2"]);
}

#[test]
fn tables_are_read_however_they_are_written() {
    let plain = read_text("block,configuration,value\n0,a,1.5\n0,b,2\n1,b,2.5\n1,a,1.25\n").unwrap();
    assert_eq!(shape(&plain), [("a", 2), ("b", 2)]);
    assert!(plain.sessions[0].is_paired() && plain.unit.is_none());
    let odd = "\u{feff}# by hand\r\n value , host,block,configuration\r\n1.5,x,0,a\r\n\r\n2,x,0,\"b\"\r\n# more\r\n2.5,y,1,b\r\n1.25,y,1,a";
    assert_eq!(read_text(odd).unwrap(), plain);
    // Numbers are in their order, and other names of blocks in the order in which they come.
    let order = |rows: &str| {
        let file = read_text(&format!("block,configuration,value\n{rows}")).unwrap();
        let runs = &file.sessions[0].configurations[0].runs;
        runs.iter().map(|run| run.block.unwrap()).collect::<Vec<u32>>()
    };
    assert_eq!(order("10,a,1\n9,a,1\n100,a,1\n"), [1, 0, 2]);
    assert_eq!(order("ten,a,1\n9,a,1\n100,a,1\n"), [0, 1, 2]);
    let sessions = read_text("session,configuration,value\nmon,a,1\ntue,a,2\nmon,b,3\n").unwrap().sessions;
    let names: Vec<_> = sessions.iter().map(|one| (one.name.as_str(), one.configurations.len())).collect();
    assert_eq!(names, [("mon", 2), ("tue", 1)]);
    let ordered = read_text("order,block,configuration,value\n1,0,a,1\n0,0,b,1\n").unwrap();
    assert!(ordered.sessions[0].is_ordered());
}

#[test]
fn wrong_lines_are_told_by_their_numbers() {
    for (text, line, words) in [
        ("configuration,value\na,1\na,x\n", 3, "`x` is no number"),
        ("configuration,value\n\n# none\na,0\n", 4, "`0` is no number from 1e-100 to 1e100"),
        ("configuration,value\na,-1\n", 2, "no number from 1e-100 to 1e100"),
        ("configuration,value\na,inf\n", 2, "no number from 1e-100 to 1e100"),
        ("configuration,value\na,NaN\n", 2, "no number from 1e-100 to 1e100"),
        ("configuration,value\na,1e101\n", 2, "`1e101` is no number from 1e-100 to 1e100"),
        ("configuration,value\n,1\n", 2, "no configuration"),
        ("configuration,value\na\n", 2, "1 fields under 2 columns"),
        ("configuration,value\na,1,2\n", 2, "3 fields under 2 columns"),
        ("configuration,value,value\na,1,1\n", 1, "`value` is there twice"),
        (
            "# x\nblock,configuration,value\n0,a,1\n0,b,1\n0,a,2\n",
            5,
            "block 0 has a value of a already, in line 3",
        ),
        ("block,configuration,value\n0,a,1\n,b,1\n", 3, "some are not"),
        ("session,configuration,value\n,b,1\n", 2, "no session"),
        ("order,configuration,value\n-1,b,1\n", 2, "the order `-1`"),
    ] {
        match read_text(text) {
            Err(MeasuredError::Line { line: found, reason }) => {
                assert!(found == line && reason.contains(words), "{text:?}: line {found}: {reason}");
            }
            other => panic!("{text:?}: {other:?}"),
        }
    }
}

#[test]
fn what_has_no_marks_is_refused() {
    let error = |text: &str| {
        let error = read_text(text).unwrap_err();
        assert!(!error.hint().is_empty());
        error.to_string()
    };
    assert_eq!(error(" \n"), "the file is empty");
    assert!(error("seconds\n1\n").contains("no columns `configuration` and `value`: seconds"));
    assert!(error("{\"a\":1,\"times\":[1]}").contains("its keys are `a`, `times`"));
    assert!(error("[1]").contains("a list"));
    assert!(error("{\"results\":").contains("JSON that does not read"));
    assert!(error("{\"results\":7}").contains("it looks like hyperfine, but"));
    assert!(error("{\"results\":[]}").contains("without any value"));
    assert!(error("configuration,value\n").contains("without any value"));
    assert!(error("{\"results\":[{\"command\":\"a\",\"times\":[-1]}]}").contains("`a` has the value -1"));
    assert!(error("<html></html>").contains("not a report of firsttouch"));
    assert!(matches!(read(b"\xff\xfe"), Err(MeasuredError::NotText(_))));
    let receipt = to_json(&common::usual().configurations[1].obtained.clone().unwrap());
    assert!(error(&receipt).contains("a receipt document holds no runs"));
}

#[test]
fn documents_of_ours_are_decided_again() {
    let session = common::usual();
    for text in [to_json(&session), html::tune(&session)] {
        let file = read_text(&text).unwrap();
        assert!(file.sessions[0].is_paired() && file.sessions[0].is_ordered());
        let runs: usize = shape(&file).iter().map(|(_, runs)| runs).sum();
        assert_eq!(runs, 80, "those of the confirmation, too");
        let report = decide(vec![("usual".to_owned(), file)], &options()).unwrap();
        for (again, before) in
            report.comparison.sessions[0].configurations.iter().zip(&session.configurations)
        {
            assert_eq!(again.name, before.name);
        }
        assert_eq!(report.unit.as_deref(), Some("s"));
    }
}

#[test]
fn a_decision_is_shown_and_decided_again() {
    let one = hyperfine(&[("old", &OLD), ("new", &NEW)]);
    let report = decided(&[("monday.json", &one)], &options()).unwrap();
    let document = AnyDocument::Decision(Box::new(report.clone()));
    assert_eq!(open(&to_json(&report)).unwrap(), document);
    assert_eq!(open(&html::decision(&report)).unwrap(), document);
    assert!(markup::tags(&html::decision(&report)).is_ok());
    assert_eq!(formats(&document), [Format::Csv, Format::Markdown, Format::Html]);
    let shown = show(&document, Format::Text { width: 100, style: Style::Plain }).unwrap();
    assert!(shown.contains("`new` is 1.24 times faster than `old`"), "{shown}");
    assert!(markdown::decision(&report).contains("`new`"));
    let again = DecideOptions { baseline: Some("new".to_owned()), ..options() };
    // A name that begins like a comment is none.
    let mut odd = report.clone();
    odd.comparison.sessions[0].name = "# 1".to_owned();
    for text in [to_json(&report), csv::decision(&report), csv::decision(&odd)] {
        let report = decided(&[("again", &text)], &again).unwrap();
        let old = &report.comparison.sessions[0].configurations[1];
        assert_eq!((old.name.as_str(), old.decided.unwrap().verdict), ("old", Verdict::Slower));
    }
}

#[test]
fn files_are_sessions_and_files_of_one_command_are_put_together() {
    let shifted = |times: &[f64; 8], by: f64| times.map(|time| time * by);
    let session = |by: f64| hyperfine(&[("old", &shifted(&OLD, by)), ("new", &shifted(&NEW, by))]);
    let texts = [session(1.0), session(1.01), session(1.02)];
    let files: Vec<(&str, &str)> =
        ["a", "b", "c"].into_iter().zip(texts.iter().map(String::as_str)).collect();
    let report = decided(&files, &options()).unwrap();
    assert_eq!(report.comparison.across[0].sessions, 3);
    assert_eq!(report.comparison.across[0].verdict, Some(Verdict::Faster));
    let names: Vec<_> = report.comparison.sessions.iter().map(|session| session.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let shown = text::decision(&report, 200, Style::Plain);
    assert!(shown.contains("over sessions like these 3"), "{shown}");

    let alone = |name: &str, times: &[f64; 8]| hyperfine(&[(name, times)]);
    let (old, new, later) = (alone("old", &OLD), alone("new", &NEW), alone("old", &shifted(&OLD, 1.1)));
    let files = [("1", &*old), ("2", &*new), ("3", &*later), ("4", &*new)];
    let report = decided(&files[..2], &options()).unwrap();
    assert_eq!(report.comparison.sessions[0].name, "1 + 2");
    let report = decided(&files, &options()).unwrap();
    assert_eq!(report.comparison.sessions[1].name, "3 + 4");
    // What a session lacked is not put into it once another has begun.
    let files = [("1", &*old), ("2", &*later), ("3", &*new)];
    let report = decided(&files, &options()).unwrap();
    let names: Vec<_> = report.comparison.sessions.iter().map(|session| session.name.as_str()).collect();
    assert_eq!(names, ["1", "2 + 3"]);

    let (before, after) = (alone("run", &OLD), alone("run", &NEW));
    let files = [("before.json", &*before), ("after.json", &*after)];
    let by_file = DecideOptions { by_file: true, ..options() };
    let report = decided(&files, &by_file).unwrap();
    assert_eq!(report.comparison.rules.baseline, "before.json");
    assert_eq!(report.comparison.sessions[0].configurations[1].decided.unwrap().verdict, Verdict::Faster);
    assert!(matches!(decided(&files, &options()), Err(DecideError::Alone { .. })));
    assert!(matches!(decided(&[("a", &texts[0])], &by_file), Err(DecideError::Several { .. })));
    let one = hyperfine(&[("old", &OLD)]);
    assert!(matches!(decided(&[("a", &one), ("./a", &one)], &by_file), Err(DecideError::Twice { .. })));
}

#[test]
fn runs_that_share_no_block_are_told() {
    let rows: String =
        (0..9).map(|at| format!("{at},a,{0}\n{1},b,{0}\n", 1.0 + 0.1 * f64::from(at), at + 9)).collect();
    let text = format!("block,configuration,value\n{rows}");
    let shown = text::decision(&decided(&[("a", &text)], &options()).unwrap(), 200, Style::Plain);
    assert!(shown.contains("`b` is undecided against `a`; no block has a run of both."), "{shown}");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let one = hyperfine(&[("old", &OLD), ("new", &NEW)]);
    let of = |files: &[(&str, &str)], options: &DecideOptions| {
        let error = decided(files, options).unwrap_err();
        assert!(!error.hint().is_empty());
        error.to_string()
    };
    let nobody = DecideOptions { baseline: Some("nobody".to_owned()), ..options() };
    assert_eq!(of(&[("a", &one)], &nobody), "there is no configuration `nobody`; there are `old`, `new`");
    assert!(of(&[("a", &one), ("b", &one)], &options()).contains("a and b have the same values"));
    let (forth, back) = ("0,a,1.0\n0,b,0.9\n1,a,1.1\n1,b,0.8\n", "1,b,0.8\n1,a,1.1\n0,b,0.9\n0,a,1.0\n");
    let [forth, back] = [forth, back].map(|rows| format!("block,configuration,value\n{rows}"));
    assert!(of(&[("a", &forth), ("b", &back)], &options()).contains("a and b have the same values"));
    let cycles = r#"{"reason":"benchmark-complete","id":"old","iteration_count":[1],"measured_values":[5],"unit":"cycles"}"#;
    assert!(of(&[("a", &one), ("b", cycles)], &options()).contains("`b` has values in cycles"));
    // What is measured, and which way, documents of ours say; a decision hands it on.
    let (wall, rate) = (common::usual(), common::judged());
    let mut cpu = common::usual();
    cpu.objective.metric = Metric::Cpu;
    let mut less = common::judged();
    less.objective.higher_is_better = false;
    let [wall, rate, cpu, less] = [wall, rate, cpu, less].map(|session| to_json(&session));
    let both = |one: &str, other: &str| of(&[("a", one), ("b", other)], &options());
    assert_eq!(both(&wall, &rate), "`b` has values of stdout:rate: ([0-9.]+), and those before are of wall");
    assert!(both(&wall, &cpu).contains("values of cpu") && both(&cpu, &one).contains("values of wall"));
    assert!(
        both(&rate, &less).contains("values of which less is better, and those before are of which more")
    );
    let decided_before = to_json(&decided(&[("a", &cpu)], &options()).unwrap());
    assert!(both(&decided_before, &wall).contains("those before are of cpu"));
    let stray = hyperfine(&[("other", &OLD), ("new", &NEW)]);
    let report = decided(&[("a", &one), ("b", &stray)], &options()).unwrap();
    assert!(report.comparison.notes.iter().any(|note| note.contains("b has no runs of the baseline")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What is measured is read as it was, whatever the names are.
    #[test]
    fn tables_come_back(
        sessions in proptest::collection::btree_map("[^\u{0}#\\s][^\u{0}\r\n]{0,8}[^\u{0}\\s]",
            proptest::collection::vec((1e-9..1e9f64, 1e-9..1e9f64), 2..6), 1..4),
        names in ("[^\u{0}#\\s\"][^\u{0}\r\n]{0,8}[^\u{0}\\s]", "[^\u{0}#\\s\"][^\u{0}\r\n]{0,8}[^\u{0}\\s]"),
        paired in any::<bool>(),
    ) {
        prop_assume!(names.0 != names.1);
        let mut table = ::csv::Writer::from_writer(Vec::new());
        let columns: &[&str] =
            if paired { &["value", "session", "configuration", "block"] } else { &["value", "session", "configuration"] };
        table.write_record(columns).unwrap();
        for (session, blocks) in &sessions {
            for (number, block) in blocks.iter().enumerate() {
                for (value, name) in [(block.0, &names.0), (block.1, &names.1)] {
                    let row = [value.to_string(), session.clone(), name.clone(), number.to_string()];
                    table.write_record(&row[..columns.len()]).unwrap();
                }
            }
        }
        let text = String::from_utf8(table.into_inner().unwrap()).unwrap();
        let file = read_text(&text).unwrap();
        prop_assert_eq!(file.sessions.len(), sessions.len());
        for (read, (name, blocks)) in file.sessions.iter().zip(&sessions) {
            prop_assert_eq!(&read.name, name);
            prop_assert_eq!(read.is_paired(), paired);
            let first: Vec<f64> = blocks.iter().map(|block| block.0).collect();
            prop_assert_eq!(values(&read.configurations[0]), first);
        }
        // And what is decided about it is shown, read and decided again.
        let report = decide(vec![("table".to_owned(), file)], &options());
        let Ok(report) = report else { return Ok(()) };
        prop_assert_eq!(open(&to_json(&report)).unwrap(), AnyDocument::Decision(Box::new(report.clone())));
        assert!(markup::tags(&html::decision(&report)).is_ok());
        let again = read_text(&csv::decision(&report)).unwrap();
        prop_assert_eq!(again.sessions.len(), sessions.len());
        let _ = (text::decision(&report, 40, Style::Plain), markdown::decision(&report));
    }

    /// Nobody's bytes make a reader fail in another way than by an error that has a hint.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200), head in 0usize..6) {
        let heads = ["", "configuration,value\n", "{\"results\":[", "{\"context\":{},\"benchmarks\":[", "{\"reason\":\"", "{\"iters\":["];
        let input = [heads[head].as_bytes(), &bytes].concat();
        if let Err(error) = read(&input) {
            prop_assert!(!error.to_string().is_empty() && !error.hint().is_empty());
        }
    }
}
