//! What a machine was set up for, or would be.

use crate::style::{Style, Tone};
use crate::visible::{visible, wrapped};
use firsttouch_documents::{SetupAction, SetupChange, SetupKind, SetupReport, SetupState};

/// Each change: the file, what is there and what it becomes, why, and the command that does the same; then what else is to know.
///
/// Lines that are to be copied are never broken.
pub fn setup(report: &SetupReport, width: usize, style: Style) -> String {
    let mut text = String::new();
    let shown = |change: &&SetupChange| change.state != SetupState::Already;
    for change in report.changes.iter().filter(shown) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&one(change, report.action, width, style));
    }
    let already: Vec<&str> =
        report.changes.iter().filter(|change| !shown(change)).map(|change| change.path.as_str()).collect();
    if !already.is_empty() {
        list(&mut text, "as asked already", &already, width);
    }
    let notes: Vec<&str> = report.notes.iter().map(String::as_str).collect();
    list(&mut text, "to know", &notes, width);
    let planned = report.changes.iter().any(|change| change.state == SetupState::Planned);
    if planned && report.action == SetupAction::DryRun && report.journal.is_none() {
        text.push_str("\nnothing was changed: --apply makes these changes, --undo takes them back\n");
    }
    if let (SetupAction::Apply, Some(journal), Some(undo)) = (report.action, &report.journal, &report.undo) {
        text.push_str(&format!(
            "\n{}\n",
            wrapped(&visible(&format!("taken back by: {undo}   ({journal})")), width).join("\n")
        ));
    }
    if !report.next.is_empty() {
        text.push_str("\nto type\n");
        for command in &report.next {
            text.push_str(&format!("  {}\n", visible(command)));
        }
    }
    text
}

fn list(text: &mut String, title: &str, all: &[&str], width: usize) {
    if all.is_empty() {
        return;
    }
    text.push_str(&format!("{}{title}\n", if text.is_empty() { "" } else { "\n" }));
    for one in all {
        for (index, line) in wrapped(&visible(one), width.saturating_sub(4)).iter().enumerate() {
            text.push_str(&format!("{}{line}\n", if index == 0 { "  " } else { "    " }));
        }
    }
}

fn one(change: &SetupChange, action: SetupAction, width: usize, style: Style) -> String {
    let mut text = format!("{}\n", style.paint(Tone::Strong, &visible(&change.path)));
    let mut row = |name: &str, value: &str| {
        for (index, line) in wrapped(&visible(value), width.saturating_sub(12)).iter().enumerate() {
            text.push_str(&format!("  {:<9} {line}\n", if index == 0 { name } else { "" }));
        }
    };
    let is_text = change.what == SetupKind::File;
    if change.what != SetupKind::Once {
        row(
            if action == SetupAction::DryRun { "now" } else { "before" },
            &brief(change.before.as_deref(), is_text),
        );
        row(
            if action == SetupAction::DryRun { "becomes" } else { "asked" },
            &brief(change.asked.as_deref(), is_text),
        );
        match change.state {
            SetupState::Planned | SetupState::Already => {}
            SetupState::Obtained => row("obtained", &brief(change.obtained.as_deref(), is_text)),
            SetupState::Short => {
                row("obtained", &format!("{}, and not all", brief(change.obtained.as_deref(), is_text)))
            }
            SetupState::Left => row("left", "it is not what was put there; --force restores it all the same"),
        }
    }
    row("why", &change.why);
    if let Some(shortfall) = &change.shortfall {
        row("short", shortfall.reason.word());
        text.push_str(&format!("  hint: {}\n", visible(&shortfall.remedy)));
    }
    if action == SetupAction::DryRun && !change.command.is_empty() {
        for (index, line) in change.command.lines().enumerate() {
            text.push_str(&format!("{}{}\n", if index == 0 { "  command   " } else { "" }, visible(line)));
        }
    }
    text
}

/// A value on one line: of a text how long it is, because its lines stand in the command.
fn brief(value: Option<&str>, is_text: bool) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(text) if is_text => format!("a text of {} lines", text.lines().count()),
        Some(value) => value.to_owned(),
    }
}
