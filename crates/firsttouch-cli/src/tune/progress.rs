//! Live progress on stderr: one redrawn line per configuration on a terminal, one plain line per block elsewhere.
//! Nothing is drawn while the program runs.

use super::interrupt::Interrupt;
use crate::output;
use firsttouch_experiment::{LiveSummary, Observer, Phase, Progress, RunRequest, Sample};
use std::fmt::Write as _;
use std::time::Duration;

/// An interval that reaches so high says nothing yet.
const UNTELLING: f64 = 100.0;

/// Follows a session and draws it.
#[derive(Debug)]
pub(crate) struct Display {
    names: Vec<String>,
    /// What is drawn for each configuration; empty before its first block ends.
    lines: Vec<String>,
    /// Wall time of the last run, in seconds.
    last_s: Vec<Option<f64>>,
    taking_part: Vec<usize>,
    heading: String,
    remaining: Option<Duration>,
    /// Columns of the terminal; `None` where there is none.
    columns: Option<usize>,
    /// Lines on the terminal that the next drawing replaces.
    drawn: usize,
    interrupt: Interrupt,
}

impl Display {
    pub(crate) fn new(names: Vec<String>, columns: Option<usize>, interrupt: Interrupt) -> Display {
        let count = names.len();
        Display {
            names,
            lines: vec![String::new(); count],
            last_s: vec![None; count],
            taking_part: (0..count).collect(),
            heading: String::new(),
            remaining: None,
            columns,
            drawn: 0,
            interrupt,
        }
    }

    /// Removes what is drawn, so that results can take its place.
    pub(crate) fn clear(&mut self) {
        // After a Ctrl-C the cursor is no longer where we left it.
        if self.drawn > 0 && !self.interrupt.asked() {
            output::message(&format!("\r\x1b[{}A\x1b[J", self.drawn));
        }
        self.drawn = 0;
    }

    fn draw(&mut self, running: Option<usize>) {
        let Some(columns) = self.columns else { return };
        let width = self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let mut rows = vec![self.heading()];
        for &index in &self.taking_part {
            let mark = if running == Some(index) { '>' } else { ' ' };
            let mut row = format!("{mark} {:width$}  {}", self.names[index], self.lines[index]);
            if self.lines[index].is_empty()
                && let Some(last_s) = self.last_s[index]
            {
                let _ = write!(row, "{}", seconds(last_s));
            }
            rows.push(row);
        }
        // A row that wrapped would count as two when the cursor goes back up.
        let rows: String = rows
            .iter()
            .map(|row| row.chars().take(columns.saturating_sub(1)).collect::<String>() + "\n")
            .collect();
        self.clear();
        self.drawn = rows.lines().count();
        output::message(&rows);
    }

    fn heading(&self) -> String {
        match self.remaining {
            Some(left) => format!("{}, about {} left", self.heading, rough(left)),
            None => self.heading.clone(),
        }
    }
}

impl Observer for Display {
    fn run_started(&mut self, request: &RunRequest) {
        let phase = match request.phase {
            Phase::Search => "search",
            Phase::Confirmation => "confirmation",
        };
        self.heading = format!("{phase}, block {}", request.block + 1);
        self.draw(Some(request.configuration));
    }

    fn run_finished(&mut self, request: &RunRequest, sample: &Sample) {
        self.last_s[request.configuration] = Some(sample.wall_s);
        self.draw(None);
    }

    fn block_finished(&mut self, progress: &Progress) {
        self.taking_part = progress.configurations.iter().map(|summary| summary.configuration).collect();
        for summary in &progress.configurations {
            self.lines[summary.configuration] = line(summary);
        }
        self.remaining = progress.remaining;
        if self.columns.is_some() {
            self.draw(None);
            return;
        }
        let states: Vec<String> = progress
            .configurations
            .iter()
            .filter(|summary| summary.dropped_after_block.is_none_or(|block| block == progress.block))
            .map(|summary| format!("{} {}", self.names[summary.configuration], line(summary)))
            .collect();
        output::message(&format!("{}: {}\n", self.heading(), states.join("; ")));
    }
}

fn line(summary: &LiveSummary) -> String {
    let mut text = summary.mean_wall_s.map_or_else(|| "?".to_owned(), seconds);
    if let Some(error) = summary.relative_error {
        let _ = write!(text, " ±{:.1} %", error * 100.0);
    }
    // Two blocks alone leave the interval open for anything.
    if let Some(ratio) = summary.ratio.as_ref().filter(|ratio| ratio.high < UNTELLING) {
        let _ = write!(text, ", {:.2}x [{:.2}, {:.2}]", ratio.value, ratio.low, ratio.high);
    }
    if let Some(verdict) = summary.verdict {
        let _ = write!(text, " {verdict}");
    }
    if summary.dropped_after_block.is_some() {
        text.push_str(", dropped");
    }
    text
}

/// A measured time, in three digits.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 10.0 => format!("{s:.1} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 0.1 => format!("{:.0} ms", s * 1e3),
        s if s >= 0.01 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.2} ms", s * 1e3),
    }
}

/// A time to wait, as exactly as it is known.
fn rough(left: Duration) -> String {
    match left.as_secs() {
        s @ 0..=9 => format!("{} s", s.max(1)),
        s @ 10..=99 => format!("{} s", s.div_ceil(5) * 5),
        s @ 100..=5399 => format!("{} min", s.div_ceil(60)),
        s => format!("{:.1} h", s as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_placement::{Ratio, Verdict};

    #[test]
    fn a_line_says_time_precision_and_ratio() {
        let summary = LiveSummary {
            configuration: 1,
            runs: 5,
            mean_wall_s: Some(0.834),
            ci95_wall_s: Some(0.01),
            relative_error: Some(0.012),
            ratio: Some(Ratio { value: 1.479, low: 1.44, high: 1.52 }),
            verdict: Some(Verdict::Faster),
            remaining_runs: None,
            dropped_after_block: None,
        };
        assert_eq!(line(&summary), "834 ms ±1.2 %, 1.48x [1.44, 1.52] faster");
    }

    #[test]
    fn times_keep_three_digits() {
        let texts = [123.4, 12.34, 1.234, 0.1234, 0.01234, 0.001234].map(seconds);
        assert_eq!(texts, ["123 s", "12.3 s", "1.23 s", "123 ms", "12.3 ms", "1.23 ms"]);
    }

    #[test]
    fn waiting_times_are_rounded_up() {
        let texts = [0, 9, 11, 99, 100, 5400].map(|s| rough(Duration::from_secs(s)));
        assert_eq!(texts, ["1 s", "9 s", "15 s", "100 s", "2 min", "1.5 h"]);
    }
}
