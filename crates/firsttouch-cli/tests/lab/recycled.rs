//! Memory that the agent recycles lies where its next owner would have got new memory.

use crate::bench::{RECEIPT, Setting, Test, placed, program, words_of};
use crate::counts::{Counts, counts, only};
use crate::placed::receipt;
use firsttouch_lab::{Collected, Command, Release};
use std::ffi::OsString;

/// Whole huge pages of a block of the test program's, and of a small one.
const BLOCKS: u64 = 23;
const SMALL: u64 = 3;

pub(crate) fn tests() -> Vec<Test> {
    let on = |release| Setting { release, ..Setting::of("two-node") };
    let mut tests: Vec<Test> = Release::ALL
        .into_iter()
        .flat_map(|release| {
            ["thp", "4k"].map(|pages| {
                let commands =
                    vec![program("recycled", ""), placed(&format!("--pages {pages}"), "recycled", "")];
                let name = format!(
                    "blocks on {pages} pages that serve again lie where they are touched (Linux {release})"
                );
                Test::new(name, on(release), commands, |_, ran| {
                    let [alone, placed] = ran else { panic!("{ran:?}") };
                    lie_as_alone(alone);
                    lie_as_alone(placed);
                    assert_eq!(counts(placed, "small"), only(0, SMALL));
                    assert_eq!(counts(placed, "elsewhere"), only(1, SMALL));
                })
            })
        })
        .collect();
    tests.extend(Release::ALL.map(|release| {
        let run = placed("", "recycled", "serial");
        let name =
            format!("blocks serve again where their program touches each on one node (Linux {release})");
        Test::new(name, on(release), vec![run], |_, ran| {
            assert_eq!(counts(&ran[0], "serial"), only(0, BLOCKS));
            // 23 of the 40, and `stayed` where `moved` was.
            assert!(recycled(&ran[0]) >= 24 * (46 << 20), "{ran:?}");
            assert_eq!(
                [counts(&ran[0], "moved"), counts(&ran[0], "stayed")],
                [only(1, BLOCKS), only(1, BLOCKS)]
            );
        })
    }));
    // Of the first there is nothing yet by which to know who will touch it.
    for (what, created, seen) in [("phases", "created for that", "second"), ("team", "there before", "late")]
    {
        tests.extend(Release::ALL.map(|release| {
            let run = placed("", "recycled", what);
            let name = format!(
                "blocks that serve again are new once their program touches them by threads {created} (Linux {release})"
            );
            Test::new(name, on(release), vec![run], |_, ran| {
                assert_eq!(counts(&ran[0], "serial"), only(0, BLOCKS));
                assert!(recycled(&ran[0]) >= 3 * (46 << 20), "{ran:?}");
                are_halves(&counts(&ran[0], seen));
            })
        }));
    }
    tests.extend(["bind=1", "interleave=all"].map(|memory| {
        let run = placed(&format!("--memory {memory}"), "recycled", "under-policy");
        let name = format!("blocks serve again under --memory {memory}, also those of threads");
        Test::new(name, on(Release::default()), vec![run], |_, ran| {
            assert_eq!(counts(&ran[0], "halves").values().sum::<u64>(), BLOCKS);
            assert!(recycled(&ran[0]) >= 2 * (46 << 20), "{ran:?}");
        })
    }));
    // The kernel that was seen to take what a program has written to since MADV_FREE.
    tests.push(Test::new(
        "blocks keep what is in them where memory is short and nodes are balanced",
        on(Release::V6_12),
        vec![placed("", "pressure", "")],
        |_, ran| assert!(counts(&ran[0], "kept")[&0] > 0, "{ran:?}"),
    ));
    tests.extend(Release::ALL.map(|release| {
        let name = format!(
            "what is held for reuse is not offered to the kernel that balances nodes (Linux {release})"
        );
        Test::new(name, on(release), vec![placed("", "recycled", "held")], |_, ran| {
            assert_eq!(counts(&ran[0], "lazily-freed-kib"), only(0, 0));
            assert!(receipt(&ran[0])["obtained"]["held_bytes"].as_u64().unwrap() >= 24 << 20, "{ran:?}");
        })
    }));
    tests.extend(Release::ALL.map(|release| {
        let commands = [filtered(&[], ""), filtered(&["firsttouch", "run", "--prefault", "--"], "serial")];
        let name = format!("a filter that ends who asks where memory lies leaves blocks where they are touched (Linux {release})");
        let placed = filtered(&["firsttouch", "run", "--receipt", RECEIPT, "--"], "").copy_out(RECEIPT);
        Test::new(name, on(release), [vec![placed], commands.to_vec()].concat(), |_, ran| {
            let [placed, alone, prefaulted] = ran else { panic!("{ran:?}") };
            lie_as_alone(alone);
            lie_as_alone(placed);
            // Of what is smaller.
            assert!(recycled(placed) >= 6 << 20, "{placed:?}");
            assert_eq!(counts(prefaulted, "moved").values().sum::<u64>(), BLOCKS);
        })
    }));
    tests
}

/// The test program behind a filter that ends who asks where memory lies.
fn filtered(between: &[&str], arguments: &str) -> Command {
    let words = between.iter().map(OsString::from).chain(words_of("recycled", arguments));
    Command::new([words_of("filtered", ""), words.collect()].concat())
}

fn recycled(one: &Collected) -> u64 {
    receipt(one)["obtained"]["recycled_bytes"].as_u64().unwrap()
}

fn lie_as_alone(one: &Collected) {
    for (word, node) in [("first", 0), ("again", 0), ("moved", 1), ("bound", 1), ("default", 0)] {
        assert_eq!(counts(one, word), only(node, BLOCKS), "{word}: {one:?}");
    }
    for word in ["interleaved", "halves"] {
        are_halves(&counts(one, word));
    }
}

fn are_halves(blocks: &Counts) {
    let is_half = |node| blocks.get(&node).is_some_and(|count| (10..=13).contains(count));
    assert!(is_half(0) && is_half(1), "{blocks:?}");
}
