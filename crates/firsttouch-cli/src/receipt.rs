//! Receipts: from the agent's record, or what can be said without one.

use firsttouch_placement::{Placement, Reason, Receipt, Record, SCHEMA_VERSION, Shortfall};
use std::io;
use std::path::{Path, PathBuf};

/// Where the agent of one run leaves its record. The folder vanishes with this value.
#[derive(Debug)]
pub(crate) struct RecordPlace {
    folder: tempfile::TempDir,
}

impl RecordPlace {
    pub(crate) fn new() -> io::Result<RecordPlace> {
        Ok(RecordPlace { folder: tempfile::Builder::new().prefix("firsttouch-").tempdir()? })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("record")
    }
}

/// The receipt of a run by the agent, from its record.
pub(crate) fn of_record(path: &Path, asked: &Placement, image: String) -> Receipt {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            let note = format!(
                "the agent left no record ({error}): the program was killed, or it left in a way that skips its end"
            );
            return without_reading(asked, image, None, vec![note]);
        }
    };
    match Record::parse(&text) {
        Ok(record) => {
            let mut receipt = record.into_receipt(asked.clone());
            if !receipt.complete {
                receipt
                    .notes
                    .push("the program was killed: this is the last peak that the agent saw".to_owned());
            }
            receipt
        }
        Err(error) => without_reading(asked, image, None, vec![error.to_string()]),
    }
}

/// Adds what the agent's record says of threads, for a program whose memory another means has placed.
pub(crate) fn add_threads(receipt: &mut Receipt, record: &Path) {
    let record = std::fs::read_to_string(record).ok().and_then(|text| Record::parse(&text).ok());
    if let Some(record) = record {
        receipt.obtained.get_or_insert_default().threads = record.obtained.threads;
    }
}

/// The receipt where nothing could be read, with the reason if it is one of the list.
pub(crate) fn without_reading(
    asked: &Placement,
    image: String,
    reason: Option<Reason>,
    notes: Vec<String>,
) -> Receipt {
    Receipt {
        schema_version: SCHEMA_VERSION,
        program: image,
        asked: asked.clone(),
        obtained: None,
        shortfalls: reason.map(|reason| Shortfall::new(reason, 0)).into_iter().collect(),
        via: asked.via,
        blocks: Vec::new(),
        complete: false,
        notes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_missing_or_cut_gives_an_incomplete_receipt() {
        let place = RecordPlace::new().unwrap();
        let asked = Placement::default();
        let receipt = of_record(&place.path(), &asked, "/bin/x".to_owned());
        assert!(!receipt.complete && receipt.obtained.is_none());
        assert!(receipt.notes[0].contains("left no record"));
        std::fs::write(place.path(), "firsttouch-record 1\nplaced 1\n").unwrap();
        let receipt = of_record(&place.path(), &asked, "/bin/x".to_owned());
        assert_eq!(receipt.notes, ["the agent's record ends early"]);
        std::fs::write(place.path(), "firsttouch-record 1\nprogram /bin/y\nstate peak\nplaced 1\nend\n")
            .unwrap();
        let receipt = of_record(&place.path(), &asked, "/bin/x".to_owned());
        assert_eq!((receipt.program.as_str(), receipt.complete, receipt.notes.len()), ("/bin/y", false, 1));
    }
}
