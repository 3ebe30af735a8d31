//! The control channel: requests to the agent and its answers, line by line. Neither end may allocate.

#![no_main]

use firsttouch_fuzz::Bound;
use firsttouch_linux::channel::{
    Line, MOST_LINE_BYTES, MOST_PAGES, Request, addresses, read_states, start_ticks, write_pages,
    write_states,
};
use libfuzzer_sys::fuzz_target;

/// The agent works where nothing may be allocated.
const BOUND: Bound = Bound { fixed: 0, per_byte: 0 };

fuzz_target!(|input: &[u8]| {
    BOUND.hold(input.len(), || {
        for line in input.split(|byte| *byte == b'\n') {
            request(line);
            answer(line);
            let _ = start_ticks(line);
        }
    });
});

fn request(line: &[u8]) {
    let (node, pages) = match Request::parse(line) {
        Some(Request::Move { node, pages }) => (Some(node), pages),
        Some(Request::Nodes { pages }) => (None, pages),
        _ => return,
    };
    let mut room = [0; MOST_PAGES];
    let Some(count) = addresses(pages, &mut room) else { return };
    let asked = room.map(|address| address as u64);
    let mut written = Line::<MOST_LINE_BYTES>::EMPTY;
    write_pages(&mut written, node, &asked[..count]).expect("room for as many pages as a request can name");
    let line = written.bytes().strip_suffix(b"\n").expect("a line");
    let Some(Request::Move { pages, .. } | Request::Nodes { pages }) = Request::parse(line) else {
        panic!("what we write, we read: {written:?}");
    };
    let mut again = [0; MOST_PAGES];
    assert_eq!(addresses(pages, &mut again), Some(count));
    assert_eq!(again[..count], room[..count]);
}

fn answer(line: &[u8]) {
    let Ok(text) = std::str::from_utf8(line) else { return };
    for count in [1, 7, MOST_PAGES] {
        let mut states = [0; MOST_PAGES];
        if read_states(text, &mut states[..count]).is_none() {
            continue;
        }
        let mut written = Line::<MOST_LINE_BYTES>::EMPTY;
        if write_states(&mut written, &states[..count]).is_err() {
            continue;
        }
        let answer = std::str::from_utf8(written.bytes()).expect("text").trim_end();
        let mut again = [0; MOST_PAGES];
        assert!(read_states(answer.strip_prefix("ok ").expect("an answer"), &mut again[..count]).is_some());
        assert_eq!(again, states);
    }
}
