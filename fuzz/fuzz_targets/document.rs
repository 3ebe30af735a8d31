//! Documents of ours as `report` opens them: sessions, recordings, receipts, measurements, as JSON, as lines of it or in HTML.

#![no_main]

use firsttouch_fuzz::Bound;
use firsttouch_placement::Receipt;
use firsttouch_report::{Style, csv, html, json, markdown, text};
use firsttouch_report::{open, open_measurement, open_recording, recording_figure};
use libfuzzer_sys::fuzz_target;

/// A value of a few bytes is an entry in a map with a string of its own.
const BOUND: Bound = Bound { fixed: 1 << 20, per_byte: 512 };
/// A usual terminal and one that is too narrow.
const WIDTHS: [usize; 2] = [100, 20];

fuzz_target!(|input: &[u8]| {
    let Ok(content) = std::str::from_utf8(input) else { return };
    let hold = |read: &dyn Fn()| BOUND.hold(content.len(), read);
    hold(&|| {
        if let Some(Ok(recording)) = open_recording(content) {
            MOST_SHOWN.hold(content.len(), || {
                let whole = json::recording(&recording);
                let again = open_recording(&whole).expect("a recording").expect("what we write, we read");
                assert_eq!(json::recording(&again), whole);
                let page = html::recording(&recording);
                let again = open_recording(&page).expect("a recording").expect("what we write, we read");
                assert_eq!(json::recording(&again), whole);
                let _ = WIDTHS.map(|width| text::recording(&recording, width, Style::Plain).len());
                let _ = (csv::recording(&recording), recording_figure(&recording));
            });
        }
    });
    hold(&|| {
        if let Ok(receipt) = serde_json::from_str::<Receipt>(content) {
            MOST_SHOWN.hold(content.len(), || {
                let again: Receipt =
                    serde_json::from_str(&json::receipt(&receipt)).expect("what we write, we read");
                assert_eq!(again, receipt);
                let _ = WIDTHS.map(|width| text::receipt(&receipt, width, Style::Ansi).len());
            });
        }
    });
    hold(&|| {
        if let Some(measurement) = open_measurement(content) {
            MOST_SHOWN.hold(content.len(), || {
                let whole = json::measurement(&measurement);
                for written in [whole.clone(), html::measurement(&measurement)] {
                    let again = open_measurement(&written).expect("what we write, we read");
                    assert_eq!(json::measurement(&again), whole);
                }
                let _ = WIDTHS.map(|width| text::measurement(&measurement, width, Style::Ansi).len());
            });
        }
    });
    hold(&|| {
        if let Ok(session) = open(content) {
            MOST_SHOWN.hold(content.len(), || {
                let whole = json::tune(&session);
                for written in [whole.clone(), html::tune(&session)] {
                    let again = open(&written).expect("what we write, we read");
                    assert_eq!(json::tune(&again), whole);
                }
                let _ = WIDTHS.map(|width| text::tune(&session, width, Style::Ansi).len());
                let _ = (csv::tune(&session), markdown::tune(&session));
            });
        }
    });
});

/// A page has a scale, a table and a figure for each of the values.
const MOST_SHOWN: Bound = Bound { fixed: 16 << 20, per_byte: 16 << 10 };
