//! Boxes drawn as SVG.

use super::boxes::{Kind, Part, cpu_list};
use crate::svg::{Anchor, Svg, colour, rect};
use crate::visible::{columns, shortened};

const MARGIN: f64 = 8.0;
const LINE: f64 = 16.0;
/// About the width of a letter at the size of the figures.
const LETTER: f64 = 6.6;
const CORE_HEIGHT: f64 = 20.0;
const MOST_LETTERS: usize = 100;
/// A row of boxes or cores goes on the next line beyond this.
const ROW: f64 = 860.0;

/// A box with its place, relative to the box around it.
struct Laid<'a> {
    part: &'a Part,
    width: f64,
    height: f64,
    cores: Vec<((f64, f64), f64, String)>,
    inner: Vec<((f64, f64), Laid<'a>)>,
}

pub(super) fn draw(part: &Part, model: Option<&str>) -> String {
    let laid = lay(part);
    let mut svg = Svg::new(laid.width + 2.0 * MARGIN, laid.height + 2.0 * MARGIN);
    put(&mut svg, &laid, (MARGIN, MARGIN));
    let label = format!("the machine: {}", model.unwrap_or("processor unknown"));
    // A file of its own needs its name space; inside a page it would be known.
    svg.finish(&label).replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1)
}

fn text_width(text: &str) -> f64 {
    columns(text) as f64 * LETTER
}

/// Places things of these sizes in rows; returns their places and the size of all.
fn flow(sizes: &[(f64, f64)], most: f64) -> (Vec<(f64, f64)>, (f64, f64)) {
    let (mut x, mut y, mut height, mut width) = (0.0, 0.0, 0.0_f64, 0.0_f64);
    let mut places = Vec::new();
    for (own_width, own_height) in sizes {
        if x > 0.0 && x + own_width > most {
            (x, y, height) = (0.0, y + height + MARGIN, 0.0);
        }
        places.push((x, y));
        width = width.max(x + own_width);
        height = height.max(*own_height);
        x += own_width + MARGIN;
    }
    (places, (width, y + height))
}

fn lay(part: &Part) -> Laid<'_> {
    let texts = std::iter::once(&part.title).chain(&part.lines);
    let text = texts.map(|line| text_width(&shortened(line, MOST_LETTERS))).fold(0.0, f64::max);
    let mut top = MARGIN + LINE * (1 + part.lines.len()) as f64;
    let mut width = text;
    let labels: Vec<String> = part.cores.iter().map(|core| cpu_list(core)).collect();
    let sizes: Vec<(f64, f64)> =
        labels.iter().map(|label| (text_width(label) + MARGIN, CORE_HEIGHT)).collect();
    // Cores in a square rather than in one long row.
    let square =
        sizes.iter().map(|(width, _)| width + MARGIN).sum::<f64>() / (sizes.len() as f64).sqrt().max(1.0);
    let (places, size) = flow(&sizes, square.clamp(text.max(160.0), ROW));
    let mut cores = Vec::new();
    if !labels.is_empty() {
        cores = places
            .iter()
            .zip(sizes)
            .zip(labels)
            .map(|(((x, y), (width, _)), label)| ((x + MARGIN, y + top), width, label))
            .collect();
        width = width.max(size.0);
        top += size.1 + MARGIN;
    }
    let inner: Vec<Laid<'_>> = part.parts.iter().map(lay).collect();
    let sizes: Vec<(f64, f64)> = inner.iter().map(|laid| (laid.width, laid.height)).collect();
    let (places, size) = flow(&sizes, ROW);
    if !inner.is_empty() {
        width = width.max(size.0);
    }
    let inner_top = top;
    if !inner.is_empty() {
        top += size.1 + MARGIN;
    }
    let inner = places.into_iter().map(|(x, y)| (x + MARGIN, y + inner_top)).zip(inner).collect();
    Laid { part, width: width + 2.0 * MARGIN, height: top, cores, inner }
}

fn put(svg: &mut Svg, laid: &Laid<'_>, (x, y): (f64, f64)) {
    let ink = match laid.part.kind {
        Kind::Machine => colour::GREY,
        Kind::Package => colour::INK,
        Kind::Node => colour::GREEN,
        Kind::Memory => colour::PURPLE,
        Kind::Group => colour::OCHRE,
        Kind::Cache => colour::BLUE,
    };
    let mut frame = rect((x, y), (laid.width, laid.height))
        .num("rx", 3.0)
        .set("fill", ink)
        .set("fill-opacity", "0.06")
        .set("stroke", ink);
    if laid.part.kind == Kind::Memory {
        frame = frame.set("stroke-dasharray", "5 3");
    }
    svg.push(frame);
    svg.strong((x + MARGIN, y + LINE), Anchor::Start, &shortened(&laid.part.title, MOST_LETTERS));
    for (index, line) in laid.part.lines.iter().enumerate() {
        let down = LINE * (index + 2) as f64;
        svg.note((x + MARGIN, y + down), Anchor::Start, &shortened(line, MOST_LETTERS));
    }
    for ((left, top), width, label) in &laid.cores {
        let (left, top) = (x + left, y + top);
        svg.push_with(
            rect((left, top), (*width, CORE_HEIGHT))
                .set("fill", "none")
                .set("stroke", colour::INK)
                .set("stroke-opacity", "0.5"),
            "the CPUs of a core",
        );
        svg.text((left + width / 2.0, top + CORE_HEIGHT * 0.7), Anchor::Middle, label);
    }
    for ((left, top), inner) in &laid.inner {
        put(svg, inner, (x + left, y + top));
    }
}
