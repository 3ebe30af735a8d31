//! `firsttouch watch`: pages and threads are seen where they are, on either node.

use crate::bench::{Setting, Test, words_of};
use firsttouch_lab::{Command, Release};
use serde_json::Value;

const MIB: u64 = 1 << 20;

pub(crate) fn tests() -> Vec<Test> {
    // The older kernels tell by their own walks, the newest is asked in pieces.
    Release::ALL.into_iter().map(|release| sees(Setting { release, ..Setting::of("two-node") })).collect()
}

fn sees(setting: Setting) -> Test {
    let run = Command::new(words_of("watched", ""));
    let name = format!("watch sees pages and a thread go to another node (Linux {})", setting.release);
    Test::new(name, setting, vec![run], |_, ran| {
        let lines = ran[0].stdout.lines().map(|line| serde_json::from_str(line).unwrap());
        let samples: Vec<Value> = lines.filter(|line: &Value| line["kind"] == "watch-sample").collect();
        assert_eq!(samples.len(), 2, "{ran:?}");
        let on = |sample: &Value, node: &str| sample["memory"]["bytes_by_node"][node].as_u64().unwrap_or(0);
        // What belongs to the program's files lies anywhere, and the kernel's own count lags behind.
        assert!(on(&samples[0], "1") >= 15 * MIB && on(&samples[0], "0") < 4 * MIB, "{samples:?}");
        assert!(on(&samples[1], "1") < 12 * MIB && on(&samples[1], "0") >= 7 * MIB, "{samples:?}");
        let by_node = |sample: &Value| sample["threads"]["by_node"].clone();
        assert_eq!(by_node(&samples[0]), serde_json::json!({"1": 1}));
        assert_eq!(by_node(&samples[1]), serde_json::json!({"0": 1}));
        assert_eq!(samples[0]["machine"]["free_bytes_by_node"].as_object().unwrap().len(), 2);
    })
}
