//! Sections, labelled values and tables in plain text.
//!
//! A recording comes from a stranger: its words are shown, and no terminal obeys them. They are made visible before anything is
//! measured, so that columns stay columns.

use crate::style::Style;
use crate::text::NARROWEST;
use crate::text::table::{Align, Cell, Column, Table};
use crate::visible::{visible, wrapped};
use std::fmt::Write as _;

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
        for line in wrapped(text, self.width - 2) {
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
        for line in wrapped(&visible(value), self.width - LABEL) {
            let _ = writeln!(self.text, "  {label:<width$}{line}", width = LABEL - 2);
            label = "".into();
        }
    }

    pub(super) fn row_if_some(&mut self, label: &str, value: Option<String>) {
        if let Some(value) = value {
            self.row(label, &value);
        }
    }

    /// Rows under their titles: the first column to the left, the others to the right.
    pub(super) fn table<T: Into<String>>(
        &mut self,
        titles: impl IntoIterator<Item = T>,
        rows: &[Vec<String>],
    ) {
        let columns = titles.into_iter().enumerate().map(|(index, title)| {
            Column::new("", title, if index == 0 { Align::Left } else { Align::Right })
        });
        let mut table = Table::new(columns.collect());
        for row in rows {
            table.row(row.iter().map(Cell::new).collect());
        }
        for line in table.print(self.width, Style::Plain).lines() {
            self.line(line);
        }
    }
}
