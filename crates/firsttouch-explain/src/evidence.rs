//! What there is to see before a program runs.

use firsttouch_linux::cpulist::parse_list;
use firsttouch_linux::trials::{self, Trial};
use firsttouch_machine::{Machine, MachineError, Root, Settings, StatusReport};
use firsttouch_placement::{Pages, Via};
use firsttouch_process::{Environment, ProgramKind};
use std::path::PathBuf;

/// What was asked, as far as it can be overridden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// All of it, as options.
    pub words: String,
    /// The kind of pages.
    pub pages: Pages,
    /// The means.
    pub via: Via,
    /// Whether the agent has something to do in the program.
    pub needs_agent: bool,
    /// It goes along into the programs that the program starts.
    pub follow: bool,
    /// The memory policy in words (`bind=1`); `None` where memory is left alone.
    pub memory: Option<String>,
    /// The CPUs of the program in words (`0-3`, `nodes=1`); `None` where they are left alone.
    pub cpus: Option<String>,
    /// The placement of threads in words (`compact`); `None` where threads are left alone.
    pub threads: Option<String>,
    /// The nodes and CPUs that this comes to on this machine, or why it cannot be given and what would mend that.
    pub resolved: Result<Resolution, (String, String)>,
}

/// Nodes and CPUs by number; empty where they are left alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// The nodes that memory is to come from.
    pub nodes: Vec<u32>,
    /// The CPUs that the program is to run on.
    pub cpus: Vec<u32>,
}

/// The program, looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedProgram {
    /// The words after `--`.
    pub words: Vec<String>,
    /// The file whose code runs in the end: of a script its interpreter.
    pub image: PathBuf,
    /// What kind of program that is.
    pub kind: ProgramKind,
    /// An allocator that `LD_PRELOAD` brings.
    pub preloaded_allocator: Option<String>,
}

impl ExplainedProgram {
    /// The name of what is started: the last part of the first word.
    pub(crate) fn name(&self) -> &str {
        let word = self.words.first().map_or("", String::as_str);
        word.rsplit('/').next().unwrap_or(word)
    }
}

/// What this process was started with, and so what the program would inherit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// The text of `/proc/self/status`.
    pub status: Option<String>,
    /// The first line of `/proc/self/numa_maps`, which begins with the policy in force.
    pub policy: Option<String>,
}

/// Calls of placement, tried in children, where the kernel can be asked; or why there was no child.
pub(crate) fn tried(root: &Root) -> (Vec<(&'static str, Trial)>, Option<String>) {
    let tried = if root.is_live() { trials::placement_calls() } else { Ok(Vec::new()) };
    tried.map_or_else(|error| (Vec::new(), Some(error.to_string())), |trials| (trials, None))
}

/// Everything that rules look at.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// What was asked.
    pub wanted: Wanted,
    /// The machine, its limits, and what can be done on it.
    pub report: StatusReport,
    /// The settings that the machine does not hold.
    pub settings: Settings,
    /// The environment the program would get.
    pub environment: Environment,
    /// The program.
    pub program: ExplainedProgram,
    /// What it would inherit.
    pub inherited: Inherited,
    /// Calls of placement, tried in children; empty for a recorded machine, whose kernel cannot be asked.
    pub trials: Vec<(&'static str, Trial)>,
    /// Why there was no child to try them in.
    pub untried: Option<String>,
    /// CPUs that the scheduler leaves alone (`isolcpus=`).
    pub isolated: Vec<u32>,
    /// CPUs without a clock tick (`nohz_full=`).
    pub tickless: Vec<u32>,
}

impl Evidence {
    /// Looks at everything below a root; of the live machine also what only trying tells.
    pub fn collect(
        root: &Root,
        wanted: Wanted,
        program: ExplainedProgram,
        environment: Environment,
    ) -> Result<Evidence, MachineError> {
        let report = StatusReport::of(Machine::examine(root)?);
        // A file that is missing or cannot be read is evidence of nothing.
        let text = |file: &str| root.read(file).ok().flatten();
        let cpus = |file: &str| {
            text(&format!("sys/devices/system/cpu/{file}"))
                .and_then(|text| parse_list(&text))
                .unwrap_or_default()
        };
        let (trials, untried) = tried(root);
        Ok(Evidence {
            wanted,
            program,
            environment,
            inherited: Inherited {
                status: text("proc/self/status"),
                policy: text("proc/self/numa_maps").and_then(|text| text.lines().next().map(str::to_owned)),
            },
            trials,
            untried,
            isolated: cpus("isolated"),
            tickless: cpus("nohz_full"),
            settings: Settings::read(root),
            report,
        })
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.report.machine
    }

    /// The value of a variable that is set and not empty, as text.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let value = self.environment.get(name)?.to_string_lossy().into_owned();
        (!value.is_empty()).then_some(value)
    }

    /// A field of `/proc/self/status`.
    pub(crate) fn status(&self, field: &str) -> Option<&str> {
        firsttouch_linux::sysinfo::status_field(self.inherited.status.as_deref()?, field)
    }

    /// The CPUs the program may run on if nothing is asked.
    pub(crate) fn allowed_cpus(&self) -> &[u32] {
        self.machine().limits.allowed_cpus.as_deref().unwrap_or_default()
    }

    pub(crate) fn online_cpus(&self) -> Vec<u32> {
        self.machine().cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect()
    }

    pub(crate) fn asks_memory(&self) -> bool {
        self.wanted.memory.is_some()
    }

    pub(crate) fn asks_threads(&self) -> bool {
        self.wanted.threads.is_some()
    }

    /// CPUs were asked for: each thread its own, or the program as a whole its mask.
    pub(crate) fn asks_cpus(&self) -> bool {
        self.wanted.cpus.is_some() || self.asks_threads()
    }

    /// CPUs that were asked for; none where they are left alone.
    pub(crate) fn wanted_cpus(&self) -> &[u32] {
        self.wanted.resolved.as_ref().map_or(&[], |resolved| &resolved.cpus)
    }
}
