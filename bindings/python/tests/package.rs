//! The Python package: built from the archive of its sources as a user would, installed, and its own tests.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../tests/skipped.rs"]
mod skipped;

use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader as _, SectionHeader as _};
use skipped::skipped;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

fn output(command: &mut Command) -> (bool, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.success(), format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
}

/// What a command says, which has to succeed.
fn said(command: &mut Command) -> String {
    let (succeeded, said) = output(command);
    assert!(succeeded, "{command:?}: {said}");
    said
}

/// A Python that can make environments.
fn python() -> Option<&'static str> {
    let works = |name: &&str| {
        let mut command = Command::new(name);
        command.args(["-c", "import sys, venv, ensurepip; assert sys.version_info >= (3, 9)"]);
        command.output().is_ok_and(|output| output.status.success())
    };
    ["python3", "/usr/bin/python3"].into_iter().find(works)
}

/// The folder of the package.
fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the workspace.
fn root() -> PathBuf {
    package().join("../..")
}

/// A virtual environment in a folder of its own.
struct Environment(tempfile::TempDir);

impl Environment {
    /// One that has nothing but these packages; or why there is none.
    fn new(packages: &[&str]) -> Result<Environment, String> {
        let python = python().ok_or("no Python 3.9 or newer with venv is installed")?;
        let environment = Environment(tempfile::tempdir().unwrap());
        said(Command::new(python).args(["-m", "venv"]).arg(environment.path()));
        environment.install(packages)?;
        Ok(environment)
    }

    /// Adds packages of the registry; or why they are not to be had. By itself, so that a registry out of reach is told from a
    /// package that does not build.
    fn install(&self, packages: &[&str]) -> Result<(), String> {
        let (reached, said) = output(self.pip("install").args(packages));
        reached.then_some(()).ok_or_else(|| format!("pip cannot install {}: {said}", packages.join(", ")))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("environment")
    }

    /// A program of the environment, with its programs before all others.
    fn command(&self, name: &str) -> Command {
        let programs = self.path().join("bin");
        let mut command = Command::new(programs.join(name));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(programs).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(path).unwrap()).current_dir(&self.0);
        command
    }

    fn pip(&self, what: &str) -> Command {
        let mut pip = self.command("python");
        pip.args(["-m", "pip", what, "--quiet", "--disable-pip-version-check"]);
        pip
    }

    /// A wheel of the package, built with the maturin of this environment in the profile of the tests, out of what is compiled for them.
    fn wheel(&self) -> PathBuf {
        let folder = self.0.path().join("wheels");
        let mut pip = self.pip("wheel");
        pip.args([
            "--no-build-isolation",
            "--config-settings=build-args=--profile=dev",
            "--no-deps",
            "--wheel-dir",
        ]);
        let test = std::env::current_exe().unwrap();
        pip.arg(&folder).arg(package()).env("CARGO", self.cargo());
        said(pip.env("CARGO_TARGET_DIR", test.ancestors().nth(3).unwrap()));
        fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path()
    }

    /// A Cargo that builds the same two with the features that all crates and their tests have together, and for no Python that
    /// maturin names (the module is for all): so they are what the tests are built of, where they otherwise would be compiled once more.
    fn cargo(&self) -> PathBuf {
        let file = self.0.path().join("cargo");
        let path = std::env::var("PATH").unwrap();
        let all = "--workspace --lib --bin firsttouch --test package";
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = build ] || exec '{cargo}' \"$@\"\n\
             exec env -u PYO3_BUILD_EXTENSION_MODULE -u PYO3_CONFIG_FILE -u PYO3_ENVIRONMENT_SIGNATURE -u PYO3_PYTHON PATH='{path}' '{cargo}' \"$@\" {all}\n",
            cargo = env!("CARGO"),
        );
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o700)).unwrap();
        file
    }
}

#[test]
fn the_package_has_its_sources_is_built_and_its_tests_pass() {
    let environment = match Environment::new(&["maturin>=1.9,<2"]) {
        Ok(environment) => environment,
        Err(why) => return skipped(&why),
    };
    // Not beside the wheel: both are built in the folder of the package.
    if root().join(".git").exists() {
        the_archive_has_the_sources(&environment);
    } else {
        skipped("the archive of the sources: there is no repository whose files could be listed");
    }
    // What the tests of the package need is fetched while it is compiled.
    let (wheel, fetched) = thread::scope(|scope| {
        let fetched = scope.spawn(|| {
            environment.install(&["numpy>=1.24", "pytest>=7", "mypy>=1.10"])?;
            // What some tests compare with; these say so where it is missing.
            Ok(["scipy>=1.11", "networkx>=3.4"]
                .map(|extra| environment.install(&["--only-binary=:all:", extra]).err()))
        });
        (environment.wheel(), fetched.join().unwrap())
    });
    match fetched {
        Ok(missing) => missing.iter().flatten().for_each(|why| skipped(why)),
        Err::<_, String>(why) => return skipped(&why),
    }
    is_named_by_what_it_needs(&environment, &wheel);
    said(environment.pip("install").arg(&wheel));
    assert_eq!(said(environment.command("firsttouch").arg("--version")), "firsttouch 0.1.0\n");
    let python = environment.path().join("bin/python");
    let tests = |words: &[&OsStr]| {
        let mut tests = Command::new("timeout");
        tests.arg("2400").arg(&python).args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]);
        said(tests.args(words).current_dir(&environment.0))
    };
    // Those of types wait for mypy, which has the other processor meanwhile.
    let types = package().join("tests/test_types.py");
    let told = thread::scope(|scope| {
        let of_types = scope.spawn(|| tests(&[types.as_os_str()]));
        let others = tests(&[package().as_os_str(), "--ignore".as_ref(), types.as_os_str()]);
        others + &of_types.join().unwrap()
    });
    for line in told.lines() {
        if line.starts_with("SKIPPED") {
            skipped(line);
        }
    }
}

/// The tag of a wheel tells the newest release of glibc of which a program in it needs something.
fn is_named_by_what_it_needs(environment: &Environment, wheel: &Path) {
    let folder = environment.0.path().join("unpacked");
    said(environment.command("python").args(["-m", "zipfile", "-e"]).arg(wheel).arg(&folder));
    let mut newest = BTreeSet::new();
    for program in ["firsttouch/_core.abi3.so", "firsttouch-0.1.0.data/scripts/firsttouch"] {
        let (libraries, versions) = needs(&fs::read(folder.join(program)).unwrap());
        assert!(libraries.contains("libc.so.6"), "{program}: {libraries:?}");
        let compiler_or_c = |name: &String| {
            let word = name.split(".so").next().unwrap();
            ["libc", "libm", "libdl", "librt", "libutil", "libpthread", "libgcc_s"].contains(&word)
                || word.starts_with("ld-linux")
        };
        assert!(libraries.iter().all(compiler_or_c), "{program}: {libraries:?}");
        newest.extend(versions.iter().filter_map(|version| {
            let (major, minor) = version.strip_prefix("GLIBC_")?.split_once('.')?;
            Some((major.parse::<u32>().ok()?, minor.split('.').next()?.parse::<u32>().ok()?))
        }));
    }
    let (major, minor) = newest.last().unwrap().max(&(2, 17));
    let name = wheel.file_name().unwrap().to_str().unwrap();
    let machine = std::env::consts::ARCH;
    assert_eq!(name, format!("firsttouch-0.1.0-cp39-abi3-manylinux_{major}_{minor}_{machine}.whl"));
    let about = fs::read_to_string(folder.join("firsttouch-0.1.0.dist-info/WHEEL")).unwrap();
    assert!(about.contains(&format!("\nTag: cp39-abi3-manylinux_{major}_{minor}_{machine}\n")), "{about}");
}

/// The libraries that a program names, and the versions of symbols that it needs of them.
fn needs(data: &[u8]) -> (BTreeSet<String>, BTreeSet<String>) {
    let header = FileHeader64::<Endianness>::parse(data).unwrap();
    let endian = header.endian().unwrap();
    let sections = header.sections(endian, data).unwrap();
    let (mut libraries, mut versions) = (BTreeSet::new(), BTreeSet::new());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (mut needed, link) = sections.gnu_verneed(endian, data).unwrap().unwrap();
    let strings = sections.strings(endian, data, link).unwrap();
    while let Some((need, mut of_it)) = needed.next().unwrap() {
        libraries.insert(text(need.file(endian, strings).unwrap()));
        while let Some(version) = of_it.next().unwrap() {
            versions.insert(text(version.name(endian, strings).unwrap()));
        }
    }
    for section in sections.iter() {
        if let Some((entries, link)) = section.dynamic(endian, data).unwrap() {
            let strings = sections.strings(endian, data, link).unwrap();
            let named = entries.iter().filter(|entry| entry.d_tag.get(endian) == object::elf::DT_NEEDED);
            let place = |offset: u64| strings.get(offset.try_into().unwrap()).unwrap();
            libraries.extend(named.map(|entry| text(place(entry.d_val.get(endian)))));
        }
    }
    (libraries, versions)
}

/// The archive of the sources holds what git has, to the byte, and is what pip can build from. It is not compiled here: what is
/// compiled for the tests has the same sources, and Cargo would compile them once more for being in another place.
fn the_archive_has_the_sources(environment: &Environment) {
    let root = root();
    let archive = |package: &Path, into: &Path| {
        fs::create_dir(into).unwrap();
        let hook = "import firsttouch_build, sys; firsttouch_build.build_sdist(sys.argv[1])";
        let mut python = environment.command("python");
        python.args(["-c", hook]).arg(into).current_dir(package);
        said(
            python
                .env("PYTHONPATH", package.join("bindings/python/backend"))
                .env("PYTHONDONTWRITEBYTECODE", "1"),
        );
        into.join("firsttouch-0.1.0.tar.gz")
    };
    let folder = environment.0.path();
    let packed = archive(&root, &folder.join("once"));
    said(Command::new("tar").arg("--extract").arg("--file").arg(&packed).arg("--directory").arg(folder));
    let unpacked = folder.join("firsttouch-0.1.0");
    // Who has no git gets the same from what was unpacked, to the byte.
    let again = archive(&unpacked, &folder.join("again"));
    assert!(fs::read(&packed).unwrap() == fs::read(again).unwrap(), "another archive");
    let listed = said(Command::new("git").args(["ls-files"]).current_dir(&root));
    let kept: BTreeSet<&str> = listed.lines().filter(|name| root.join(name).is_file()).collect();
    for name in &kept {
        assert!(fs::read(root.join(name)).unwrap() == fs::read(unpacked.join(name)).unwrap(), "{name}");
    }
    let found =
        said(Command::new("find").args([".", "-type", "f", "-printf", "%P\n"]).current_dir(&unpacked));
    let found: BTreeSet<&str> = found.lines().collect();
    assert_eq!(found.difference(&kept).copied().collect::<Vec<_>>(), ["PKG-INFO", "pyproject.toml"]);
    let about = fs::read_to_string(unpacked.join("PKG-INFO")).unwrap();
    for field in
        ["Name: firsttouch", "Version: 0.1.0", "Requires-Python: >=3.9", "Requires-Dist: numpy>=1.24"]
    {
        assert!(about.lines().any(|line| line == field), "{about}");
    }
    // Up to where a wheel would be compiled: the backend is found, and Cargo reads all manifests.
    let report = folder.join("report.json");
    let mut pip = environment.pip("install");
    pip.args(["--dry-run", "--no-deps", "--no-build-isolation", "--report"]).arg(&report).arg(&packed);
    said(&mut pip);
    let report = fs::read_to_string(report).unwrap();
    assert!(report.contains("\"name\": \"firsttouch\""), "{report}");
}
