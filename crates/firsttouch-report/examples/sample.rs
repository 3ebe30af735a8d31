//! Writes the reports of the tests' documents, to be looked at after a change of the layout:
//! `cargo run -p firsttouch-report --example sample -- /tmp/reports`.

#[path = "../tests/common/mod.rs"]
mod common;

use firsttouch_report::{Style, csv, html, json, markdown, text};
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| "target/reports".into()));
    std::fs::create_dir_all(&folder)?;
    for (name, report) in common::all() {
        for (ending, content) in [
            ("txt", text::tune(&report, 200, Style::Plain)),
            ("narrow.txt", text::tune(&report, 80, Style::Ansi)),
            ("html", html::tune(&report)),
            ("md", markdown::tune(&report)),
            ("csv", csv::tune(&report)),
            ("json", json::tune(&report)),
        ] {
            std::fs::write(folder.join(format!("{name}.{ending}")), content)?;
        }
    }
    Ok(())
}
