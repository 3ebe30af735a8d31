//! What is printed, compared with what was last looked at and found good.
//!
//! After a change that was meant: `UPDATE_EXPECT=1 cargo test -p firsttouch-report`, then read the diff.

mod common;

use firsttouch_documents::{BenchReport, JobRank, JobReport, SetupAction, SetupReport, to_json};
use firsttouch_experiment::{ConfirmationState, Ratio};
use firsttouch_placement::{Placement, Record, TuneReport};
use firsttouch_report::live::Live;
use firsttouch_report::{Style, csv, html, json, markdown, text};
use std::path::PathBuf;

fn expect(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, actual).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; write it with UPDATE_EXPECT=1", path.display()));
    let differs = expected.lines().zip(actual.lines()).position(|(expected, actual)| expected != actual);
    let line = differs.unwrap_or(expected.lines().count().min(actual.lines().count()));
    assert!(
        expected == actual,
        "{name} differs from line {}:\n  expected {:?}\n  printed  {:?}\nif the change is meant: UPDATE_EXPECT=1",
        line + 1,
        expected.lines().nth(line),
        actual.lines().nth(line),
    );
}

/// Each has a row of a table of its own, where its words stand in that order; the first begins the row.
fn has_rows(page: &str, rows: &[&str]) {
    let lines = page.lines().filter(|line| line.starts_with("<tr"));
    let plain: Vec<String> = lines
        .map(|line| {
            let texts = line.split('<').filter_map(|part| Some(part.split_once('>')?.1.trim()));
            texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
        })
        .collect();
    for row in rows {
        let (first, words) = row.split_once(' ').unwrap_or((row, ""));
        let has_words = |line: &&String| {
            let mut rest = line.as_str();
            words.split(' ').all(|word| match rest.split_once(word) {
                Some((_, after)) => {
                    rest = after;
                    true
                }
                None => false,
            })
        };
        let found = plain.iter().filter(|line| line.starts_with(first)).any(|line| has_words(&line));
        assert!(found, "no row {row:?} in {plain:#?}");
    }
}

#[test]
fn text_is_as_it_was() {
    expect("usual.wide.txt", &text::tune(&common::usual(), 200, Style::Plain));
    expect("usual.narrow.ansi.txt", &text::tune(&common::usual(), 80, Style::Ansi));
    for (name, report) in common::all() {
        let name = format!("{name}.txt");
        if !name.starts_with("usual") && !name.starts_with("awkward") {
            expect(&name, &text::tune(&report, 160, Style::Plain));
        }
    }
}

#[test]
fn decisions_are_as_they_were() {
    let three = common::elsewhere::three_sessions();
    expect("decided-sessions.txt", &text::decision(&three, 120, Style::Plain));
    expect("decided-sessions.md", &markdown::decision(&three));
    let one = common::elsewhere::one_session();
    expect("decided-narrow.ansi.txt", &text::decision(&one, 80, Style::Ansi));
    expect("decided.csv", &csv::decision(&one));
    let page = html::decision(&one);
    has_rows(&page, &["old baseline", "new lower 3 5.97e10", "a|&lt;b&gt; undecided"]);
    assert!(page.contains(">times higher [95 %]<"), "{page}");
}

#[test]
fn changes_of_a_machine_are_as_they_were() {
    let setup = common::setup();
    expect("setup.txt", &text::setup(&setup, 100, Style::Plain));
    let planned = SetupReport { action: SetupAction::DryRun, journal: None, ..setup };
    expect("setup-planned.narrow.txt", &text::setup(&planned, 60, Style::Plain));
}

#[test]
fn what_is_wrong_with_machines_is_as_it_was() {
    expect("doctor.txt", &text::doctor(&common::hosts::one(), 100, Style::Plain));
    expect("doctor.md", &markdown::doctor(&common::hosts::one()));
    let several = common::hosts::several();
    expect("hosts.txt", &text::doctor(&several, 100, Style::Plain));
    expect("hosts.narrow.ansi.txt", &text::doctor(&several, 60, Style::Ansi));
    expect("hosts.md", &markdown::doctor(&several));
    let page = html::doctor(&several);
    has_rows(
        &page,
        &[
            "n05, n06 No route to host",
            "/sys/kernel/mm/transparent_hugepage/enabled madvise never: n03",
            "n03 5.0 GB/s",
            "thp-never overrides huge pages are off",
            "latency of memory of node 1 98.8 ns",
            "kernel 6.1.0",
        ],
    );
    assert!(page.contains(r"\u{1b}[2J&lt;/script&gt;"), "{page}");
}

#[test]
fn markdown_is_as_it_was() {
    expect("usual.md", &markdown::tune(&common::usual()));
    expect("judged.md", &markdown::tune(&common::judged()));
}

/// The command by which the text says to run the program from now on, where something was confirmed to help.
fn command_to_use(report: &TuneReport) -> Option<String> {
    let told = text::tune(report, 160, Style::Plain);
    let mut lines = told.lines().skip_while(|line| line.trim() != "from now on");
    lines.nth(1).map(|line| line.trim().to_owned())
}

/// What was varied stands in every format, and the command to type holds the values.
#[test]
fn varied_values_are_as_they_were() {
    let report = common::varied::threads("thp threads=2");
    expect("varied.txt", &text::tune(&report, 160, Style::Plain));
    expect("varied.md", &markdown::tune(&report));
    expect("varied.csv", &csv::tune(&report));
    let page = html::tune(&report);
    assert!(page.contains("Varied: threads (1, 2).") && page.contains("thp threads=2"), "{page}");
    assert_eq!(common::session_of(&json::tune(&report)), report);
    let of = |recommended: &str| command_to_use(&common::varied::threads(recommended));
    let of_placed = "firsttouch run --pages thp -- env OMP_NUM_THREADS=2 './a b'";
    assert_eq!(of("thp threads=2").as_deref(), Some(of_placed));
    // Values alone need nothing of ours.
    assert_eq!(of("threads=2").as_deref(), Some("env OMP_NUM_THREADS=2 './a b'"));
    // Where nothing helps, the baseline's values are what to type.
    let mut refuted =
        common::refuted(ConfirmationState::Refuted, Some(Ratio { value: 1.0, low: 0.99, high: 1.01 }));
    refuted.command = report.command.clone();
    refuted.configurations[0].command.clone_from(&report.configurations[0].command);
    for told in [text::tune(&refuted, 160, Style::Plain), markdown::tune(&refuted), html::tune(&refuted)] {
        assert!(told.contains("env OMP_NUM_THREADS=1"), "{told}");
    }
}

/// Who compares with a placement, and finds nothing better, keeps that placement.
#[test]
fn a_baseline_with_a_placement_is_what_to_use_where_nothing_is_better() {
    for mut report in [common::slower(), common::same()] {
        assert_eq!(command_to_use(&report), None, "the program as it is");
        report.configurations[0].asked = Some("thp,heap,prefault=background".parse().unwrap());
        let kept = "firsttouch run --pages thp --prefault=background --heap -- ";
        let told = command_to_use(&report).unwrap();
        assert!(told.starts_with(kept), "{told}");
        assert!(text::tune(&report, 160, Style::Plain).starts_with("Keep the baseline: "));
        assert!(markdown::tune(&report).contains(kept) && html::tune(&report).contains(kept));
    }
}

/// Theirs beside ours, with a figure of both and one over threads; ratios of theirs worked out by hand.
#[test]
fn articles_are_as_they_were() {
    let report = common::articles::two_tables();
    let told = text::bench(&report, 80, Style::Plain);
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    // 4651.5 / 193.426 and 4651.5 / 211.
    assert!(told.contains("24.0") && told.contains("22.0"), "{told}");
    expect("articles.txt", &told);
    let interrupted = BenchReport { interrupted: true, ..report.clone() };
    let told = "The session was interrupted: what it had not finished is missing.";
    assert!(text::bench(&interrupted, 80, Style::Plain).starts_with(told));
    assert!(markdown::bench(&interrupted).contains(&format!("\n**{told}**\n")));
    // Runs alone: every reader takes it, and none counts a line of words as one.
    assert_eq!(csv::bench(&interrupted), csv::bench(&report));
    assert!(html::bench(&interrupted).contains(&format!("<p><strong>{told}</strong></p>\n")));
    expect("articles.md", &markdown::bench(&report));
    let page = html::bench(&report);
    assert!(page.contains("Published ratios beside") && page.contains("Figures over the number of threads"));
}

#[test]
fn csv_is_as_it_was() {
    expect("awkward.csv", &csv::tune(&common::awkward()));
    expect("no-runs.csv", &csv::tune(&common::no_runs()));
    expect("judged.csv", &csv::tune(&common::judged()));
}

#[test]
fn csv_has_one_line_per_run_in_their_order() {
    let text = csv::tune(&common::usual());
    let orders: Vec<u32> =
        text.lines().skip(1).map(|line| line.split(',').nth(3).unwrap().parse().unwrap()).collect();
    assert_eq!(orders, (0..80).collect::<Vec<u32>>());
}

#[test]
fn html_is_as_it_was() {
    expect("usual.html", &html::tune(&common::usual()));
    let judged = html::tune(&common::judged());
    has_rows(
        &judged,
        &["thp-prefault better", "glibc-thp better", "64k same", "confirmed: thp-prefault confirmed"],
    );
    let told = ["by stdout:rate: ([0-9.]+)", ">better ▸<", "▲ better, ▼ worse"];
    assert!(told.iter().all(|part| judged.contains(part)) && !judged.contains("faster ▸"), "{judged}");
}

#[test]
fn json_is_as_it_was_and_reads_back() {
    expect("only-baseline.json", &json::tune(&common::only_baseline()));
    for (name, report) in common::all() {
        assert_eq!(common::session_of(&json::tune(&report)), report, "{name}");
    }
}

#[test]
fn numbers_that_json_cannot_hold_become_unknown() {
    let mut report = common::usual();
    report.configurations[1].proved.mean_wall_s = f64::NAN;
    report.configurations[1].proved.deviation_wall_s = Some(f64::INFINITY);
    report.configurations[1].proved.ratio = Some(Ratio { value: 1.0, low: 0.0, high: f64::INFINITY });
    let read = common::session_of(&json::tune(&report));
    assert_eq!(read.configurations[1].proved.ratio, None);
    assert_eq!(read.configurations[1].proved.deviation_wall_s, None);
    assert_eq!(read.configurations[1].proved.runs, report.configurations[1].proved.runs);
    assert!(!text::tune(&report, 200, Style::Plain).contains("NaN"));
}

#[test]
fn measurements_are_as_they_were() {
    let (three, one) = (common::measured::three_nodes(), common::measured::one_node());
    expect("measured-three-nodes.txt", &text::measurement(&three, 100, Style::Plain));
    // Too narrow for the matrix: it comes in parts.
    expect("measured-narrow.ansi.txt", &text::measurement(&three, 40, Style::Ansi));
    expect("measured-one-node.txt", &text::measurement(&one, 100, Style::Plain));
    expect("measured-one-node.json", &to_json(&one));
}

#[test]
fn recordings_are_as_they_were() {
    use common::recorded::{awkward, empty, two_nodes};
    expect("recorded.txt", &text::recording(&two_nodes(), 120, Style::Plain));
    expect("recorded-narrow.ansi.txt", &text::recording(&two_nodes(), 60, Style::Ansi));
    expect("recorded-awkward.txt", &text::recording(&awkward(), 100, Style::Plain));
    expect("recorded-empty.txt", &text::recording(&empty(), 100, Style::Plain));
    expect("recorded.csv", &csv::recording(&two_nodes()));
}

#[test]
fn a_live_view_is_as_it_was() {
    use common::recorded::{awkward, two_nodes};
    let frame = |live: &Live, width, rows, style| -> String {
        live.frame(width, rows, style).iter().map(|row| format!("{}\n", row.text)).collect()
    };
    let recording = two_nodes();
    let mut live = Live::new(&recording.header);
    let mut lines = String::new();
    for sample in &recording.samples[..27] {
        live.take(sample);
        lines += &live.line();
    }
    expect("live-lines.txt", &lines);
    expect("live.txt", &frame(&live, 100, 40, Style::Plain));
    expect("live-small.ansi.txt", &frame(&live, 50, 12, Style::Ansi));
    for width in 0..120 {
        let rows = live.frame(width, 9, Style::Plain);
        assert!(rows.len() <= 8 && rows.iter().all(|row| row.columns < width.max(21)), "{rows:?}");
    }
    let recording = awkward();
    let mut live = Live::new(&recording.header);
    recording.samples.iter().for_each(|sample| live.take(sample));
    expect("live-awkward.txt", &(frame(&live, 80, 40, Style::Plain) + &live.line()));
}

const RECORD: &str = "firsttouch-record 1\nprogram /usr/bin/a b\u{7}\nstate final\nplaced 440401920\npeak 536870912\n\
    blocks 57\nrecycled 1073741824\nserved 42\nheld 99000000\npage 2097152 419430400\npage 4096 20971520\nnode 0 220200960\nnode 1 220200960\n\
    process 2097152 419430400\nprocess 4096 99000000\nshort pool-empty 8388608\nshort thp-never 0\n\
    block 1 0x7f0000000000 400000048 399507456\nblock 2 0x7f0040000000 4096 0\nnote asan\nend\n";

#[test]
fn receipts_are_as_they_were() {
    let asked: Placement = "2m,prefault".parse().unwrap();
    let mut receipt = Record::parse(RECORD).unwrap().into_receipt(asked);
    expect("receipt.txt", &text::receipt(&receipt, 80, Style::Plain));
    let block = receipt.blocks[1].clone();
    receipt.blocks.extend(vec![block; 14]);
    if let Some(obtained) = &mut receipt.obtained {
        obtained.bytes_by_node = None;
        obtained.process_bytes_by_page_size = None;
    }
    receipt.complete = false;
    expect("receipt-many-blocks.txt", &text::receipt(&receipt, 80, Style::Ansi));
    receipt.tree = Some(common::tree(420 << 20, 400 << 20));
    receipt.ending = Some("killed by signal 15".to_owned());
    expect("receipt-processes.txt", &text::receipt(&receipt, 80, Style::Plain));
    if let Some(obtained) = &mut receipt.obtained {
        obtained.placed_blocks = 0;
    }
    let from_outside = text::receipt(&receipt, 80, Style::Plain);
    assert!(!from_outside.contains("allocation"), "nobody counted them: {from_outside}");
    (receipt.obtained, receipt.tree) = (None, None);
    receipt.blocks.clear();
    expect("receipt-unread.txt", &text::receipt(&receipt, 80, Style::Plain));
}

/// One rank of four has other pages, another took longer, and one left nothing.
#[test]
fn a_job_is_told_rank_by_rank() {
    let rank = |rank: u32, cpus: &[u32], seconds: f64| {
        let asked: Placement = "2m,cpus=0".parse().unwrap();
        let mut receipt = Record::parse(RECORD).unwrap().into_receipt(asked);
        receipt.ending = Some("exit status 0".to_owned());
        receipt.cpus_obtained = Some(cpus.to_vec());
        JobRank {
            rank,
            local_rank: rank % 2,
            host: "a\u{1b}b".to_owned(),
            seconds,
            cpu_s: 3.0 * seconds,
            receipt,
        }
    };
    let mut ranks = vec![rank(3, &[4, 5, 6], 12.5), rank(0, &[0, 1], 10.0), rank(1, &[2, 3], 10.2)];
    ranks[2].receipt.shortfalls.clear();
    let job = JobReport::of(Some("Open MPI".to_owned()), "18".to_owned(), 4, ranks.clone());
    expect("job.txt", &text::job(&job, 160, Style::Plain));
    assert_eq!(job.missing, [2]);
    ranks.truncate(2);
    expect(
        "job-narrow.ansi.txt",
        &text::job(&JobReport::of(None, "7.3".to_owned(), 2, ranks), 60, Style::Ansi),
    );
    expect(
        "job-nobody.txt",
        &text::job(&JobReport::of(None, "7.3".to_owned(), 2, Vec::new()), 80, Style::Plain),
    );
}

#[test]
fn the_figure_and_the_advice_come_from_the_confirmation_only() {
    let report = common::usual();
    let confirmed = report.confirmation.as_ref().unwrap().ratio.unwrap();
    assert!(text::verdict(&report).contains(&format!("{:.2} times faster", confirmed.value)));
    assert_eq!(command_to_use(&report).unwrap(), "firsttouch run --pages thp --prefault -- Rscript lm.R");
    // The line of a launcher has it before the program of its ranks.
    let mut job = common::usual();
    let line = "mpirun -n 4 firsttouch run --quiet --pages thp --prefault --ranks auto -- ./a";
    let recommended = job.recommended.clone();
    let of_job = job.configurations.iter_mut().find(|one| Some(&one.name) == recommended.as_ref()).unwrap();
    of_job.command = Some(line.split(' ').map(str::to_owned).collect());
    assert_eq!(command_to_use(&job).unwrap(), line);

    let mut unconfirmed = common::usual();
    unconfirmed.confirmation = None;
    for report in [
        unconfirmed,
        common::refuted(ConfirmationState::Refuted, Some(confirmed)),
        common::refuted(ConfirmationState::NotYet, Some(confirmed)),
        common::refuted(ConfirmationState::Confirmed, None),
    ] {
        assert!(!text::verdict(&report).contains("times faster"), "{}", text::verdict(&report));
        assert_eq!(command_to_use(&report), None);
    }
}
