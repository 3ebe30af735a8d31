//! `explain`: who will override a placement, told before the program runs.

use crate::args::Explain;
use crate::output::{self, Outcome};
use crate::program::{self, Subject};
use crate::{environment, here, run};
use firsttouch_explain::{Evidence, Finding, Resolution, Wanted, Weight, explain};
use firsttouch_machine::Root;
use firsttouch_placement::{MemoryPolicy, Placement, SCHEMA_VERSION, ThreadPlacement};
use firsttouch_report::visible;
use serde::Serialize;

/// The document of `explain --json`.
#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    program: &'a [String],
    asked: &'a Placement,
    findings: &'a [Finding],
}

pub(crate) fn run(args: &Explain) -> Outcome {
    let asked = run::placement(&args.placement)?;
    let own = environment::own();
    let subject = Subject::find(&args.program, &own).map_err(program::not_runnable)?;
    let target = subject.target();
    let words = target.words.clone();
    let evidence = Evidence::collect(&Root::live(), wanted(&asked), target, own)?;
    let findings = explain(&evidence);
    output::data(&if args.json {
        let document =
            Document { schema_version: SCHEMA_VERSION, program: &words, asked: &asked, findings: &findings };
        serde_json::to_string_pretty(&document)? + "\n"
    } else {
        text(&findings, output::width())
    })?;
    Ok(0)
}

fn wanted(asked: &Placement) -> Wanted {
    Wanted {
        words: asked.arguments().join(" "),
        pages: asked.pages,
        via: asked.via,
        needs_agent: asked.needs_agent(),
        follow: asked.follow,
        memory: match (&asked.memory, &asked.near) {
            // Memory next to the device is preferred.
            (MemoryPolicy::None, near) => near.as_ref().map(|device| format!("near {device}")),
            (memory, _) => Some(memory.to_string()),
        },
        cpus: match (asked.cpus.is_none(), &asked.near) {
            (true, near) => near.as_ref().map(|device| format!("near {device}")),
            (false, _) => Some(asked.cpus.to_string()),
        },
        threads: (asked.threads != ThreadPlacement::None).then(|| asked.threads.to_string()),
        resolved: here::resolve(asked)
            .map(|resolved| Resolution { nodes: resolved.nodes, cpus: resolved.cpus })
            .map_err(|error| (error.to_string(), error.hint())),
    }
}

/// Where the words of a finding begin.
const INDENT: usize = 11;
/// Narrower than this, lines are not broken any further.
const NARROWEST: usize = 40;

/// The findings for people. Values of variables and names of files may hold anything, and stand in any part of a finding.
fn text(findings: &[Finding], width: usize) -> String {
    if findings.is_empty() {
        return "nothing here overrides what was asked\n".to_owned();
    }
    let room = width.max(NARROWEST) - INDENT;
    let mut text = String::new();
    for (index, finding) in findings.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let style = style(finding.weight);
        let mut lead = format!(
            "{}{:<width$}{}",
            style.render(),
            finding.weight.word(),
            style.render_reset(),
            width = INDENT
        );
        for line in output::wrap(&visible(&finding.what), room) {
            text.push_str(&format!("{lead}{line}\n"));
            lead = " ".repeat(INDENT);
        }
        for proof in &finding.evidence {
            text.push_str(&format!("{lead}{}: {}\n", visible(&proof.source), visible(&proof.text)));
        }
        for line in output::wrap(&visible(&finding.effect), room) {
            text.push_str(&format!("{lead}{line}\n"));
        }
        if let Some(mend) = &finding.mend {
            // Never broken: it is there to be copied.
            text.push_str(&format!("{lead}mend: {}\n", visible(mend)));
        }
    }
    text
}

fn style(weight: Weight) -> anstyle::Style {
    match weight {
        Weight::Overrides => anstyle::AnsiColor::Red.on_default().bold(),
        Weight::Weakens => anstyle::AnsiColor::Yellow.on_default(),
        Weight::Remark => anstyle::Style::new().dimmed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_explain::Proof;

    #[test]
    fn a_finding_prints_as_what_where_why_and_how() {
        let finding = Finding {
            id: "thread-runtime",
            weight: Weight::Overrides,
            what: "OMP_PROC_BIND makes the program's runtime bind its threads".to_owned(),
            evidence: vec![Proof {
                source: "environment".to_owned(),
                text: "OMP_PROC_BIND=a\u{1b}[2Jb".to_owned(),
            }],
            effect: "its word is the last".to_owned(),
            mend: Some("unset OMP_PROC_BIND".to_owned()),
        };
        let printed = anstream::adapter::strip_str(&text(&[finding], 50)).to_string();
        assert_eq!(
            printed,
            "overrides  OMP_PROC_BIND makes the program's\n           runtime bind its threads\n           \
             environment: OMP_PROC_BIND=a\\u{1b}[2Jb\n           its word is the last\n           \
             mend: unset OMP_PROC_BIND\n"
        );
        assert_eq!(text(&[], 80), "nothing here overrides what was asked\n");
    }
}
