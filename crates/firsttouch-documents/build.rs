//! Packs the schemas of documents: a third of a megabyte of text that hardly anybody reads. Together they are a third smaller than one by
//! one, because documents have much in common: each is a line, after the word of its kind.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=schemas");
    let mut files =
        fs::read_dir("schemas")?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    for file in files {
        let word = file.file_stem().and_then(OsStr::to_str).ok_or("a schema without a name")?;
        write!(encoder, "{word} {}", fs::read_to_string(&file)?)?;
    }
    fs::write(Path::new(&std::env::var("OUT_DIR")?).join("schemas.z"), encoder.finish()?)?;
    Ok(())
}
