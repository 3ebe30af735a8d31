//! A container's share: a control group that allows some CPUs and some nodes.

use crate::bench::{Setting, Test, command, program};
use crate::counts::{counts, only, succeeded};
use firsttouch_lab::{Cpuset, Ending};
use serde_json::{Value, json};

fn second_node() -> Cpuset {
    Cpuset { cpus: Some("2-3".to_owned()), nodes: Some("1".to_owned()) }
}

pub(crate) fn tests() -> Vec<Test> {
    let setting = || Setting::of("two-node");
    let stays = Test::new(
        "a container's pages stay on its nodes",
        setting(),
        vec![program("policy", "none - 16 small").cpuset(second_node())],
        |_, ran| assert_eq!(counts(&ran[0], "pages"), only(1, 16 * 256)),
    );
    let refused = Test::new(
        "a container cannot bind to a node that is not its own",
        setting(),
        vec![program("policy", "bind 0 16 small").cpuset(second_node())],
        |_, ran| {
            assert_eq!(ran[0].finished.ending, Ending::Exited(1), "{ran:?}");
            assert!(ran[0].stderr.contains("set_mempolicy: Invalid argument"), "{ran:?}");
        },
    );
    let told = Test::new(
        "status in a container tells its share",
        setting(),
        vec![command(&["firsttouch", "status", "--json"]).cpuset(second_node())],
        |_, ran| {
            succeeded(&ran[0]);
            let status: Value = serde_json::from_str(&ran[0].stdout).unwrap();
            let limits = &status["machine"]["limits"];
            assert_eq!(limits["allowed_cpus"], json!([2, 3]), "{limits}");
            assert_eq!(limits["allowed_nodes"], json!([1]), "{limits}");
        },
    );
    vec![stays, refused, told]
}
