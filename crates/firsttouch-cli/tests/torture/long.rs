//! Long runs by hand: as many operations as one likes, of any seed, under any placement.

use crate::guests;
use crate::plan::Plan;
use crate::program::Program;
use crate::runner::{Skip, Tally};
use crate::suite::{guest, run_here, run_in_guest};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// What the command line asks for.
pub(crate) struct Long {
    plan: Plan,
    runs: u64,
    /// In a guest with the newer kernel, or the older one; or here.
    newer: Option<bool>,
}

impl Long {
    pub(crate) fn read(words: &[String]) -> Result<Long, String> {
        let mut long = Long { plan: Plan::new("", 1, 0), runs: 1, newer: None };
        let mut placed = String::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} wants a value"))?;
            let number = || value.parse::<u64>().map_err(|error| format!("{word} {value}: {error}"));
            match word.as_str() {
                "--operations" => long.plan.operations = number()?,
                "--seed" => long.plan.seed = number()?,
                "--runs" => long.runs = number()?,
                "--signals" => long.plan.signals = Some(number()?),
                "--threads" => {
                    long.plan.threads = Some(u32::try_from(number()?).map_err(|it| it.to_string())?)
                }
                "--kernel" => {
                    long.newer = match value.as_str() {
                        "6.1" => Some(false),
                        "6.12" => Some(true),
                        _ => return Err(format!("the kernels are 6.1 and 6.12, not {value}")),
                    }
                }
                "--pages" => placed += &format!(" --pages {value}"),
                "--placement" => placed += &format!(" {value}"),
                "--words" => long.plan.more += &format!(" {value}"),
                _ => {
                    return Err(format!("{word}? The options are told at the head of tests/torture/main.rs"));
                }
            }
        }
        long.plan.attached = placed.contains("--attachable") && long.newer.is_none();
        long.plan.placed = Some(placed.trim().to_owned());
        Ok(long)
    }

    /// One run for each seed from the first on.
    pub(crate) fn run(&self, tally: &mut Tally) {
        for seed in self.plan.seed..self.plan.seed + self.runs {
            let plan = Plan { seed, ..self.plan.clone() };
            let begun = Instant::now();
            let result = catch_unwind(AssertUnwindSafe(|| {
                let program = Program::compile()?;
                let Some(newer) = self.newer else {
                    run_here(&plan, &program);
                    return Ok(());
                };
                let setting = guest(newer);
                if let Some(Some(said)) = guests::run(&setting, std::slice::from_ref(&plan), &program)?.pop()
                {
                    run_in_guest(&setting, &plan, &said, &program);
                }
                Ok::<(), Skip>(())
            }));
            tally.count(&format!("seed {seed}"), Some(begun.elapsed()), result);
        }
    }
}
