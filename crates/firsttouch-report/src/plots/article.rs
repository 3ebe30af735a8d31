//! A table of an article and what was made of it here: how many times better each way is than the first, on every system.

use super::frame::{LEFT, Plot, RIGHT, WIDTH, bottom_axis, range_of, row_name};
use crate::articles::published_times;
use crate::number;
use crate::scale::Scale;
use crate::svg::{Anchor, Shape, Svg, colour};
use crate::visible::{shortened, visible};
use firsttouch_documents::ArticleTable;
use firsttouch_experiment::Ratio;

const TOP: f64 = 12.0;
/// Height of a mark's line, and what is between ways.
const LINE: f64 = 16.0;
const BETWEEN: f64 = 10.0;
/// Intervals are cut so many times beyond what they are of.
const FAR: f64 = 3.0;
/// Columns of what stands beside a mark.
const BESIDE: usize = 32;

/// A mark: what is beside it, where it is, and its interval where it is ours.
struct Mark<'a> {
    name: &'a str,
    value: f64,
    interval: Option<&'a Ratio>,
}

/// `None` where nothing was published that can be compared.
pub(super) fn plot(table: &ArticleTable) -> Option<Plot> {
    let first = table.rows.first()?;
    let ways: Vec<(&str, Vec<Mark<'_>>)> = table
        .rows
        .iter()
        .skip(1)
        .map(|row| {
            let published = row.published.iter().filter_map(|one| {
                let value = published_times(table, first, &one.system, one.value)?;
                Some(Mark { name: &one.system, value, interval: None })
            });
            let here = row.here.iter().filter_map(|one| {
                let ratio = one.ratio.as_ref()?;
                let name = if row.here.len() == 1 { "here" } else { &one.configuration };
                Some(Mark { name, value: ratio.value, interval: Some(ratio) })
            });
            (row.way.as_str(), published.chain(here).collect())
        })
        .filter(|(_, marks): &(_, Vec<Mark<'_>>)| !marks.is_empty())
        .collect();
    let marks = || ways.iter().flat_map(|(_, marks)| marks);
    marks().find(|mark| mark.interval.is_none())?;
    let (low, high) = range_of(marks().map(|mark| mark.value))?;
    let margin = (high / low).powf(0.05).max(1.05);
    let scale = Scale::by_span(low.min(1.0) / margin, high.max(1.0) * margin, (LEFT, RIGHT));
    let lines = marks().count() as f64;
    let bottom = TOP + LINE * lines + BETWEEN * ways.len() as f64;
    let mut svg = Svg::new(WIDTH, bottom + 44.0);
    let logarithmic = if scale.is_log() { " (logarithmic)" } else { "" };
    let title = format!("times better than the first on the same machine{logarithmic}");
    bottom_axis(&mut svg, &scale, &scale.ticks(7), (TOP, bottom), &title);
    svg.line((scale.at(1.0), TOP), (scale.at(1.0), bottom), colour::INK, 1.5);
    let mut y = TOP + BETWEEN / 2.0;
    for (way, marks) in &ways {
        row_name(&mut svg, y + LINE * marks.len() as f64 / 2.0, way, false);
        for mark in marks {
            let at = y + LINE / 2.0;
            let (shape, ink) = match mark.interval {
                Some(_) => (Shape::Disc, colour::BLUE),
                None => (Shape::Square, colour::GREY),
            };
            if let Some(ratio) = mark.interval {
                let (low, high) = (ratio.low.max(ratio.value / FAR), ratio.high.min(ratio.value * FAR));
                svg.line((scale.at(low), at), (scale.at(high), at), ink, 2.0);
            }
            let words = format!("{} ({})", number::times(mark.value, false), visible(mark.name));
            svg.mark(shape, (scale.at(mark.value), at), 4.0, ink, &format!("{}: {words}", visible(way)));
            svg.note((RIGHT + 14.0, at + 4.0), Anchor::Start, &shortened(&words, BESIDE));
            y += LINE;
        }
        y += BETWEEN;
        svg.grid((0.0, y - BETWEEN / 2.0), (WIDTH, y - BETWEEN / 2.0));
    }
    Some(Plot {
        title: "Theirs beside ours",
        caption: format!(
            "How many times better than \u{201c}{}\u{201d}, or what else stands first, on the same machine: ■ as published, ● here, \
             with 95 % intervals.",
            first.way
        ),
        svg: svg.finish("Published ratios beside those of this machine"),
    })
}
