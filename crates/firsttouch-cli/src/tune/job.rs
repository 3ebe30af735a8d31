//! `tune --job`: the place in a launcher's line where ranks are placed, and the script for Slurm.

use crate::args::Tune;
use crate::export;
use crate::output::{self, Failure, Outcome};
use firsttouch_launch::RANKS_PLACE;
use firsttouch_process::{Environment, resolve};
use firsttouch_report::shell;
use std::ffi::OsString;
use std::path::Path;

/// Options of launchers whose value, or the second of two, may be the name of a program.
const NAMES_A_PROGRAM: [(&str, usize); 6] =
    [("mca", 2), ("prtemca", 2), ("launcher", 1), ("bootstrap", 1), ("launch-agent", 1), ("x", 1)];

/// The launcher's line with the word in whose place ranks are placed.
pub(super) fn line(words: &[OsString], environment: &Environment) -> Outcome<Vec<OsString>> {
    let mut line = words.to_vec();
    if words.iter().any(|word| word == RANKS_PLACE) {
        return Ok(line);
    }
    let mut named = 0;
    let place = words.iter().enumerate().skip(1).find(|(_, word)| {
        let option = word.to_str().filter(|word| word.starts_with('-'));
        if let Some(option) = option {
            let name = option.trim_start_matches('-');
            named = NAMES_A_PROGRAM.iter().find(|(known, _)| *known == name).map_or(0, |(_, values)| *values);
            return false;
        }
        if named > 0 {
            named -= 1;
            return false;
        }
        resolve(word, environment.get("PATH")).is_ok()
    });
    match place {
        Some((index, _)) => {
            line.insert(index, RANKS_PLACE.into());
            Ok(line)
        }
        None => Err(Failure::message("no word of the launcher's line is a program that its ranks run")
            .hint("say where it is: firsttouch tune --job -- mpirun -n 4 {run} ./simulate")
            .usage()),
    }
}

/// Writes the script by which Slurm does what was asked.
pub(super) fn script(file: &Path, tune: &Tune) -> Outcome {
    let own = std::env::current_exe()?;
    let asked = std::env::args_os().skip(1);
    let mut words: Vec<String> = vec![own.display().to_string()];
    let mut asked = asked.map(|word| word.to_string_lossy().into_owned()).peekable();
    while let Some(word) = asked.next() {
        match word.as_str() {
            "--" => {
                words.push(word);
                words.extend(asked.by_ref());
            }
            "--sbatch" => drop(asked.next()),
            _ if word.starts_with("--sbatch=") => {}
            _ => words.push(word),
        }
    }
    // Placements are compared on nodes that nobody else uses.
    let text = format!(
        "#!/bin/sh\n#SBATCH --job-name=firsttouch-tune\n#SBATCH --exclusive\n#SBATCH --output=firsttouch-tune-%j.out\nexec {}\n",
        shell::command(&words)
    );
    export::write(file, &text)?;
    let launcher = tune.program.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    output::message(&format!(
        "sbatch --ntasks=N {}   # as many tasks as {launcher} starts\n",
        file.display()
    ));
    Ok(0)
}
