//! Programs against the library that see by themselves whether all is well: on this machine, and on the kernels of the
//! lab, where the command line's tests run them.

use crate::build::{agent, compile, here, prefix, run, with_archive, with_shared};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Of `abort(3)`.
const SIGABRT: i32 = 6;

/// A program to run, whose files lie in a folder of its own.
pub(crate) struct Case {
    pub(crate) name: String,
    make: Box<dyn Fn(&Path) + Send>,
    pub(crate) folder: PathBuf,
    /// The program and its arguments, seen from the folder where they name files.
    words: Vec<OsString>,
    /// Its arguments where processors are emulated, if there is less to do.
    emulated: Option<&'static str>,
    environment: Vec<(&'static str, OsString)>,
    /// Transparent huge pages are nothing to it: one of their modes is enough.
    pub(crate) once: bool,
    check: Box<dyn Fn(&Output) + Send>,
}

impl Case {
    fn new(name: &str, words: &[&str], make: impl Fn(&Path) + Send + 'static) -> Case {
        Case {
            name: name.to_owned(),
            make: Box::new(make),
            folder: PathBuf::new(),
            words: words.iter().map(OsString::from).collect(),
            emulated: None,
            environment: Vec::new(),
            once: false,
            check: Box::new(|output| assert_eq!(said(output), "done\n")),
        }
    }

    fn env(mut self, name: &'static str, value: &str) -> Case {
        self.environment.push((name, value.into()));
        self
    }

    fn checked(mut self, check: impl Fn(&Output) + Send + 'static) -> Case {
        self.check = Box::new(check);
        self
    }

    /// Compiles the program and what it takes along.
    pub(crate) fn make(&self) {
        fs::create_dir_all(&self.folder).unwrap();
        (self.make)(&self.folder);
    }

    /// The program, ready to start in its folder.
    pub(crate) fn command(&self, is_emulated: bool) -> Command {
        let mut command = Command::new(self.folder.join("program"));
        match self.emulated.filter(|_| is_emulated) {
            Some(word) => command.arg(word),
            None => command.args(&self.words),
        };
        command.current_dir(&self.folder).env_remove("FIRSTTOUCH_AGENT");
        command.envs(self.environment.iter().cloned());
        command
    }

    /// Panics unless it did what it should.
    pub(crate) fn check(&self, output: &Output) {
        (self.check)(output);
    }
}

/// What a program that succeeded said.
fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// All of them, each in its place below a folder.
pub(crate) fn all(folder: &Path) -> Vec<Case> {
    let once = |case: Case| Case { once: true, ..case };
    let mut cases =
        vec![session(), once(Case { emulated: Some("16"), ..example("fill") }), once(example("team"))];
    cases.push(region("thp", "thp", "", "thp"));
    cases.push(region("4k", "4k", "other=thp/inherit", "4k"));
    // Whoever starts the program says where memory of its name goes.
    cases.push(region("named", "thp", "other=2m/inherit;table=4k/inherit", "4k"));
    cases.extend(served());
    cases.extend(["throw", "pthread_exit"].map(left).map(once));
    cases.extend([once(plain("threads")), Case { emulated: Some("100"), ..plain("toggled") }]);
    cases.push(Case::new("forked", &[], |folder| {
        shared(folder, "tests/c/forked.c", &["-pthread", "-rdynamic", "-ldl"]);
    }));
    cases.push(Case::new("pointers", &[], |folder| {
        shared(folder, "tests/c/pointers.c", &["-pthread", "-fno-builtin", "-ldl"]);
    }));
    cases.extend(redirected());
    cases.push(Case::new("unloaded", &["./libfirst.so", "./libother.so"], two_libraries));
    for case in &mut cases {
        case.folder = folder.join(case.name.replace(' ', "-"));
    }
    cases
}

/// A program linked to the shared library.
fn shared(folder: &Path, source: &str, more: &[&str]) {
    with_shared(&folder.join("program"), source, &more.iter().map(OsStr::new).collect::<Vec<_>>());
}

fn plain(name: &'static str) -> Case {
    Case::new(name, &[], move |folder| shared(folder, &format!("tests/c/{name}.c"), &[]))
}

fn example(name: &'static str) -> Case {
    let case = Case::new(&format!("example {name}"), &[], move |folder| {
        shared(folder, &format!("examples/{name}.c"), &[]);
    });
    case.checked(move |output| check_example(name, &said(output)))
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

fn session() -> Case {
    example("session").checked(|output| {
        let said = said(output);
        check_example("session", &said);
        let between = ["grown: off, 1 placed", "not yet: placed blocks are live", "without: off, 0 placed"];
        assert!(between.iter().all(|words| said.contains(words)), "{said}");
    })
}

/// A region tells what it got.
fn region(name: &str, word: &str, places: &str, pages: &'static str) -> Case {
    let case = Case::new(&format!("example region {name}"), &["32", word], |folder| {
        shared(folder, "examples/region.c", &[]);
    });
    case.env("FIRSTTOUCH_OBJECTS", places).checked(move |output| {
        let said = said(output);
        let receipt: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(receipt["asked"]["pages"], pages);
        assert_eq!(receipt["asked"]["bytes"], 32 << 20);
        if let Some(sizes) = receipt["obtained"]["bytes_by_page_size"].as_object() {
            assert_eq!(sizes.values().filter_map(serde_json::Value::as_u64).sum::<u64>(), 32 << 20);
            assert!(pages == "thp" || sizes.keys().eq(["4096"]), "{said}");
        }
    })
}

/// With the agent in the process, the agent does it, and there is one heap: with settings that place nothing, and
/// preloaded by somebody who knows of no settings.
fn served() -> [Case; 2] {
    let make = |folder: &Path| {
        shared(folder, "tests/c/served.c", &[]);
        fs::copy(agent(), folder.join("agent.so")).unwrap();
    };
    let case = |name: &str| Case::new(name, &[], make).env("LD_PRELOAD", "./agent.so");
    [
        case("served by an agent with settings").env("FIRSTTOUCH_AGENT", "pid=0 pages=plain"),
        case("served by an agent"),
    ]
}

/// Nobody can wait for work that never returns: the process ends, with a word, instead of standing still.
fn left(how: &'static str) -> Case {
    let case = Case::new(&format!("left by {how}"), &[how], |folder| {
        with_archive("c++", &folder.join("program"), "tests/c/left.cc", &["-std=c++17"]);
    });
    case.checked(|output| {
        let (status, said) = (output.status, String::from_utf8_lossy(&output.stderr));
        assert!(status.signal() == Some(SIGABRT) && !said.is_empty(), "{status} {said}");
    })
}

/// What a chosen library makes is placed: bound when loaded, on protected pages; bound at the first call; and in a
/// program at a fixed address.
fn redirected() -> [Case; 3] {
    let ways: [(&str, &[&str]); 3] = [
        ("redirected on protected pages", &["-Wl,-z,relro,-z,now"]),
        ("redirected at the first call", &["-Wl,-z,lazy"]),
        ("redirected at a fixed address", &["-Wl,-z,lazy", "-no-pie"]),
    ];
    ways.map(|(name, way)| {
        Case::new(name, &["./libtaker.so"], move |folder| {
            let mut library = vec![OsStr::new("-shared"), OsStr::new("-fPIC")];
            library.extend(way.iter().filter(|flag| **flag != "-no-pie").map(OsStr::new));
            for name in ["libmade.so", "libtaker.so"] {
                compile(&folder.join(name), "tests/c/made.c", &library);
            }
            let made = folder.join("libmade.so");
            let mut flags: Vec<&OsStr> = way.iter().map(OsStr::new).collect();
            flags.push(made.as_os_str());
            with_shared(&folder.join("program"), "tests/c/redirected.c", &flags);
        })
    })
}

/// The library, and another file of it that is by the name inside not the same one.
fn two_libraries(folder: &Path) {
    compile(&folder.join("program"), "tests/c/unloaded.c", &[OsStr::new("-ldl")]);
    fs::copy(prefix().join("lib/libfirsttouch.so"), folder.join("libfirst.so")).unwrap();
    let archive = prefix().join("lib/libfirsttouch.a");
    let map = format!("-Wl,--version-script={}", here().join("firsttouch.map").display());
    let mut linker = Command::new("cc");
    linker.args(["-shared", &map, "-Wl,--whole-archive"]).arg(archive).arg("-Wl,--no-whole-archive");
    run(linker.args(["-lgcc_s", "-ldl", "-lc", "-o"]).arg(folder.join("libother.so")));
}
