//! Programs that the agent was to follow into and is not in, and why.

use crate::unserved::{WORTH_BYTES, wants_huge};
use firsttouch_placement::{ProcessTree, Receipt, format_bytes};
use firsttouch_process::inspect;
use firsttouch_watch::WithoutAgent;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Says of which programs the memory was not placed because no agent was in them. One sentence for each program: a pool of
/// processes is one. Answers how many bytes that is.
pub(crate) fn tell(receipt: &mut Receipt, tree: &ProcessTree, without_agent: &[WithoutAgent]) -> u64 {
    if !receipt.asked.follow || !wants_huge(&receipt.asked) {
        return 0;
    }
    let mut programs: Vec<Unreached<'_>> = Vec::new();
    for process in &tree.processes {
        let Some(found) = without_agent.iter().find(|found| found.pid == process.pid) else { continue };
        let memory = process.memory.of_no_file();
        let bytes = memory.bytes.saturating_sub(memory.huge_bytes);
        match programs.iter_mut().find(|known| known.program == process.program) {
            Some(known) => (known.bytes, known.processes) = (known.bytes + bytes, known.processes + 1),
            None => {
                programs.push(Unreached { program: &process.program, file: found.file, bytes, processes: 1 })
            }
        }
    }
    programs.retain(|unreached| unreached.bytes >= WORTH_BYTES);
    receipt.notes.extend(programs.iter().map(Unreached::note));
    programs.iter().map(|unreached| unreached.bytes).sum()
}

struct Unreached<'a> {
    program: &'a str,
    file: Option<(u64, u64)>,
    /// On small pages.
    bytes: u64,
    processes: u32,
}

impl Unreached<'_> {
    fn note(&self) -> String {
        let Unreached { program, bytes, processes, .. } = *self;
        let size = format_bytes(bytes);
        let of = match processes {
            1 => program.to_owned(),
            _ => format!("{processes} processes of {program}, each at its peak"),
        };
        // A name means another file in another root; where it means the same one, that file says why.
        let file = fs::metadata(program).ok().map(|file| (file.dev(), file.ino()));
        let kind = file.filter(|file| Some(*file) == self.file);
        let kind = kind.and_then(|_| inspect(Path::new(program).as_os_str(), &[], None).ok());
        let why = kind.and_then(|found| found.kind.out_of_reach(program));
        let why = why.map_or_else(
            || {
                "no agent is in it: it was started without LD_PRELOAD, or where the agent's file is not to be found (a sandbox \
                 or container)"
                    .to_owned()
            },
            |words| format!("the agent does not reach it: {words}"),
        );
        format!("{size} on small pages is of {of}; {why}; `firsttouch attach` collapses it from outside")
    }
}
