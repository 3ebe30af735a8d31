//! A place in a text, and the numbers and words that stand there.

use crate::formats::error::LineError;
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
        // What is left of a line of numbers is short: two words are through before a search by vectors has begun. They
        // are looked at together, because in which of them the line ends cannot be guessed.
        if let Some(words) = self.bytes.get(self.at..self.at + 16) {
            let word = |at: usize| words[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
            let ends = [0, 8].map(|at| u128::from(bytes_that_are(word(at), b'\n')));
            let ends = ends[0] | ends[1] << 64;
            if ends != 0 {
                self.at += ends.trailing_zeros() as usize / 8 + 1;
                return;
            }
            self.at += 16;
        }
        let rest = &self.bytes[self.at..];
        self.at += memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
    }

    /// The next 8 bytes, the first of them lowest; `None` near the end.
    #[inline(always)]
    fn word_of_8(&self) -> Option<u64> {
        let bytes = self.bytes.get(self.at..self.at + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// A number of up to 15 digits that stands right here, and the byte behind it, left behind both: what nearly all lines
    /// are made of. `None` where it is otherwise, or near the end.
    #[inline(always)]
    pub(crate) fn plain_number(&mut self) -> Option<(u64, u8)> {
        let word = self.word_of_8()?;
        let (value, length) = leading_digits(word);
        match length {
            0 => None,
            8 => self.long_number(value),
            _ => {
                self.at += length as usize + 1;
                Some((value, (word >> (8 * length)) as u8))
            }
        }
    }

    /// Goes on behind eight digits.
    #[inline(never)]
    fn long_number(&mut self, first: u64) -> Option<(u64, u8)> {
        self.at += 8;
        let word = self.word_of_8()?;
        let (value, length) = leading_digits(word);
        if length == 8 {
            return None;
        }
        self.at += length as usize + 1;
        Some((first * 10_u64.pow(length) + value, (word >> (8 * length)) as u8))
    }

    /// Whether these bytes stand here; then they are left behind.
    #[inline(always)]
    pub(crate) fn take(&mut self, bytes: [u8; 2]) -> bool {
        let there = self.bytes.get(self.at..self.at + 2) == Some(&bytes);
        self.at += 2 * usize::from(there);
        there
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

/// The number that the first bytes of a word are the digits of, and how many they are.
#[inline(always)]
fn leading_digits(word: u64) -> (u64, u32) {
    let digits = word ^ 0x3030_3030_3030_3030;
    // The highest bit of every byte that is no digit: from 10 on the sum reaches it, or it was set before. A carry only
    // reaches bytes behind the first of them.
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let length = others.trailing_zeros() / 8;
    if length == 0 {
        return (0, 0);
    }
    // Moved up, so that zeros stand before it; then neighbours are joined: digits, pairs, fours.
    const EVERY_FOURTH: u64 = 0x0000_00ff_0000_00ff;
    let digits = digits << (64 - 8 * length);
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let upper = (pairs & EVERY_FOURTH).wrapping_mul(100 | 1_000_000 << 32);
    let lower = ((pairs >> 16) & EVERY_FOURTH).wrapping_mul(1 | 10_000 << 32);
    (upper.wrapping_add(lower) >> 32, length)
}

/// The highest bit of every byte that is this one; of those behind the first one perhaps of others, too.
#[inline(always)]
fn bytes_that_are(word: u64, byte: u8) -> u64 {
    let zeros = word ^ (u64::from(byte) * 0x0101_0101_0101_0101);
    zeros.wrapping_sub(0x0101_0101_0101_0101) & !zeros & 0x8080_8080_8080_8080
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
    fn plain_numbers_are_read_at_once_and_others_left_alone() {
        let mut numbers =
            vec![0, 7, 12_345, 654_321, 1_000_000, 12_345_678, 4_294_967_295, 999_999_999_999_999];
        numbers.extend((0..15).map(|digits| 10_u64.pow(digits)));
        for number in numbers {
            for behind in [' ', '\n', '\t', '.', '/', ':', 'x', '\u{7f}'] {
                let text = format!("{number}{behind}1234567890123456");
                let mut cursor = Cursor::new(text.as_bytes());
                assert_eq!(cursor.plain_number(), Some((number, behind as u8)), "{text}");
                assert_eq!(cursor.rest_of_word(), b"1234567890123456");
                assert_eq!(cursor.plain_number(), None);
            }
        }
        for other in ["1234567890123456 ", " 1234567", "-1 345678", "\u{80}1234567", "1 3", "123456789"] {
            assert_eq!(Cursor::new(other.as_bytes()).plain_number(), None, "{other}");
        }
        let bytes = [b'7', 0xb7, b'1', b'1', b'1', b'1', b'1', b'1'];
        assert_eq!(Cursor::new(&bytes).plain_number(), Some((7, 0xb7)));
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
        for length in 0..100 {
            let text = format!("{}\n{}", "\u{b}".repeat(length), "\n".repeat(9));
            let mut cursor = Cursor::new(text.as_bytes());
            cursor.skip_line();
            assert_eq!(cursor.at, length + 1);
        }
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
