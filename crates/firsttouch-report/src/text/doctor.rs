//! What is wrong with machines.

use super::explanation::finding;
use crate::style::Style;
use crate::visible::{visible, wrapped};
use firsttouch_documents::{DoctorHost, DoctorReport, Quantity, Weight};

/// How the findings of one weight are introduced.
const GROUPS: [(Weight, &str); 3] = [
    (Weight::Overrides, "overrides placements"),
    (Weight::Weakens, "weakens them"),
    (Weight::Remark, "good to know"),
];

/// The findings about each machine, grouped by their weight, and what was not looked at.
pub fn doctor(report: &DoctorReport, width: usize, style: Style) -> String {
    let profile = report.profile.as_deref().map(|name| format!(", as the profile {name} weighs it"));
    let profile = profile.unwrap_or_default();
    let hosts = report.hosts.iter().map(|one| host(one, &profile, width, style));
    hosts.collect::<Vec<_>>().join("\n")
}

/// The words of findings, for who looks at the machine in general; nothing where there are none.
pub fn findings_in_brief(host: &DoctorHost, width: usize) -> String {
    if host.findings.is_empty() {
        return String::new();
    }
    let words: Vec<&str> = host.findings.iter().map(|finding| finding.id.as_str()).collect();
    let lines = wrapped(&visible(&words.join(", ")), width.saturating_sub(2));
    format!("\nfound by `firsttouch doctor`\n  {}\n", lines.join("\n  "))
}

fn host(host: &DoctorHost, profile: &str, width: usize, style: Style) -> String {
    let found = match host.findings.len() {
        // A word on what could not be looked at follows: nothing more may be claimed.
        0 => "no findings".to_owned(),
        1 => "1 finding".to_owned(),
        several => format!("{several} findings"),
    };
    let head = format!("{}: {found}{profile}", host.name);
    let mut text = wrapped(&visible(&head), width).join("\n") + "\n";
    for (weight, title) in GROUPS {
        let mut of_weight = host.findings.iter().filter(|finding| finding.weight == weight).peekable();
        if of_weight.peek().is_none() {
            continue;
        }
        text.push_str(&format!("\n{title}\n"));
        for one in of_weight {
            text.push_str(&format!(
                "\n{}\n",
                style.paint(super::explanation::tone(weight), &visible(&one.id))
            ));
            text.push_str(&finding(one, "", width, style));
        }
    }
    if !host.measured.is_empty() {
        text.push_str("\nmeasured\n");
        for (word, value) in &host.measured {
            text.push_str(&format!("  {}\n", measured(word, *value)));
        }
    }
    if !host.unseen.is_empty() {
        text.push_str("\nnot looked at\n");
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for one in &host.unseen {
            match reasons.iter_mut().find(|(why, _)| *why == one.why) {
                Some((_, topics)) => topics.push(&one.topic),
                None => reasons.push((&one.why, vec![&one.topic])),
            }
        }
        for (why, topics) in reasons {
            let line = format!("{}: {why}", topics.join(", "));
            for (index, line) in wrapped(&visible(&line), width.saturating_sub(4)).iter().enumerate() {
                text.push_str(if index == 0 { "  " } else { "    " });
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

fn measured(word: &str, value: u64) -> String {
    match Quantity::of(word) {
        Some((quantity, None)) => format!("{}: {}", quantity.what, quantity.format(value)),
        Some((quantity, Some(node))) => {
            format!("{} of node {node}: {}", quantity.what, quantity.format(value))
        }
        None => format!("{}: {value}", visible(word)),
    }
}
