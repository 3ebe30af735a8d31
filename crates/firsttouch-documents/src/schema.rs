//! The JSON Schema of each kind is a file (`schemas/KIND.json`), so that who reads documents needs nothing that makes schemas. Here
//! they are held to the types.

use crate::{Kind, SCHEMA_VERSION};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The schema of a type, as it is written.
pub(crate) fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// The schema of a kind with the two keys that every document begins with.
fn text(kind: Kind) -> String {
    let mut schema = kind.schema_of_type();
    let head =
        [("kind", json!({"const": kind.word()})), ("schema_version", json!({"const": SCHEMA_VERSION}))];
    schema.insert("title".to_owned(), json!(format!("firsttouch {kind}")));
    for (key, value) in head {
        let properties = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            properties.insert(key.to_owned(), value);
        }
        let required = schema.ensure_object().entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required {
            required.push(json!(key));
        }
    }
    let mut text = serde_json::to_string(&schema).unwrap();
    text.push('\n');
    text
}

#[test]
fn the_files_are_what_the_types_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    for kind in Kind::ALL {
        let text = text(*kind);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(folder.join(format!("{kind}.json")), &text).unwrap();
        } else {
            assert_eq!(
                kind.schema(),
                text,
                "{kind}: UPDATE_EXPECT=1 cargo test -p firsttouch-documents writes it anew"
            );
        }
    }
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    for file in files {
        assert!(Kind::parse(file.trim_end_matches(".json")).is_some(), "there is no kind of {file}");
    }
}
