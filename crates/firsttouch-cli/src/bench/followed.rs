//! Follows a session of runs of a case: reads what each says before the next begins, and ends the session where two runs do not come
//! to the same result.

use super::case_run::{CaseRun, RunChecksum};
use crate::interrupt::Interrupt;
use crate::output::{Failure, Outcome};
use crate::tune::display::Told;
use anyhow::Context;
use firsttouch_cases::About;
use firsttouch_experiment::{Observer, Phase, PhaseProgress, RunRequest, TimedRun};
use firsttouch_launch::{Interruption, Stage, TuneObserver};
use firsttouch_sorted::SortedMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// So many runs of each configuration measure the limit, which takes longer than many a case: the others are for the verdict.
const LIMITS: usize = 2;

/// What a case came to first, and under which configuration.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    checksum: RunChecksum,
    name: String,
}

/// Ends a session: somebody asked for it, or its runs disagree.
#[derive(Debug)]
pub(super) struct Halt {
    interrupt: Interrupt,
    disagreed: AtomicBool,
}

impl Halt {
    pub(super) fn new(interrupt: Interrupt) -> Halt {
        Halt { interrupt, disagreed: AtomicBool::new(false) }
    }
}

impl Interruption for Halt {
    fn asked(&self) -> bool {
        self.interrupt.asked() || self.disagreed.load(Ordering::Relaxed)
    }

    fn kill(&self) -> &AtomicBool {
        self.interrupt.kill()
    }
}

/// Draws what a session does, and keeps what its runs say.
#[derive(Debug)]
pub(super) struct Followed<'a> {
    told: Told,
    result: PathBuf,
    /// The file that has a run measure the limit while it is there.
    asks_limit: PathBuf,
    halt: &'a Halt,
    about: &'a About,
    /// By what decides the result: the parameters that are varied.
    references: &'a mut SortedMap<String, Reference>,
    names: Vec<String>,
    runs: SortedMap<String, Vec<CaseRun>>,
    failure: Option<Failure>,
}

impl<'a> Followed<'a> {
    pub(super) fn new(
        told: Told,
        (result, asks_limit): (PathBuf, PathBuf),
        halt: &'a Halt,
        about: &'a About,
        references: &'a mut SortedMap<String, Reference>,
    ) -> Followed<'a> {
        let (names, runs) = (Vec::new(), SortedMap::new());
        Followed { told, result, asks_limit, halt, about, references, names, runs, failure: None }
    }

    /// The runs of the search, by the names of their configurations.
    pub(super) fn end(self) -> Outcome<SortedMap<String, Vec<CaseRun>>> {
        self.told.clear();
        self.failure.map_or(Ok(self.runs), Err)
    }

    fn keep(&mut self, request: &RunRequest) -> Outcome<()> {
        let run = CaseRun::read(&self.result).context("cannot read what a run said")?;
        let name = &self.names[request.configuration];
        let reference = self
            .references
            .entry(what_decides(name, self.about))
            .or_insert_with(|| Reference { checksum: run.checksum.clone(), name: name.clone() });
        if !reference.checksum.agrees(&run.checksum) {
            let (first, one, other) = (&reference.name, &reference.checksum, &run.checksum);
            return Err(Failure::message(format!(
                "`{name}` came to {other} where `{first}` came to {one}: one of them is wrong"
            )));
        }
        if request.phase == Phase::Search {
            self.runs.entry(name.clone()).or_default().push(run);
        }
        Ok(())
    }
}

/// What of a configuration decides its result: of its name, `thp variant=x n=4 threads=2`, the values that are parameters of the
/// case. Words of a placement may hold a `=` as well: `thp,object=a:thp`.
fn what_decides(name: &str, about: &About) -> String {
    let is_parameter = |name: &str| about.parameters.iter().any(|parameter| parameter.name == name);
    let words =
        name.split(' ').filter(|word| word.split_once('=').is_some_and(|(name, _)| is_parameter(name)));
    words.collect::<Vec<_>>().join(" ")
}

impl TuneObserver for Followed<'_> {
    fn stage(&mut self, stage: &Stage<'_>) {
        self.told.stage(stage);
    }

    fn timing(&mut self, names: &[String]) {
        self.names = names.to_vec();
        self.told.timing(names);
    }
}

impl Observer for Followed<'_> {
    fn run_started(&mut self, request: &RunRequest) {
        let name = &self.names[request.configuration];
        let has_enough = self.runs.get(name).is_some_and(|runs| runs.len() >= LIMITS);
        // A failure costs no more than a limit too many or too few.
        let _ = if request.phase == Phase::Search && !has_enough {
            fs::write(&self.asks_limit, "")
        } else {
            fs::remove_file(&self.asks_limit)
        };
        self.told.run_started(request);
    }

    fn run_finished(&mut self, request: &RunRequest, timed: &TimedRun) {
        if let Err(failure) = self.keep(request) {
            self.failure.get_or_insert(failure);
            self.halt.disagreed.store(true, Ordering::Relaxed);
        }
        self.told.run_finished(request, timed);
    }

    fn wants_forecasts(&self) -> bool {
        self.told.wants_forecasts()
    }

    fn block_finished(&mut self, progress: &PhaseProgress) {
        self.told.block_finished(progress);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_cases::{Checksum, find};
    use firsttouch_experiment::Objective;

    #[test]
    fn the_first_runs_of_each_configuration_are_asked_for_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (result, asks_limit) = (folder.path().join("result"), folder.path().join("limit"));
        let said = CaseRun {
            seconds: 1.0,
            checksum: Checksum::Exact(1).into(),
            work: None,
            limit: None,
            notes: Vec::new(),
            objects: Default::default(),
        };
        said.write(&result).unwrap();
        let told = Told::new(Interrupt::default(), false, &Objective::default());
        let (halt, mut references) = (Halt::new(Interrupt::default()), SortedMap::new());
        let about = find("gather").unwrap().about();
        let mut followed = Followed::new(told, (result, asks_limit.clone()), &halt, about, &mut references);
        followed.timing(&["one".to_owned(), "late".to_owned()]);
        let mut is_asked = |configuration: usize, phase: Phase, block: u32| {
            let request = RunRequest { configuration, phase, block, order: 0, environment_offset_bytes: 0 };
            followed.run_started(&request);
            let is_asked = asks_limit.exists();
            followed.run_finished(&request, &TimedRun::default());
            is_asked
        };
        assert!(!asks_limit.exists(), "runs that are not timed are not asked");
        assert_eq!([0, 1, 2].map(|block| is_asked(0, Phase::Search, block)), [true, true, false]);
        assert_eq!([3, 4, 5].map(|block| is_asked(1, Phase::Search, block)), [true, true, false]);
        assert!(!is_asked(0, Phase::Confirmation, 0));
    }

    #[test]
    fn runs_of_all_placements_variants_and_teams_are_held_against_one_result_of_each_size() {
        let about = firsttouch_cases::find("gather").expect("a case").about();
        let decides = |name| what_decides(name, about);
        assert_eq!(decides("plain"), "");
        assert_eq!(decides("thp,object=table:thp:prefer=1"), "");
        assert_eq!(decides("thp variant=plain threads=2 groups=2x1"), "");
        let parameter = about.parameters[0].name;
        assert_eq!(
            decides(&format!("thp,object=a:thp variant=x {parameter}=4 threads=2")),
            format!("{parameter}=4")
        );
    }
}
