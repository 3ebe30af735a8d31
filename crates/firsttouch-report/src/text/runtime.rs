//! What the workers of a runtime did, in the terminal.

use super::page::Page;
use crate::number::{bytes, plural, seconds, significant};
use crate::style::{Style, Tone};
use firsttouch_documents::Account;

/// The steps together, and each balancing.
pub fn runtime(account: &Account, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    let steps =
        format!("{} by {}", plural(account.steps.len(), "step"), plural(account.cpus.len(), "worker"));
    let mean = account.mean_step_s(0).map_or(String::new(), |mean| format!(", {} each", seconds(mean)));
    page.paragraph("", &format!("{steps}{mean}"), Some(Tone::Strong));
    for balancing in &account.balancings {
        let words = format!(
            "{}: imbalance {}, then {}; {} moved, {} of state, in {}",
            balancing.strategy,
            significant(balancing.imbalance_before, 3),
            significant(balancing.imbalance_after, 3),
            plural(balancing.moved, "task"),
            bytes(balancing.bytes as f64),
            seconds(balancing.ended_s - balancing.begun_s),
        );
        page.paragraph(&format!("after step {}  ", balancing.after_step), &words, None);
    }
    page.text
}
