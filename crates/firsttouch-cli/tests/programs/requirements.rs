//! What a test needs of this machine, and how it says that it is not there.

use crate::program;
use crate::skipped::skipped;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file of an installed program; says so if there is none.
pub(crate) fn installed(program: &str) -> Option<PathBuf> {
    let found = program::find(program);
    if found.is_none() {
        skipped(&format!("{program} is not installed"));
    }
    found
}

/// Compiles a program of `text` in `folder`; says so and answers `None` if there is no compiler, or a library is missing.
pub(crate) fn compiled(folder: &Path, name: &str, text: &str, options: &[&str]) -> Option<PathBuf> {
    let compiler = installed("gcc")?;
    let source = folder.join(format!("{name}.c"));
    let program = folder.join(name);
    std::fs::write(&source, text).unwrap();
    let output = Command::new(compiler)
        .arg("-O1")
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .args(options)
        .output()
        .unwrap();
    if !output.status.success() {
        skipped(&format!("{name} does not compile here: {}", String::from_utf8_lossy(&output.stderr)));
        return None;
    }
    Some(program)
}

/// Whether the kernel gives huge pages to who asks for them; says so if not.
pub(crate) fn huge_pages_to_be_had() -> bool {
    let setting = |file: &str| {
        let path = Path::new("/sys/kernel/mm/transparent_hugepage").join(file);
        std::fs::read_to_string(path).unwrap_or_default()
    };
    let whole = setting("enabled");
    let of_size = setting("hugepages-2048kB/enabled");
    let inherits = of_size.is_empty() || of_size.contains("[inherit]");
    let there =
        if inherits { !whole.is_empty() && !whole.contains("[never]") } else { !of_size.contains("[never]") };
    if !there {
        skipped("the share on huge pages: the kernel gives none");
    }
    there
}
