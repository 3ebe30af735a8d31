//! Strings of strangers made harmless and measurable: control characters shown instead of obeyed, widths in columns.

use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Characters that a terminal or browser obeys instead of showing: controls, and the marks that turn the
/// direction of text (with them a command can read differently from what it does).
pub(crate) fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text of a stranger's with the characters written out (`\n`, `\u{1b}`, `\u{202e}`) that a terminal or browser would obey:
/// controls, and marks that turn the direction of text. All others, of any language, stay as they are.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_obeyed(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Columns a terminal needs for the text.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The text cut to at most that many columns, with an ellipsis for what is gone.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if columns(text) <= most {
        return Cow::Borrowed(text);
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > most {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    Cow::Owned(kept)
}

/// Lines of at most `width` columns, broken at spaces; words longer than a line stand alone, uncut.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && columns(&line) + 1 + columns(word) > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_shown_not_obeyed() {
        assert_eq!(visible("a\u{1b}[2Jb\n\u{202e}c"), "a\\u{1b}[2Jb\\n\\u{202e}c");
        // C0 and C1 controls: the latter begin commands of terminals, too, in one character (U+009B is `ESC [`).
        assert_eq!(visible("\t\u{7f}\u{9b}31m\u{85}"), "\\t\\u{7f}\\u{9b}31m\\u{85}");
        for legitimate in ["größe 漢", "שלום", "مرحبا", "e\u{301}", "👩\u{200d}🔬"] {
            assert!(matches!(visible(legitimate), Cow::Borrowed(same) if same == legitimate));
        }
    }

    #[test]
    fn columns_follow_the_terminal() {
        assert_eq!(columns("abc"), 3);
        assert_eq!(columns("漢字"), 4);
        assert_eq!(columns("e\u{301}"), 1);
        assert_eq!(shortened("configuration", 6), "confi…");
        assert_eq!(columns(&shortened("漢字漢字", 6)), 5);
    }

    #[test]
    fn lines_break_at_spaces_only() {
        assert_eq!(wrapped("a bb ccc dddddddd", 5), ["a bb", "ccc", "dddddddd"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
