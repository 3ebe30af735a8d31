//! Heat maps: one square for each pair of nodes or CPUs, with its value in it.

use super::frame::{Plot, WIDTH};
use crate::heat::{Axis, Heat, Sheet};
use crate::svg::{Anchor, Svg, colour};

const LEFT: f64 = 90.0;
const TOP: f64 = 34.0;
/// Widest and narrowest square.
const WIDEST: f64 = 74.0;
const NARROWEST: f64 = 30.0;
const HEIGHT: f64 = 30.0;

/// The figure of one matrix.
pub(crate) fn plot(axis: &Axis<'_>, sheet: &Sheet<'_>) -> Plot {
    let all: Vec<usize> = (0..axis.len()).collect();
    let has_row = |row: &usize| all.iter().any(|column| sheet.value(*row, *column).is_some());
    let has_column = |column: &usize| all.iter().any(|row| sheet.value(*row, *column).is_some());
    let rows: Vec<usize> = all.iter().copied().filter(has_row).collect();
    let columns: Vec<usize> = all.iter().copied().filter(has_column).collect();
    let side = ((WIDTH - LEFT) / columns.len().max(1) as f64).clamp(NARROWEST, WIDEST);
    let mut svg =
        Svg::new(LEFT + side * columns.len() as f64 + 10.0, TOP + HEIGHT * rows.len() as f64 + 10.0);
    svg.note((LEFT - 12.0, 18.0), Anchor::End, axis.corner());
    for (place, &column) in columns.iter().enumerate() {
        let x = LEFT + side * (place as f64 + 0.5);
        svg.note((x, 18.0), Anchor::Middle, &axis.name(column));
    }
    for (line, &row) in rows.iter().enumerate() {
        let y = TOP + HEIGHT * line as f64;
        svg.note((LEFT - 12.0, y + HEIGHT / 2.0 + 4.0), Anchor::End, &axis.name(row));
        for (place, &column) in columns.iter().enumerate() {
            let Some(value) = sheet.value(row, column) else { continue };
            let x = LEFT + side * place as f64;
            let (ink, opacity) = look(sheet.heat(value));
            let words = sheet.words(value);
            let tooltip = format!("{}: {words} {}", axis.pair(row, column), sheet.unit);
            svg.bar((x + 1.0, y + 1.0), (side - 2.0, HEIGHT - 2.0), ink, opacity, &tooltip);
            svg.text((x + side / 2.0, y + HEIGHT / 2.0 + 4.0), Anchor::Middle, &words);
        }
    }
    let label = format!("{} by pair of {}, in {}", sheet.title, axis.members(), sheet.unit);
    Plot { title: sheet.title, caption: format!("In {}.", sheet.unit), svg: svg.finish(&label) }
}

/// Fill and opacity: light enough for the page's ink on top, and in the order of their darkness as well.
fn look(heat: Heat) -> (&'static str, &'static str) {
    match heat {
        Heat::Best => (colour::BLUE, "0.12"),
        Heat::Near => (colour::BLUE, "0.32"),
        Heat::Far => (colour::OCHRE, "0.45"),
        Heat::Farthest => (colour::VERMILION, "0.6"),
    }
}
