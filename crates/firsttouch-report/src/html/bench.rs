//! Cases as one HTML file with its document inside.

use super::machine;
use super::page::{closed, opened, section, section_of, written};
use super::sheet::table;
use crate::bench::{INTERRUPTED, about, remarks, sheets};
use crate::escape::escape;
use crate::plots::Plot;
use crate::sentence::Sentence;
use crate::{articles, json, plots};
use firsttouch_documents::{ArticleReport, BenchReport, CaseReport};

/// A section for each article; then one for each case: its figures, how its configurations compare, what others published, and remarks.
pub fn bench(report: &BenchReport) -> String {
    let mut page = opened("firsttouch bench", "firsttouch bench");
    if report.interrupted {
        page.push_str(&format!("<p><strong>{INTERRUPTED}</strong></p>\n"));
    }
    if !report.articles.is_empty() {
        page.push_str(&format!("<p>{}</p>\n", written(&articles::here_words(report))));
    }
    page.push_str("</header>\n<main>\n");
    for article in &report.articles {
        section(&mut page, &escape(&article.title), &of_article(article, report));
    }
    for case in &report.cases {
        section(&mut page, &escape(&case.name), &of_case(case, report.articles.is_empty()));
    }
    section_of(&mut page, "Machine", machine::sheet(&report.machine));
    closed(&mut page, &json::bench_block(report));
    page
}

/// `alone`: no article has its figures over threads.
fn of_case(case: &CaseReport, alone: bool) -> String {
    let mut content = format!("<p>{}</p>\n", written(&about(case)));
    for (index, sheet) in sheets(case).iter().enumerate() {
        let caption = sheet.caption.as_ref().map_or(String::new(), written);
        content.push_str(&format!("<h3>{caption}</h3>\n{}", table(sheet)));
        let session = case.comparisons.get(index).map(|comparison| &comparison.session);
        for plot in session
            .into_iter()
            .flat_map(|session| [plots::ratios(session), plots::threads(session).filter(|_| alone)])
            .flatten()
        {
            figure(&mut content, &plot);
        }
    }
    let remarks = list(&remarks(case));
    if !remarks.is_empty() {
        content.push_str(&format!("<h3>Remarks</h3>\n{remarks}"));
    }
    content
}

/// The tables of an article, each with what was made here, and a figure of both.
fn of_article(article: &ArticleReport, report: &BenchReport) -> String {
    let mut content = format!("<p>{}</p>\n", written(&articles::by(article)));
    for shown in &article.tables {
        content.push_str(&format!("<h3>{}</h3>\n", written(&articles::caption(shown))));
        if let Some(sheet) = articles::sheet(shown, report) {
            content.push_str(&table(&sheet));
        }
        if let Some(plot) = plots::article(shown) {
            figure(&mut content, &plot);
        }
        let case = articles::case_of(shown, report);
        let sessions = case.into_iter().flat_map(|case| &case.comparisons);
        for plot in sessions.filter_map(|comparison| plots::threads(&comparison.session)) {
            figure(&mut content, &plot);
        }
        content.push_str(&list(&articles::remarks(shown, report)));
    }
    content
}

fn figure(content: &mut String, plot: &Plot) {
    let caption = escape(&plot.caption);
    content.push_str(&format!("<figure>\n{}<figcaption>{caption}</figcaption>\n</figure>\n", plot.svg));
}

fn list(items: &[Sentence]) -> String {
    let items: String = items.iter().map(|one| format!("<li>{}</li>\n", written(one))).collect();
    if items.is_empty() { items } else { format!("<ul>\n{items}</ul>\n") }
}
