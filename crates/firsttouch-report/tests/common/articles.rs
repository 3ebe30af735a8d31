//! Articles whose tables were repeated: one with a session over threads, one that no run repeats.

use super::varied::threads;
use firsttouch_documents::{
    ArticleFigure, ArticleReport, ArticleRow, ArticleTable, BenchReport, CaseComparison, CaseReport,
    ComparisonAxis, PublishedValue,
};
use firsttouch_placement::{CaseFigure, CaseFigures};
use serde_json::json;
use std::collections::BTreeMap;

fn published(values: &[(&str, f64)]) -> Vec<PublishedValue> {
    values
        .iter()
        .map(|(system, value)| PublishedValue { system: (*system).to_owned(), value: *value })
        .collect()
}

fn row(way: &str, values: &[(&str, f64)], here: Vec<ArticleFigure>, reason: Option<&str>) -> ArticleRow {
    ArticleRow { way: way.to_owned(), published: published(values), here, reason: reason.map(str::to_owned) }
}

/// A table that four configurations repeat, and one with a reason in their place.
pub fn two_tables() -> BenchReport {
    let mut session = threads("thp threads=2");
    for (place, one) in session.configurations.iter_mut().enumerate() {
        let value = [0.25, 0.454, 0.322, 0.625][place];
        one.case = Some(Box::new(CaseFigures {
            name: "sssp".to_owned(),
            variant: "buckets".to_owned(),
            alternative: false,
            parameters: BTreeMap::new(),
            work: None,
            unit: "Garcs/s".to_owned(),
            higher_is_better: true,
            figure: Some(CaseFigure { value, low: Some(0.98 * value), high: Some(1.02 * value) }),
            checksum: None,
            limit: None,
            objects: BTreeMap::new(),
            notes: Vec::new(),
        }));
    }
    let figures: Vec<ArticleFigure> = session
        .configurations
        .iter()
        .map(|one| ArticleFigure {
            configuration: one.name.clone(),
            figure: one.case.as_ref().and_then(|case| case.figure).expect("a figure"),
            unit: "Garcs/s".to_owned(),
            ratio: one.proved.ratio,
            verdict: one.proved.verdict(),
        })
        .collect();
    let [naive, thp, two, both] = <[ArticleFigure; 4]>::try_from(figures).expect("four of them");
    let table = |name: &str, shows: &str, unit: &str| ArticleTable {
        name: name.to_owned(),
        shows: shows.to_owned(),
        unit: unit.to_owned(),
        higher_is_better: Some(false),
        command: Vec::new(),
        case: None,
        reason: None,
        rows: Vec::new(),
        notes: Vec::new(),
    };
    let repeated = ArticleTable {
        command: ["firsttouch", "bench", "sssp", "--vary", "threads=1,2"].map(str::to_owned).to_vec(),
        case: Some(0),
        rows: vec![
            row("naive, one thread", &[("24 cores", 4651.5), ("8 cores", 12_874.419_779)], vec![naive], None),
            row("numactl", &[("24 cores", 211.0)], Vec::new(), Some("a process for each node is not a case")),
            row("hugepage/affinity, all cores", &[("24 cores", 193.426)], vec![thp, both], None),
            row("threads=2", &[], vec![two], None),
        ],
        notes: vec!["The article draws curves.".to_owned()],
        ..table("threads", "576 searches, over threads", "s")
    };
    let not = ArticleTable {
        reason: Some("the device is a vendor's".to_owned()),
        rows: vec![
            row("before", &[("SPARC T7-1", 1.0)], Vec::new(), None),
            row("after", &[("SPARC T7-1", 5.0)], Vec::new(), None),
        ],
        higher_is_better: Some(true),
        ..table("database", "start of a database, times as fast", "x")
    };
    let article = |title: &str, tables| ArticleReport {
        document: "paths".to_owned(),
        title: title.to_owned(),
        by: "somebody, 2010".to_owned(),
        tables,
    };
    BenchReport {
        started: "2026-11-25T12:00:00Z".to_owned(),
        quick: true,
        machine: json!({"kernel": "6.12.0", "cpu_model": "A processor", "cpus_online": 2}),
        cases: vec![CaseReport {
            name: "sssp".to_owned(),
            summary: "shortest paths".to_owned(),
            source: "an article".to_owned(),
            parameters: BTreeMap::new(),
            published: Vec::new(),
            comparisons: vec![CaseComparison { of: ComparisonAxis::Varied, session }],
            objects: None,
            missing: Vec::new(),
        }],
        articles: vec![article("NUMA-affinity", vec![repeated]), article("Fast memset()", vec![not])],
        interrupted: false,
    }
}
