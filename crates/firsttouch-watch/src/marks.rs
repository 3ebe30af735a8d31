//! Processes that belong to a program and are not below it, known by their environment.

use firsttouch_linux::process::{self, Stat};
use firsttouch_linux::root::Root;
use std::collections::HashSet;

/// By what processes are known that belong to a program and are not below it: a variable of their environment that ends in this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Processes have it whose parent has ended before it was seen, as that of a daemon does.
    OfOrphans(Vec<u8>),
    /// Processes have it that others start, too, as the daemon of a batch system starts ranks.
    OfAnybody(Vec<u8>),
}

/// The search for them.
#[derive(Debug)]
pub(crate) struct Marked {
    mark: Mark,
    /// Who takes in processes whose parent has ended: some ancestor of the program.
    ancestors: Vec<u32>,
    /// Who was asked for the mark and does not have it, of those that could have been taken in.
    strangers: HashSet<u32>,
}

impl Marked {
    pub(crate) fn new(root: &Root, pid: u32, mark: Mark) -> Marked {
        Marked { mark, ancestors: process::ancestors(root, pid), strangers: HashSet::new() }
    }

    /// Processes with the mark, among those not `seen` yet; `began` says when the program started.
    pub(crate) fn find(
        &mut self,
        root: &Root,
        seen: &HashSet<u32>,
        began: u64,
        lists_children: bool,
    ) -> Vec<u32> {
        let all = || process::all(root).unwrap_or_default();
        let has_mark = |pid, end: &[u8]| process::has_variable(root, pid, |entry| entry.ends_with(end));
        match &self.mark {
            // Of each every time: who was looked at before its `exec` had another environment.
            Mark::OfAnybody(end) => {
                let mut found = all();
                found.retain(|pid| !seen.contains(pid) && has_mark(*pid, end) == Some(true));
                found
            }
            // Of each once: who is left behind has the environment of who left it, and has it still when it becomes another program.
            Mark::OfOrphans(end) => {
                let children_of = |pid: &u32| process::children(root, *pid).unwrap_or_default();
                let listed = match lists_children {
                    true => self.ancestors.iter().flat_map(children_of).collect(),
                    false => all(),
                };
                let (mut found, mut strangers) = (Vec::new(), HashSet::with_capacity(listed.len()));
                for pid in listed {
                    // Nobody's environment is read who cannot belong to the program: who holds its mappings holds the reader.
                    let is_younger = || Stat::read(root, pid).map(|stat| stat.start_ticks >= began);
                    let is_marked = match self.strangers.contains(&pid) {
                        true => Some(false),
                        false if seen.contains(&pid) => None,
                        false => is_younger()
                            .ok()
                            .and_then(|younger| if younger { has_mark(pid, end) } else { Some(false) }),
                    };
                    match is_marked {
                        Some(true) => found.push(pid),
                        Some(false) => _ = strangers.insert(pid),
                        None => {}
                    }
                }
                // Those that are gone are forgotten: their numbers come again.
                self.strangers = strangers;
                found
            }
        }
    }
}
