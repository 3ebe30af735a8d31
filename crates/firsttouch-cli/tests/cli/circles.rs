//! Files do not import each other in circles: each can be read after those that it is built on.
//!
//! A file may take from those of the folders it lies in, which are there before it (`search/tree.rs` from `search/mod.rs`); what these
//! take from it is their own affair. Modules within a file that are there on a condition, as its tests are, are not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Item, UseTree};

/// A module by the names on the way to it from the root of its crate.
type Module = Vec<String>;

/// The files below a folder of sources, by the modules they are.
fn files(sources: &Path) -> BTreeMap<Module, PathBuf> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![sources.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let inside = path.strip_prefix(sources).unwrap().with_extension("");
                let mut module: Module =
                    inside.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
                if ["mod", "lib", "main"].contains(&module.last().unwrap().as_str()) {
                    module.pop();
                }
                found.insert(module, path);
            }
        }
    }
    found
}

/// What a `use` names, as paths.
fn named(tree: &UseTree, mut path: Module, found: &mut Vec<Module>) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            named(&part.tree, path, found);
        }
        UseTree::Name(part) => found.push([path, vec![part.ident.to_string()]].concat()),
        UseTree::Rename(part) => found.push([path, vec![part.ident.to_string()]].concat()),
        UseTree::Glob(_) => found.push(path),
        UseTree::Group(group) => group.items.iter().for_each(|tree| named(tree, path.clone(), found)),
    }
}

/// From names that begin in a module to names from the root; `None` for other crates.
fn from_root(module: &[String], names: &[String]) -> Option<Module> {
    let ups = names.iter().take_while(|name| *name == "super").count();
    let (start, rest) = match names.first().map(String::as_str) {
        Some("crate") => (&[][..], &names[1..]),
        Some("self") => (module, &names[1..]),
        Some("super") => (&module[..module.len() - ups], &names[ups..]),
        _ => return None,
    };
    Some([start, rest].concat())
}

/// The files that these items import.
fn imports(items: &[Item], module: &Module, files: &BTreeMap<Module, PathBuf>, found: &mut BTreeSet<Module>) {
    for item in items {
        match item {
            Item::Use(import) => {
                let mut paths = Vec::new();
                named(&import.tree, Module::new(), &mut paths);
                for mut path in paths.into_iter().filter_map(|names| from_root(module, &names)) {
                    // The last names are of what a file defines.
                    while !files.contains_key(&path) && path.pop().is_some() {}
                    found.insert(path);
                }
            }
            Item::Mod(inner) if inner.attrs.iter().all(|attribute| !attribute.path().is_ident("cfg")) => {
                let module = [module.clone(), vec![inner.ident.to_string()]].concat();
                let items = inner.content.as_ref().map_or(&[][..], |(_, items)| items);
                imports(items, &module, files, found);
            }
            _ => {}
        }
    }
}

/// Leaves, of files and what they import, those that are in a circle or import one that is.
fn circles(mut importing: BTreeMap<Module, BTreeSet<Module>>) -> BTreeMap<Module, BTreeSet<Module>> {
    loop {
        let before = importing.len();
        let left: BTreeSet<Module> = importing.keys().cloned().collect();
        importing.retain(|_, imported| {
            imported.retain(|module| left.contains(module));
            !imported.is_empty()
        });
        if importing.len() == before {
            return importing;
        }
    }
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let (mut looked_at, mut in_circles) = (0, Vec::new());
    for sources in crates.chain([root.join("bindings/python")]).map(|home| home.join("src")) {
        let files = files(&sources);
        let importing = files.iter().map(|(module, path)| {
            let parsed = syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
            let mut found = BTreeSet::new();
            imports(&parsed.items, module, &files, &mut found);
            looked_at += found.len();
            found.retain(|imported| !module.starts_with(imported));
            (module.clone(), found)
        });
        let left = circles(importing.collect());
        in_circles.extend(left.into_iter().map(|(module, found)| (files[&module].clone(), found)));
    }
    assert!(in_circles.is_empty(), "in circles, or importing from one: {in_circles:#?}");
    assert!(looked_at > 1500, "{looked_at} imports: others are overlooked");
}

#[test]
fn a_circle_is_found() {
    let module = |name: &str| vec![name.to_owned()];
    let importing = |names: &[(&str, &str)]| {
        let pairs = names.iter().map(|(from, to)| (module(from), BTreeSet::from([module(to)])));
        pairs.collect::<BTreeMap<_, _>>()
    };
    assert!(circles(importing(&[("a", "b"), ("b", "c")])).is_empty());
    assert_eq!(circles(importing(&[("a", "b"), ("b", "c"), ("c", "b"), ("d", "e")])).len(), 3);
    let files = BTreeMap::from([(Module::new(), PathBuf::new()), (module("rows"), PathBuf::new())]);
    let source = "use super::Lines; use crate::rows::{Arc, graph::Graph as All}; use std::fmt; mod x { use super::super::Top; }";
    let mut found = BTreeSet::new();
    imports(&syn::parse_file(source).unwrap().items, &module("text"), &files, &mut found);
    assert_eq!(found, BTreeSet::from([Module::new(), module("rows")]));
}
