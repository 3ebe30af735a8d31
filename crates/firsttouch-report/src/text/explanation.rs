//! Who will override a placement, told before the program runs.

use super::page::Page;
use crate::style::{Style, Tone};
use firsttouch_documents::{Finding, Weight};

/// What can be said before the program runs: which libraries it loads then, with allocators of their own, nobody knows.
const NOTHING: &str =
    "nothing here overrides what was asked; what the program loads while it runs, a receipt tells\n";

/// Where the words of a finding begin.
pub(super) const INDENT: usize = 11;

/// The findings of `explain`. Values of variables and names of files may hold anything, and stand in any part of a finding.
pub fn explanation(findings: &[Finding], width: usize, style: Style) -> String {
    if findings.is_empty() {
        return NOTHING.to_owned();
    }
    let mut page = Page::new(width, style);
    for one in findings {
        if !page.text.is_empty() {
            page.blank();
        }
        page.finding(one, one.weight.word());
    }
    page.text
}

impl Page {
    /// One finding behind its lead: what it is, where that is written, what it does, and what mends it for now and for good.
    pub(super) fn finding(&mut self, finding: &Finding, lead: &str) {
        let indent = " ".repeat(INDENT);
        let lead = self.style.paint(tone(finding.weight), &format!("{lead:<INDENT$}"));
        self.hanging(&lead, INDENT, &finding.what, None);
        for proof in &finding.evidence {
            self.paragraph(&indent, &format!("{}: {}", proof.source, proof.text), None);
        }
        self.paragraph(&indent, &finding.effect, None);
        for (word, command) in [("hint", &finding.remedy), ("keep", &finding.keep)] {
            if let Some(command) = command {
                self.line(&format!("{indent}{word}: "), command);
            }
        }
    }
}

pub(super) fn tone(weight: Weight) -> Tone {
    match weight {
        Weight::Overrides => Tone::Bad,
        Weight::Weakens => Tone::Caution,
        Weight::Remark => Tone::Faint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_documents::Proof;

    #[test]
    fn a_finding_prints_as_what_where_why_and_how() {
        let finding = Finding {
            id: "thread-runtime".to_owned(),
            weight: Weight::Overrides,
            what: "OMP_PROC_BIND makes the program's runtime bind its threads".to_owned(),
            evidence: vec![Proof {
                source: "environment".to_owned(),
                text: "OMP_PROC_BIND=a\u{1b}[2Jb".to_owned(),
            }],
            effect: "its word is the last".to_owned(),
            remedy: Some("unset OMP_PROC_BIND".to_owned()),
            keep: Some("edit ~/.profile".to_owned()),
        };
        let printed = explanation(&[finding], 50, Style::Plain);
        assert_eq!(
            printed,
            "overrides  OMP_PROC_BIND makes the program's\n           runtime bind its threads\n           \
             environment: OMP_PROC_BIND=a\\u{1b}[2Jb\n           its word is the last\n           \
             hint: unset OMP_PROC_BIND\n           keep: edit ~/.profile\n"
        );
        assert_eq!(explanation(&[], 80, Style::Plain), NOTHING);
    }
}
