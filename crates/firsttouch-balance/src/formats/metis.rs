//! Graphs as METIS reads them, and parts as it writes them.
//!
//! The first line has the number of vertices, of edges, and up to two more numbers: three digits that say whether vertices
//! have sizes, vertices have weights, edges have weights; and how many weights a vertex has. Then a line for each vertex. Lines
//! that begin with `%` are comments. An empty line is a vertex without edges.

use super::FormatError;
use super::text::{amount, text, whole};
use crate::{Mapping, Message, Problem, Task};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The problem of a graph: vertices are tasks, their first weight is the load (1 without weights), their size is what a
/// migration moves; an edge sends its weight (1 without weights) in either direction, as one message.
///
/// # Errors
///
/// The line and what is wrong with it: a neighbour that is not there, an edge that is missing from its other end or has
/// another weight there, a number of vertices or edges that is not the stated one.
pub fn metis_graph(bytes: &[u8]) -> Result<Problem, FormatError> {
    let mut lines = text(bytes)?
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.starts_with('%'));
    let (line, head) = lines
        .find(|(_, line)| !line.is_empty())
        .ok_or_else(|| FormatError::Whole("an empty file: there is no graph".to_owned()))?;
    let head = Head::read(line, head)?;
    // Every vertex has a line, of which the last may be empty, and every end of an edge a number and a blank: whatever is stated.
    let vertices = head.vertices.min(bytes.len() + 1);
    let mut tasks = Vec::with_capacity(vertices);
    let mut messages = Vec::with_capacity((2 * head.edges).min(bytes.len() / 2 + 1));
    let mut at = Vec::with_capacity(vertices);
    while tasks.len() < head.vertices {
        let Some((line, row)) = lines.next() else {
            let reason = format!("{} vertices are stated, but there are {}", head.vertices, tasks.len());
            return Err(FormatError::Whole(reason));
        };
        let from = tasks.len() as u32;
        tasks.push(head.vertex(line, row, from, &mut messages)?);
        at.push(line);
    }
    if let Some((line, _)) = lines.find(|(_, line)| !line.is_empty()) {
        return Err(FormatError::line(line, format!("more than the stated {} vertices", head.vertices)));
    }
    if messages.len() != 2 * head.edges {
        let reason = format!("{} edges are stated, but their ends number {}", head.edges, messages.len());
        return Err(FormatError::Whole(reason));
    }
    let problem = Problem::new(tasks, &messages)?;
    for (vertex, line) in at.into_iter().enumerate() {
        for arc in problem.sent(vertex) {
            let back = problem.sent(arc.to as usize).binary_search_by_key(&(vertex as u32), |back| back.to);
            let back = back.map(|place| problem.sent(arc.to as usize)[place].bytes);
            if back != Ok(arc.bytes) {
                let there = back.map_or("is missing from its other end".to_owned(), |bytes| {
                    format!("weighs {bytes} there")
                });
                let reason = format!(
                    "the edge {} to {} weighs {} here and {there}",
                    vertex + 1,
                    arc.to + 1,
                    arc.bytes
                );
                return Err(FormatError::line(line, reason));
            }
        }
    }
    Ok(problem)
}

struct Head {
    vertices: usize,
    edges: usize,
    sizes: bool,
    weights: usize,
    edge_weights: bool,
}

impl Head {
    fn read(line: usize, text: &str) -> Result<Head, FormatError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if !(2..=4).contains(&words.len()) {
            let reason =
                format!("{} numbers; vertices, edges, format and number of weights belong here", words.len());
            return Err(FormatError::line(line, reason));
        }
        let code = words.get(2).copied().unwrap_or("0");
        let known = code.len() <= 3 && code.bytes().all(|digit| digit == b'0' || digit == b'1');
        if !known {
            return Err(FormatError::line(
                line,
                format!("the format `{code}` is not three digits of 0 and 1"),
            ));
        }
        let digit = |place: usize| code.len() >= place && code.as_bytes()[code.len() - place] == b'1';
        let vertices: usize = whole(line, "the number of vertices", words[0])?;
        let edges: usize = whole(line, "the number of edges", words[1])?;
        let stated: usize =
            words.get(3).map(|word| whole(line, "the number of weights", word)).transpose()?.unwrap_or(1);
        if vertices == 0 {
            return Err(FormatError::line(line, "a graph without vertices"));
        }
        if vertices >= u32::MAX as usize || edges >= u32::MAX as usize / 2 {
            return Err(FormatError::line(line, "more vertices or edges than 32 bits count"));
        }
        let weights = if digit(2) { stated } else { 0 };
        Ok(Head { vertices, edges, sizes: digit(3), weights, edge_weights: digit(1) })
    }

    fn vertex(
        &self,
        line: usize,
        row: &str,
        from: u32,
        messages: &mut Vec<Message>,
    ) -> Result<Task, FormatError> {
        let mut words = row.split_whitespace();
        let mut next = |what: &str| {
            words.next().ok_or_else(|| FormatError::line(line, format!("vertex {} has no {what}", from + 1)))
        };
        let mut task = Task::new(1.0);
        if self.sizes {
            task.bytes = whole(line, "the size", next("size")?)?;
        }
        for place in 0..self.weights {
            let weight = amount(line, "the weight", next("weight")?)?;
            if place == 0 {
                task.load = weight;
            }
        }
        while let Some(word) = words.next() {
            let to: u32 = whole(line, "the neighbour", word)?;
            if to == 0 || to as usize > self.vertices {
                let reason = format!("there is no vertex {to}; they are 1 to {}", self.vertices);
                return Err(FormatError::line(line, reason));
            }
            if to - 1 == from {
                return Err(FormatError::line(line, format!("vertex {to} is its own neighbour")));
            }
            let mut bytes = 1.0;
            if self.edge_weights {
                let weight = words
                    .next()
                    .ok_or_else(|| FormatError::line(line, format!("the edge to {to} has no weight")))?;
                bytes = amount(line, "the weight", weight)?;
            }
            messages.push(Message { from, to: to - 1, count: 1.0, bytes });
        }
        Ok(task)
    }
}

/// A problem as METIS reads it, with sizes and weights (format 111). Loads that are not whole numbers are scaled so
/// that the heaviest is a million; so is what two tasks exchange, the mean of both directions, as either end of
/// an edge names it.
///
/// # Errors
///
/// A problem of no tasks.
pub fn metis_text(problem: &Problem) -> Result<String, FormatError> {
    if problem.is_empty() {
        return Err(FormatError::Whole("there is no task to write".to_owned()));
    }
    let mut edges: Vec<BTreeMap<u32, f64>> = vec![BTreeMap::new(); problem.len()];
    for message in problem.messages() {
        for (one, two) in [(message.from, message.to), (message.to, message.from)] {
            *edges[one as usize].entry(two).or_default() += message.bytes / 2.0;
        }
    }
    let loads = Whole::of(problem.tasks().iter().map(|task| task.load));
    let weights = Whole::of(edges.iter().flat_map(|edges| edges.values().copied()));
    let ends: usize = edges.iter().map(BTreeMap::len).sum();
    let mut text = format!("{} {} 111\n", problem.len(), ends / 2);
    for (task, edges) in problem.tasks().iter().zip(&edges) {
        let _ = write!(text, "{} {}", task.bytes, loads.weight(task.load));
        for (other, bytes) in edges {
            let _ = write!(text, " {} {}", other + 1, weights.weight(*bytes));
        }
        text.push('\n');
    }
    Ok(text)
}

/// Amounts as whole numbers.
struct Whole {
    scale: f64,
}

impl Whole {
    fn of(amounts: impl Iterator<Item = f64> + Clone) -> Whole {
        const MOST: f64 = 1e6;
        let exact = amounts.clone().all(|amount| amount.fract() == 0.0 && amount < f64::from(i32::MAX));
        let greatest = amounts.fold(0.0, f64::max);
        Whole { scale: if exact || greatest == 0.0 { 1.0 } else { MOST / greatest } }
    }

    fn weight(&self, amount: f64) -> u64 {
        (amount * self.scale).round() as u64
    }
}

/// A line for each task with its core, as METIS writes its parts.
#[must_use]
pub fn metis_part(mapping: &Mapping) -> String {
    let mut text = String::new();
    for core in mapping.cores() {
        let _ = writeln!(text, "{core}");
    }
    text
}

/// The mapping of a file of parts: the core of each task, a line each.
///
/// # Errors
///
/// The line and what is wrong with it; another number of lines than tasks.
pub fn metis_parts(bytes: &[u8], problem: &Problem) -> Result<Mapping, FormatError> {
    let lines = super::text::lines(text(bytes)?, '%');
    let cores = lines.map(|(line, word)| whole(line, "the part", word)).collect::<Result<Vec<u32>, _>>()?;
    if cores.len() != problem.len() {
        let reason = format!("{} parts for {} tasks", cores.len(), problem.len());
        return Err(FormatError::Whole(reason));
    }
    Ok(Mapping::new(cores))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_code_reads() {
        let plain = metis_graph(b"% a path\n3 2\n2\n1 3\n2").unwrap();
        assert_eq!((plain.len(), plain.pairs(), plain.sent(1)[1].bytes), (3, 4, 1.0));
        let edges = metis_graph(b"3 1 001\n2 7\n1 7\n\n").unwrap();
        assert_eq!((edges.sent(0)[0].bytes, edges.sent(2).len()), (7.0, 0));
        let weights = metis_graph(b"2 1 010 2\n4 9 2\n5 9 1\n").unwrap();
        assert_eq!(weights.tasks()[1].load, 5.0);
        let all = metis_graph(b"2 1 111\n100 4 2 7\n200 5 1 7\n").unwrap();
        assert_eq!((all.tasks()[1].bytes, all.tasks()[1].load, all.sent(1)[0].bytes), (200, 5.0, 7.0));
        assert_eq!(metis_graph(metis_text(&all).unwrap().as_bytes()).unwrap(), all);
    }

    #[test]
    fn what_is_stated_takes_no_memory() {
        // A hundred gigabytes of tasks, and as many of messages.
        let reason = |text: &str| metis_graph(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(reason("4294967294 1\n2\n1\n"), "4294967294 vertices are stated, but there are 2");
        assert_eq!(reason("2 2147483646\n2\n1\n"), "2147483646 edges are stated, but their ends number 2");
    }

    #[test]
    fn bad_graphs_are_refused_with_line_and_reason() {
        let reason = |text: &str| metis_graph(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(reason("2 1\n3\n1\n"), "line 2: there is no vertex 3; they are 1 to 2");
        assert_eq!(reason("2 1\n0\n1\n"), "line 2: there is no vertex 0; they are 1 to 2");
        assert_eq!(reason("2 1\n1\n1\n"), "line 2: vertex 1 is its own neighbour");
        assert_eq!(reason("2 1 002\n2\n1\n"), "line 1: the format `002` is not three digits of 0 and 1");
        assert_eq!(reason("2 1 001\n2 5\n1 6\n"), "line 2: the edge 1 to 2 weighs 5 here and weighs 6 there");
        assert_eq!(
            reason("3 1\n2\n3\n\n"),
            "line 2: the edge 1 to 2 weighs 1 here and is missing from its other end"
        );
        assert_eq!(reason("2 1 001\n2 5\n1\n"), "line 3: the edge to 1 has no weight");
        assert_eq!(reason("2 2\n2\n1\n"), "2 edges are stated, but their ends number 2");
        assert_eq!(reason("3 1\n2\n1"), "3 vertices are stated, but there are 2");
        assert_eq!(reason("1 0\n\n5\n"), "line 3: more than the stated 1 vertices");
        assert_eq!(reason("0 0\n"), "line 1: a graph without vertices");
        assert_eq!(reason("4294967294 1\n2\n1"), "4294967294 vertices are stated, but there are 2");
        assert_eq!(reason("2 2147483646\n2\n1"), "2147483646 edges are stated, but their ends number 2");
    }
}
