//! The HTML report: well-formed, harmless, self-contained, and the document itself when opened again.

mod common;

use common::markup::{Tag, tags};
use firsttouch_documents::{AnyDocument, to_json, to_line};
use firsttouch_placement::TuneReport;
use firsttouch_report::{Format, OpenError, html, open, show};

/// Attributes the report uses; anything else (`on…`, `src`, `href`, `style`) has no business in it.
const ATTRIBUTES: [&str; 34] = [
    "aria-label",
    "charset",
    "class",
    "content",
    "cx",
    "cy",
    "d",
    "fill",
    "fill-opacity",
    "font-family",
    "font-size",
    "font-weight",
    "height",
    "id",
    "lang",
    "name",
    "points",
    "r",
    "role",
    "scope",
    "stroke",
    "stroke-dasharray",
    "stroke-linejoin",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
    "type",
    "viewBox",
    "width",
    "x",
    "x1",
    "x2",
    "y",
    "y1",
];

fn checked(name: &str, report: &TuneReport) -> Vec<Tag> {
    checked_page(name, &html::tune(report))
}

fn checked_page(name: &str, page: &str) -> Vec<Tag> {
    let tags = tags(page).unwrap_or_else(|error| panic!("{name}: {error}"));
    for tag in &tags {
        for key in tag.attributes.keys() {
            assert!(ATTRIBUTES.contains(&key.as_str()) || key == "y2", "{name}: <{} {key}=…>", tag.name);
        }
    }
    let scripts: Vec<&Tag> = tags.iter().filter(|tag| tag.name == "script").collect();
    assert_eq!(scripts.len(), 1, "{name}: one block of data, no other script");
    assert_eq!(scripts[0].attributes["type"], "application/json");
    assert_eq!(page.matches("<script").count(), 1, "{name}");
    for word in ["http", "javascript", "url(", "@import", "NaN", "Infinity"] {
        assert!(!page.contains(word), "{name} contains {word}");
    }
    tags
}

#[test]
fn every_report_is_well_formed_and_needs_nothing_else() {
    for (name, report) in common::all() {
        checked(name, &report);
    }
}

#[test]
fn every_report_opens_again_as_the_same_document() {
    for (name, report) in common::all() {
        assert_eq!(common::session_of(&html::tune(&report)), report, "{name}");
    }
}

#[test]
fn measurements_are_well_formed_and_open_again() {
    use common::measured::{one_node, three_nodes};
    // One figure for each kind of value; without a second CPU there is neither loaded latency nor core to core.
    for (name, measurement, figures) in [("three nodes", three_nodes(), 10), ("one node", one_node(), 8)] {
        let page = html::measurement(&measurement);
        let tags = checked_page(name, &page);
        assert_eq!(tags.iter().filter(|tag| tag.name == "svg").count(), figures, "{name}");
        for text in [page, to_json(&measurement)] {
            assert_eq!(
                open(&text).unwrap(),
                AnyDocument::Measurement(Box::new(measurement.clone())),
                "{name}"
            );
        }
    }
}

#[test]
fn what_is_wrong_with_machines_is_well_formed_and_opens_again() {
    for report in [common::hosts::one(), common::hosts::several()] {
        let page = html::doctor(&report);
        checked_page("doctor", &page);
        assert_eq!(open(&page).unwrap(), AnyDocument::Doctor(Box::new(report)));
    }
}

#[test]
fn recordings_are_well_formed_and_open_again() {
    use common::recorded::{awkward, empty, two_nodes};
    for (name, recording, figures) in
        [("two nodes", two_nodes(), 12), ("awkward", awkward(), 0), ("empty", empty(), 0)]
    {
        let page = html::recording(&recording);
        let tags = checked_page(name, &page);
        assert_eq!(tags.iter().filter(|tag| tag.name == "svg").count(), figures, "{name}");
        let lines: String = [to_line(&recording.header)]
            .into_iter()
            .chain(recording.samples.iter().map(to_line))
            .chain(recording.end.iter().map(to_line))
            .collect();
        for text in [page, to_json(&recording), lines] {
            assert_eq!(open(&text).unwrap(), AnyDocument::Recording(Box::new(recording.clone())), "{name}");
            let newer = text.replace("\"schema_version\": 1", "\"schema_version\": 9");
            assert!(open(&newer.replace("\"schema_version\":1", "\"schema_version\":9")).is_err());
        }
    }
    let figure = show(&AnyDocument::Recording(Box::new(two_nodes())), Format::Svg).unwrap();
    let figure = tags(&figure).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(figure.iter().filter(|tag| tag.name == "svg").count(), 1);
}

#[test]
fn a_session_has_all_six_figures_and_no_more_bytes_than_a_mail_can_carry() {
    let tags = checked("usual", &common::usual());
    assert_eq!(tags.iter().filter(|tag| tag.name == "svg").count(), 6);
    assert_eq!(tags.iter().filter(|tag| tag.name == "figcaption").count(), 6);
    assert!(html::tune(&common::usual()).len() < 200_000);
    assert!(html::tune(&common::awkward()).len() < 200_000);
}

#[test]
fn every_run_of_both_phases_is_drawn_and_outliers_by_shape() {
    let report = common::usual();
    let page = html::tune(&report);
    let figure =
        page.split("<h2>Every run</h2>").nth(1).and_then(|rest| rest.split("</svg>").next()).unwrap();
    let tags = tags(&format!("{figure}</svg></figure>")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(tags.iter().filter(|tag| tag.name == "circle").count(), 79);
    assert_eq!(tags.iter().filter(|tag| tag.name == "path").count(), 1, "the outlier is a cross");
}

#[test]
fn figures_without_data_are_left_out() {
    for (name, report, figures) in [("empty", common::empty(), 0), ("no runs", common::no_runs(), 1)] {
        let tags = checked(name, &report);
        assert_eq!(tags.iter().filter(|tag| tag.name == "svg").count(), figures, "{name}");
    }
}

#[test]
fn html_of_others_and_cut_files_are_told_apart() {
    assert!(matches!(open("<!DOCTYPE html><p>hello</p>"), Err(OpenError::NoData)));
    let page = html::tune(&common::undecided());
    let cut = &page[..page.len() - 40];
    assert!(matches!(open(cut), Err(OpenError::Truncated { .. })));
}
