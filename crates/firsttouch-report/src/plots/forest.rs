//! Forest plot: the ratio of every configuration to the baseline with its interval, the confirmation on its own.

use super::frame::{LEFT, Plot, RIGHT, WIDTH, bottom_axis, look_of, range_of, row_name};
use crate::judged::Judged;
use crate::number;
use crate::scale::Scale;
use crate::svg::{Anchor, Shape, Svg, colour};
use crate::verdict;
use crate::visible::visible;
use firsttouch_experiment::{ConfirmationState, Ratio, Verdict};
use firsttouch_placement::TuneReport;

const ROW: f64 = 26.0;
const TOP: f64 = 30.0;
/// Intervals further out than this factor from every value are cut with an arrow, so that one open interval does
/// not flatten all others.
const FAR: f64 = 3.0;

struct Row<'a> {
    name: String,
    ratio: Option<&'a Ratio>,
    /// Form and colour.
    look: (Shape, &'static str),
    /// What was decided.
    word: String,
    confirmation: bool,
}

pub(super) fn plot(report: &TuneReport) -> Option<Plot> {
    let rows = rows(report);
    let (low, high) = domain(&rows)?;
    let gap = if rows.iter().any(|row| row.confirmation) { 10.0 } else { 0.0 };
    let bottom = TOP + ROW * rows.len() as f64 + gap;
    let scale = Scale::by_span(low, high, (LEFT, RIGHT));
    let mut svg = Svg::new(WIDTH, bottom + 44.0);

    let (same, within) = (report.same_band, verdict::band(report));
    let (from, to) = (scale.at((1.0 - same).max(low)), scale.at((1.0 + same).min(high)));
    let of_same = format!("{within}: the same");
    svg.bar((from, TOP - 8.0), (to - from, bottom - TOP + 8.0), colour::INK, "0.12", &of_same);
    let judged = Judged::of(report);
    let (better, worse) = (judged.better(), judged.worse());
    let title = format!(
        "times {} as the baseline{}{}",
        if report.objective.is_wall() { "as fast" } else { "as good" },
        visible(&judged.by()),
        if scale.is_log() { " (logarithmic)" } else { "" }
    );
    bottom_axis(&mut svg, &scale, &scale.ticks(7), (TOP - 8.0, bottom), &title);
    let one = scale.at(1.0);
    svg.line((one, TOP - 8.0), (one, bottom), colour::INK, 1.5);
    svg.note((one, TOP - 14.0), Anchor::Middle, "baseline");
    if one - LEFT > 110.0 {
        svg.note((one - 34.0, TOP - 14.0), Anchor::End, &format!("◂ {worse}"));
    }
    if RIGHT - one > 110.0 {
        svg.note((one + 34.0, TOP - 14.0), Anchor::Start, &format!("{better} ▸"));
    }

    let mut y = TOP + ROW / 2.0;
    for row in &rows {
        draw(&mut svg, &scale, row, y);
        y += ROW;
        if row.confirmation {
            svg.grid((0.0, y - ROW / 2.0 + gap / 2.0), (WIDTH, y - ROW / 2.0 + gap / 2.0));
            y += gap;
        }
    }
    Some(Plot {
        title: "Ratios to the baseline",
        caption: format!(
            "How many times {better} than the baseline{}, with 95 % intervals. The confirmation (diamond) is made \
             of fresh runs only. ▲ {better}, ▼ {worse}, ■ same (whole interval in the shaded {within}), ○ undecided; an \
             arrow marks an interval that goes on beyond the axis.",
            judged.by()
        ),
        svg: svg.finish("Forest plot of the ratios to the baseline"),
    })
}

fn rows(report: &TuneReport) -> Vec<Row<'_>> {
    let fresh = report.confirmation.iter().map(|confirmation| Row {
        name: format!("fresh runs: {}", report.recommended.as_deref().unwrap_or("recommended")),
        ratio: confirmation.ratio.as_ref(),
        look: look_of(match confirmation.state {
            ConfirmationState::Confirmed => Some(Verdict::Faster),
            ConfirmationState::Refuted => Some(Verdict::Slower),
            ConfirmationState::NotYet => None,
        }),
        word: verdict::state_word(confirmation.state).to_owned(),
        confirmation: true,
    });
    let search = report.configurations.iter().skip(1).map(|configuration| Row {
        name: configuration.name.clone(),
        ratio: configuration.proved.ratio.as_ref(),
        look: look_of(configuration.proved.verdict()),
        word: verdict::word(report, configuration.proved.verdict(), false).to_owned(),
        confirmation: false,
    });
    fresh.chain(search).collect()
}

fn domain(rows: &[Row<'_>]) -> Option<(f64, f64)> {
    let ratios = || rows.iter().filter_map(|row| row.ratio);
    let (least, most) = range_of(ratios().map(|ratio| ratio.value))?;
    let low = range_of(ratios().map(|ratio| ratio.low))?.0.max(least / FAR).min(0.95);
    let high = range_of(ratios().map(|ratio| ratio.high))?.1.min(most * FAR).max(1.05);
    let margin = (high / low).powf(0.03);
    Some((low / margin, high * margin))
}

fn draw(svg: &mut Svg, scale: &Scale, row: &Row<'_>, y: f64) {
    row_name(svg, y, &row.name, row.confirmation);
    let Some(ratio) = row.ratio else {
        svg.note((RIGHT + 14.0, y + 4.0), Anchor::Start, "too few runs");
        return;
    };
    let (shape, ink) = row.look;
    let (low, high) = (scale.at(ratio.low), scale.at(ratio.high));
    svg.line((low, y), (high, y), ink, if row.confirmation { 3.0 } else { 2.0 });
    for (end, x, inward) in [(ratio.low, low, 6.0), (ratio.high, high, -6.0)] {
        if scale.holds(end) {
            svg.line((x, y - 4.0), (x, y + 4.0), ink, 1.5);
        } else {
            svg.polyline(&[(x + inward, y - 5.0), (x, y), (x + inward, y + 5.0)], ink, 2.0, 1.0, "");
        }
    }
    let words = format!("{} {}", number::ratio(ratio), row.word);
    let (shape, radius) = if row.confirmation { (Shape::Diamond, 8.0) } else { (shape, 5.0) };
    svg.mark(shape, (scale.at(ratio.value), y), radius, ink, &format!("{}: {words}", row.name));
    let at = (RIGHT + 14.0, y + 4.0);
    if row.confirmation { svg.strong(at, Anchor::Start, &words) } else { svg.text(at, Anchor::Start, &words) }
}
