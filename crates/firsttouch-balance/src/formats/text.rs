//! What readers of text share.

use super::FormatError;

/// The bytes as text.
pub(super) fn text(bytes: &[u8]) -> Result<&str, FormatError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        FormatError::line(line, "this is not text")
    })
}

/// Lines with their numbers, without those that are empty or begin with a mark of comments.
pub(super) fn lines(text: &str, comment: char) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    numbered.filter(move |(_, line)| !line.is_empty() && !line.starts_with(comment))
}

/// A number that is 0 or more.
pub(super) fn amount(line: usize, what: &str, word: &str) -> Result<f64, FormatError> {
    let number: f64 = word
        .trim()
        .parse()
        .map_err(|_| FormatError::line(line, format!("{what} `{word}` is not a number")))?;
    if number.is_finite() && number >= 0.0 {
        return Ok(number);
    }
    Err(FormatError::line(line, format!("{what} is {word}; it must be a number, 0 or more")))
}

/// A whole number that is 0 or more.
pub(super) fn whole<T: std::str::FromStr>(line: usize, what: &str, word: &str) -> Result<T, FormatError> {
    let fail = |_| FormatError::line(line, format!("{what} `{}` is no whole number, 0 or more", word.trim()));
    word.trim().parse().map_err(fail)
}
