//! Graphs made by rule: streets on a grid, uniformly random ones, and scale-free ones.
//!
//! Every arc is a function of the seed and of its number, so that any thread can make any part, any number of times: a
//! graph needs no memory beside itself while it is made, and is the same for every number of threads.

use crate::formats::{Format, Loaded};
use crate::memory_estimate::Size;
use crate::rows::{ArcSource, BuildError, GraphError, Ids, Node, OutArc, Place, build};
use firsttouch_memory::RegionError;
use firsttouch_threads::Team;
use std::convert::Infallible;
use std::ops::RangeInclusive;

/// A graph to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// Streets: a grid of crossings at shaken places, joined so that all are connected, with about as many streets as New
    /// York has (1.39 per crossing); every 32nd row and column is a main road without gaps, three times as fast. Weights
    /// are travel times.
    Streets {
        /// Crossings from west to east.
        width: u32,
        /// Crossings from north to south.
        height: u32,
    },
    /// Arcs between nodes drawn uniformly and independently, with weights drawn uniformly. With 2^k nodes, twice as many
    /// arcs and weights 1 to 1 these are the large graphs of the shortest-path document.
    Random {
        /// Nodes.
        nodes: u32,
        /// Arcs.
        arcs: u64,
        /// Weights.
        weights: RangeInclusive<u32>,
    },
    /// Kronecker graphs as Graph500 and the GAP benchmark make them (A = 0.57, B = C = 0.19, nodes shuffled): each of
    /// 2^scale * degree edges there and back; loops are left out, and of parallel arcs all but the lightest.
    Kronecker {
        /// Logarithm of the number of nodes.
        scale: u32,
        /// Edges per node, before any is left out.
        degree: u32,
        /// Weights; GAP draws from 1 to 255.
        weights: RangeInclusive<u32>,
    },
}

impl Recipe {
    /// Streets of 2^scale crossings, about as many from west to east as from north to south. `scale` is at most 31.
    #[must_use]
    pub fn streets(scale: u32) -> Recipe {
        Recipe::Streets { width: 1 << scale.div_ceil(2), height: 1 << (scale / 2) }
    }
}

impl Size {
    /// That of a graph that is to be made. Of Kronecker graphs some arcs are left out later.
    #[must_use]
    pub fn of_recipe(recipe: &Recipe) -> Size {
        match recipe {
            Recipe::Streets { width, height } => {
                let nodes = u64::from(*width) * u64::from(*height);
                // Two to the right and two down of every crossing, if there were no gaps.
                Size { nodes, arcs: 4 * nodes }
            }
            Recipe::Random { nodes, arcs, .. } => Size { nodes: u64::from(*nodes), arcs: *arcs },
            Recipe::Kronecker { scale, degree, .. } => {
                Size { nodes: 1 << scale, arcs: u64::from(*degree) << (scale + 1) }
            }
        }
    }
}

/// A graph that cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// More nodes than there can be, or none.
    #[error("a graph has 1 to 4294967295 nodes (Kronecker: scale 0 to 31; streets: sides up to 2000000)")]
    Size,
    /// The least weight is above the largest.
    #[error("the range of weights is empty")]
    Weights,
    /// No memory for it.
    #[error("there is no memory for the graph: {0}")]
    Memory(RegionError),
}

impl GenerateError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            GenerateError::Size => {
                "choose a size within these limits; memory is 8 bytes per arc and per node"
            }
            GenerateError::Weights => "--weights 1-255: the least first",
            GenerateError::Memory(error) => error.hint(),
        }
    }
}

impl From<BuildError<Infallible>> for GenerateError {
    fn from(error: BuildError<Infallible>) -> GenerateError {
        match error {
            BuildError::Memory(error) => GenerateError::Memory(error),
            BuildError::Graph(GraphError::TooManyNodes { .. }) => GenerateError::Size,
            // A recipe makes the same arcs each time, between nodes that are there.
            BuildError::Graph(_) | BuildError::Changed => unreachable!("a recipe that changes its mind"),
            BuildError::Source(never) => match never {},
        }
    }
}

/// Makes a graph.
///
/// # Errors
/// A size that cannot be, or no memory.
pub fn generate(recipe: &Recipe, seed: u64, place: Place, team: &mut Team) -> Result<Loaded, GenerateError> {
    let (graph, coordinates) = match recipe {
        Recipe::Streets { width, height } => {
            const MOST: u32 = 2_000_000;
            let nodes = u64::from(*width) * u64::from(*height);
            if nodes == 0 || nodes > u64::from(u32::MAX) || *width > MOST || *height > MOST {
                return Err(GenerateError::Size);
            }
            let streets = Streets { width: *width, height: *height, draws: Draws::new(seed) };
            let coordinates = (0..nodes as Node).map(|node| streets.crossing(node)).collect();
            (build(nodes as usize, &streets, place, team)?, Some(coordinates))
        }
        Recipe::Random { nodes, arcs, weights } => {
            if *nodes == 0 {
                return Err(GenerateError::Size);
            }
            let draws = Draws::new(seed);
            let random = Random { nodes: *nodes, arcs: *arcs, weights: Weights::of(weights)?, draws };
            (build(*nodes as usize, &random, place, team)?, None)
        }
        Recipe::Kronecker { scale, degree, weights } => {
            if *scale > 31 {
                return Err(GenerateError::Size);
            }
            let draws = Draws::new(seed);
            let source = Kronecker { scale: *scale, degree: *degree, weights: Weights::of(weights)?, draws };
            let graph = build(1 << *scale, &source, Place::default(), team)?.simple();
            (graph.copied_to(place).map_err(GenerateError::Memory)?, None)
        }
    };
    let ids = Ids::from_first(0, graph.nodes());
    Ok(Loaded { graph, ids, coordinates, format: Format::Binary, notes: Vec::new() })
}

/// Random numbers by number: those of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), whose state only counts.
#[derive(Clone, Copy, Debug)]
struct Draws {
    key: u64,
}

impl Draws {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    fn new(seed: u64) -> Draws {
        // Seeds are small numbers; streams of neighbours must not overlap.
        Draws { key: Draws::mix(seed ^ 0x6a09_e667_f3bc_c909) }
    }

    fn mix(mut state: u64) -> u64 {
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^ (state >> 31)
    }

    fn at(self, number: u64) -> u64 {
        Draws::mix(self.key.wrapping_add(number.wrapping_add(1).wrapping_mul(Draws::STEP)))
    }

    /// Below `bound`, uniform but for one part in 2^32 and less.
    fn below(self, number: u64, bound: u64) -> u64 {
        ((u128::from(self.at(number)) * u128::from(bound)) >> 64) as u64
    }
}

/// Weights drawn uniformly.
#[derive(Clone, Copy, Debug)]
struct Weights {
    least: u32,
    count: u64,
}

impl Weights {
    fn of(range: &RangeInclusive<u32>) -> Result<Weights, GenerateError> {
        let (least, largest) = (*range.start(), *range.end());
        let more = largest.checked_sub(least).ok_or(GenerateError::Weights)?;
        Ok(Weights { least, count: u64::from(more) + 1 })
    }

    fn draw(self, draws: Draws, number: u64) -> u32 {
        self.least + draws.below(number, self.count) as u32
    }
}

/// Arcs of a part.
const ARCS_PER_PART: u64 = 1 << 16;

fn part_of(arcs: u64, part: usize) -> std::ops::Range<u64> {
    let begin = part as u64 * ARCS_PER_PART;
    begin..(begin + ARCS_PER_PART).min(arcs)
}

struct Random {
    nodes: u32,
    arcs: u64,
    weights: Weights,
    draws: Draws,
}

impl ArcSource for Random {
    type Error = Infallible;

    fn parts(&self) -> usize {
        self.arcs.div_ceil(ARCS_PER_PART) as usize
    }

    fn tails(&self, part: usize, each: impl FnMut(Node)) -> Result<(), Infallible> {
        let tail = |arc| self.draws.below(3 * arc, u64::from(self.nodes)) as Node;
        part_of(self.arcs, part).map(tail).for_each(each);
        Ok(())
    }

    fn arcs(&self, part: usize, mut each: impl FnMut(Node, OutArc)) -> Result<(), Infallible> {
        let node = |number| self.draws.below(number, u64::from(self.nodes)) as Node;
        for arc in part_of(self.arcs, part) {
            let weight = self.weights.draw(self.draws, 3 * arc + 2);
            each(node(3 * arc), OutArc { head: node(3 * arc + 1), weight });
        }
        Ok(())
    }
}

struct Kronecker {
    scale: u32,
    degree: u32,
    weights: Weights,
    draws: Draws,
}

impl Kronecker {
    /// Draws that one edge takes, at most: two levels each, and its weight.
    const DRAWS: u64 = 17;

    fn edges(&self) -> u64 {
        u64::from(self.degree) << self.scale
    }

    fn edge(&self, edge: u64) -> (Node, Node, u32) {
        // Shares of the four quarters, of 2^32.
        const WHOLE: f64 = 4_294_967_296.0;
        const A: u32 = (0.57 * WHOLE) as u32;
        const A_B: u32 = (0.76 * WHOLE) as u32;
        const A_B_C: u32 = (0.95 * WHOLE) as u32;
        let (mut tail, mut head) = (0, 0);
        let first = edge * Kronecker::DRAWS;
        for level in 0..self.scale {
            let pair = self.draws.at(first + u64::from(level / 2));
            let draw = if level % 2 == 0 { pair as u32 } else { (pair >> 32) as u32 };
            tail = tail << 1 | u32::from(draw >= A_B);
            head = head << 1 | u32::from((A..A_B).contains(&draw) || draw >= A_B_C);
        }
        let weight = self.weights.draw(self.draws, first + Kronecker::DRAWS - 1);
        (self.shuffled(tail), self.shuffled(head), weight)
    }

    /// Another node for every node, without a pattern: steps that can each be undone.
    fn shuffled(&self, node: Node) -> Node {
        let mask = (1_u64 << self.scale) - 1;
        let half = (self.scale / 2).max(1);
        let mut value = u64::from(node);
        for round in 0..3 {
            let key = self.draws.at(u64::MAX - 1 - round);
            value = value.wrapping_mul(key | 1).wrapping_add(key >> 32) & mask;
            value ^= value >> half;
        }
        value as Node
    }
}

impl ArcSource for Kronecker {
    type Error = Infallible;

    fn parts(&self) -> usize {
        self.edges().div_ceil(ARCS_PER_PART) as usize
    }

    fn tails(&self, part: usize, mut each: impl FnMut(Node)) -> Result<(), Infallible> {
        self.arcs(part, |tail, _| each(tail))
    }

    fn arcs(&self, part: usize, mut each: impl FnMut(Node, OutArc)) -> Result<(), Infallible> {
        for edge in part_of(self.edges(), part) {
            let (tail, head, weight) = self.edge(edge);
            each(tail, OutArc { head, weight });
            each(head, OutArc { head: tail, weight });
        }
        Ok(())
    }
}

struct Streets {
    width: u32,
    height: u32,
    draws: Draws,
}

impl Streets {
    /// From one main road to the next.
    const MAIN: u32 = 32;
    /// From one crossing to the next, before it is shaken.
    const STEP: i32 = 1000;
    const SHAKE: u64 = 800;
    /// Draws of one crossing.
    const DRAWS: u64 = 4;
    /// A crossing has one street to the west or the north for sure; of 2^64 so many have the other one, too.
    const OTHER: u64 = (0.39 * 18_446_744_073_709_551_616.0) as u64;
    /// How much slower than main roads streets are.
    const SLOWER: f64 = 3.0;

    fn draw(&self, node: Node, which: u64) -> u64 {
        u64::from(node) * Streets::DRAWS + which
    }

    fn crossing(&self, node: Node) -> [i32; 2] {
        let (x, y) = (node % self.width, node / self.width);
        let shaken = |at: u32, which| {
            at as i32 * Streets::STEP + self.draws.below(self.draw(node, which), Streets::SHAKE) as i32
        };
        [shaken(x, 0), shaken(y, 1)]
    }

    /// The streets of a crossing to the west and to the north.
    fn earlier(&self, node: Node) -> [Option<(Node, u32)>; 2] {
        let (x, y) = (node % self.width, node / self.width);
        let north_first = self.draws.at(self.draw(node, 2)) & 1 == 1;
        let has_other = self.draws.at(self.draw(node, 3)) < Streets::OTHER;
        let west_main = y % Streets::MAIN == 0;
        let north_main = x % Streets::MAIN == 0;
        let has_west = x > 0 && (y == 0 || !north_first || has_other || west_main);
        let has_north = y > 0 && (x == 0 || north_first || has_other || north_main);
        let street = |other: Node, is_main: bool| {
            let ([ax, ay], [bx, by]) = (self.crossing(node), self.crossing(other));
            let (dx, dy) = (f64::from(ax - bx), f64::from(ay - by));
            let time = (dx * dx + dy * dy).sqrt() * if is_main { 1.0 } else { Streets::SLOWER };
            (other, time.ceil() as u32)
        };
        [
            has_west.then(|| street(node - 1, west_main)),
            has_north.then(|| street(node - self.width, north_main)),
        ]
    }

    /// All streets of a crossing.
    fn streets(&self, node: Node) -> impl Iterator<Item = (Node, u32)> {
        let (x, y) = (node % self.width, node / self.width);
        let east = (x + 1 < self.width).then(|| self.earlier(node + 1)[0]).flatten();
        let south = (y + 1 < self.height).then(|| self.earlier(node + self.width)[1]).flatten();
        let back = [east.map(|(_, time)| (node + 1, time)), south.map(|(_, time)| (node + self.width, time))];
        self.earlier(node).into_iter().chain(back).flatten()
    }
}

impl ArcSource for Streets {
    type Error = Infallible;

    fn parts(&self) -> usize {
        (u64::from(self.width) * u64::from(self.height)).div_ceil(ARCS_PER_PART) as usize
    }

    fn tails(&self, part: usize, mut each: impl FnMut(Node)) -> Result<(), Infallible> {
        self.arcs(part, |tail, _| each(tail))
    }

    fn arcs(&self, part: usize, mut each: impl FnMut(Node, OutArc)) -> Result<(), Infallible> {
        for node in part_of(u64::from(self.width) * u64::from(self.height), part) {
            let node = node as Node;
            self.streets(node).for_each(|(head, weight)| each(node, OutArc { head, weight }));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(recipe: &Recipe, seed: u64, threads: usize) -> Loaded {
        generate(recipe, seed, Place::HEAP, &mut Team::of_this_process(threads).unwrap()).unwrap()
    }

    fn recipes() -> [Recipe; 3] {
        [
            Recipe::Streets { width: 150, height: 90 },
            Recipe::Random { nodes: 10_000, arcs: 200_000, weights: 5..=9 },
            Recipe::Kronecker { scale: 10, degree: 16, weights: 1..=255 },
        ]
    }

    #[test]
    fn the_same_seed_makes_the_same_graph_by_any_number_of_threads() {
        for recipe in recipes() {
            let graph = make(&recipe, 7, 1);
            assert_eq!(make(&recipe, 7, 8), graph, "{recipe:?}");
            assert_ne!(make(&recipe, 8, 1).graph, graph.graph, "{recipe:?}");
        }
    }

    #[test]
    fn streets_join_all_crossings_and_are_as_many_as_real_ones() {
        let loaded = make(&recipes()[0], 1, 2);
        let graph = &loaded.graph;
        let reached = crate::Order::breadth_first(graph);
        // A broad search from the first crossing meets every node before it starts anew: each has an earlier neighbour.
        let mut places = vec![usize::MAX; graph.nodes()];
        reached.nodes().iter().enumerate().for_each(|(place, node)| places[*node as usize] = place);
        for node in &reached.nodes()[1..] {
            assert!(
                graph.out(*node).iter().any(|arc| places[arc.head as usize] < places[*node as usize]),
                "{node} stands alone"
            );
        }
        let per_node = graph.arcs() as f64 / graph.nodes() as f64;
        assert!((2.6..3.0).contains(&per_node), "{per_node} arcs per node; New York has 2.78");
        assert_eq!(graph.reverse().simple(), graph.simple());
        assert_eq!(loaded.coordinates.unwrap().len(), graph.nodes());
    }

    #[test]
    fn random_arcs_are_spread_evenly() {
        let graph = make(&recipes()[1], 3, 2).graph;
        assert_eq!((graph.nodes(), graph.arcs()), (10_000, 200_000));
        // The number of arcs of a node is Poisson with mean 20: the variance is 20, too.
        for graph in [&graph, &graph.reverse()] {
            let variance =
                (0..10_000).map(|node| (graph.out(node).len() as f64 - 20.0).powi(2)).sum::<f64>() / 1e4;
            assert!((18.0..22.0).contains(&variance), "{variance}");
        }
        let mut weights = [0_u32; 10];
        graph.all_arcs().iter().for_each(|arc| weights[arc.weight as usize] += 1);
        assert_eq!(weights[..5], [0; 5]);
        assert!(weights[5..].iter().all(|count| (39_000..41_000).contains(count)), "{weights:?}");
    }

    #[test]
    fn kronecker_graphs_have_hubs_and_go_both_ways() {
        let graph = make(&recipes()[2], 5, 2).graph;
        assert_eq!(graph.nodes(), 1024);
        assert_eq!(graph.simple(), graph);
        assert_eq!(graph.reverse().simple(), graph);
        let mut degrees: Vec<usize> = (0..1024).map(|node| graph.out(node).len()).collect();
        degrees.sort_unstable();
        // The largest hundredth has far more than its share, and many have few.
        assert!(degrees[1023] > 300 && degrees[100] < 5, "{} {}", degrees[1023], degrees[100]);
        for scale in [0, 1, 2] {
            let recipe = Recipe::Kronecker { scale, degree: 4, weights: 1..=1 };
            assert_eq!(make(&recipe, 1, 1).graph.nodes(), 1 << scale);
        }
    }

    #[test]
    fn shuffling_loses_no_node() {
        for scale in [1, 2, 5, 12] {
            let weights = Weights::of(&(1..=1)).unwrap();
            let source = Kronecker { scale, degree: 1, weights, draws: Draws::new(9) };
            let mut shuffled: Vec<Node> = (0..1 << scale).map(|node| source.shuffled(node)).collect();
            shuffled.sort_unstable();
            assert_eq!(shuffled, (0..1 << scale).collect::<Vec<_>>());
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let mut team = Team::of_this_process(1).unwrap();
        let mut refused = |recipe| generate(&recipe, 1, Place::HEAP, &mut team).unwrap_err();
        assert_eq!(refused(Recipe::Streets { width: 0, height: 5 }), GenerateError::Size);
        assert_eq!(refused(Recipe::Streets { width: 70_000, height: 70_000 }), GenerateError::Size);
        assert_eq!(refused(Recipe::Random { nodes: 0, arcs: 0, weights: 1..=1 }), GenerateError::Size);
        #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
        let weights = 2..=1;
        assert_eq!(refused(Recipe::Random { nodes: 1, arcs: 0, weights }), GenerateError::Weights);
        assert_eq!(refused(Recipe::Kronecker { scale: 32, degree: 1, weights: 1..=1 }), GenerateError::Size);
    }

    #[test]
    fn no_recipe_makes_more_than_it_tells() {
        let mut team = Team::of_this_process(1).unwrap();
        let recipes = [
            Recipe::Random { nodes: 500, arcs: 700, weights: 1..=9 },
            Recipe::Streets { width: 40, height: 30 },
            Recipe::Kronecker { scale: 8, degree: 4, weights: 1..=5 },
        ];
        for recipe in recipes {
            let said = Size::of_recipe(&recipe);
            let graph = generate(&recipe, 1, Place::HEAP, &mut team).unwrap().graph;
            assert_eq!(said.nodes, graph.nodes() as u64, "{recipe:?}");
            assert!((said.arcs / 2..=said.arcs).contains(&(graph.arcs() as u64)), "{recipe:?}");
        }
    }
}
