//! What figures of the report share: their measures, the names of rows, axes and the looks of verdicts.

use crate::judged::Judged;
use crate::number::UNKNOWN;
use crate::scale::Scale;
use crate::svg::{Anchor, Shape, Svg, colour, text_at};
use crate::visible::{shortened, visible};
use firsttouch_experiment::{SessionRun, Verdict};

/// Width of every figure.
pub(super) const WIDTH: f64 = 900.0;
/// Where the plotted area begins, after the names of the configurations.
pub(super) const LEFT: f64 = 190.0;
/// Where it ends, before the figures in words.
pub(super) const RIGHT: f64 = 672.0;
/// Columns of a configuration's name that fit before it.
pub(super) const NAME_COLUMNS: usize = 25;

/// A figure with its words.
#[derive(Debug)]
pub(crate) struct Plot {
    pub(crate) title: &'static str,
    pub(crate) caption: String,
    pub(crate) svg: String,
}

/// The name of a row, cut to the space it has; the whole name is its tooltip.
pub(super) fn row_name(svg: &mut Svg, y: f64, name: &str, strong: bool) {
    let whole = visible(name);
    let shown = shortened(&whole, NAME_COLUMNS);
    let mut element = text_at((LEFT - 12.0, y + 4.0), Anchor::End);
    if strong {
        element = element.set("font-weight", "bold");
    }
    svg.write(element, &shown, if shown == whole { "" } else { &whole });
}

/// Grid lines with labels below the plotted area, and the name of the axis.
pub(super) fn bottom_axis(
    svg: &mut Svg,
    scale: &Scale,
    ticks: &[(f64, String)],
    rows: (f64, f64),
    title: &str,
) {
    for (value, label) in ticks {
        let x = scale.at(*value);
        svg.grid((x, rows.0), (x, rows.1));
        svg.note((x, rows.1 + 15.0), Anchor::Middle, label);
    }
    svg.note(((LEFT + RIGHT) / 2.0, rows.1 + 32.0), Anchor::Middle, title);
}

/// The tooltip of a run.
pub(super) fn run_words(judged: Judged<'_>, run: &SessionRun, phase: &str) -> String {
    let outlier = if run.outlier { ", outlier" } else { "" };
    let value = judged.value(run).map_or(UNKNOWN.to_owned(), |value| judged.show(value));
    format!("{value} (block {}, run {}, {phase}{outlier})", run.block, run.order)
}

/// How a verdict is drawn: its form and its colour.
pub(super) fn look_of(verdict: Option<Verdict>) -> (Shape, &'static str) {
    match verdict {
        Some(Verdict::Faster) => (Shape::Up, colour::BLUE),
        Some(Verdict::Slower) => (Shape::Down, colour::VERMILION),
        Some(Verdict::Same) => (Shape::Square, colour::GREY),
        None => (Shape::Ring, colour::OCHRE),
    }
}

/// The smallest and largest of the finite values; `None` without one.
pub(super) fn range_of(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}
