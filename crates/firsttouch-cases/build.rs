//! Packs the scripts of others' programs and the articles, which few people ask for: as one, because they have much in common.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src");
    let mut files = Vec::new();
    find(Path::new("src"), &mut files)?;
    files.sort();
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let (mut names, mut from) = (String::new(), 0);
    for file in files {
        let text = fs::read_to_string(&file)?;
        let name = file.strip_prefix("src")?.display().to_string().to_uppercase().replace(['/', '.'], "_");
        let to = from + text.len();
        names += &format!("pub(crate) const {name}: Text = Text {{ from: {from}, to: {to} }};\n");
        from = to;
        encoder.write_all(text.as_bytes())?;
    }
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    fs::write(out.join("texts.z"), encoder.finish()?)?;
    fs::write(out.join("texts.rs"), names)?;
    Ok(())
}

/// The files below a folder that are no code of ours.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending != "rs") {
            files.push(path);
        }
    }
    Ok(())
}
