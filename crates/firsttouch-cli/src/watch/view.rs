//! Where samples are shown to a person: a frame drawn in place, or a line each.

use crate::drawn::{self, Drawn};
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
    /// What the next frame replaces.
    drawn: Drawn,
}

impl View {
    /// A frame is drawn in place only where nobody else writes to the terminal.
    pub(super) fn new(place: Place, header: &WatchHeader) -> View {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let alone = match place {
            Place::Stdout => stdout.is_terminal(),
            Place::Stderr => stderr.is_terminal() && !stdout.is_terminal(),
        };
        let colour = match place {
            Place::Stdout => AutoStream::choice(&stdout),
            Place::Stderr => AutoStream::choice(&stderr),
        };
        let style = if colour == ColorChoice::Never { Style::Plain } else { Style::Ansi };
        let kind = if alone && drawn::can_be_drawn_on() { Kind::Frame(style) } else { Kind::Lines };
        View { kind, place, live: Live::new(header), drawn: Drawn::default() }
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
        let frame = self.live.frame(columns, rows, style);
        let text = self.drawn.replace(&frame, columns);
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
