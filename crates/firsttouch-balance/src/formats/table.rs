//! Tables as they are written: fields with commas, quotes or a mark of comments are quoted (RFC 4180).

use csv::WriterBuilder;

/// Begins lines that say nothing.
pub(super) const COMMENT: u8 = b'#';

/// A line of titles, and one for each row.
pub(super) fn table<const N: usize>(
    titles: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut writer = WriterBuilder::new().comment(Some(COMMENT)).from_writer(Vec::new());
    // Memory refuses nothing, and all rows are as long as the titles.
    let written = writer
        .write_record(titles)
        .and_then(|()| rows.into_iter().try_for_each(|row| writer.write_record(row)));
    debug_assert!(written.is_ok(), "{written:?}");
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}
