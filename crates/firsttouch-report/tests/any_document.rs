//! Whatever strings and numbers a document holds: no format panics, nothing is obeyed by a terminal or browser,
//! and what was written opens again as the same document.

mod common;

use common::markup;
use firsttouch_documents::{
    AnyDocument, ArticleFigure, ArticleReport, ArticleRow, ArticleTable, BenchReport, CaseComparison,
    CaseReport, ComparisonAxis, MissingVariant, PlacedArrays, PublishedFigure, PublishedValue,
};
use firsttouch_experiment::{
    Aslr, ConfigurationResult, Confirmation, ConfirmationState, Decided, Forecast, Judged, Meanwhile, Metric,
    Objective, Ratio, SessionRun, TimedRun, Verdict,
};
use firsttouch_placement::{
    BlockReport, CaseFigure, CaseFigures, CaseLimit, CaseWork, ConfigurationReport, ObjectObtained, Obtained,
    Pages, Placement, Prefault, ProcessMemory, ProcessTree, Reason, Receipt, Resident, ResidentMemory,
    Shortfall, SkippedConfiguration, ThreadReport, TuneReport, Via,
};
use firsttouch_report::{Style, csv, html, json, markdown, open, text};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::Value;

/// Any characters, with a liking for those that mean something somewhere.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[<>&\"'`|/\\\\\\[\\]*_$\u{0}-\u{1f}\u{7f}-\u{9f}\u{202e}a-z ]{0,12}",
        Just("</script><script>alert(1)</script>".to_owned()),
        Just("<!--".to_owned()),
        Just("]]>".to_owned()),
        Just("&lt;".to_owned()),
    ]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![4 => 0.001..100.0f64, 1 => proptest::num::f64::POSITIVE | proptest::num::f64::ZERO]
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![Just(Verdict::Faster), Just(Verdict::Slower), Just(Verdict::Same)]
}

fn ratio() -> impl Strategy<Value = Ratio> {
    (number(), number(), number()).prop_map(|(value, low, high)| Ratio { value, low, high })
}

fn decided() -> impl Strategy<Value = Decided> {
    (verdict(), any::<u32>(), ratio(), number()).prop_map(|(verdict, blocks, ratio, e_value)| Decided {
        verdict,
        blocks,
        ratio,
        e_value,
    })
}

fn forecast() -> impl Strategy<Value = Forecast> {
    (any::<u32>(), number()).prop_map(|(runs, seconds)| Forecast { runs, seconds })
}

fn state() -> impl Strategy<Value = ConfirmationState> {
    prop_oneof![
        Just(ConfirmationState::Confirmed),
        Just(ConfirmationState::Refuted),
        Just(ConfirmationState::NotYet)
    ]
}

prop_compose! {
    fn meanwhile()(
        steal_s in proptest::option::of(number()),
        (other_cpu_s, frequency_mhz) in (proptest::option::of(number()), proptest::option::of(number())),
        governor in proptest::option::of(words()),
        aslr in proptest::option::of(proptest::sample::select(vec![Aslr::Off, Aslr::Partial, Aslr::Full])),
        (host_taken_bytes, host_given_bytes, free_change_bytes) in any::<(Option<u64>, Option<u64>, Option<i64>)>(),
    ) -> Meanwhile {
        Meanwhile {
            steal_s, other_cpu_s, frequency_mhz, governor, aslr, host_taken_bytes, host_given_bytes, free_change_bytes,
        }
    }
}

prop_compose! {
    fn run()(
        (block, order, outlier) in any::<(u32, u32, bool)>(),
        (wall_s, user_s, system_s) in (number(), number(), number()),
        (max_rss_bytes, minor_faults, major_faults, context_switches) in any::<(u64, u64, u64, u64)>(),
        counters in btree_map(words(), any::<u64>(), 0..3),
        judged in proptest::option::of(number()),
        meanwhile in meanwhile(),
    ) -> SessionRun {
        SessionRun {
            block, order, outlier,
            timed: TimedRun {
                wall_s, user_s, system_s, max_rss_bytes, minor_faults, major_faults, context_switches, counters, judged, meanwhile,
            },
        }
    }
}

fn placement() -> impl Strategy<Value = Placement> {
    let pages = prop_oneof![
        Just(Pages::Base),
        Just(Pages::Multi(64 << 10)),
        Just(Pages::Transparent),
        Just(Pages::Huge1G),
        Just(Pages::Auto)
    ];
    (
        pages,
        any::<u64>(),
        any::<Option<u64>>(),
        proptest::sample::select(vec![Prefault::No, Prefault::AtOnce, Prefault::Background]),
        any::<(bool, bool)>(),
        proptest::sample::select(Via::ALL.to_vec()),
    )
        .prop_map(|(pages, min_size, max_size, prefault, (zero, follow), via)| Placement {
            pages,
            min_size,
            max_size,
            prefault,
            zero,
            via,
            follow,
            ..Placement::default()
        })
}

prop_compose! {
    fn thread()(
        number: u32,
        name in proptest::option::of(words()),
        cpu_asked: Option<u32>,
        cpus_obtained in proptest::option::of(vec(any::<u32>(), 0..4)),
    ) -> ThreadReport {
        ThreadReport { number, name, cpu_asked, cpus_obtained }
    }
}

prop_compose! {
    fn obtained()(
        bytes_by_page_size in btree_map(any::<u64>(), any::<u64>(), 0..4),
        bytes_by_node in proptest::option::of(btree_map(any::<u32>(), any::<u64>(), 0..3)),
        process_bytes_by_page_size in proptest::option::of(btree_map(any::<u64>(), any::<u64>(), 0..3)),
        (placed_bytes, peak_bytes, placed_blocks, recycled_bytes, pool_bytes) in any::<(u64, u64, u64, u64, u64)>(),
        (recycled_blocks, held_bytes, own_policies) in any::<(u64, u64, u64)>(),
        threads in vec(thread(), 0..40),
    ) -> Obtained {
        Obtained {
            bytes_by_page_size, pool_bytes, bytes_by_node, placed_bytes, peak_bytes, placed_blocks, recycled_bytes,
            recycled_blocks, held_bytes, process_bytes_by_page_size, threads, own_policies,
        }
    }
}

fn resident() -> impl Strategy<Value = ResidentMemory> {
    any::<[(u64, u64); 4]>().prop_map(|kinds| {
        let [placed, private, shared, files] =
            kinds.map(|(bytes, huge_bytes)| Resident { bytes, huge_bytes });
        ResidentMemory { placed, private, shared, files }
    })
}

prop_compose! {
    fn process()(
        (pid, parent, peak_rss_bytes, cpu_ms) in any::<(u32, u32, Option<u64>, u64)>(),
        program in words(),
        memory in resident(),
    ) -> ProcessMemory {
        ProcessMemory { pid, parent, program, peak_rss_bytes, cpu_ms, memory }
    }
}

prop_compose! {
    fn tree()(
        at_peak in resident(),
        processes in vec(process(), 0..20),
        (unlisted, outlived) in any::<(u32, u64)>(),
    ) -> ProcessTree {
        ProcessTree { pid: 7, at_peak, processes, unlisted: unlisted.into(), outlived }
    }
}

prop_compose! {
    fn receipt()(
        (program, remedy, notes) in (words(), words(), vec(words(), 0..3)),
        asked in placement(),
        obtained in proptest::option::of(obtained()),
        reasons in vec((proptest::sample::select(Reason::ALL.to_vec()), any::<u64>()), 0..3),
        blocks in vec((any::<(u64, u64, Option<u64>)>(), words()), 0..12),
        via in proptest::sample::select(Via::ALL.to_vec()),
        tree in proptest::option::of(tree()),
        cpus_obtained in proptest::option::of(vec(0u32..5000, 0..4)),
        (complete, ending) in (any::<bool>(), proptest::option::of(words())),
    ) -> Receipt {
        let shortfall = |(reason, bytes)| Shortfall { reason, bytes, remedy: remedy.clone() };
        let block = |((id, bytes, huge_bytes), address)| BlockReport { id, address, bytes, huge_bytes };
        Receipt {
            program, asked, obtained, cpus_obtained, tree, via, complete, ending, notes,
            shortfalls: reasons.into_iter().map(shortfall).collect(),
            blocks: blocks.into_iter().map(block).collect(),
        }
    }
}

prop_compose! {
    fn case_figures()(
        (name, variant, unit) in (words(), words(), words()),
        (alternative, higher_is_better) in any::<(bool, bool)>(),
        parameters in btree_map(words(), words(), 0..3),
        work in proptest::option::of(any::<(u64, u64)>()),
        figure in proptest::option::of((1e-9..1e9f64, proptest::option::of((1e-9..1e9f64, 1e-9..1e9f64)))),
        (checksum, notes) in (proptest::option::of(words()), vec(words(), 0..2)),
        objects in btree_map(words(), any::<(u64, Option<u64>, u32, u64)>(), 0..2),
        limit in proptest::option::of((words(), 1e-9..1e12f64, proptest::option::of(0.0..2.0f64))),
    ) -> CaseFigures {
        CaseFigures {
            name, variant, unit, alternative, higher_is_better, parameters, checksum, notes,
            objects: objects
                .into_iter()
                .map(|(name, (bytes, huge_bytes, node, there))| {
                    (name, ObjectObtained { bytes, huge_bytes, bytes_by_node: [(node, there)].into() })
                })
                .collect(),
            work: work.map(|(bytes, operations)| CaseWork { bytes, operations }),
            figure: figure.map(|(value, ends)| CaseFigure {
                value,
                low: ends.map(|ends| ends.0),
                high: ends.map(|ends| ends.1),
            }),
            limit: limit.map(|(what, value, share)| CaseLimit { what, value, share }),
        }
    }
}

prop_compose! {
    fn configuration()(
        case in proptest::option::of(case_figures().boxed()),
        name in words(),
        varied in btree_map(words(), words(), 0..3),
        command in proptest::option::of(vec(words(), 0..3)),
        asked in proptest::option::of(placement()),
        // On the heap: what makes them is larger than a test's stack.
        obtained in proptest::option::of(receipt().boxed()),
        runs in vec(run().boxed(), 0..4),
        (mean_wall_s, deviation_wall_s) in (number(), proptest::option::of(number())),
        judged in proptest::option::of((number(), proptest::option::of(number()))),
        ratio in proptest::option::of(ratio()),
        decided in proptest::option::of(decided()),
        forecast in proptest::option::of(forecast()),
        bimodal in any::<bool>(),
    ) -> ConfigurationReport {
        let judged = judged.map(|(mean, deviation)| Judged { mean, deviation });
        ConfigurationReport {
            name, varied, command, asked, obtained,
            case: case.map(Box::new),
            proved: ConfigurationResult {
                runs, mean_wall_s, deviation_wall_s, judged, ratio, decided, forecast, bimodal,
            },
        }
    }
}

fn machine() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        number().prop_map(Value::from),
        words().prop_map(Value::from)
    ];
    let keys = prop_oneof![
        words(),
        proptest::sample::select(vec![
            "cpu_model",
            "cpus",
            "nodes",
            "caches",
            "thp",
            "pools",
            "size_bytes",
            "id",
            "enabled"
        ])
        .prop_map(str::to_owned)
    ];
    leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(keys.clone(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect()))
        ]
    })
}

fn objective() -> impl Strategy<Value = Objective> {
    let metric = prop_oneof![
        proptest::sample::select(
            Metric::words().map(|word| word.parse().expect("a word of the list")).collect::<Vec<Metric>>()
        ),
        Just(Metric::Counter("cycles".to_owned())),
        words().prop_map(|regex| Metric::Stdout(format!("({regex})"))),
        (words(), words()).prop_map(|(file, key)| Metric::Json {
            file: format!("{file}."),
            pointer: format!("/{}", key.replace('/', "~1")),
        }),
    ];
    (metric, any::<bool>()).prop_map(|(metric, higher_is_better)| Objective { metric, higher_is_better })
}

prop_compose! {
    fn document()(
        (command, started, warnings) in (vec(words(), 0..4), words(), vec(words(), 0..3)),
        (seed, interrupted, quick) in any::<(u64, bool, bool)>(),
        objective in objective(),
        machine in machine(),
        configurations in vec(configuration().boxed(), 0..4),
        skipped in vec((words(), words(), proptest::option::of(words())), 0..2),
        (recommended, stranger) in (proptest::option::of(0usize..4), words()),
        (best, spares, same_band) in (vec(words(), 0..3), proptest::option::of(words()), number()),
        confirmation in proptest::option::of((
            proptest::option::of(ratio()), state(), proptest::option::of(forecast()), vec(run().boxed(), 0..3), vec(run().boxed(), 0..3),
        )),
    ) -> TuneReport {
        // One that is one of the configurations where there is one, or nobody's name.
        let name = |index: usize| configurations.get(index).map_or(stranger.clone(), |c| c.name.clone());
        TuneReport {
            recommended: recommended.map(name),
            best, spares, same_band,
            command, seed, started, objective, machine, configurations, interrupted, quick, warnings,
            skipped: skipped
                .into_iter()
                .map(|(name, reason, remedy)| SkippedConfiguration { name, reason, remedy })
                .collect(),
            confirmation: confirmation.map(|(ratio, state, forecast, baseline_runs, recommended_runs)| Confirmation {
                ratio, state, forecast, baseline_runs, recommended_runs,
            }),
        }
    }
}

prop_compose! {
    fn case()(
        (name, summary, source) in (words(), words(), words()),
        parameters in btree_map(words(), words(), 0..3),
        published in vec((words(), words(), 1e-9..1e9f64, words()), 0..3),
        missing in vec((words(), words(), words()), 0..3),
        objects in proptest::option::of((btree_map(words(), any::<u64>(), 0..3), any::<bool>())),
        comparisons in vec((0..4usize, document().boxed()), 0..3),
    ) -> CaseReport {
        let axes = [ComparisonAxis::Variants, ComparisonAxis::Placements, ComparisonAxis::Varied, ComparisonAxis::Objects];
        let published = published.into_iter();
        let missing = missing.into_iter();
        CaseReport {
            name, summary, source, parameters,
            objects: objects.map(|(arrays, kept)| PlacedArrays {
                arrays,
                placement: kept.then(|| "plain,object=a:thp:prefer=1".parse().expect("a placement")),
            }),
            published: published
                .map(|(source, what, value, unit)| PublishedFigure { source, what, value, unit })
                .collect(),
            comparisons: comparisons
                .into_iter()
                .map(|(axis, session)| CaseComparison { of: axes[axis], session })
                .collect(),
            missing: missing
                .map(|(variant, reason, remedy)| MissingVariant { variant, reason, remedy })
                .collect(),
        }
    }
}

prop_compose! {
    fn article_row()(
        way in words(),
        published in vec((words(), 1e-9..1e9f64), 0..3),
        here in vec((words(), 1e-9..1e9f64, words(), any::<bool>()), 0..3),
        reason in proptest::option::of(words()),
    ) -> ArticleRow {
        let ratio = |value| Ratio { value, low: value / 2.0, high: 2.0 * value };
        ArticleRow {
            way, reason,
            published: published.into_iter().map(|(system, value)| PublishedValue { system, value }).collect(),
            here: here
                .into_iter()
                .map(|(configuration, value, unit, judged)| ArticleFigure {
                    configuration, unit,
                    figure: CaseFigure { value, low: judged.then_some(value), high: judged.then_some(value) },
                    ratio: judged.then(|| ratio(value)),
                    verdict: judged.then_some(Verdict::Faster),
                })
                .collect(),
        }
    }
}

prop_compose! {
    fn article_table()(
        (name, shows, unit) in (words(), words(), words()),
        (higher_is_better, case) in (any::<Option<bool>>(), any::<Option<u32>>()),
        (command, notes) in (vec(words(), 0..3), vec(words(), 0..3)),
        reason in proptest::option::of(words()),
        rows in vec(article_row(), 0..4),
    ) -> ArticleTable {
        ArticleTable { name, shows, unit, higher_is_better, command, case, reason, rows, notes }
    }
}

prop_compose! {
    fn article()(
        (document, title, by) in (words(), words(), words()),
        tables in vec(article_table(), 0..3),
    ) -> ArticleReport {
        ArticleReport { document, title, by, tables }
    }
}

prop_compose! {
    fn bench()(
        cases in vec(case().boxed(), 0..3),
        articles in vec(article(), 0..3),
        (started, machine, quick, interrupted) in (words(), machine(), any::<bool>(), any::<bool>()),
    ) -> BenchReport {
        BenchReport { started, quick, machine, cases, articles, interrupted }
    }
}

fn is_harmless(text: &str) -> bool {
    !text.contains(|c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_opens_again_and_nothing_in_it_is_obeyed(report in document(), width in 0usize..300) {
        let page = html::tune(&report);
        if let Err(error) = markup::tags(&page) {
            return Err(TestCaseError::fail(error));
        }
        prop_assert_eq!(page.matches("<script").count(), 1);
        prop_assert_eq!(&common::session_of(&page), &report);
        prop_assert_eq!(&common::session_of(&json::tune(&report)), &report);
        prop_assert!(is_harmless(&text::tune(&report, width, Style::Plain)));
        prop_assert!(is_harmless(&markdown::tune(&report)));
        text::tune(&report, width, Style::Ansi);
        prop_assert!(csv::tune(&report).starts_with("configuration,phase,"));
        for receipt in report.configurations.iter().filter_map(|configuration| configuration.obtained.as_ref()) {
            prop_assert!(is_harmless(&text::receipt(receipt, width, Style::Plain)));
        }
    }

    #[test]
    fn cases_open_again_and_nothing_in_them_is_obeyed(report in bench(), width in 0usize..300) {
        let page = html::bench(&report);
        if let Err(error) = markup::tags(&page) {
            return Err(TestCaseError::fail(error));
        }
        let opened = open(&page).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&opened, &AnyDocument::Bench(Box::new(report.clone())));
        prop_assert_eq!(&open(&json::bench(&report)).unwrap(), &opened);
        prop_assert!(is_harmless(&text::bench(&report, width, Style::Plain)));
        prop_assert!(is_harmless(&markdown::bench(&report)));
        prop_assert!(csv::bench(&report).starts_with("case,comparison,"));
    }

    #[test]
    fn any_text_is_survived(text in words(), tail in words()) {
        let _ = open(&text);
        let _ = open(&format!("<script type=\"application/json\" id=\"firsttouch-data\">{text}</script>{tail}"));
    }
}
