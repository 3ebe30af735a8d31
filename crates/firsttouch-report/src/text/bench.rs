//! Cases in the terminal.

use super::{NARROWEST, Page};
use crate::bench::{about, remarks, sheets};
use crate::sentence::Sentence;
use crate::sheet::{Sheet, SheetRow, column};
use crate::style::{Style, Tone};
use firsttouch_documents::{BenchReport, CaseList};

/// Each case with its figures, what others published, and remarks.
pub fn bench(report: &BenchReport, width: usize, style: Style) -> String {
    let mut page = Page { text: String::new(), width: width.max(NARROWEST), style };
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

/// The cases, what can be chosen of each, and its variants.
pub fn case_list(list: &CaseList, width: usize, style: Style) -> String {
    let mut page = Page { text: String::new(), width: width.max(NARROWEST), style };
    for case in &list.cases {
        let limit = case.limit.as_ref().map_or(String::new(), |limit| format!(", bounded by the {limit}"));
        page.paragraph("", &format!("{}: {}", case.name, case.summary), Some(Tone::Strong));
        page.paragraph("  ", &format!("{}; in {}{limit}", case.source, case.unit), None);
        page.blank();
        if !case.parameters.is_empty() {
            let rows = case.parameters.iter().map(|it| {
                row(
                    &it.name,
                    vec![it.default.clone(), it.quick.clone(), format!("{}: {}", it.meaning, it.expected)],
                )
            });
            let columns = vec![
                column("", "parameter", false),
                column("value", "default", true),
                column("value", "quick", true),
                column("meaning", "what it is", false),
            ];
            page.sheet(&Sheet { caption: None, columns, rows: rows.collect() });
        }
        let rows = case.variants.iter().map(|variant| {
            let missing = variant.missing.as_ref().map_or(String::new(), |missing| format!(" ({missing})"));
            row(&variant.name, vec![format!("{}{missing}", variant.meaning)])
        });
        let columns = vec![column("", "variant", false), column("meaning", "what it is", false)];
        page.sheet(&Sheet { caption: None, columns, rows: rows.collect() });
    }
    page.text
}

fn row(name: &str, cells: Vec<String>) -> SheetRow {
    SheetRow { name: name.to_owned(), cells, verdict: None, is_baseline: true }
}
