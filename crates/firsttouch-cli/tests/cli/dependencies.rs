//! What others wrote and we build: from where it comes, under which licence, and why it is there.
//!
//! Known vulnerabilities are not looked up: their list is no registry's.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Licences under which what we hand out may hold the code, with ours; an exception to one allows more.
const ALLOWED: [&str; 8] =
    ["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Unicode-3.0", "Zlib", "bzip2-1.0.6"];

/// What Cargo knows of the workspace and all that it needs on this platform.
fn metadata() -> Value {
    let words = ["metadata", "--format-version=1", "--offline", "--filter-platform=x86_64-unknown-linux-gnu"];
    let output =
        Command::new(env!("CARGO")).args(words).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap()
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

/// The packages that are compiled for those who install something, not only for tests.
fn built(metadata: &Value) -> Vec<&Value> {
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"], "nodes").iter().map(|node| (word(node, "id"), node)).collect();
    let mut open: Vec<&str> =
        list(metadata, "workspace_members").iter().map(|id| id.as_str().unwrap()).collect();
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        if found.insert(id) {
            let is_built = |dependency: &&Value| {
                list(dependency, "dep_kinds").iter().any(|kind| kind["kind"].as_str() != Some("dev"))
            };
            let used = list(nodes[id], "deps").iter().filter(is_built);
            open.extend(used.map(|dependency| word(dependency, "pkg")));
        }
    }
    list(metadata, "packages").iter().filter(|package| found.contains(word(package, "id"))).collect()
}

#[test]
fn everything_is_ours_or_from_the_registry_under_a_licence_that_allows_it() {
    let metadata = metadata();
    let built = built(&metadata);
    assert!(built.len() > list(&metadata, "workspace_members").len());
    for package in built {
        let (name, source) = (word(package, "name"), package["source"].as_str());
        let from_registry =
            source.is_none_or(|source| source.starts_with("registry+https://github.com/rust-lang/"));
        assert!(from_registry, "{name} comes from {source:?}");
        let licence = spdx::Expression::parse_mode(word(package, "license"), spdx::ParseMode::LAX).unwrap();
        let is_allowed = licence.evaluate(|needed| {
            let id = needed.license.id().map(|id| id.name);
            id.is_some_and(|id| ALLOWED.contains(&id))
        });
        assert!(is_allowed, "{name} is under {licence}");
    }
}

#[test]
fn no_crate_is_built_in_two_versions() {
    let metadata = metadata();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in built(&metadata) {
        versions.entry(word(package, "name")).or_default().push(word(package, "version"));
    }
    versions.retain(|_, versions| versions.len() > 1);
    assert!(versions.is_empty(), "{versions:?}");
}

#[test]
fn every_dependency_has_its_reason_and_a_user() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (_, dependencies) = manifest.split_once("[workspace.dependencies]\n").unwrap();
    let (dependencies, _) = dependencies.split_once("\n[").unwrap();
    let metadata = metadata();
    let members = list(&metadata, "packages").iter().filter(|package| package["source"].is_null());
    let used: BTreeSet<&str> = members
        .flat_map(|package| list(package, "dependencies"))
        .map(|dependency| word(dependency, "name"))
        .collect();
    let lines = dependencies.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let (name, rest) = line.split_once(" = ").unwrap();
        assert!(used.contains(name), "nobody uses {name}");
        let why = rest.rsplit_once(" # ").map(|(_, why)| why.trim());
        assert!(name.starts_with("firsttouch-") || why.is_some_and(|why| !why.is_empty()), "{name}: why?");
    }
}
