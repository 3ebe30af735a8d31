//! Figures over the number of threads: a line for each way that they were varied with.

use super::frame::{LEFT, Plot, RIGHT, WIDTH, bottom_axis, range_of};
use crate::cells::asked;
use crate::number::significant;
use crate::scale::Scale;
use crate::svg::{Anchor, Shape, Svg, colour};
use crate::visible::{shortened, visible};
use firsttouch_placement::TuneReport;
use firsttouch_sorted::sort_by;
use std::collections::BTreeMap;

const TOP: f64 = 14.0;
const HEIGHT: f64 = 240.0;
const LEGEND: f64 = 16.0;
/// What numbers of threads are varied by.
const THREADS: &str = "threads";
const INKS: [&str; 6] =
    [colour::BLUE, colour::VERMILION, colour::GREEN, colour::PURPLE, colour::OCHRE, colour::GREY];

/// `None` where fewer than two numbers of threads were compared.
pub(super) fn plot(session: &TuneReport) -> Option<Plot> {
    let mut lines: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let mut unit = "";
    for one in &session.configurations {
        let Some(case) = one.case.as_deref() else { continue };
        let threads = one.varied.get(THREADS).and_then(|text| text.parse::<u32>().ok());
        let Some((threads, figure)) = threads.zip(case.figure).filter(|(_, figure)| figure.value.is_finite())
        else {
            continue;
        };
        let placement = one.asked.as_ref().map_or("as it is".to_owned(), |placement| asked(Some(placement)));
        let others = one.varied.iter().filter(|(name, _)| *name != THREADS).map(|(_, value)| value.as_str());
        let name = others.chain([placement.as_str()]).collect::<Vec<_>>().join(", ");
        lines.entry(name).or_default().push((f64::from(threads), figure.value));
        unit = &case.unit;
    }
    let points = || lines.values().flatten();
    let (least, most) = range_of(points().map(|point| point.0))?;
    let (_, high) = range_of(points().map(|point| point.1)).filter(|_| most > least)?;
    let bottom = TOP + HEIGHT.max(LEGEND * lines.len() as f64);
    let (x, y) = (Scale::linear(least, most, (LEFT, RIGHT)), Scale::linear(0.0, high * 1.05, (bottom, TOP)));
    let mut svg = Svg::new(WIDTH, bottom + 44.0);
    bottom_axis(&mut svg, &x, &x.whole_ticks(9), (TOP, bottom), THREADS);
    for (value, label) in y.ticks(6) {
        svg.grid((LEFT, y.at(value)), (RIGHT, y.at(value)));
        svg.note((LEFT - 8.0, y.at(value) + 4.0), Anchor::End, &label);
    }
    svg.note((LEFT - 60.0, TOP + HEIGHT / 2.0), Anchor::End, &visible(unit));
    for (place, ((name, points), ink)) in lines.iter_mut().zip(INKS.into_iter().cycle()).enumerate() {
        sort_by(points, |one, other| one.0.total_cmp(&other.0));
        let at: Vec<(f64, f64)> = points.iter().map(|point| (x.at(point.0), y.at(point.1))).collect();
        svg.polyline(&at, ink, 2.0, 1.0, &visible(name));
        for (point, at) in points.iter().zip(&at) {
            let words = format!("{}: {} {unit}, {} threads", name, significant(point.1, 3), point.0);
            svg.mark(Shape::Disc, *at, 3.5, ink, &visible(&words));
        }
        let beside = TOP + LEGEND * (place as f64 + 0.5);
        svg.mark(Shape::Disc, (RIGHT + 20.0, beside), 4.0, ink, "");
        svg.note((RIGHT + 30.0, beside + 4.0), Anchor::Start, &shortened(&visible(name), 28));
    }
    Some(Plot {
        title: "Over threads",
        caption: "The figure over the number of threads, by variant and placement.".to_owned(),
        svg: svg.finish("Figures over the number of threads"),
    })
}
