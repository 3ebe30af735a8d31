//! Sections, labelled values and tables in plain text.
//!
//! A recording comes from a stranger: its words are shown, and no terminal obeys them. They are made visible before anything is
//! measured, so that columns stay columns.

use crate::output::wrap;
use firsttouch_report::visible;
use std::fmt::Write as _;

/// In fewer columns nothing can be read.
const NARROWEST: usize = 40;
/// Where values begin.
pub(super) const LABEL: usize = 16;

/// A text that grows downwards.
pub(super) struct Page {
    pub(super) text: String,
    width: usize,
}

impl Page {
    /// An empty one, of so many columns.
    pub(super) fn new(width: usize) -> Page {
        Page { text: String::new(), width: width.max(NARROWEST) }
    }

    /// A sentence, broken between words.
    pub(super) fn paragraph(&mut self, text: &str) {
        for line in wrap(text, self.width - 2) {
            self.line(&line);
        }
    }

    /// A title, with a blank line before it unless it is the first.
    pub(super) fn section(&mut self, title: &str) {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        self.text += &format!("{gap}{title}\n");
    }

    /// One line, never broken.
    pub(super) fn line(&mut self, line: &str) {
        self.text += "  ";
        self.text += visible(line).trim_end();
        self.text.push('\n');
    }

    /// A label and its value, wrapped under itself.
    pub(super) fn row(&mut self, label: &str, value: &str) {
        let mut label = visible(label);
        for line in wrap(&visible(value), self.width - LABEL) {
            let _ = writeln!(self.text, "  {label:<width$}{line}", width = LABEL - 2);
            label = "".into();
        }
    }

    pub(super) fn row_if_some(&mut self, label: &str, value: Option<String>) {
        if let Some(value) = value {
            self.row(label, &value);
        }
    }

    /// Rows under their titles: the first column to the left, the others to the right, two blanks between.
    pub(super) fn table(&mut self, rows: &[Vec<String>]) {
        let rows: Vec<Vec<_>> =
            rows.iter().map(|row| row.iter().map(|cell| visible(cell)).collect()).collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            self.line(&cells.collect::<Vec<_>>().join("  "));
        }
    }
}
