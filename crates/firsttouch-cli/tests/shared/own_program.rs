//! The very test program, to be run in a guest.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

/// This test program in a folder, once, without what debuggers want, which is most of it.
pub(crate) fn own_program(folder: &Path) -> PathBuf {
    let file = folder.join(env!("CARGO_CRATE_NAME"));
    if !file.exists() {
        fs::create_dir_all(folder).unwrap();
        let stripped =
            process::Command::new("strip").arg("-o").arg(&file).arg(env::current_exe().unwrap()).status();
        assert!(stripped.expect("binutils").success());
    }
    file
}
