//! Text for the terminal. Everything reads the same without colour, and nothing of a stranger's text is obeyed.

mod attach;
mod attached;
mod balance;
mod balance_trials;
mod bench;
mod decision;
mod doctor;
mod explanation;
mod filling;
mod graph;
mod job;
mod lab;
mod measurement;
mod observation;
mod page;
mod receipt;
mod recording;
mod region;
mod runtime;
mod search;
mod setup;
mod sheet;
mod status;
mod table;
mod tree;

pub use attach::attach;
pub use attached::{attach_forgotten, attached};
pub use balance::balance;
pub use balance_trials::balance_trials;
pub use bench::{bench, case_list};
pub use decision::decision;
pub use doctor::{doctor, findings_in_brief};
pub use explanation::explanation;
pub use filling::filling;
pub use graph::{graph, memory_estimate};
pub use job::job;
pub use lab::{lab, lab_list};
pub use measurement::measurement;
pub use observation::observed;
pub use receipt::receipt;
pub use recording::recording;
pub use region::region;
pub use runtime::runtime;
pub use search::{merge, search};
pub use setup::setup;
pub use status::status;

use crate::cells;
use crate::cells::{asked, obtained, shortfalls};
use crate::judged::Judged;
use crate::number;
use crate::remarks::remarks;
use crate::sentence::Sentence;
use crate::style::{Style, Tone};
use crate::summary::{Cost, PeakMemory, Phase, fresh_blocks, peak_memory, raw_runs, search_blocks};
use crate::verdict::{self, Advice};
use crate::visible::visible;
use firsttouch_experiment::{ConfirmationState, SessionRun, Verdict};
use firsttouch_placement::{ConfigurationReport, TuneReport};
use page::Page;
use table::{Align, Cell, Column, Table};

/// A session: verdict sentence, tables, shortfalls, what was skipped, warnings, and the command to use.
///
/// `width` is that of the terminal in columns. Where the table does not fit it is split into several, each with
/// the names of the configurations; commands are never broken, so that they can be copied.
pub fn tune(report: &TuneReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    let headline = verdict::headline(report);
    page.paragraph("", &headline.sentence.plain(), tone_of(headline.outcome));
    page.blank();
    if !report.configurations.is_empty() {
        page.table(&summary_table(report));
    }
    page.shortfalls(report);
    page.skipped(report);
    page.list("warnings", &report.warnings, "!", Some(Tone::Caution));
    let remarks: Vec<String> = remarks(report).iter().map(Sentence::plain).collect();
    page.list("remarks", &remarks, "-", None);
    page.advice(report);
    page.painted(Tone::Faint, &footer(report));
    page.text
}

/// The verdict sentence alone, names of configurations in backticks.
pub fn verdict(report: &TuneReport) -> String {
    verdict::headline(report).sentence.plain()
}

fn tone_of(outcome: Option<Verdict>) -> Option<Tone> {
    match outcome {
        Some(Verdict::Faster) => Some(Tone::Good),
        Some(Verdict::Slower) => Some(Tone::Bad),
        None => Some(Tone::Caution),
        Some(Verdict::Same) => Some(Tone::Strong),
    }
}

fn footer(report: &TuneReport) -> String {
    let fresh = fresh_blocks(report);
    let and_fresh = if fresh == 0 { String::new() } else { format!(" + {fresh} fresh") };
    format!(
        "{} in {}{and_fresh}, seed {}, started {}{}{}",
        number::plural(raw_runs(report).len(), "run"),
        number::plural(search_blocks(report), "block"),
        report.seed,
        visible(&report.started),
        if report.quick { ", --quick" } else { "" },
        judged_words(report),
    )
}

/// What was judged, where that is not the wall time.
fn judged_words(report: &TuneReport) -> String {
    match report.objective.is_wall() {
        true => String::new(),
        false if report.objective.higher_is_better => {
            format!(", judged{}, more is better", visible(&Judged::of(report).by()))
        }
        false => format!(", judged{}", visible(&Judged::of(report).by())),
    }
}

fn summary_table(report: &TuneReport) -> Table {
    let judged = Judged::of(report);
    let mut columns = vec![
        Column::new("", "configuration", Align::Left),
        Column::new("asked, obtained", "asked", Align::Left),
        Column::new("asked, obtained", "obtained", Align::Left),
        Column::new("proved", "runs", Align::Right),
        Column::new("proved", judged.mean_title(), Align::Right),
        Column::new("proved", judged.ratio_title(), Align::Right),
        Column::new("proved", "verdict", Align::Left),
    ];
    columns.extend(
        cost_columns(report).filter_map(|cost| Some(Column::new(cost.group()?, cost.title(), Align::Right))),
    );
    let mut table = Table::new(columns);
    for (index, configuration) in report.configurations.iter().enumerate() {
        let is_recommended = report.recommended.as_deref() == Some(&configuration.name);
        table.row(row(report, configuration, index == 0, is_recommended));
    }
    if let (Some(confirmation), Some(recommended)) = (&report.confirmation, &report.recommended) {
        let configuration = report.configuration(recommended);
        let asked = configuration.and_then(|c| c.asked.as_ref());
        let memory = configuration.and_then(|c| peak_memory(report, c, Phase::Confirmation));
        let mut cells = vec![
            Cell::toned(format!("{}: {recommended}", verdict::fresh_label(confirmation.state)), Tone::Strong),
            Cell::new(cells::asked(asked)),
            Cell::new(number::UNKNOWN),
            Cell::new(confirmation.recommended_runs.len().to_string()),
            Cell::new(judged.mean_of(&confirmation.recommended_runs)),
            Cell::new(confirmation.ratio.as_ref().map_or(number::UNKNOWN.to_owned(), number::ratio)),
            state_cell(confirmation.state),
        ];
        cells.extend(cost_cells(report, &confirmation.recommended_runs, memory));
        table.row(cells);
    }
    table
}

fn row(
    report: &TuneReport,
    configuration: &ConfigurationReport,
    is_baseline: bool,
    is_recommended: bool,
) -> Vec<Cell> {
    let name = configuration.name.as_str();
    let mut cells = vec![
        if is_recommended { Cell::toned(name, Tone::Strong) } else { Cell::new(name) },
        Cell::new(asked(configuration.asked.as_ref())),
        Cell::new(obtained(configuration)),
        Cell::new(configuration.proved.runs.len().to_string()),
        Cell::new(Judged::of(report).mean(configuration)),
        Cell::new(match &configuration.proved.ratio {
            Some(ratio) => number::ratio(ratio),
            None if is_baseline => "1".to_owned(),
            None => number::UNKNOWN.to_owned(),
        }),
        verdict_cell(report, configuration.proved.verdict(), is_baseline),
    ];
    let memory = peak_memory(report, configuration, Phase::Search);
    cells.extend(cost_cells(report, &configuration.proved.runs, memory));
    cells
}

fn verdict_cell(report: &TuneReport, verdict: Option<Verdict>, is_baseline: bool) -> Cell {
    let words = verdict::word(report, verdict, is_baseline);
    match verdict {
        Some(Verdict::Faster) => Cell::toned(words, Tone::Good),
        Some(Verdict::Slower) => Cell::toned(words, Tone::Bad),
        Some(Verdict::Same) => Cell::new(words),
        None if is_baseline => Cell::toned(words, Tone::Faint),
        None => Cell::toned(words, Tone::Caution),
    }
}

fn state_cell(state: ConfirmationState) -> Cell {
    let tone = match state {
        ConfirmationState::Confirmed => Tone::Good,
        ConfirmationState::Refuted => Tone::Bad,
        ConfirmationState::NotYet => Tone::Caution,
    };
    Cell::toned(verdict::state_word(state), tone)
}

/// Peak memory and how it compares are one column here: with one more the table would be too wide for a terminal of 80.
fn cost_columns(report: &TuneReport) -> impl Iterator<Item = Cost> {
    Cost::main(report).filter(|cost| !matches!(cost, Cost::PeakToBaseline))
}

fn cost_cells(
    report: &TuneReport,
    runs: &[SessionRun],
    memory: Option<PeakMemory>,
) -> impl Iterator<Item = Cell> {
    cost_columns(report).map(move |cost| {
        let cell = cost.cell(runs, memory);
        Cell::new(match cost {
            Cost::PeakMemory if memory.is_some() => {
                format!("{cell} {:>5}", Cost::PeakToBaseline.cell(runs, memory))
            }
            _ => cell,
        })
    })
}

impl Page {
    fn shortfalls(&mut self, report: &TuneReport) {
        let shortfalls = shortfalls(report);
        if shortfalls.is_empty() {
            return;
        }
        self.heading("asked, but not obtained");
        for shortfall in &shortfalls {
            self.paragraph(
                "  ",
                &format!("{}: {}", shortfall.reason.word(), shortfall.struck_words().plain()),
                None,
            );
            self.line("    ", shortfall.remedy);
        }
        self.blank();
    }

    fn skipped(&mut self, report: &TuneReport) {
        if report.skipped.is_empty() {
            return;
        }
        self.heading("skipped");
        for skipped in &report.skipped {
            self.paragraph("  ", &format!("{}: {}", skipped.name, skipped.reason), None);
            if let Some(remedy) = &skipped.remedy {
                self.line("    hint: ", remedy);
            }
        }
        self.blank();
    }

    fn advice(&mut self, report: &TuneReport) {
        match verdict::advice(report) {
            Advice::Use(command) => {
                self.heading("from now on");
                self.line("  ", &command);
            }
            Advice::AsItIs(command) => {
                self.heading("from now on, as it is");
                self.line("  ", &command);
            }
            Advice::Open => return,
        }
        self.blank();
    }
}
