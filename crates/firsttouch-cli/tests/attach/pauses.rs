//! Programs that beat while somebody attaches. For how long they stand still, `benches/attach_pause.py` measures: the test of
//! a machine that others use, too, can say nothing about it.

use crate::attached::attach;
use crate::target::{Coverage, Target, compiled, folder, sources};
use crate::{Outcome, Test};

const MIB: u64 = 768;

pub(crate) fn tests() -> Vec<Test> {
    vec![("a program goes on meanwhile, and its worst pause is told".to_owned(), Box::new(goes_on))]
}

fn goes_on() -> Outcome {
    const LIMIT_MS: f64 = 20.0;
    let (folder, state) = (folder(), folder());
    let program = compiled(folder.path(), &sources("c").join("heartbeat.c"))?;
    let words = [program.into_os_string(), MIB.to_string().into(), "1".into()];
    let mut target = Target::start(&words, folder.path());
    let limit = format!("{LIMIT_MS}ms");
    let attached = attach(state.path(), target.pid, &["--pages", "thp", "--budget-stall", &limit]);
    let seen = target.ask("beats 1");
    assert!(seen["heartbeat"]["worst_stall_ms"].as_f64().is_some(), "it beats no more: {seen}");
    let report = attached.done(target.pid);
    let coverage = Coverage::of(&[target.pid]);
    assert_eq!(report["stall_limit_ms"].as_f64(), Some(LIMIT_MS));
    assert!(report["worst_pause_ms"].as_f64().is_some_and(|told_ms| told_ms > 0.0), "{report}");
    assert_eq!(target.ask("check")["whole"], true);
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    coverage.reaches(0.97, &report)
}
