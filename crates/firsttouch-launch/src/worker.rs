//! Programs that leave the work to others, as scripts do: what to say then.

use firsttouch_placement::{Placement, ProcessTree};
use firsttouch_process::{ProgramKind, agent_reach, inspect};
use std::path::Path;

/// What did the work, and the option that reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerAdvice {
    /// The whole sentence.
    pub what: String,
    /// The option, or what else reaches it.
    pub remedy: String,
    /// [`Placement::follow`] is enough.
    pub follow: bool,
}

/// What to say of a run in which programs did the work that the agent was not to follow; `None` if the started one did it.
pub fn worker_advice(asked: &Placement, tree: &ProcessTree) -> Option<WorkerAdvice> {
    if !reaches_one_program(asked) {
        return None;
    }
    let worker = tree.worker()?;
    let program = Path::new(&worker.process.program);
    let kind = inspect(program.as_os_str(), &[], None).ok().map(|program| program.kind);
    let (remedy, follow) = remedy(kind.as_ref());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    let of = if worker.of_memory { "memory" } else { "processor time" };
    let what = format!(
        "the program left the work to others ({name} …: {:.0} % of the {of}), which the placement does not reach",
        worker.share * 100.0
    );
    Some(WorkerAdvice { what, remedy, follow })
}

/// Whether a placement reaches the started program alone.
pub(crate) fn reaches_one_program(asked: &Placement) -> bool {
    asked.needs_agent() && !asked.follow
}

/// The option that reaches a program of this kind.
fn remedy(kind: Option<&ProgramKind>) -> (String, bool) {
    match kind {
        Some(kind) if kind.jvm => ("firsttouch run --via jvm".to_owned(), false),
        Some(kind) => match agent_reach(kind) {
            Ok(()) => ("firsttouch run --follow".to_owned(), true),
            Err(reason) => (reason.remedy().to_owned(), false),
        },
        None => ("firsttouch run --follow".to_owned(), true),
    }
}
