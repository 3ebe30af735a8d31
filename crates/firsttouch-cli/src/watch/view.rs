//! Where samples are shown to a person: a frame drawn in place, or a line each.

use crate::output::{self, Outcome};
use anstream::{AutoStream, ColorChoice};
use firsttouch_documents::{WatchHeader, WatchSample};
use firsttouch_report::Style;
use firsttouch_report::live::Live;
use rustix::termios::tcgetwinsize;
use std::io::{self, IsTerminal};

/// One of our streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Stdout,
    Stderr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Frame(Style),
    Lines,
}

/// Shows samples.
#[derive(Debug)]
pub(super) struct View {
    kind: Kind,
    place: Place,
    live: Live,
    /// Columns of the rows on the terminal that the next frame replaces.
    drawn: Vec<usize>,
}

impl View {
    /// A frame is drawn in place only where nobody else writes to the terminal.
    pub(super) fn new(place: Place, header: &WatchHeader) -> View {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let alone = match place {
            Place::Stdout => stdout.is_terminal(),
            Place::Stderr => stderr.is_terminal() && !stdout.is_terminal(),
        };
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let colour = match place {
            Place::Stdout => AutoStream::choice(&stdout),
            Place::Stderr => AutoStream::choice(&stderr),
        };
        let style = if colour == ColorChoice::Never { Style::Plain } else { Style::Ansi };
        let kind = if alone && !dumb { Kind::Frame(style) } else { Kind::Lines };
        View { kind, place, live: Live::new(header), drawn: Vec::new() }
    }

    /// Whether a frame is drawn in place.
    pub(super) fn is_frame(&self) -> bool {
        matches!(self.kind, Kind::Frame(_))
    }

    pub(super) fn show(&mut self, sample: &WatchSample) -> Outcome<()> {
        self.live.take(sample);
        if self.kind == Kind::Lines {
            return self.put(&self.live.line());
        }
        self.redraw()
    }

    /// Draws the frame again, at the size that the terminal has now.
    pub(super) fn redraw(&mut self) -> Outcome<()> {
        let Kind::Frame(style) = self.kind else { return Ok(()) };
        let (columns, rows) = self.size();
        let mut text = up(&self.drawn, columns);
        let frame = self.live.frame(columns, rows, style);
        for row in &frame {
            text.push_str(&row.text);
            text.push_str("\x1b[K\n");
        }
        text.push_str("\x1b[J");
        self.drawn = frame.iter().map(|row| row.columns).collect();
        self.put(&text)
    }

    /// Leaves the last frame as it is. Nothing of the terminal was changed but the cursor's row, where `^C` may stand.
    pub(super) fn end(&mut self) {
        if self.is_frame() && !self.drawn.is_empty() {
            // A terminal that went away needs no tidying.
            let _ = self.put("\r\x1b[K");
        }
    }

    fn put(&self, text: &str) -> Outcome<()> {
        match self.place {
            Place::Stdout => output::raw_data(text),
            Place::Stderr => {
                output::raw_message(text);
                Ok(())
            }
        }
    }

    /// Columns and rows.
    fn size(&self) -> (usize, usize) {
        const ROWS: usize = 24;
        let size = match self.place {
            Place::Stdout => tcgetwinsize(io::stdout()),
            Place::Stderr => tcgetwinsize(io::stderr()),
        };
        // A terminal that nobody gave a size has 0 columns.
        match size {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
            _ => (output::width(), ROWS),
        }
    }
}

/// Back to the first row of what was drawn. A terminal that has become narrower has broken its rows.
fn up(drawn: &[usize], columns: usize) -> String {
    let rows: usize = drawn.iter().map(|own| own.div_ceil(columns.max(1)).max(1)).sum();
    if rows == 0 { String::new() } else { format!("\r\x1b[{rows}A") }
}

#[cfg(test)]
mod tests {
    use super::up;

    #[test]
    fn the_cursor_goes_back_over_rows_that_were_broken() {
        assert_eq!(up(&[], 80), "");
        assert_eq!(up(&[79, 0, 12], 80), "\r\x1b[3A");
        assert_eq!(up(&[79, 0, 12], 40), "\r\x1b[4A");
        assert_eq!(up(&[79, 0, 12], 0), "\r\x1b[92A");
    }
}
