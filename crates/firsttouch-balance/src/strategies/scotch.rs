//! SCOTCH's dual recursive bipartitioning (Pellegrini 1994), as Charm++'s ScotchLB uses it: blind to where tasks are, and to
//! distances. By the program `scotch_gmap`, whose start and files are part of the time.

use super::partition::{Job, Program, line, partition};
use crate::{Answer, Asked, Strategy, StrategyError};

const PROGRAM: Program = Program { strategy: "scotch", program: "scotch_gmap", hint: "apt install scotch" };
/// Shares of the load as whole numbers of this.
const WHOLE: f64 = 1_000_000.0;

/// Partitions by SCOTCH.
#[derive(Clone, Copy, Debug)]
pub struct Scotch;

impl Strategy for Scotch {
    fn name(&self) -> &'static str {
        PROGRAM.strategy
    }

    fn map(&self, asked: &Asked<'_>) -> Result<Answer, StrategyError> {
        partition(&PROGRAM, asked, |job| run(job, asked.options.tolerance))
    }
}

fn run(job: &Job<'_>, tolerance: f64) -> Result<Vec<Option<u32>>, StrategyError> {
    let rows = job.rows();
    let ends: usize = rows.iter().map(|(_, neighbours)| neighbours.len()).sum();
    // Version 0, vertices from 0, and weights of edges and of vertices.
    let mut text = format!("0\n{} {ends}\n0 011\n", rows.len());
    for (weight, neighbours) in &rows {
        let head = [*weight, neighbours.len() as u64];
        let neighbours = neighbours.iter().flat_map(|(other, weight)| [*weight, u64::from(*other)]);
        line(&mut text, head.into_iter().chain(neighbours));
    }
    job.write("graph", &text)?;
    let mut target = format!("cmpltw {} ", job.parts);
    line(&mut target, job.shares().iter().map(|share| (share * WHOLE).round().max(1.0) as u64));
    job.write("target", &target)?;
    let tolerance = format!("-b{}", tolerance.clamp(0.001, 1.0));
    job.run(&[tolerance, "graph".to_owned(), "target".to_owned(), "map".to_owned()])?;
    let answer = job.read("map")?;
    // The number of vertices, then a vertex and its part in each line.
    let numbers: Result<Vec<u32>, _> = answer.split_whitespace().skip(1).map(str::parse).collect();
    let mut found = vec![None; rows.len()];
    for pair in numbers.unwrap_or_default().chunks_exact(2) {
        if let Some(place) = found.get_mut(pair[0] as usize) {
            *place = Some(pair[1]);
        }
    }
    Ok(found)
}
