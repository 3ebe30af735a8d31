//! `docs/safety.md` names the tests that hold its promises, and the crates with unsafe code: both are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    fs::read_to_string(root().join("docs/safety.md")).unwrap()
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_programs_that_hold_its_promises_are_there() {
    let page = page();
    let named: BTreeSet<&str> = quoted(&page)
        .filter_map(|word| word.strip_prefix("c/").or_else(|| word.strip_prefix("faults c/")))
        .collect();
    assert!(named.len() > 20, "{named:?}");
    for name in named {
        let file = root().join("crates/firsttouch-cli/tests/faults/c").join(name);
        assert!(file.is_file(), "docs/safety.md names {name}");
    }
}

#[test]
fn every_crate_with_unsafe_code_is_told() {
    let folders = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let mut with_unsafe: BTreeSet<String> = folders
        .filter(|folder| {
            let page = ["lib.rs", "main.rs"]
                .iter()
                .find_map(|file| fs::read_to_string(folder.join("src").join(file)).ok());
            !page.unwrap().contains("forbid(unsafe_code)")
        })
        .map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    with_unsafe.insert("firsttouch-python".to_owned());
    let page = page();
    let (_, table) = page.split_once("## Unsafe code").unwrap();
    let told: BTreeSet<String> =
        quoted(table).filter(|word| word.starts_with("firsttouch-")).map(str::to_owned).collect();
    assert_eq!(told, with_unsafe);
}
