//! Markdown, as issues and pull requests take it.

use crate::articles;
use crate::bench;
use crate::cells::{asked, obtained, shortfalls};
use crate::decision;
use crate::hosts;
use crate::judged::Judged;
use crate::number;
use crate::remarks::{method, remarks};
use crate::sentence::Sentence;
use crate::sheet::Sheet;
use crate::summary::{Cost, PeakMemory, Phase, counters, peak_memory};
use crate::verdict::{self, Advice};
use crate::visible::visible;
use firsttouch_documents::{BenchReport, DecisionReport, DoctorReport};
use firsttouch_experiment::{Ratio, SessionRun};
use firsttouch_placement::{ConfigurationReport, TuneReport};
use std::fmt::Write as _;

/// A session: verdict sentence, table, shortfalls, skipped configurations, warnings, the command to use.
pub fn tune(report: &TuneReport) -> String {
    let mut page = String::new();
    let _ = writeln!(page, "# firsttouch tune\n");
    fenced(&mut page, &crate::shell::command(&report.command));
    let _ = writeln!(page, "**{}**\n", written(&verdict::headline(report).sentence));
    if !report.configurations.is_empty() {
        summary_table(&mut page, report);
        counters_table(&mut page, report);
    }
    let short = shortfalls(report);
    if !short.is_empty() {
        let _ = writeln!(page, "## Asked, but not obtained\n");
        for shortfall in &short {
            let _ = writeln!(
                page,
                "- {}: {}. {}",
                code(shortfall.reason.word()),
                written(&shortfall.struck_words()),
                code(shortfall.remedy)
            );
        }
        page.push('\n');
    }
    if !report.skipped.is_empty() {
        let _ = writeln!(page, "## Skipped\n");
        for skipped in &report.skipped {
            let remedy =
                skipped.remedy.as_deref().map_or(String::new(), |remedy| format!(": {}", code(remedy)));
            let _ = writeln!(
                page,
                "- {}: {}{remedy}",
                code(&skipped.name),
                written(&Sentence::from(&skipped.reason))
            );
        }
        page.push('\n');
    }
    list(&mut page, "Warnings", &report.warnings.iter().map(Sentence::from).collect::<Vec<_>>());
    list(&mut page, "Remarks", &remarks(report));
    match verdict::advice(report) {
        Advice::Use(command) => {
            let _ = writeln!(page, "## From now on\n");
            fenced(&mut page, &command);
        }
        // The command as it is stands at the top, unless that has names in the place of values.
        Advice::AsItIs(command) if command != crate::shell::command(&report.command) => {
            let _ = writeln!(page, "## From now on, as it is\n");
            fenced(&mut page, &command);
        }
        Advice::AsItIs(_) | Advice::Open => {}
    }
    let _ = writeln!(page, "## Method\n\n{}", written(&method(report)));
    page
}

/// What was measured elsewhere: a sentence and a table for all of it, warnings and notes.
pub fn decision(report: &DecisionReport) -> String {
    let mut page = String::from("# firsttouch report --decide\n\n");
    for headline in decision::headlines(report) {
        let _ = writeln!(page, "**{}**\n", written(&headline.sentence));
    }
    for sheet in decision::sheets(report) {
        table(&mut page, &sheet);
    }
    list(&mut page, "Warnings", &decision::warnings(report));
    list(&mut page, "Notes", &report.comparison.notes.iter().map(Sentence::from).collect::<Vec<_>>());
    page
}

/// What is wrong with one machine or several: a sentence, and a table for each part.
pub fn doctor(report: &DoctorReport) -> String {
    let mut page = format!("# firsttouch doctor\n\n**{}**\n\n", written(&hosts::headline(report)));
    for sheet in hosts::sheets(report) {
        table(&mut page, &sheet);
    }
    page
}

/// A table under its caption.
fn table(page: &mut String, sheet: &Sheet) {
    if let Some(caption) = &sheet.caption {
        let _ = writeln!(page, "## {}\n", written(caption));
    }
    let titles: String = sheet.columns.iter().map(|column| format!(" {} |", escaped(column.title))).collect();
    let rules: String =
        sheet.columns.iter().map(|column| if column.numeric { "--:|" } else { ":--|" }).collect();
    let _ = writeln!(page, "|{titles}\n|{rules}");
    for row in &sheet.rows {
        let others: String = row.cells.iter().map(|cell| format!(" {} |", escaped(cell))).collect();
        // Markdown takes spaces at the beginning of a cell away.
        let indent = if row.is_below { "&emsp;" } else { "" };
        let _ = writeln!(page, "| {indent}{} |{others}", row.name.written(escaped, cell_code));
    }
    page.push('\n');
}

/// Articles with the tables that were repeated; then cases: each with its figures, and what others published.
pub fn bench(report: &BenchReport) -> String {
    let mut page = String::from("# firsttouch bench\n\n");
    if report.interrupted {
        let _ = writeln!(page, "**{}**\n", bench::INTERRUPTED);
    }
    if !report.articles.is_empty() {
        let _ = writeln!(page, "{}\n", written(&articles::here_words(report)));
    }
    for article in &report.articles {
        let _ = writeln!(page, "## {}\n\n{}\n", escaped(&article.title), written(&articles::by(article)));
        for shown in &article.tables {
            let _ = writeln!(page, "### {}\n", written(&articles::caption(shown)));
            if let Some(sheet) = articles::sheet(shown, report) {
                table(&mut page, &sheet);
            }
            for remark in articles::remarks(shown, report) {
                let _ = writeln!(page, "- {}", written(&remark));
            }
            page.push('\n');
        }
    }
    for case in &report.cases {
        let _ = writeln!(page, "## {}\n\n{}\n", escaped(&case.name), written(&bench::about(case)));
        for sheet in bench::sheets(case) {
            table(&mut page, &sheet);
        }
        list(&mut page, "Remarks", &bench::remarks(case));
    }
    page
}

fn summary_table(page: &mut String, report: &TuneReport) {
    let judged = Judged::of(report);
    let costs = |runs: &[SessionRun], memory: Option<PeakMemory>| -> Vec<String> {
        Cost::main(report).map(|cost| cost.cell(runs, memory)).collect()
    };
    let titles: Vec<&str> = Cost::main(report).map(Cost::title).collect();
    let _ = writeln!(
        page,
        "| configuration | asked | obtained | runs | {} | {} | verdict | {} |\n\
         |:--|:--|:--|--:|--:|--:|:--|{}",
        escaped(&judged.mean_title()),
        judged.ratio_title(),
        titles.join(" | "),
        "--:|".repeat(titles.len())
    );
    for (index, configuration) in report.configurations.iter().enumerate() {
        row(
            page,
            &cell_code(&configuration.name),
            configuration,
            [
                configuration.proved.runs.len().to_string(),
                judged.mean(configuration),
                ratio_cell(configuration.proved.ratio.as_ref(), index == 0),
            ],
            verdict::word(report, configuration.proved.verdict(), index == 0),
            &costs(&configuration.proved.runs, peak_memory(report, configuration, Phase::Search)),
        );
    }
    let recommended = report.recommended.as_deref().and_then(|recommended| report.configuration(recommended));
    if let (Some(confirmation), Some(recommended)) = (&report.confirmation, recommended) {
        let runs = &confirmation.recommended_runs;
        let label = verdict::fresh_label(confirmation.state);
        row(
            page,
            &format!("**{label}: {}**", cell_code(&recommended.name)),
            recommended,
            [runs.len().to_string(), judged.mean_of(runs), ratio_cell(confirmation.ratio.as_ref(), false)],
            &format!("**{}**", verdict::state_word(confirmation.state)),
            &costs(runs, peak_memory(report, recommended, Phase::Confirmation)),
        );
    }
    page.push('\n');
}

fn ratio_cell(ratio: Option<&Ratio>, is_baseline: bool) -> String {
    match ratio {
        Some(ratio) => number::ratio(ratio),
        None if is_baseline => "1".to_owned(),
        None => number::UNKNOWN.to_owned(),
    }
}

fn row(
    page: &mut String,
    name: &str,
    configuration: &ConfigurationReport,
    proved: [String; 3],
    verdict: &str,
    costs: &[String],
) {
    let [number_of_runs, wall, ratio] = proved.map(|cell| escaped(&cell));
    let _ = writeln!(
        page,
        "| {name} | {} | {} | {number_of_runs} | {wall} | {ratio} | {verdict} | {} |",
        escaped(&asked(configuration.asked.as_ref())),
        escaped(&obtained(configuration)),
        costs.join(" | "),
    );
}

fn counters_table(page: &mut String, report: &TuneReport) {
    let counters = counters(report);
    if counters.is_empty() {
        return;
    }
    let titles: String = counters.iter().map(|metric| format!(" {} |", escaped(metric.label))).collect();
    let _ = writeln!(page, "| counters, mean per run |{titles}\n|:--|{}", "--:|".repeat(counters.len()));
    for configuration in &report.configurations {
        let cells = counters.iter().map(|metric| {
            let mean = metric.mean(&configuration.proved.runs);
            format!(" {} |", mean.map_or(number::UNKNOWN.to_owned(), |mean| metric.show(mean)))
        });
        let _ = writeln!(page, "| {} |{}", cell_code(&configuration.name), cells.collect::<String>());
    }
    page.push('\n');
}

fn list(page: &mut String, heading: &str, items: &[Sentence]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(page, "## {heading}\n");
    for item in items {
        let _ = writeln!(page, "- {}", written(item));
    }
    page.push('\n');
}

/// Text with every character that Markdown, its tables or embedded HTML would take for themselves escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in visible(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '`' | '@' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

fn written(sentence: &Sentence) -> String {
    sentence.written(escaped, code)
}

/// A code span in a table, where bars end the cell even inside code.
fn cell_code(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// A code span: fenced by one more backtick than the text has in a row.
fn code(text: &str) -> String {
    let text = visible(text);
    if text.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let fence = "`".repeat(longest_ticks(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn fenced(page: &mut String, text: &str) {
    let fence = "`".repeat(longest_ticks(text).max(2) + 1);
    let _ = writeln!(page, "{fence}sh\n{}\n{fence}\n", visible(text));
}

fn longest_ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{cell_code, code, escaped};

    #[test]
    fn nothing_breaks_out_of_a_cell() {
        assert_eq!(escaped("a|b <script> *x*\n"), "a\\|b &lt;script&gt; \\*x\\*\\\\n");
        assert_eq!(cell_code("a`|`b"), "``a`\\|`b``");
        assert_eq!(code("a|b"), "`a|b`");
        assert_eq!(code("`"), "`` ` ``");
    }
}
