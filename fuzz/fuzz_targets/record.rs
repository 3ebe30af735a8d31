//! The record that the agent leaves, and the receipt that is made of it.

#![no_main]

use firsttouch_documents::{AnyDocument, open, to_json};
use firsttouch_fuzz::Bound;
use firsttouch_placement::{Placement, Record};
use firsttouch_report::{Style, text};
use libfuzzer_sys::fuzz_target;

/// A line of a few words is a structure of some hundred bytes; a list of CPUs may name every CPU in a few bytes.
const BOUND: Bound = Bound { fixed: 1 << 20, per_byte: 16 << 10 };
const WIDTH: usize = 100;

fuzz_target!(|input: &[u8]| {
    let Ok(content) = std::str::from_utf8(input) else { return };
    let Ok(record) = BOUND.hold(content.len(), || Record::parse(content)) else { return };
    let asked = Placement { heap: record.complete, ..Placement::default() };
    let receipt = record.into_receipt(asked);
    let again = open(&to_json(&receipt)).expect("what we write, we read");
    assert_eq!(again, AnyDocument::Receipt(Box::new(receipt.clone())));
    let _ = text::receipt(&receipt, WIDTH, Style::Ansi);
});
