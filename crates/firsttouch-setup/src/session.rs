//! Changes that are made, read back, and taken back.

use crate::history::{SetupHistory, SetupJournal, journal_path};
use crate::{SetupError, Site, Topic};
use firsttouch_documents::{SetupAction, SetupChange, SetupEntry, SetupKind, SetupReport, SetupState};
use firsttouch_placement::{Reason, Shortfall};
use std::sync::atomic::{AtomicBool, Ordering};

/// Which values, of those that are there now, are taken for what setup put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ours {
    /// What was obtained.
    Obtained,
    /// And where a count of pages was on the way to what it was given when its session was cut off or failed.
    OnTheWay,
    /// Any.
    All,
}

/// One who changes a machine. While there is one, there is no other.
#[derive(Debug)]
pub struct Session<'a> {
    site: &'a Site,
    journal: SetupJournal,
    /// When it began (RFC 3339).
    began: String,
    mended: Vec<SetupChange>,
}

impl<'a> Session<'a> {
    /// Opens the journal, and takes back what a session that was cut off has left half done; `began` is now, by RFC 3339. A
    /// plan is made after that, of the machine as it is then.
    pub fn open(site: &'a Site, began: String) -> Result<Session<'a>, SetupError> {
        let mut session = Session { site, journal: SetupJournal::open(site)?, began, mended: Vec::new() };
        if session.journal.history.is_cut_off() {
            let lines = session.journal.history.left_open();
            session.mended = session.take_back(lines, Ours::OnTheWay)?;
            session.journal.write(SetupEntry::End)?;
        }
        Ok(session)
    }

    /// What was taken back when it was opened.
    pub fn mended(&self) -> &[SetupChange] {
        &self.mended
    }

    /// Ends without a change, where there is no plan.
    pub fn close(self) -> Result<(), SetupError> {
        self.end().map(|_| ())
    }

    /// Makes the changes of a plan, and reads back what was obtained. What fails takes back what this session has changed.
    pub fn apply(mut self, report: &mut SetupReport, stop: &AtomicBool) -> Result<(), SetupError> {
        report.action = SetupAction::Apply;
        if report.changes.iter().any(|change| change.state == SetupState::Planned) {
            self.begin(SetupAction::Apply, &report.asked)?;
            let begun = self.journal.history.entries.len();
            for change in &mut report.changes {
                let made = match stop.load(Ordering::Relaxed) {
                    true => Err(SetupError::Interrupted),
                    false => self.make(change),
                };
                if let Err(error) = made {
                    let mut lines = self.journal.history.open_changes();
                    lines.retain(|line| *line >= begun);
                    self.take_back(lines, Ours::OnTheWay)?;
                    self.end()?;
                    return Err(error);
                }
            }
        }
        let site = self.site;
        report.journal = self.end()?;
        report.undo = report.journal.as_ref().map(|_| undo_command(site));
        Ok(())
    }

    /// Restores what was there before the changes that were not taken back yet: those of a topic, or all. What somebody else
    /// or another topic has changed since is left as it is, unless `force`.
    pub fn undo(mut self, topic: Option<Topic>, force: bool) -> Result<SetupReport, SetupError> {
        let mut report = SetupReport { action: SetupAction::Undo, ..SetupReport::default() };
        let asked: Vec<String> = topic.iter().map(|topic| topic.word().to_owned()).collect();
        let (mut lines, mut held) = self.journal.history.open_of(topic);
        if force {
            lines.append(&mut held);
            lines.sort_unstable_by(|a, b| b.cmp(a));
        }
        report.changes = std::mem::take(&mut self.mended);
        if !lines.is_empty() {
            self.begin(SetupAction::Undo, &asked)?;
            let ours = if force { Ours::All } else { Ours::Obtained };
            report.changes.extend(self.take_back(lines, ours)?);
        }
        report.changes.extend(open(self.site, &self.journal.history, &held)?.into_iter().map(|change| {
            SetupChange {
                state: SetupState::Left,
                obtained: change.before.clone(),
                why: "another topic has changed it since: take that back first".to_owned(),
                ..change
            }
        }));
        report.asked = asked;
        if report.changes.is_empty() {
            report.notes.push("there is nothing to take back".to_owned());
        }
        for (folder, command) in
            [("/etc/systemd/", "sudo systemctl daemon-reload"), ("/etc/default/grub.d/", "sudo update-grub")]
        {
            if report.changes.iter().any(|change| change.path.starts_with(folder)) {
                report.next.push(command.to_owned());
            }
        }
        let site = self.site;
        report.journal = self.end()?;
        report.undo = report.journal.as_ref().map(|_| undo_command(site));
        Ok(report)
    }

    fn begin(&mut self, action: SetupAction, asked: &[String]) -> Result<(), SetupError> {
        let began = self.began.clone();
        self.journal.write(SetupEntry::Begin { action, began, asked: asked.to_vec() })
    }

    /// Where the journal is, if there is something to take back.
    fn end(mut self) -> Result<Option<String>, SetupError> {
        if self.journal.history.is_cut_off() {
            self.journal.write(SetupEntry::End)?;
        }
        let open = !self.journal.history.open_changes().is_empty();
        let path = self.site.disk(journal_path()).to_string_lossy().into_owned();
        self.journal.close();
        Ok(open.then_some(path))
    }

    fn make(&mut self, change: &mut SetupChange) -> Result<(), SetupError> {
        if change.state != SetupState::Planned {
            return Ok(());
        }
        let line = self.journal.history.entries.len();
        if change.what != SetupKind::Once {
            self.journal.write(SetupEntry::Change {
                what: change.what,
                path: change.path.clone(),
                before: change.before.clone(),
                given: change.asked.clone(),
                start_ticks: change.start_ticks,
            })?;
        }
        let given = self.site.set(change.what, &change.path, change.asked.as_deref());
        given.map_err(|source| SetupError::io("change", &change.path, source))?;
        change.obtained = self.site.value(change.what, &change.path)?;
        if change.what == SetupKind::Once || change.obtained == change.asked {
            change.state = SetupState::Obtained;
        } else {
            change.state = SetupState::Short;
            change.shortfall = Some(self.shortfall(change));
            self.journal.write(SetupEntry::Obtained { line, value: change.obtained.clone() })?;
        }
        Ok(())
    }

    /// Takes back changes, newest first; a line that was taken back is noted.
    fn take_back(&mut self, lines: Vec<usize>, ours: Ours) -> Result<Vec<SetupChange>, SetupError> {
        let mut all = Vec::new();
        for line in lines {
            let SetupEntry::Change { what: kind, path, before, given, start_ticks } =
                self.journal.history.entries[line].clone()
            else {
                continue;
            };
            self.site.sweep(kind, &path);
            if start_ticks.is_some_and(|started| !self.site.runs(&path, started)) {
                // The process has ended, and its limits with it.
                self.journal.write(SetupEntry::Undone { line })?;
                continue;
            }
            let read = self.site.value(kind, &path);
            // What cannot be read, or restored, keeps none of the others from being restored.
            let odd = read.as_ref().err().map(ToString::to_string);
            let now = read.ok().flatten();
            let mut change = SetupChange {
                why: "it was so before".to_owned(),
                start_ticks,
                ..crate::draft::change(self.site, kind, &path, now.clone(), before.clone())
            };
            let is_left = |one: &SetupChange| matches!(one.state, SetupState::Left | SetupState::Short);
            let holds = |one: &SetupChange| one.path.starts_with(&format!("{path}/"));
            let full = kind == SetupKind::Folder && all.iter().any(|one| is_left(one) && holds(one));
            if let Some(odd) = odd.or(full.then(|| "it holds what was left".to_owned())) {
                change.state = SetupState::Left;
                change.why = odd;
                all.push(change);
                continue;
            }
            if now != before {
                let put = self.journal.history.obtained(line).unwrap_or(&given);
                let on_the_way = ours == Ours::OnTheWay && is_between(&path, &now, &before, &given);
                if ours != Ours::All && now != *put && !on_the_way {
                    change.state = SetupState::Left;
                    change.obtained = now;
                    all.push(change);
                    continue;
                }
                if let Err(refused) = self.site.set(kind, &path, before.as_deref()) {
                    change.why = format!("it was so before, and cannot be restored: {refused}");
                }
            }
            change.obtained = self.site.value(kind, &path).ok().flatten();
            change.state = SetupState::Obtained;
            if change.obtained != before && kind != SetupKind::Folder {
                change.state = SetupState::Short;
                change.shortfall = Some(self.shortfall(&change));
                self.journal.write(SetupEntry::Obtained { line, value: change.obtained.clone() })?;
                all.push(change);
                continue;
            }
            self.journal.write(SetupEntry::Undone { line })?;
            all.push(change);
        }
        Ok(all)
    }

    /// Why a setting is not what it was set to: of a pool by what memory there is, of others because something else decides.
    fn shortfall(&self, change: &SetupChange) -> Shortfall {
        let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<u64>().ok());
        let page_bytes = change.path.split_once("hugepages-").and_then(|(_, rest)| {
            rest.strip_suffix("/nr_hugepages")?.strip_suffix("kB")?.parse::<u64>().ok()
        });
        let (Some(page_bytes), Some(asked), Some(got)) =
            (page_bytes.map(|kib| kib << 10), number(&change.asked), number(&change.obtained))
        else {
            return Shortfall::new(Reason::PolicyOverridden, 0);
        };
        let bytes = asked.abs_diff(got).saturating_mul(page_bytes);
        if got > asked {
            return Shortfall {
                remedy: "these pages are in use: end the programs that use them, and try again".to_owned(),
                ..Shortfall::new(Reason::BusyPages, bytes)
            };
        }
        let node =
            change.path.split_once("/node/node").and_then(|(_, rest)| rest.split('/').next()?.parse().ok());
        let left = node.and_then(|node| crate::pages::node_available(self.site, node));
        match left {
            Some(left) if left < bytes => Shortfall::new(Reason::NodeFull, bytes),
            _ => Shortfall {
                remedy: format!(
                    "reserve them at boot: firsttouch setup boot {}=N --apply",
                    firsttouch_machine::page_word(page_bytes)
                ),
                ..Shortfall::new(Reason::NoContiguousMemory, bytes)
            },
        }
    }
}

/// Whether a count of pages is on the way from one to the other: the kernel reserves and frees them one by one.
fn is_between(path: &str, now: &Option<String>, before: &Option<String>, given: &Option<String>) -> bool {
    let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<u64>().ok());
    let (Some(now), Some(before), Some(given)) = (number(now), number(before), number(given)) else {
        return false;
    };
    path.ends_with("/nr_hugepages") && (before.min(given)..=before.max(given)).contains(&now)
}

/// What takes everything back: what is written below a folder is no business of root's.
fn undo_command(site: &Site) -> String {
    match site.root().is_live() {
        true => "sudo firsttouch setup --undo".to_owned(),
        false => format!("firsttouch setup --undo --root {}", site.root().path().display()),
    }
}

/// Changes of these lines, as they would be taken back.
fn open(site: &Site, history: &SetupHistory, lines: &[usize]) -> Result<Vec<SetupChange>, SetupError> {
    let mut changes = Vec::new();
    for line in lines {
        let SetupEntry::Change { what: kind, path, before, start_ticks, .. } = &history.entries[*line] else {
            continue;
        };
        // It has ended; another process may have its number.
        if start_ticks.is_some_and(|started| !site.runs(path, started)) {
            continue;
        }
        let now = site.value(*kind, path)?;
        changes.push(SetupChange {
            why: "it was so before".to_owned(),
            start_ticks: *start_ticks,
            ..crate::draft::change(site, *kind, path, now, before.clone())
        });
    }
    Ok(changes)
}

/// What can be taken back, of a topic or of all, newest first, as a report; nothing is changed.
pub fn listed(site: &Site, topic: Option<Topic>) -> Result<SetupReport, SetupError> {
    let history = SetupHistory::read(site)?;
    let mut report = SetupReport { action: SetupAction::DryRun, ..SetupReport::default() };
    report.changes = open(site, &history, &history.open_of(topic).0)?;
    if history.is_cut_off() {
        report.notes.push(
            "the last session was cut off; the next one, or `firsttouch setup --undo`, takes back what it left".to_owned(),
        );
    }
    if report.changes.is_empty() {
        report.notes.push("nothing was set up here, or all of it was taken back".to_owned());
    } else {
        report.undo = Some(undo_command(site));
        report.next.extend(report.undo.clone());
        report.journal = Some(site.disk(journal_path()).to_string_lossy().into_owned());
    }
    Ok(report)
}
