//! The exit statuses of programs that start others, as env(1), nohup(1) and shells have them.

/// The starter itself failed.
pub const OURS: u8 = 125;
/// The program was found and cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// The program was not found.
pub const NOT_FOUND: u8 = 127;
