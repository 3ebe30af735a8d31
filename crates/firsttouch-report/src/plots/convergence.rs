//! How the interval of each ratio narrowed block by block.

use super::frame::{LEFT, Plot, RIGHT, WIDTH, bottom_axis, range_of};
use crate::scale::Scale;
use crate::svg::{Anchor, Svg, colour, text_at};
use crate::visible::{shortened, visible};
use firsttouch_experiment::Ratio;
use firsttouch_experiment::statistics::contrast::contrasts;
use firsttouch_experiment::statistics::layout::Block;
use firsttouch_placement::TuneReport;
use firsttouch_sorted::{SortedMap, sort_by};

const TOP: f64 = 12.0;
const HEIGHT: f64 = 260.0;
/// The intervals miss with this probability.
const ALPHA: f64 = 0.05;
/// The lines of all but the recommended one, in turn.
const OTHERS: [&str; 3] = [colour::PURPLE, colour::OCHRE, colour::GREY];
const LABEL: f64 = 13.0;
/// So many points of a line are enough.
const POINTS: usize = 200;

struct Line<'a> {
    name: &'a str,
    /// Number of blocks, and half the width of the interval of the ratio after them as a share of it.
    points: Vec<(f64, f64)>,
    ink: &'static str,
    width: f64,
}

pub(super) fn plot(report: &TuneReport) -> Option<Plot> {
    let mut others = OTHERS.into_iter().cycle();
    let widths = half_widths(&blocks(report));
    let lines: Vec<Line<'_>> = report
        .configurations
        .iter()
        .zip(widths)
        .skip(1)
        .filter(|(_, points)| !points.is_empty())
        .map(|(configuration, points)| {
            let is_recommended = report.recommended.as_deref() == Some(&configuration.name);
            let (ink, width) = if is_recommended {
                (colour::BLUE, 2.5)
            } else {
                (others.next().unwrap_or(colour::GREY), 1.3)
            };
            Line { name: &configuration.name, points, ink, width }
        })
        .collect();
    let errors = lines.iter().flat_map(|line| &line.points).map(|(_, error)| *error);
    let (low, high) = range_of(errors)?;
    let (_, longest) = range_of(lines.iter().flat_map(|line| &line.points).map(|(blocks, _)| *blocks))?;
    let bottom = TOP + HEIGHT;
    let x = Scale::linear(2.0, longest.max(3.0), (LEFT, RIGHT));
    let (low, high) = ((low * 0.8).clamp(1e-4, 0.03), (high * 1.2).clamp(0.08, 2.0));
    let y = Scale::log(low, high, (bottom, TOP));
    let mut svg = Svg::new(WIDTH, bottom + 40.0);
    bottom_axis(&mut svg, &x, &x.whole_ticks(9), (TOP, bottom), "blocks");
    for (value, _) in y.ticks(8) {
        svg.grid((LEFT, y.at(value)), (RIGHT, y.at(value)));
        svg.note((LEFT - 8.0, y.at(value) + 4.0), Anchor::End, &per_cent(value));
    }
    let same = report.same_band.clamp(low, high);
    svg.dashed((LEFT, y.at(same)), (RIGHT, y.at(same)));
    svg.note((LEFT - 46.0, y.at(same) + 4.0), Anchor::End, "the same ▸");
    for line in &lines {
        let points: Vec<(f64, f64)> =
            line.points.iter().map(|(blocks, error)| (x.at(*blocks), y.at(*error))).collect();
        let last = line.points.last().map_or(String::new(), |(blocks, error)| {
            format!("{}: ±{} after {blocks} blocks", visible(line.name), per_cent(*error))
        });
        svg.polyline(&points, line.ink, line.width, 1.0, &last);
    }
    label(&mut svg, &lines, &x, &y, bottom);
    Some(Plot {
        title: "Convergence",
        caption: "Half the width of the 95 % interval of each ratio, as a share of the ratio, as blocks were added. A line ends \
                  where its configuration was decided and left; below the dashed line an interval around 1 is narrow \
                  enough to say that nothing differs."
            .to_owned(),
        svg: svg.finish("Half-width of the interval of the ratio against the number of blocks"),
    })
}

/// The blocks of the search, as the rule saw them.
fn blocks(report: &TuneReport) -> Vec<Block> {
    let mut blocks: SortedMap<u32, Block> = SortedMap::new();
    for (at, configuration) in report.configurations.iter().enumerate() {
        for run in &configuration.proved.runs {
            let block = blocks.entry(run.block).or_insert_with(|| vec![None; report.configurations.len()]);
            block[at] = report.objective.log_loss(&run.timed);
        }
    }
    blocks.into_values().collect()
}

/// Half the width of the interval after the second, third, … block, for every configuration while it ran.
fn half_widths(blocks: &[Block]) -> Vec<Vec<(f64, f64)>> {
    let mut widths = vec![Vec::new(); blocks.first().map_or(0, Vec::len)];
    for count in (2..=blocks.len()).step_by(1 + blocks.len() / POINTS) {
        let last = &blocks[count - 1];
        for (configuration, contrast) in contrasts(&blocks[..count], 0).iter().enumerate() {
            let ratio = contrast.as_ref().filter(|_| last[configuration].is_some());
            let Some(ratio) = ratio.and_then(|contrast| Ratio::of(contrast, ALPHA)) else { continue };
            let half_width = ratio.high / ratio.value - 1.0;
            if half_width.is_finite() {
                widths[configuration].push((count as f64, half_width));
            }
        }
    }
    widths
}

/// Names at the end of the lines, moved apart where they would cover each other.
fn label(svg: &mut Svg, lines: &[Line<'_>], x: &Scale, y: &Scale, bottom: f64) {
    let mut ends: Vec<(f64, (f64, f64), &Line<'_>)> = lines
        .iter()
        .filter_map(|line| {
            let (blocks, error) = line.points.last()?;
            Some((y.at(*error), (x.at(*blocks), y.at(*error)), line))
        })
        .collect();
    // Lines that end as high as others, as far as can be seen, keep their order.
    let seen = |height: f64| (10.0 * height).round();
    sort_by(&mut ends, |a, b| seen(a.0).total_cmp(&seen(b.0)));
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
    use super::half_widths;

    #[test]
    fn intervals_narrow_while_a_configuration_runs() {
        let wobble = |number: usize, index: usize| 0.01 * ((index + 2) * number % 5) as f64;
        let block = |number: usize| {
            (0..3).map(|index| (index < 2 || number < 6).then_some(wobble(number, index))).collect()
        };
        let widths = half_widths(&(0..20).map(block).collect::<Vec<_>>());
        assert!(widths[0].is_empty(), "the baseline has no ratio");
        assert_eq!(widths[2].last().map(|(blocks, _)| *blocks), Some(6.0), "it left after six");
        let (first, last) = (widths[1][0], widths[1][widths[1].len() - 1]);
        assert!(last.0 == 20.0 && last.1 < 0.5 * first.1, "{first:?} {last:?}");
        assert!(half_widths(&[]).is_empty());
    }
}
