//! Cases in the terminal.

use super::{NARROWEST, Page};
use crate::bench::{about, remarks, sheets};
use crate::sentence::Sentence;
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
