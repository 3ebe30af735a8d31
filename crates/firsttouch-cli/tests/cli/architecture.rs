//! The picture and the table of crates in `ARCHITECTURE.md` are what the manifests say, and the files that it names are there.

use crate::skipped::skipped;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

type Uses = BTreeMap<String, BTreeSet<String>>;

fn short(name: &str) -> Option<String> {
    name.strip_prefix("firsttouch-").map(str::to_owned)
}

/// What every crate of the workspace uses of it when it is built.
fn by_manifests() -> Uses {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let uses = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().unwrap();
        let built = dependencies.iter().filter(|dependency| dependency["kind"].is_null());
        built.filter_map(|dependency| short(dependency["name"].as_str().unwrap())).collect()
    };
    packages
        .iter()
        .map(|package| (short(package["name"].as_str().unwrap()).unwrap(), uses(package)))
        .collect()
}

fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap()
}

#[test]
fn the_table_says_what_crates_use() {
    let told: Uses = page()
        .lines()
        .filter_map(|line| line.strip_prefix("| `firsttouch-"))
        .map(|row| {
            let name = row.split('`').next().unwrap().to_owned();
            let uses = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
            (name, uses.split('`').skip(1).step_by(2).map(str::to_owned).collect())
        })
        .collect();
    assert_eq!(told, by_manifests());
}

#[test]
fn in_the_picture_a_crate_stands_above_what_it_uses() {
    let page = page();
    let (_, picture) = page.split_once("```\n").unwrap();
    let (picture, _) = picture.split_once("```").unwrap();
    let line_of: BTreeMap<&str, usize> = picture
        .lines()
        .enumerate()
        .flat_map(|(number, line)| line.split_whitespace().map(move |name| (name, number)))
        .collect();
    let manifests = by_manifests();
    assert!(line_of.keys().copied().eq(manifests.keys().map(String::as_str)), "{line_of:?}");
    for (name, uses) in &manifests {
        for used in uses {
            assert!(line_of[name.as_str()] < line_of[used.as_str()], "{name} uses {used}");
        }
    }
}

/// What stands between backquotes, outside blocks of code.
fn quoted(page: &str) -> Vec<&str> {
    let text = page.split("```").step_by(2);
    text.flat_map(|text| text.split('`').skip(1).step_by(2)).collect()
}

/// All files below a folder that are kept, and their folders, as paths from the root.
fn kept_files(root: &Path) -> BTreeSet<String> {
    let listed = Command::new("git").args(["ls-files"]).current_dir(root).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let files = String::from_utf8(listed.stdout).unwrap();
    let with_folders = files.lines().flat_map(|file| Path::new(file).ancestors());
    with_folders.map(|path| path.to_str().unwrap().to_owned()).collect()
}

/// A path begins with a crate's short name (`memory/heap.rs` is in its `src`, `cli/tests` beside it), or at the root; what does
/// neither is in the crate that was named last (`dirty.rs`).
#[test]
fn every_path_that_is_named_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(".git").exists() {
        return skipped("there is no repository whose files could be listed");
    }
    let (there, crates, page) = (kept_files(&root), by_manifests(), page());
    let home = |name: &str| match name {
        "python" => "bindings/python".to_owned(),
        _ => format!("crates/firsttouch-{name}"),
    };
    let is_path = |word: &str| {
        let ending = word.rsplit_once('.').map(|(_, ending)| ending);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
        word.chars().all(is_plain)
            && !word.starts_with('/')
            && (word.contains('/')
                || matches!(ending, Some("rs" | "c" | "py" | "pyi" | "md" | "toml" | "map")))
    };
    let (mut last, mut looked_up, mut missing) = (String::new(), 0, Vec::new());
    for word in quoted(&page) {
        // `-graph` is short for `firsttouch-graph`, with or without a path in it.
        let named = word.strip_prefix("firsttouch").filter(|rest| rest.starts_with('-')).unwrap_or(word);
        let path = named.strip_prefix('-').unwrap_or(named).trim_end_matches('/');
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let is_crate = crates.contains_key(first) && (named.starts_with('-') || word.contains('/'));
        if is_crate {
            first.clone_into(&mut last);
        }
        if !is_path(word) && !is_crate {
            continue;
        }
        looked_up += 1;
        let home_of_it = home(&last);
        let found = if is_crate {
            let places = [
                format!("{home_of_it}/src/{rest}"),
                format!("{home_of_it}/{rest}"),
                format!("{home_of_it}/{path}"),
            ];
            places.iter().any(|place| there.contains(place.trim_end_matches('/')))
        } else {
            let within =
                |file: &&String| file.starts_with(&home_of_it) && file.ends_with(&format!("/{path}"));
            there.contains(path) || there.iter().any(|file| within(&file))
        };
        if !found {
            missing.push(word);
        }
    }
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:?}");
    assert!(looked_up > 200, "{looked_up} paths: others are overlooked");
}
