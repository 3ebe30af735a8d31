//! A recording over time: one figure for each panel, or all of them in one.

use super::frame::{Plot, WIDTH, range_of};
use crate::number::count;
use crate::scale::Scale;
use crate::series::{Panel, Point, Series, Unit, panels};
use crate::svg::{Anchor, Element, Shape, Svg, colour};
use firsttouch_documents::Recording;
use firsttouch_sorted::sort_by_key;

/// Where the plotted area begins, after the labels of the axis, and where it ends.
const AREA: (f64, f64) = (84.0, 880.0);
const TOP: f64 = 30.0;
const HEIGHT: f64 = 120.0;
/// Height of a figure with its time axis.
const WHOLE: f64 = TOP + HEIGHT + 40.0;
/// A title above each panel, where they share a figure.
const TITLE: f64 = 24.0;
/// More points than this are thinned out: they would fall on the same pixel.
const MOST_POINTS: usize = 400;
/// So many points get a mark with its value as a tooltip.
const MOST_MARKS: usize = 120;

/// A figure for each panel.
pub(crate) fn plots(recording: &Recording) -> Vec<Plot> {
    let time = Time::of(recording);
    let plot = |panel: &Panel| {
        let mut svg = Svg::new(WIDTH, WHOLE);
        draw(&mut svg, panel, &time, TOP);
        Plot {
            title: panel.title,
            caption: panel.caption.to_owned(),
            svg: svg.finish(&format!("{} over time", panel.title)),
        }
    };
    panels(recording).iter().map(plot).collect()
}

/// All panels below each other, as a figure of its own.
pub(crate) fn figure(recording: &Recording) -> String {
    let time = Time::of(recording);
    let panels = panels(recording);
    let mut svg = Svg::new(WIDTH, (TITLE + WHOLE) * panels.len() as f64);
    let mut top = 0.0;
    for panel in &panels {
        svg.strong((AREA.0, top + 18.0), Anchor::Start, panel.title);
        draw(&mut svg, panel, &time, top + TITLE + TOP);
        top += TITLE + WHOLE;
    }
    // A file of its own needs its name space; inside a page it would be known.
    let label = format!("Process {} over time", recording.header.pid);
    svg.finish(&label).replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1)
}

/// The axis of time, in the unit that its length asks for.
struct Time {
    scale: Scale,
    unit_s: f64,
    unit: &'static str,
}

impl Time {
    fn of(recording: &Recording) -> Time {
        let seconds = recording.seconds();
        let (unit_s, unit) = match seconds {
            s if s > 3.0 * 3600.0 => (3600.0, "hours"),
            s if s > 300.0 => (60.0, "minutes"),
            _ => (1.0, "seconds"),
        };
        Time { scale: Scale::linear(0.0, seconds / unit_s, AREA), unit_s, unit }
    }

    fn at(&self, t_s: f64) -> f64 {
        self.scale.at(t_s / self.unit_s)
    }
}

fn draw(svg: &mut Svg, panel: &Panel, time: &Time, top: f64) {
    let bottom = top + HEIGHT;
    let y = value_scale(panel, (bottom, top));
    for (value, label) in time.scale.ticks(8) {
        let x = time.scale.at(value);
        svg.grid((x, top), (x, bottom));
        svg.note((x, bottom + 15.0), Anchor::Middle, &label);
    }
    svg.note((AREA.1, bottom + 30.0), Anchor::End, &format!("{} since the beginning", time.unit));
    for (value, label) in value_ticks(panel.unit, &y) {
        svg.grid((AREA.0, y.at(value)), (AREA.1, y.at(value)));
        svg.note((AREA.0 - 8.0, y.at(value) + 4.0), Anchor::End, &label);
    }
    legend(svg, panel, top - 12.0);
    if panel.stacked {
        stacked(svg, panel, time, &y);
    } else {
        for series in &panel.series {
            line(svg, panel, series, time, &y);
        }
    }
}

/// From 0 to the largest value or sum.
fn value_scale(panel: &Panel, pixels: (f64, f64)) -> Scale {
    let most = match (panel.unit, panel.stacked) {
        (Unit::Share, _) => 1.0,
        (_, true) => {
            let first = panel.series.first().map_or(&[][..], |series| &series.points);
            let sum = |index: usize| {
                panel.series.iter().filter_map(|series| series.points.get(index)).map(|p| p.value).sum()
            };
            range_of((0..first.len()).map(sum)).map_or(0.0, |range: (f64, f64)| range.1)
        }
        (_, false) => panel.series.iter().map(|series| series.ends()[3]).fold(0.0, f64::max),
    };
    Scale::linear(0.0, if most > 0.0 { most } else { 1.0 }, pixels)
}

fn value_ticks(unit: Unit, y: &Scale) -> Vec<(f64, String)> {
    match unit {
        Unit::Bytes => y.byte_ticks(3),
        Unit::Share | Unit::FineShare => {
            y.ticks(3).into_iter().map(|(value, _)| (value, share(value))).collect()
        }
        Unit::PerSecond => y.ticks(3).into_iter().map(|(value, _)| (value, count(value))).collect(),
        Unit::Count => y.ticks(3),
    }
}

/// A round share of an axis, which may be less than one per cent.
fn share(value: f64) -> String {
    let text = format!("{:.2}", value * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

fn legend(svg: &mut Svg, panel: &Panel, y: f64) {
    let mut x = AREA.0 + 6.0;
    for series in &panel.series {
        let last = panel.unit.words(series.ends()[1]);
        let label = series.labelled(&format!("{last} at last"));
        let width = 30.0 + 6.3 * label.chars().count() as f64;
        if x + width > AREA.1 {
            svg.note((x, y + 4.0), Anchor::Start, "…");
            break;
        }
        svg.mark(Shape::Square, (x, y), 5.0, series.ink, "");
        svg.note((x + 10.0, y + 4.0), Anchor::Start, &label);
        x += width;
    }
}

fn line(svg: &mut Svg, panel: &Panel, series: &Series, time: &Time, y: &Scale) {
    let points = thinned(&series.points);
    let at = |point: &Point| (time.at(point.t_s), y.at(point.value));
    if points.len() > 1 {
        svg.polyline(&points.iter().map(at).collect::<Vec<_>>(), series.ink, 1.5, 1.0, &series.label);
    }
    if points.len() <= MOST_MARKS {
        for point in &points {
            let words = format!("{} at {:.1} s", panel.unit.words(point.value), point.t_s);
            let words = series.labelled(&words);
            svg.mark(Shape::Disc, at(point), 2.0, series.ink, &words);
        }
    }
}

/// Layers on each other, the first at the bottom.
fn stacked(svg: &mut Svg, panel: &Panel, time: &Time, y: &Scale) {
    let Some(first) = panel.series.first() else { return };
    // Every `step`-th moment, and always the last.
    let step = first.points.len().div_ceil(MOST_POINTS).max(1);
    let moments: Vec<usize> = (0..first.points.len()).rev().step_by(step).rev().collect();
    let mut reached = vec![0.0; moments.len()];
    for series in &panel.series {
        let below = reached.clone();
        for (sum, moment) in reached.iter_mut().zip(&moments) {
            *sum += series.points.get(*moment).map_or(0.0, |point| point.value);
        }
        let corner = |(moment, value): (&usize, &f64)| {
            let t_s = first.points.get(*moment).map_or(0.0, |point| point.t_s);
            format!("{:.1},{:.1}", time.at(t_s), y.at(*value))
        };
        let upper = moments.iter().zip(&reached).map(corner);
        let lower = moments.iter().zip(&below).rev().map(corner);
        let corners: Vec<String> = upper.chain(lower).collect();
        let [_, last, least, most] = series.ends();
        let words = |value| panel.unit.words(value);
        let tooltip =
            series.labelled(&format!("{} to {}, {} at last", words(least), words(most), words(last)));
        // A moment alone has no area: its outline is what shows.
        let layer = Element::new("polygon")
            .set("points", &corners.join(" "))
            .set("fill", series.ink)
            .set("fill-opacity", "0.8")
            .set("stroke", series.ink)
            .set("stroke-width", if moments.len() == 1 { "3" } else { "0.5" });
        svg.push_with(layer, &tooltip);
    }
    svg.line((AREA.0, y.at(0.0)), (AREA.1, y.at(0.0)), colour::INK, 0.5);
}

/// Of every part of the time the least and the most, in their order, where there are more points than can be seen.
fn thinned(points: &[Point]) -> Vec<Point> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let part = points.len().div_ceil(MOST_POINTS / 2);
    let by_value = |a: &&Point, b: &&Point| a.value.total_cmp(&b.value);
    let mut kept = Vec::new();
    for points in points.chunks(part) {
        let ends = [points.iter().min_by(by_value), points.iter().max_by(by_value)];
        let mut ends: Vec<Point> = ends.into_iter().flatten().copied().collect();
        sort_by_key(&mut ends, |point| point.sample);
        ends.dedup_by_key(|point| point.sample);
        kept.extend(ends);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes_in_order() {
        let point = |sample: usize, value| Point { sample, t_s: sample as f64, value };
        let mut points: Vec<Point> = (0..10_000).map(|sample| point(sample, 1.0)).collect();
        points[4321].value = 99.0;
        points[4322].value = -5.0;
        let kept = thinned(&points);
        assert!(kept.len() <= MOST_POINTS && kept.is_sorted_by_key(|point| point.sample));
        assert!(kept.contains(&points[4321]) && kept.contains(&points[4322]));
        assert_eq!(thinned(&points[..7]), points[..7]);
    }

    #[test]
    fn shares_of_an_axis_are_exact() {
        assert_eq!([0.0, 0.5, 1.0, 0.004].map(share), ["0 %", "50 %", "100 %", "0.4 %"]);
    }
}
