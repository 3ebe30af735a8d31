//! What a machine was set up for, or would be.

use super::page::Page;
use crate::style::Style;
use crate::visible::visible;
use firsttouch_documents::{SetupAction, SetupChange, SetupKind, SetupReport, SetupState};

/// Each change: the file, what is there and what it becomes, why, and the command that does the same; then what else is to know.
///
/// Lines that are to be copied are never broken.
pub fn setup(report: &SetupReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    let shown = |change: &&SetupChange| change.state != SetupState::Already;
    for change in report.changes.iter().filter(shown) {
        if !page.text.is_empty() {
            page.blank();
        }
        one(&mut page, change, report.action);
    }
    let already = report.changes.iter().filter(|change| !shown(change)).map(|change| change.path.clone());
    page.part("as asked already", already);
    page.part("to know", report.notes.iter().cloned());
    let planned = report.changes.iter().any(|change| change.state == SetupState::Planned);
    if planned && report.action == SetupAction::DryRun && report.journal.is_none() {
        page.section("nothing was changed: --apply makes these changes, --undo takes them back");
    }
    if let (SetupAction::Apply, Some(journal), Some(undo)) = (report.action, &report.journal, &report.undo) {
        page.blank();
        page.paragraph("", &format!("taken back by: {undo}   ({journal})"), None);
    }
    if !report.next.is_empty() {
        page.section("to type");
        report.next.iter().for_each(|command| page.line("  ", command));
    }
    page.text
}

fn one(page: &mut Page, change: &SetupChange, action: SetupAction) {
    page.heading(&visible(&change.path));
    let mut row = |name: &str, value: &str| page.paragraph(&format!("  {name:<9} "), value, None);
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
        page.line("  hint: ", &shortfall.remedy);
    }
    if action == SetupAction::DryRun && !change.command.is_empty() {
        for (index, line) in change.command.lines().enumerate() {
            page.line(if index == 0 { "  command   " } else { "" }, line);
        }
    }
}

/// A value on one line: of a text how long it is, because its lines stand in the command.
fn brief(value: Option<&str>, is_text: bool) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(text) if is_text => format!("a text of {} lines", text.lines().count()),
        Some(value) => value.to_owned(),
    }
}
