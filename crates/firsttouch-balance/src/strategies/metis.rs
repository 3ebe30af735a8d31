//! METIS's recursive bisection (Karypis and Kumar 1998), as Charm++'s MetisLB uses it: blind to where tasks are and to
//! distances. By the program `gpmetis`, whose start and files are part of the time.

use super::partition::{Program, Weighted, line};
use crate::strategy::check;
use crate::{Machine, Mapping, Options, Problem, Solution, Strategy, StrategyError};
use std::fs;
use std::time::Instant;

const PROGRAM: Program = Program { strategy: "metis", program: "gpmetis", hint: "apt install metis" };

/// Partitions by METIS.
#[derive(Clone, Copy, Debug)]
pub struct Metis;

impl Strategy for Metis {
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
        let mut rows = weighted.rows();
        if rows.iter().all(|(_, neighbours)| neighbours.is_empty()) {
            // The program refuses graphs without edges: a chain of the least weight says as little.
            let last = rows.len().saturating_sub(1) as u32;
            for (place, (_, neighbours)) in (0..).zip(&mut rows) {
                neighbours.extend((place > 0).then(|| (place - 1, 1)));
                neighbours.extend((place < last).then_some((place + 1, 1)));
            }
        }
        let ends: usize = rows.iter().map(|(_, neighbours)| neighbours.len()).sum();
        let mut text = format!("{} {} 011\n", rows.len(), ends / 2);
        for (weight, neighbours) in &rows {
            let neighbours = neighbours.iter().flat_map(|(other, weight)| [u64::from(*other) + 1, *weight]);
            line(&mut text, std::iter::once(*weight).chain(neighbours));
        }
        PROGRAM.write(&folder.path().join("graph"), &text)?;
        let shares = weighted.shares();
        let shares = shares.iter().enumerate().map(|(part, share)| format!("{part} = {share:.9}\n"));
        PROGRAM.write(&folder.path().join("shares"), &shares.collect::<String>())?;
        let thousandths = (options.tolerance * 1000.0).round().max(1.0);
        let arguments = [
            "-ptype=rb".to_owned(),
            format!("-ufactor={thousandths}"),
            format!("-seed={}", options.seed),
            "-tpwgts=shares".to_owned(),
            "graph".to_owned(),
            parts.to_string(),
        ];
        PROGRAM.run(&arguments, folder.path())?;
        let answer = fs::read_to_string(folder.path().join(format!("graph.part.{parts}")))
            .map_err(|error| PROGRAM.failed(&error))?;
        let found: Result<Vec<u32>, _> = answer.split_whitespace().map(str::parse).collect();
        let found = found
            .ok()
            .filter(|found| found.len() == rows.len() && found.iter().all(|part| (*part as usize) < parts));
        let found = found.ok_or_else(|| PROGRAM.failed(&"its answer has other parts than were asked for"))?;
        Ok(Solution::new(weighted.mapping(&found, start, options), begun.elapsed()))
    }
}
