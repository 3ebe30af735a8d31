//! The file that makes an image of a container: that what it copies is all that the build in it reads.

use crate::{said, workspace};
use std::fs;
use std::process::Command;

#[test]
fn it_copies_all_that_is_built_from() {
    let text = fs::read_to_string(workspace().join("packaging/Containerfile")).unwrap();
    let copied: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "))
        .filter(|words| !words.starts_with("--from="))
        .flat_map(|words| words.rsplit_once(' ').unwrap().0.split(' '))
        .collect();
    // What is copied, in a folder of its own, is what the first stage has.
    let folder = tempfile::tempdir().unwrap();
    let mut pack = Command::new("tar");
    pack.arg("--create")
        .arg("--file")
        .arg(folder.path().join("all.tar"))
        .args(["--exclude=target", "--exclude=__pycache__"]);
    said(pack.args(&copied).current_dir(workspace()));
    said(Command::new("tar").args(["--extract", "--file", "all.tar"]).current_dir(folder.path()));
    // Cargo finds every member of the workspace there, and what they depend on in it.
    let mut metadata = Command::new(env!("CARGO"));
    let here = "--filter-platform=x86_64-unknown-linux-gnu";
    metadata.args(["metadata", "--offline", "--locked", "--format-version", "1", "--quiet", here]);
    said(metadata.current_dir(folder.path()));
    // What the script for the package reads beside the sources of the crates.
    let script = fs::read_to_string(folder.path().join("packaging/debian/build")).unwrap();
    for part in script.split("\"$workspace/").skip(1) {
        let name = part.split(['"', '*']).next().unwrap();
        assert!(folder.path().join(name).exists(), "{name} is not copied");
    }
}
