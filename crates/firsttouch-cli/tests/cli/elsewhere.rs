//! Programs that the placed one starts and that cannot have the agent: of another C library, or where its file is not to be seen.

use crate::{firsttouch, run, skipped, stderr, text_of};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

/// It ended well, and neither said anything that it does not say without us.
fn said(output: &Output, expected: &str) {
    assert_eq!((text_of(output).as_str(), stderr(output).as_str()), (expected, ""));
}

/// musl's loader ends a program whose preload library wants what only glibc has.
#[test]
fn a_program_of_another_c_library_runs_as_it_does_without_us() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let source = file(
        "other.c",
        "#include <stdio.h>\n#include <stdlib.h>\n\
         int main(void) { return malloc(4 << 20) == NULL || printf(\"runs\\n\") != 5; }\n"
            .to_owned(),
    );
    let program = folder.path().join("other").to_str().unwrap().to_owned();
    match Command::new("musl-gcc").args(["-o", &program, &source]).status() {
        Ok(status) => assert!(status.success()),
        Err(_) => return skipped("musl-gcc is not installed"),
    }
    // The end of the file ends the line as well.
    let script = file("script", format!("#!{program}"));
    let script_of_script = file("scripts", format!("#! {script} -x"));
    for options in [&["--quiet"][..], &["--quiet", "--follow"], &["--quiet", "--follow", "--attachable"]] {
        let with =
            |words: &[&str]| firsttouch().arg("run").args(options).arg("--").args(words).output().unwrap();
        for program in [&program, &script, &script_of_script] {
            said(&with(&[program]), "runs\n");
            said(&with(&["sh", "-c", &format!("{program}; exec {program}")]), "runs\nruns\n");
            // By execvp(3) and posix_spawn(3).
            said(&with(&["env", program]), "runs\n");
            said(
                &with(&["make", "-s", "-f", "/dev/null", "--eval", &format!("all: ; @{program}")]),
                "runs\n",
            );
        }
    }
}

/// One that calls the kernel past us has nothing of the agent, and what it executes may be a container's.
#[test]
fn what_a_static_program_or_one_of_go_starts_has_no_agent() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // Of a dynamic one Go's linker tells by a note: the owner, its number and what identifies the build.
    fs::write(
        path("becomes.c"),
        r#"
        #include <unistd.h>
        #ifdef OF_GO
        __asm__(".pushsection .note.go.buildid, \"a\", %note\n.balign 4\n.long 4, 8, 4\n.asciz \"Go\"\n.byte 0\n.ascii \"build-id\"\n.popsection");
        #endif
        int main(int count, char **words) { execvp(words[1], words + 1); return 9; }
        "#,
    )
    .unwrap();
    for (name, options, expected) in
        [("dynamic", &[][..], "with\n"), ("static", &["-static"], "\n"), ("of_go", &["-DOF_GO"], "\n")]
    {
        let mut compile = Command::new("cc");
        compile.args(options).args(["-o", name, "becomes.c"]).current_dir(folder.path());
        assert!(compile.status().unwrap().success(), "{name}");
        for more in [&[][..], &["--attachable"]] {
            let line = format!("{} /bin/sh -c 'echo ${{LD_PRELOAD:+with}}'", path(name));
            let words = [&["run", "--quiet", "--follow"][..], more, &["--", "sh", "-c", &line]].concat();
            said(&run(&words), expected);
        }
    }
}

/// The loader of an older C library ends a program whose preload library wants versions that it lacks. One that names the version that makes the
/// difference is told from one that does not.
#[test]
fn a_program_of_an_older_glibc_runs_without_the_agent() {
    let system = if cfg!(target_arch = "x86_64") {
        "/lib64/ld-linux-x86-64.so.2"
    } else {
        "/lib/ld-linux-aarch64.so.1"
    };
    let mut content = fs::read(system).unwrap();
    let version = b"GLIBC_2.34\0";
    let Some(at) = content.windows(version.len()).position(|words| words == version) else {
        return skipped("this machine's glibc is older than 2.34");
    };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = path("says.c");
    fs::write(
        &source,
        "#include <stdio.h>\n#include <stdlib.h>\n\
         int main(void) { return puts(getenv(\"LD_PRELOAD\") == NULL ? \"without\" : \"with\") < 0; }\n",
    )
    .unwrap();
    let program = path("says");
    let compile = |loader: &str| {
        let linked = format!("-Wl,--dynamic-linker={loader}");
        assert!(Command::new("cc").args(["-o", &program, &source, &linked]).status().unwrap().success());
    };
    let new = path("ld-linux-new.so.2");
    fs::write(&new, &content).unwrap();
    let old = path("ld-linux-old.so.2");
    // A version that nobody asks this file for.
    content[at + 8] = b'9';
    fs::write(&old, &content).unwrap();
    for (loader, expected) in [(&new, "with\n"), (&old, "without\n")] {
        fs::set_permissions(loader, Permissions::from_mode(0o755)).unwrap();
        compile(loader);
        said(&run(&["run", "--quiet", "--", &program]), expected);
        for line in [program.clone(), format!("{loader} {program}")] {
            said(&run(&["run", "--quiet", "--follow", "--", "sh", "-c", &format!("exec {line}")]), expected);
        }
    }
    // What lies where the system's own does in another root folder.
    compile(system);
    for (loader, expected) in [(&new, "with\n"), (&old, "without\n")] {
        let line = format!("mount --bind {loader} {system} || exit 77; exec {program}");
        let words = [&["run", "--quiet", "--follow", "--"], &UNSHARE[..], &[&line]].concat();
        let output = run(&words);
        if has_no_namespace(&output) {
            return skipped("no mount namespace");
        }
        said(&output, expected);
    }
}

/// A shell in a mount namespace of its own.
const UNSHARE: [&str; 6] = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"];

fn has_no_namespace(output: &Output) -> bool {
    stderr(output).starts_with("unshare: ") || output.status.code() == Some(77)
}

/// In another root folder, as a container's, glibc's loader says that it cannot find the library.
#[test]
fn where_the_agent_is_not_to_be_seen_programs_start_without_it() {
    let hide = "mount -t tmpfs none ${LD_PRELOAD%/*} || exit 77; sh -c 'echo there; echo ${LD_PRELOAD-none}; exec env true'";
    let words = [&["run", "--follow", "--"], &UNSHARE[..], &[hide]].concat();
    let output = run(&words);
    if has_no_namespace(&output) {
        return skipped("no mount namespace");
    }
    said(&output, "there\nnone\n");
}
