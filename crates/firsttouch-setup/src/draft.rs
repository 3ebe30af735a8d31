//! A plan in the making: what is changed, what is there now, what it becomes, why, and the command that does the same.

use crate::lines::Lines;
use crate::{Asked, SetupError, Site};
use firsttouch_documents::{SetupChange, SetupKind, SetupReport, SetupState};
use firsttouch_machine::Machine;

/// A plan in the making.
pub(crate) struct Draft<'a> {
    pub(crate) site: &'a Site,
    pub(crate) machine: &'a Machine,
    pub(crate) asked: &'a Asked,
    pub(crate) report: SetupReport,
}

impl Draft<'_> {
    /// A value for a setting, which has to be there.
    pub(crate) fn set(&mut self, path: &str, value: &str, why: &str) -> Result<(), SetupError> {
        let before = self.site.value(SetupKind::Setting, path)?;
        let change = change(self.site, SetupKind::Setting, path, before, Some(value.to_owned()));
        self.report.changes.push(SetupChange { why: why.to_owned(), ..change });
        Ok(())
    }

    /// Something that is done once, where the machine has it.
    pub(crate) fn once(&mut self, path: &str, value: &str, why: &str) {
        if self.site.has(path) {
            let change = change(self.site, SetupKind::Once, path, None, Some(value.to_owned()));
            self.report.changes.push(SetupChange { why: why.to_owned(), ..change });
        }
    }

    /// A file of its own that holds these lines; what else is in it stays.
    pub(crate) fn file(&mut self, file: &Lines<'_>, why: &str) -> Result<(), SetupError> {
        self.folder_of(file.path)?;
        let before = self.site.value(SetupKind::File, file.path)?;
        let text = file.merged(before.as_deref());
        let change = change(self.site, SetupKind::File, file.path, before, Some(text));
        self.report.changes.push(SetupChange { why: why.to_owned(), ..change });
        Ok(())
    }

    /// The folders that a file needs.
    pub(crate) fn folder_of(&mut self, path: &str) -> Result<(), SetupError> {
        let Some((folder, _)) = path.rsplit_once('/') else { return Ok(()) };
        let planned = self.report.changes.iter().any(|change| change.path == folder);
        if folder.is_empty() || planned || self.site.value(SetupKind::Folder, folder)?.is_some() {
            return Ok(());
        }
        self.folder_of(folder)?;
        let value = Some(crate::site::FOLDER.to_owned());
        let change = change(self.site, SetupKind::Folder, folder, None, value);
        self.report.changes.push(SetupChange { why: "for the file in it".to_owned(), ..change });
        Ok(())
    }
}

/// A change with the command that does the same, planned where there is something to do.
pub(crate) fn change(
    site: &Site,
    kind: SetupKind,
    path: &str,
    before: Option<String>,
    asked: Option<String>,
) -> SetupChange {
    let state = if before == asked { SetupState::Already } else { SetupState::Planned };
    let command = command(kind, &site.disk(path).to_string_lossy(), asked.as_deref());
    SetupChange {
        what: kind,
        path: path.to_owned(),
        before,
        asked,
        obtained: None,
        state,
        shortfall: None,
        why: String::new(),
        command,
        start_ticks: None,
    }
}

fn command(kind: SetupKind, path: &str, value: Option<&str>) -> String {
    match (kind, value) {
        (SetupKind::Setting | SetupKind::Once, Some(value)) => format!("echo {value} | sudo tee {path}"),
        (SetupKind::Setting | SetupKind::Once | SetupKind::Limit, None) => String::new(),
        (SetupKind::File, Some(text)) => format!("sudo tee {path} <<'END'\n{text}END"),
        (SetupKind::Link, Some(target)) => format!("sudo ln -sfn {target} {path}"),
        (SetupKind::File | SetupKind::Link, None) => format!("sudo rm {path}"),
        (SetupKind::Folder, Some(_)) => format!("sudo mkdir {path}"),
        (SetupKind::Folder, None) => format!("sudo rmdir {path}"),
        (SetupKind::Limit, Some(value)) => {
            let (file, word) = path.split_once('#').unwrap_or((path, ""));
            format!("sudo prlimit --pid {} --{word}={value}", file.split('/').nth(2).unwrap_or_default())
        }
    }
}
