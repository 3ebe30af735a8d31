//! Receipts of runs: from the records of the agents, and from what was seen from outside.

use crate::visitor::{Seen, Visitor};
use crate::workshop::Workshop;
use crate::{unreached, unserved};
use firsttouch_placement::{
    MemoryPolicy, Obtained, Placement, ProcessMemory, ProcessTree, Reason, Receipt, Record, RecordError,
    Resident, Shortfall,
};
use firsttouch_process::{Ending, Environment};
use firsttouch_sorted::sort_by_key;
use rustix::fs::statvfs;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// Where the agents of one run leave their records. The folder vanishes with this value.
#[derive(Debug)]
pub(crate) struct RecordPlace {
    folder: Workshop,
}

/// The program's own record; those of the programs that it started end in the number of their process.
const NAME: &str = "record";

impl RecordPlace {
    pub(crate) fn new(environment: &Environment) -> io::Result<RecordPlace> {
        Ok(RecordPlace { folder: Workshop::new(environment)? })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    /// The own record of a program that ended so, or why there is none.
    fn own(&self, ending: Ending) -> Result<Record, String> {
        let text = std::fs::read_to_string(self.path())
            .map_err(|error| format!("the agent left no record ({error}): {}", missing(ending)))?;
        Record::parse(&text).map_err(|error| match error {
            RecordError::Header | RecordError::Truncated if self.is_full() => {
                format!("the agent's record is cut off: {} has no space left", self.folder.path().display())
            }
            error => format!("{error}: {}", missing(ending)),
        })
    }

    fn is_full(&self) -> bool {
        statvfs(self.folder.path()).is_ok_and(|file_system| file_system.f_bavail == 0)
    }

    /// The records of the programs that it started. What was cut off says nothing.
    fn others(&self) -> Vec<(u32, Record)> {
        let entries = std::fs::read_dir(self.folder.path()).into_iter().flatten().flatten();
        let mut records: Vec<(u32, Record)> = entries
            .filter_map(|entry| {
                let pid = entry.file_name().to_str()?.strip_prefix(NAME)?.strip_prefix('.')?.parse().ok()?;
                Some((pid, Record::parse(&std::fs::read_to_string(entry.path()).ok()?).ok()?))
            })
            .collect();
        sort_by_key(&mut records, |(pid, _)| *pid);
        records
    }
}

/// A run that ended.
#[derive(Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) asked: &'a Placement,
    /// The file whose code runs in the end, as far as its name tells.
    pub(crate) image: String,
    pub(crate) ending: Ending,
    pub(crate) records: &'a RecordPlace,
    /// The agent placed memory; otherwise it is taken for placed as a whole.
    pub(crate) by_agent: bool,
}

impl Ended<'_> {
    /// The receipt of a run that the means reached.
    pub(crate) fn receipt(self, visitor: Visitor) -> Receipt {
        let (seen, mut receipt) = self.begin(visitor);
        if self.by_agent {
            let own_numbers = seen.memory.as_ref().map_or(&[][..], |(_, pages)| &pages.own_numbers);
            self.add_records(&mut receipt, seen.pid, own_numbers);
            if let Some((tree, pages)) = seen.memory {
                let unreached_bytes = unreached::tell(&mut receipt, &tree, &pages.without_agent);
                unserved::tell(&mut receipt, &tree, &pages, unreached_bytes);
                self.add_nodes(&mut receipt, pages.bytes_by_node);
            }
        } else {
            self.add_outside(&mut receipt, seen);
            if let Ok(record) = self.records.own(self.ending) {
                receipt.obtained.get_or_insert_default().threads = record.obtained.threads;
            }
        }
        receipt
    }

    /// The receipt of a run that the means did not reach, and why; memory policy and CPUs reach every program.
    pub(crate) fn receipt_of_unreached(self, visitor: Visitor, reason: Reason) -> Receipt {
        let (seen, mut receipt) = self.begin(visitor);
        receipt.shortfalls.insert(0, Shortfall::new(reason, 0));
        let mut note = "the program ran as it is".to_owned();
        if self.asked.needs_resolving() {
            note.push_str(", with the memory policy and the CPUs that were asked");
            self.add_outside(&mut receipt, seen);
        }
        receipt.notes.push(note);
        receipt
    }

    /// What every receipt says.
    fn begin(&self, visitor: Visitor) -> (Seen, Receipt) {
        let mut seen = visitor.into_seen();
        let mut notes = Vec::new();
        if let Some(error) = &seen.blind {
            notes.push(format!("the memory of a process could not be looked at: {error}"));
        } else if seen.memory.is_none() {
            notes.push("the program ended before its memory could be looked at".to_owned());
        }
        let tree = seen.memory.as_ref().map(|(tree, _)| tree.clone());
        let tree = if self.by_agent { tree } else { tree.map(ProcessTree::without_agent) };
        if let Some(outlived) = tree.as_ref().map(|tree| tree.outlived).filter(|outlived| *outlived > 0) {
            notes.push(format!(
                "{outlived} of the processes went on when the program had ended: they are told as they were last seen"
            ));
        }
        let receipt = Receipt {
            program: self.image.clone(),
            asked: self.asked.clone(),
            obtained: None,
            cpus_obtained: seen.cpus.take(),
            tree,
            shortfalls: std::mem::take(&mut seen.shortfalls),
            via: self.asked.via,
            blocks: Vec::new(),
            complete: matches!(self.ending, Ending::Exited(_)),
            ending: Some(self.ending.to_string()),
            notes,
        };
        (seen, receipt)
    }

    /// Adds what the agents wrote down, each by the number under which its process knows itself; who was seen has another here where it
    /// is in a namespace of its own.
    fn add_records(&self, receipt: &mut Receipt, started: u32, own_numbers: &[(u32, u32)]) {
        let others = self.records.others();
        let mut all = Vec::with_capacity(1 + others.len());
        match self.records.own(self.ending) {
            Ok(record) => {
                if !record.complete {
                    receipt.notes.push(unfinished(self.ending).to_owned());
                }
                all.push((started, record));
            }
            Err(why) => receipt.notes.push(why),
        }
        all.extend(others);
        for (pid, record) in all.iter().filter(|(_, record)| record.placed().bytes > 0) {
            // Where nothing was seen the records alone tell of the tree.
            let seen = || ProcessTree { pid: started, ..ProcessTree::default() };
            correct(receipt.tree.get_or_insert_with(seen), number_here(*pid, own_numbers), record);
        }
        let count = all.len();
        let Some(mut sum) = all.into_iter().map(|(_, record)| record).reduce(|mut sum, record| {
            sum.add(record);
            sum
        }) else {
            receipt.obtained = receipt.tree.as_ref().and_then(|tree| seen_placed(tree.at_peak.placed));
            return;
        };
        if count > 1 {
            sum.notes.push(format!("placed memory is that of {count} programs, each at its own peak"));
        }
        let recorded = sum.into_receipt(self.asked.clone());
        receipt.program = recorded.program;
        receipt.obtained = recorded.obtained;
        // Where others cannot write (a sandbox whose files are read-only) nothing but the looks tells of their memory.
        if let Some(obtained) = receipt.obtained.as_mut().filter(|obtained| obtained.peak_bytes == 0)
            && let Some(seen) = receipt.tree.as_ref().and_then(|tree| seen_placed(tree.at_peak.placed))
        {
            obtained.placed_bytes = seen.placed_bytes;
            obtained.peak_bytes = seen.peak_bytes;
            obtained.bytes_by_page_size = seen.bytes_by_page_size;
            receipt.notes.push(
                "placed memory is what was seen from outside: those who placed it left no record".to_owned(),
            );
        }
        receipt.blocks = recorded.blocks;
        receipt.shortfalls.extend(recorded.shortfalls);
        receipt.notes.extend(recorded.notes);
    }

    /// A memory policy is for everything that the program touches: where the agent placed nothing, that is held against it.
    fn add_nodes(&self, receipt: &mut Receipt, by_node: Option<BTreeMap<u32, u64>>) {
        use MemoryPolicy::{Bind, Interleave, Prefer};
        if let Some(obtained) = receipt.obtained.as_mut().filter(|obtained| obtained.placed_bytes == 0)
            && matches!(self.asked.memory, Bind(_) | Prefer(_) | Interleave(_))
            && by_node.is_some()
        {
            obtained.bytes_by_node = by_node;
            let note = "nothing was placed: by node is what the program has of no file, read from outside at intervals";
            receipt.notes.push(note.to_owned());
        }
    }

    /// Without an agent in the program nobody knows which memory was placed by whose choice: it is taken for all of it.
    fn add_outside(&self, receipt: &mut Receipt, seen: Seen) {
        let Some((tree, pages)) = seen.memory else { return };
        let resident = tree.at_peak.of_no_file().bytes;
        receipt.obtained = Some(Obtained {
            placed_bytes: seen.eligible_bytes.unwrap_or(resident),
            peak_bytes: resident,
            bytes_by_page_size: pages.bytes_by_page_size,
            bytes_by_node: pages.bytes_by_node,
            ..Obtained::default()
        });
        receipt
            .notes
            .push("read from outside at intervals: the figures are of all memory of no file".to_owned());
    }
}

/// What of placed memory is known without a record: its huge pages are taken for those of 2 MiB.
fn seen_placed(placed: Resident) -> Option<Obtained> {
    let sizes = [(2 << 20, placed.huge_bytes), (4096, placed.bytes.saturating_sub(placed.huge_bytes))];
    (placed.bytes > 0).then(|| Obtained {
        placed_bytes: placed.bytes,
        peak_bytes: placed.bytes,
        bytes_by_page_size: sizes.into_iter().filter(|(_, bytes)| *bytes > 0).collect(),
        ..Obtained::default()
    })
}

fn unfinished(ending: Ending) -> &'static str {
    match ending {
        Ending::Exited(_) => {
            "the program left in a way that skips its end: the agent's figures are of the last peak that it saw"
        }
        Ending::Signaled(_) => "the program was killed: the agent's figures are of the last peak that it saw",
    }
}

fn missing(ending: Ending) -> &'static str {
    match ending {
        Ending::Exited(_) => {
            "the program left in a way that skips its end, changed its user, or became one that the agent does not reach"
        }
        Ending::Signaled(_) => {
            "the program was killed before there was a peak to record; what is said was seen from outside"
        }
    }
}

/// The number that a process has here which knows itself by that one.
fn number_here(own: u32, own_numbers: &[(u32, u32)]) -> u32 {
    let is_own_here = own_numbers.contains(&(own, own));
    let here = own_numbers.iter().find(|(number, _)| *number == own && !is_own_here);
    here.map_or(own, |(_, here)| *here)
}

/// An agent sees the peak of placed memory as it is; looks from outside may have missed it, or the whole process.
fn correct(tree: &mut ProcessTree, pid: u32, record: &Record) {
    let recorded = record.placed();
    let place = tree.processes.iter().position(|process| process.pid == pid);
    let process = match place {
        Some(place) => &mut tree.processes[place],
        None => {
            tree.processes.push(ProcessMemory {
                pid,
                parent: 0,
                program: record.program.clone(),
                peak_rss_bytes: None,
                cpu_ms: 0,
                memory: Default::default(),
            });
            tree.processes.last_mut().expect("just pushed")
        }
    };
    let seen = process.memory.placed;
    if recorded.bytes <= seen.bytes {
        return;
    }
    process.memory.placed = recorded;
    tree.at_peak.placed += Resident {
        bytes: recorded.bytes - seen.bytes,
        huge_bytes: recorded.huge_bytes.saturating_sub(seen.huge_bytes),
    };
    // What was on small pages at the look of all may be among what is on huge ones in the record.
    tree.at_peak.placed.huge_bytes = tree.at_peak.placed.huge_bytes.min(tree.at_peak.placed.bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_placement::ResidentMemory;

    fn receipt(place: &RecordPlace, ending: Ending) -> Receipt {
        let asked = Placement::default();
        let image = "/bin/x".to_owned();
        Ended { asked: &asked, image, ending, records: place, by_agent: true }.receipt(Visitor::default())
    }

    #[test]
    fn a_record_that_is_missing_or_cut_is_told() {
        let place = RecordPlace::new(&Environment::default()).unwrap();
        let receipt_of_killed = receipt(&place, Ending::Signaled(9));
        assert!(!receipt_of_killed.complete && receipt_of_killed.obtained.is_none());
        assert!(
            receipt_of_killed.notes[1].contains("killed before there was a peak"),
            "{receipt_of_killed:?}"
        );
        std::fs::write(place.path(), "firsttouch-record 1\nplaced 1\n").unwrap();
        let cut = receipt(&place, Ending::Exited(0));
        assert!(cut.complete && cut.notes[1].starts_with("the agent's record ends early"), "{cut:?}");
        std::fs::write(place.path(), "firsttouch-record 1\nprogram /bin/y\nstate peak\nplaced 1\nend\n")
            .unwrap();
        let early = receipt(&place, Ending::Exited(3));
        assert_eq!((early.program.as_str(), early.ending.as_deref()), ("/bin/y", Some("exit status 3")));
        assert!(early.notes.iter().any(|note| note.contains("skips its end")), "{early:?}");
    }

    #[test]
    fn what_looks_missed_the_records_tell() {
        let place = RecordPlace::new(&Environment::default()).unwrap();
        let text = "firsttouch-record 1\nprogram /bin/y\nstate final\nplaced 30000000\npage 2097152 20000000\npage 4096 10000000\nend\n";
        std::fs::write(place.path(), text).unwrap();
        std::fs::write(place.folder.path().join("record.7"), text).unwrap();
        std::fs::write(place.folder.path().join("record.8"), "firsttouch-record 1\n").unwrap();
        let (asked, ending) = (Placement::default(), Ending::Exited(0));
        let ended =
            Ended { asked: &asked, image: "/bin/x".to_owned(), ending, records: &place, by_agent: true };
        let (_, mut receipt) = ended.begin(Visitor::default());
        ended.add_records(&mut receipt, 6, &[(7, 4711)]);
        let tree = receipt.tree.unwrap();
        assert_eq!(tree.at_peak.placed, Resident { bytes: 60_000_000, huge_bytes: 40_000_000 });
        assert_eq!(tree.processes.iter().map(|process| process.pid).collect::<Vec<_>>(), [6, 4711]);
        assert_eq!((tree.pid, tree.worker()), (6, None), "the program did its work itself");
        assert_eq!(receipt.obtained.unwrap().placed_bytes, 60_000_000);
        assert!(receipt.notes.iter().any(|note| note.contains("of 2 programs")), "{:?}", receipt.notes);
    }

    #[test]
    fn a_process_is_found_by_the_number_that_it_has_here() {
        let own_numbers = [(2, 900), (2, 700), (6, 6), (7, 800), (6, 901)];
        assert_eq!([2, 6, 7, 9].map(|own| number_here(own, &own_numbers)), [900, 6, 800, 9]);
    }

    #[test]
    fn what_those_placed_who_left_no_record_was_seen() {
        let place = RecordPlace::new(&Environment::default()).unwrap();
        let told = |placed: u64| {
            let text = format!(
                "firsttouch-record 1\nprogram /bin/y\nstate final\nplaced {placed}\npeak {placed}\nend\n"
            );
            std::fs::write(place.path(), text).unwrap();
            let (asked, ending) = (Placement::default(), Ending::Exited(0));
            let ended =
                Ended { asked: &asked, image: "/bin/x".to_owned(), ending, records: &place, by_agent: true };
            let (_, mut receipt) = ended.begin(Visitor::default());
            let seen = Resident { bytes: 6 << 20, huge_bytes: 4 << 20 };
            let mut tree = ProcessTree::default();
            tree.at_peak.placed = seen;
            receipt.tree = Some(tree);
            ended.add_records(&mut receipt, 6, &[]);
            let is_told = receipt.notes.iter().any(|note| note.contains("left no record"));
            (receipt.obtained.unwrap().placed_bytes, is_told)
        };
        assert_eq!([told(0), told(4096)], [(6 << 20, true), (4096, false)]);
    }

    #[test]
    fn nodes_are_told_where_nothing_was_placed() {
        let place = RecordPlace::new(&Environment::default()).unwrap();
        let by_node = Some(BTreeMap::from([(0, 4096), (1, 8192)]));
        for (memory, placed, told) in [("bind=1", 0, true), ("none", 0, false), ("bind=1", 4096, false)] {
            let text = format!("firsttouch-record 1\nprogram /bin/y\nstate final\nplaced {placed}\nend\n");
            std::fs::write(place.path(), text).unwrap();
            let asked = Placement { memory: memory.parse().unwrap(), ..Placement::default() };
            let (image, ending) = ("/bin/x".to_owned(), Ending::Exited(0));
            let ended = Ended { asked: &asked, image, ending, records: &place, by_agent: true };
            let (_, mut receipt) = ended.begin(Visitor::default());
            ended.add_records(&mut receipt, 6, &[]);
            ended.add_nodes(&mut receipt, by_node.clone());
            assert_eq!(receipt.notes.iter().any(|note| note.starts_with("nothing was placed")), told);
            assert_eq!(receipt.obtained.unwrap().bytes_by_node, by_node.clone().filter(|_| told));
        }
    }

    /// Looks of all saw a moment at which children had taken their part of the memory, the look at the process one before.
    #[test]
    fn no_more_is_on_huge_pages_than_there_is() {
        let memory = |bytes, huge_bytes| ResidentMemory {
            placed: Resident { bytes, huge_bytes },
            ..ResidentMemory::default()
        };
        let process = ProcessMemory {
            pid: 6,
            parent: 1,
            program: "/bin/y".to_owned(),
            peak_rss_bytes: None,
            cpu_ms: 0,
            memory: memory(50 << 20, 40 << 20),
        };
        let mut tree = ProcessTree {
            pid: 6,
            at_peak: memory(48 << 20, 46 << 20),
            processes: vec![process],
            ..ProcessTree::default()
        };
        let text =
            "firsttouch-record 1\nprogram /bin/y\nstate final\nplaced 54525952\npage 2097152 54525952\nend\n";
        correct(&mut tree, 6, &Record::parse(text).unwrap());
        assert_eq!(tree.at_peak.placed, Resident { bytes: 50 << 20, huge_bytes: 50 << 20 });
    }
}
