//! How far a session is, on stderr: a line for each configuration. Nothing is drawn while the program runs.

use crate::interrupt::Interrupt;
use crate::output;
use crate::progress_lines::ProgressLines;
use firsttouch_experiment::{LiveSummary, Objective, Observer, Phase, PhaseProgress, RunRequest, TimedRun};
use firsttouch_launch::{Stage, TuneObserver};
use firsttouch_report::{amount, span};
use std::fmt::Write as _;
use std::time::Duration;

/// An interval that reaches so high says nothing yet.
const UNTELLING: f64 = 100.0;

/// Follows a session and draws it.
#[derive(Debug)]
pub(crate) struct Display {
    names: Vec<String>,
    objective: Objective,
    /// What is drawn for each configuration; empty before its first block ends.
    lines: Vec<String>,
    /// What was judged of the last run.
    last: Vec<Option<f64>>,
    taking_part: Vec<usize>,
    heading: String,
    remaining: Option<Duration>,
    shown: ProgressLines,
    interrupt: Interrupt,
}

impl Display {
    pub(crate) fn new(names: Vec<String>, objective: &Objective, interrupt: Interrupt) -> Display {
        let count = names.len();
        Display {
            names,
            objective: objective.clone(),
            lines: vec![String::new(); count],
            last: vec![None; count],
            taking_part: (0..count).collect(),
            heading: String::new(),
            remaining: None,
            shown: ProgressLines::new(),
            interrupt,
        }
    }

    /// Removes what is drawn, so that results can take its place.
    pub(crate) fn clear(&self) {
        self.shown.clear();
    }

    /// Draws nothing, because somebody else writes to the terminal.
    pub(crate) fn leave(&self) {
        self.shown.leave();
    }

    fn draw(&self, running: Option<usize>) {
        // After a Ctrl-C the cursor is no longer where we left it.
        if self.interrupt.asked() {
            self.leave();
        }
        let width = self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let mut rows = self.heading();
        for &index in &self.taking_part {
            let mark = if running == Some(index) { '>' } else { ' ' };
            let _ = write!(rows, "\n{mark} {:width$}  {}", self.names[index], self.lines[index]);
            if self.lines[index].is_empty()
                && let Some(last) = self.last[index]
            {
                rows.push_str(&amount(&self.objective.metric, last));
            }
        }
        self.shown.show(&rows);
    }

    fn heading(&self) -> String {
        match self.remaining {
            Some(left) => format!("{}, about {} left", self.heading, span(left.as_secs_f64())),
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

    fn run_finished(&mut self, request: &RunRequest, timed: &TimedRun) {
        self.last[request.configuration] = self.objective.value(timed);
        self.draw(None);
    }

    fn block_finished(&mut self, progress: &PhaseProgress) {
        self.taking_part = progress.configurations.iter().map(|summary| summary.configuration).collect();
        for summary in &progress.configurations {
            self.lines[summary.configuration] = line(summary, &self.objective);
        }
        self.remaining = progress.remaining;
        self.draw(None);
    }
}

/// Tells what a session of `tune` does: lines that stay, then a [`Display`] of the timed runs.
#[derive(Debug)]
pub(crate) struct Told {
    interrupt: Interrupt,
    shows_output: bool,
    objective: Objective,
    display: Option<Display>,
    /// What a log has been told.
    decided: Vec<(Phase, usize)>,
}

impl Told {
    /// `shows_output`: the program writes to the terminal.
    pub(crate) fn new(interrupt: Interrupt, shows_output: bool, objective: &Objective) -> Told {
        Told { interrupt, shows_output, objective: objective.clone(), display: None, decided: Vec::new() }
    }

    /// Removes what is drawn, so that results can take its place.
    pub(crate) fn clear(&self) {
        if let Some(display) = &self.display {
            display.clear();
        }
    }
}

impl TuneObserver for Told {
    fn stage(&mut self, stage: &Stage<'_>) {
        output::message(&format!("{stage}\n"));
    }

    fn timing(&mut self, names: &[String]) {
        let display = Display::new(names.to_vec(), &self.objective, self.interrupt.clone());
        if self.shows_output {
            display.leave();
        }
        self.display = Some(display);
        self.decided.clear();
    }
}

impl Observer for Told {
    fn run_started(&mut self, request: &RunRequest) {
        if let Some(display) = &mut self.display {
            display.run_started(request);
        }
    }

    fn run_finished(&mut self, request: &RunRequest, timed: &TimedRun) {
        if let Some(display) = &mut self.display {
            display.run_finished(request, timed);
        }
    }

    fn wants_forecasts(&self) -> bool {
        self.display.as_ref().is_some_and(|display| display.shown.is_shown())
    }

    fn block_finished(&mut self, progress: &PhaseProgress) {
        let Told { display: Some(display), decided, objective, shows_output, .. } = self else { return };
        if display.shown.is_shown() {
            return display.block_finished(progress);
        }
        // In a log a line for each configuration that is decided: a session may take hours.
        for summary in progress.configurations.iter().filter(|summary| summary.decided.is_some()) {
            let one = (progress.phase, summary.configuration);
            if !*shows_output && !decided.contains(&one) {
                decided.push(one);
                let fresh = if progress.phase == Phase::Confirmation { "on fresh runs, " } else { "" };
                let name = &display.names[summary.configuration];
                output::message(&format!("{fresh}{name}: {}\n", line(summary, objective)));
            }
        }
    }
}

fn line(summary: &LiveSummary, objective: &Objective) -> String {
    let mut text = summary.mean.map_or_else(|| "?".to_owned(), |mean| amount(&objective.metric, mean));
    // Two blocks alone leave the interval open for anything.
    if let Some(ratio) = summary.ratio.as_ref().filter(|ratio| ratio.high < UNTELLING) {
        let _ = write!(text, ", {:.2}x [{:.2}, {:.2}]", ratio.value, ratio.low, ratio.high);
    }
    match (summary.decided, summary.forecast) {
        (Some((verdict, blocks)), _) => {
            let _ = write!(text, " {} after {blocks} blocks", objective.word(verdict));
            if summary.is_live {
                text.push_str(", compared with the best");
            }
        }
        (None, Some(forecast)) => {
            let _ = write!(text, " about {} more blocks, {}", forecast.runs, span(forecast.seconds));
        }
        (None, None) => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_experiment::{Forecast, Ratio, Verdict};

    #[test]
    fn a_line_says_the_ratio_and_what_it_would_take() {
        let mut summary = LiveSummary {
            configuration: 1,
            runs: 5,
            mean: Some(0.834),
            ratio: Some(Ratio { value: 1.479, low: 0.94, high: 2.32 }),
            decided: None,
            forecast: Some(Forecast { runs: 6, seconds: 120.0 }),
            is_live: true,
        };
        let line = |summary: &LiveSummary| line(summary, &Objective::default());
        assert_eq!(line(&summary), "834 ms, 1.48x [0.94, 2.32] about 6 more blocks, 2 min 0 s");
        (summary.decided, summary.forecast) = (Some((Verdict::Faster, 7)), None);
        assert_eq!(
            line(&summary),
            "834 ms, 1.48x [0.94, 2.32] faster after 7 blocks, compared with the best"
        );
        (summary.is_live, summary.ratio) = (false, None);
        assert_eq!(line(&summary), "834 ms faster after 7 blocks");
    }
}
