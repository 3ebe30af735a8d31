//! The tables of the report, readable without any style.

use super::page::written;
use crate::cells::{SharedShortfall, asked, obtained};
use crate::escape::escape;
use crate::judged::Judged;
use crate::number;
use crate::summary::{
    Cost, MEANWHILE, Metric, PeakMemory, Phase, counters, peak_memory, raw_runs as runs_in_order,
};
use crate::verdict;
use firsttouch_experiment::{ConfirmationState, Meanwhile, SessionRun};
use firsttouch_placement::{SkippedConfiguration, TuneReport};
use std::fmt::Write as _;
use std::iter;

/// Whether a column holds words or numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Words,
    Number,
}
use Kind::{Number, Words};

/// A table that grows row by row; cells are HTML.
struct Table {
    kinds: Vec<Kind>,
    text: String,
}

impl Table {
    fn new(titles: &[(&str, Kind)]) -> Self {
        let mut text = String::from("<div class=\"scroll\">\n<table>\n<thead>\n<tr>");
        for (title, kind) in titles {
            let _ = write!(text, "<th scope=\"col\"{}>{}</th>", class(*kind), escape(title));
        }
        text.push_str("</tr>\n</thead>\n<tbody>\n");
        Table { kinds: titles.iter().map(|(_, kind)| *kind).collect(), text }
    }

    /// A row; its first cell names it.
    fn row(&mut self, row_class: &str, cells: &[String]) {
        let _ = write!(self.text, "<tr{row_class}>");
        for (index, (cell, kind)) in cells.iter().zip(&self.kinds).enumerate() {
            let _ = match index {
                0 => write!(self.text, "<th scope=\"row\"{}>{cell}</th>", class(*kind)),
                _ => write!(self.text, "<td{}>{cell}</td>", class(*kind)),
            };
        }
        self.text.push_str("</tr>\n");
    }

    fn finish(mut self) -> String {
        self.text.push_str("</tbody>\n</table>\n</div>\n");
        self.text
    }
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Words => "",
        Number => " class=\"n\"",
    }
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

/// Asked, obtained and proved: one row per configuration, and one for the confirmation.
pub(super) fn summary(report: &TuneReport) -> String {
    let judged = Judged::of(report);
    let mut table = Table::new(&[
        ("configuration", Words),
        ("asked", Words),
        ("obtained", Words),
        ("runs", Number),
        (&judged.mean_title(), Number),
        (&judged.ratio_title(), Number),
        ("verdict", Words),
    ]);
    for (index, configuration) in report.configurations.iter().enumerate() {
        let ratio = match &configuration.proved.ratio {
            Some(ratio) => number::ratio(ratio),
            None if index == 0 => "1".to_owned(),
            None => number::UNKNOWN.to_owned(),
        };
        let cells = [
            code(&configuration.name),
            escape(&asked(configuration.asked.as_ref())),
            escape(&obtained(configuration)),
            configuration.proved.runs.len().to_string(),
            escape(&judged.mean(configuration)),
            ratio,
            verdict::word(report, configuration.proved.verdict(), index == 0).to_owned(),
        ];
        table.row(row_class(report, &configuration.name), &cells);
    }
    if let (Some(confirmation), Some(recommended)) = (&report.confirmation, &report.recommended) {
        let runs = &confirmation.recommended_runs;
        let cells = [
            fresh_label(confirmation.state, recommended),
            escape(&asked(report.configuration(recommended).and_then(|c| c.asked.as_ref()))),
            number::UNKNOWN.to_owned(),
            runs.len().to_string(),
            judged.mean_of(runs),
            confirmation.ratio.as_ref().map_or(number::UNKNOWN.to_owned(), number::ratio),
            format!("<strong>{}</strong>", verdict::state_word(confirmation.state)),
        ];
        table.row("", &cells);
    }
    table.finish()
}

/// What the runs cost beside what was judged: one row per configuration, and one for the recommended's fresh runs.
pub(super) fn cost(report: &TuneReport) -> String {
    let costs: Vec<(Cost, String)> = Cost::all(report).map(|cost| (cost, cost.long_title())).collect();
    let titles = costs.iter().map(|(_, title)| (title.as_str(), Number));
    let mut table = Table::new(&iter::once(("configuration", Words)).chain(titles).collect::<Vec<_>>());
    let mut row = |class: &str, label: String, runs: &[SessionRun], memory: Option<PeakMemory>| {
        let costs = costs.iter().map(|(cost, _)| cost.cell(runs, memory));
        let cells: Vec<String> = iter::once(label).chain(costs).collect();
        table.row(class, &cells);
    };
    for configuration in &report.configurations {
        let memory = peak_memory(report, configuration, Phase::Search);
        row(
            row_class(report, &configuration.name),
            code(&configuration.name),
            &configuration.proved.runs,
            memory,
        );
    }
    if let (Some(confirmation), Some(recommended)) = (&report.confirmation, &report.recommended) {
        let memory =
            report.configuration(recommended).and_then(|c| peak_memory(report, c, Phase::Confirmation));
        row("", fresh_label(confirmation.state, recommended), &confirmation.recommended_runs, memory);
    }
    table.finish()
}

fn row_class(report: &TuneReport, name: &str) -> &'static str {
    if report.recommended.as_deref() == Some(name) { " class=\"recommended\"" } else { "" }
}

fn fresh_label(state: ConfirmationState, recommended: &str) -> String {
    format!("<strong>{}: {}</strong>", verdict::fresh_label(state), code(recommended))
}

pub(super) fn shortfalls(shortfalls: &[SharedShortfall<'_>]) -> Option<String> {
    let mut table = Table::new(&[("reason", Words), ("struck", Words), ("what mends it", Words)]);
    for shortfall in shortfalls {
        table.row(
            "",
            &[code(shortfall.reason.word()), written(&shortfall.struck_words()), escape(shortfall.remedy)],
        );
    }
    (!shortfalls.is_empty()).then(|| table.finish())
}

pub(super) fn skipped(skipped: &[SkippedConfiguration]) -> Option<String> {
    let mut table = Table::new(&[
        ("configuration", Words),
        ("why it cannot run here", Words),
        ("what would allow it", Words),
    ]);
    for skipped in skipped {
        let remedy = skipped.remedy.as_deref().map_or(number::UNKNOWN.to_owned(), code);
        table.row("", &[code(&skipped.name), escape(&skipped.reason), remedy]);
    }
    (!skipped.is_empty()).then(|| table.finish())
}

/// Every run in the order made, folded away.
pub(super) fn raw_runs(report: &TuneReport) -> Option<String> {
    let runs = runs_in_order(report);
    if runs.is_empty() {
        return None;
    }
    let counters = counters(report);
    let mut titles = vec![("order", Number), ("block", Number), ("phase", Words), ("configuration", Words)];
    titles.extend(Metric::PLAIN.map(|metric| (metric.title, Number)));
    let judged = Judged::of(report);
    // What the kernel tells has a column of its own already.
    let is_said = runs.iter().any(|(_, _, run)| run.timed.judged.is_some());
    let label = report.objective.metric.label();
    titles.extend(is_said.then_some((label.as_str(), Number)));
    titles.push(("outlier", Words));
    titles.extend(counters.iter().map(|counter| (counter.title, Number)));
    let is_known =
        |told: fn(&Meanwhile) -> String| runs.iter().any(|(.., run)| !told(&run.timed.meanwhile).is_empty());
    let meanwhile: Vec<_> = MEANWHILE.into_iter().filter(|(_, told)| is_known(*told)).collect();
    let words: Vec<String> = meanwhile.iter().map(|(key, _)| key.replace('_', " ")).collect();
    titles.extend(words.iter().map(|title| (title.as_str(), Number)));
    // One class for the table instead of one per cell: there are thousands of them.
    let mut table = Table::new(&titles);
    table.text = table.text.replacen("<table>", "<table class=\"raw\">", 1);
    table.kinds.fill(Words);
    for (name, phase, run) in &runs {
        let mut cells =
            vec![run.order.to_string(), run.block.to_string(), phase.word().to_owned(), escape(name)];
        cells.extend(Metric::PLAIN.map(|metric| metric.cell(run)));
        if is_said {
            cells.push(judged.value(run).map_or(String::new(), |value| value.to_string()));
        }
        cells.push(if run.outlier { "×".to_owned() } else { String::new() });
        cells.extend(counters.iter().map(|counter| counter.cell(run)));
        cells.extend(meanwhile.iter().map(|(_, told)| escape(&told(&run.timed.meanwhile))));
        table.row("", &cells);
    }
    Some(format!(
        "<details>\n<summary>{} in the order they were made</summary>\n{}</details>\n",
        number::plural(runs.len(), "run"),
        table.finish()
    ))
}
