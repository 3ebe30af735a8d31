//! Regions of the library where there are two nodes: policies, growth, copies on every node, memory shared by processes.
//!
//! What runs in the guest is this very program: [`in_guest`] is its other face.

use crate::bench::{Setting, Test, workshop};
use crate::counts::{Counts, assert_shares, counts, only, succeeded};
use crate::own_program::own_program;
use crate::{graphs, runtime};
use firsttouch_lab::{Collected, Command, Description, Release};
use firsttouch_linux::numa::{self, CpuBits};
use firsttouch_memory::{
    Growth, NodePolicy, Pages, Reason, Region, RegionReceipt, Replicated, SharedRegion, Shares,
};
use std::env;
use std::ffi::OsString;
use std::process::{self, ExitCode};
use std::thread;

/// The first word of the command line in the guest.
pub(crate) const WORD: &str = "in-guest";
const MIB: usize = 1 << 20;
/// Small pages of a MiB.
const PAGES: u64 = 256;

pub(crate) fn tests() -> Vec<Test> {
    let each = |release: Release| [policies, growth, replicated, no_room, shared].map(|test| test(release));
    let mut tests: Vec<Test> = Release::ALL.into_iter().flat_map(each).collect();
    tests.push(weighted());
    tests
}

/// A test on the machine of two nodes with that kernel.
fn test(
    name: &str,
    release: Release,
    commands: Vec<Command>,
    check: impl Fn(&Description, &[Collected]) + 'static,
) -> Test {
    Test::new(
        format!("{name} (Linux {release})"),
        Setting { release, ..Setting::of("two-node") },
        commands,
        check,
    )
}

/// This program, in the guest.
pub(crate) fn ours(words: &[&str]) -> Command {
    let words = [WORD].iter().chain(words).map(OsString::from);
    Command::new([own_program(&workshop()).into_os_string()].into_iter().chain(words))
}

fn policies(release: Release) -> Test {
    let commands =
        ["local", "bind", "prefer", "interleave", "blocks"].map(|policy| ours(&["policy", policy]));
    test("a region's pages come from the nodes it names", release, commands.to_vec(), |_, ran| {
        let pages = |index: usize| counts(&ran[index], "pages");
        // On a CPU of node 1.
        assert_eq!(pages(0), only(1, 16 * PAGES));
        assert_eq!(pages(1), only(1, 16 * PAGES));
        assert_eq!(pages(2), only(1, 16 * PAGES));
        assert_shares(&pages(3), &[(0, 1), (1, 1)]);
        assert_eq!(pages(4), Counts::from([(0, 8 * PAGES), (1, 8 * PAGES)]));
        for one in ran {
            assert_eq!(counts(one, "shortfalls"), Counts::new(), "{one:?}");
        }
        let half = |word: &str| counts(&ran[4], word);
        assert_eq!((half("first"), half("last")), (only(0, 8 * PAGES), only(1, 8 * PAGES)));
    })
}

fn weighted() -> Test {
    let commands = vec![ours(&["policy", "weighted"])];
    test("a region's weights are its own", Release::V6_12, commands, |_, ran| {
        // Three blocks of 2 MiB and one, in turn.
        assert_eq!(counts(&ran[0], "pages"), Counts::from([(0, 12 * PAGES), (1, 4 * PAGES)]));
    })
}

fn growth(release: Release) -> Test {
    let commands = vec![ours(&["grow"])];
    test("a region that moves keeps its pages and its policy", release, commands, |_, ran| {
        assert_eq!(counts(&ran[0], "before"), only(1, 8 * PAGES));
        assert_eq!(counts(&ran[0], "after"), only(1, 24 * PAGES));
    })
}

fn replicated(release: Release) -> Test {
    let commands = vec![ours(&["replicated"])];
    test("every thread reads the copy of its own node", release, commands, |_, ran| {
        succeeded(&ran[0]);
        assert_eq!(counts(&ran[0], "pages"), Counts::from([(0, 4 * PAGES), (1, 4 * PAGES)]));
        // The node of what each thread read, by the node it ran on.
        assert_eq!(counts(&ran[0], "read"), Counts::from([(0, 0), (1, 1)]));
    })
}

fn no_room(release: Release) -> Test {
    let commands = vec![ours(&["no-room"])];
    test("where a node has no room there is one copy, and the reason", release, commands, |_, ran| {
        succeeded(&ran[0]);
        assert!(ran[0].stdout.contains("reason node-full\n"), "{ran:?}");
    })
}

fn shared(release: Release) -> Test {
    let commands = vec![ours(&["shared"])];
    test("two processes share memory that lies on two nodes", release, commands, |_, ran| {
        succeeded(&ran[0]);
        for whose in ["ours", "theirs"] {
            let pages = counts(&ran[0], whose);
            assert_eq!(pages.values().sum::<u64>(), 8 * PAGES, "{whose}");
            assert_shares(&pages, &[(0, 1), (1, 1)]);
        }
    })
}

/// What the commands above do where they run.
pub(crate) fn in_guest(words: &[String]) -> ExitCode {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["policy", policy] => show_policy(policy),
        ["grow"] => show_growth(),
        ["replicated"] => show_copies(),
        ["no-room"] => show_no_room(),
        ["shared"] => share(),
        ["share-with", process, descriptor] => {
            take_part(process.parse().unwrap(), descriptor.parse().unwrap())
        }
        _ if runtime::in_guest(&words).is_some() => {}
        _ if graphs::in_guest(&words).is_some() => {}
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

fn bind_to_cpu(cpu: u32) {
    numa::set_affinity(0, &CpuBits::of(&[cpu]).unwrap()).unwrap();
}

fn print_nodes(word: &str, receipt: &RegionReceipt) {
    let nodes: Vec<String> =
        receipt.bytes_by_node().unwrap().map(|(node, bytes)| format!("{node}:{}", bytes / 4096)).collect();
    println!("{word} {}", nodes.join(" "));
}

fn show_policy(policy: &str) {
    bind_to_cpu(if policy == "local" { 2 } else { 0 });
    let wish = Region::of(16 * MIB).pages(Pages::Base).prefault();
    let wish = match policy {
        "local" => wish.memory(NodePolicy::Local),
        "bind" => wish.bind(&[1]),
        "prefer" => wish.prefer(&[1]),
        "interleave" => wish.interleave(&[0, 1]),
        "blocks" => wish.memory(NodePolicy::Blocks(numa::NodeBits::of(&[0, 1]).unwrap())),
        _ => wish.weighted(Shares::of(&[(0, 3), (1, 1)]).unwrap()),
    };
    let region = wish.map().unwrap();
    let receipt = region.receipt();
    print_nodes("pages", &receipt);
    print_nodes("first", &region.receipt_of(0..8 * MIB));
    print_nodes("last", &region.receipt_of(8 * MIB..16 * MIB));
    // As counts, so that none is an empty line.
    let shortfalls: Vec<String> =
        receipt.shortfalls().map(|(reason, bytes)| format!("{}:{bytes}", reason as u8)).collect();
    println!("shortfalls {}", shortfalls.join(" "));
}

fn show_growth() {
    bind_to_cpu(0);
    // The kernel maps downwards: what comes later has this behind it.
    let _behind = Region::of(MIB).pages(Pages::Base).map().unwrap();
    let mut region = Region::of(8 * MIB).pages(Pages::Base).bind(&[1]).prefault().map().unwrap();
    print_nodes("before", &region.receipt());
    region.as_mut_slice().fill(7);
    assert_eq!(region.grow(24 * MIB), Ok(Growth::Moved));
    let (old, new) = region.as_slice().split_at(8 * MIB);
    assert!(old.iter().all(|byte| *byte == 7) && new.iter().all(|byte| *byte == 0));
    print_nodes("after", &region.receipt());
}

fn node_of(memory: &[u64]) -> u32 {
    numa::node_of(memory.as_ptr() as usize).unwrap()
}

fn show_copies() {
    let data: Vec<u64> = (0..4 * MIB as u64 / 8).collect();
    let copies = Replicated::new(Region::of(0).pages(Pages::Base), &data, &[]).unwrap();
    assert_eq!(copies.shortfall(), None);
    print_nodes("pages", &copies.receipt());
    let read: Vec<String> = thread::scope(|scope| {
        let threads = [0, 2].map(|cpu| {
            let (copies, data) = (&copies, &data);
            scope.spawn(move || {
                bind_to_cpu(cpu);
                let mine = copies.local();
                assert_eq!(mine, *data);
                format!("{}:{}", cpu / 2, node_of(mine))
            })
        });
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    println!("read {}", read.join(" "));
}

fn show_no_room() {
    // Node 1 has 384 MiB, less what the kernel took of it.
    let _guest = Region::of(330 * MIB).pages(Pages::Base).prefer(&[1]).prefault().map().unwrap();
    let data = vec![3_u64; 64 * MIB / 8];
    let copies = Replicated::new(Region::of(0).pages(Pages::Base), &data, &[0, 1]).unwrap();
    assert!(copies.local() == data && copies.on(1) == data && copies.nodes().count() == 0);
    println!("reason {}", copies.shortfall().map_or("none", Reason::word));
}

fn share() {
    bind_to_cpu(0);
    let mut table = Region::of(8 * MIB).pages(Pages::Base).interleave(&[0, 1]).map_shared().unwrap();
    for (index, number) in table.as_mut_slice().unwrap().as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *number = (index as u64).to_ne_bytes();
    }
    print_nodes("ours", &table.receipt());
    table.freeze().unwrap();
    let words = [process::id().to_string(), table.descriptor().to_string()];
    let other =
        process::Command::new(env::current_exe().unwrap()).args([WORD, "share-with"]).args(words).status();
    assert!(other.unwrap().success());
}

fn take_part(owner: u32, descriptor: u32) {
    bind_to_cpu(2);
    let table = SharedRegion::open(owner, descriptor).unwrap();
    let (numbers, _) = table.as_slice().unwrap().as_chunks::<8>();
    assert!(numbers.iter().enumerate().all(|(index, number)| u64::from_ne_bytes(*number) == index as u64));
    print_nodes("theirs", &table.receipt());
}
