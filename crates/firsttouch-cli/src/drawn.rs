//! Rows on a terminal that the next ones replace, in place.

use firsttouch_report::live::Row;

/// The rows that were drawn last, by the columns that each of them took.
#[derive(Debug, Default)]
pub(crate) struct Drawn(Vec<usize>);

impl Drawn {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a terminal of so many columns is to be sent, so that these rows stand in place of the last ones.
    pub(crate) fn replace(&mut self, rows: &[Row], columns: usize) -> String {
        if rows.is_empty() && self.is_empty() {
            return String::new();
        }
        let mut text = up(&self.0, columns);
        for row in rows {
            text.push_str(&row.text);
            text.push_str("\x1b[K\n");
        }
        text.push_str("\x1b[J");
        self.0 = rows.iter().map(|row| row.columns).collect();
        text
    }
}

/// Whether the terminal understands where to draw.
pub(crate) fn can_be_drawn_on() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// Back to the first row of what was drawn. A terminal that has become narrower has broken its rows.
fn up(drawn: &[usize], columns: usize) -> String {
    let rows: usize = drawn.iter().map(|own| own.div_ceil(columns.max(1)).max(1)).sum();
    if rows == 0 { String::new() } else { format!("\r\x1b[{rows}A") }
}

#[cfg(test)]
mod tests {
    use super::up;

    #[test]
    fn the_cursor_goes_back_over_rows_that_were_broken() {
        assert_eq!(up(&[], 80), "");
        assert_eq!(up(&[79, 0, 12], 80), "\r\x1b[3A");
        assert_eq!(up(&[79, 0, 12], 40), "\r\x1b[4A");
        assert_eq!(up(&[79, 0, 12], 0), "\r\x1b[92A");
    }
}
