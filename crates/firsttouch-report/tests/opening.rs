//! What `report FILE` says about files that are no documents of a session.

mod common;

use firsttouch_report::{OpenError, json, open};

fn message(text: &str) -> String {
    open(text).expect_err("no document").to_string()
}

#[test]
fn other_documents_are_called_by_their_name() {
    for (text, found) in [
        (r#"{"schema_version": 1, "asked": {}, "obtained": null}"#, "a receipt"),
        (r#"{"schema_version": 1, "machine": {}, "can": []}"#, "status --json"),
        (r#"{"results": []}"#, "another benchmark program"),
        (r#"{"x": 1}"#, "some other JSON"),
        ("[1, 2]", "a bare JSON value"),
    ] {
        assert!(message(text).contains(found), "{}", message(text));
    }
}

#[test]
fn damaged_documents_say_where() {
    let whole = json::tune(&common::usual());
    assert!(matches!(open(&whole[..whole.len() / 2]), Err(OpenError::Truncated { line }) if line > 10));
    assert!(matches!(open(" \n"), Err(OpenError::Empty)));
    assert!(matches!(open("PK\u{3}\u{4}"), Err(OpenError::NotJson(_))));
    let odd = whole.replacen("\"seed\": 42", "\"seed\": \"42\"", 1);
    match open(&odd) {
        Err(OpenError::Shape(error)) => assert!(error.to_string().contains("line"), "{error}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_version_is_refused_by_number() {
    let newer = json::tune(&common::usual()).replacen("\"schema_version\": 1", "\"schema_version\": 9", 1);
    assert!(matches!(open(&newer), Err(OpenError::Version { found: 9 })));
    assert!(message(&newer).contains("schema_version 9"));
    let none = json::tune(&common::usual()).replacen("\"schema_version\": 1,", "", 1);
    assert!(matches!(open(&none), Err(OpenError::Shape(_))));
}

#[test]
fn a_byte_order_mark_is_no_obstacle() {
    let report = common::undecided();
    assert_eq!(open(&format!("\u{feff}{}", json::tune(&report))).unwrap(), report);
}
