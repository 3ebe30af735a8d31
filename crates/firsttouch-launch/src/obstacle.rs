//! What stands against a configuration.

/// Why something cannot be done on this machine, and the command that would allow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    /// Why.
    pub(crate) reason: String,
    /// The command, where one exists.
    pub(crate) remedy: Option<String>,
}
