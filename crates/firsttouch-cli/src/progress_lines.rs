//! How far a command is: lines on stderr that change, where that is a terminal. Elsewhere there are none.

use crate::output;
use firsttouch_report::{shortened, visible};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Lines that stand for what is being done. Whoever drops it takes them away.
#[derive(Debug)]
pub(crate) struct ProgressLines {
    bar: ProgressBar,
}

impl ProgressLines {
    /// Nothing yet.
    pub(crate) fn new() -> ProgressLines {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        // The one of indicatif that has the message and nothing else.
        let style =
            ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
        ProgressLines { bar: bar.with_style(style) }
    }

    /// Whether anybody can see it.
    pub(crate) fn is_shown(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Shows these lines in place of the last ones. What is wider than the terminal is cut.
    pub(crate) fn show(&self, lines: &str) {
        if !self.is_shown() {
            return;
        }
        // A line that fills the last column breaks on some terminals.
        let columns = output::stderr_columns().saturating_sub(1);
        let lines: Vec<_> =
            lines.lines().map(|line| shortened(&visible(line), columns).into_owned()).collect();
        self.bar.set_message(lines.join("\n"));
    }

    /// Takes the lines away, so that something else can take their place.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Leaves the lines as they are, and shows no others: somebody else has written to the terminal.
    pub(crate) fn leave(&self) {
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
    }
}
