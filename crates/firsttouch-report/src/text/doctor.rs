//! What is wrong with machines.

use super::explanation::{INDENT, tone};
use super::page::Page;
use crate::hosts::{
    alike, findings, headline, hosts_words, measured, missing, others_words, slow_words, unseen,
};
use crate::number::plural;
use crate::sheet::SheetRow;
use crate::style::Style;
use crate::visible::visible;
use firsttouch_documents::{DoctorHost, DoctorReport, Weight};

/// How the findings of one weight are introduced.
const GROUPS: [(Weight, &str); 3] = [
    (Weight::Overrides, "overrides placements"),
    (Weight::Weakens, "weakens them"),
    (Weight::Remark, "good to know"),
];

/// What is missing, what differs and who is slow, of several hosts; the findings by their weight, each once; and what was not looked at.
pub fn doctor(report: &DoctorReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    page.paragraph("", &headline(report).plain(), None);
    let several = report.compared.is_some();
    let missing = missing(report).into_iter().map(|(names, why)| format!("{names}: {why}"));
    page.part("no document", missing);
    if let Some(compared) = &report.compared {
        let differing = compared.differing.iter().map(|one| {
            let most = plural(one.hosts as usize, "host");
            format!("{}: {} ({most}); {}", one.fact, one.majority, others_words(one))
        });
        page.part("not the same on all hosts", differing);
        page.part(
            "slower than the others",
            compared.slow.iter().map(|one| format!("{}: {}", one.host, slow_words(one))),
        );
    }
    let findings = findings(report);
    for (weight, title) in GROUPS {
        let mut of_weight = findings.iter().filter(|shared| shared.finding.weight == weight).peekable();
        if of_weight.peek().is_none() {
            continue;
        }
        page.section(title);
        for shared in of_weight {
            page.blank();
            page.painted(tone(weight), &visible(&shared.finding.id));
            page.finding(shared.finding, "");
            if several {
                page.paragraph(
                    &" ".repeat(INDENT),
                    &format!("on {}", hosts_words(report, &shared.hosts)),
                    None,
                );
            }
        }
    }
    if let Some(sheet) = measured(report) {
        let row = |row: &SheetRow| match row.cells.as_slice() {
            [median, worst, best] => format!("{}: {median}, the median; {worst}, {best}", row.name.bare()),
            cells => format!("{}: {}", row.name.bare(), cells.join(", ")),
        };
        page.part("measured", sheet.rows.iter().map(row));
    }
    page.part(
        "the same on all hosts",
        alike(report).into_iter().map(|(word, text)| format!("{word}: {text}")),
    );
    let unseen = unseen(report).into_iter().map(|(why, topics, hosts)| {
        let on = if several { format!(" (on {})", hosts_words(report, &hosts)) } else { String::new() };
        format!("{}: {why}{on}", topics.join(", "))
    });
    page.part("not looked at", unseen);
    page.text
}

/// The words of findings, for who looks at the machine in general; nothing where there are none.
pub fn findings_in_brief(host: &DoctorHost, width: usize) -> String {
    if host.findings.is_empty() {
        return String::new();
    }
    let words: Vec<&str> = host.findings.iter().map(|finding| finding.id.as_str()).collect();
    let mut page = Page::new(width, Style::Plain);
    page.blank();
    page.heading("found by `firsttouch doctor`");
    page.paragraph("  ", &words.join(", "), None);
    page.text
}
