//! Tables in a page.

use super::page::written;
use crate::escape::escape;
use crate::sheet::Sheet;
use std::fmt::Write as _;

/// A table, without its caption.
pub(super) fn table(sheet: &Sheet) -> String {
    let class = |numeric: bool| if numeric { " class=\"n\"" } else { "" };
    let titles: String = sheet
        .columns
        .iter()
        .map(|column| format!("<th scope=\"col\"{}>{}</th>", class(column.numeric), escape(column.title)))
        .collect();
    let mut table = format!("<div class=\"scroll\"><table>\n<thead><tr>{titles}</tr></thead>\n<tbody>\n");
    for row in &sheet.rows {
        let cells: String = sheet
            .columns
            .iter()
            .skip(1)
            .zip(&row.cells)
            .map(|(column, cell)| format!("<td{}>{}</td>", class(column.numeric), escape(cell)))
            .collect();
        let below = if row.is_below { " class=\"below\"" } else { "" };
        let _ = writeln!(table, "<tr><th scope=\"row\"{below}>{}</th>{cells}</tr>", written(&row.name));
    }
    table.push_str("</tbody>\n</table></div>\n");
    table
}
