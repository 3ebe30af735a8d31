//! What was judged against the order of the runs: drift, warm-up and groups of times show here.

use super::frame::{LEFT, Plot, RIGHT, WIDTH, bottom_axis, range_of, row_name, run_words};
use crate::judged::Judged;
use crate::number::percent;
use crate::scale::Scale;
use crate::summary::{Phase, fresh_runs};
use crate::svg::{Anchor, Shape, Svg, colour};
use firsttouch_experiment::SessionRun;
use firsttouch_placement::{ConfigurationReport, TuneReport};
use firsttouch_sorted::sort_by_key;

const ROW: f64 = 54.0;
const TOP: f64 = 22.0;
/// A strip shows at least this span around its values, so that a steady program looks steady.
const LEAST_SPAN: f64 = 0.05;

pub(super) fn plot(report: &TuneReport) -> Option<Plot> {
    let rows: Vec<&ConfigurationReport> = report
        .configurations
        .iter()
        .filter(|configuration| {
            configuration.proved.runs.len() + fresh_runs(report, &configuration.name).len() > 0
        })
        .collect();
    let runs = || rows.iter().flat_map(|row| row.proved.runs.iter().chain(fresh_runs(report, &row.name)));
    let (first, last) = range_of(runs().map(|run| f64::from(run.order)))?;
    let bottom = TOP + ROW * rows.len() as f64;
    let x = Scale::linear(first - 0.5, last + 0.5, (LEFT, RIGHT));
    let mut svg = Svg::new(WIDTH, bottom + 40.0);
    bottom_axis(&mut svg, &x, &x.whole_ticks(9), (TOP, bottom), "order of the runs in the session");
    for (index, configuration) in rows.iter().enumerate() {
        strip(&mut svg, &x, report, configuration, TOP + ROW * index as f64);
    }
    if let Some(start) = report
        .confirmation
        .iter()
        .flat_map(|c| c.baseline_runs.iter().chain(&c.recommended_runs))
        .map(|r| r.order)
        .min()
    {
        let at = x.at(f64::from(start) - 0.5);
        svg.dashed((at, TOP - 4.0), (at, bottom));
        let (anchor, offset) = if RIGHT - at > 90.0 { (Anchor::Start, 4.0) } else { (Anchor::End, -4.0) };
        svg.note((at + offset, TOP - 8.0), anchor, "confirmation");
    }
    let what = Judged::of(report).caption();
    Some(Plot {
        title: if report.objective.is_wall() { "Time against order" } else { "Values against order" },
        caption: format!(
            "{what} in the order the runs were made. Each strip has a scale of its own (its span is at the \
             right), so that drift, warm-up and groups show for fast and slow configurations alike; the faint \
             line is the median. ● search, ○ confirmation, × outlier."
        ),
        svg: svg.finish(&format!("{what} against the order of the runs")),
    })
}

fn strip(svg: &mut Svg, x: &Scale, report: &TuneReport, configuration: &ConfigurationReport, top: f64) {
    let fresh = fresh_runs(report, &configuration.name);
    let judged = Judged::of(report);
    let search = configuration.proved.runs.iter().map(|run| (run, Phase::Search));
    let all = search.chain(fresh.iter().map(|run| (run, Phase::Confirmation)));
    let mut runs: Vec<(&SessionRun, Phase, f64)> =
        all.filter_map(|(run, phase)| Some((run, phase, judged.value(run)?))).collect();
    sort_by_key(&mut runs, |(run, ..)| run.order);
    let mut values: Vec<f64> = runs.iter().map(|(.., value)| *value).collect();
    values.sort_unstable_by(f64::total_cmp);
    let (Some(low), Some(high)) = (values.first().copied(), values.last().copied()) else { return };
    let median = values[values.len() / 2];
    let missing = (median.abs() * LEAST_SPAN - (high - low)).max(0.0) / 2.0;
    let y = Scale::linear(low - missing, high + missing, (top + ROW - 9.0, top + 9.0));

    svg.grid((LEFT, top), (RIGHT, top));
    svg.grid((LEFT, y.at(median)), (RIGHT, y.at(median)));
    row_name(
        svg,
        top + ROW / 2.0,
        &configuration.name,
        report.recommended.as_deref() == Some(&configuration.name),
    );
    let points: Vec<(f64, f64)> =
        runs.iter().map(|(run, _, value)| (x.at(f64::from(run.order)), y.at(*value))).collect();
    if points.len() > 1 {
        svg.polyline(&points, colour::GREY, 1.0, 0.6, "");
    }
    for ((run, phase, _), point) in runs.iter().zip(points) {
        let (shape, ink) = match (run.outlier, phase) {
            (true, _) => (Shape::Cross, colour::VERMILION),
            (false, Phase::Search) => (Shape::Disc, colour::BLUE),
            (false, Phase::Confirmation) => (Shape::Ring, colour::BLUE),
        };
        svg.mark(shape, point, 2.8, ink, &run_words(judged, run, phase.word()));
    }
    if runs.len() == 1 {
        svg.note((RIGHT + 14.0, top + ROW / 2.0 + 4.0), Anchor::Start, &judged.show(low));
        return;
    }
    svg.note(
        (RIGHT + 14.0, top + ROW / 2.0 - 3.0),
        Anchor::Start,
        &format!("{} to {}", judged.show(low), judged.show(high)),
    );
    let spread =
        percent((high - low) / median).replace("100 %", &format!("{:.0} %", (high - low) / median * 100.0));
    svg.note((RIGHT + 14.0, top + ROW / 2.0 + 11.0), Anchor::Start, &format!("span {spread} of the median"));
}
