//! Graphs as commands have them: read from the file that was named, by a team, and copied for groups of cores.

use crate::args::{GraphInput, GroupsWord};
use crate::output::{Failure, Outcome};
use firsttouch_graph::{
    Copies, Loaded, Order, Place, ReadError, ReadOptions, Reordering, Size, read, read_coordinates, read_from,
};
use firsttouch_linux::numa;
use firsttouch_machine::{Machine, Root};
use firsttouch_placement::Pages;
use firsttouch_threads::Team;
use std::io;
use std::path::Path;
use std::time::Instant;

/// Threads bound to the CPUs of this process, at most so many.
pub(crate) fn team(threads: Option<u32>) -> Outcome<Team> {
    let most = threads.map_or(usize::MAX, |threads| threads as usize);
    Team::of_this_process(most).map_err(Failure::hinted)
}

/// A graph, and how long it took to read it.
pub(crate) fn load(input: &GraphInput, place: Place, team: &mut Team) -> Outcome<(Loaded, f64)> {
    let options = ReadOptions {
        format: input.format,
        place,
        undirected: input.undirected,
        most_memory_bytes: input.most_memory,
    };
    let begun = Instant::now();
    let loaded = if input.file.as_os_str() == "-" {
        read_from(io::stdin().lock(), input.format, &options, team)
    } else {
        read(&input.file, &options, team)
    };
    let mut loaded = loaded.map_err(|error| cannot_read(&input.file, error))?;
    let seconds = begun.elapsed().as_secs_f64();
    if let Some(path) = &input.coordinates {
        let coordinates = read_coordinates(path).map_err(|error| cannot_read(path, error))?;
        if coordinates.len() != loaded.graph.nodes() {
            return Err(Failure::message(format!(
                "{} has coordinates of {} nodes, and the graph has {}",
                path.display(),
                coordinates.len(),
                loaded.graph.nodes()
            ))
            .hint("name the coordinates of the same graph"));
        }
        loaded.coordinates = Some(coordinates);
    }
    if let Some(reorder) = input.reorder {
        let graph = &loaded.graph;
        let order = match (reorder.0, &loaded.coordinates) {
            (Reordering::DepthFirst, _) => Order::depth_first(graph),
            (Reordering::BreadthFirst, _) => Order::breadth_first(graph),
            (Reordering::Cells(nodes), _) => Order::cells(graph, nodes),
            (Reordering::Coordinates, Some(coordinates)) => Order::coordinates(coordinates),
            (Reordering::Coordinates, None) => {
                return Err(Failure::message("there are no coordinates to order the nodes by")
                    .hint("name them: --coordinates FILE.co; or --reorder dfs, which needs none"));
            }
        };
        loaded = loaded
            .reordered(&order, place)
            .map_err(|error| Failure::hinted(error).context("there is no memory for the graph"))?;
    }
    Ok((loaded, seconds))
}

pub(crate) fn cannot_read(path: &Path, error: ReadError) -> Failure {
    Failure::hinted(error).context(format!("{} is not read as a graph", path.display()))
}

/// A team on groups of cores, and the node of each group.
pub(crate) fn grouped(word: GroupsWord) -> Outcome<(Team, Vec<Option<u32>>)> {
    let machine = Machine::read(&Root::live())?;
    let groups = word.on(&machine, &usable()?).map_err(|error| {
        Failure::new(error).hint("firsttouch status lists the cores of every node that may be used")
    })?;
    let nodes: Vec<Option<u32>> = groups.iter().map(|group| group.node).collect();
    let by_group: Vec<Vec<u32>> = groups.into_iter().map(|group| group.cpus).collect();
    Ok((Team::new(&by_group).map_err(Failure::hinted)?, nodes))
}

/// CPUs of this process.
pub(crate) fn usable() -> Outcome<Vec<u32>> {
    const THIS_THREAD: u32 = 0;
    Ok(numa::affinity(THIS_THREAD).map_err(io::Error::from_raw_os_error)?.iter().collect())
}

/// Groups of all cores, from many small ones to one: within nodes as long as they fit, and of these the largest across the nodes,
/// too.
pub(crate) fn all_groups(machine: &Machine) -> Outcome<Vec<GroupsWord>> {
    Ok(GroupsWord::all(machine, &usable()?))
}

/// One copy for every group of cores, and a team on them.
pub(crate) fn copies(loaded: &Loaded, pages: Pages, word: GroupsWord) -> Outcome<(Team, Copies)> {
    let (mut team, nodes) = grouped(word)?;
    let copies = Copies::make(&loaded.graph, pages, &nodes, &mut team)
        .map_err(|error| Failure::hinted(error).context("there is no memory for the copies"))?;
    Ok((team, copies))
}

/// How large a graph is, by its header.
pub(crate) fn size(input: &GraphInput) -> Outcome<Size> {
    let path = &input.file;
    let size = Size::of_file(path, input.format).map_err(|error| {
        let has_header = !matches!(error, ReadError::NoHeader);
        let failure = Failure::hinted(error).context(format!("{} does not tell its size", path.display()));
        if has_header {
            return failure;
        }
        failure.hint("only reading it tells how large it is: firsttouch graph info FILE")
    })?;
    let both_ways = if input.undirected { 2 } else { 1 };
    Ok(Size { arcs: size.arcs.saturating_mul(both_ways), ..size })
}
