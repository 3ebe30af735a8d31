//! Manifests of containers, `packaging/containers`: each is what its schema says, and its commands are understood.

use crate::{firsttouch, json, skipped, stderr, stdout};
use boon::{Compiler, Schemas};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prints the documents of a file of YAML as JSON.
const CONVERT: &str =
    "import json, sys, yaml; json.dump(list(yaml.safe_load_all(open(sys.argv[1]))), sys.stdout)";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/containers")
}

/// The documents of a file; `None` where nobody reads YAML, which is said.
fn documents(file: &Path) -> Option<Value> {
    // Debian's own Python, whose packages Debian's are for.
    for python in ["/usr/bin/python3", "python3"] {
        let output = Command::new(python).args(["-c", CONVERT]).arg(file).output();
        if let Some(output) = output.ok().filter(|output| output.status.success()) {
            return Some(json(&stdout(&output)));
        }
    }
    skipped("python3 has no module yaml");
    None
}

/// What is wrong with documents.
fn refused(documents: &Value) -> Option<String> {
    let schema = json(&fs::read_to_string(folder().join("schema.json")).unwrap());
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("manifests.json", schema).unwrap();
    let index = compiler.compile("manifests.json", &mut schemas).unwrap();
    let wrong = |one: &Value| schemas.validate(one, index).err().map(|error| format!("{error:#}"));
    documents.as_array().unwrap().iter().find_map(wrong)
}

/// Every object in a document that has a key, in their order.
fn with_key<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
    if value.get(key).is_some() {
        found.push(value);
    }
    let inside: Vec<&Value> = match value {
        Value::Object(object) => object.values().collect(),
        Value::Array(list) => list.iter().collect(),
        _ => return,
    };
    inside.into_iter().for_each(|one| with_key(one, key, found));
}

fn all_with<'a>(document: &'a Value, key: &str) -> Vec<&'a Value> {
    let mut found = Vec::new();
    with_key(document, key, &mut found);
    found
}

fn names(list: &Value) -> BTreeSet<&str> {
    list.as_array().into_iter().flatten().map(|one| one["name"].as_str().unwrap()).collect()
}

#[test]
fn manifests_are_what_the_schema_says_and_their_commands_are_understood() {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    files.sort();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let shown = file.display();
        let Some(documents) = documents(&file) else { return };
        assert_eq!(refused(&documents), None, "{shown}");
        for resources in all_with(&documents, "limits") {
            // Kubernetes refuses reserved pages that are limited to something else than is asked for, and those alone.
            let (asked, limits) = (&resources["requests"], resources["limits"].as_object().unwrap());
            for (what, limit) in limits.iter().filter(|(what, _)| what.starts_with("hugepages-")) {
                assert_eq!(asked[what], *limit, "{shown}: {what}");
                assert!(!asked["memory"].is_null() || !asked["cpu"].is_null(), "{shown}: {resources}");
            }
        }
        for pod in all_with(&documents, "containers") {
            let mounts = all_with(pod, "mountPath").into_iter().map(|mount| mount["name"].as_str().unwrap());
            assert_eq!(mounts.collect::<BTreeSet<_>>(), names(&pod["volumes"]), "{shown}");
        }
        for set in all_with(&documents, "selector") {
            assert_eq!(set["selector"]["matchLabels"], set["template"]["metadata"]["labels"], "{shown}");
        }
        let mut ran = 0;
        for one in all_with(&documents, "command") {
            let words: Vec<&str> =
                one["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
            let Some((&"firsttouch", options)) = words.split_first() else { continue };
            // Nothing of this machine is changed, and what is found does not matter.
            let program = firsttouch().get_program().to_owned();
            let told = options.iter().filter(|word| !["--apply", "--strict"].contains(*word));
            let told = told.map(|word| if *word == "firsttouch" { program.clone() } else { (*word).into() });
            let output = firsttouch().args(told).output().unwrap();
            let code = output.status.code();
            assert!(
                code.is_some_and(|code| code == 0 || code == 1),
                "{shown}: {words:?}: {}",
                stderr(&output)
            );
            assert!(code == Some(0) || options[0] == "setup", "{shown}: {words:?}: {}", stderr(&output));
            ran += 1;
        }
        assert!(ran > 0, "{shown}");
    }
}

#[test]
fn a_manifest_with_a_key_written_wrongly_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.yaml");
    let good = fs::read_to_string(self::folder().join("kubernetes-job.yaml")).unwrap();
    for (right, wrong) in [
        ("backoffLimit: 0", "backofLimit: 0"),
        ("hugepages-2Mi: 512Mi", "hugepages-2M: 512Mi"),
        ("medium: HugePages}", "medium: Hugepages}"),
        ("restartPolicy: Never", "restartPolicy: Always"),
        ("kind: Job", "kind: Jobs"),
    ] {
        assert!(good.contains(right), "{right}");
        fs::write(&file, good.replace(right, wrong)).unwrap();
        let Some(documents) = documents(&file) else { return };
        assert!(refused(&documents).is_some(), "{wrong}");
    }
}
