//! Memory of a program under the agent that came to neither the agent nor the C library, and whose it is.

use firsttouch_placement::{Pages, Placement, ProcessTree, Reason, Receipt, Shortfall, format_bytes};
use firsttouch_process::allocator_of_module;
use firsttouch_watch::PeakPages;
use std::fs::{self, File};

/// What is less than this is no program's main memory.
pub(crate) const WORTH_BYTES: u64 = 64 << 20;

/// Says why most of a program's memory was not placed, where an allocator of its own has it: without this there would be no
/// shortfall, because the agent knows nothing of such memory.
///
/// `unreached_bytes` are of programs in which no agent was, which is told already.
pub(crate) fn tell(receipt: &mut Receipt, tree: &ProcessTree, pages: &PeakPages, unreached_bytes: u64) {
    let bytes = pages.unserved.bytes.saturating_sub(unreached_bytes);
    // What a program leaves to others, or to glibc because of a reason that is told, has its remedy already.
    let is_told = receipt.shortfalls.iter().any(|short| short.bytes >= bytes / 2 || leaves_all(short.reason));
    let is_most = |bytes| bytes >= WORTH_BYTES && bytes > tree.at_peak.of_no_file().bytes / 2;
    if !wants_huge(&receipt.asked) || !is_most(bytes) || is_told || tree.worker().is_some() {
        return;
    }
    let remedy = "--via supervise and `firsttouch attach` collapse it from outside";
    // What may be the C library's own, in blocks too small to be placed, is no module's.
    let foreign = Some(bytes.saturating_sub(pages.unserved.arena_like_bytes)).filter(|bytes| is_most(*bytes));
    let named = foreign.zip(pages.modules.iter().find_map(|module| allocator_of(module)));
    let Some((bytes, (function, module))) = named else {
        let size = format_bytes(bytes);
        receipt.notes.push(format!(
            "{size} on small pages came from no malloc that the agent serves: from an allocator of the program's own, from mmap, \
             or in blocks below --min-size: {remedy}"
        ));
        return;
    };
    let size = format_bytes(bytes);
    receipt.shortfalls.push(Shortfall::new(Reason::ForeignAllocator, bytes));
    receipt.notes.push(format!(
        "{size} on small pages came from no malloc that the agent serves, and {module} brings an allocator of its own \
         ({function}): {remedy}"
    ));
}

pub(crate) fn wants_huge(asked: &Placement) -> bool {
    !matches!(asked.pages, Pages::Plain | Pages::Base | Pages::Multi(_))
}

/// Reasons for which the agent places nothing more, and glibc maps large blocks as it would without us.
fn leaves_all(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::ForeignAllocator | Reason::AddressSpaceLimit | Reason::MappingChanged | Reason::Confined
    )
}

fn allocator_of(module: &str) -> Option<(String, &str)> {
    // Whatever has its name by now: opening a pipe would wait.
    if !fs::metadata(module).is_ok_and(|about| about.is_file()) {
        return None;
    }
    Some((allocator_of_module(&File::open(module).ok()?)?, module))
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_placement::{Record, Resident, ResidentMemory, Unserved};

    fn told(receipt: &mut Receipt, unserved_mib: u64, private_mib: u64) -> (usize, usize) {
        told_beside(receipt, unserved_mib, private_mib, 0)
    }

    fn told_beside(
        receipt: &mut Receipt,
        unserved_mib: u64,
        private_mib: u64,
        unreached_mib: u64,
    ) -> (usize, usize) {
        let private = Resident { bytes: private_mib << 20, huge_bytes: 0 };
        let at_peak = ResidentMemory { private, ..ResidentMemory::default() };
        let tree = ProcessTree { at_peak, ..ProcessTree::default() };
        // Neither is a library with an allocator: the one is no file, the other no library.
        let modules = ["/dev/null", "/etc/passwd"].map(str::to_owned).into();
        tell(
            receipt,
            &tree,
            &PeakPages {
                unserved: Unserved { bytes: unserved_mib << 20, ..Unserved::default() },
                modules,
                ..PeakPages::default()
            },
            unreached_mib << 20,
        );
        (receipt.shortfalls.len(), receipt.notes.len())
    }

    fn receipt(asked: &str, shortfalls: Vec<Shortfall>) -> Receipt {
        let record =
            Record::parse("firsttouch-record 1\nprogram /bin/y\nstate final\nplaced 0\nend\n").unwrap();
        let receipt = record.into_receipt(asked.parse().unwrap());
        Receipt { shortfalls, notes: Vec::new(), ..receipt }
    }

    #[test]
    fn what_is_most_of_a_program_is_told_unless_a_reason_is_told_already() {
        assert_eq!(told(&mut receipt("thp", Vec::new()), 100, 150), (0, 1));
        assert_eq!(told(&mut receipt("auto", Vec::new()), 64, 64), (0, 1));
        assert_eq!(told(&mut receipt("thp", Vec::new()), 63, 64), (0, 0), "little");
        assert_eq!(told(&mut receipt("thp", Vec::new()), 100, 250), (0, 0), "the smaller part");
        assert_eq!(told(&mut receipt("4k", Vec::new()), 100, 150), (0, 0), "small pages were asked for");
        // Of a child without an agent, and of the program itself beside one.
        assert_eq!(told_beside(&mut receipt("thp", Vec::new()), 100, 150, 90), (0, 0));
        assert_eq!(told_beside(&mut receipt("thp", Vec::new()), 300, 350, 90), (0, 1));
        let short = |reason, mib: u64| vec![Shortfall::new(reason, mib << 20)];
        assert_eq!(told(&mut receipt("thp", short(Reason::Confined, 0)), 100, 150), (1, 0));
        assert_eq!(told(&mut receipt("thp", short(Reason::NodeFull, 90)), 100, 150), (1, 0));
        assert_eq!(told(&mut receipt("thp", short(Reason::NoWholeBlock, 1)), 100, 150), (1, 1));
    }
}
