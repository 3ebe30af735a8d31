//! Everything that leaves the program: data on stdout, messages on stderr, and the exit code.

use firsttouch_report::visible;
use rustix::termios::tcgetwinsize;
use std::fmt;
use std::io::{self, IsTerminal, Write};

/// Why a command ends without having done what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    error: anyhow::Error,
    hint: Option<String>,
    code: Option<u8>,
}

/// What a command ends with: the exit code, or why it failed.
pub(crate) type Outcome<T = u8> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(error: impl Into<anyhow::Error>) -> Failure {
        Failure { error: error.into(), hint: None, code: None }
    }

    pub(crate) fn message(message: impl fmt::Display) -> Failure {
        Failure::new(anyhow::anyhow!("{message}"))
    }

    /// The line that mends it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// An exit code other than that of the command's failures in general.
    pub(crate) fn code(mut self, code: u8) -> Failure {
        self.code = Some(code);
        self
    }

    /// The error itself, if it is of this type.
    pub(crate) fn cause<E: std::error::Error + Send + Sync + 'static>(&self) -> Option<&E> {
        self.error.downcast_ref()
    }

    /// Prints the error and returns the exit code; `general` is that of the command's failures in general.
    pub(crate) fn report(&self, general: u8) -> u8 {
        // Whoever read our output has seen enough: nothing failed.
        if self.error.downcast_ref::<ClosedPipe>().is_some() {
            return 0;
        }
        let mut text = format!("{}error:{} {}\n", ERROR.render(), ERROR.render_reset(), shown(&self.error));
        for cause in self.error.chain().skip(1) {
            for line in cause.to_string().lines() {
                text.push_str(&format!("  {}\n", visible(line)));
            }
        }
        if let Some(hint) = &self.hint {
            text.push_str(&format!("\n{}hint:{} {}\n", HINT.render(), HINT.render_reset(), shown(hint)));
        }
        message(&text);
        self.code.unwrap_or(general)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // With its causes, on one line.
        write!(f, "{:#}", self.error)
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new(error)
    }
}

const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();
const WARNING: anstyle::Style = anstyle::AnsiColor::Yellow.on_default().bold();
const HINT: anstyle::Style = anstyle::AnsiColor::Cyan.on_default().bold();

/// The reader of stdout went away.
#[derive(Debug, thiserror::Error)]
#[error("stdout was closed")]
struct ClosedPipe;

/// Writes data to stdout.
pub(crate) fn data(text: &str) -> Outcome<()> {
    let mut stdout = anstream::stdout().lock();
    written(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

fn written(answer: io::Result<()>) -> Outcome<()> {
    answer.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::new(ClosedPipe),
        _ => Failure::new(anyhow::Error::new(error).context("cannot write to stdout")),
    })
}

/// Writes to stdout without taking anything out: cursor movements have to pass even where colour is not wanted.
pub(crate) fn raw_data(text: &str) -> Outcome<()> {
    let mut stdout = io::stdout().lock();
    written(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// The same to stderr, where nobody could be told of a failure.
pub(crate) fn raw_message(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Writes a message to stderr. A stderr that cannot be written to has nobody to tell.
pub(crate) fn message(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Prints a warning, and how to mend it where there is a way.
pub(crate) fn warning(what: &str, hint: Option<&str>) {
    message(&format!("{}warning:{} {}\n", WARNING.render(), WARNING.render_reset(), shown(what)));
    if let Some(hint) = hint {
        message(&format!("{}hint:{} {}\n", HINT.render(), HINT.render_reset(), shown(hint)));
    }
}

/// The lines of a message, in which strangers may have a word: names in archives, variables, what a guest says.
fn shown(text: impl fmt::Display) -> String {
    text.to_string().split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// Columns to fill on stdout: those that somebody asks for (`COLUMNS`), those of the terminal, or what most have.
pub(crate) fn width() -> usize {
    const USUAL: usize = 80;
    let asked = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    let terminal =
        || tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col.into()).filter(|columns| *columns > 0);
    asked().or_else(terminal).unwrap_or(USUAL)
}

/// Columns to draw on when stderr is a terminal that understands cursor movements.
pub(crate) fn terminal() -> Option<usize> {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    (io::stderr().is_terminal() && !dumb).then(width)
}

/// Breaks a text between words; a word that is longer than the width stays whole.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn long_texts_break_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 3), ["unbreakable"]);
        assert_eq!(wrap("", 3), [""]);
    }
}
