//! The Debian package: built, installed on a system that has nothing of us, used there, and removed.

use crate::root::Root;
use crate::skipped::skipped;
use crate::{said, workspace};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Builds the package for tests into a folder; or why that cannot be done here.
fn build(folder: &Path) -> Result<PathBuf, String> {
    for tool in ["dpkg-deb", "dpkg-shlibdeps"] {
        if Command::new(tool).arg("--version").output().is_err() {
            return Err(format!("there is no command `{tool}`"));
        }
    }
    let mut build = Command::new(workspace().join("packaging/debian/build"));
    build.arg("--quick").arg(env!("CARGO_BIN_EXE_firsttouch")).arg("--out").arg(folder);
    // Where Cargo has put what it built for these tests.
    let test = std::env::current_exe().unwrap();
    build.env("CARGO_TARGET_DIR", test.ancestors().nth(3).unwrap());
    let told = said(&mut build);
    Ok(PathBuf::from(told.lines().find(|line| line.ends_with(".deb")).unwrap()))
}

/// The package that the tests share, or why there is none.
fn package() -> Result<&'static Path, &'static str> {
    static BUILT: LazyLock<Result<PathBuf, String>> =
        LazyLock::new(|| build(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("package")));
    BUILT.as_deref().map_err(String::as_str)
}

#[test]
fn it_has_what_a_package_has_and_comes_out_the_same_again() {
    let package = match package() {
        Ok(package) => package,
        Err(why) => return skipped(why),
    };
    let folder = tempfile::tempdir().unwrap();
    let field = |name| said(Command::new("dpkg-deb").arg("--field").arg(package).arg(name)).trim().to_owned();
    assert_eq!(field("Package"), "firsttouch");
    assert_eq!(field("Version"), env!("CARGO_PKG_VERSION"));
    assert!(field("Depends").contains("libc6 (>= "), "{}", field("Depends"));
    assert!(field("Maintainer").contains('@'));

    let listed = said(Command::new("dpkg-deb").arg("--contents").arg(package));
    for line in listed.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(fields[1], "root/root", "{line}");
        let mode = match (fields[0].as_bytes()[0], fields[5].starts_with("./usr/bin/")) {
            (b'l', _) => "lrwxrwxrwx",
            (b'd', _) => "drwxr-xr-x",
            (_, true) if fields[5] != "./usr/bin/" => "-rwxr-xr-x",
            _ => "-rw-r--r--",
        };
        assert_eq!(fields[0], mode, "{line}");
    }
    for name in [
        "bin/firsttouch",
        "include/firsttouch.h",
        "share/man/man1/firsttouch.1.gz",
        "share/doc/firsttouch/docs/safety.md",
    ] {
        assert!(listed.contains(&format!(" ./usr/{name}\n")), "{name} is missing: {listed}");
    }

    // The sums are of all files, and right.
    let root = folder.path().join("root");
    said(Command::new("dpkg-deb").arg("--raw-extract").arg(package).arg(&root));
    let sums =
        said(Command::new("md5sum").args(["--check", "--strict", "DEBIAN/md5sums"]).current_dir(&root));
    let files = listed.lines().filter(|line| line.starts_with('-')).count();
    assert_eq!(sums.lines().filter(|line| line.ends_with(": OK")).count(), files, "{sums}");
    // No page has an error that whoever reads it would see.
    for page in fs::read_dir(root.join("usr/share/man/man1")).unwrap() {
        let page = page.unwrap().path();
        let mut man = Command::new("man");
        man.args(["--warnings", "--local-file"]).arg(&page).envs([
            ("MANPAGER", "cat"),
            ("MANROFFSEQ", ""),
            ("LC_ALL", "C.UTF-8"),
        ]);
        let Ok(output) = man.output() else {
            skipped("there is no command `man`");
            break;
        };
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && wrong.is_empty(), "{}: {wrong}", page.display());
    }
    // The shells that read completions find nothing wrong with them.
    let share = root.join("usr/share");
    for (shell, file) in [
        ("bash", "bash-completion/completions/firsttouch"),
        ("zsh", "zsh/vendor-completions/_firsttouch"),
        ("fish", "fish/vendor_completions.d/firsttouch.fish"),
    ] {
        assert!(share.join(file).is_file());
        if Command::new(shell).arg("--version").output().is_err() {
            skipped(&format!("{shell} is not installed"));
            continue;
        }
        said(Command::new(shell).arg("-n").arg(share.join(file)));
    }

    let again = folder.path().join("again");
    assert!(
        fs::read(build(&again).unwrap()).unwrap() == fs::read(package).unwrap(),
        "the second time it is another package"
    );
}

/// By its name the first to begin, because it takes the longest.
#[test]
fn a_look_by_lintian_finds_nothing() {
    let package = match package() {
        Ok(package) => package,
        Err(why) => return skipped(why),
    };
    let mut lintian = Command::new("lintian");
    lintian.args(["--allow-root", "--show-overrides"]).arg(package);
    if Command::new("lintian").arg("--version").output().is_err() {
        return skipped("there is no command `lintian`");
    }
    let told = said(&mut lintian);
    let wrong: Vec<&str> =
        told.lines().filter(|line| line.starts_with("E: ") || line.starts_with("W: ")).collect();
    assert!(wrong.is_empty(), "{told}");
    // What it does find is there by intent, and each reason for that is of something.
    let reasons = fs::read_to_string(workspace().join("packaging/debian/overrides")).unwrap();
    for line in reasons.lines().filter(|line| !line.starts_with('#')) {
        let tag = line.split(' ').nth(1).unwrap();
        assert!(told.contains(&format!("O: firsttouch: {tag}")), "{tag} is excused for nothing: {told}");
    }
}

#[test]
fn it_is_used_on_a_clean_system_and_leaves_nothing_there() {
    let package = match package() {
        Ok(package) => package,
        Err(why) => return skipped(why),
    };
    let needed = [
        "base-files",
        "bash",
        "coreutils",
        "dash",
        "diffutils",
        "dpkg",
        "gcc",
        "grep",
        "libc6-dev",
        "libc-bin",
        "man-db",
        "pkg-config",
        "sed",
    ];
    let root = match Root::new(&needed) {
        Ok(root) => root,
        Err(why) => return skipped(&why),
    };
    fs::copy(package, root.path().join("root/firsttouch.deb")).unwrap();
    let before = root.files();
    assert!(!before.iter().any(|name| name.contains("firsttouch") && !name.starts_with("root/")));

    root.run("dpkg --install /root/firsttouch.deb");
    assert_eq!(root.run("dpkg --verify firsttouch"), "");
    assert_eq!(root.run("firsttouch --version"), format!("firsttouch {}\n", env!("CARGO_PKG_VERSION")));
    // The agent reaches a program, whose memory is read back.
    let receipt = root.run("firsttouch run --pages thp --min-size 1M --receipt /dev/stdout -- dd if=/dev/zero of=/dev/null bs=64M count=1 status=none");
    assert!(receipt.contains("\"kind\""), "{receipt}");
    assert!(root.path().join("var/cache/firsttouch").is_dir());
    // The library, shared and static.
    let source = "/usr/share/doc/firsttouch/examples/region.c";
    let region = root.run(&format!(
        "gcc {source} $(pkg-config --cflags --libs firsttouch) -o /tmp/shared && /tmp/shared 4 4k && rm /tmp/shared"
    ));
    assert!(region.contains("4194304 bytes: 0 on huge pages"), "{region}");
    let region = root.run(&format!(
        "gcc -static {source} $(pkg-config --static --cflags --libs firsttouch) -o /tmp/static && /tmp/static 4 4k && rm /tmp/static"
    ));
    assert!(region.contains("4194304 bytes: 0 on huge pages"), "{region}");
    // What is found where people look for it.
    assert_eq!(root.run("man --where firsttouch-run"), "/usr/share/man/man1/firsttouch-run.1.gz\n");
    let complete = ". /usr/share/bash-completion/completions/firsttouch; complete -p firsttouch; \
        COMP_WORDS=(firsttouch doc) COMP_CWORD=1; _firsttouch firsttouch doc firsttouch; echo ${COMPREPLY[*]}";
    let completed = root.run(&format!("bash -c '{complete}'"));
    assert!(
        completed.contains("-F _firsttouch firsttouch") && completed.ends_with("\ndoctor\n"),
        "{completed}"
    );

    root.run("dpkg --remove firsttouch");
    assert_eq!(root.files(), before, "what removing leaves");
    root.run("dpkg --purge firsttouch");
    assert_eq!(
        (root.files(), root.known_of("firsttouch")),
        (before.clone(), Vec::new()),
        "what purging leaves"
    );

    // The way back from what `setup` has changed is not lost with the package.
    root.run("dpkg --install /root/firsttouch.deb");
    let journal = root.path().join("var/lib/firsttouch/setup.jsonl");
    fs::create_dir(journal.parent().unwrap()).unwrap();
    fs::write(&journal, "the way back\n").unwrap();
    let told = root.run("dpkg --purge firsttouch");
    assert!(told.contains("firsttouch setup --undo") && told.contains("/var/lib/firsttouch stays"), "{told}");
    assert_eq!(fs::read_to_string(&journal).unwrap(), "the way back\n");
    fs::remove_file(&journal).unwrap();
    root.run("dpkg --install /root/firsttouch.deb && dpkg --purge firsttouch");
    assert_eq!(root.files(), before, "what purging leaves where nothing is set up");
}
