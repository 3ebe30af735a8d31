//! Writes the reports of the tests' documents, to be looked at after a change of the layout:
//! `cargo run -p firsttouch-report --example sample -- /tmp/reports`.

#[path = "../tests/common/mod.rs"]
mod common;

use firsttouch_documents::AnyDocument;
use firsttouch_report::{Format, Style, formats, show};
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| "target/reports".into()));
    std::fs::create_dir_all(&folder)?;
    for (name, report) in common::all() {
        let document = AnyDocument::Tune(Box::new(report));
        let text = |width, style| Format::Text { width, style };
        let texts = [("txt", text(200, Style::Plain)), ("narrow.txt", text(80, Style::Ansi))];
        let texts = texts.map(|(ending, format)| (ending.to_owned(), format));
        let others = formats(&document).into_iter().chain([Format::Json]);
        let others = others.map(|format| (format.to_string().to_lowercase(), format));
        for (ending, format) in texts.into_iter().chain(others) {
            let content = show(&document, format).unwrap_or_default();
            std::fs::write(folder.join(format!("{name}.{ending}")), content)?;
        }
    }
    Ok(())
}
