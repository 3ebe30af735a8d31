//! The file that keeps measurements.

#[path = "../../firsttouch-machine/tests/written/mod.rs"]
mod written;

use firsttouch_documents::{
    AnyDocument, MeasurementError, load_measurement, open, save_measurement, to_json,
};
use firsttouch_machine::Measurement;
use std::fs;
use written::measured::{measured, nothing, three_nodes};

#[test]
fn a_file_keeps_one_measurement_for_each_machine() {
    let (one, other) = (three_nodes("One"), three_nodes("Other"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/measured.json");
    assert_eq!(load_measurement(&path, &one).unwrap(), None);
    let (first, second) = (measured(&one, nothing()), measured(&other, nothing()));
    save_measurement(&first, &path).unwrap();
    save_measurement(&second, &path).unwrap();
    let newer = Measurement { date: "2027-01-01T00:00:00Z".to_owned(), ..first };
    save_measurement(&newer, &path).unwrap();
    assert_eq!(load_measurement(&path, &one).unwrap(), Some(newer));
    assert_eq!(load_measurement(&path, &other).unwrap(), Some(second));
    let AnyDocument::Measurements(kept) = open(&fs::read_to_string(&path).unwrap()).unwrap() else {
        panic!()
    };
    assert_eq!(kept.measurements.len(), 2);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn a_single_document_reads_as_a_file() {
    let machine = three_nodes("One");
    let measurement = measured(&machine, nothing());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("measured.json");
    fs::write(&path, to_json(&measurement)).unwrap();
    assert_eq!(load_measurement(&path, &machine).unwrap(), Some(measurement));
}

#[test]
fn what_is_no_measurement_is_refused_and_left_alone() {
    let machine = three_nodes("One");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("measured.json");
    let newer =
        to_json(&measured(&machine, nothing())).replace("\"schema_version\": 1", "\"schema_version\": 2");
    for content in ["", "{", "[1]", "{\"schema_version\":1}", &newer] {
        fs::write(&path, content).unwrap();
        assert!(matches!(load_measurement(&path, &machine), Err(MeasurementError::Open { .. })), "{content}");
        save_measurement(&measured(&machine, nothing()), &path).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}
