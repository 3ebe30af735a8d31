//! Every run as a dot, one row per configuration, with the mean and the standard deviation.

use super::frame::{LEFT, Plot, RIGHT, WIDTH, bottom_axis, range_of, row_name, run_words};
use crate::judged::Judged;
use crate::scale::Scale;
use crate::summary::{Phase, fresh_runs};
use crate::svg::{Anchor, Shape, Svg, colour};
use crate::visible::visible;
use firsttouch_experiment::{Metric, SessionRun};
use firsttouch_placement::{ConfigurationReport, TuneReport};

const ROW: f64 = 38.0;
const TOP: f64 = 8.0;
/// Offsets that keep equal times apart; taken in turn, so that a figure is the same every time.
const JITTER: [f64; 5] = [0.0, -7.0, 5.0, -3.5, 8.5];

pub(super) fn plot(report: &TuneReport) -> Option<Plot> {
    let judged = Judged::of(report);
    let configurations = &report.configurations;
    let every = configurations.iter().flat_map(|configuration| {
        configuration
            .proved
            .runs
            .iter()
            .chain(fresh_runs(report, &configuration.name))
            .filter_map(|run| judged.value(run))
    });
    let (low, high) = range_of(every)?;
    let margin = (high - low) * 0.03;
    let scale = Scale::by_span((low - margin).max(low * 0.9), high + margin, (LEFT, RIGHT));
    let bottom = TOP + ROW * configurations.len() as f64;
    let mut svg = Svg::new(WIDTH, bottom + 44.0);
    let title = format!("{}{}", visible(&judged.axis()), if scale.is_log() { " (logarithmic)" } else { "" });
    let ticks = match report.objective.metric {
        Metric::Rss if !scale.is_log() => scale.byte_ticks(5),
        _ => scale.ticks(7),
    };
    bottom_axis(&mut svg, &scale, &ticks, (TOP, bottom), &title);
    for (index, configuration) in configurations.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        if index > 0 {
            svg.grid((LEFT, y - ROW / 2.0), (RIGHT, y - ROW / 2.0));
        }
        let strong = report.recommended.as_deref() == Some(&configuration.name);
        row_name(&mut svg, y, &configuration.name, strong);
        spread(&mut svg, &scale, judged, configuration, y);
        dots(&mut svg, &scale, judged, &configuration.proved.runs, Phase::Search, y);
        dots(&mut svg, &scale, judged, fresh_runs(report, &configuration.name), Phase::Confirmation, y);
        if let Some((mean, _)) = judged.described(configuration) {
            let mean = scale.at(mean);
            svg.line((mean, y - 15.0), (mean, y + 15.0), colour::INK, 2.0);
        }
        svg.text((RIGHT + 14.0, y + 4.0), Anchor::Start, &judged.mean(configuration));
        if configuration.proved.bimodal {
            svg.note(
                (RIGHT + 14.0, y + 17.0),
                Anchor::Start,
                &format!("more than one group of {}", report.objective.values()),
            );
        }
    }
    Some(Plot {
        title: "Every run",
        caption: format!(
            "{} of every run: ● search, ○ confirmation, × outlier (marked, not dropped). The upright line \
             is the mean of the search, the shaded box one standard deviation to either side.",
            judged.caption()
        ),
        svg: svg.finish(&format!("{} of every run by configuration", judged.caption())),
    })
}

fn spread(svg: &mut Svg, scale: &Scale, judged: Judged<'_>, configuration: &ConfigurationReport, y: f64) {
    let Some((mean, Some(deviation))) = judged.described(configuration) else { return };
    let (from, to) = (scale.at(mean - deviation), scale.at(mean + deviation));
    svg.bar(
        (from, y - 15.0),
        ((to - from).max(1.0), 30.0),
        colour::GREEN,
        "0.35",
        &judged.mean(configuration),
    );
}

fn dots(svg: &mut Svg, scale: &Scale, judged: Judged<'_>, runs: &[SessionRun], phase: Phase, y: f64) {
    for (run, offset) in runs.iter().zip(JITTER.into_iter().cycle()) {
        let (shape, ink) = match (run.outlier, phase) {
            (true, _) => (Shape::Cross, colour::VERMILION),
            (false, Phase::Search) => (Shape::Disc, colour::BLUE),
            (false, Phase::Confirmation) => (Shape::Ring, colour::BLUE),
        };
        let Some(value) = judged.value(run) else { continue };
        svg.mark(shape, (scale.at(value), y + offset), 3.0, ink, &run_words(judged, run, phase.word()));
    }
}
