//! Cases as one HTML file with its document inside.

use super::machine;
use super::page::{closed, opened, section, section_of, written};
use super::sheet::table;
use crate::bench::{about, remarks, sheets};
use crate::escape::escape;
use crate::{json, plots};
use firsttouch_documents::{BenchReport, CaseReport};

/// A section for each case: its figures, how its configurations compare, what others published, and remarks.
pub fn bench(report: &BenchReport) -> String {
    let mut page = opened("firsttouch bench", "firsttouch bench");
    page.push_str("</header>\n<main>\n");
    for case in &report.cases {
        section(&mut page, &escape(&case.name), &of_case(case));
    }
    section_of(&mut page, "Machine", machine::sheet(&report.machine));
    closed(&mut page, &json::bench_block(report));
    page
}

fn of_case(case: &CaseReport) -> String {
    let mut content = format!("<p>{}</p>\n", written(&about(case)));
    for (index, sheet) in sheets(case).iter().enumerate() {
        let caption = sheet.caption.as_ref().map_or(String::new(), written);
        content.push_str(&format!("<h3>{caption}</h3>\n{}", table(sheet)));
        let session = case.comparisons.get(index).map(|comparison| &comparison.session);
        if let Some(plot) = session.and_then(plots::ratios) {
            let caption = escape(&plot.caption);
            content
                .push_str(&format!("<figure>\n{}<figcaption>{caption}</figcaption>\n</figure>\n", plot.svg));
        }
    }
    let remarks: String = remarks(case).iter().map(|one| format!("<li>{}</li>\n", written(one))).collect();
    if !remarks.is_empty() {
        content.push_str(&format!("<h3>Remarks</h3>\n<ul>\n{remarks}</ul>\n"));
    }
    content
}
