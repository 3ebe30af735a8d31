//! Rows of CSV that people write: comments after `#`, blank lines, blanks around fields.

use super::table::COMMENT;
use csv::{Error, Reader, ReaderBuilder, StringRecord, Trim};
use std::fmt;

/// The rows of a text that say something, the first one too, with the lines that they begin in.
pub struct CsvRows<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
}

impl<'a> CsvRows<'a> {
    /// Those of a text.
    pub fn new(text: &'a str) -> CsvRows<'a> {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .comment(Some(COMMENT))
            .from_reader(text.as_bytes());
        CsvRows { text, reader }
    }

    /// Reads the next row, and answers the number of its first line, from 1; `None` where the text ends.
    ///
    /// # Errors
    /// As the crate `csv` has them; of a text, which is UTF-8, there are none.
    pub fn next(&mut self, fields: &mut StringRecord) -> Result<Option<usize>, Error> {
        loop {
            let read = self.reader.read_record(fields)?;
            let Some(position) = fields.position().filter(|_| read) else { return Ok(None) };
            if fields.len() == 1 && fields[0].is_empty() {
                continue;
            }
            // Rows begin where the one before ended, with the lines between that say nothing.
            let rest = self.text.get(position.byte() as usize..).unwrap_or_default();
            let silent = |line: &&str| line.trim().is_empty() || line.as_bytes()[0] == COMMENT;
            let before = rest.split_inclusive('\n').take_while(silent).count();
            return Ok(Some(position.line() as usize + before));
        }
    }
}

impl fmt::Debug for CsvRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CsvRows").field("line", &self.reader.position().line()).finish_non_exhaustive()
    }
}
