//! Documents made by hand for the tests: one as sessions usually are, one as awkward as they can be, and small
//! ones for each kind of ending.

#![allow(dead_code, unreachable_pub, reason = "a module of several binaries, each of which uses some of it")]

pub mod articles;
pub mod elsewhere;
pub mod hosts;
pub mod markup;
pub mod measured;
pub mod recorded;
pub mod runs;
pub mod varied;

use firsttouch_documents::{AnyDocument, SetupAction, SetupChange, SetupKind, SetupReport, SetupState};
use firsttouch_experiment::{
    Aslr, ConfigurationResult, ConfirmationState, Decided, Forecast, Judged, Meanwhile, Metric, Objective,
    Ratio, SessionRun, Verdict,
};
use firsttouch_placement::{
    BlockReport, ConfigurationReport, Obtained, Placement, ProcessMemory, ProcessTree, Reason, Receipt,
    Resident, ResidentMemory, Shortfall, SkippedConfiguration, TuneReport, Via,
};
use runs::{Noise, Shape, confirm, decided, described, fill};
use serde_json::json;
use std::collections::BTreeMap;

const HUGE: u64 = 2 << 20;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn receipt(asked: &Placement, placed: u64, huge_share: f64) -> Receipt {
    let size = asked.pages.bytes() as u64;
    let huge = (placed as f64 * huge_share / size as f64) as u64 * size;
    let mut by_size = BTreeMap::from([(size, huge)]);
    if placed > huge {
        *by_size.entry(4096).or_insert(0) += placed - huge;
    }
    Receipt {
        program: "/usr/lib/R/bin/exec/R".to_owned(),
        asked: asked.clone(),
        obtained: Some(Obtained {
            bytes_by_page_size: by_size.clone(),
            bytes_by_node: Some(BTreeMap::from([(0, placed / 4 * 3), (1, placed - placed / 4 * 3)])),
            placed_bytes: placed,
            peak_bytes: placed,
            placed_blocks: 57,
            pool_bytes: 0,
            recycled_bytes: 3 * placed,
            recycled_blocks: 42,
            held_bytes: placed / 2,
            threads: Vec::new(),
            process_bytes_by_page_size: Some(BTreeMap::from([(4096, 61 * MIB), (HUGE, huge)])),
            own_policies: 0,
        }),
        cpus_obtained: None,
        tree: Some(tree(placed, if size >= HUGE { huge } else { 0 })),
        shortfalls: if huge < placed {
            vec![Shortfall::new(Reason::NoWholeBlock, placed - huge)]
        } else {
            Vec::new()
        },
        via: asked.via,
        blocks: (1..=12)
            .map(|id| BlockReport {
                id,
                address: format!("{:#x}", 0x7f00_0000_0000 + id * 64 * MIB),
                bytes: (64 - id) * MIB + 48,
                huge_bytes: Some((62 - id) / 2 * HUGE),
            })
            .collect(),
        complete: true,
        ending: Some("exit status 0".to_owned()),
        notes: Vec::new(),
    }
}

/// A shell and the program that it started, which has all that is placed, and shares a little.
pub fn tree(placed: u64, huge: u64) -> ProcessTree {
    let resident = |bytes, huge_bytes| Resident { bytes, huge_bytes };
    let process = |pid, program: &str, placed, private| ProcessMemory {
        pid,
        parent: pid - 1,
        program: program.to_owned(),
        peak_rss_bytes: Some(2 * MIB),
        cpu_ms: 10,
        memory: ResidentMemory {
            placed,
            private,
            shared: resident(4 * MIB, HUGE),
            files: resident(9 * MIB, 0),
        },
    };
    ProcessTree {
        pid: 4711,
        at_peak: ResidentMemory {
            placed: resident(placed, huge),
            private: resident(26 * MIB, HUGE),
            shared: resident(4 * MIB, HUGE),
            files: resident(9 * MIB, 0),
        },
        processes: vec![
            process(4712, "/usr/lib/R/bin/exec/R", resident(placed, huge), resident(25 * MIB, HUGE)),
            process(4711, "/bin/sh", resident(0, 0), resident(MIB, 0)),
        ],
        unlisted: 3,
        outlived: 0,
    }
}

/// A configuration without runs.
pub fn configuration(name: &str, asked: Option<&str>) -> ConfigurationReport {
    let asked: Option<Placement> = asked.map(|text| text.parse().expect("a placement"));
    ConfigurationReport {
        name: name.to_owned(),
        varied: BTreeMap::new(),
        command: None,
        case: None,
        obtained: asked.as_ref().map(|asked| receipt(asked, 400_000_000, 0.991)),
        asked,
        proved: ConfigurationResult::default(),
    }
}

/// The session that a text is.
pub fn session_of(text: &str) -> TuneReport {
    match firsttouch_report::open(text) {
        Ok(AnyDocument::Tune(report)) => *report,
        other => panic!("{other:?}"),
    }
}

fn machine() -> serde_json::Value {
    json!({
        "cpu_model": "AMD EPYC 9B14 96-Core Processor",
        "cpus_online": 2,
        "kernel": "6.18.2",
        "product": null,
        "virtual_machine": true,
        "hypervisor": "KVM",
        "memory_bytes": 16 * GIB,
        "cpus": [{"id": 0, "online": true, "node": 0}, {"id": 1, "online": true, "node": 1}],
        "cores": [{"id": 0, "cpus": [0]}, {"id": 1, "cpus": [1]}],
        "packages": [{"id": 0, "cpus": [0, 1], "cores": 2}],
        "nodes": [
            {"id": 0, "cpus": [0], "size_bytes": 8 * GIB, "free_bytes": 5_123_456_789_u64},
            {"id": 1, "cpus": [1], "size_bytes": 8 * GIB, "free_bytes": 7_123_456_789_u64}
        ],
        "caches": [
            {"level": 1, "kind": "data", "size_bytes": 32768, "cpus": [0]},
            {"level": 1, "kind": "data", "size_bytes": 32768, "cpus": [1]},
            {"level": 2, "kind": "unified", "size_bytes": 1048576, "cpus": [0]},
            {"level": 2, "kind": "unified", "size_bytes": 1048576, "cpus": [1]},
            {"level": 3, "kind": "unified", "size_bytes": 33554432, "cpus": [0, 1]}
        ],
        "tiers": [{"id": 4, "nodes": [0, 1]}],
        "devices": [{"class": "nvme", "name": "nvme0n1", "node": 0}],
        "thp": {"enabled": "madvise", "defrag": "madvise", "shmem_enabled": "never", "sizes": [
            {"page_bytes": 65536, "enabled": "inherit", "shmem_enabled": null},
            {"page_bytes": 2097152, "enabled": "inherit", "shmem_enabled": null}
        ]},
        "pools": [{"page_bytes": 2097152, "pages": 0, "free": 0}],
        "free_page_reporting": true
    })
}

/// A document without configurations.
pub fn empty() -> TuneReport {
    TuneReport {
        command: vec!["Rscript".to_owned(), "lm.R".to_owned()],
        seed: 42,
        started: "2026-07-29T09:30:00Z".to_owned(),
        objective: Objective::default(),
        machine: machine(),
        configurations: Vec::new(),
        skipped: Vec::new(),
        best: Vec::new(),
        recommended: None,
        spares: None,
        confirmation: None,
        interrupted: false,
        same_band: 0.02,
        quick: false,
        warnings: Vec::new(),
    }
}

/// The usual session, judged by what the program says of itself: more is better.
pub fn judged() -> TuneReport {
    let mut report = usual();
    let metric = Metric::Stdout("rate: ([0-9.]+)".to_owned());
    report.objective = Objective { metric, higher_is_better: true };
    let say = |runs: &mut Vec<SessionRun>| {
        for run in runs {
            run.timed.judged = Some((1e6 / run.timed.wall_s).round() / 100.0);
            run.timed.meanwhile = Meanwhile {
                steal_s: Some(f64::from(run.order % 7) / 100.0),
                other_cpu_s: Some(0.25),
                aslr: Some(Aslr::Full),
                host_taken_bytes: Some(0),
                host_given_bytes: Some(u64::from(run.block) * MIB),
                free_change_bytes: Some(-4096),
                ..Meanwhile::default()
            };
        }
    };
    for proved in report.configurations.iter_mut().map(|configuration| &mut configuration.proved) {
        say(&mut proved.runs);
        let values: Vec<f64> = proved.runs.iter().filter_map(|run| run.timed.judged).collect();
        let (mean, deviation) = described(&values);
        proved.judged = (!values.is_empty()).then_some(Judged { mean, deviation });
    }
    if let Some(confirmation) = &mut report.confirmation {
        say(&mut confirmation.baseline_runs);
        say(&mut confirmation.recommended_runs);
    }
    report
}

/// A session as they usually are: one clear gain, something skipped, one warning.
pub fn usual() -> TuneReport {
    let mut noise = Noise::new(7);
    let shape = |wall_s, spread, faults| Shape { wall_s, spread, faults, counters: true };
    let shapes = [
        shape(9.94, 0.02, 2_410_000),
        shape(3.49, 0.012, 14_100),
        shape(3.31, 0.015, 12_800),
        shape(3.62, 0.03, 41_000),
        shape(9.91, 0.02, 2_409_000),
    ];
    let mut report = empty();
    report.configurations = vec![
        configuration("baseline", None),
        configuration("thp", Some("thp")),
        configuration("thp-prefault", Some("thp,prefault")),
        configuration("glibc-thp", Some("thp,via=glibc")),
        configuration("64k", Some("64k")),
    ];
    fill(&mut report.configurations, &shapes, 12, &mut noise);
    let verdicts =
        [None, Some(Verdict::Faster), Some(Verdict::Faster), Some(Verdict::Faster), Some(Verdict::Same)];
    for (configuration, verdict) in report.configurations.iter_mut().zip(verdicts) {
        let ratio = configuration.proved.ratio;
        configuration.proved.decided = verdict.zip(ratio).map(|(verdict, ratio)| decided(verdict, ratio));
    }
    // The C library has no agent in it: only the process as a whole can be read.
    if let Some(Receipt { obtained: Some(obtained), shortfalls, blocks, .. }) =
        &mut report.configurations[3].obtained
    {
        *obtained = Obtained {
            process_bytes_by_page_size: obtained.process_bytes_by_page_size.take(),
            ..Obtained::default()
        };
        shortfalls.clear();
        blocks.clear();
    }
    // A machine that pauses once.
    report.configurations[1].proved.runs[5].timed.wall_s = 4.41;
    report.configurations[1].proved.runs[5].outlier = true;
    report.skipped = vec![
        SkippedConfiguration {
            name: "2m".to_owned(),
            reason: "the pool of 2 MiB pages is empty".to_owned(),
            remedy: Some(
                "echo 512 | sudo tee /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages".to_owned(),
            ),
        },
        SkippedConfiguration {
            name: "1g".to_owned(),
            reason: "the machine has no pool of 1 GiB pages".to_owned(),
            remedy: None,
        },
    ];
    confirm(&mut report, "thp-prefault", [&shapes[0], &shapes[2]], 10, &mut noise);
    report.warnings = vec![
        "Free page reporting is on: freed memory goes back to the host and its next first touch is slow; \
         each run was warmed up."
            .to_owned(),
    ];
    report
}

/// A session that recommends not the fastest, but spares the program something.
pub fn tied() -> TuneReport {
    let mut report = usual();
    let mut noise = Noise::new(8);
    let shape = |wall_s| Shape { wall_s, spread: 0.02, faults: 41_000, counters: true };
    confirm(&mut report, "glibc-thp", [&shape(9.94), &shape(3.35)], 10, &mut noise);
    report.best = vec!["thp-prefault".to_owned(), "glibc-thp".to_owned()];
    report.spares = Some("needs no library in front of malloc".to_owned());
    // What huge pages round up to.
    for run in report.confirmation.iter_mut().flat_map(|confirmation| &mut confirmation.recommended_runs) {
        run.timed.max_rss_bytes += 400 * MIB;
    }
    report
}

/// A session as awkward as it can be: twelve configurations, strings of an adversary, and every special case.
pub fn awkward() -> TuneReport {
    let mut noise = Noise::new(99);
    let mut report = empty();
    report.command = vec![
        "/opt/my tools/größe 漢字/program".to_owned(),
        "--title=<script>alert(\"1\")</script>".to_owned(),
        "it's & <b>bold</b> </script><!--".to_owned(),
        "line\nbreak\ttab \u{1b}[31mred \u{202e}evil".to_owned(),
        "$(rm -rf /)".to_owned(),
        "|pipe| `tick` *star* _under_".to_owned(),
        String::new(),
        "x".repeat(400),
    ];
    report.seed = u64::MAX;
    report.machine = json!({"cpu_model": "<i>CPU</i> & \"co\"", "nodes": "not a list", "thp": null, "cpus": 3, "deep": {"a": [1, {"b": 2}]}});
    let names = [
        ("baseline", None),
        ("thp", Some("thp")),
        ("thp <script>&\"'|`", Some("thp,prefault,min-size=4M,max-size=1G,follow")),
        ("64k", Some("64k")),
        ("a-name-that-is-much-too-long-for-any-column-of-any-table-on-any-terminal", Some("auto")),
        ("漢字の設定", Some("thp,via=glibc")),
        ("glibc-2m", Some("2m,via=glibc")),
        ("mimalloc", Some("thp,via=mimalloc")),
        ("jemalloc", Some("thp,via=jemalloc")),
        ("numactl-interleave", None),
        ("supervise", Some("thp,via=supervise")),
        ("4k", Some("4k")),
    ];
    report.configurations = names.iter().map(|(name, asked)| configuration(name, *asked)).collect();
    let shapes: Vec<Shape> = (0..names.len())
        .map(|index| Shape {
            wall_s: [0.912, 0.351, 0.349, 0.9, 0.36, 0.52, 0.9, 0.4, 0.41, 0.915, 0.5, 6.2][index],
            spread: [0.02, 0.02, 0.01, 0.001, 0.2, 0.03, 0.3, 0.02, 0.02, 0.08, 0.01, 0.02][index],
            faults: [240_000, 1_400, 0, 16_000, 1_500, 3_000, 240_000, 2_000, 2_100, 239_000, 9_000, 241_000]
                [index],
            counters: index % 2 == 0,
        })
        .collect();
    let slower = Ratio { value: 0.147, low: 0.14, high: 0.155 };
    report.configurations[11].proved.decided =
        Some(Decided { blocks: 3, ..decided(Verdict::Slower, slower) });
    fill(&mut report.configurations, &shapes, 6, &mut noise);
    for configuration in report.configurations.iter_mut().skip(1) {
        let Some(ratio) = configuration.proved.ratio else { continue };
        let verdict = match ratio {
            Ratio { low, high, .. } if low > 0.98 && high < 1.02 => Some(Verdict::Same),
            Ratio { low, .. } if low > 1.0 => Some(Verdict::Faster),
            Ratio { high, .. } if high < 1.0 => Some(Verdict::Slower),
            _ => None,
        };
        configuration.proved.decided = verdict.map(|verdict| decided(verdict, ratio));
        configuration.proved.forecast = verdict.is_none().then_some(Forecast { runs: 231, seconds: 305.0 });
    }
    // Two groups of times.
    let jemalloc = &mut report.configurations[8];
    jemalloc.proved.bimodal = true;
    for run in jemalloc.proved.runs.iter_mut().step_by(2) {
        run.timed.wall_s += 0.2;
    }
    // A configuration of which only one run was finished, and one of which none was.
    let lonely = &mut report.configurations[6];
    lonely.proved.runs.truncate(1);
    (lonely.proved.deviation_wall_s, lonely.proved.ratio, lonely.proved.decided, lonely.proved.forecast) =
        (None, None, None, None);
    let never = &mut report.configurations[5];
    never.proved.runs.clear();
    (never.proved.mean_wall_s, never.proved.deviation_wall_s, never.proved.ratio, never.proved.decided) =
        (0.0, None, None, None);
    never.obtained = None;
    // Receipts of every kind.
    let struck = report.configurations[2].obtained.as_mut().expect("a receipt");
    struck.shortfalls = vec![
        Shortfall { reason: Reason::PoolEmpty, bytes: 12 * HUGE, remedy: "echo 'a & b' > <file>".to_owned() },
        Shortfall::new(Reason::ThpNever, 0),
    ];
    struck.via = Via::Glibc;
    struck.complete = false;
    struck.notes = vec!["<img src=x onerror=alert(1)>".to_owned()];
    report.configurations[7].obtained.as_mut().expect("a receipt").obtained = None;
    let nothing = report.configurations[8].obtained.as_mut().expect("a receipt");
    nothing.obtained = Some(Obtained::default());
    nothing.shortfalls = vec![Shortfall::new(Reason::StaticProgram, 0)];
    let hidden = report.configurations[3].obtained.as_mut().expect("a receipt");
    hidden.obtained.as_mut().expect("read").bytes_by_node = None;
    report.configurations[4].proved.runs[3].outlier = true;
    report.configurations[4].proved.runs[3].timed.wall_s *= 3.0;
    for configuration in &mut report.configurations {
        let walls: Vec<f64> = configuration.proved.runs.iter().map(|run| run.timed.wall_s).collect();
        (configuration.proved.mean_wall_s, configuration.proved.deviation_wall_s) = described(&walls);
    }
    report.skipped = vec![SkippedConfiguration {
        name: "2m & <more>".to_owned(),
        reason: "pool \"empty\" | none".to_owned(),
        remedy: Some("echo 1 > '/sys/a b' && `x`".to_owned()),
    }];
    let recommended = report.configurations[2].name.clone();
    confirm(&mut report, &recommended, [&shapes[0], &shapes[2]], 5, &mut noise);
    report.quick = true;
    report.warnings = vec![
        "<b>loud</b> & \u{7}bell".to_owned(),
        "A warning so long that every terminal has to wrap it, with the thing to do about it at its very end: \
         close the other programs and run the session again."
            .to_owned(),
    ];
    report
}

/// Two configurations, the second with the given end.
fn pair(verdict: Option<Verdict>, ratio: Ratio, forecast: Option<Forecast>) -> TuneReport {
    let mut report = usual();
    report.configurations.truncate(2);
    report.skipped.clear();
    report.warnings.clear();
    report.best.clear();
    (report.recommended, report.confirmation) = (None, None);
    let other = &mut report.configurations[1];
    other.proved.decided = verdict.map(|verdict| decided(verdict, ratio));
    (other.proved.ratio, other.proved.forecast) = (Some(ratio), forecast);
    report
}

/// Nothing can be said yet.
pub fn undecided() -> TuneReport {
    let forecast = Forecast { runs: 24, seconds: 322.0 };
    pair(None, Ratio { value: 1.03, low: 0.96, high: 1.1 }, Some(forecast))
}

/// The only other configuration takes the same time.
pub fn same() -> TuneReport {
    pair(Some(Verdict::Same), Ratio { value: 1.001, low: 0.993, high: 1.008 }, None)
}

/// The only other configuration is slower.
pub fn slower() -> TuneReport {
    pair(Some(Verdict::Slower), Ratio { value: 0.8, low: 0.77, high: 0.83 }, None)
}

/// Faster in the search, with fresh runs that do not confirm it.
pub fn refuted(state: ConfirmationState, ratio: Option<Ratio>) -> TuneReport {
    let mut report = usual();
    if let Some(confirmation) = &mut report.confirmation {
        (confirmation.state, confirmation.ratio) = (state, ratio);
        let is_open = state == ConfirmationState::NotYet;
        confirmation.forecast = is_open.then_some(Forecast { runs: 1, seconds: 13.2 });
    }
    report
}

/// Ctrl-C in the search phase.
pub fn interrupted() -> TuneReport {
    let mut report = undecided();
    report.interrupted = true;
    report.configurations[1].proved.runs.truncate(1);
    let other = &mut report.configurations[1];
    (other.proved.deviation_wall_s, other.proved.ratio, other.proved.forecast) = (None, None, None);
    report
}

/// One run of the baseline, everything else skipped.
pub fn only_baseline() -> TuneReport {
    let mut report = usual();
    report.configurations.truncate(1);
    report.configurations[0].proved.runs.truncate(1);
    report.configurations[0].proved.deviation_wall_s = None;
    report.best.clear();
    (report.recommended, report.confirmation) = (None, None);
    report
}

/// Configurations, but not one run.
pub fn no_runs() -> TuneReport {
    let mut report = empty();
    report.configurations = vec![configuration("baseline", None), configuration("thp", Some("thp"))];
    report.interrupted = true;
    report
}

/// Every document, by name.
pub fn all() -> Vec<(&'static str, TuneReport)> {
    let near = Ratio { value: 1.002, low: 0.99, high: 1.015 };
    vec![
        ("usual", usual()),
        ("awkward", awkward()),
        ("judged", judged()),
        ("tied", tied()),
        ("empty", empty()),
        ("no-runs", no_runs()),
        ("only-baseline", only_baseline()),
        ("undecided", undecided()),
        ("same", same()),
        ("slower", slower()),
        ("interrupted", interrupted()),
        ("refuted-same", refuted(ConfirmationState::Refuted, Some(near))),
        (
            "refuted-slower",
            refuted(ConfirmationState::Refuted, Some(Ratio { value: 0.9, low: 0.85, high: 0.95 })),
        ),
        ("not-yet", refuted(ConfirmationState::NotYet, Some(Ratio { value: 1.1, low: 0.9, high: 1.3 }))),
        ("unconfirmed", refuted(ConfirmationState::NotYet, None)),
    ]
}

/// Every state that a change can have, a text of several lines, and words of a stranger.
pub fn setup() -> SetupReport {
    let change = |path: &str, before: &str, asked: &str, obtained: &str, state| SetupChange {
        what: SetupKind::Setting,
        path: path.to_owned(),
        before: Some(before.to_owned()),
        asked: Some(asked.to_owned()),
        obtained: Some(obtained.to_owned()),
        state,
        shortfall: None,
        why: "why it is worth the while, told at some length".to_owned(),
        command: format!("echo {asked} | sudo tee {path}"),
        start_ticks: None,
    };
    let once = SetupChange {
        what: SetupKind::Once,
        before: None,
        ..change("/proc/sys/vm/compact_memory", "", "1", "", SetupState::Obtained)
    };
    let short = SetupChange {
        shortfall: Some(Shortfall::new(Reason::NoContiguousMemory, 96 << 21)),
        ..change(
            "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
            "0",
            "1024",
            "928",
            SetupState::Short,
        )
    };
    let file = SetupChange {
        what: SetupKind::File,
        before: None,
        command: "sudo tee /etc/x.conf <<'END'\nfirst\nsecond\nEND".to_owned(),
        ..change("/etc/x.conf", "", "first\nsecond\n", "first\nsecond\n", SetupState::Planned)
    };
    SetupReport {
        action: SetupAction::Apply,
        asked: vec!["pages".to_owned(), "2m=1024".to_owned()],
        changes: vec![
            once,
            short,
            file,
            change("/sys/already", "1", "1", "1", SetupState::Already),
            change("/sys/left\u{1b}[2J", "1", "2", "3", SetupState::Left),
        ],
        notes: vec!["12 GiB of 14 GiB stay free (at least 2 GiB have to: --rest)".to_owned()],
        next: vec!["sudo systemctl daemon-reload".to_owned()],
        journal: Some("/var/lib/firsttouch/setup.jsonl".to_owned()),
        undo: Some("sudo firsttouch setup --undo".to_owned()),
    }
}
