//! Profiles, and the words of a placement in a line.

#![no_main]

use firsttouch_fuzz::Bound;
use firsttouch_placement::{Placement, Profile};
use libfuzzer_sys::fuzz_target;

/// A key of a few bytes is an entry in a map of TOML. A list of CPUs may name every CPU in a few bytes.
const BOUND: Bound = Bound { fixed: 1 << 20, per_byte: 16 << 10 };

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(profile) = BOUND.hold(text.len(), || Profile::parse(text)) {
        let again = Profile::parse(&profile.to_text()).expect("what we write, we read");
        // By their text: a ratio may be no number, which equals nothing.
        assert_eq!(again.to_text(), profile.to_text());
    }
    if let Ok(placement) = BOUND.hold(text.len(), || text.parse::<Placement>()) {
        assert_eq!(placement.to_string().parse().as_ref(), Ok(&placement));
    }
});
