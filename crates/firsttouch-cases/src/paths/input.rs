//! The graph that is searched: made by rule or read from a file, with a copy for each group of the team.

use crate::case::{Given, Work};
use crate::error::CaseError;
use crate::parameter::{Kind, Parameter};
use crate::share::{cut, each};
use firsttouch_graph::{
    Copies, GenerateError, Graph, Graphs, Loaded, Node, OutArc, Place, ReadError, ReadOptions, Recipe,
    generate, leads_on, read,
};
use firsttouch_measure::mix;
use firsttouch_memory::{NodePolicy, Pages, RegionError};
use firsttouch_threads::Team;
use std::path::Path;

/// The name of the graph as an array of the case: both of its arrays, and all of its copies.
const ARRAY: &str = "graph";
/// Nodes drawn for a source at most.
const DRAWS: u64 = 64;

/// Which graph it is.
pub(super) const fn graph(default: &'static str) -> Parameter {
    Parameter::new(
        "graph",
        "streets, random, kronecker, or a file of a graph: DIMACS, Matrix Market, edge lists, METIS, GAP, ours",
        Kind::Text,
        [default, default],
    )
}

/// Its size, if it is made.
pub(super) const fn scale(default: &'static str, quick: &'static str) -> Parameter {
    Parameter::new(
        "scale",
        "logarithm of the number of nodes of a graph that is made",
        Kind::Count(0, 31),
        [default, quick],
    )
}

/// What it is made of, and sources are drawn from.
pub(super) const SEED: Parameter = Parameter::new(
    "seed",
    "another seed makes another graph, and draws other sources",
    Kind::Count(0, u64::MAX),
    ["1", "1"],
);

/// A graph in memory.
#[derive(Debug)]
pub(super) struct Input {
    loaded: Loaded,
    /// One for each group, or for all where the graph is to lie elsewhere than it came to.
    copies: Option<Copies>,
    groups: usize,
}

impl Input {
    pub(super) fn of(given: &mut Given<'_>) -> Result<Input, CaseError> {
        let word = given.arguments.word("graph");
        let scale = given.arguments.number("scale") as u32;
        let recipe = match word {
            "streets" => Some(Recipe::streets(scale)),
            "random" => Some(Recipe::Random { nodes: 1 << scale, arcs: 2 << scale, weights: 1..=65_535 }),
            "kronecker" => Some(Recipe::Kronecker { scale, degree: 16, weights: 1..=255 }),
            _ => None,
        };
        let seed = given.arguments.number("seed") as u64;
        let loaded = match &recipe {
            Some(recipe) => generate(recipe, seed, Place::HEAP, given.team).map_err(not_made)?,
            None => {
                let options = ReadOptions { place: Place::HEAP, ..ReadOptions::default() };
                read(Path::new(word), &options, given.team).map_err(|error| not_read(word, &error))?
            }
        };
        let groups = given.team.group_sizes().len();
        let asked = given.arrays.place(ARRAY);
        let place = match asked.map(|asked| (asked.pages, asked.memory)) {
            None => Place::HEAP,
            Some((pages, NodePolicy::Inherited | NodePolicy::Local)) => Place { pages, node: None },
            Some((pages, NodePolicy::Bind(nodes))) if nodes.iter().count() == 1 => {
                Place { pages, node: nodes.iter().next() }
            }
            Some(_) => {
                let what =
                    "the graph comes from one node, or from those of its groups: `local` or `bind=NODE`";
                return Err(CaseError::Together(what.to_owned()));
            }
        };
        // A file of ours lies in the page cache, which no placement reaches.
        let copies = (groups > 1 || asked.is_some() || recipe.is_none())
            .then(|| Copies::make(&loaded.graph, place.pages, &vec![place.node; groups], given.team))
            .transpose()
            .map_err(no_room)?;
        let input = Input { loaded, copies, groups };
        let all = (0..groups).flat_map(|group| addresses(input.graphs().of(group)));
        given.arrays.count(ARRAY, all.map(|range| range.len() as u64).sum());
        if asked.is_some_and(|asked| asked.pages != Pages::Plain) {
            let copies = (0..groups).map(|group| input.graphs().of(group));
            given.arrays.note(ARRAY, copies.flat_map(addresses));
        }
        Ok(input)
    }

    /// What each group of the team searches.
    pub(super) fn graphs(&self) -> Graphs<'_> {
        Graphs::new(&self.loaded.graph, self.copies.as_ref())
    }

    /// The one that all groups search together.
    pub(super) fn graph(&self) -> &Graph {
        self.graphs().of(0)
    }

    /// Nodes by their numbers in the file, separated by colons; or so many that are drawn, of some draws for each the first from which
    /// much can be reached.
    pub(super) fn sources(&self, from: &str, count: usize, seed: u64) -> Result<Vec<Node>, CaseError> {
        let (graph, ids) = (&self.loaded.graph, &self.loaded.ids);
        if from != "drawn" {
            let node = |text: &str| {
                let node = text.parse().ok().and_then(|number| ids.node(number));
                node.ok_or_else(|| CaseError::Together(format!("the graph has no node `{text}`")))
            };
            return from.split(':').map(node).collect();
        }
        let nodes = graph.nodes() as u64;
        if nodes == 0 {
            return Err(CaseError::Together("the graph has no nodes to search from".to_owned()));
        }
        let draw = |number: u64| (mix(mix(seed) ^ number) % nodes) as Node;
        let source = |at: u64| {
            let mut draws = (at * DRAWS..(at + 1) * DRAWS).map(draw);
            let last = draw((at + 1) * DRAWS - 1);
            draws.find(|node| leads_on(graph, *node)).unwrap_or(last)
        };
        Ok((0..count as u64).map(source).collect())
    }

    /// What searches from these sources cannot do without, each by itself: of what can be reached every row is read with its arcs, and
    /// each node's distance is written at first, and read at last. Operations are arcs that can be reached.
    pub(super) fn work(&self, sources: &[Node], team: &mut Team) -> Work {
        let Some(&anchor) = sources.first() else { return Work::default() };
        let graphs = self.graphs();
        // Whoever reaches the first source and is reached from it reaches what that does: in most graphs nearly all.
        let (seen, usual) = reach(self.graph(), anchor);
        let back = leading_to(self.graph(), anchor);
        let parts = cut(sources.len(), team.size(), 1);
        let works = each(team, parts, |member, part| {
            let one = |at: usize| match sources[at] as usize {
                source if seen[source] && back[source] => usual,
                _ => reach(graphs.of(member.group()), sources[at]).1,
            };
            part.map(one).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        });
        let (nodes, arcs) = works.into_iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let graph = self.graph();
        let distance_bytes = if graph.fits_32_bits() { 4 } else { 8 };
        let distances = 2 * distance_bytes * (graph.nodes() * sources.len()) as u64;
        let rows = nodes * size_of::<u64>() as u64 + arcs * size_of::<OutArc>() as u64;
        Work { bytes: rows + distances, operations: arcs }
    }

    /// What it is.
    pub(super) fn note(&self) -> String {
        let (nodes, arcs) = (self.graph().nodes(), self.graph().arcs());
        let groups = match self.groups {
            1 => String::new(),
            groups => format!(", a copy for each of {groups} groups"),
        };
        format!("{nodes} nodes, {arcs} arcs{groups}")
    }
}

/// Which nodes can be reached from one, itself included, how many they are, and how many arcs they have.
fn reach(graph: &Graph, source: Node) -> (Vec<bool>, (u64, u64)) {
    let (seen, nodes, arcs) =
        spread(graph.nodes(), source, |tail| graph.out(tail).iter().map(|arc| arc.head));
    (seen, (nodes, arcs))
}

/// The nodes from which one can be reached.
fn leading_to(graph: &Graph, goal: Node) -> Vec<bool> {
    let mut begins = vec![0_usize; graph.nodes() + 1];
    graph.all_arcs().iter().for_each(|arc| begins[arc.head as usize + 1] += 1);
    (0..graph.nodes()).for_each(|node| begins[node + 1] += begins[node]);
    let (mut next, mut tails) = (begins.clone(), vec![0; graph.arcs()]);
    for tail in 0..graph.nodes() as Node {
        for arc in graph.out(tail) {
            let place = &mut next[arc.head as usize];
            tails[*place] = tail;
            *place += 1;
        }
    }
    let of = |head: Node| tails[begins[head as usize]..begins[head as usize + 1]].iter().copied();
    spread(graph.nodes(), goal, of).0
}

/// Which nodes one leads to, how many they are, and how many arcs they have.
fn spread<I: Iterator<Item = Node>>(
    nodes: usize,
    from: Node,
    next: impl Fn(Node) -> I,
) -> (Vec<bool>, u64, u64) {
    let (mut seen, mut found, mut arcs) = (vec![false; nodes], vec![from], 0);
    seen[from as usize] = true;
    let mut done = 0;
    while let Some(&tail) = found.get(done) {
        done += 1;
        for head in next(tail) {
            arcs += 1;
            if !std::mem::replace(&mut seen[head as usize], true) {
                found.push(head);
            }
        }
    }
    (seen, found.len() as u64, arcs)
}

/// Where the two arrays of a graph lie.
fn addresses(graph: &Graph) -> [std::ops::Range<usize>; 2] {
    let of = |start: usize, bytes: usize| start..start + bytes;
    let (offsets, arcs) = (graph.offsets(), graph.all_arcs());
    [of(offsets.as_ptr().addr(), size_of_val(offsets)), of(arcs.as_ptr().addr(), size_of_val(arcs))]
}

fn not_made(error: GenerateError) -> CaseError {
    CaseError::Input { what: error.to_string(), hint: Some(error.hint().to_owned()) }
}

fn not_read(file: &str, error: &ReadError) -> CaseError {
    CaseError::Input {
        what: format!("{file} is not read as a graph: {error}"),
        hint: Some(error.hint().to_owned()),
    }
}

fn no_room(source: RegionError) -> CaseError {
    CaseError::Array { name: ARRAY, source }
}
