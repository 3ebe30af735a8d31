//! `explain`: who will override a placement, told before the program runs.

use crate::args::Explain;
use crate::output::{self, Outcome};
use crate::{measure, program, run};
use firsttouch_documents::{Explanation, to_json};
use firsttouch_explain::{Evidence, ExplainedProgram, Resolution, Wanted, explain};
use firsttouch_launch::Subject;
use firsttouch_machine::Root;
use firsttouch_placement::{MemoryPolicy, Placement, ThreadPlacement};
use firsttouch_report::{Style, text};

pub(crate) fn run(args: &Explain) -> Outcome {
    let asked = run::placement(&args.placement)?;
    let own = program::environment();
    let subject = Subject::find(&args.program, &own).map_err(program::not_runnable)?;
    let words = subject.command();
    let evidence = Evidence::collect(&Root::live(), wanted(&asked), target(&subject), own)?;
    let explanation = Explanation { program: words, asked, findings: explain(&evidence) };
    output::data(&if args.json {
        to_json(&explanation)
    } else {
        text::explanation(&explanation.findings, output::width(), Style::Ansi)
    })?;
    Ok(0)
}

/// The program as evidence.
fn target(subject: &Subject) -> ExplainedProgram {
    ExplainedProgram {
        words: subject.command(),
        image: subject.program().image.clone(),
        kind: subject.program().kind.clone(),
        preloaded_allocator: subject.preloaded_allocator().map(str::to_owned),
    }
}

fn wanted(asked: &Placement) -> Wanted {
    Wanted {
        words: asked.arguments().join(" "),
        pages: asked.pages,
        via: asked.via,
        needs_agent: asked.needs_agent(),
        follow: asked.follow,
        memory: match (&asked.memory, &asked.near) {
            // Memory next to the device is preferred.
            (MemoryPolicy::None, near) => near.as_ref().map(|device| format!("near {device}")),
            (memory, _) => Some(memory.to_string()),
        },
        cpus: match (asked.cpus.is_none(), &asked.near) {
            (true, near) => near.as_ref().map(|device| format!("near {device}")),
            (false, _) => Some(asked.cpus.to_string()),
        },
        threads: (asked.threads != ThreadPlacement::None).then(|| asked.threads.to_string()),
        resolved: measure::resolve(asked, false)
            .map(|resolved| Resolution { nodes: resolved.memory.nodes(), cpus: resolved.cpus })
            .map_err(|error| (error.to_string(), error.hint())),
    }
}
