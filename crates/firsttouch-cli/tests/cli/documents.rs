//! Every kind of document: written, it says what it is, is what its schema says, and `report` opens it.

use crate::{assert_code, assert_said, firsttouch, json, run, stderr, stdout, words};
use boon::{Compiler, SchemaIndex, Schemas};
use firsttouch_balance::trial::{TrialReport, TrialRow};
use firsttouch_documents::{
    Account, Document, JournalEntry, Kind, LabReport, Measurements, ObservationReport, RegionAsked,
    RegionReceipt, SetupEntry, Step, WorkerStep, to_json, to_line,
};
use firsttouch_placement::{
    AttachAction, AttachAsked, AttachEnded, AttachPlan, AttachReport, ExecutorKind, Observation, Reason,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[path = "../../../firsttouch-report/tests/common/mod.rs"]
mod common;

/// A text of each kind.
#[derive(Default)]
struct Written(BTreeMap<&'static str, String>);

impl Written {
    fn add(&mut self, kind: Kind, text: String) {
        assert!(self.0.insert(kind.word(), text).is_none(), "{kind} twice");
    }

    /// What the real program writes to stdout.
    fn by(&mut self, kind: Kind, arguments: &[&str]) {
        let output = run(arguments);
        assert_code(&output, 0);
        self.add(kind, stdout(&output));
    }

    /// Of what takes rights, hardware or minutes: made of recorded data.
    fn of<T: Document>(&mut self, document: &T) {
        self.add(T::KIND, to_json(document));
    }
}

fn written(folder: &Path) -> Written {
    let mut written = Written::default();
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let graph = file("graph.ftg");
    written.by(Kind::Receipt, &["run", "--receipt", "-", "--", "true"]);
    written.by(Kind::Job, &["run", "--ranks", "1", "--receipt", "-", "--", "true"]);
    written.by(Kind::Status, &["status", "--json"]);
    written.by(Kind::Explain, &["explain", "--json", "--", "true"]);
    written.by(Kind::Doctor, &["doctor", "--json"]);
    written.by(Kind::Setup, &["setup", "--json"]);
    written.by(Kind::LabList, &["lab", "--list", "--json"]);
    written.by(Kind::Graph, &["graph", "generate", "streets", "8", &graph, "--json"]);
    written.by(Kind::MemoryEstimate, &["sssp", &graph, "--sources", "1", "--dry-run", "--json"]);
    written.by(Kind::ShortestPaths, &["apsp", &graph, "--reduce", "histogram,diameter,reach", "--json"]);
    let shared = file("shared");
    assert_code(&run(&["sssp", &graph, "--sources", "1,2", "--shard-dir", &shared, "--shard", "0/1"]), 0);
    written.by(Kind::ShortestPathsMerge, &["apsp", "--merge", &shared, "--json"]);
    written.by(Kind::Fill, &["fill", "--size", "8M", "--quick", "--pages", "4k", "--json"]);
    let matrix = file("bytes.csv");
    fs::write(&matrix, "0,1,5000,1\n1,0,1,5000\n5000,1,0,1\n1,5000,1,0\n").unwrap();
    written.by(Kind::Balance, &["balance", "solve", "--machine", "mesh:2x2", "--matrix", &matrix, "--json"]);
    let session = common::usual();
    let receipt = session.configurations.iter().find_map(|one| one.obtained.clone()).unwrap();
    let attach = AttachReport {
        pid: 7,
        action: AttachAction::DryRun,
        asked: AttachAsked::default(),
        planned: AttachPlan::default(),
        before: receipt.clone(),
        after: receipt,
        moved_bytes: 0,
        collapsed_bytes: 0,
        bound_threads: 0,
        worst_pause_ms: 0.5,
        worst_pause_cpu_ms: None,
        stall_limit_ms: 20.0,
        wall_s: 0.1,
        shortfalls: Vec::new(),
        journal: None,
        undo_steps: 0,
        executor: ExecutorKind::Remote,
        ended: AttachEnded::Done,
        own_devices: None,
        notes: vec!["so".to_owned()],
        children: Vec::new(),
    };
    let observed = Observation {
        strategy: "best".to_owned(),
        machine: "here".to_owned(),
        busy: 1,
        moved: 0,
        busiest_before: 1.0,
        busiest_after: 1.0,
        imbalance_before: 0.0,
        imbalance_after: 0.0,
        threads: Vec::new(),
    };
    written.of(&ObservationReport { pid: 7, interval_s: 1.0, observed, attach: attach.clone() });
    written.of(&attach);
    let state = folder.join("state");
    for (kind, word) in [(Kind::AttachList, "--list"), (Kind::AttachForgotten, "--forget")] {
        let output = firsttouch().args(["attach", word, "--json"]).env("XDG_STATE_HOME", &state).output();
        written.add(kind, stdout(&output.unwrap()));
    }
    written.of(&LabReport {
        machine: "two-nodes".to_owned(),
        kernel: "6.12".to_owned(),
        command: vec!["true".to_owned()],
        exit_code: 0,
        signal: None,
        boot_s: 1.5,
        program_s: 0.1,
        stdout: "hello\n".to_owned(),
        stderr: String::new(),
        copied_out: Vec::new(),
    });
    let trial = TrialRow {
        executions: 2,
        benchmark: "lb_test".to_owned(),
        machine: "mesh".to_owned(),
        strategy: "none".to_owned(),
        iteration_s: 1.0,
        ci95: Some([0.9, 1.1]),
        speedup: Some(1.0),
        predicted_s: 1.0,
        efficiency: 0.5,
        migrated_fraction: 0.0,
        strategy_ms: 0.0,
        migration_s: BTreeMap::new(),
        published_value: None,
        published_migrated_fraction: None,
    };
    let mut trials = TrialReport::new(2, 0.95);
    trials.add(trial);
    written.of(&trials);
    let worker = WorkerStep { begun_s: 0.0, ended_s: 0.1, task_s: 0.1 };
    let step = Step { step: 1, begun_s: 0.0, ended_s: 0.1, messages: 1, bytes: 8, workers: vec![worker] };
    written.of(&Account { cpus: vec![0], steps: vec![step], balancings: Vec::new() });
    written.of(&session);
    let bench = "bench gather --set table=64K --set reads=100 --max-runs 2 --steps 1 --json";
    written.by(Kind::Bench, &words(bench));
    written.by(Kind::CaseList, &["bench", "--list", "--json"]);
    let times = file("times.csv");
    fs::write(&times, "configuration,value\nold,2\nold,2.1\nold,2.05\nnew,1\nnew,1.1\nnew,1.05\n").unwrap();
    written.by(Kind::Decision, &["report", "--decide", &times, "--json"]);
    let (one, three) = (common::measured::one_node(), common::measured::three_nodes());
    written.of(&three);
    written.of(&Measurements { measurements: vec![one, three] });
    let recording = common::recorded::two_nodes();
    written.of(&recording);
    written.add(Kind::Watch, to_line(&recording.header));
    written.add(Kind::WatchSample, to_line(&recording.samples[0]));
    written.add(Kind::WatchEnd, to_line(&recording.end.unwrap()));
    written.add(Kind::SetupJournal, to_line(&SetupEntry::Undone { line: 1 }));
    written.add(
        Kind::AttachJournal,
        to_line(&JournalEntry::Move { start: 4096, nodes: "0*2".to_owned(), to: Some("1*2".to_owned()) }),
    );
    // As the C library and the Python package write it; tests of theirs hold them to this shape.
    let asked = Some(RegionAsked { pages: "thp".to_owned(), bytes: 4 << 20, node: Some(0) });
    written.of(&RegionReceipt { asked, obtained: None, shortfalls: Vec::new() });
    written
}

#[test]
fn every_kind_is_what_its_schema_says_and_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let mut written = written(folder.path()).0;
    let lines = [Kind::Watch, Kind::WatchSample, Kind::WatchEnd];
    for kind in Kind::ALL {
        let text = written.remove(kind.word()).unwrap_or_else(|| panic!("nobody writes {kind}"));
        let document = json(&text);
        assert_eq!((&document["kind"], &document["schema_version"]), (&kind.word().into(), &1.into()));
        // First of all: whoever looks at the file sees what it is.
        let head = format!("\"kind\":\"{kind}\",\"schema_version\":1,");
        let tight: String = text.chars().filter(|c| !c.is_whitespace()).take(head.len() + 1).collect();
        assert_eq!(tight[1..], head);
        is_valid(*kind, &document);
        let file = folder.path().join("document.json");
        fs::write(&file, &text).unwrap();
        let shown = run(&["report", file.to_str().unwrap()]);
        if [Kind::AttachJournal, Kind::SetupJournal].contains(kind) {
            assert_code(&shown, 1);
            assert!(
                stderr(&shown).contains(kind.word()) && stderr(&shown).contains("--undo"),
                "{}",
                stderr(&shown)
            );
            continue;
        }
        if lines.contains(kind) && *kind != Kind::Watch {
            assert_said(&shown, 1, &["--record"]);
            continue;
        }
        assert_code(&shown, 0);
        if !["attach-list", "watch"].contains(&kind.word()) {
            assert!(!stdout(&shown).is_empty(), "{kind}");
            let again = run(&["report", file.to_str().unwrap(), "--json"]);
            assert_eq!(json(&stdout(&again)), document, "{kind}");
        }
    }
    assert!(written.is_empty(), "{written:?}");
}

#[test]
fn schemas_are_printed_and_refuse_what_is_something_else() {
    let all = stdout(&run(&["report", "--schema", "list"]));
    assert_eq!(all.lines().count(), Kind::ALL.len(), "{all}");
    for kind in Kind::ALL {
        assert!(all.lines().any(|line| line.split_whitespace().next() == Some(kind.word())), "{kind}");
        let shown = stdout(&run(&["report", "--schema", kind.word()]));
        assert_eq!(json(&shown), json(&kind.schema()));
    }
    assert_said(&run(&["report", "--schema", "letter"]), 2, &["--schema list"]);
    let mut document = json(&to_json(&common::usual()));
    is_valid(Kind::Tune, &document);
    document["seed"] = "forty-two".into();
    assert!(valid(Kind::Tune, &document).is_err());
    document.as_object_mut().unwrap().remove("seed");
    assert!(valid(Kind::Tune, &document).is_err());
    assert!(valid(Kind::Receipt, &json(&to_json(&common::usual()))).is_err());
}

#[test]
fn the_page_of_documents_tells_every_reason() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/documents.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once("## Reasons for a shortfall\n").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let told: Vec<&str> = rows.map(|(word, _)| word).collect();
    assert_eq!(told, Reason::ALL.map(Reason::word));
}

#[track_caller]
fn is_valid(kind: Kind, document: &Value) {
    valid(kind, document).unwrap_or_else(|error| panic!("{kind}: {error}\n{document:#}"));
}

fn valid(kind: Kind, document: &Value) -> Result<(), String> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("kind.json", json(&kind.schema())).unwrap();
    let index: SchemaIndex = compiler.compile("kind.json", &mut schemas).unwrap();
    schemas.validate(document, index).map_err(|error| format!("{error:#}"))
}
