//! Text that grows downwards: titles, paragraphs, lists and tables within a width.
//!
//! Words of strangers are made visible before anything is measured, so that columns stay columns and no terminal obeys them.

use super::table::Table;
use crate::cells::shortfall_bytes;
use crate::style::{Style, Tone};
use crate::visible::{columns, visible, wrapped};
use firsttouch_placement::Shortfall;

/// The narrowest width that is honoured: below it every table would fall to pieces.
const NARROWEST: usize = 40;

/// Text that grows, with the width and colour it grows in.
pub(super) struct Page {
    pub(super) text: String,
    pub(super) width: usize,
    pub(super) style: Style,
}

impl Page {
    /// An empty one, of so many columns.
    pub(super) fn new(width: usize, style: Style) -> Page {
        Page { text: String::new(), width: width.max(NARROWEST), style }
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line in a colour, never broken.
    pub(super) fn painted(&mut self, tone: Tone, words: &str) {
        self.text.push_str(&self.style.paint(tone, words));
        self.blank();
    }

    pub(super) fn heading(&mut self, words: &str) {
        self.painted(Tone::Strong, words);
    }

    /// A title, with a blank line before it unless it is the first.
    pub(super) fn section(&mut self, title: &str) {
        if !self.text.is_empty() {
            self.blank();
        }
        self.text.push_str(title);
        self.blank();
    }

    /// Wrapped words; the first line begins with `lead`, the others are indented as far.
    pub(super) fn paragraph(&mut self, lead: &str, words: &str, tone: Option<Tone>) {
        self.hanging(lead, columns(lead), words, tone);
    }

    /// Items under a title, the first line of each to the left of its others; nothing where there are none.
    pub(super) fn part(&mut self, title: &str, items: impl Iterator<Item = String>) {
        for (index, item) in items.enumerate() {
            if index == 0 {
                self.section(title);
            }
            self.hanging("  ", 4, &item, None);
        }
    }

    /// Words wrapped as if all lines were indented so far; the first begins with `lead` instead, which may be painted.
    pub(super) fn hanging(&mut self, lead: &str, indent: usize, words: &str, tone: Option<Tone>) {
        for (index, line) in wrapped(&visible(words), self.width.saturating_sub(indent)).iter().enumerate() {
            let lead = if index == 0 { lead.to_owned() } else { " ".repeat(indent) };
            let line = tone.map_or_else(|| line.clone(), |tone| self.style.paint(tone, line));
            self.text.push_str(format!("{lead}{line}").trim_end());
            self.blank();
        }
    }

    /// A line that is never broken: a command or a setting to copy.
    pub(super) fn line(&mut self, lead: &str, words: &str) {
        self.text.push_str(&format!("{lead}{}", visible(words)));
        self.blank();
    }

    pub(super) fn list(&mut self, heading: &str, items: &[String], mark: &str, tone: Option<Tone>) {
        if items.is_empty() {
            return;
        }
        self.heading(heading);
        for item in items {
            self.paragraph(&format!("  {mark} "), item, tone);
        }
        self.blank();
    }

    /// A table, and a blank line.
    pub(super) fn table(&mut self, table: &Table) {
        self.rows(table);
        self.blank();
    }

    /// A table that something belongs to.
    pub(super) fn rows(&mut self, table: &Table) {
        self.text.push_str(&table.print(self.width, self.style));
    }

    /// Says how many there are that are not shown, where there are any.
    pub(super) fn left_out(&mut self, lead: &str, count: usize) {
        if count > 0 {
            self.line(lead, &format!("and {count} more in the JSON"));
        }
    }

    /// What was not obtained, each with what mends it.
    pub(super) fn missed(&mut self, shortfalls: &[Shortfall]) {
        for Shortfall { reason, bytes, remedy } in shortfalls {
            self.paragraph("  ", &format!("{}: {}", reason.word(), shortfall_bytes(*bytes)), None);
            self.line("    ", remedy);
        }
    }

    /// The text, without blank lines at its end.
    pub(super) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.blank();
        self.text
    }
}
