//! Every run as a dot, one row per configuration, with the mean and its interval.

use super::frame::{LEFT, Plot, RIGHT, WIDTH, bottom_axis, range_of, row_name, run_words};
use crate::scale::Scale;
use crate::summary::{Phase, fresh_runs, mean_wall};
use crate::svg::{Anchor, Shape, Svg, colour};
use firsttouch_experiment::SessionRun;
use firsttouch_placement::{ConfigurationReport, TuneReport};

const ROW: f64 = 38.0;
const TOP: f64 = 8.0;
/// Offsets that keep equal times apart; taken in turn, so that a figure is the same every time.
const JITTER: [f64; 5] = [0.0, -7.0, 5.0, -3.5, 8.5];

pub(super) fn plot(report: &TuneReport) -> Option<Plot> {
    let configurations = &report.configurations;
    let every = configurations.iter().flat_map(|configuration| {
        configuration
            .proved
            .runs
            .iter()
            .chain(fresh_runs(report, &configuration.name))
            .map(|run| run.timed.wall_s)
    });
    let (low, high) = range_of(every)?;
    let margin = (high - low) * 0.03;
    let scale = Scale::by_span((low - margin).max(low * 0.9), high + margin, (LEFT, RIGHT));
    let bottom = TOP + ROW * configurations.len() as f64;
    let mut svg = Svg::new(WIDTH, bottom + 44.0);
    let title = if scale.is_log() { "wall time in seconds (logarithmic)" } else { "wall time in seconds" };
    bottom_axis(&mut svg, &scale, &scale.ticks(7), (TOP, bottom), title);
    for (index, configuration) in configurations.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        if index > 0 {
            svg.grid((LEFT, y - ROW / 2.0), (RIGHT, y - ROW / 2.0));
        }
        let strong = report.recommended.as_deref() == Some(&configuration.name);
        row_name(&mut svg, y, &configuration.name, strong);
        spread(&mut svg, &scale, configuration, y);
        dots(&mut svg, &scale, &configuration.proved.runs, Phase::Search, y);
        dots(&mut svg, &scale, fresh_runs(report, &configuration.name), Phase::Confirmation, y);
        if !configuration.proved.runs.is_empty() {
            let mean = scale.at(configuration.proved.mean_wall_s);
            svg.line((mean, y - 15.0), (mean, y + 15.0), colour::INK, 2.0);
        }
        svg.text((RIGHT + 14.0, y + 4.0), Anchor::Start, &mean_wall(configuration));
        if configuration.proved.bimodal {
            svg.note((RIGHT + 14.0, y + 17.0), Anchor::Start, "more than one group of times");
        }
    }
    Some(Plot {
        title: "Every run",
        caption: "Wall time of every run: ● search, ○ confirmation, × outlier (marked, not dropped). The upright line \
                  is the mean of the search, the shaded box one standard deviation to either side."
            .to_owned(),
        svg: svg.finish("Wall time of every run by configuration"),
    })
}

fn spread(svg: &mut Svg, scale: &Scale, configuration: &ConfigurationReport, y: f64) {
    let Some(deviation) =
        configuration.proved.deviation_wall_s.filter(|_| !configuration.proved.runs.is_empty())
    else {
        return;
    };
    let (from, to) = (
        scale.at(configuration.proved.mean_wall_s - deviation),
        scale.at(configuration.proved.mean_wall_s + deviation),
    );
    svg.bar((from, y - 15.0), ((to - from).max(1.0), 30.0), colour::GREEN, "0.35", &mean_wall(configuration));
}

fn dots(svg: &mut Svg, scale: &Scale, runs: &[SessionRun], phase: Phase, y: f64) {
    for (run, offset) in runs.iter().zip(JITTER.into_iter().cycle()) {
        let (shape, ink) = match (run.outlier, phase) {
            (true, _) => (Shape::Cross, colour::VERMILION),
            (false, Phase::Search) => (Shape::Disc, colour::BLUE),
            (false, Phase::Confirmation) => (Shape::Ring, colour::BLUE),
        };
        svg.mark(shape, (scale.at(run.timed.wall_s), y + offset), 3.0, ink, &run_words(run, phase.word()));
    }
}
