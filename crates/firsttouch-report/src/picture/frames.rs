//! Boxes drawn with characters.

use super::boxes::{Kind, Part, cpu_list};
use crate::visible::{columns, shortened, visible};

/// Narrower than this a box does not get: titles stay readable.
const LEAST: usize = 12;
const GAP: usize = 1;
/// Sides of a box: a line and a blank on the left, a blank and a line on the right.
const SIDES: usize = 4;

pub(super) fn draw(part: &Part, width: usize) -> String {
    let lines = frame(part, width.max(LEAST + SIDES));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A box of at most this width: its lines, all of one width.
fn frame(part: &Part, most: usize) -> Vec<String> {
    let room = most - SIDES;
    let mut inside: Vec<String> = part.lines.iter().flat_map(|line| wrapped(&visible(line), room)).collect();
    if !part.cores.is_empty() {
        let word = if part.cores.iter().any(|core| core.len() > 1) { "cores" } else { "cpus" };
        let cores: Vec<String> = part.cores.iter().map(|core| cpu_list(core)).collect();
        inside.extend(wrapped(&format!("{word} {}", cores.join(" ")), room));
    }
    inside.extend(rows(&part.parts, room));
    let title = visible(&part.title).into_owned();
    let title = shortened(&title, room.saturating_sub(1)).into_owned();
    let width =
        inside.iter().map(|line| columns(line)).chain([columns(&title) + 1, LEAST]).max().unwrap_or(LEAST);
    let memory = if part.kind == Kind::Memory { '╌' } else { '─' };
    let rule = |count: usize| memory.to_string().repeat(count);
    let mut lines = vec![format!("┌{} {title} {}┐", rule(1), rule(width - columns(&title) - 1))];
    for line in inside {
        let fill = " ".repeat(width.saturating_sub(columns(&line)));
        lines.push(format!("│ {line}{fill} │"));
    }
    lines.push(format!("└{}┘", rule(width + 2)));
    lines
}

/// Boxes side by side as far as they fit, then below; so wide that they take the least height.
fn rows(parts: &[Part], room: usize) -> Vec<String> {
    const BESIDE: usize = 4;
    let widest = |count: usize| ((room + GAP) / count - GAP).max(LEAST + SIDES);
    let titles = parts.iter().map(least_width).max().unwrap_or(0);
    let mut counts = vec![parts.len().clamp(1, BESIDE), parts.len().clamp(1, 3), parts.len().clamp(1, 2)];
    // A title that is cut off is no picture of the thing.
    counts.retain(|count| widest(*count) >= titles);
    counts.push(1);
    counts.dedup();
    let drawn = counts
        .into_iter()
        .map(|count| in_rows(&parts.iter().map(|part| frame(part, widest(count))).collect::<Vec<_>>(), room));
    // The first of equals is the narrowest.
    drawn.min_by_key(Vec::len).unwrap_or_default()
}

/// The width at which no title inside a box is cut off.
fn least_width(part: &Part) -> usize {
    let inside = part.parts.iter().map(least_width).max().unwrap_or(0);
    inside.max(columns(&visible(&part.title)) + 1) + SIDES
}

fn in_rows(frames: &[Vec<String>], room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut row: Vec<&Vec<String>> = Vec::new();
    let width = |frame: &Vec<String>| frame.first().map_or(0, |line| columns(line));
    let mut used = 0;
    for frame in frames {
        if !row.is_empty() && used + GAP + width(frame) > room {
            lines.extend(beside(&row));
            row.clear();
            used = 0;
        }
        used += width(frame) + if row.is_empty() { 0 } else { GAP };
        row.push(frame);
    }
    lines.extend(beside(&row));
    lines
}

fn beside(frames: &[&Vec<String>]) -> Vec<String> {
    let height = frames.iter().map(|frame| frame.len()).max().unwrap_or(0);
    let line = |index: usize| {
        let piece = |frame: &&Vec<String>| {
            // The last line is the bottom: blank lines go before it.
            let last = frame.len() - 1;
            let width = frame.first().map_or(0, |line| columns(line));
            match index {
                index if index + 1 == height => frame[last].clone(),
                index if index < last => frame[index].clone(),
                _ => format!("│{}│", " ".repeat(width.saturating_sub(2))),
            }
        };
        frames.iter().map(piece).collect::<Vec<_>>().join(&" ".repeat(GAP))
    };
    (0..height).map(line).collect()
}

/// A text in lines of at most this width, broken between words; later lines are indented.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    const INDENT: &str = "  ";
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let word = shortened(word, width.saturating_sub(INDENT.len()).max(1));
        if !line.is_empty() && columns(&line) + 1 + columns(&word) > width {
            lines.push(std::mem::replace(&mut line, INDENT.to_owned()));
            line.push_str(&word);
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    lines.push(line);
    lines
}
