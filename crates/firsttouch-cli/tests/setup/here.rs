//! This machine: pools and transparent huge pages there and back, to the byte; in a view of the file system in which /etc and
//! /var/lib are folders of the test.

use crate::killed::killer;
use crate::machine::{MachineLock, Setting, is_root};
use crate::{Case, Outcome, Said, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

pub(crate) fn tests() -> Vec<Case> {
    vec![("this machine, there and back", there_and_back), ("this machine, killed at every change", killed)]
}

const THP: &str = "/sys/kernel/mm/transparent_hugepage";
const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";

/// The settings that are changed, with their texts, until this value goes.
struct Here {
    settings: Vec<(PathBuf, String)>,
    /// What /etc and /var/lib are meanwhile.
    folder: TempDir,
    _kept: Vec<Setting>,
    _lock: MachineLock,
}

impl Here {
    fn new() -> Outcome<Here> {
        if !is_root() {
            return skip("only root can change settings of the machine");
        }
        let lock = MachineLock::alone();
        let mut files: Vec<PathBuf> = ["enabled", "defrag"].map(|file| Path::new(THP).join(file)).into();
        files.extend(pools());
        let mut settings = Vec::new();
        for file in files {
            let Ok(text) = fs::read_to_string(&file) else {
                return skip(format!("this machine has no {}", file.display()));
            };
            settings.push((file, text));
        }
        let kept = settings.iter().map(|(file, text)| Setting::keep(file, text)).collect();
        let folder = tempfile::tempdir().unwrap();
        for name in ["etc", "lib"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let here = Here { settings, folder, _kept: kept, _lock: lock };
        let probe = here.run(Path::new("/bin/true"), &[]);
        if probe.code != Some(0) {
            return skip(format!("no mount namespace can be made here: {}", probe.stderr));
        }
        Ok(here)
    }

    fn run(&self, program: &Path, words: &[&str]) -> Said {
        let line = "mount --bind \"$0/etc\" /etc && mount --bind \"$0/lib\" /var/lib && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", line]).arg(self.folder.path()).arg(program).args(words);
        Said::of(command.env("COLUMNS", "200"))
    }

    fn setup(&self, words: &[&str]) -> Said {
        self.run(Path::new(env!("CARGO_BIN_EXE_firsttouch")), &[&["setup"], words].concat())
    }

    #[track_caller]
    fn is_as_before(&self) {
        for (file, text) in &self.settings {
            assert_eq!(fs::read_to_string(file).unwrap(), *text, "{}", file.display());
        }
        let left = ["etc", "lib"].map(|name| fs::read_dir(self.folder.path().join(name)).unwrap().count());
        assert_eq!(left, [0, 0]);
    }
}

/// The pool of 2 MiB pages of each node.
fn pools() -> Vec<PathBuf> {
    let nodes = fs::read_dir("/sys/devices/system/node").into_iter().flatten();
    let files = nodes.filter_map(|node| {
        let file = node.ok()?.path().join("hugepages/hugepages-2048kB/nr_hugepages");
        file.is_file().then_some(file)
    });
    files.collect()
}

fn number(file: &str) -> u64 {
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

/// A mode and a word for defrag that are not those of now.
fn others() -> [String; 2] {
    let of = |file: &str, words: [&str; 2]| {
        let now = fs::read_to_string(format!("{THP}/{file}")).unwrap();
        words.into_iter().find(|word| !now.contains(&format!("[{word}]"))).unwrap().to_owned()
    };
    [of("enabled", ["madvise", "never"]), format!("thp-defrag={}", of("defrag", ["defer", "madvise"]))]
}

fn there_and_back() -> Outcome {
    let here = Here::new()?;
    let (before, [mode, defrag]) = (number(POOL), others());
    let words = format!("2m={}", before + 8);
    let document = here.setup(&["pages", &words, "--apply", "--persist", "--json"]).ends(0).json();
    assert_eq!(number(POOL), before + 8);
    let pools = document["changes"].as_array().unwrap().iter();
    let mut pools = pools.filter(|change| change["path"].as_str().unwrap().ends_with("nr_hugepages"));
    assert!(pools.all(|change| change["obtained"] == change["asked"]), "{document}");
    here.setup(&["thp", &mode, &defrag, "--apply", "--persist"]).ends(0);
    let now = fs::read_to_string(format!("{THP}/enabled")).unwrap();
    assert!(now.contains(&format!("[{mode}]")), "{now}");
    here.setup(&["--undo"]).ends(0);
    here.is_as_before();
    Ok(())
}

fn killed() -> Outcome {
    let scratch = tempfile::tempdir().unwrap();
    let killer = killer(scratch.path())?;
    let here = Here::new()?;
    let [mode, defrag] = others();
    let pages = format!("2m={}", number(POOL) + 8);
    let count = scratch.path().join("count");
    for words in [&["pages", &pages, "--apply"][..], &["thp", &mode, &defrag, "--apply", "--persist"]] {
        for calls in 1.. {
            let calls = calls.to_string();
            let start = [&calls, count.to_str().unwrap(), env!("CARGO_BIN_EXE_firsttouch"), "setup"];
            let said = here.run(&killer, &[&start[..], words].concat());
            if said.code == Some(0) {
                break;
            }
            let said = said.ends(137);
            here.setup(&["--undo"]).ends(0);
            assert!(said.stderr.is_empty(), "{said:?}");
            here.is_as_before();
        }
        here.setup(&["--undo"]).ends(0);
    }
    here.is_as_before();
    Ok(())
}
