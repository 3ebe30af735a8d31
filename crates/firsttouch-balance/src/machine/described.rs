//! Machines described in a line, and those of "Improving Charm++ Performance with a NUMA-aware Load Balancer"
//! (Pilla et al. 2011).

use super::{Core, Level, Machine, MachineError, Node, Parts};

/// What a message costs the core that receives it on the paper's machines, where both tasks are on one core, and on one
/// node; between nodes the factor makes latency longer and bandwidth less. The paper does not say: these are ours, for
/// memory of the time and a run time that handles a message in a microsecond.
const NUMA16: [(f64, f64); 2] = [(0.4e-6, 3e9), (1.0e-6, 1.5e9)];
const NUMA32: [(f64, f64); 2] = [(0.3e-6, 6e9), (0.7e-6, 3e9)];
/// Most cores that a line may describe.
const MOST_CORES: usize = 1 << 20;

impl Machine {
    /// A machine that a line describes:
    ///
    /// * `4:2:8 + 1:10:100`: groups from the inside out (4 cores in a node, 2 nodes, 8 of those) and the distance within each;
    ///   on the same core it is 0. These are the words of process mapping (Schulz and Träff 2017);
    /// * `mesh:4x4x4`, `torus:4x4x4`: each core a node, distances in hops;
    /// * `numa16`, `numa32`: the machines of Pilla et al. 2011, 8 nodes of 2 cores with factors 1.1 to 1.5, and 4 nodes of 8 cores
    ///   with factors 1.36 to 3.6. The paper gives the range only. Here the 8 nodes are the corners of a cube (1, 2 and 3
    ///   hops: 1.1, 1.3, 1.5), the 4 nodes a ring (1.36, and across 3.6), and what messages cost is assumed, too.
    ///
    /// # Errors
    ///
    /// What is not understood, and why.
    pub fn parse(text: &str) -> Result<Machine, MachineError> {
        let fail = |reason: String| MachineError::Description { text: text.to_owned(), reason };
        match text.trim() {
            "numa16" => {
                let across = |a: usize, b: usize| (a ^ b).count_ones() as usize;
                return hops("numa16", 8, 2, &[1.1, 1.3, 1.5], NUMA16, across);
            }
            "numa32" => {
                let around = |a: usize, b: usize| a.abs_diff(b).min(4 - a.abs_diff(b));
                return hops("numa32", 4, 8, &[1.36, 3.6], NUMA32, around);
            }
            _ => {}
        }
        if let Some((kind, sides)) = text.split_once(':').filter(|(kind, _)| ["mesh", "torus"].contains(kind))
        {
            return grid(text, kind == "torus", &numbers::<usize>(sides, 'x').map_err(fail)?)
                .map_err(fail)?;
        }
        let (groups, distances) =
            text.split_once('+').ok_or_else(|| fail("groups and distances are joined by `+`".to_owned()))?;
        let groups = numbers::<usize>(groups, ':').map_err(fail)?;
        let distances = numbers::<f64>(distances, ':').map_err(fail)?;
        hierarchy(text, &groups, &distances).map_err(fail)?
    }
}

fn numbers<T: std::str::FromStr>(text: &str, separator: char) -> Result<Vec<T>, String> {
    let number = |word: &str| word.trim().parse().map_err(|_| format!("`{}` is not a number", word.trim()));
    text.split(separator).map(number).collect()
}

/// The product of the sizes, if they are sensible.
fn product(sizes: &[usize]) -> Result<usize, String> {
    if sizes.contains(&0) {
        return Err("a group of 0 is no group".to_owned());
    }
    let all = sizes.iter().try_fold(1_usize, |product, size| product.checked_mul(*size));
    all.filter(|cores| *cores <= MOST_CORES).ok_or_else(|| format!("more than {MOST_CORES} cores"))
}

fn hierarchy(
    text: &str,
    groups: &[usize],
    distances: &[f64],
) -> Result<Result<Machine, MachineError>, String> {
    if groups.len() != distances.len() {
        return Err(format!("{} groups, but {} distances", groups.len(), distances.len()));
    }
    if let Some(distance) = distances.iter().find(|distance| !distance.is_finite() || **distance < 0.0) {
        return Err(format!("{distance} is no distance"));
    }
    if let Some(pair) = distances.windows(2).find(|pair| pair[1] < pair[0]) {
        return Err(format!("the distance {} within a larger group is less than {}", pair[1], pair[0]));
    }
    let cores = product(groups)?;
    let (inner, domains) = (groups[0], cores / groups[0]);
    if domains.saturating_mul(domains) > super::MOST_DISTANCES {
        return Ok(Err(MachineError::TooMany(domains)));
    }
    let mut classes = Vec::with_capacity(domains * domains);
    for a in 0..domains {
        for b in 0..domains {
            let (mut a, mut b, mut class) = (a, b, 0);
            while a != b {
                class += 1;
                (a, b) = (a / groups[class], b / groups[class]);
            }
            classes.push(class as u8 + 1);
        }
    }
    let mut size = 1;
    let mut levels = vec![Level::named("core")];
    for group in groups {
        size *= group;
        levels.push(Level::named(format!("group-{size}")));
    }
    Ok(Machine::assemble(Parts {
        name: text.trim().to_owned(),
        cores: cores_of_nodes(domains, inner),
        nodes: (0..domains as u32).map(|id| Node { id, memory: None }).collect(),
        levels,
        distances: classes.iter().map(|class| distances[usize::from(*class) - 1]).collect(),
        classes,
        same_core: 0.0,
    }))
}

/// Cores of nodes that are domains.
pub(super) fn cores_of_nodes(nodes: usize, cores: usize) -> Vec<Core> {
    let core = |node: u32| Core { node, domain: node, speed: 1.0, background: 0.0, cpu: None };
    (0..nodes as u32).flat_map(|node| std::iter::repeat_n(core(node), cores)).collect()
}

/// Nodes whose factors depend on the hops between them.
fn hops(
    name: &str,
    nodes: usize,
    cores: usize,
    factors: &[f64],
    [on_core, on_node]: [(f64, f64); 2],
    hops: impl Fn(usize, usize) -> usize,
) -> Result<Machine, MachineError> {
    let remote = factors.iter().map(|factor| (on_node.0 * factor, on_node.1 / factor));
    let costs: Vec<(f64, f64)> = [on_core, on_node].into_iter().chain(remote).collect();
    let pairs = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b)));
    let hops: Vec<usize> = pairs.map(|(a, b)| hops(a, b)).collect();
    let mut levels = vec![Level::named("core"), Level::named("node")];
    levels.extend((1..=factors.len()).map(|hops| Level::named(format!("hops-{hops}"))));
    Machine::assemble(Parts {
        name: name.to_owned(),
        cores: cores_of_nodes(nodes, cores),
        nodes: (0..nodes as u32).map(|id| Node { id, memory: None }).collect(),
        levels,
        distances: hops.iter().map(|hops| if *hops == 0 { 1.0 } else { factors[hops - 1] }).collect(),
        classes: hops.iter().map(|hops| *hops as u8 + 1).collect(),
        same_core: 1.0,
    })
    .map(|machine| machine.with_levels(&costs))
}

fn grid(text: &str, torus: bool, sides: &[usize]) -> Result<Result<Machine, MachineError>, String> {
    let cores = product(sides)?;
    if cores.saturating_mul(cores) > super::MOST_DISTANCES {
        return Ok(Err(MachineError::TooMany(cores)));
    }
    let longest: usize = sides.iter().map(|side| if torus { side / 2 } else { side - 1 }).sum();
    if longest > usize::from(u8::MAX) - 1 {
        return Err(format!("{longest} hops are too many"));
    }
    let mut hops = Vec::with_capacity(cores * cores);
    for a in 0..cores {
        for b in 0..cores {
            let (mut a, mut b, mut sum) = (a, b, 0);
            for side in sides {
                let straight = (a % side).abs_diff(b % side);
                sum += if torus { straight.min(side - straight) } else { straight };
                (a, b) = (a / side, b / side);
            }
            hops.push(sum);
        }
    }
    let mut levels = vec![Level::named("core")];
    levels.extend((1..=longest).map(|hops| Level::named(format!("hops-{hops}"))));
    Ok(Machine::assemble(Parts {
        name: text.trim().to_owned(),
        cores: cores_of_nodes(cores, 1),
        nodes: (0..cores as u32).map(|id| Node { id, memory: None }).collect(),
        levels,
        distances: hops.iter().map(|hops| *hops as f64).collect(),
        classes: hops.iter().map(|hops| *hops as u8).collect(),
        same_core: 0.0,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_nest_from_the_inside_out() {
        let machine = Machine::parse("4:2:8 + 1:10:100").unwrap();
        assert_eq!((machine.cores().len(), machine.nodes().len()), (64, 16));
        assert_eq!(machine.distance(0, 0), 0.0);
        assert_eq!(machine.distance(0, 3), 1.0);
        assert_eq!(machine.distance(3, 4), 10.0);
        assert_eq!(machine.distance(7, 8), 100.0);
        assert_eq!(machine.levels()[machine.level(3, 4)].name, "group-8");
    }

    #[test]
    fn grids_count_hops() {
        let mesh = Machine::parse("mesh:4x4x4").unwrap();
        assert_eq!(mesh.distance(0, 63), 9.0);
        assert_eq!(mesh.distance(0, 3), 3.0);
        let torus = Machine::parse("torus:4x4x4").unwrap();
        assert_eq!(torus.distance(0, 63), 3.0);
        assert_eq!(torus.distance(0, 2), 2.0);
    }

    #[test]
    fn the_machines_of_the_document_have_its_factors() {
        let numa16 = Machine::parse("numa16").unwrap();
        assert_eq!((numa16.cores().len(), numa16.nodes().len()), (16, 8));
        assert_eq!((numa16.numa_factor(0, 1), numa16.numa_factor(0, 7)), (1.1, 1.5));
        let numa32 = Machine::parse("numa32").unwrap();
        assert_eq!((numa32.cores().len(), numa32.nodes().len()), (32, 4));
        assert_eq!((numa32.numa_factor(0, 3), numa32.numa_factor(0, 2)), (1.36, 3.6));
        assert_eq!(numa32.distance(0, 7), 1.0);
    }

    #[test]
    fn what_is_no_machine_is_refused_with_a_reason() {
        let reason = |text: &str| Machine::parse(text).unwrap_err().to_string();
        assert!(reason("4:2").contains('+'));
        assert!(reason("4:2 + 1").contains("2 groups, but 1 distances"));
        assert!(reason("4:0 + 1:2").contains("group of 0"));
        assert!(reason("4:2 + 10:1").contains("less than"));
        assert!(reason("4:x + 10:1").contains("`x` is not a number"));
        assert!(reason("4:2 + 1:NaN").contains("no distance"));
        assert!(reason("1000000:1000000 + 1:2").contains("more than"));
        assert!(reason("mesh:100x100").contains("too many"));
    }
}
