//! Transparent huge pages: who gets them, what a fault does for one, and the settings of each size.

use crate::SetupError;
use crate::asked::{key_value, page_size};
use crate::draft::Draft;
use crate::texts;
use std::fs;

const THP: &str = "/sys/kernel/mm/transparent_hugepage";
/// The words besides sizes, their files, and what they are good for.
const SETTINGS: [(&str, &str, &str); 4] = [
    ("thp", "enabled", "which memory gets transparent huge pages: all, what asks for them, none"),
    ("thp-defrag", "defrag", "what a page fault does when no huge page is free"),
    ("shmem-huge", "shmem_enabled", "which shared memory gets transparent huge pages"),
    ("khugepaged", "khugepaged/defrag", "whether huge pages are made of small ones later"),
];

pub(crate) fn plan(plan: &mut Draft<'_>, words: &[String]) -> Result<(), SetupError> {
    let usage = "firsttouch setup thp always|madvise|never [thp-defrag=WORD] [shmem-huge=WORD] [khugepaged=on|off] [64k=WORD]";
    if plan.machine.thp_mode().is_none() {
        let (what, hint) = match plan.machine.lacks_sys() {
            true => (
                "/sys, which tells of transparent huge pages, is not mounted",
                "sudo mount -t sysfs none /sys",
            ),
            false => ("the kernel was built without transparent huge pages", "firsttouch status"),
        };
        return Err(SetupError::words(what, hint));
    }
    if words.is_empty() {
        return Err(SetupError::words("nothing is asked for", usage));
    }
    let mut settings = Vec::new();
    for word in words {
        let (key, value) = match key_value(word) {
            (word, None) => ("thp", word),
            (key, Some(value)) => (key, value),
        };
        let known = SETTINGS.iter().find(|(name, ..)| *name == key);
        let (file, why) = match (known, page_size(key)) {
            (Some((_, file, why)), _) => (format!("{THP}/{file}"), *why),
            (None, Some(bytes)) => {
                let file = format!("{THP}/hugepages-{}kB/enabled", bytes >> 10);
                (file, "which memory gets transparent huge pages of this size")
            }
            (None, None) => {
                return Err(SetupError::words(
                    format!("`{word}` is no setting of transparent huge pages"),
                    usage,
                ));
            }
        };
        let value = match (key, value) {
            ("khugepaged", "on") => "1",
            ("khugepaged", "off") => "0",
            _ => value,
        };
        possible(plan, word, &file, value)?;
        plan.set(&file, value, why)?;
        settings.push((file, value.to_owned()));
    }
    if plan.asked.persist {
        texts::keep_settings(plan, &settings)?;
    }
    Ok(())
}

/// Whether the kernel has such a setting, and such a word for it.
fn possible(plan: &Draft<'_>, word: &str, file: &str, value: &str) -> Result<(), SetupError> {
    let text = fs::read_to_string(plan.site.disk(file)).unwrap_or_default();
    if text.is_empty() {
        let what = format!("this kernel has no {file}, which `{word}` would set");
        return Err(SetupError::words(
            what,
            "sizes of their own need Linux 6.8; `firsttouch status` shows those there are",
        ));
    }
    let all = text.replace(['[', ']'], "");
    let mut words: Vec<&str> = all.split_whitespace().collect();
    if words.len() < 2 {
        words = vec!["0", "1"];
    }
    if words.contains(&value) {
        return Ok(());
    }
    Err(SetupError::words(
        format!("`{word}`: the kernel knows no `{value}` there"),
        format!("one of: {}", words.join(", ")),
    ))
}
