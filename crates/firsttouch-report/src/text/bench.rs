//! Cases in the terminal.

use super::page::Page;
use crate::articles;
use crate::bench::{INTERRUPTED, about, remarks, sheets};
use crate::sentence::Sentence;
use crate::style::{Style, Tone};
use firsttouch_documents::{BenchReport, CaseList};

/// Each case with its figures, what others published, and remarks; of articles the tables that the cases repeat.
pub fn bench(report: &BenchReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    if report.interrupted {
        page.paragraph("", INTERRUPTED, Some(Tone::Strong));
        page.blank();
    }
    if !report.articles.is_empty() {
        of_articles(&mut page, report);
        return page.text;
    }
    for case in &report.cases {
        page.paragraph("", &format!("{}: {}", case.name, about(case).plain()), Some(Tone::Strong));
        page.blank();
        for sheet in sheets(case) {
            page.sheet(&sheet);
        }
        let remarks: Vec<String> = remarks(case).iter().map(Sentence::plain).collect();
        page.list("remarks", &remarks, "-", None);
    }
    page.text
}

fn of_articles(page: &mut Page, report: &BenchReport) {
    page.paragraph("", &articles::here_words(report).plain(), None);
    page.blank();
    for article in &report.articles {
        page.paragraph("", &article.title, Some(Tone::Strong));
        page.paragraph("", &articles::by(article).plain(), Some(Tone::Faint));
        page.blank();
        for table in &article.tables {
            page.paragraph("", &articles::caption(table).plain(), Some(Tone::Strong));
            if let Some(sheet) = articles::sheet(table, report) {
                page.sheet(&sheet);
            }
            for remark in articles::remarks(table, report) {
                page.paragraph("  - ", &remark.plain(), None);
            }
            page.blank();
        }
    }
    let lacking: Vec<String> = articles::lacking(report).iter().map(Sentence::plain).collect();
    page.list("what was lacking", &lacking, "-", None);
}

/// The cases, what can be chosen of each, and its variants.
pub fn case_list(list: &CaseList, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    for case in &list.cases {
        let limit = case.limit.as_ref().map_or(String::new(), |limit| format!(", bounded by the {limit}"));
        page.paragraph("", &format!("{}: {}", case.name, case.summary), Some(Tone::Strong));
        page.paragraph("  ", &format!("{}; in {}{limit}", case.source, case.unit), None);
        page.blank();
        for parameter in &case.parameters {
            let quick = match parameter.quick == parameter.default {
                true => String::new(),
                false => format!(", with --quick {}", parameter.quick),
            };
            let words = format!("{}: {}{quick}", parameter.meaning, parameter.expected);
            page.paragraph(&format!("  --set {}={}  ", parameter.name, parameter.default), &words, None);
        }
        page.blank();
        for variant in &case.variants {
            let missing = variant.missing.as_ref().map_or(String::new(), |missing| format!(" ({missing})"));
            let whose = if variant.alternative { "alternative: " } else { "" };
            page.paragraph(
                &format!("  {}  ", variant.name),
                &format!("{whose}{}{missing}", variant.meaning),
                None,
            );
        }
        page.blank();
    }
    page.text
}
