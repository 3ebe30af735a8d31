//! Exit statuses: every one there is, and which command ends with which. docs/exit-status.md says the same to users.

pub(crate) use firsttouch_process::exit_status::OURS;

/// The command failed.
pub(crate) const FAILED: u8 = 1;
/// The command line cannot be understood, or contradicts itself or a file it names.
pub(crate) const USAGE: u8 = 2;
/// `--strict` of `tune` or `doctor` was not met.
pub(crate) const NOT_MET: u8 = 3;
/// Interrupted, after writing what was finished; as shells have it for SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

/// What a command ends with where nothing more particular is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// It failed.
    pub(crate) failed: u8,
    /// It was used wrongly.
    pub(crate) usage: u8,
}

impl Rule {
    /// Of commands whose exit status is their own.
    pub(crate) const OWN: Rule = Rule { failed: FAILED, usage: USAGE };
    /// Of commands that may end with the status of a program, where every smaller one may be its own. For `attach` it says
    /// that nothing was changed.
    pub(crate) const PROGRAM: Rule = Rule { failed: OURS, usage: OURS };

    /// The rule of a subcommand; without one, nothing but usage can be wrong.
    pub(crate) fn of(subcommand: Option<&str>) -> Rule {
        match subcommand {
            Some("run" | "watch" | "lab" | "attach") => Rule::PROGRAM,
            _ => Rule::OWN,
        }
    }
}
