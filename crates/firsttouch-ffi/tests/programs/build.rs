//! Compiling and running C programs against the library as it is installed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The folder of the crate, whichever crate's test this is part of.
pub(crate) fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../firsttouch-ffi")
}

/// Where the library is installed for these tests: below the build's own folder, and removed with it.
pub(crate) fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(concat!("library-of-", env!("CARGO_CRATE_NAME")));
        let mut install = Command::new(here().join("install"));
        install.arg("--prefix").arg(&folder).args(["--profile", "dev"]);
        assert!(install.env("CARGO", env!("CARGO")).status().unwrap().success());
        folder
    })
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

/// Compiles and links to the static library.
pub(crate) fn with_archive(compiler: &str, program: &Path, source: &str, more: &[&str]) {
    let (archive, mut flags) = (archive(), more.iter().map(OsStr::new).collect::<Vec<_>>());
    flags.extend(archive.iter().map(OsString::as_os_str));
    compile_by(compiler, program, source, &flags);
}

/// Compiles against the shared library, which the program finds where it is.
pub(crate) fn with_shared(program: &Path, source: &str, more: &[&OsStr]) {
    let library = prefix().join("lib");
    let mut place = OsString::from("-Wl,-rpath,");
    place.push(&library);
    let mut flags = more.to_vec();
    flags.extend([OsStr::new("-L"), library.as_os_str(), place.as_os_str()]);
    flags.extend(["-lfirsttouch", "-ldl"].map(OsStr::new));
    compile(program, source, &flags);
}

/// The agent.
pub(crate) fn agent() -> PathBuf {
    let folder = builds();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--locked", "-p", "firsttouch-preload", "--target-dir"]);
    // The one of these tests, also where it was named by an option, which is not inherited.
    run(build.arg(folder.parent().unwrap()));
    folder.join("libfirsttouch_preload.so")
}

/// Where Cargo puts what it builds for these tests: beside the folder of this test.
fn builds() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().to_owned()
}
