//! The torture program and its libraries, compiled.

use crate::{Outcome, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Its files.
pub(crate) struct Program {
    pub(crate) file: PathBuf,
    pub(crate) plugin: PathBuf,
    /// The names of what it does.
    pub(crate) kinds: Vec<String>,
}

static WORKSHOP: OnceLock<PathBuf> = OnceLock::new();

/// Makes a folder for what the tests make, this run's own, for as long as the result lives; below the build's, so that it can
/// be executed from.
pub(crate) fn make_workshop() -> TempDir {
    let folder = tempfile::Builder::new().prefix("torture-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    WORKSHOP.set(folder.path().to_owned()).unwrap();
    folder
}

/// The folder of [`make_workshop`].
pub(crate) fn workshop() -> &'static Path {
    WORKSHOP.get().unwrap()
}

const LINKED: &str = "libtorture_linked.so";
const LIBRARIES: [(&str, &str); 2] = [("plugin.c", "plugin.so"), ("linked.c", LINKED)];

/// The library that the program is linked to, for whoever carries the program elsewhere.
pub(crate) fn linked_library(program: &Program) -> PathBuf {
    program.file.with_file_name(LINKED)
}

fn compile(flags: &[&str], sources: &[PathBuf], result: &Path) -> Outcome {
    // A file of another name first: the old one may still run, and then cannot be written.
    let _ = fs::remove_file(result);
    let made = Command::new("cc")
        .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-fno-builtin"])
        .args(flags)
        .args(sources)
        .arg("-o")
        .arg(result)
        .args(["-L", workshop().to_str().unwrap(), "-Wl,-rpath,$ORIGIN", "-lm", "-ldl"])
        .args(if flags.is_empty() { &["-ltorture_linked"][..] } else { &[] })
        .output();
    let Ok(output) = made else { return skip("there is no compiler `cc`") };
    assert!(output.status.success(), "{sources:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// The C library as it is installed, which a process can switch on and off.
pub(crate) fn switched_library() -> PathBuf {
    let prefix = workshop().join("installed");
    let mut install = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../firsttouch-ffi/install"));
    let output =
        install.arg("--prefix").arg(&prefix).args(["--profile", "dev"]).env("CARGO", env!("CARGO")).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    prefix.join("lib/libfirsttouch.so")
}

impl Program {
    pub(crate) fn compile() -> Outcome<Program> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/torture/c");
        for (source, library) in LIBRARIES {
            compile(&["-shared", "-fPIC"], &[folder.join(source)], &workshop().join(library))?;
        }
        let is_of_library = |path: &PathBuf| LIBRARIES.iter().any(|(source, _)| path.ends_with(source));
        let mut sources: Vec<PathBuf> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "c") && !is_of_library(path))
            .collect();
        sources.sort();
        let file = workshop().join("torture");
        compile(&[], &sources, &file)?;
        let listed = Command::new(&file).arg("--list").output().unwrap();
        let kinds = String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect();
        Ok(Program { file, plugin: workshop().join("plugin.so"), kinds })
    }
}
