//! The machine that a synthetic description means.

use super::synthetic::{Attributes, Description, Level, SyntheticError, Type, parse};
use crate::Machine;
use crate::evidence::kinds_of_described;
use crate::nodes::{Node, SideCache};
use crate::topology::{Cache, Core, Cpu, Part, Topology};
use firsttouch_sorted::{SortedSet, sort_by_key};

/// What hwloc gives a node that has no `memory=`.
const NODE_BYTES: u64 = 1 << 30;
const LINE_BYTES: u32 = 64;

pub(super) fn machine(text: &str) -> Result<Machine, SyntheticError> {
    let description = parse(text)?;
    let mut builder = Builder::new(&description);
    let all = builder.below(0, Place::default());
    builder.attach(&description.attached, &all);
    let Builder { mut topology, mut nodes, caches, .. } = builder;
    topology.caches = caches.into_iter().collect();
    sort_by_key(&mut topology.cpus, |cpu| cpu.id);
    topology.join();
    sort_by_key(&mut nodes, |node| node.id);
    kinds_of_described(&mut nodes, None);
    Ok(Machine::described(topology, nodes))
}

/// What a thing stands in.
#[derive(Clone, Copy, Default)]
struct Place {
    package: Option<u32>,
}

struct Builder<'a> {
    description: &'a Description,
    /// The next number of each level, and of the nodes in brackets.
    next: Vec<u32>,
    next_attached: u32,
    topology: Topology,
    caches: SortedSet<Cache>,
    nodes: Vec<Node>,
    /// CPUs that have a node: the innermost counts, and the first of several.
    housed: SortedSet<u32>,
}

impl<'a> Builder<'a> {
    fn new(description: &'a Description) -> Builder<'a> {
        Builder {
            description,
            next: vec![0; description.levels.len()],
            next_attached: 0,
            topology: Topology::default(),
            caches: SortedSet::new(),
            nodes: Vec::new(),
            housed: SortedSet::new(),
        }
    }

    /// Builds everything from this level down inside one thing of the level above; returns the CPUs.
    fn below(&mut self, depth: usize, place: Place) -> Vec<u32> {
        let description = self.description;
        let Some(level) = description.levels.get(depth) else { return Vec::new() };
        let mut all = Vec::new();
        for _ in 0..level.arity {
            let id = self.number(depth, level);
            let place = if level.kind == Type::Package { Place { package: Some(id) } } else { place };
            let cpus = match level.kind {
                Type::Cpu => vec![id],
                _ => self.below(depth + 1, place),
            };
            self.add(level, id, place, &cpus);
            self.attach(&level.attached, &cpus);
            all.extend(cpus);
        }
        all
    }

    fn number(&mut self, depth: usize, level: &Level) -> u32 {
        let place = self.next[depth];
        self.next[depth] += 1;
        // The parser made sure that there is a number for each.
        level.indexes.as_ref().and_then(|numbers| numbers.get(place as usize)).copied().unwrap_or(place)
    }

    fn add(&mut self, level: &Level, id: u32, place: Place, cpus: &[u32]) {
        let mut cpus = cpus.to_vec();
        cpus.sort_unstable();
        let package = place.package;
        match level.kind {
            // Packages are made of what the CPUs say; groups stand for nothing that Linux names.
            Type::Group | Type::Package => {}
            Type::Cpu => self.topology.cpus.push(Cpu { package, ..Cpu::new(id, true) }),
            Type::Core => self.topology.cores.push(Core { id: Some(id), package, cpus }),
            Type::Die => self.topology.dies.push(Part { id: Some(id), package, cpus }),
            Type::Node => self.add_node(id, &level.attributes, &cpus),
            Type::Cache { level: number, kind } => {
                let usual = if number == 1 { 32 << 10 } else { (256 << 10) << (2 * number) };
                let size_bytes = level.attributes.size_bytes.filter(|bytes| *bytes > 0).or(Some(usual));
                let kind = Some(kind.to_owned());
                let line_bytes = Some(LINE_BYTES);
                self.caches.insert(Cache { level: number, kind, size_bytes, line_bytes, ways: None, cpus });
            }
        }
    }

    /// Nodes in brackets are numbered after those inside the thing they stand next to.
    fn attach(&mut self, nodes: &[Attributes], cpus: &[u32]) {
        for attributes in nodes {
            let place = self.next_attached;
            self.next_attached += 1;
            let numbers = self.description.attached_indexes.as_ref();
            let id = numbers.and_then(|numbers| numbers.get(place as usize)).copied().unwrap_or(place);
            self.add_node(id, attributes, cpus);
        }
    }

    fn add_node(&mut self, id: u32, attributes: &Attributes, cpus: &[u32]) {
        let mut cpus: Vec<u32> = cpus.iter().copied().filter(|cpu| self.housed.insert(*cpu)).collect();
        cpus.sort_unstable();
        let side = attributes.side_cache_bytes.filter(|bytes| *bytes > 0);
        self.nodes.push(Node {
            side_caches: side
                .map(|bytes| SideCache { level: 1, size_bytes: Some(bytes), line_bytes: Some(LINE_BYTES) })
                .into_iter()
                .collect(),
            size_bytes: attributes.size_bytes.filter(|bytes| *bytes > 0).or(Some(NODE_BYTES)),
            ..Node::new(id, cpus)
        });
    }
}
