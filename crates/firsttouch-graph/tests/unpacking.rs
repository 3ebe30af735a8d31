//! What a file of xz says of itself takes no memory: its dictionary is what was unpacked, and its index is read record by
//! record. In a program of its own, because the peak is the process's.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod xz;

use firsttouch_graph::{Place, ReadOptions, read_from};
use firsttouch_threads::Team;

#[test]
fn what_a_file_of_xz_says_of_itself_takes_no_memory() {
    let text = format!("p sp 2 2000\n{}", "a 1 2 3\na 2 1 4\n".repeat(1000));
    let largest = xz::packed(9, text.as_bytes());
    let vast = xz::with_vast_dictionary(xz::packed(0, text.as_bytes()));
    let many = xz::with_many_records(&vast);

    let mut team = Team::of_this_process(1).unwrap();
    let options = ReadOptions { place: Place::HEAP, ..ReadOptions::default() };
    let before = xz::peak();
    assert_eq!(read_from(&*vast, None, &options, &mut team).unwrap().graph.arcs(), 2000);
    let error = read_from(&*many, None, &options, &mut team).unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
    assert_eq!(read_from(&*largest, None, &options, &mut team).unwrap().graph.arcs(), 2000);
    assert!(xz::peak() - before < xz::SMALL, "{} bytes", xz::peak() - before);
}
