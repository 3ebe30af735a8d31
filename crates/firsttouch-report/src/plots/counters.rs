//! Counters, faults and times in user mode and kernel against the baseline, as a matrix of small bars.

use super::frame::{LEFT, NAME_COLUMNS, Plot, WIDTH, row_name};
use crate::number::{self, significant};
use crate::scale::Scale;
use crate::summary::{Metric, costs};
use crate::svg::{Anchor, Svg, colour, text_at};
use crate::visible::{shortened, visible};
use firsttouch_placement::{ConfigurationReport, TuneReport};

const COLUMNS: usize = 5;
const ROW: f64 = 24.0;
const HEAD: f64 = 40.0;
const BETWEEN: f64 = 18.0;
/// Ratios beyond this factor fill their bar.
const MOST: f64 = 1000.0;

pub(super) fn plot(report: &TuneReport) -> Option<Plot> {
    let (baseline, others) = report.configurations.split_first()?;
    let others: Vec<&ConfigurationReport> =
        others.iter().filter(|other| !other.proved.runs.is_empty()).collect();
    let columns: Vec<(Metric, f64)> = costs(report)
        .into_iter()
        .filter_map(|metric| {
            let mean = metric.mean(&baseline.proved.runs)?;
            let is_used = mean > 0.0 && others.iter().any(|other| metric.mean(&other.proved.runs).is_some());
            is_used.then_some((metric, mean))
        })
        .collect();
    if columns.is_empty() {
        return None;
    }
    let panel = HEAD + ROW * others.len() as f64 + BETWEEN;
    let panels = columns.chunks(COLUMNS);
    let mut svg = Svg::new(WIDTH, panel * panels.len() as f64);
    for (index, columns) in panels.enumerate() {
        draw(&mut svg, columns, &others, panel * index as f64);
    }
    Some(Plot {
        title: if report.objective.is_wall() {
            "Faults, counters and processor time"
        } else {
            "Times, faults and counters beside it"
        },
        caption: "Means per run as a multiple of the baseline's mean (given under each title). Bars to the left: less \
                  than the baseline; to the right: more (logarithmic, each column with a scale of its own)."
            .to_owned(),
        svg: svg.finish("Faults, counters and processor time against the baseline"),
    })
}

fn draw(svg: &mut Svg, columns: &[(Metric, f64)], others: &[&ConfigurationReport], top: f64) {
    let width = (WIDTH - LEFT) / COLUMNS as f64;
    let bottom = top + HEAD + ROW * others.len() as f64;
    svg.note((LEFT - 12.0, top + 29.0), Anchor::End, "baseline");
    for (row, other) in others.iter().enumerate() {
        let y = top + HEAD + ROW * (row as f64 + 0.5);
        svg.grid((0.0, y - ROW / 2.0), (WIDTH, y - ROW / 2.0));
        row_name(svg, y, &other.name, false);
    }
    for (index, (metric, base)) in columns.iter().enumerate() {
        let left = LEFT + width * index as f64;
        let label = visible(metric.label);
        let shown = shortened(&label, NAME_COLUMNS - 5);
        svg.write(
            text_at((left + 4.0, top + 14.0), Anchor::Start),
            &shown,
            if shown == label { "" } else { &label },
        );
        svg.note((left + 4.0, top + 29.0), Anchor::Start, &metric.show(*base));
        let ratios: Vec<Option<f64>> =
            others.iter().map(|other| metric.mean(&other.proved.runs).map(|mean| mean / base)).collect();
        let furthest =
            ratios.iter().flatten().map(|ratio| ratio.max(1.0 / ratio)).fold(2.0, f64::max).min(MOST);
        let scale = Scale::log(1.0 / furthest, furthest, (left + 4.0, left + width - 58.0));
        let one = scale.at(1.0);
        svg.line((one, top + HEAD), (one, bottom), colour::INK, 1.0);
        for (row, ratio) in ratios.iter().enumerate() {
            let y = top + HEAD + ROW * (row as f64 + 0.5);
            let words = ratio.map_or(number::UNKNOWN.to_owned(), words);
            svg.note((left + width - 10.0, y + 4.0), Anchor::End, &words);
            let Some(ratio) = ratio else { continue };
            let end = scale.at(*ratio);
            let ink = if *ratio > 1.0 { colour::VERMILION } else { colour::BLUE };
            let tooltip = format!("{label}: {} ({words})", metric.show(ratio * base));
            svg.bar((end.min(one), y - 6.0), ((end - one).abs().max(1.0), 12.0), ink, "0.85", &tooltip);
        }
    }
}

fn words(ratio: f64) -> String {
    match ratio {
        0.0 => "none".to_owned(),
        r if r < 0.001 => "< 0.001 ×".to_owned(),
        r if r < 0.0995 => format!("{} ×", significant(r, 2)),
        r if r < 99.95 => format!("{r:.2} ×"),
        r => format!("{} ×", significant(r, 3)),
    }
}
