//! Where documents go, for all commands that have some.

use clap::Args;
use firsttouch_report::Format;
use std::path::PathBuf;

/// Where a document goes that is for people and programs; `-` is stdout.
#[derive(Args, Debug)]
pub(crate) struct ExportDocument {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the JSON document to FILE; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Vec<PathBuf>,
    /// Write Markdown tables to FILE; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) export_md: Vec<PathBuf>,
    /// Write a page with figures, the document inside, to FILE; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) export_html: Vec<PathBuf>,
}

impl ExportDocument {
    /// The files that are named for each format.
    pub(crate) fn chosen(&self) -> [(&[PathBuf], Format); 3] {
        [
            (&self.export_json, Format::Json),
            (&self.export_md, Format::Markdown),
            (&self.export_html, Format::Html),
        ]
    }

    /// All files that are named.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.chosen().into_iter().flat_map(|(files, _)| files)
    }
}

/// Where a document with runs goes; `-` is stdout.
#[derive(Args, Debug)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) document: ExportDocument,
    /// Write every run as a line of CSV to FILE; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) export_csv: Vec<PathBuf>,
}

impl Export {
    /// The files that are named for each format.
    pub(crate) fn chosen(&self) -> [(&[PathBuf], Format); 4] {
        let [json, markdown, html] = self.document.chosen();
        [json, (&self.export_csv, Format::Csv), markdown, html]
    }

    /// All files that are named.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.chosen().into_iter().flat_map(|(files, _)| files)
    }
}
