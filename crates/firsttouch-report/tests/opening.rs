//! What `report FILE` says about files that are no documents.

mod common;

use firsttouch_documents::{AnyDocument, Kind, OpenError as NotOpened, to_json};
use firsttouch_report::{Format, OpenError, Style, formats, json, open, show};

fn refused(text: &str) -> NotOpened {
    match open(text) {
        Err(OpenError::Document(error)) => {
            assert!(!error.hint().is_empty());
            error
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_document_is_known_by_its_kind_alone() {
    for text in [
        r#"{"schema_version": 1, "asked": {}, "obtained": null, "configurations": []}"#,
        r#"{"results": []}"#,
        "[1, 2]",
        "\"tune\"",
        r#"{"kind": 3}"#,
    ] {
        assert!(matches!(refused(text), NotOpened::NoHead { key: "kind" }), "{text}");
    }
    assert!(matches!(refused(r#"{"kind": "tune"}"#), NotOpened::NoHead { key: "schema_version" }));
    assert!(
        matches!(refused(r#"{"kind": "x", "schema_version": 1}"#), NotOpened::UnknownKind { found } if found == "x")
    );
}

#[test]
fn damaged_documents_say_where() {
    let whole = json::tune(&common::usual());
    assert!(matches!(refused(&whole[..whole.len() / 2]), NotOpened::Truncated { line } if line > 10));
    assert!(matches!(refused(" \n"), NotOpened::Empty));
    assert!(matches!(refused("PK\u{3}\u{4}"), NotOpened::NotJson(_)));
    let odd = whole.replacen("\"seed\": 42", "\"seed\": \"42\"", 1);
    match refused(&odd) {
        NotOpened::Shape { kind: Kind::Tune, source } => {
            assert!(source.to_string().contains("line"), "{source}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_version_is_refused_by_number() {
    let newer = json::tune(&common::usual()).replacen("\"schema_version\": 1", "\"schema_version\": 9", 1);
    let error = refused(&newer);
    assert!(matches!(error, NotOpened::Version { kind: Kind::Tune, found: 9 }));
    assert!(error.to_string().contains("the tune document has schema_version 9"), "{error}");
}

#[test]
fn a_byte_order_mark_is_no_obstacle() {
    let report = common::undecided();
    assert_eq!(common::session_of(&format!("\u{feff}{}", json::tune(&report))), report);
}

#[test]
fn a_document_has_the_formats_that_are_told() {
    let receipt = common::usual().configurations.into_iter().find_map(|one| one.obtained).unwrap();
    let documents = [
        AnyDocument::Tune(Box::new(common::usual())),
        AnyDocument::Receipt(Box::new(receipt)),
        AnyDocument::Recording(Box::new(common::recorded::two_nodes())),
        AnyDocument::Measurement(Box::new(common::measured::one_node())),
    ];
    assert!(!formats(&documents[0]).contains(&Format::Svg) && formats(&documents[1]).is_empty());
    for document in documents {
        for format in formats(&document) {
            let shown = show(&document, format).unwrap();
            assert!(!shown.is_empty(), "{} {format}", document.kind());
            if format == Format::Html {
                assert_eq!(open(&shown).unwrap(), document);
            }
        }
        assert!(
            show(&document, Format::Text { width: 80, style: Style::Plain })
                .is_some_and(|text| !text.is_empty())
        );
        assert_eq!(open(&show(&document, Format::Json).unwrap()).unwrap(), document);
    }
    assert!(to_json(&common::usual()).starts_with("{\n  \"kind\": \"tune\",\n  \"schema_version\": 1,\n"));
}
