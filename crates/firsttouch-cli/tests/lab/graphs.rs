//! Copies of a graph for groups of cores, where there are two and four nodes: each group's copy lies on the group's own node,
//! page by page, and what is found in it is what is found anywhere.
//!
//! What runs in the guest is this very program, whose other face is [`in_guest`], and `firsttouch` itself.

use crate::bench::{Setting, Test, shell};
use crate::counts::{Counts, counts, only, succeeded};
use crate::regions::ours;
use firsttouch_graph::{
    Copies, Graph, Node, Place, Recipe, Search, Width, core_groups, generate, search_each,
};
use firsttouch_lab::Collected;
use firsttouch_linux::numa;
use firsttouch_machine::{Machine, Root};
use firsttouch_placement::Pages;
use firsttouch_threads::Team;
use serde_json::Value;
use std::ops::Range;
use std::sync::Mutex;

const PAGE: usize = 4096;
/// Nodes of the graph, as a power of two: some MiB.
const SCALE: u32 = 16;
/// Sources that each group searches from.
const SOURCES: [Node; 4] = [0, 17, 4711, 65_000];

/// A machine with so many nodes, and groups of so many cores with the node that each must be on.
type Case = (&'static str, u32, &'static [u32]);

const CASES: [Case; 3] =
    [("two-node", 2, &[0, 1]), ("two-node", 1, &[0, 0, 1, 1]), ("xeon4", 8, &[0, 1, 2, 3])];

pub(crate) fn tests() -> Vec<Test> {
    let copies = CASES.into_iter().flat_map(|case| [copies(case), command_line(case)]);
    copies.chain([variants()]).collect()
}

/// The case `sssp` where there are two nodes: with a group for each, as a process for each would be, its copies lie on both; groups over
/// both lie where the first core of each is, and all come to the same.
fn variants() -> Test {
    let objects = "--configs plain,object=graph:4k";
    let bench = format!(
        "firsttouch bench sssp --set scale=12 --set sources=4 --vary groups=all {objects} --steps 1 --max-runs 2 --budget none --json"
    );
    let name = "bench sssp has groups within nodes and across them (two-node)";
    Test::new(name.to_owned(), Setting::of("two-node"), vec![shell(&bench)], |_, ran| {
        succeeded(&ran[0]);
        let document: Value = serde_json::from_str(&ran[0].stdout).unwrap();
        let all = document["cases"][0]["comparisons"][0]["session"]["configurations"].as_array().unwrap();
        let nodes = |groups: &str| {
            let is_placed =
                |one: &&Value| one["varied"]["groups"] == groups && one["asked"]["objects"]["graph"] == "4k";
            let one = all.iter().find(is_placed).unwrap_or_else(|| panic!("no {groups}: {document}"));
            assert_eq!(one["case"]["checksum"], all[0]["case"]["checksum"], "{one}");
            let by_node = one["case"]["objects"]["graph"]["bytes_by_node"].as_object().unwrap();
            by_node.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(nodes("2x2"), ["0", "1"]);
        assert_eq!(nodes("1x4"), ["0", "1"]);
        assert_eq!(nodes("2x2-across"), ["0"]);
        assert_eq!(nodes("4x1-across"), ["0"]);
    })
}

fn copies((machine, cores, nodes): Case) -> Test {
    let commands = vec![ours(&["graph-copies", &cores.to_string(), &nodes.len().to_string()])];
    let name =
        format!("groups {cores}x{} have a copy of the graph each, on their node ({machine})", nodes.len());
    Test::new(name, Setting::of(machine), commands, move |_, ran| {
        let one = &ran[0];
        let pages = counts(one, "pages")[&0];
        assert!(pages as usize * PAGE > 1 << 20, "{one:?}");
        let mut all = Counts::new();
        for (group, node) in nodes.iter().enumerate() {
            assert_eq!(counts(one, &format!("copy{group}")), only(*node, pages), "{one:?}");
            assert_eq!(
                counts(one, &format!("searched{group}")),
                only(*node, SOURCES.len() as u64),
                "{one:?}"
            );
            *all.entry(*node).or_default() += pages;
        }
        assert_eq!(counts(one, "receipt"), all, "{one:?}");
        assert!(one.stdout.contains("shortfalls 0\n") && one.stdout.contains("same true\n"), "{one:?}");
    })
}

/// `sssp --groups`: its receipt, and what it finds with one copy and with several.
fn command_line((machine, cores, nodes): Case) -> Test {
    let groups = nodes.len();
    let make = format!("firsttouch graph generate streets {SCALE} g.ftg > made");
    let search = "firsttouch sssp g.ftg --random 8 --algorithm buckets --pages 4k --json";
    let command = shell(&format!("{make} && {search} --groups {cores}x{groups} && {search}"));
    let name = format!("sssp --groups {cores}x{groups} tells where its copies lie ({machine})");
    Test::new(name, Setting::of(machine), vec![command], move |_, ran| {
        let [grouped, single] = documents(&ran[0]);
        assert_eq!(grouped["checksum"], single["checksum"], "{grouped}");
        assert_eq!(grouped["reached"], single["reached"], "{grouped}");
        let receipt = &grouped["receipt"];
        assert_eq!(receipt["copies"], groups, "{grouped}");
        assert_eq!(receipt["asked"]["nodes"], Value::from(nodes), "{grouped}");
        assert_eq!(receipt["shortfalls"], Value::Array(Vec::new()), "{grouped}");
        let bytes = grouped["graph"]["bytes"].as_u64().unwrap();
        for (node, found) in receipt["obtained"]["bytes_by_node"].as_object().unwrap() {
            let copies = nodes.iter().filter(|own| own.to_string() == *node).count() as u64;
            assert!(copies > 0 && found.as_u64().unwrap() >= copies * bytes, "node {node}: {grouped}");
        }
    })
}

/// The two documents that a command printed.
fn documents(one: &Collected) -> [Value; 2] {
    succeeded(one);
    let found = serde_json::Deserializer::from_str(&one.stdout).into_iter();
    let found: Vec<Value> = found.collect::<Result<_, _>>().unwrap();
    found.try_into().unwrap_or_else(|_| panic!("{one:?}"))
}

/// What the commands above do where they run; `None` if they are none of these.
pub(crate) fn in_guest(words: &[&str]) -> Option<()> {
    let ["graph-copies", cores, groups] = words else { return None };
    show_copies(cores.parse().unwrap(), groups.parse().unwrap());
    Some(())
}

fn show_copies(cores: u32, count: u32) {
    let mut first = Team::of_this_process(1).unwrap();
    let recipe = Recipe::Streets { width: 1 << (SCALE / 2), height: 1 << (SCALE / 2) };
    let graph = generate(&recipe, 1, Place::HEAP, &mut first).unwrap().graph;
    let mut search = Search::with_heap(&graph);
    let wanted = SOURCES.map(|source| search.run(source, None).summary());

    let machine = Machine::read(&Root::live()).unwrap();
    let usable: Vec<u32> = numa::affinity(0).unwrap().iter().collect();
    let groups = core_groups(&machine, &usable, cores, count).unwrap();
    let nodes: Vec<Option<u32>> = groups.iter().map(|group| group.node).collect();
    let cpus: Vec<Vec<u32>> = groups.into_iter().map(|group| group.cpus).collect();
    let mut team = Team::new(&cpus).unwrap();
    let copies = Copies::make(&graph, Pages::Base, &nodes, &mut team).unwrap();

    println!("pages 0:{}", pages_of(&graph).count());
    for group in 0..cpus.len() {
        let mut found = Counts::new();
        pages_of(copies.of(group))
            .for_each(|page| *found.entry(numa::node_of(page).unwrap()).or_default() += 1);
        print(&format!("copy{group}"), &found);
    }
    let receipt = copies.receipt();
    let by_node = receipt.obtained.unwrap().bytes_by_node.unwrap();
    print("receipt", &by_node.into_iter().map(|(node, bytes)| (node, bytes / PAGE as u64)).collect());
    println!("shortfalls {}", receipt.shortfalls.len());

    // Every group by itself, in its copy, by a thread on its node.
    let mut is_same = true;
    for (group, cpus) in cpus.iter().enumerate() {
        let mut one = Team::new(&[vec![cpus[0]]]).unwrap();
        let found = Mutex::new([None; SOURCES.len()]);
        let places = Mutex::new(Counts::new());
        let make = |member: &firsttouch_threads::Member<'_>| {
            let cpu = member.cpu();
            let node = machine.nodes.iter().find(|node| node.cpus.contains(&cpu)).unwrap().id;
            places.lock().unwrap().insert(node, SOURCES.len() as u64);
            Search::with_buckets(copies.of(group), Width::Guessed)
        };
        search_each(
            &mut one,
            &SOURCES,
            None,
            || false,
            make,
            |at, tree, _| {
                found.lock().unwrap()[at] = Some(tree.summary());
            },
        );
        is_same &= found.into_inner().unwrap() == wanted.map(Some);
        print(&format!("searched{group}"), &places.into_inner().unwrap());
    }
    println!("same {is_same}");
}

/// An address in every page of a graph's arrays. Those of a copy begin with a page each.
fn pages_of(graph: &Graph) -> impl Iterator<Item = usize> {
    let pages = |bytes: Range<*const u8>| (bytes.start as usize..bytes.end as usize).step_by(PAGE);
    let offsets = graph.offsets().as_ptr_range();
    let arcs = graph.all_arcs().as_ptr_range();
    pages(offsets.start.cast()..offsets.end.cast()).chain(pages(arcs.start.cast()..arcs.end.cast()))
}

fn print(word: &str, found: &Counts) {
    let found: Vec<String> = found.iter().map(|(node, count)| format!("{node}:{count}")).collect();
    println!("{word} {}", found.join(" "));
}
