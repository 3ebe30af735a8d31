//! The table of APIC ids: each CPU's, and what the bits of it say.

use crate::text::page::Page;
use firsttouch_linux::cpulist::format_list;
use firsttouch_machine::{ApicIds, Machine};

/// Prints the ids where the processor was asked for them.
pub(super) fn section(page: &mut Page, machine: &Machine) {
    let Some(ids) = &machine.apic else { return };
    page.section("apic ids");
    page.row("told by", &format!("CPUID leaf {:#x}", ids.leaf));
    let mut titles = ["cpu", "id"].map(str::to_owned).to_vec();
    titles.extend(ids.levels.iter().rev().map(|level| level.name.clone()));
    if !ids.levels.is_empty() {
        titles.insert(2, "package".to_owned());
    }
    let mut rows = Vec::new();
    for cpu in &machine.cpus {
        let Some(id) = cpu.apic_id else { continue };
        let mut row = vec![cpu.id.to_string(), format!("{id:#x}")];
        row.extend(places(ids, id).iter().map(u32::to_string));
        rows.push(row);
    }
    page.columns(titles, &rows);
    for group in ids.unanswered.chunk_by(|a, b| a.answer == b.answer) {
        let cpus: Vec<u32> = group.iter().map(|unanswered| unanswered.cpu).collect();
        page.row("not asked", &format!("cpus {}: {}", format_list(&cpus), group[0].answer));
    }
}

/// The number of the package, and within each step that of the next smaller thing.
fn places(ids: &ApicIds, id: u32) -> Vec<u32> {
    let mut below = 0;
    let mut places = Vec::new();
    for level in &ids.levels {
        let bits = level.shift.saturating_sub(below).min(31);
        places.push(id >> below & ((1 << bits) - 1));
        below = level.shift.min(31);
    }
    if !ids.levels.is_empty() {
        places.push(id >> below);
    }
    places.reverse();
    places
}

#[cfg(test)]
mod tests {
    use super::places;
    use firsttouch_machine::{ApicIds, ApicStep};

    #[test]
    fn the_bits_of_an_id_are_its_place() {
        let step = |name: &str, shift| ApicStep { name: name.to_owned(), shift };
        let ids =
            ApicIds { leaf: 31, levels: vec![step("thread", 1), step("core", 6)], unanswered: Vec::new() };
        assert_eq!(places(&ids, 0b1000_1011), [2, 5, 1]);
        let old = ApicIds { leaf: 1, levels: Vec::new(), unanswered: Vec::new() };
        assert_eq!(places(&old, 7), Vec::<u32>::new());
    }
}
