//! METIS's recursive bisection (Karypis and Kumar 1998), as Charm++'s MetisLB uses it: blind to where tasks are and to
//! distances. By the program `gpmetis`, whose start and files are part of the time.

use super::partition::{Job, Program, line, partition};
use crate::{Answer, Asked, Strategy, StrategyError};

const PROGRAM: Program = Program { strategy: "metis", program: "gpmetis", hint: "apt install metis" };

/// Partitions by METIS.
#[derive(Clone, Copy, Debug)]
pub struct Metis;

impl Strategy for Metis {
    fn name(&self) -> &'static str {
        PROGRAM.strategy
    }

    fn map(&self, asked: &Asked<'_>) -> Result<Answer, StrategyError> {
        partition(&PROGRAM, asked, |job| run(job, asked))
    }
}

fn run(job: &Job<'_>, asked: &Asked<'_>) -> Result<Vec<Option<u32>>, StrategyError> {
    let mut rows = job.rows();
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
    job.write("graph", &text)?;
    let shares = job.shares();
    let shares = shares.iter().enumerate().map(|(part, share)| format!("{part} = {share:.9}\n"));
    job.write("shares", &shares.collect::<String>())?;
    let thousandths = (asked.options.tolerance * 1000.0).round().max(1.0);
    job.run(&[
        "-ptype=rb".to_owned(),
        format!("-ufactor={thousandths}"),
        format!("-seed={}", asked.options.seed),
        "-tpwgts=shares".to_owned(),
        "graph".to_owned(),
        job.parts.to_string(),
    ])?;
    let answer = job.read(&format!("graph.part.{}", job.parts))?;
    Ok(answer.split_whitespace().map(|word| word.parse().ok()).collect())
}
