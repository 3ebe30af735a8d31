//! A place in a text, and the numbers and words that stand there.

use super::LineError;
use memchr::memchr;

/// Digits of which every number fits into 64 bits.
const SAFE_DIGITS: usize = 19;

#[derive(Clone, Debug)]
pub(crate) struct Cursor<'text> {
    bytes: &'text [u8],
    at: usize,
}

impl<'text> Cursor<'text> {
    pub(crate) fn new(bytes: &'text [u8]) -> Cursor<'text> {
        Cursor { bytes, at: 0 }
    }

    /// The next byte; `None` at the end.
    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    pub(crate) fn step(&mut self) {
        self.at += 1;
    }

    /// Goes to what is neither blank nor tabulator, and answers what it is. A carriage return counts as blank: files of
    /// other systems end lines with it.
    #[inline]
    pub(crate) fn skip_blanks(&mut self) -> Option<u8> {
        loop {
            let next = self.peek()?;
            if next != b' ' && next != b'\t' && next != b'\r' {
                return Some(next);
            }
            self.at += 1;
        }
    }

    /// Goes to the beginning of the next line.
    #[inline]
    pub(crate) fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        // What is left of a line of numbers is short: a loop is through before a search by vectors has begun.
        const SHORT: usize = 24;
        for (skipped, byte) in rest.iter().take(SHORT).enumerate() {
            if *byte == b'\n' {
                self.at += skipped + 1;
                return;
            }
        }
        let searched = SHORT.min(rest.len());
        self.at += memchr(b'\n', &rest[searched..]).map_or(rest.len(), |at| searched + at + 1);
    }

    /// Whether the line ends here; then it is left behind.
    #[inline]
    pub(crate) fn take_line_end(&mut self) -> bool {
        match self.skip_blanks() {
            None => true,
            Some(b'\n') => {
                self.at += 1;
                true
            }
            Some(_) => false,
        }
    }

    /// The end of the line, or what stands there instead.
    #[inline]
    pub(crate) fn line_end(&mut self) -> Result<(), LineError> {
        if self.take_line_end() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }

    /// A whole number; blanks before it are left out.
    #[inline]
    pub(crate) fn number(&mut self, expected: &'static str) -> Result<u64, LineError> {
        self.skip_blanks();
        let (value, digits) = self.digits();
        if digits == 0 || digits > SAFE_DIGITS || self.is_in_word(digits) {
            return self.unusual_number(expected);
        }
        self.at += digits;
        Ok(value)
    }

    /// A weight: a whole number of 32 bits, which may be written as a fraction (`12.0`, `1.2e1`).
    #[inline]
    pub(crate) fn weight(&mut self) -> Result<u32, LineError> {
        self.skip_blanks();
        let (value, digits) = self.digits();
        if digits == 0 || digits > SAFE_DIGITS || value > u64::from(u32::MAX) || self.is_in_word(digits) {
            return self.unusual_weight();
        }
        self.at += digits;
        Ok(value as u32)
    }

    /// The digits that stand here, as a number modulo 2^64, and how many they are.
    #[inline]
    fn digits(&self) -> (u64, usize) {
        let mut value = 0_u64;
        let mut digits = 0;
        for byte in &self.bytes[self.at..] {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            digits += 1;
        }
        (value, digits)
    }

    /// Whether a word goes on after so many bytes.
    #[inline]
    fn is_in_word(&self, bytes: usize) -> bool {
        self.bytes.get(self.at + bytes).is_some_and(|next| !next.is_ascii_whitespace())
    }

    #[cold]
    fn unusual_number(&mut self, expected: &'static str) -> Result<u64, LineError> {
        let word = self.rest_of_word();
        if word.is_empty() {
            return Err(LineError::EndsEarly { expected });
        }
        if !word.iter().all(u8::is_ascii_digit) {
            return Err(self.expected(expected));
        }
        let found = shortened(word);
        let value = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        self.at += word.len();
        value.ok_or(LineError::TooLarge { found })
    }

    #[cold]
    fn unusual_weight(&mut self) -> Result<u32, LineError> {
        let word = self.rest_of_word();
        if word.is_empty() {
            return Err(LineError::EndsEarly { expected: "a weight" });
        }
        let found = shortened(word);
        let value: Option<f64> = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        let Some(value) = value.filter(|value| value.is_finite()) else {
            return Err(LineError::Expected { expected: "a weight", found });
        };
        match () {
            () if value < 0.0 => Err(LineError::NegativeWeight { found }),
            () if value.fract() != 0.0 => Err(LineError::FractionalWeight { found }),
            () if value > f64::from(u32::MAX) => Err(LineError::WeightTooLarge { found }),
            () => {
                self.at += word.len();
                Ok(value as u32)
            }
        }
    }

    /// A number with a sign, as coordinates have.
    pub(crate) fn signed(&mut self, expected: &'static str) -> Result<i64, LineError> {
        let word = self.word();
        if word.is_empty() {
            return Err(LineError::EndsEarly { expected });
        }
        let value = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        value.ok_or_else(|| LineError::Expected { expected, found: shortened(word) })
    }

    /// The next word of the line, left behind; empty at its end.
    pub(crate) fn word(&mut self) -> &'text [u8] {
        self.skip_blanks();
        let word = self.rest_of_word();
        self.at += word.len();
        word
    }

    fn rest_of_word(&self) -> &'text [u8] {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        &rest[..end]
    }

    /// The error of something else standing here.
    #[cold]
    pub(crate) fn expected(&self, expected: &'static str) -> LineError {
        match self.rest_of_word() {
            [] => LineError::EndsEarly { expected },
            word => LineError::Expected { expected, found: shortened(word) },
        }
    }
}

/// A word for a message.
fn shortened(word: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(&word[..word.len().min(MOST)]).escape_debug().to_string();
    if word.len() > MOST { text + "…" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<u64, LineError> {
        Cursor::new(text.as_bytes()).number("a node")
    }

    fn weight(text: &str) -> Result<u32, LineError> {
        Cursor::new(text.as_bytes()).weight()
    }

    #[test]
    fn numbers_are_read_up_to_64_bits() {
        assert_eq!(number(" \t0012 3"), Ok(12));
        assert_eq!(number("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(number("00000000000000000000000000000000000000007\r\n"), Ok(7));
        let found = "18446744073709551616".to_owned();
        assert_eq!(number(&found.clone()), Err(LineError::TooLarge { found }));
        for wrong in ["-1", "1.5", "1x", "x", "1,2"] {
            let error = LineError::Expected { expected: "a node", found: wrong.to_owned() };
            assert_eq!(number(wrong), Err(error));
        }
        assert_eq!(number("  \n5"), Err(LineError::EndsEarly { expected: "a node" }));
    }

    #[test]
    fn weights_are_whole_and_have_32_bits() {
        assert_eq!(weight("4294967295 "), Ok(u32::MAX));
        assert_eq!(
            (weight("12.0"), weight("1.2e1"), weight("+7"), weight("-0")),
            (Ok(12), Ok(12), Ok(7), Ok(0))
        );
        let found = |text: &str| text.to_owned();
        assert_eq!(weight("-3"), Err(LineError::NegativeWeight { found: found("-3") }));
        assert_eq!(weight("0.5"), Err(LineError::FractionalWeight { found: found("0.5") }));
        for large in ["4294967296", "1e300", "99999999999999999999999999"] {
            assert_eq!(weight(large), Err(LineError::WeightTooLarge { found: found(large) }));
        }
        for wrong in ["nan", "inf", "seven", "1.2.3"] {
            assert_eq!(weight(wrong), Err(LineError::Expected { expected: "a weight", found: found(wrong) }));
        }
        assert_eq!(weight(""), Err(LineError::EndsEarly { expected: "a weight" }));
    }

    #[test]
    fn long_words_are_shortened_in_messages() {
        let LineError::Expected { found, .. } = number(&"x".repeat(1000)).unwrap_err() else {
            unreachable!()
        };
        assert_eq!(found, "x".repeat(40) + "…");
    }

    #[test]
    fn lines_are_left_behind_whole() {
        let long = format!("{}\nsecond\r\n \tx", "1 ".repeat(100));
        let mut cursor = Cursor::new(long.as_bytes());
        cursor.skip_line();
        assert_eq!(cursor.word(), b"second");
        assert_eq!(cursor.line_end(), Ok(()));
        assert!(matches!(cursor.line_end(), Err(LineError::Expected { .. })));
        cursor.skip_line();
        assert!(cursor.take_line_end());
        assert_eq!(cursor.peek(), None);
    }
}
