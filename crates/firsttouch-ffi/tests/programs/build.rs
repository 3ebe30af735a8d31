//! Compiling and running C programs against the library as it is installed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;

pub(crate) fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where the library is installed for these tests.
pub(crate) fn prefix() -> &'static Path {
    static PREFIX: OnceLock<TempDir> = OnceLock::new();
    PREFIX
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let mut install = Command::new(here().join("install"));
            install.arg("--prefix").arg(folder.path()).args(["--profile", "dev"]);
            assert!(install.env("CARGO", env!("CARGO")).status().unwrap().success());
            folder
        })
        .path()
}

/// Runs a command to its end; it must succeed.
pub(crate) fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{out}\n{err}");
    out.into_owned()
}

/// Compiles a program or library.
pub(crate) fn compile(output: &Path, source: &str, flags: &[&OsStr]) {
    compile_by("cc", output, source, flags);
}

fn compile_by(compiler: &str, output: &Path, source: &str, flags: &[&OsStr]) {
    let (include, language) = (prefix().join("include"), if compiler == "c++" { "c++" } else { "c" });
    let mut compiler = Command::new(compiler);
    compiler
        .args(["-g", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-pthread", "-I"])
        .arg(include);
    // The language of the source, whatever its name, but not of the libraries behind it.
    compiler.args(["-x", language]).arg(here().join(source)).args(["-x", "none", "-o"]).arg(output);
    run(compiler.args(flags));
}

/// What links a program to the static library.
fn archive() -> Vec<OsString> {
    let text = fs::read_to_string(prefix().join("lib/pkgconfig/firsttouch.pc")).unwrap();
    let needed = text.lines().find_map(|line| line.strip_prefix("Libs.private: ")).unwrap();
    let archive = prefix().join("lib/libfirsttouch.a").into_os_string();
    [archive].into_iter().chain(needed.split(' ').map(OsString::from)).collect()
}

/// A program linked to the static library by this compiler, in a folder that goes with it.
pub(crate) fn linked(compiler: &str, source: &str, more: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let (archive, mut flags) = (archive(), more.iter().map(OsStr::new).collect::<Vec<_>>());
    flags.extend(archive.iter().map(OsString::as_os_str));
    compile_by(compiler, &program, source, &flags);
    (folder, program)
}

fn shared() -> Vec<&'static OsStr> {
    ["-L", "-lfirsttouch", "-ldl"].map(OsStr::new).to_vec()
}

/// Compiles against the shared library and runs.
pub(crate) fn run_with_shared(source: &str, more: &[&OsStr], words: &[&Path]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let library = prefix().join("lib");
    let mut flags = more.to_vec();
    flags.extend(shared());
    let at = flags.iter().position(|flag| *flag == "-L").unwrap();
    flags.insert(at + 1, library.as_os_str());
    compile(&program, source, &flags);
    run(Command::new(&program).args(words).env("LD_LIBRARY_PATH", library))
}

/// Where Cargo puts what it builds for these tests: beside the folder of this test.
pub(crate) fn builds() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().to_owned()
}

/// Whether an example has said what it is to say.
pub(crate) fn check_example(name: &str, said: &str) {
    let expected: &[&str] = match name {
        "region" => &["\"asked\":{\"pages\":\"thp\",\"bytes\":67108864}"],
        "session" => &["with a block: on, 1 placed", "the end: done"],
        "fill" => &["new memory: all zero", "cancelled: told exactly", "from the pool: ready"],
        // The sum of all numbers below 2^20.
        _ => &["1 threads in 1 groups: 549755289600"],
    };
    assert!(expected.iter().all(|words| said.contains(words)), "{name}: {said}");
}
