//! `firsttouch watch`: pages and threads are seen where they are, on either node.

use crate::bench::{Setting, Test, placed, shell, words_of};
use crate::placed::receipt;
use firsttouch_lab::{Collected, Command, Release};
use serde_json::Value;

const MIB: u64 = 1 << 20;

pub(crate) fn tests() -> Vec<Test> {
    // The older kernels tell by their own walks, the newest is asked in pieces.
    let on = |release| Setting { release, ..Setting::of("two-node") };
    Release::ALL.into_iter().map(|release| sees(on(release))).chain([hidden(on(Release::V6_1))]).collect()
}

fn samples(one: &Collected) -> Vec<Value> {
    let lines = one.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.filter(|line: &Value| line["kind"] == "watch-sample").collect()
}

/// Linux 6.1 leaves huge pages out of `smaps` that it watches; older and newer kernels do not.
fn hidden(setting: Setting) -> Test {
    let commands = vec![placed("", "hidden", ""), shell("echo 0 > /proc/sys/kernel/numa_balancing")];
    let name = "huge pages that the kernel watches to balance nodes are huge pages in receipts and samples (Linux 6.1)";
    Test::new(name, setting, commands, |_, ran| {
        let (receipt, is_all) = (receipt(&ran[0]), |bytes: &Value| bytes.as_u64() >= Some(64 * MIB));
        for sizes in ["bytes_by_page_size", "process_bytes_by_page_size"] {
            assert!(is_all(&receipt["obtained"][sizes]["2097152"]), "{sizes}: {receipt:#}");
        }
        assert!(is_all(&receipt["tree"]["at_peak"]["placed"]["huge_bytes"]), "{receipt:#}");
        let sample = &samples(&ran[0])[0];
        assert!(is_all(&sample["memory"]["huge_bytes"]), "{sample:#}");
        assert!(is_all(&sample["memory"]["bytes_by_page_size"]["2097152"]), "{sample:#}");
    })
}

fn sees(setting: Setting) -> Test {
    let run = Command::new(words_of("watched", ""));
    let name = format!("watch sees pages and a thread go to another node (Linux {})", setting.release);
    Test::new(name, setting, vec![run], |_, ran| {
        let samples = samples(&ran[0]);
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
