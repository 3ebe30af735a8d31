//! Text as source code is: names that come again and again, indented, few of them often, and lines like others before.

use firsttouch_measure::mix;

/// Bytes that are made by themselves, so that any thread can make any part.
pub(super) const UNIT: usize = 1 << 16;

const WORDS: [&str; 24] = [
    "let", "mut", "fn", "for", "in", "if", "else", "match", "return", "self", "pub", "struct", "impl", "use",
    "while", "const", "static", "where", "trait", "type", "loop", "break", "true", "false",
];
const SYLLABLES: [&str; 16] = [
    "re", "con", "buf", "len", "pos", "set", "get", "map", "read", "ptr", "ex", "to", "al", "val", "node",
    "size",
];
const MARKS: [&str; 12] = [" ", " ", ".", ", ", " = ", "(", ")", "::", " + ", "_", ";", " -> "];
/// Different names in a unit.
const NAMES: u64 = 600;

/// Fills a unit, or the part of the last one that there is. The same unit always has the same text.
pub(super) fn fill(unit: usize, to: &mut [u8]) {
    let mut drawn = (unit as u64) << 32;
    let mut draw = |below: u64| {
        drawn += 1;
        // The product of two is small more often than large, as names are used.
        (mix(drawn) >> 32) % below
    };
    let (mut text, mut depth) = (String::with_capacity(to.len() + 256), 0_usize);
    let mut lines = vec![0];
    while text.len() < to.len() {
        if lines.len() > 2 && draw(9) < 4 {
            let line = draw(lines.len() as u64 - 1) as usize;
            text.extend_from_within(lines[line]..lines[line + 1]);
            lines.push(text.len());
            continue;
        }
        depth = (depth + draw(3) as usize).saturating_sub(1).min(5);
        text.extend(std::iter::repeat_n("    ", depth));
        for _ in 0..2 + draw(7) {
            match draw(8) {
                0..3 => text.push_str(WORDS[draw(24) as usize * draw(24) as usize / 24]),
                3 if draw(6) == 0 => text.push_str(&draw(1 << 16).to_string()),
                _ => {
                    let name = draw(NAMES) * draw(NAMES) / NAMES;
                    for syllable in 0..1 + mix(name) % 4 {
                        text.push_str(SYLLABLES[(mix(name + (syllable << 20)) % 16) as usize]);
                    }
                }
            }
            text.push_str(MARKS[draw(12) as usize]);
        }
        text.push_str(if draw(4) == 0 { " {\n" } else { ";\n" });
        lines.push(text.len());
    }
    to.copy_from_slice(&text.as_bytes()[..to.len()]);
}
