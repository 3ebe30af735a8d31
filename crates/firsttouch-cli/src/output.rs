//! Everything that leaves the program: data on stdout, messages on stderr, and the exit code.

use crate::exit::Rule;
use firsttouch_process::is_closed;
use firsttouch_report::visible;
use firsttouch_sorted::sort_by_key;
use rustix::io::Errno;
use rustix::termios::tcgetwinsize;
use std::fmt;
use std::io::{self, Write};
use std::os::fd::AsFd;

/// Why a command ends without having done what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    error: anyhow::Error,
    hint: Option<String>,
    kind: Kind,
}

/// What decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Failed,
    Usage,
    Code(u8),
}

/// What a command ends with: the exit code, or why it failed.
pub(crate) type Outcome<T = u8> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(error: impl Into<anyhow::Error>) -> Failure {
        Failure { error: error.into(), hint: None, kind: Kind::Failed }
    }

    pub(crate) fn message(message: impl fmt::Display) -> Failure {
        Failure::new(anyhow::anyhow!("{message}"))
    }

    /// The line that mends it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// The same, where there is such a line.
    pub(crate) fn hint_if_some(self, hint: Option<impl Into<String>>) -> Failure {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// What it is about, before the error.
    pub(crate) fn context(self, context: impl fmt::Display + Send + Sync + 'static) -> Failure {
        Failure { error: self.error.context(context), ..self }
    }

    /// An exit code other than that of the command's failures in general.
    pub(crate) fn code(mut self, code: u8) -> Failure {
        self.kind = Kind::Code(code);
        self
    }

    /// The command was used wrongly.
    pub(crate) fn usage(mut self) -> Failure {
        self.kind = Kind::Usage;
        self
    }

    /// The same, where it was.
    pub(crate) fn usage_if(self, is_usage: bool) -> Failure {
        if is_usage { self.usage() } else { self }
    }

    /// The error itself, if it is of this type.
    pub(crate) fn cause<E: std::error::Error + Send + Sync + 'static>(&self) -> Option<&E> {
        self.error.downcast_ref()
    }

    /// The exit code by the rule of the command.
    pub(crate) fn exit_code(&self, rule: Rule) -> u8 {
        match self.kind {
            _ if self.is_closed_pipe() => 0,
            Kind::Failed => rule.failed,
            Kind::Usage => rule.usage,
            Kind::Code(code) => code,
        }
    }

    /// What is wrong and what mends it, on one line.
    pub(crate) fn with_hint(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{self}; {hint}"),
            None => self.to_string(),
        }
    }

    /// Whether the command was used wrongly.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self.kind, Kind::Usage)
    }

    /// Whether it has this exit code of its own.
    pub(crate) fn is_code(&self, code: u8) -> bool {
        matches!(self.kind, Kind::Code(own) if own == code)
    }

    /// Whoever read our output has seen enough: nothing failed.
    fn is_closed_pipe(&self) -> bool {
        self.error.downcast_ref::<ClosedPipe>().is_some()
    }

    /// Prints the error.
    pub(crate) fn print(&self) {
        if self.is_closed_pipe() {
            return;
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
    }
}

/// What came of several things, none of which may cost another: the failures but the last are printed.
pub(crate) fn together(outcomes: impl IntoIterator<Item = Outcome<()>>) -> Outcome<()> {
    let mut failures: Vec<Failure> = outcomes.into_iter().filter_map(Result::err).collect();
    // A reader that has seen enough does not decide how we end where something failed.
    sort_by_key(&mut failures, |failure| !failure.is_closed_pipe());
    let last = failures.pop();
    failures.iter().for_each(Failure::print);
    last.map_or(Ok(()), Err)
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

/// Refuses a stdout that our caller closed. The Rust runtime has put /dev/null in its place, which takes all and keeps nothing.
pub(crate) fn open_stdout() -> io::Result<()> {
    const STDOUT: usize = 1;
    if is_closed(STDOUT) { Err(Errno::BADF.into()) } else { Ok(()) }
}

/// What came of writing to stdout.
pub(crate) fn written(answer: io::Result<()>) -> Outcome<()> {
    open_stdout().and(answer).map_err(|error| match error.kind() {
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

/// Columns of most terminals.
const USUAL: usize = 80;

/// Columns to fill on stdout: those that somebody asks for (`COLUMNS`), those of the terminal, or what most have.
pub(crate) fn width() -> usize {
    let asked = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    asked().or_else(|| columns_of(io::stdout())).unwrap_or(USUAL)
}

/// Columns of the terminal that stderr is.
pub(crate) fn stderr_columns() -> usize {
    columns_of(io::stderr()).unwrap_or(USUAL)
}

fn columns_of(stream: impl AsFd) -> Option<usize> {
    // A terminal that nobody gave a size has 0 columns.
    tcgetwinsize(stream).ok().map(|size| size.ws_col.into()).filter(|columns| *columns > 0)
}
