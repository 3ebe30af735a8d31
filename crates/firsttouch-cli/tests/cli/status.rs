//! `status`: the keys that are a contract.

use crate::{assert_code, json, run, stderr, stdout};

#[test]
fn the_document_has_its_keys() {
    let output = run(&["status", "--json"]);
    assert_code(&output, 0);
    let document = json(&stdout(&output));
    assert_eq!(document["schema_version"], 1);
    for key in ["cpus", "cores", "packages", "nodes", "caches", "tiers", "devices", "pools"] {
        assert!(document["machine"][key].is_array(), "machine.{key}");
    }
    assert!(document["machine"]["thp"].is_object());
    assert!(!document["can"].as_array().unwrap().is_empty());
}

#[test]
fn people_get_text() {
    let output = run(&["status"]);
    assert_code(&output, 0);
    assert!(!output.stdout.is_empty());
    assert!(!stdout(&output).contains('\u{1b}'), "no colour in a pipe");
}

#[test]
fn a_folder_that_is_no_machine_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    for root in ["/no/such/folder", empty.path().to_str().unwrap()] {
        let output = run(&["status", "--root", root]);
        assert_code(&output, 1);
        assert!(stderr(&output).contains(root), "{}", stderr(&output));
    }
}
