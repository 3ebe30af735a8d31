//! How far a command is: lines on stderr that change, where that is a terminal. Elsewhere there are none.

use crate::drawn::{self, Drawn};
use crate::output;
use firsttouch_report::live::Row;
use firsttouch_report::{shortened, visible};
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};

/// Lines that stand for what is being done. Whoever drops it takes them away.
#[derive(Debug)]
pub(crate) struct ProgressLines {
    /// What stands there; `None` where nobody can see it.
    drawn: Mutex<Option<Drawn>>,
}

impl ProgressLines {
    /// Nothing yet.
    pub(crate) fn new() -> ProgressLines {
        let is_seen = io::stderr().is_terminal() && drawn::can_be_drawn_on();
        ProgressLines { drawn: Mutex::new(is_seen.then(Drawn::default)) }
    }

    /// Whether anybody can see it.
    pub(crate) fn is_shown(&self) -> bool {
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Shows these lines in place of the last ones. What is wider than the terminal is cut.
    pub(crate) fn show(&self, lines: &str) {
        if let Some(drawn) = &mut *self.drawn.lock().unwrap_or_else(PoisonError::into_inner) {
            let columns = output::stderr_columns();
            let row = |line: &str| {
                // A line that fills the last column breaks on some terminals.
                let text = shortened(&visible(line), columns.saturating_sub(1)).into_owned();
                Row { columns: text.chars().count(), text }
            };
            let rows: Vec<_> = lines.lines().map(row).collect();
            output::raw_message(&drawn.replace(&rows, columns));
        }
    }

    /// Takes the lines away, so that something else can take their place.
    pub(crate) fn clear(&self) {
        self.show("");
    }

    /// Leaves the lines as they are, and shows no others: somebody else has written to the terminal.
    pub(crate) fn leave(&self) {
        *self.drawn.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Drop for ProgressLines {
    fn drop(&mut self) {
        self.clear();
    }
}
