//! Prints the status document of this machine, or of a recorded one: `cargo run --example status -- [FOLDER]`.

use firsttouch_machine::{Root, StatusReport};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args_os().nth(1).map_or_else(Root::live, Root::at);
    let report = StatusReport::examine(&root)?;
    serde_json::to_writer_pretty(std::io::stdout().lock(), &report)?;
    Ok(())
}
