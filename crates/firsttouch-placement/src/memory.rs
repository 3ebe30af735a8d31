//! Which nodes a program's memory is to come from.

use firsttouch_linux::cpulist::parse_list;
use firsttouch_machine::MemoryKind;
use std::fmt;
use std::str::FromStr;

/// One part of a set of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodePart {
    /// Every node with memory, but for graphics cards'.
    All,
    /// Every node whose memory is of this kind.
    Kind(MemoryKind),
    /// The nodes from the first number to the second.
    Range(u32, u32),
}

/// Nodes, by number or by what their memory is: `0-3,5`, `all`, `hbm`, `dram,cxl`.
///
/// In the short form of a placement, where a comma ends a setting, parts are separated by `+`; both are read everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSet(Vec<NodePart>);

/// A text that is no set of nodes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no nodes (numbers such as 0-3,5; all; or hbm, dram, cxl, pmem, gpu)")]
pub struct NodeSetError(pub String);

impl NodeSet {
    /// Every node with memory, but for graphics cards'.
    pub fn all() -> NodeSet {
        NodeSet(vec![NodePart::All])
    }

    /// Exactly these nodes.
    pub fn of(nodes: &[u32]) -> NodeSet {
        NodeSet(nodes.iter().map(|node| NodePart::Range(*node, *node)).collect())
    }

    pub(crate) fn of_parts(parts: Vec<NodePart>) -> NodeSet {
        NodeSet(parts)
    }

    /// Its parts, in the order they were given.
    pub fn parts(&self) -> &[NodePart] {
        &self.0
    }
}

impl FromStr for NodeSet {
    type Err = NodeSetError;

    fn from_str(text: &str) -> Result<NodeSet, NodeSetError> {
        let refused = || NodeSetError(text.to_owned());
        let part = |word: &str| match word {
            "all" => Ok(NodePart::All),
            _ => match word.parse::<MemoryKind>() {
                Ok(kind) => Ok(NodePart::Kind(kind)),
                Err(_) => range(word).map(|(first, last)| NodePart::Range(first, last)).ok_or_else(refused),
            },
        };
        let words = text.split(['+', ',']).map(str::trim);
        let parts: Vec<NodePart> = words.map(part).collect::<Result<_, _>>()?;
        if parts.is_empty() { Err(refused()) } else { Ok(NodeSet(parts)) }
    }
}

/// `3` or `0-3`. The kernel's reader checks the bounds.
pub(crate) fn range(word: &str) -> Option<(u32, u32)> {
    let numbers = parse_list(word).filter(|_| !word.contains([',', ':']))?;
    Some((*numbers.first()?, *numbers.last()?))
}

impl fmt::Display for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            let separator = if index > 0 { "," } else { "" };
            match part {
                NodePart::All => write!(f, "{separator}all")?,
                NodePart::Kind(kind) => write!(f, "{separator}{kind}")?,
                NodePart::Range(first, last) if first == last => write!(f, "{separator}{first}")?,
                NodePart::Range(first, last) => write!(f, "{separator}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// Where a program's memory is to come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// Not decided: whatever the program inherits.
    #[default]
    None,
    /// The node of the CPU that touches first, whatever was inherited.
    Local,
    /// These nodes only. When they are full the program is killed, or waits for pages to be swapped out.
    Bind(NodeSet),
    /// These nodes, and others when they are full.
    Prefer(NodeSet),
    /// Page by page over these nodes.
    Interleave(NodeSet),
    /// Over these nodes, each in proportion to its bandwidth; without a set, over all nodes with memory.
    Weighted(Option<NodeSet>),
}

/// A text that is no memory policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryPolicyError {
    /// The word is unknown, or lacks its nodes.
    #[error(
        "`{0}` is no memory policy (none, local, bind=NODES, prefer=NODES, interleave=NODES, weighted, weighted=NODES)"
    )]
    Word(String),
    /// The nodes cannot be read.
    #[error(transparent)]
    Nodes(#[from] NodeSetError),
}

impl MemoryPolicy {
    /// The nodes that were named.
    pub fn nodes(&self) -> Option<&NodeSet> {
        match self {
            MemoryPolicy::None | MemoryPolicy::Local => None,
            MemoryPolicy::Bind(nodes) | MemoryPolicy::Prefer(nodes) | MemoryPolicy::Interleave(nodes) => {
                Some(nodes)
            }
            MemoryPolicy::Weighted(nodes) => nodes.as_ref(),
        }
    }
}

impl FromStr for MemoryPolicy {
    type Err = MemoryPolicyError;

    fn from_str(text: &str) -> Result<MemoryPolicy, MemoryPolicyError> {
        Ok(match text.split_once('=') {
            None => match text {
                "none" => MemoryPolicy::None,
                "local" => MemoryPolicy::Local,
                "weighted" => MemoryPolicy::Weighted(None),
                _ => return Err(MemoryPolicyError::Word(text.to_owned())),
            },
            Some(("bind", nodes)) => MemoryPolicy::Bind(nodes.parse()?),
            Some(("prefer", nodes)) => MemoryPolicy::Prefer(nodes.parse()?),
            Some(("interleave", nodes)) => MemoryPolicy::Interleave(nodes.parse()?),
            Some(("weighted", nodes)) => MemoryPolicy::Weighted(Some(nodes.parse()?)),
            Some(_) => return Err(MemoryPolicyError::Word(text.to_owned())),
        })
    }
}

impl fmt::Display for MemoryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryPolicy::None => f.write_str("none"),
            MemoryPolicy::Local => f.write_str("local"),
            MemoryPolicy::Bind(nodes) => write!(f, "bind={nodes}"),
            MemoryPolicy::Prefer(nodes) => write!(f, "prefer={nodes}"),
            MemoryPolicy::Interleave(nodes) => write!(f, "interleave={nodes}"),
            MemoryPolicy::Weighted(None) => f.write_str("weighted"),
            MemoryPolicy::Weighted(Some(nodes)) => write!(f, "weighted={nodes}"),
        }
    }
}

as_text!(MemoryPolicy);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn policies_read_back() {
        for text in [
            "none",
            "local",
            "bind=0",
            "bind=hbm",
            "prefer=0-3,5",
            "interleave=all",
            "weighted",
            "weighted=dram,cxl",
        ] {
            let policy: MemoryPolicy = text.parse().unwrap();
            assert_eq!(policy.to_string(), text);
            assert_eq!(serde_json::to_string(&policy).unwrap(), format!("\"{text}\""));
        }
        assert_eq!("interleave=0-3+8".parse::<MemoryPolicy>().unwrap().to_string(), "interleave=0-3,8");
    }

    #[test]
    fn what_is_no_policy_is_refused() {
        for text in
            ["", "bind", "bind=", "prefer=x", "interleave=3-1", "local=0", "spread", "bind=0,", "bind=-1"]
        {
            assert!(text.parse::<MemoryPolicy>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(bind|weighted|prefer)?=?[0-9a-z,+=-]{0,12}") {
            if let Ok(policy) = text.parse::<MemoryPolicy>() {
                prop_assert_eq!(policy.to_string().parse(), Ok(policy));
            }
        }
    }
}
