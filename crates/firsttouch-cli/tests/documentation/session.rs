//! A page's commands, run by one shell in a folder of its own.

use crate::pages::{Block, Command, Page, workspace};
use crate::skipped::skipped;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process;

/// Seconds that a page's session may take; one that waits for something would never end.
const LIMIT: &str = "600";

/// The command itself, with less to do where pages have it work for minutes, or without end.
const RUN: &str = r#"#!/bin/bash
less() {
    for option; do
        case " ${words[*]} " in *" ${option%% *} "*) ;; *) words=("${words[0]}" $option "${words[@]:1}") ;; esac
    done
}
words=("$@")
case $1 in
    watch) less "--samples 2" ;;
    measure) less --quick "--size 16M" ;;
    tune) less "--max-runs 2" --quick; case " $* " in *" --vary "*) ;; *) less "--configs thp" ;; esac ;;
esac
exec "$REAL" "${words[@]}"
"#;

/// The command reads its words, and does nothing: it is asked for help where its own words end.
const READ: &str = r#"#!/bin/bash
words=() asked=
for word; do
    if [ "$word" = -- ] && [ -z "$asked" ]; then words+=(--help); asked=yes; fi
    words+=("$word")
done
[ "$asked" ] || words+=(--help)
"$REAL" "${words[@]}" >help.txt 2>&1 || { cat help.txt; exit 1; }
grep -q '^Usage: ' help.txt
"#;

/// Root, who runs these tests where they all run, needs nobody's leave.
const SUDO: &str = "#!/bin/sh\nexec \"$@\"\n";

/// A program of PostgreSQL, which refuses to be root, and is on nobody's search path.
const POSTGRES: &str = r#"#!/bin/sh
as=
[ "$(id -u)" -ne 0 ] || as='setpriv --reuid=postgres --regid=postgres --clear-groups'
exec $as "$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)/${0##*/}" "$@"
"#;

/// Programs of others that pages start.
const OTHERS: [&str; 6] = ["Rscript", "ffmpeg", "mpirun", "pg_ctl", "postgres", "man"];

/// What the sessions share: programs in `bin`, and inputs in `inputs`.
pub(crate) fn prepare(folder: &Path) {
    let program = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program(&folder.join("bin/firsttouch"), RUN);
    program(&folder.join("bin/sudo"), SUDO);
    program(&folder.join("read/firsttouch"), READ);
    if fs::exists("/usr/lib/postgresql").unwrap() {
        for name in ["initdb", "pg_ctl", "postgres"] {
            program(&folder.join("bin").join(name), POSTGRES);
        }
    }
    // The system's own where another one, without NumPy, comes first.
    let has_numpy = |name: &&str| {
        process::Command::new(name)
            .args(["-c", "import numpy"])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if !has_numpy(&"python3") && has_numpy(&"/usr/bin/python3") {
        symlink("/usr/bin/python3", folder.join("bin/python3")).unwrap();
    }
    let inputs = folder.join("inputs");
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documentation/files");
    let copied = process::Command::new("cp").arg("-r").args([&files, &inputs]).status().unwrap();
    assert!(copied.success());
    let mut compile = process::Command::new("cc");
    compile.args(["-O1", "-o"]).args([inputs.join("simulate"), files.join("simulate.c")]);
    assert!(compile.status().unwrap().success());
}

/// Runs a page's session; answers with what was wrong.
pub(crate) fn run(page: &Page, shared: &Path) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for entry in fs::read_dir(shared.join("inputs")).unwrap() {
        let from = entry.unwrap().path();
        let copied = process::Command::new("cp").arg("-r").arg(&from).arg(path).status();
        assert!(copied.unwrap().success());
    }
    // What a page names in the repository is there, to be read.
    for name in ["bindings", "benches", "crates", "packaging"] {
        symlink(workspace().join(name), path.join(name)).unwrap();
    }
    fs::create_dir(path.join(".told")).unwrap();
    let blocks = page.blocks();
    fs::write(path.join(".script"), script(&blocks)).unwrap();
    let search = format!("{}:{}", shared.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = process::Command::new("timeout");
    shell.args([LIMIT, "bash", ".script"]).current_dir(path);
    shell.env("PATH", search).env("READ", shared.join("read")).env("REAL", env!("CARGO_BIN_EXE_firsttouch"));
    shell.env("HOME", path).env("COLUMNS", "120");
    for name in ["XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "LD_PRELOAD", "GLIBC_TUNABLES"] {
        shell.env_remove(name);
    }
    // Open MPI asks twice whether root means it.
    shell.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    shell.stdin(process::Stdio::null());
    let output = shell.output().unwrap();
    let mut wrong = Vec::new();
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if !said.is_empty() {
        wrong.push(format!("{}: {said}", page.name()));
    }
    for block in &blocks {
        wrong.extend(block.idle().iter().map(|word| {
            format!("{}:{}: the mark has {word:?}, and no command begins so", page.name(), block.line)
        }));
        for command in &block.commands {
            if let Err(why) = judged(block, command, path) {
                wrong.push(format!("{}:{}: `{}`: {why}", page.name(), command.line, command.text));
            }
        }
    }
    wrong
}

/// The lines for the shell; what a command says is in a file of its line's number, and what it ended with in one beside it.
fn script(blocks: &[Block]) -> String {
    let mut script = "trap 'kill $(jobs -p) 2>/dev/null' EXIT\n".to_owned();
    for block in blocks {
        for line in &block.first {
            writeln!(script, "{line}").unwrap();
        }
        for command in &block.commands {
            let (number, text) = (command.line, &command.text);
            let words = match excuse(block, text).is_some() {
                true => for_us(text).map(|words| format!("(PATH=$READ:$PATH; {words}\n)")),
                false if text.contains(" & ") => Some(format!("{{ {text}\nwait $!; }}")),
                false => Some(format!("{{ {text}\n}}")),
            };
            if let Some(words) = words {
                writeln!(script, "{words} >.told/{number} 2>&1; echo $? >.told/{number}.status").unwrap();
            }
        }
    }
    script
}

/// Why a command is not run.
enum Excuse {
    /// The page says so.
    Marked,
    /// This machine lacks what it takes.
    Lacking(String),
}

fn excuse(block: &Block, text: &str) -> Option<Excuse> {
    if block.excuse(text).is_some() {
        return Some(Excuse::Marked);
    }
    if text.starts_with("sudo ") && !rustix::process::geteuid().is_root() {
        return Some(Excuse::Lacking("not root".to_owned()));
    }
    // What is started, and what that starts.
    let started =
        text.split(" -- ").filter_map(|part| part.split_whitespace().find(|word| !word.contains('=')));
    let mut others = started.filter(|word| OTHERS.contains(word));
    let there = |word: &str| {
        process::Command::new("which").arg(word).output().is_ok_and(|found| found.status.success())
    };
    others.find(|word| !there(word)).map(|word| Excuse::Lacking(format!("there is no command `{word}`")))
}

/// The part of a line that is words for `firsttouch`.
fn for_us(text: &str) -> Option<&str> {
    let at = text.find("firsttouch ").filter(|at| !text[..*at].ends_with(['-', '/', '=', '_']))?;
    let words = &text[at..];
    // Within $(…) the words end where that does.
    let inside = text[..at].ends_with("$(");
    let ends = if inside { words.find(')') } else { words.find([';', '&', '|']) };
    Some(&words[..ends.unwrap_or(words.len())])
}

/// Whether a command ended as it should, and said what the page shows.
fn judged(block: &Block, command: &Command, folder: &Path) -> Result<(), String> {
    let told = folder.join(".told").join(command.line.to_string());
    let excused = match excuse(block, &command.text) {
        Some(Excuse::Lacking(why)) => {
            skipped(&format!("`{}`: {why}", command.text));
            true
        }
        excuse => excuse.is_some(),
    };
    if excused && for_us(&command.text).is_none() {
        return Ok(());
    }
    let said = fs::read(&told).map(|said| String::from_utf8_lossy(&said).into_owned()).unwrap_or_default();
    let status =
        fs::read_to_string(told.with_extension("status")).map_err(|_| format!("it never ended\n{said}"))?;
    let status: i32 = status.trim().parse().unwrap();
    if status != 0 && (excused || !block.statuses.contains(&status)) {
        let kind = if excused { "its words are not understood" } else { "it failed" };
        return Err(format!(
            "{kind} (status {status}; the marks of blocks are told in tests/documentation/main.rs)\n{said}"
        ));
    }
    let words: Vec<&str> = said.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let missing = command.shown.iter().find(|word| !words.contains(&word.as_str()));
    match missing.filter(|_| !excused) {
        Some(word) => Err(format!("no line of what it says begins with {word:?}\n{said}")),
        None => Ok(()),
    }
}
