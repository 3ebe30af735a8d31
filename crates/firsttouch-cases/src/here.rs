//! Cases as tests make them: by quick values beside those that a test chooses.

use crate::case::{Case, Given, Prepared, Work, Workload};
use crate::error::CaseError;
use crate::{Arguments, Arrays, Checksum};
use firsttouch_threads::Team;

pub(crate) fn prepared(
    case: &dyn Case,
    variant: &str,
    chosen: &[(&str, &str)],
    team: &mut Team,
) -> Result<Prepared, CaseError> {
    let chosen: Vec<_> = chosen.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let arguments = Arguments::of(case.about(), &chosen, true)?;
    let (arrays, variant) = (Arrays::default(), case.about().variant(variant).unwrap());
    case.prepare(&mut Given { arguments: &arguments, variant, arrays: &arrays, team })
}

/// Of a variant that runs in this process.
pub(crate) fn workload(
    case: &dyn Case,
    variant: &str,
    chosen: &[(&str, &str)],
    team: &mut Team,
) -> Box<dyn Workload> {
    match prepared(case, variant, chosen, team).unwrap() {
        Prepared::Here(workload) => workload,
        Prepared::Outside(outside) => panic!("{outside:?}"),
    }
}

/// What the second of two steps comes to, by so many threads.
pub(crate) fn stepped(
    case: &dyn Case,
    variant: &str,
    chosen: &[(&str, &str)],
    threads: usize,
) -> (Checksum, Work) {
    let mut team = Team::of_this_process(threads).unwrap();
    let mut workload = workload(case, variant, chosen, &mut team);
    for _ in 0..2 {
        workload.reset(&mut team);
        workload.step(&mut team);
    }
    (workload.checksum(), workload.work())
}
