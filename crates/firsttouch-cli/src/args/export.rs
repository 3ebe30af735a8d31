//! Where documents go, for all commands that have some.

use clap::Args;
use std::path::PathBuf;

/// Where a document goes; `-` is stdout.
#[derive(Args, Debug)]
pub(crate) struct Export {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the JSON document to FILE; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Vec<PathBuf>,
    /// Write every run as a line of CSV to FILE; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) export_csv: Vec<PathBuf>,
    /// Write a Markdown table to FILE; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) export_md: Vec<PathBuf>,
    /// Write a page with figures, the document inside, to FILE; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) export_html: Vec<PathBuf>,
}

impl Export {
    /// All files that are named.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.export_json, &self.export_csv, &self.export_md, &self.export_html].into_iter().flatten()
    }
}
