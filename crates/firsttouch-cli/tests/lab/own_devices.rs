//! `attach --near-own-devices`: a running process goes where its disks and cards are.

use crate::bench::{Setting, Test, program};
use crate::counts::{Counts, counts, only};
use firsttouch_lab::Collected;
use serde_json::Value;

/// Pages of 16 MiB.
const PAGES: u64 = 4096;

pub(crate) fn tests() -> Vec<Test> {
    let goes = |name: &str, uses: &'static str, devices: &'static [&'static str]| {
        Test::new(name, Setting::of("devices"), vec![run(uses)], move |_, ran| {
            assert!(ran[0].stdout.contains("attach exited with 0"), "{:?}", ran[0]);
            assert_eq!(counts(&ran[0], "pages"), only(1, PAGES));
            assert_eq!(counts(&ran[0], "cpus"), Counts::from([(2, 1), (3, 1)]));
            let own = document(&ran[0])["own_devices"]["devices"].clone();
            let own: Vec<&Value> = own.as_array().unwrap().iter().collect();
            for (device, wanted) in own.iter().zip(devices) {
                assert!(device["how"][0].as_str().unwrap().contains(wanted), "{own:?}");
                assert_eq!(device["nodes"], serde_json::json!([1]), "{own:?}");
            }
            assert_eq!(own.len(), devices.len(), "{own:?}");
        })
    };
    let stays = Test::new(
        "attach --near-own-devices does not choose between disks on two nodes",
        Setting::of("devices"),
        vec![run("disk0 disk1")],
        |_, ran| {
            assert!(ran[0].stdout.contains("attach exited with 125"), "{:?}", ran[0]);
            assert_eq!(counts(&ran[0], "pages"), only(0, PAGES));
            assert_eq!(counts(&ran[0], "cpus"), Counts::from([(0, 1), (1, 1)]));
            let said = &ran[0].stderr;
            assert!(
                said.contains("on node 0 (open device /dev/nvme") && said.contains("on node 1"),
                "{said}"
            );
            assert!(said.contains("--node NODE"), "{said}");
        },
    );
    let majority = Test::new(
        "attach --near-own-devices goes to the node with most devices",
        Setting::of("devices"),
        vec![run("disk0 disk1 card")],
        |_, ran| {
            assert_eq!(counts(&ran[0], "pages"), only(1, PAGES));
            assert_eq!(counts(&ran[0], "cpus"), Counts::from([(2, 1), (3, 1)]));
            let notes = document(&ran[0])["notes"].to_string();
            assert!(notes.contains("2 of its 3 devices are next to node 1"), "{notes}");
        },
    );
    vec![
        goes("attach --near-own-devices goes to the disk", "disk1", &["open device /dev/nvme"]),
        goes("attach --near-own-devices goes to the card", "card", &["listening on 10.7.7.7 UDP port 7777"]),
        majority,
        stays,
    ]
}

fn run(uses: &str) -> firsttouch_lab::Command {
    program("own_devices", uses).env("XDG_STATE_HOME", "/tmp").copy_out("attach.json")
}

fn document(one: &Collected) -> Value {
    let file = one.finished.files.iter().find(|file| file.path.to_str() == Some("attach.json"));
    serde_json::from_slice(&file.unwrap_or_else(|| panic!("no document: {one:?}")).contents).unwrap()
}
