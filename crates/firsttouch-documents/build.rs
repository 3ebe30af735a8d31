//! Packs the schemas of documents: a third of a megabyte of text that hardly anybody reads.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=schemas");
    let packed = Path::new(&std::env::var("OUT_DIR")?).to_owned();
    for entry in fs::read_dir("schemas")? {
        let file = entry?.path();
        let name = file.file_name().ok_or("a schema without a name")?;
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&fs::read(&file)?)?;
        fs::write(packed.join(name), encoder.finish()?)?;
    }
    Ok(())
}
