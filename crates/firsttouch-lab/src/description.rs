//! What a machine of the lab is made of: the same words for the built-in machines (`machines/*.toml`) and for a user's.
//!
//! Invariant: a [`Description`] that was parsed can be booted, and the guest's kernel will number its nodes as written.
//! What would be renumbered, or refused by the emulator in its own words, is an error here.

mod check;
mod parts;

pub use parts::{Bytes, Description, Device, DeviceKind, LabNode, Processor, SideCache};

/// The built-in machines by name.
const BUILT_IN: [(&str, &str); 10] = [
    ("two-node", include_str!("../machines/two-node.toml")),
    ("istanbul", include_str!("../machines/istanbul.toml")),
    ("opteron8", include_str!("../machines/opteron8.toml")),
    ("xeon4", include_str!("../machines/xeon4.toml")),
    ("knl-flat", include_str!("../machines/knl-flat.toml")),
    ("cxl", include_str!("../machines/cxl.toml")),
    ("devices", include_str!("../machines/devices.toml")),
    ("hotplug", include_str!("../machines/hotplug.toml")),
    ("holes", include_str!("../machines/holes.toml")),
    ("memory-less", include_str!("../machines/memory-less.toml")),
];

/// A description that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// No built-in machine of that name.
    #[error("there is no machine `{name}`; there are {}", built_in_names().join(", "))]
    UnknownName {
        /// What was asked for.
        name: String,
    },
    /// Not the TOML of a machine.
    #[error("not the description of a machine")]
    Text(#[source] Box<toml::de::Error>),
    /// It reads well, and makes no machine.
    #[error("{0}")]
    Contradiction(String),
}

/// The names of the built-in machines.
pub fn built_in_names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).collect()
}

impl Description {
    /// A built-in machine.
    pub fn named(name: &str) -> Result<Description, DescriptionError> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Description::parse(text),
            None => Err(DescriptionError::UnknownName { name: name.to_owned() }),
        }
    }

    /// Reads a description and checks that it makes a machine.
    ///
    /// ```
    /// let text = "about = 'one node'\nprocessor = { packages = 1, cores = 2 }\nnodes = [{ id = 0, cpus = '0-1', memory = '1G' }]";
    /// let machine = firsttouch_lab::Description::parse(text).unwrap();
    /// assert_eq!(machine.nodes[0].bytes(), 1 << 30);
    /// assert!(firsttouch_lab::Description::parse(&text.replace("0-1", "0-2")).is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Description, DescriptionError> {
        let description: Description =
            toml::from_str(text).map_err(|error| DescriptionError::Text(Box::new(error)))?;
        check::check(&description).map_err(DescriptionError::Contradiction)?;
        Ok(description)
    }
}
