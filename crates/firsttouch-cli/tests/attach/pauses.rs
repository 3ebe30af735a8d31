//! How long a program stands still: by a thread of the program itself that beats.

use crate::attached::attach;
use crate::target::{Coverage, Target, compiled, folder, sources};
use crate::{Outcome, Test};
use serde_json::Value;

const MIB: u64 = 768;
/// Others use this machine, too, and lengthen what they interrupt: the best of so many attempts is looked at.
const ATTEMPTS: usize = 5;
/// Of the limit, for a machine that others work on. That the limit itself is kept on an idle one, with 4 GiB, is for
/// `benches/attach_pause.py` to show.
const BUSY: f64 = 5.0;

pub(crate) fn tests() -> Vec<Test> {
    vec![("a program does not stand still".to_owned(), Box::new(|| pauses(20.0)))]
}

/// The longest stalls that the program saw, in ms: left alone, and then attached to.
fn attempt(limit_ms: f64) -> Outcome<(f64, f64)> {
    let (folder, state) = (folder(), folder());
    let program = compiled(folder.path(), &sources("c").join("heartbeat.c"))?;
    let words = [program.into_os_string(), MIB.to_string().into(), "1".into()];
    let mut target = Target::start(&words, folder.path());
    let stall = |seen: &Value| {
        let of = |name: &str| seen[name]["worst_stall_ms"].as_f64().unwrap();
        of("heartbeat").max(of("mapper"))
    };
    let alone_ms = stall(&target.ask("beats 2000000"));
    let limit = format!("{limit_ms}ms");
    let attached = attach(state.path(), target.pid, &["--pages", "thp", "--budget-stall", &limit]);
    let attached_ms = stall(&target.ask("beats 1"));
    let report = attached.done(target.pid);
    let coverage = Coverage::of(&[target.pid]);
    assert!(coverage.share() > 0.97, "{coverage:?} {report}");
    let told_ms = report["worst_pause_ms"].as_f64().unwrap();
    assert_eq!(report["stall_limit_ms"].as_f64(), Some(limit_ms));
    assert!(told_ms > 0.0, "{report}");
    println!("    left alone {alone_ms} ms, attached {attached_ms} ms, told {told_ms} ms");
    assert_eq!(target.ask("check")["whole"], true);
    assert_eq!(target.finish().0, Some(0), "memory was lost");
    Ok((alone_ms, attached_ms))
}

fn pauses(limit_ms: f64) -> Outcome {
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        seen.push(attempt(limit_ms)?);
        if seen.iter().any(|(_, attached_ms)| *attached_ms <= limit_ms * BUSY) {
            return Ok(());
        }
    }
    panic!("stalls, alone and attached, of {seen:?} ms");
}
