//! A recording as one HTML file, its document inside.

use super::page::{closed, items, opened, section, section_of};
use crate::account::Account;
use crate::escape::escape;
use crate::json;
use crate::plots::timeline;
use crate::series::panels;
use crate::shell;
use crate::visible::shortened;
use firsttouch_documents::Recording;
use std::fmt::Write as _;

/// A recording as one HTML file: a figure for each kind of value over time.
pub fn recording(recording: &Recording) -> String {
    let program = shell::command(&recording.header.command);
    let account = Account::of(recording);
    let mut page = opened(&format!("firsttouch watch: {}", &shortened(&program, 80)), "firsttouch watch");
    let _ = writeln!(page, "<pre><code>{}</code></pre>", escape(&program));
    let _ = writeln!(
        page,
        "<p class=\"verdict\"><strong>{}</strong></p>\n</header>\n<main>",
        escape(&account.headline)
    );
    items(&mut page, "Notes", " class=\"warnings\"", &account.notes);
    section_of(&mut page, "Values", values(recording));
    for plot in timeline::plots(recording) {
        let figure =
            format!("<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", plot.svg, escape(&plot.caption));
        section(&mut page, plot.title, &figure);
    }
    section(&mut page, "Method", &format!("<p>{}.</p>\n", escape(&account.footer)));
    let data = json::block(recording);
    closed(&mut page, &data);
    page
}

/// Every value at first, at last, at its least and its most.
fn values(recording: &Recording) -> Option<String> {
    let mut rows = String::new();
    for panel in panels(recording) {
        for series in &panel.series {
            let _ = write!(rows, "<tr><th scope=\"row\">{}</th>", escape(&series.name_in(&panel)));
            for value in series.ends() {
                let _ = write!(rows, "<td class=\"n\">{}</td>", escape(&panel.unit.words(value)));
            }
            rows.push_str("</tr>\n");
        }
    }
    let head = ["", "first", "last", "least", "most"]
        .map(|title| format!("<th scope=\"col\" class=\"n\">{title}</th>"));
    (!rows.is_empty()).then(|| {
        format!(
            "<div class=\"scroll\">\n<table>\n<thead>\n<tr>{}</tr>\n</thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n",
            head.concat()
        )
    })
}
