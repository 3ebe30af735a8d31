//! Where a program puts the memory that it gives names to, as who starts it writes it and the program reads it: the value of one
//! variable of the environment, an entry for each name.
//!
//! ```text
//! packed-b=thp/prefer:1;a=2m/interleave:0,1;table=1g/inherit
//! ```

use crate::pages::Pages;
use crate::region::NodePolicy;
use crate::shares::Shares;
use core::fmt;
use firsttouch_linux::numa::NodeBits;

/// The variable.
pub const VARIABLE: &str = "FIRSTTOUCH_OBJECTS";

/// Where the memory of one name goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectPlace<'a> {
    /// The name.
    pub name: &'a str,
    /// Its pages.
    pub pages: Pages,
    /// The nodes that they come from.
    pub memory: NodePolicy,
}

/// Whether this can be a name: letters, digits, `-`, `_` and `.` make one.
pub fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

/// Reads a value; `None` if an entry does not read, so that nothing is done by half.
pub fn parse(text: &str) -> Option<impl Iterator<Item = ObjectPlace<'_>>> {
    let entries = || text.split(';').filter(|entry| !entry.is_empty());
    entries().all(|entry| entry_of(entry).is_some()).then(|| entries().filter_map(entry_of))
}

fn entry_of(entry: &str) -> Option<ObjectPlace<'_>> {
    let (name, place) = entry.split_once('=').filter(|(name, _)| is_name(name))?;
    let (pages, memory) = place.split_once('/')?;
    Some(ObjectPlace { name, pages: Pages::parse(pages)?, memory: policy(memory)? })
}

fn policy(text: &str) -> Option<NodePolicy> {
    let (word, nodes) = text.split_once(':').unwrap_or((text, ""));
    Some(match word {
        "inherit" if nodes.is_empty() => NodePolicy::Inherited,
        "local" if nodes.is_empty() => NodePolicy::Local,
        "weighted" => NodePolicy::Weighted(Shares::parse(nodes)?),
        "bind" => NodePolicy::Bind(NodeBits::parse(nodes)?),
        "prefer" => NodePolicy::Prefer(NodeBits::parse(nodes)?),
        "interleave" => NodePolicy::Interleave(NodeBits::parse(nodes)?),
        "blocks" => NodePolicy::Blocks(NodeBits::parse(nodes)?),
        _ => return None,
    })
}

impl fmt::Display for ObjectPlace<'_> {
    /// One entry. Those of several names have `;` between them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}/", self.name, self.pages)?;
        let (word, nodes) = match self.memory {
            NodePolicy::Inherited => return f.write_str("inherit"),
            NodePolicy::Local => return f.write_str("local"),
            NodePolicy::Weighted(shares) => {
                f.write_str("weighted:")?;
                for (index, (node, weight)) in shares.nodes().enumerate() {
                    write!(f, "{}{node}:{weight}", if index == 0 { "" } else { "," })?;
                }
                return Ok(());
            }
            NodePolicy::Bind(nodes) => ("bind", nodes),
            NodePolicy::Prefer(nodes) => ("prefer", nodes),
            NodePolicy::Interleave(nodes) => ("interleave", nodes),
            NodePolicy::Blocks(nodes) => ("blocks", nodes),
        };
        write!(f, "{word}:{nodes}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    #[test]
    fn what_is_written_is_read() {
        let nodes = NodeBits::of(&[0, 3, 40]).unwrap();
        let shares = Shares::of(&[(0, 5), (2, 1)]).unwrap();
        let policies = [
            NodePolicy::Inherited,
            NodePolicy::Local,
            NodePolicy::Bind(nodes),
            NodePolicy::Prefer(nodes),
            NodePolicy::Interleave(nodes),
            NodePolicy::Blocks(nodes),
            NodePolicy::Weighted(shares),
        ];
        let pages = [Pages::Transparent, Pages::Huge2M, Pages::Plain];
        let places: Vec<ObjectPlace<'_>> = policies
            .into_iter()
            .zip(pages.into_iter().cycle())
            .map(|(memory, pages)| ObjectPlace { name: "packed-b.2", pages, memory })
            .collect();
        let texts: Vec<String> = places.iter().map(|place| format!("{place}")).collect();
        assert_eq!(texts[2], "packed-b.2=plain/bind:0,3,40");
        let text = texts.join(";");
        assert_eq!(parse(&text).unwrap().collect::<Vec<_>>(), places);
        assert_eq!(parse("").unwrap().count(), 0);
    }

    #[test]
    fn what_does_not_read_is_nothing() {
        for text in [
            "a",
            "=thp/local",
            "a b=thp/local",
            "a=thp",
            "a=large/local",
            "a=thp/",
            "a=thp/local:1",
            "a=thp/bind",
            "a=thp/bind:",
            "a=thp/bind:x",
            "a=thp/bind:1024000",
            "a=thp/weighted:0:0",
            "b=thp/local;a",
        ] {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
