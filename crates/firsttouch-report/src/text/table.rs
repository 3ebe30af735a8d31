//! Tables of a terminal: columns as wide as their cells, split by groups where the terminal is too narrow.

use crate::style::{Style, Tone};
use crate::visible::{columns, shortened, visible};

/// Names longer than this are cut; the exports have them whole.
const WIDEST_CELL: usize = 44;
const GAP: &str = "  ";

/// The side on which a column's cells line up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A column and the group it stays with when the table is split.
#[derive(Debug)]
pub(super) struct Column {
    group: &'static str,
    title: String,
    align: Align,
}

impl Column {
    pub(super) fn new(group: &'static str, title: impl Into<String>, align: Align) -> Self {
        Column { group, title: title.into(), align }
    }
}

/// One cell; its colour is painted after padding, so that escape sequences have no width.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    text: String,
    tone: Option<Tone>,
}

impl Cell {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        Cell { text: shortened(&visible(text.as_ref()), WIDEST_CELL).into_owned(), tone: None }
    }

    pub(super) fn toned(text: impl AsRef<str>, tone: Tone) -> Self {
        Cell { tone: Some(tone), ..Cell::new(text) }
    }
}

/// A table; its first column names the rows and is repeated in every part.
#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(super) fn new(columns: Vec<Column>) -> Self {
        Table { columns, rows: Vec::new() }
    }

    /// One whose columns stay together.
    pub(super) fn of<const N: usize>(columns: [(&str, Align); N]) -> Self {
        Table::new(columns.map(|(title, align)| Column::new("", title, align)).into())
    }

    pub(super) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// The table in one piece if it fits, else in parts of as many whole groups as fit, separated by blank lines.
    pub(super) fn print(&self, width: usize, style: Style) -> String {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        if self.needs(&all) <= width {
            return self.part(&all, style);
        }
        let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
        for (index, column) in self.columns.iter().enumerate().skip(1) {
            match groups.iter_mut().find(|(group, _)| *group == column.group) {
                Some((_, members)) => members.push(index),
                None => groups.push((column.group, vec![0, index])),
            }
        }
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for (_, members) in groups {
            let together = parts.last().map(|part| [part, &members[1..]].concat());
            match together.filter(|together| self.needs(together) <= width) {
                Some(together) => *parts.last_mut().expect("there is one") = together,
                None => parts.push(members),
            }
        }
        parts.iter().map(|members| self.part(members, style)).collect::<Vec<_>>().join("\n")
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| columns(&cell.text));
        cells.chain([columns(&self.columns[column].title)]).max().unwrap_or(0)
    }

    fn needs(&self, members: &[usize]) -> usize {
        members
            .iter()
            .map(|column| self.width_of(*column) + GAP.len())
            .sum::<usize>()
            .saturating_sub(GAP.len())
    }

    fn part(&self, members: &[usize], style: Style) -> String {
        let titles: Vec<Cell> =
            self.columns.iter().map(|column| Cell::toned(&column.title, Tone::Faint)).collect();
        let mut text = String::new();
        for row in [&titles].into_iter().chain(&self.rows) {
            let cells = members.iter().filter_map(|column| {
                row.get(*column).map(|cell| self.padded(cell, *column, Some(column) == members.last(), style))
            });
            text.push_str(cells.collect::<Vec<_>>().join(GAP).trim_end());
            text.push('\n');
        }
        text
    }

    fn padded(&self, cell: &Cell, column: usize, is_last: bool, style: Style) -> String {
        let padding = " ".repeat(self.width_of(column).saturating_sub(columns(&cell.text)));
        let text = cell.tone.map_or_else(|| cell.text.clone(), |tone| style.paint(tone, &cell.text));
        match self.columns[column].align {
            Align::Right => padding + &text,
            Align::Left if is_last => text,
            Align::Left => text + &padding,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(vec![
            Column::new("", "name", Align::Left),
            Column::new("a", "first", Align::Right),
            Column::new("b", "second", Align::Left),
        ]);
        table.row(vec![Cell::new("größe"), Cell::new("1"), Cell::toned("x", Tone::Good)]);
        table
    }

    #[test]
    fn a_wide_terminal_gets_one_table() {
        assert_eq!(table().print(80, Style::Plain), "name   first  second\ngröße      1  x\n");
    }

    #[test]
    fn groups_that_fit_stay_together() {
        let mut table = table();
        table.columns.push(Column::new("c", "third", Align::Left));
        table.rows[0].push(Cell::new("2"));
        assert_eq!(
            table.print(22, Style::Plain),
            "name   first  second\ngröße      1  x\n\nname   third\ngröße  2\n"
        );
    }

    #[test]
    fn a_narrow_terminal_gets_one_per_group() {
        assert_eq!(
            table().print(15, Style::Plain),
            "name   first\ngröße      1\n\nname   second\ngröße  x\n"
        );
    }
}
