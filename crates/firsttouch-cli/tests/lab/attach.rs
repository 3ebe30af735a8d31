//! `firsttouch attach` between nodes: the pages and threads of a program at work go where they are told and come back,
//! no byte is lost, and whoever is killed in the middle leaves nothing in disorder.

use crate::bench::{Setting, Test, compiled, program};
use crate::counts::{Counts, assert_shares, counts, succeeded};
use firsttouch_lab::{Collected, Cpuset, Release};
use serde_json::Value;

/// Pages of the program's table: 8 MiB.
const TABLE: u64 = 8 << 8;
/// An emulated processor says nothing about pauses.
const PATIENT: &str = "--budget-stall 2s";
/// How often somebody is killed: in an emulated processor a build for debugging takes seconds to start, and a hundred times
/// is for `cargo test --release -p firsttouch-cli --test lab -- dies killed`.
const KILLS: u64 = if cfg!(debug_assertions) { 12 } else { 100 };

pub(crate) fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = vec![
        journey("two-node", "--node 1", &[(1, 1)], "2-3"),
        journey("two-node", "--node 1 --pages thp", &[(1, 1)], "2-3"),
        journey("two-node", "--memory bind=1", &[(1, 1)], "0-3"),
        journey("two-node", "--memory interleave=all", &[(0, 1), (1, 1)], "0-3"),
        journey("two-node", "--memory bind=1 --threads 0", &[(1, 1)], "0"),
        journey("cxl", "--memory bind=2", &[(2, 1)], "0-3"),
        journey("cxl", "--node 2", &[(2, 1)], "0-3"),
    ];
    for setting in [Setting::of("two-node"), Setting::of("two-node").newer()] {
        tests.push(undone(&setting, "mixed", "--pages thp", |ran| {
            assert_eq!((at(ran, "before"), at(ran, "attached")), ([4, 2044], [0, 2048]), "{ran:?}");
            assert!(ran.stdout.contains("\"collapsed_bytes\": 8388608"), "{ran:?}");
            // A huge page has one node: it stays where most of it was.
            assert_eq!(at(ran, "undone"), [0, 2048], "{ran:?}");
        }));
        let both = Cpuset { nodes: Some("0-1".to_owned()), ..Cpuset::default() };
        let mut narrow = undone(&setting, "narrow", "--memory bind=1", |ran| {
            assert_eq!((at(ran, "attached"), at(ran, "undone")), ([0, 2048], [0, 2048]), "{ran:?}");
            assert!(ran.stdout.contains("cannot go back to node 0 while the cpuset"), "{ran:?}");
            assert_eq!((said(ran, "again-status"), at(ran, "again")), ("0", [2048, 0]), "{ran:?}");
        });
        let mut caught = undone(&setting, "caught", "--memory bind=1", |ran| {
            assert!(ran.stdout.contains("\"reason\": \"policy-overridden\""), "{ran:?}");
            assert!(ran.stdout.contains("widen cpuset.mems"), "{ran:?}");
            assert!(at(ran, "attached")[0] > 0 && at(ran, "undone") == [2048, 0], "{ran:?}");
        });
        for test in [&mut narrow, &mut caught] {
            test.commands = test.commands.drain(..).map(|command| command.cpuset(both.clone())).collect();
        }
        tests.extend([narrow, caught]);
        tests.push(undone(&setting, "own", "--memory bind=1", |ran| {
            assert_eq!((at(ran, "attached"), at(ran, "since")), ([0, 2048], [1024, 1024]), "{ran:?}");
            assert_eq!(at(ran, "undone"), [2048, 0], "{ran:?}");
        }));
        tests.push(undone(&setting, "forked", "--memory bind=1", |ran| {
            assert_eq!((at(ran, "attached"), at(ran, "undone")), ([0, 2048], [0, 2048]), "{ran:?}");
            assert!(ran.stdout.contains("are another process's as well"), "{ran:?}");
            assert_eq!((said(ran, "again-status"), at(ran, "again")), ("0", [2048, 0]), "{ran:?}");
        }));
        // Linux 6.1 does not show, and does not move, what nobody may touch, nor what it watches to balance nodes.
        tests.push(undone(&setting, "barred", "--memory bind=1", |ran| {
            assert_eq!((at(ran, "attached"), said(ran, "again-status")), ([0, 2048], "0"), "{ran:?}");
            assert_eq!(at(ran, "again"), [2048, 0], "{ran:?}");
        }));
        tests.push(undone(&setting, "remap", "--memory bind=1", |ran| {
            assert_eq!((at(ran, "since"), at(ran, "undone")), ([0, 2048], [0, 2048]), "{ran:?}");
            assert!(ran.stdout.contains("8 MiB lie elsewhere than"), "{ran:?}");
        }));
    }
    tests.extend(Release::ALL.map(stays));
    tests.push(target_dies());
    tests.push(attach_dies());
    tests
}

fn heartbeat() -> String {
    compiled("heartbeat").to_str().unwrap().to_owned()
}

/// The rest of a line behind a word at its start.
fn said<'a>(one: &'a Collected, word: &str) -> &'a str {
    succeeded(one);
    let line = one.stdout.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no line {word}: {one:?}"))
}

/// There and back, with a table that all the while is read and written.
fn journey(
    machine: &'static str,
    options: &'static str,
    shares: &'static [(u32, u64)],
    cpus: &'static str,
) -> Test {
    let run = program("attach", &format!("journey {} {PATIENT} {options}", heartbeat()));
    Test::new(
        format!("attach {options}, and undone ({machine})"),
        Setting::of(machine),
        vec![run],
        move |_, ran| {
            let pages = |when: &str| -> Counts { counts(&ran[0], &format!("{when}-pages")) };
            assert_shares(&pages("before"), &[(0, 1)]);
            assert!(pages("before")[&0] >= TABLE, "{ran:?}");
            assert_eq!(said(&ran[0], "attached"), "0 done", "{ran:?}");
            assert_shares(&pages("then"), shares);
            assert_eq!(said(&ran[0], "then-cpus"), cpus);
            assert_eq!(said(&ran[0], "undone"), "0");
            assert_shares(&pages("afterwards"), &[(0, 1)]);
            assert_eq!(said(&ran[0], "afterwards-cpus"), said(&ran[0], "before-cpus"));
            assert_eq!(said(&ran[0], "whole"), "0", "memory was lost");
        },
    )
}

/// There and back, with something in between.
fn undone(
    setting: &Setting,
    what: &'static str,
    options: &str,
    check: impl Fn(&Collected) + 'static,
) -> Test {
    let run = program("undone", &format!("{what} {options} {PATIENT}"));
    let name = format!("attach {options}, and undone where memory is `{what}` ({})", setting.release);
    Test::new(name, setting.clone(), vec![run], move |_, ran| {
        assert_eq!((said(&ran[0], "attached-status"), said(&ran[0], "undone-status")), ("0", "0"));
        check(&ran[0]);
    })
}

/// Pages on nodes 0 and 1 at a moment.
fn at(one: &Collected, when: &str) -> [u64; 2] {
    let counts = counts(one, when);
    [0, 1].map(|node| counts.get(&node).copied().unwrap_or(0))
}

/// What stays on its node has a reason, to the last page that the kernel counts there.
fn stays(release: Release) -> Test {
    let setting = Setting { release, ..Setting::of("two-node") };
    let run = program("stays", &format!("--memory bind=1 {PATIENT}"));
    Test::new(format!("attach says why memory stays ({release})"), setting, vec![run], |_, ran| {
        let text = &ran[0].stdout;
        assert_eq!(said(&ran[0], "attached"), "0");
        let gone = ["plain", "locked"].map(|kind| at(&ran[0], &format!("after-{kind}")));
        assert_eq!(gone, [[0, 512], [0, 128]], "{text}");
        // Linux 6.1 does not say where what nobody may touch lies.
        for kind in ["shared", "piped", "fixed", "watched", "stack", "pool", "mapped"] {
            let [before, after] = ["before", "after"].map(|when| at(&ran[0], &format!("{when}-{kind}")));
            assert!(before == after && before[0] > 0, "{kind}: {text}");
        }
        let from = text.find("{\n").unwrap();
        let report: Value = serde_json::from_str(&text[from..=text.rfind('}').unwrap()]).unwrap();
        let shortfalls = report["shortfalls"].as_array().unwrap();
        let bytes = |word: &str| -> u64 {
            let ours = shortfalls.iter().filter(|one| word.is_empty() || one["reason"] == word);
            ours.map(|one| one["bytes"].as_u64().unwrap()).sum()
        };
        let exactly = ["busy-pages", "pinned-pages", "userfaultfd", "not-writable", "special-mapping"];
        assert_eq!(exactly.map(bytes), [256 << 10, 256 << 10, 256 << 10, 768 << 10, 2 << 20], "{text}");
        // The C library has some of either, too.
        assert!(bytes("shared-pages") >= 1 << 20 && bytes("stack") >= 252 << 10, "{text}");
        assert_eq!(Some(bytes("")), report["after"]["obtained"]["bytes_by_node"]["0"].as_u64(), "{text}");
        let notes = report["notes"].to_string();
        assert!(notes.contains("of files and shared memory are left on their nodes"), "{notes}");
    })
}

fn number(one: &Collected, word: &str) -> u64 {
    said(one, word).parse().unwrap()
}

fn target_dies() -> Test {
    let words = format!("target-dies {KILLS} {} {PATIENT} --node 1 --pages thp", heartbeat());
    let commands = vec![program("attach", &words), crate::bench::shell(FORGET)];
    let setting = Setting::of("two-node");
    Test::new("attach outlives the program, however it dies", setting, commands, |_, ran| {
        let count = |word: &str| number(&ran[0], word);
        println!("    {}", ran[0].stdout.replace('\n', ", "));
        assert_eq!(count("other"), 0, "{}\n{}", ran[0].stdout, ran[0].stderr);
        assert_eq!(count("done") + count("ended") + count("refused"), KILLS, "{}", ran[0].stdout);
        // The moments are spread over all of an attach from its first step on.
        assert!(count("ended") >= KILLS / 2, "{}", ran[0].stdout);
        succeeded(&ran[1]);
    })
}

/// Journals of programs that are gone are removed on demand, all of them.
const FORGET: &str = "firsttouch attach --forget && ls \"${XDG_STATE_HOME:-$HOME/.local/state}/firsttouch/attach\" | while read file; do exit 1; done";

fn attach_dies() -> Test {
    let words = format!("attach-dies {KILLS} {} {PATIENT} --node 1 --pages thp", heartbeat());
    let setting = Setting::of("two-node").newer();
    Test::new(
        "attach is killed or asked to end, gone on with and undone",
        setting,
        vec![program("attach", &words)],
        |_, ran| {
            let count = |word: &str| number(&ran[0], word);
            println!("    {}", ran[0].stdout.replace('\n', ", "));
            assert_eq!(count("other"), 0, "{}\n{}", ran[0].stdout, ran[0].stderr);
            assert_eq!(count("stopped") + count("complete"), KILLS, "{}", ran[0].stdout);
            assert!(count("stopped") >= KILLS / 2, "{}", ran[0].stdout);
            assert_eq!(count("whole"), 0, "memory was lost");
        },
    )
}
