//! Descriptions of machines in a line, in the grammar of hwloc's synthetic topologies: `pack:4 [numa] l3:1 core:6 pu:1`.
//!
//! Each word gives a type and how many of it there are in each thing of the word before; `[numa]` puts a node next to
//! the thing before it; attributes follow in parentheses. This module reads the text; `synthetic_machine` builds.
//!
//! Invariant: a description that hwloc refuses, or repairs with a message, is an error here.

use std::fmt;

/// As many CPUs as Linux can be built for.
const MOST_CPUS: u64 = 8192;
/// As many nodes as Linux can be built for.
const MOST_NODES: u64 = 1024;
const MOST_LEVELS: usize = 128;

/// A description that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntheticError {
    /// A word that is no type.
    #[error(
        "`{0}` begins with no type of hwloc's (package, die, group, numa, l1 to l5, l1i to l3i, core, pu)"
    )]
    UnknownType(Rest),
    /// A type without its number.
    #[error("a number above 0 is missing at `{0}` (write type:number, such as core:6)")]
    NoNumber(Rest),
    /// Something else than a node in brackets.
    #[error("only a node may stand in brackets: `{0}`")]
    NotANode(Rest),
    /// A bracket or parenthesis that is not closed.
    #[error("`{0}` is not closed")]
    NotClosed(Rest),
    /// An attribute that does not exist, or not for this type.
    #[error("`{0}` is no attribute here (memory=, memorysidecachesize=, size= of caches, indexes=)")]
    UnknownAttribute(Rest),
    /// A size that cannot be read.
    #[error("`{0}` is no size (bytes, or with kB, KiB, MB, MiB, GB, GiB, TB, TiB)")]
    NoSize(Rest),
    /// Numbers that do not fit their level.
    #[error("`indexes={0}` does not number each of the {1} things once")]
    BadIndexes(String, u64),
    /// A type more than once, or in two ways.
    #[error("there can be one level of {0} only")]
    Repeated(&'static str),
    /// Words with and without type.
    #[error("either all levels have a type or none (the last may always be a number: the CPUs)")]
    MixedTypes,
    /// The last level is not the CPUs.
    #[error("the last level has to be the CPUs (pu:N)")]
    NoCpus,
    /// More than Linux knows.
    #[error("more than {MOST_CPUS} CPUs, {MOST_NODES} nodes or {MOST_LEVELS} levels")]
    TooMuch,
}

/// The beginning of the text that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest(String);

impl Rest {
    fn of(text: &str) -> Rest {
        const SHOWN: usize = 30;
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        Rest(shown)
    }
}

impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The type of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Group,
    Package,
    Die,
    Node,
    Cache { level: u32, kind: &'static str },
    Core,
    Cpu,
}

/// What stands in parentheses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) size_bytes: Option<u64>,
    pub(super) side_cache_bytes: Option<u64>,
    indexes: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) kind: Type,
    /// How many in each of the level above.
    pub(super) arity: u64,
    /// How many in all.
    pub(super) total: u64,
    pub(super) attributes: Attributes,
    /// Nodes next to each.
    pub(super) attached: Vec<Attributes>,
    /// The numbers, where they are not 0, 1, 2 …
    pub(super) indexes: Option<Vec<u32>>,
}

/// A machine as described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Description {
    /// From the packages, or what is outermost, to the CPUs.
    pub(super) levels: Vec<Level>,
    /// Nodes next to the whole machine.
    pub(super) attached: Vec<Attributes>,
    /// Numbers of the nodes in brackets.
    pub(super) attached_indexes: Option<Vec<u32>>,
}

/// Reads a description.
pub(super) fn parse(text: &str) -> Result<Description, SyntheticError> {
    let mut words = Words { rest: text };
    let mut levels: Vec<(Option<Type>, Level)> = Vec::new();
    let mut attached: Vec<Attributes> = Vec::new();
    let mut attached_numbers = None;
    let mut total = 1;
    if words.rest.starts_with('(') {
        words.attributes(None)?;
    }
    while words.next() {
        if words.rest.starts_with('[') {
            let node = words.bracket()?;
            attached_numbers = node.indexes.clone().or(attached_numbers);
            levels.last_mut().map_or(&mut attached, |(_, level)| &mut level.attached).push(node);
            continue;
        }
        let (kind, arity) = words.level()?;
        total =
            arity.checked_mul(total).filter(|total| *total <= MOST_CPUS).ok_or(SyntheticError::TooMuch)?;
        if levels.len() == MOST_LEVELS {
            return Err(SyntheticError::TooMuch);
        }
        let attributes =
            if words.rest.starts_with('(') { words.attributes(kind)? } else { Attributes::default() };
        let level =
            Level { kind: Type::Group, arity, total, attributes, attached: Vec::new(), indexes: None };
        levels.push((kind, level));
    }
    let in_brackets = |total: u64, nodes: &[Attributes]| total * nodes.len() as u64;
    let nodes = in_brackets(1, &attached)
        + levels.iter().map(|(_, level)| in_brackets(level.total, &level.attached)).sum::<u64>();
    let mut levels = with_types(levels, nodes > 0)?;
    check_types(&levels, nodes > 0)?;
    if nodes == 0 && levels.iter().all(|level| level.kind != Type::Node) {
        attached.push(Attributes::default());
    }
    let in_levels =
        levels.iter().filter(|level| level.kind == Type::Node).map(|level| level.total).sum::<u64>();
    if nodes + in_levels > MOST_NODES {
        return Err(SyntheticError::TooMuch);
    }
    let numbers: Vec<Option<Vec<u32>>> = levels
        .iter()
        .map(|level| {
            level.attributes.indexes.as_deref().map(|text| indexes(text, level.total, &levels)).transpose()
        })
        .collect::<Result<_, _>>()?;
    for (level, numbers) in levels.iter_mut().zip(numbers) {
        level.indexes = numbers;
    }
    let attached_indexes = attached_numbers.map(|text| indexes(&text, nodes, &levels)).transpose()?;
    Ok(Description { levels, attached, attached_indexes })
}

/// What is left of the text.
struct Words<'a> {
    rest: &'a str,
}

impl Words<'_> {
    /// Goes to the next word; whether there is one.
    fn next(&mut self) -> bool {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\t']);
        !self.rest.is_empty()
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    /// `type:number` or `number`.
    fn level(&mut self) -> Result<(Option<Type>, u64), SyntheticError> {
        let start = Rest::of(self.rest);
        let mut kind = None;
        if !self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            let colon = self.rest.find([':', ' ', '(', '[']).unwrap_or(self.rest.len());
            kind =
                Some(type_of(&self.rest[..colon]).ok_or_else(|| SyntheticError::UnknownType(start.clone()))?);
            if !self.rest[colon..].starts_with(':') {
                return Err(SyntheticError::NoNumber(start));
            }
            self.skip(colon + 1);
        }
        let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let number = self.rest[..digits].parse::<u64>().ok().filter(|number| *number > 0);
        self.skip(digits);
        match (number, self.rest.chars().next()) {
            (Some(number), None | Some(' ' | '\n' | '\t' | '(' | '[')) => Ok((kind, number)),
            _ => Err(SyntheticError::NoNumber(start)),
        }
    }

    /// `[numa(…)]`.
    fn bracket(&mut self) -> Result<Attributes, SyntheticError> {
        let start = Rest::of(self.rest);
        self.skip(1);
        let name = self.rest.find(['(', ']', ' ']).unwrap_or(self.rest.len());
        if type_of(&self.rest[..name]) != Some(Type::Node) {
            return Err(SyntheticError::NotANode(start));
        }
        self.skip(name);
        let attributes = match self.rest.starts_with('(') {
            true => self.attributes(Some(Type::Node))?,
            false => Attributes::default(),
        };
        if !self.rest.starts_with(']') {
            return Err(SyntheticError::NotClosed(start));
        }
        self.skip(1);
        Ok(attributes)
    }

    /// `(name=value name=value)`.
    fn attributes(&mut self, kind: Option<Type>) -> Result<Attributes, SyntheticError> {
        let start = Rest::of(self.rest);
        let end = self.rest.find(')').ok_or(SyntheticError::NotClosed(start))?;
        let inside = &self.rest[1..end];
        let cache = matches!(kind, Some(Type::Cache { .. }));
        let mut attributes = Attributes::default();
        for word in inside.split(' ').filter(|word| !word.is_empty()) {
            match word.split_once('=') {
                Some(("size", value)) if cache => attributes.size_bytes = Some(size(value)?),
                Some(("memory", value)) if !cache => attributes.size_bytes = Some(size(value)?),
                Some(("memorysidecachesize", value)) => attributes.side_cache_bytes = Some(size(value)?),
                Some(("indexes", value)) => attributes.indexes = Some(value.to_owned()),
                _ => return Err(SyntheticError::UnknownAttribute(Rest::of(word))),
            }
        }
        self.skip(end + 1);
        Ok(attributes)
    }
}

fn size(text: &str) -> Result<u64, SyntheticError> {
    let error = || SyntheticError::NoSize(Rest::of(text));
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit: u64 = match text[digits..].to_ascii_lowercase().as_str() {
        "" => 1,
        "kb" => 1000,
        "kib" => 1 << 10,
        "mb" => 1_000_000,
        "mib" => 1 << 20,
        "gb" => 1_000_000_000,
        "gib" => 1 << 30,
        "tb" => 1_000_000_000_000,
        "tib" => 1 << 40,
        _ => return Err(error()),
    };
    text[..digits].parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).ok_or_else(error)
}

/// A type by its name or an abbreviation of at least two letters; any case.
fn type_of(text: &str) -> Option<Type> {
    let text = text.to_ascii_lowercase();
    let names = [
        ("numanode", Type::Node),
        ("node", Type::Node),
        ("package", Type::Package),
        ("socket", Type::Package),
        ("die", Type::Die),
        ("core", Type::Core),
        ("pu", Type::Cpu),
    ];
    // hwloc numbers its groups; the numbers mean nothing to the model.
    let group = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let begins = |name: &str, text: &str| text.len() >= 2 && name.starts_with(text);
    if let Some((_, kind)) = names.into_iter().find(|(name, _)| begins(name, &text)) {
        return Some(kind);
    }
    if begins("group", group) || text == "tile" || text == "module" {
        return Some(Type::Group);
    }
    let cache = text.strip_prefix('l')?;
    let digits = cache.find(|c: char| !c.is_ascii_digit()).unwrap_or(cache.len());
    let level: u32 = cache[..digits].parse().ok()?;
    let suffix = &cache[digits..];
    let is_rest = |rest: &str| "cache".starts_with(rest);
    let (kind, most) = match suffix.as_bytes().first() {
        Some(b'i') if is_rest(&suffix[1..]) => ("instruction", 3),
        Some(b'd') if is_rest(&suffix[1..]) => ("data", 5),
        Some(b'u') if is_rest(&suffix[1..]) => ("unified", 5),
        _ if is_rest(suffix) => ("unified", 5),
        _ => return None,
    };
    (1..=most).contains(&level).then_some(Type::Cache { level, kind })
}

/// Gives every level its type. Bare numbers get those of a usual machine: groups, a package, a node, caches, cores.
fn with_types(levels: Vec<(Option<Type>, Level)>, has_nodes: bool) -> Result<Vec<Level>, SyntheticError> {
    let Some(inner) = levels.len().checked_sub(1) else { return Err(SyntheticError::NoCpus) };
    if levels[inner].0.is_some_and(|kind| kind != Type::Cpu) {
        return Err(SyntheticError::NoCpus);
    }
    let untyped = levels[..inner].iter().filter(|(kind, _)| kind.is_none()).count();
    if untyped > 0 && untyped < inner {
        return Err(SyntheticError::MixedTypes);
    }
    let usual = if untyped > 0 { usual_types(inner, has_nodes) } else { Vec::new() };
    let types: Vec<Type> = levels[..inner].iter().filter_map(|(kind, _)| *kind).chain(usual).collect();
    Ok(types
        .into_iter()
        .chain([Type::Cpu])
        .zip(levels)
        .map(|(kind, (_, level))| Level { kind, ..level })
        .collect())
}

fn usual_types(count: usize, has_nodes: bool) -> Vec<Type> {
    const L1I: Type = Type::Cache { level: 1, kind: "instruction" };
    const L1: Type = Type::Cache { level: 1, kind: "data" };
    const L2: Type = Type::Cache { level: 2, kind: "unified" };
    const L3: Type = Type::Cache { level: 3, kind: "unified" };
    let mut left = count;
    let mut take = |most: usize| {
        let taken = left.min(most);
        left -= taken;
        taken
    };
    // The order of importance; that of the levels is another.
    let node = take(usize::from(!has_nodes));
    let package = take(1);
    let core = take(1);
    let caches: &[Type] = match take(4) {
        0 => &[],
        1 => &[L2],
        2 => &[L2, L1],
        3 => &[L3, L2, L1],
        _ => &[L3, L2, L1, L1I],
    };
    let mut types = vec![Type::Group; left];
    types.extend(vec![Type::Package; package]);
    types.extend(vec![Type::Node; node]);
    types.extend(caches);
    types.extend(vec![Type::Core; core]);
    types
}

fn check_types(levels: &[Level], has_nodes: bool) -> Result<(), SyntheticError> {
    let names =
        [(Type::Cpu, "CPUs"), (Type::Package, "packages"), (Type::Die, "dies"), (Type::Core, "cores")];
    let count = |kind: Type| levels.iter().filter(|level| level.kind == kind).count();
    if let Some((_, name)) = names.into_iter().find(|(kind, _)| count(*kind) > 1) {
        return Err(SyntheticError::Repeated(name));
    }
    if count(Type::Node) + usize::from(has_nodes) > 1 {
        return Err(SyntheticError::Repeated("nodes"));
    }
    Ok(())
}

/// The numbers of a level: a list, loops (`2*4:1*2`), or the types to count by (`numa:core`).
fn indexes(text: &str, total: u64, levels: &[Level]) -> Result<Vec<u32>, SyntheticError> {
    let error = || SyntheticError::BadIndexes(text.to_owned(), total);
    let numbers: Vec<u32> = if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',') {
        // More than all of them is harmless, hwloc takes what it needs.
        let listed = text.split(',').map(|word| word.parse::<u32>().ok().filter(|n| u64::from(*n) < 1 << 20));
        let listed = listed.take(usize::try_from(total).unwrap_or(usize::MAX));
        listed.collect::<Option<_>>().ok_or_else(error)?
    } else {
        let loops = if text.starts_with(|c: char| c.is_ascii_digit()) {
            text.split(':').map(written_loop).collect::<Option<Vec<_>>>()
        } else {
            typed_loops(text, total, levels)
        };
        interleave(loops.ok_or_else(error)?, total).ok_or_else(error)?
    };
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() as u64 != total { Err(error()) } else { Ok(numbers) }
}

/// A loop of interleaving: the step between things it counts, and how many there are.
type Loop = (u64, u64);

fn written_loop(text: &str) -> Option<Loop> {
    let (step, count) = text.split_once('*')?;
    let positive = |word: &str| word.parse::<u64>().ok().filter(|number| (1..=MOST_CPUS).contains(number));
    Some((positive(step)?, positive(count)?))
}

fn typed_loops(text: &str, total: u64, levels: &[Level]) -> Option<Vec<Loop>> {
    let find = |word: &str| {
        let kind = type_of(word)?;
        levels.iter().position(|level| level.kind == kind)
    };
    let depths = text.split(':').map(find).collect::<Option<Vec<usize>>>()?;
    let one = |&depth: &usize| {
        let twice = depths.iter().filter(|other| **other == depth).count() > 1;
        let above = depths.iter().filter(|other| **other < depth).max();
        let around = above.map_or(1, |above| levels[*above].total);
        let own = levels[depth].total;
        let step = total.checked_div(own).filter(|step| *step > 0)?;
        (!twice).then_some((step, own / around))
    };
    depths.iter().map(one).collect()
}

fn interleave(mut loops: Vec<Loop>, total: u64) -> Option<Vec<u32>> {
    let product = loops.iter().try_fold(1_u64, |product, (_, count)| product.checked_mul(*count))?;
    if product == 0 || !total.is_multiple_of(product) {
        return None;
    }
    if product != total {
        // The innermost loop may be left out.
        let least = loops.iter().map(|(step, _)| *step).min()?;
        if least != total / product {
            return None;
        }
        loops.push((1, total / product));
    }
    let number = |place: u64| {
        let mut number = 0;
        let mut unit = 1;
        for (step, count) in &loops {
            number += place / step % count * unit;
            unit *= count;
        }
        u32::try_from(number).ok()
    };
    (0..total).map(number).collect()
}
