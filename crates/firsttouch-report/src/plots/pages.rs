//! Asked against obtained: placed memory by page size and by node, as stacked bars.

use super::frame::{LEFT, Plot, RIGHT, WIDTH, range_of, row_name};
use crate::cells::total;
use crate::number::{bytes, percent};
use crate::scale::Scale;
use crate::series::{IN_TURN, ink_of_pages};
use crate::svg::{Anchor, Shape, Svg, colour, rect};
use firsttouch_placement::{ConfigurationReport, Obtained, TuneReport, format_bytes};
use firsttouch_sorted::sort_by_key;
use std::collections::BTreeMap;

const BAR: f64 = 13.0;
const GAP: f64 = 3.0;
const BETWEEN: f64 = 12.0;
const TOP: f64 = 34.0;
/// Where the bars begin: after the words that say what each bar is.
const BARS: f64 = LEFT + 62.0;
/// One bar: a word for it, and its parts with label and colour.
struct Bar {
    word: &'static str,
    parts: Vec<(String, u64, &'static str)>,
}

pub(super) fn plot(report: &TuneReport) -> Option<Plot> {
    let rows: Vec<(&ConfigurationReport, &Obtained, Vec<Bar>)> = report
        .configurations
        .iter()
        .filter_map(|configuration| {
            let obtained = configuration.obtained.as_ref()?.obtained.as_ref()?;
            let bars = bars(obtained);
            (!bars.is_empty()).then_some((configuration, obtained, bars))
        })
        .collect();
    let bytes_of = |bar: &Bar| bar.parts.iter().map(|(_, bytes, _)| *bytes as f64).sum::<f64>();
    let sizes = rows
        .iter()
        .flat_map(|(_, obtained, bars)| bars.iter().map(bytes_of).chain([obtained.placed_bytes as f64]));
    let (_, most) = range_of(sizes)?;
    let scale = Scale::linear(0.0, most, (BARS, RIGHT));
    let height_of = |bars: &[Bar]| (BAR + GAP) * (bars.len() + 1) as f64 + BETWEEN;
    let bottom = TOP + rows.iter().map(|(_, _, bars)| height_of(bars)).sum::<f64>();
    let mut svg = Svg::new(WIDTH, bottom + 26.0);
    for (value, label) in scale.byte_ticks(5) {
        let x = scale.at(value);
        svg.grid((x, TOP - 6.0), (x, bottom));
        svg.note((x, bottom + 15.0), Anchor::Middle, &label);
    }
    legend(&mut svg, &rows);
    let mut y = TOP;
    for (configuration, obtained, bars) in &rows {
        if y > TOP {
            svg.grid((0.0, y - BETWEEN / 2.0), (WIDTH, y - BETWEEN / 2.0));
        }
        row(&mut svg, &scale, configuration, obtained, bars, y);
        y += height_of(bars);
    }
    Some(Plot {
        title: "Asked and obtained",
        caption: "For each configuration: what was asked (outline), and what the untimed probe run read back at the \
                  peak of placed memory, by page size and by node. Where nothing is placed by us, the bars show the \
                  whole process at its end."
            .to_owned(),
        svg: svg.finish("Obtained memory by page size and node"),
    })
}

fn bars(obtained: &Obtained) -> Vec<Bar> {
    let by_size = |word, map: &BTreeMap<u64, u64>| Bar {
        word,
        // Largest pages first: that is what was hoped for.
        parts: map
            .iter()
            .rev()
            .map(|(size, bytes)| (format_bytes(*size), *bytes, ink_of_pages(*size)))
            .collect(),
    };
    let mut bars = Vec::new();
    if total(&obtained.bytes_by_page_size) > 0.0 {
        bars.push(by_size("pages", &obtained.bytes_by_page_size));
        if let Some(nodes) = obtained.bytes_by_node.as_ref().filter(|nodes| total(nodes) > 0.0) {
            let parts = nodes.iter().map(|(node, bytes)| {
                (format!("node {node}"), *bytes, IN_TURN[*node as usize % IN_TURN.len()])
            });
            bars.push(Bar { word: "nodes", parts: parts.collect() });
        }
    } else if let Some(process) = obtained.process_bytes_by_page_size.as_ref().filter(|map| total(map) > 0.0)
    {
        bars.push(by_size("process", process));
    }
    bars
}

fn legend(svg: &mut Svg, rows: &[(&ConfigurationReport, &Obtained, Vec<Bar>)]) {
    let mut seen: Vec<(String, &str)> = Vec::new();
    for (label, _, ink) in rows.iter().flat_map(|(_, _, bars)| bars).flat_map(|bar| &bar.parts) {
        if !seen.iter().any(|(known, _)| known == label) {
            seen.push((label.clone(), ink));
        }
    }
    sort_by_key(&mut seen, |(label, _)| (label.starts_with("node"), firsttouch_placement::parse_size(label)));
    let mut x = LEFT;
    for (label, ink) in seen {
        if x > WIDTH - 80.0 {
            break;
        }
        svg.mark(Shape::Square, (x, 10.0), 5.0, ink, "");
        svg.note((x + 10.0, 14.0), Anchor::Start, &label);
        x += 34.0 + 6.5 * label.chars().count() as f64;
    }
}

fn row(
    svg: &mut Svg,
    scale: &Scale,
    configuration: &ConfigurationReport,
    obtained: &Obtained,
    bars: &[Bar],
    top: f64,
) {
    let middle = top + ((BAR + GAP) * (bars.len() + 1) as f64 - GAP) / 2.0;
    row_name(svg, middle, &configuration.name, false);
    let is_placed = obtained.placed_bytes > 0;
    svg.note((BARS - 8.0, top + BAR - 3.0), Anchor::End, "asked");
    match &configuration.asked {
        Some(asked) if is_placed => {
            let width = scale.at(obtained.placed_bytes as f64) - BARS;
            let words = format!("{} of {}", bytes(obtained.placed_bytes as f64), asked.pages);
            svg.push_with(
                rect((BARS + 0.5, top + 0.5), (width - 1.0, BAR - 1.0))
                    .set("fill", "none")
                    .set("stroke", colour::INK)
                    .set("stroke-width", "1"),
                &words,
            );
            beside(svg, BARS + width, top, &words);
        }
        Some(asked) => svg.note((BARS, top + BAR - 3.0), Anchor::Start, &asked.pages.to_string()),
        None => svg.note((BARS, top + BAR - 3.0), Anchor::Start, "nothing"),
    }
    for (index, bar) in bars.iter().enumerate() {
        stacked(svg, scale, bar, top + (BAR + GAP) * (index + 1) as f64);
    }
}

fn stacked(svg: &mut Svg, scale: &Scale, bar: &Bar, top: f64) {
    svg.note((BARS - 8.0, top + BAR - 3.0), Anchor::End, bar.word);
    let all: f64 = bar.parts.iter().map(|(_, bytes, _)| *bytes as f64).sum();
    let mut reached = 0.0;
    for (label, part, ink) in &bar.parts {
        let (from, to) = (scale.at(reached), scale.at(reached + *part as f64));
        reached += *part as f64;
        let share = percent(*part as f64 / all);
        // A sliver of half a pixel tells where the next part begins.
        let tooltip = format!("{}: {label}, {share}", bytes(*part as f64));
        svg.bar((from, top), ((to - from - 0.5).max(0.5), BAR), ink, "1", &tooltip);
    }
    let largest = bar.parts.iter().max_by_key(|(_, bytes, _)| *bytes);
    if let Some((label, part, _)) = largest {
        let words = format!("{} {label}", percent(*part as f64 / all));
        beside(svg, scale.at(reached), top, &words);
    }
}

/// Words after the end of a bar.
fn beside(svg: &mut Svg, x: f64, top: f64, words: &str) {
    svg.note((x + 6.0, top + BAR - 3.0), Anchor::Start, words);
}
