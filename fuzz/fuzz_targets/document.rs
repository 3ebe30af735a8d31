//! Documents of ours as `report` opens them, of every kind: as JSON, as lines of it or in HTML.

#![no_main]

use firsttouch_fuzz::Bound;
use firsttouch_report::{Format, Style, formats, open, show};
use libfuzzer_sys::fuzz_target;

/// A value of a few bytes is an entry in a map with a string of its own.
const BOUND: Bound = Bound { fixed: 1 << 20, per_byte: 512 };
/// A page has a scale, a table and a figure for each of the values.
const MOST_SHOWN: Bound = Bound { fixed: 16 << 20, per_byte: 16 << 10 };
/// A usual terminal and one that is too narrow.
const WIDTHS: [usize; 2] = [100, 20];

fuzz_target!(|input: &[u8]| {
    let Ok(content) = std::str::from_utf8(input) else { return };
    let opened = BOUND.hold(content.len(), || open(content));
    let document = match opened {
        Ok(document) => document,
        Err(error) => return assert!(!error.hint().is_empty()),
    };
    MOST_SHOWN.hold(content.len(), || {
        let whole = document.to_json();
        assert_eq!(open(&whole).expect("what we write, we read").to_json(), whole);
        for format in formats(&document) {
            let shown = show(&document, format).expect("a format that it has");
            if format == Format::Html {
                assert_eq!(open(&shown).expect("what we write, we read").kind(), document.kind());
            }
        }
        for width in WIDTHS {
            let _ = show(&document, Format::Text { width, style: Style::Plain });
        }
    });
});
