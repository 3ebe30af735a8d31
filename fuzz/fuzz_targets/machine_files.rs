//! The files of a recorded machine: a line `== PATH`, then what is in that file; or `-> PATH TARGET` for a link.

#![no_main]

use firsttouch_fuzz::Bound;
use firsttouch_linux::root::Root;
use firsttouch_linux::tree::Tree;
use firsttouch_machine::{Machine, StatusReport};
use firsttouch_report::picture;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

/// A list of CPUs may name every CPU in a few bytes, and several files tell of the same ones.
const BOUND: Bound = Bound { fixed: 16 << 20, per_byte: 4096 };
const WIDTH: usize = 100;

fn tree(text: &str) -> Tree {
    let mut tree = Tree::new();
    for file in text.split("== ") {
        let (path, contents) = file.split_once('\n').unwrap_or((file, ""));
        let path = Path::new(path);
        if path.file_name().is_some() {
            let link = contents.strip_prefix("-> ").map(str::trim_end);
            // A path that no file of /proc and /sys has is left out.
            let _ = match link {
                Some(target) => tree.add_link(path, Path::new(target)),
                None => tree.add_file(path, contents.as_bytes().to_vec()),
            };
        }
    }
    tree
}

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let root = Root::of_tree("fuzz", tree(&text));
    if let Ok(machine) = BOUND.hold(input.len(), || Machine::examine(&root)) {
        let _ = picture::text(&machine, WIDTH);
        let _ = StatusReport::of(machine);
    }
});
