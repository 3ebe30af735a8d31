//! The kernel's policies: where pages come to lie on first touch, when a node is full, and when they are moved.

use crate::bench::{Setting, Test, program, shell};
use crate::counts::{Counts, assert_shares, counts, only};
use firsttouch_lab::Ending;

/// Pages of a MiB.
const MIB: u64 = 256;

pub(crate) fn tests() -> Vec<Test> {
    let mut tests = policies();
    tests.extend(huge());
    tests.extend(full());
    tests.extend([migration(), weighted(), weighted_huge()]);
    tests
}

/// Machine, name, policy, the CPU it runs on, and the shares that 16 MiB must come to lie in.
type Case = (&'static str, &'static str, &'static str, u32, &'static [(u32, u64)]);

fn policies() -> Vec<Test> {
    let cases: [Case; 8] = [
        ("two-node", "local on the second package", "local -", 2, &[(1, 1)]),
        ("two-node", "none, so local", "none -", 3, &[(1, 1)]),
        ("two-node", "bind to the other node", "bind 1", 0, &[(1, 1)]),
        ("two-node", "prefer the other node", "prefer 1", 0, &[(1, 1)]),
        ("two-node", "interleave", "interleave 0-1", 0, &[(0, 1), (1, 1)]),
        ("istanbul", "interleave over all", "interleave 0-3", 7, &[(0, 1), (1, 1), (2, 1), (3, 1)]),
        ("istanbul", "interleave over some", "interleave 1,3", 0, &[(1, 1), (3, 1)]),
        ("istanbul", "prefer many takes the nearest of them", "prefer-many 1,3", 0, &[(1, 1)]),
    ];
    let test =
        |(machine, name, policy, cpu, shares): (&'static str, &str, &str, u32, &'static [(u32, u64)])| {
            let run = program("policy", &format!("{policy} 16 small {cpu}"));
            Test::new(
                format!("policy: {name} ({machine})"),
                Setting::of(machine),
                vec![run],
                move |_, ran| {
                    let pages = counts(&ran[0], "pages");
                    assert_eq!(pages.values().sum::<u64>(), 16 * MIB);
                    assert_shares(&pages, shares);
                },
            )
        };
    cases.into_iter().map(test).collect()
}

/// A huge page is one step of interleaving and lies on one node.
fn huge() -> Vec<Test> {
    let setting = || Setting::of("two-node");
    let interleaved = Test::new(
        "huge pages interleave page by page, each on one node",
        setting(),
        vec![program("policy", "interleave 0-1 64 huge")],
        |_, ran| {
            assert!(ran[0].stdout.starts_with("huge 32\n"), "{ran:?}");
            let blocks = counts(&ran[0], "blocks");
            assert_eq!(blocks.values().sum::<u64>(), 32);
            assert!(blocks.values().all(|count| count.abs_diff(16) <= 1), "{blocks:?}");
        },
    );
    let bound = Test::new(
        "huge pages are bound as small ones are",
        setting(),
        vec![program("policy", "bind 1 64 huge 0")],
        |_, ran| {
            assert!(ran[0].stdout.starts_with("huge 32\n"), "{ran:?}");
            assert_eq!(counts(&ran[0], "blocks"), only(1, 32));
        },
    );
    vec![interleaved, bound]
}

/// Node 3 of `istanbul` has 256 MiB and asks for 320 MiB are made of it.
fn full() -> Vec<Test> {
    let all = 320 * MIB;
    let spilled = move |pages: &Counts| {
        assert_eq!(pages.values().sum::<u64>(), all);
        assert!(pages[&3] > 160 * MIB, "{pages:?}");
        // Nodes 1 and 2 are one link away, node 0 two.
        assert!(pages.get(&0).is_none_or(|far| *far < MIB), "{pages:?}");
    };
    let spill = |name: &str, policy: &str| {
        let run = program("policy", &format!("{policy} 320 small 18"));
        Test::new(name, Setting::of("istanbul"), vec![run], move |_, ran| spilled(&counts(&ran[0], "pages")))
    };
    let bound = Test::new(
        "a full node that is bound to ends the program",
        Setting::of("istanbul"),
        vec![program("policy", "bind 3 320 small 18")],
        |_, ran| assert_eq!(ran[0].finished.ending, Ending::Signaled(9), "{ran:?}"),
    );
    let pair = Test::new(
        "a full node that is bound to with another spills to that one",
        Setting::of("istanbul"),
        vec![program("policy", "bind 0,3 320 small 18")],
        move |_, ran| {
            let pages = counts(&ran[0], "pages");
            assert_eq!(pages.values().sum::<u64>(), all);
            assert!(pages[&3] > 160 * MIB && pages.keys().all(|node| [0, 3].contains(node)), "{pages:?}");
        },
    );
    vec![
        spill("a full node that is preferred spills to the nearest", "prefer 3"),
        spill("a full local node spills to the nearest", "local -"),
        bound,
        pair,
    ]
}

fn migration() -> Test {
    let run = program("migrate", "0 1");
    Test::new("pages are moved, one by one and all at once", Setting::of("two-node"), vec![run], |_, ran| {
        assert_eq!(counts(&ran[0], "before"), only(0, 8 * MIB));
        assert_eq!(counts(&ran[0], "moved"), only(1, 8 * MIB));
        assert_eq!(counts(&ran[0], "back"), only(0, 8 * MIB));
    })
}

const WEIGHTS: &str = "/sys/kernel/mm/mempolicy/weighted_interleave";

fn weighted() -> Test {
    let weights = [(0, 5), (1, 2), (2, 1)];
    let set = weights.map(|(node, weight)| format!("echo {weight} > {WEIGHTS}/node{node}")).join(" && ");
    let commands = vec![shell(&set), program("policy", "weighted 0-2 32 small 0")];
    Test::new("weighted interleaving by small pages", Setting::of("cxl").newer(), commands, move |_, ran| {
        assert_shares(&counts(&ran[1], "pages"), &weights);
    })
}

fn weighted_huge() -> Test {
    let set = format!("echo 3 > {WEIGHTS}/node0 && echo 1 > {WEIGHTS}/node1");
    let commands = vec![shell(&set), program("policy", "weighted 0-1 64 huge 0")];
    Test::new("weighted interleaving by huge pages", Setting::of("cxl").newer(), commands, |_, ran| {
        let blocks = counts(&ran[1], "blocks");
        assert!(blocks[&0].abs_diff(24) <= 3 && blocks[&1].abs_diff(8) <= 3, "{blocks:?}");
    })
}
