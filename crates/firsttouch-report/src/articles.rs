//! Articles whose tables were repeated, for every format: what they print, and beside it what was made here.

use crate::bench::figure_words;
use crate::cells::obtained;
use crate::number::{self, UNKNOWN, significant, times};
use crate::sentence::Sentence;
use crate::sheet::{Sheet, SheetRow, column};
use crate::shell;
use crate::verdict;
use firsttouch_documents::{ArticleFigure, ArticleReport, ArticleRow, ArticleTable, BenchReport, CaseReport};
use firsttouch_experiment::Verdict;
use firsttouch_placement::{ConfigurationReport, TuneReport};
use serde_json::Value;

/// Published values with more characters are cut to so many digits.
const LONG: usize = 9;
const DIGITS: usize = 6;

/// What the machine is whose figures stand beside those of articles.
pub(crate) fn here_words(report: &BenchReport) -> Sentence {
    let text = |key: &str| report.machine.get(key).and_then(Value::as_str).map(str::to_owned);
    let cpus = report.machine.get("cpus_online").and_then(Value::as_u64);
    let parts = [
        text("kernel").map(|kernel| format!("Linux {kernel}")),
        text("cpu_model"),
        cpus.and_then(|cpus| Some(number::plural(usize::try_from(cpus).ok()?, "CPU"))),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    let known =
        if known.is_empty() { "a machine of which nothing is known".to_owned() } else { known.join(", ") };
    let sizes =
        if report.quick { " Sizes are small ones: figures are of none of the articles' sizes." } else { "" };
    Sentence::new().words(format!("Here: {known}, {}.{sizes}", report.started))
}

/// Who wrote an article, and the name of the collection it is in.
pub(crate) fn by(article: &ArticleReport) -> Sentence {
    Sentence::new().words(format!("{} (", article.by)).name(&article.document).words(")")
}

/// What a table is called and shows.
pub(crate) fn caption(table: &ArticleTable) -> Sentence {
    Sentence::new().name(&table.name).words(": ").marked(&table.shows)
}

/// A line of a table: of a system that published it, or of a configuration here.
struct Line {
    name: Sentence,
    figure: String,
    times: String,
    /// The word of it; empty of what is published.
    word: &'static str,
    verdict: Option<Verdict>,
    /// Nothing is to be proved of it.
    is_given: bool,
}

/// Ways, and under each the systems that published it and what it came to here; `None` without any.
pub(crate) fn sheet(table: &ArticleTable, report: &BenchReport) -> Option<Sheet> {
    let first = table.rows.first()?;
    let here = || table.rows.iter().flat_map(|row| &row.here);
    let has_published = table.rows.iter().any(|row| !row.published.is_empty());
    let has_times = here().any(|one| one.ratio.is_some())
        || (table.higher_is_better.is_some() && table.rows.len() > 1 && has_published);
    let has_verdicts = here().any(|one| one.ratio.is_some() || one.verdict.is_some());
    // What is published as ratios has no other figure.
    let has_figures = table.unit != "x" || here().next().is_some();
    let mut columns = vec![column("", "", false)];
    columns.extend(has_figures.then(|| column("figure", "figure [95 %]", true)));
    columns.extend(has_times.then(|| column("proved", "times faster [95 %]", true)));
    columns.extend(has_verdicts.then(|| column("proved", "verdict", false)));
    let width = columns.len() - 1;
    let mut rows = Vec::new();
    for row in &table.rows {
        let here = row.here.iter().map(|one| here_line(table, report, row, one));
        let lines: Vec<Line> = published_lines(table, first, row).chain(here).collect();
        let way = || Sentence::new().words(&row.way);
        let head = |cells| SheetRow { name: way(), is_below: false, cells, verdict: None, is_baseline: true };
        let cells = |line: &Line| {
            let mut cells: Vec<String> = has_figures.then(|| line.figure.clone()).into_iter().collect();
            cells.extend(has_times.then(|| line.times.clone()));
            cells.extend(has_verdicts.then(|| line.word.to_owned()));
            cells
        };
        let row_of = |name: Sentence, is_below: bool, line: &Line| SheetRow {
            name,
            is_below,
            cells: cells(line),
            verdict: line.verdict,
            is_baseline: line.is_given,
        };
        match lines.as_slice() {
            [] => {
                let cells = (0..width).map(|column| if column == 0 { UNKNOWN } else { "" }.to_owned());
                rows.push(head(cells.collect()));
            }
            [only] if !has_published => rows.push(row_of(way(), false, only)),
            [only] if row.published.is_empty() => {
                rows.push(row_of(way().words(": ").then(&only.name), false, only))
            }
            lines => {
                rows.push(head(vec![String::new(); width]));
                rows.extend(lines.iter().map(|line| row_of(line.name.clone(), true, line)));
            }
        }
    }
    Some(Sheet { caption: None, columns, rows })
}

fn published_lines<'a>(
    table: &'a ArticleTable,
    first: &'a ArticleRow,
    row: &'a ArticleRow,
) -> impl Iterator<Item = Line> {
    row.published.iter().map(|one| Line {
        name: Sentence::new().words(&one.system),
        figure: with_unit(table, one.value),
        times: match published_times(table, first, &one.system, one.value) {
            Some(1.0) if std::ptr::eq(first, row) => "1".to_owned(),
            Some(value) => times(value, false),
            None => String::new(),
        },
        word: "",
        verdict: None,
        is_given: true,
    })
}

/// How many times better a published value is than that of the first way on the same system.
pub(crate) fn published_times(
    table: &ArticleTable,
    first: &ArticleRow,
    system: &str,
    value: f64,
) -> Option<f64> {
    if table.unit == "x" {
        return Some(value);
    }
    let of_first = first.published.iter().find(|one| one.system == system)?.value;
    match table.higher_is_better {
        Some(true) => Some(value / of_first),
        Some(false) => Some(of_first / value),
        None => None,
    }
}

/// A value as an article prints it; what is a ratio stands with the others of these.
fn with_unit(table: &ArticleTable, value: f64) -> String {
    let text = value.to_string();
    let text = if text.len() > LONG { significant(value, DIGITS) } else { text };
    if table.unit == "x" { String::new() } else { format!("{text} {}", table.unit) }
}

fn here_line(table: &ArticleTable, report: &BenchReport, row: &ArticleRow, one: &ArticleFigure) -> Line {
    let found = configuration(table, report, one);
    // What the others were compared with.
    let is_baseline = found.is_some_and(|(session, configuration)| {
        session.configurations.first().is_some_and(|first| std::ptr::eq(first, configuration))
    });
    let word = found.map_or(verdict::without_verdict(false), |(session, _)| {
        verdict::word(session, one.verdict, is_baseline)
    });
    Line {
        name: match row.here.len() {
            1 => Sentence::new().words("here"),
            _ => Sentence::new().words("here: ").name(&one.configuration),
        },
        figure: match one.figure.value.to_string() {
            // As the run said it.
            said if one.figure.low.is_none() && said.len() <= LONG => format!("{said} {}", one.unit),
            _ => figure_words(Some(one.figure), &one.unit),
        },
        times: match &one.ratio {
            Some(ratio) => number::ratio(ratio),
            None if is_baseline => "1".to_owned(),
            None => String::new(),
        },
        word,
        verdict: one.verdict,
        is_given: is_baseline,
    }
}

/// The runs of a figure, and the session that they are of.
fn configuration<'a>(
    table: &ArticleTable,
    report: &'a BenchReport,
    one: &ArticleFigure,
) -> Option<(&'a TuneReport, &'a ConfigurationReport)> {
    let sessions = case_of(table, report)?.comparisons.iter().map(|comparison| &comparison.session);
    sessions.filter_map(|session| Some((session, session.configuration(&one.configuration)?))).next()
}

/// What was run for a table.
pub(crate) fn case_of<'a>(table: &ArticleTable, report: &'a BenchReport) -> Option<&'a CaseReport> {
    report.cases.get(usize::try_from(table.case?).ok()?)
}

/// Why a table, or a way, was not repeated, what configurations obtained, what else there is to say, and the command.
pub(crate) fn remarks(table: &ArticleTable, report: &BenchReport) -> Vec<Sentence> {
    let reason =
        table.reason.iter().map(|why| Sentence::new().words("Not repeated here: ").marked(why).words("."));
    // Ways that lack the same stand together.
    let mut ways: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in &table.rows {
        let Some(why) = row.reason.as_deref() else { continue };
        match ways.iter_mut().find(|(one, _)| *one == why) {
            Some((_, ways)) => ways.push(&row.way),
            None => ways.push((why, vec![&row.way])),
        }
    }
    let ways = ways.into_iter().map(|(why, ways)| {
        let named = ways.iter().enumerate().fold(Sentence::new(), |sentence, (place, way)| {
            sentence.words(if place == 0 { "" } else { ", " }).name(way)
        });
        named.words(": ").marked(why)
    });
    let mut seen: Vec<&str> = Vec::new();
    let figures = table.rows.iter().flat_map(|row| &row.here);
    let got = figures.filter_map(|one| {
        let (_, configuration) = configuration(table, report, one)?;
        let is_new = !seen.contains(&one.configuration.as_str());
        seen.push(&one.configuration);
        let is_told = is_new && configuration.asked.is_some() && configuration.obtained.is_some();
        is_told.then(|| {
            Sentence::new().name(&one.configuration).words(format!(" obtained {}", obtained(configuration)))
        })
    });
    let got: Vec<Sentence> = got.collect();
    let notes = table.notes.iter().map(Sentence::from);
    let command = (!table.command.is_empty())
        .then(|| Sentence::new().words("Alone: ").name(&shell::command(&table.command)));
    reason.chain(ways).chain(got).chain(notes).chain(command).collect()
}

/// What variants and placements lacked in all runs, each once.
pub(crate) fn lacking(report: &BenchReport) -> Vec<Sentence> {
    let mut all: Vec<Sentence> = Vec::new();
    for sentence in report.cases.iter().flat_map(crate::bench::lacking) {
        if !all.iter().any(|one| one.plain() == sentence.plain()) {
            all.push(sentence);
        }
    }
    all
}
