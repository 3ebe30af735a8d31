//! SCOTCH's dual recursive bipartitioning (Pellegrini 1994), as Charm++'s ScotchLB uses it: blind to where tasks are, and to
//! distances. By the program `scotch_gmap`, whose start and files are part of the time.

use super::partition::{Program, Weighted, line};
use crate::strategy::check;
use crate::{Machine, Mapping, Options, Problem, Solution, Strategy, StrategyError};
use std::fs;
use std::time::Instant;

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

    fn solve(
        &self,
        problem: &Problem,
        machine: &Machine,
        start: &Mapping,
        options: &Options,
    ) -> Result<Solution, StrategyError> {
        check(problem, machine, start, options)?;
        let begun = Instant::now();
        let weighted = Weighted::of(problem, machine);
        let parts = weighted.room.len();
        if parts == 1 || weighted.vertices() == 0 {
            return Ok(Solution::new(start.clone(), begun.elapsed()));
        }
        let folder = tempfile::tempdir().map_err(|error| PROGRAM.failed(&error))?;
        let rows = weighted.rows();
        let ends: usize = rows.iter().map(|(_, neighbours)| neighbours.len()).sum();
        // Version 0, vertices from 0, and weights of edges and of vertices.
        let mut text = format!("0\n{} {ends}\n0 011\n", rows.len());
        for (weight, neighbours) in &rows {
            let head = [*weight, neighbours.len() as u64];
            let neighbours = neighbours.iter().flat_map(|(other, weight)| [*weight, u64::from(*other)]);
            line(&mut text, head.into_iter().chain(neighbours));
        }
        PROGRAM.write(&folder.path().join("graph"), &text)?;
        let mut target = format!("cmpltw {parts} ");
        line(&mut target, weighted.shares().iter().map(|share| (share * WHOLE).round().max(1.0) as u64));
        PROGRAM.write(&folder.path().join("target"), &target)?;
        let arguments = [
            format!("-b{}", options.tolerance.clamp(0.001, 1.0)),
            "graph".to_owned(),
            "target".to_owned(),
            "map".to_owned(),
        ];
        PROGRAM.run(&arguments, folder.path())?;
        let answer = fs::read_to_string(folder.path().join("map")).map_err(|error| PROGRAM.failed(&error))?;
        let numbers: Result<Vec<u32>, _> = answer.split_whitespace().skip(1).map(str::parse).collect();
        let mut found: Vec<Option<u32>> = vec![None; rows.len()];
        for pair in numbers.unwrap_or_default().chunks_exact(2) {
            if let Some(place) = found.get_mut(pair[0] as usize).filter(|_| (pair[1] as usize) < parts) {
                *place = Some(pair[1]);
            }
        }
        let found: Option<Vec<u32>> = found.into_iter().collect();
        let found = found.ok_or_else(|| PROGRAM.failed(&"its answer has other parts than were asked for"))?;
        Ok(Solution::new(weighted.mapping(&found, start, options), begun.elapsed()))
    }
}
