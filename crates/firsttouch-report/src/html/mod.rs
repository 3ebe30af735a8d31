//! One HTML file: verdict, tables, plots, the machine and the document itself.
//!
//! It needs no network and runs no script, reads without its style sheet, in light and dark and on paper. The data
//! block at its end is the whole document, so the file can be opened again.

mod machine;
mod measurement;
mod recording;
mod tables;

pub use measurement::measurement;
pub use recording::recording;

use crate::cells::shortfalls;
use crate::remarks::{method, remarks};
use crate::sentence::Sentence;
use crate::verdict::{self, Advice};
use crate::visible::visible;
use crate::{OpenError, json, plots, shell};
use firsttouch_placement::{TuneReport, Verdict};
use std::fmt::Write as _;

const DATA_OPENS: &str = "<script type=\"application/json\" id=\"firsttouch-data\">";
const DATA_CLOSES: &str = "</script>";

const STYLE: &str = "
:root{color-scheme:light dark}
body{max-width:60rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;color:#1b1f24;background:#fff}
h1{font-size:1rem;font-weight:600;opacity:.75;margin:0}
h2{font-size:1.15rem;margin:2.5rem 0 .5rem;padding-top:.75rem;border-top:1px solid #8884}
.verdict{font-size:1.7rem;line-height:1.3;font-weight:600;margin:1rem 0;padding-left:1rem;border-left:.35rem solid #808080}
.faster{border-color:#2f7fc1}.slower{border-color:#d55e00}.undecided{border-color:#a67c00}
pre{background:#8881;padding:.7rem .9rem;border-radius:.4rem;white-space:pre-wrap;overflow-wrap:anywhere}
code{font-family:ui-monospace,monospace;font-size:.92em;overflow-wrap:break-word}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.84rem;font-variant-numeric:tabular-nums;line-height:1.35}
caption{text-align:left;opacity:.75;padding-bottom:.3rem}
th,td{padding:.3rem .7rem .3rem 0;border-bottom:1px solid #8883;text-align:left;vertical-align:top}
thead th{font-weight:600;vertical-align:bottom;border-bottom:2px solid #8886}
tbody th{font-weight:inherit}
.n{text-align:right;white-space:nowrap}
h3{font-size:.95rem;margin:1.2rem 0 .3rem}
.raw th,.raw td{text-align:right;white-space:nowrap}
.winner{font-weight:600}
figure{margin:0;overflow-x:auto;break-inside:avoid}
figcaption{font-size:.84rem;opacity:.8;max-width:46rem}
svg{max-width:100%;height:auto}
summary{cursor:pointer}
.warnings{padding:.6rem 1rem .6rem 2rem;border-left:.35rem solid #a67c00;background:#a67c0018}
@media (prefers-color-scheme:dark){body{color:#e4e6e9;background:#14171c}}
@media print{body{max-width:none;margin:0;font-size:11pt;color:#000;background:#fff}pre{border:1px solid #888}h2{break-after:avoid}}
";

/// A session as one HTML file.
pub fn tune(report: &TuneReport) -> String {
    let headline = verdict::headline(report);
    let program = shell::command(&report.command);
    let mut page = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    let title = crate::visible::shortened(&program, 80);
    let _ = writeln!(
        page,
        "<title>firsttouch tune: {}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        escape(&title)
    );
    page.push_str("<header>\n<h1>firsttouch tune</h1>\n");
    let _ = writeln!(page, "<pre><code>{}</code></pre>", escape(&program));
    let class = match headline.outcome {
        Some(Verdict::Faster) => " faster",
        Some(Verdict::Slower) => " slower",
        Some(Verdict::Undecided) | None => " undecided",
        Some(Verdict::Same) => "",
    };
    let _ =
        writeln!(page, "<p class=\"verdict{class}\"><strong>{}</strong></p>", written(&headline.sentence));
    advice(&mut page, report);
    page.push_str("</header>\n<main>\n");
    list(
        &mut page,
        "Warnings",
        " class=\"warnings\"",
        &report.warnings.iter().map(Sentence::from).collect::<Vec<_>>(),
    );
    if !report.configurations.is_empty() {
        section(
            &mut page,
            "Configurations",
            &(tables::summary(report) + "<h3>Cost per run</h3>\n" + &tables::cost(report)),
        );
    }
    for plot in plots::all(report) {
        let figure =
            format!("<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", plot.svg, escape(&plot.caption));
        section(&mut page, plot.title, &figure);
    }
    section_of(&mut page, "Asked, but not obtained", tables::shortfalls(&shortfalls(report)));
    section_of(&mut page, "Skipped", tables::skipped(&report.skipped));
    list(&mut page, "Remarks", "", &remarks(report));
    section(&mut page, "Method", &format!("<p>{}</p>\n", written(&method(report))));
    section_of(&mut page, "Machine", machine::sheet(&report.machine));
    section_of(&mut page, "Raw runs", tables::raw_runs(report));
    let _ = writeln!(page, "</main>\n{DATA_OPENS}{}{DATA_CLOSES}\n</body>\n</html>", data_block(report));
    page
}

/// Reads the session back from a file that [`tune`] wrote.
pub fn data(html: &str) -> Result<TuneReport, OpenError> {
    json::read(block(html)?)
}

/// The document in a page of ours, as JSON.
pub(crate) fn block(html: &str) -> Result<&str, OpenError> {
    let (_, rest) = html.split_once(DATA_OPENS).ok_or(OpenError::NoData)?;
    let document = rest.split_once(DATA_CLOSES).map(|(text, _)| text);
    document.ok_or_else(|| OpenError::Truncated { line: html.lines().count() })
}

/// The document, such that no string in it can end the block: `<` stands in JSON strings only, where it may be
/// written as an escape.
fn data_block(report: &TuneReport) -> String {
    json::compact(report).replace('<', "\\u003c")
}

/// Text for HTML, in elements and in quoted attributes. Control characters are shown, not obeyed.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A sentence, names as code.
fn written(sentence: &Sentence) -> String {
    sentence.written(escape, |name| format!("<code>{}</code>", escape(name)))
}

fn advice(page: &mut String, report: &TuneReport) {
    let (words, command) = match verdict::advice(report) {
        Advice::Use(command) => ("From now on:", command),
        Advice::AsItIs(command) => ("From now on, as it is:", command),
        Advice::OwnLauncher(name) => {
            let name = escape(&name);
            let _ = writeln!(page, "<p>From now on: start the program as <code>{name}</code> does.</p>");
            return;
        }
        Advice::Open => return,
    };
    let _ = writeln!(page, "<p>{words}</p>\n<pre><code>{}</code></pre>", escape(&command));
}

fn section(page: &mut String, heading: &str, content: &str) {
    let _ = writeln!(page, "<section>\n<h2>{heading}</h2>\n{content}</section>");
}

fn section_of(page: &mut String, heading: &str, content: Option<String>) {
    if let Some(content) = content {
        section(page, heading, &content);
    }
}

fn list(page: &mut String, heading: &str, class: &str, items: &[Sentence]) {
    if !items.is_empty() {
        let items: String = items.iter().map(|item| format!("<li>{}</li>\n", written(item))).collect();
        section(page, heading, &format!("<ul{class}>\n{items}</ul>\n"));
    }
}

fn items(page: &mut String, heading: &str, class: &str, texts: &[String]) {
    if !texts.is_empty() {
        let items: String = texts.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
        section(page, heading, &format!("<ul{class}>\n{items}</ul>\n"));
    }
}
