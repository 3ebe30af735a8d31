//! A measurement in the terminal: a list for one pair of nodes, a matrix for each kind of value otherwise.

use super::page::Page;
use crate::heat::{self, Axis, Heat, Sheet};
use crate::number::{UNKNOWN, plural};
use crate::style::{Style, Tone};
use crate::visible::visible;
use firsttouch_machine::{CoreLatency, Measurement, Range};

/// Columns of a matrix's row names, and of each value with its shade.
const NAME: usize = 12;
const CELL: usize = 10;

/// What was measured. Shades and colours say how far a value is from the best of its matrix.
pub fn measurement(measurement: &Measurement, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    let processor = measurement.machine.cpu_model.as_deref().unwrap_or("unknown processor");
    let nodes = plural(measurement.nodes.len(), "node");
    let headline = format!("{}, {nodes}", visible(processor));
    page.heading(&headline);
    page.blank();
    let sheets = heat::sheets(measurement);
    match only_pair(measurement) {
        Some(pair) => list(&mut page, measurement, &sheets, pair),
        None => {
            for sheet in &sheets {
                matrix(&mut page, &Axis::Nodes(&measurement.nodes), sheet);
            }
        }
    }
    if let Some(cores) = &measurement.cores {
        core_to_core(&mut page, cores);
    }
    page_sizes(&mut page, measurement);
    page.list("disagreements with the firmware", &heat::disagreements(measurement), "!", Some(Tone::Caution));
    page.list("notes", &measurement.notes, "-", None);
    let quick = if measurement.method.quick { ", --quick" } else { "" };
    let footer = format!("{}; {}{quick}", heat::basis(measurement), measurement.date);
    page.paragraph("", &footer, Some(Tone::Faint));
    page.text
}

/// The pair, where there is only one.
fn only_pair(measurement: &Measurement) -> Option<(usize, usize)> {
    let mut pairs = measurement.latency_ns.iter().enumerate().flat_map(|(row, values)| {
        values.iter().enumerate().filter(|(_, value)| value.is_some()).map(move |(column, _)| (row, column))
    });
    pairs.next().filter(|_| pairs.next().is_none())
}

fn list(page: &mut Page, measurement: &Measurement, sheets: &[Sheet<'_>], (row, column): (usize, usize)) {
    let width = sheets.iter().map(|sheet| sheet.title.len()).max().unwrap_or(0);
    page.painted(Tone::Faint, &format!("{:width$}   median    lowest   highest", ""));
    for sheet in sheets {
        let Some(value) = sheet.value(row, column).filter(|_| sheet.title != "NUMA factor") else { continue };
        let range = range_of(measurement, sheet.title);
        let end = |matrix: fn(&Range) -> &firsttouch_machine::Matrix| {
            let value = range.and_then(|range| *matrix(range).get(row)?.get(column)?);
            value.map_or_else(|| UNKNOWN.to_owned(), |value| sheet.words(value))
        };
        let line = format!(
            "{:width$}  {:>7}   {:>7}   {:>7}  {}",
            sheet.title,
            sheet.words(value),
            end(|range| &range.low),
            end(|range| &range.high),
            sheet.unit
        );
        page.line("", &line);
    }
    page.blank();
}

fn range_of<'a>(measurement: &'a Measurement, title: &str) -> Option<&'a Range> {
    let spread = &measurement.spread;
    match title {
        "latency, idle" => Some(&spread.latency_ns),
        "latency, loaded" => Some(&spread.loaded_latency_ns),
        "reading, all CPUs of the node" => Some(&spread.read_gbps),
        "writing, all CPUs of the node" => Some(&spread.write_gbps),
        "copying, all CPUs of the node" => Some(&spread.copy_gbps),
        _ => None,
    }
}

/// By class, and as a matrix where every pair was measured and there is more than one.
fn core_to_core(page: &mut Page, cores: &CoreLatency) {
    page.list("core to core, a cache line one way", &heat::core_classes(cores), "-", None);
    if let Some(values) = heat::core_matrix(cores).filter(|_| cores.pairs.len() > 1) {
        matrix(page, &Axis::Cpus(&cores.cpus), &heat::core_sheet(&values));
    }
}

/// A matrix, in several parts where the terminal is narrow.
fn matrix(page: &mut Page, axis: &Axis<'_>, sheet: &Sheet<'_>) {
    let style = page.style;
    let title = format!("{} ({})", sheet.title, sheet.unit);
    page.heading(&title);
    let all: Vec<usize> = (0..axis.len()).collect();
    let (rows, columns): (Vec<usize>, Vec<usize>) = (
        all.iter()
            .copied()
            .filter(|row| all.iter().any(|column| sheet.value(*row, *column).is_some()))
            .collect(),
        all.iter()
            .copied()
            .filter(|column| all.iter().any(|row| sheet.value(*row, *column).is_some()))
            .collect(),
    );
    let fit = (page.width.saturating_sub(NAME) / CELL).max(1);
    for part in columns.chunks(fit) {
        let titles: String =
            part.iter().map(|column| format!("{:>CELL$}", format!("{} ", axis.name(*column)))).collect();
        page.painted(Tone::Faint, format!("{:NAME$}{titles}", "").trim_end());
        for &row in &rows {
            let mut line = format!("{:NAME$}", axis.row_name(row));
            for &column in part {
                let cell = match sheet.value(row, column) {
                    None => format!("{:>width$}  ", UNKNOWN, width = CELL - 2),
                    Some(value) => {
                        let (shade, tone) = look(sheet.heat(value));
                        let text = format!("{:>width$} {shade}", sheet.words(value), width = CELL - 2);
                        tone.map_or_else(|| text.clone(), |tone| style.paint(tone, &text))
                    }
                };
                line.push_str(&cell);
            }
            page.text.push_str(line.trim_end());
            page.blank();
        }
    }
    page.blank();
}

fn look(heat: Heat) -> (char, Option<Tone>) {
    match heat {
        Heat::Best => (' ', Some(Tone::Good)),
        Heat::Near => ('░', None),
        Heat::Far => ('▒', Some(Tone::Caution)),
        Heat::Farthest => ('█', Some(Tone::Bad)),
    }
}

fn page_sizes(page: &mut Page, measurement: &Measurement) {
    let Some(latency) = &measurement.page_latency else { return };
    let line = format!(
        "over {}: {:.1} ns on 4 KiB pages, {:.1} ns on {} ({:.2} times)",
        firsttouch_placement::format_bytes(latency.size_bytes),
        latency.small_ns,
        latency.huge_ns,
        visible(&heat::kinds(&measurement.pages)),
        latency.small_ns / latency.huge_ns
    );
    page.line("", &line);
    page.blank();
}
