//! Which CPUs a program as a whole may run on.

use crate::memory::range;
use crate::{NodeSet, NodeSetError};
use firsttouch_linux::cpulist::format_list;
use std::fmt;
use std::str::FromStr;

/// The CPUs that all threads of a program, and the programs that it starts, may run on: any thread on any of them.
///
/// The kernel keeps it as the mask that a process inherits, so it reaches every program. [`crate::ThreadPlacement`], which
/// gives each thread a CPU of its own, chooses among these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProgramCpus {
    /// Not decided: whatever the program inherits.
    #[default]
    None,
    /// These, ascending.
    Cpus(Vec<u32>),
    /// Those of these nodes.
    Nodes(NodeSet),
}

/// A text that names no CPUs for a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramCpusError {
    /// It is neither a list nor names nodes.
    #[error("`{0}` names no CPUs (none, all, numbers such as 0-3,8, or those of nodes: nodes=NODES)")]
    Word(String),
    /// The nodes cannot be read.
    #[error(transparent)]
    Nodes(#[from] NodeSetError),
}

impl ProgramCpus {
    /// Nothing is asked.
    pub fn is_none(&self) -> bool {
        *self == ProgramCpus::None
    }
}

impl FromStr for ProgramCpus {
    type Err = ProgramCpusError;

    fn from_str(text: &str) -> Result<ProgramCpus, ProgramCpusError> {
        let refused = || ProgramCpusError::Word(text.to_owned());
        Ok(match text.split_once('=') {
            None if text == "none" => ProgramCpus::None,
            None if text == "all" => ProgramCpus::Nodes(NodeSet::all()),
            None => {
                let mut cpus = Vec::new();
                for word in text.split(['+', ',']) {
                    let (first, last) = range(word.trim()).ok_or_else(refused)?;
                    cpus.extend(first..=last);
                    // Kept short, whatever is said again and again.
                    cpus.sort_unstable();
                    cpus.dedup();
                }
                ProgramCpus::Cpus(cpus)
            }
            Some(("nodes", nodes)) => ProgramCpus::Nodes(nodes.parse()?),
            Some(_) => return Err(refused()),
        })
    }
}

impl fmt::Display for ProgramCpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramCpus::None => f.write_str("none"),
            ProgramCpus::Cpus(cpus) => f.write_str(&format_list(cpus)),
            ProgramCpus::Nodes(nodes) => write!(f, "nodes={nodes}"),
        }
    }
}

as_text!(ProgramCpus);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cpus_read_back() {
        for text in ["none", "0", "0-3,8", "nodes=1", "nodes=0-3,5", "nodes=all", "nodes=hbm"] {
            let cpus: ProgramCpus = text.parse().unwrap();
            assert_eq!(cpus.to_string(), text);
            assert_eq!(serde_json::to_string(&cpus).unwrap(), format!("\"{text}\""));
        }
        assert_eq!("8+0-3,2".parse(), Ok(ProgramCpus::Cpus(vec![0, 1, 2, 3, 8])), "a set, not an order");
        assert_eq!("all".parse(), Ok(ProgramCpus::Nodes(NodeSet::all())));
    }

    #[test]
    fn what_names_no_cpus_is_refused() {
        for text in
            ["", "+0", "!1", "3-1", "0,", "-1", "node", "nodes", "nodes=", "nodes=x", "node=1", "99999999"]
        {
            assert!(text.parse::<ProgramCpus>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(nodes=|all|none)?[0-9a-z,+=!-]{0,12}") {
            if let Ok(cpus) = text.parse::<ProgramCpus>() {
                prop_assert_eq!(cpus.to_string().parse(), Ok(cpus));
            }
        }
    }
}
