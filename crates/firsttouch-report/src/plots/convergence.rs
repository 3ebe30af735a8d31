//! How the interval of the mean narrowed run by run, down to the 5 % at which a configuration may stop.

use super::frame::{LEFT, Plot, RIGHT, WIDTH, bottom_axis, range_of};
use crate::scale::Scale;
use crate::svg::{Anchor, Svg, colour, text_at};
use crate::visible::{shortened, visible};
use firsttouch_experiment::SessionRun;
use firsttouch_placement::TuneReport;
use statrs::distribution::{ContinuousCDF, StudentsT};

const TOP: f64 = 12.0;
const HEIGHT: f64 = 260.0;
const THRESHOLD: f64 = 0.05;
/// The lines of the baseline and the winner, and of the others in turn.
const OTHERS: [&str; 3] = [colour::PURPLE, colour::OCHRE, colour::GREY];
const LABEL: f64 = 13.0;

struct Line<'a> {
    name: &'a str,
    /// Number of runs and relative half-width after it.
    points: Vec<(f64, f64)>,
    ink: &'static str,
    width: f64,
}

pub(super) fn plot(report: &TuneReport) -> Option<Plot> {
    let mut others = OTHERS.into_iter().cycle();
    let lines: Vec<Line<'_>> = report
        .configurations
        .iter()
        .enumerate()
        .filter_map(|(index, configuration)| {
            let points = relative_errors(&configuration.proved.runs);
            let (ink, width) = if report.winner.as_deref() == Some(&configuration.name) {
                (colour::BLUE, 2.5)
            } else if index == 0 {
                (colour::INK, 2.0)
            } else {
                (others.next().unwrap_or(colour::GREY), 1.3)
            };
            (!points.is_empty()).then_some(Line { name: &configuration.name, points, ink, width })
        })
        .collect();
    let errors = lines.iter().flat_map(|line| &line.points).map(|(_, error)| *error);
    let (low, high) = range_of(errors)?;
    let (_, longest) = range_of(lines.iter().flat_map(|line| &line.points).map(|(runs, _)| *runs))?;
    let bottom = TOP + HEIGHT;
    let x = Scale::linear(2.0, longest.max(3.0), (LEFT, RIGHT));
    let y = Scale::log((low * 0.8).clamp(1e-4, 0.03), (high * 1.2).clamp(0.08, 2.0), (bottom, TOP));
    let mut svg = Svg::new(WIDTH, bottom + 40.0);
    bottom_axis(&mut svg, &x, &x.whole_ticks(9), (TOP, bottom), "runs of the configuration");
    for (value, _) in y.ticks(8) {
        svg.grid((LEFT, y.at(value)), (RIGHT, y.at(value)));
        svg.note((LEFT - 8.0, y.at(value) + 4.0), Anchor::End, &per_cent(value));
    }
    svg.dashed((LEFT, y.at(THRESHOLD)), (RIGHT, y.at(THRESHOLD)));
    svg.note((LEFT - 46.0, y.at(THRESHOLD) + 4.0), Anchor::End, "precise enough ▸");
    for line in &lines {
        let points: Vec<(f64, f64)> =
            line.points.iter().map(|(runs, error)| (x.at(*runs), y.at(*error))).collect();
        let last = line.points.last().map_or(String::new(), |(runs, error)| {
            format!("{}: ±{} after {runs} runs", visible(line.name), per_cent(*error))
        });
        svg.polyline(&points, line.ink, line.width, 1.0, &last);
    }
    label(&mut svg, &lines, &x, &y, bottom);
    Some(Plot {
        title: "Convergence",
        caption: "Half-width of the 95 % interval of the mean, relative to the mean, as runs were added. A \
                  configuration is precise enough once it stays at or below 5 % at two block ends in a row."
            .to_owned(),
        svg: svg.finish("Relative error of the mean against the number of runs"),
    })
}

/// The relative half-width after the second, third, … run.
fn relative_errors(runs: &[SessionRun]) -> Vec<(f64, f64)> {
    let (mut mean, mut squares) = (0.0, 0.0);
    let mut errors = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        // Welford's update: one pass, and no difference of large sums.
        let number = (index + 1) as f64;
        let before = run.timed.wall_s - mean;
        mean += before / number;
        squares += before * (run.timed.wall_s - mean);
        if index == 0 || mean <= 0.0 {
            continue;
        }
        let Ok(student) = StudentsT::new(0.0, 1.0, number - 1.0) else { continue };
        let half = student.inverse_cdf(0.975) * (squares / (number - 1.0) / number).sqrt();
        if half.is_finite() {
            errors.push((number, half / mean));
        }
    }
    errors
}

/// Names at the end of the lines, moved apart where they would cover each other.
fn label(svg: &mut Svg, lines: &[Line<'_>], x: &Scale, y: &Scale, bottom: f64) {
    let mut ends: Vec<(f64, (f64, f64), &Line<'_>)> = lines
        .iter()
        .filter_map(|line| {
            let (runs, error) = line.points.last()?;
            Some((y.at(*error), (x.at(*runs), y.at(*error)), line))
        })
        .collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = TOP;
    for end in &mut ends {
        end.0 = end.0.max(free);
        free = end.0 + LABEL;
    }
    // What was pushed past the bottom moves back up.
    let mut limit = bottom;
    for end in ends.iter_mut().rev() {
        end.0 = end.0.min(limit);
        limit = end.0 - LABEL;
    }
    for (at, end, line) in ends {
        svg.push(
            crate::svg::Element::new("polyline")
                .set("points", &format!("{:.1},{:.1} {:.1},{:.1}", end.0, end.1, RIGHT + 12.0, at))
                .set("fill", "none")
                .set("stroke", line.ink)
                .set("stroke-opacity", "0.4"),
        );
        let whole = visible(line.name);
        let shown = shortened(&whole, 24);
        let element =
            text_at((RIGHT + 16.0, at + 4.0), Anchor::Start).set("font-size", "11").set("fill", line.ink);
        svg.write(element, &shown, if shown == whole { "" } else { &whole });
    }
}

fn per_cent(share: f64) -> String {
    format!("{} %", crate::number::significant(share * 100.0, if share < 0.0995 { 1 } else { 2 }))
}

#[cfg(test)]
mod tests {
    use super::relative_errors;
    use firsttouch_experiment::{SessionRun, TimedRun};

    fn runs(walls: &[f64]) -> Vec<SessionRun> {
        let run = |wall_s: &f64| SessionRun {
            timed: TimedRun { wall_s: *wall_s, ..TimedRun::default() },
            ..SessionRun::default()
        };
        walls.iter().map(run).collect()
    }

    #[test]
    fn the_half_width_is_student_s() {
        // Two runs: mean 2, standard error 1, t(0.975, 1) = 12.7062.
        let errors = relative_errors(&runs(&[1.0, 3.0]));
        assert_eq!(errors.len(), 1);
        assert!((errors[0].1 - 12.7062 / 2.0).abs() < 1e-3, "{errors:?}");
        assert_eq!(relative_errors(&runs(&[2.0, 2.0, 2.0])), [(2.0, 0.0), (3.0, 0.0)]);
        assert!(relative_errors(&runs(&[1.0])).is_empty());
    }
}
