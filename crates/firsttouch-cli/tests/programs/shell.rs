//! Shells: pipelines, children in the background, programs that take the shell's place; and git.

use crate::requirements::installed;
use crate::skipped::skipped;
use crate::subject::Subject;
use std::process::Command;

const PIPELINE: &str = "\
seq 1 200000 | sed 's/$/ x/' | sort -rn | awk '{ s = s * 3 % 1000003 + $1 } END { print NR, s }'
seq 1 100000 | sort | uniq -c | tail -n 3
(seq 1 5 & wait; echo done) | cat
value=$(seq 1 1000 | tr '\\n' ' ')
echo ${#value}
env | grep -v -e '^_=' -e '^PWD=' -e '^OLDPWD=' -e '^SHLVL=' | sort
trap 'echo leaving' EXIT
false | true
sh -c 'kill -TERM $$'
echo $?
exit 5
";

#[test]
fn pipelines_give_the_same() {
    for name in ["sh", "bash"] {
        let Some(shell) = installed(name) else { continue };
        Subject::new(shell).arguments(&["-c", PIPELINE]).same_with_and_without().assert_complete();
    }
}

#[test]
fn pipelines_give_the_same_when_every_part_is_placed() {
    let Some(shell) = installed("sh") else { return };
    let without_environment: String =
        PIPELINE.lines().filter(|line| !line.starts_with("env ")).map(|line| format!("{line}\n")).collect();
    Subject::new(shell).arguments(&["-c", &without_environment]).same_with(&["--follow"]).assert_complete();
}

#[test]
fn the_program_that_takes_the_shells_place_is_placed() {
    let (Some(shell), Some(_)) = (installed("sh"), installed("sort")) else { return };
    let numbers: String = (0..400_000_u64).map(|number| format!("{}\n", number * 7919 % 1_000_003)).collect();
    Subject::new(shell)
        .arguments(&["-c", "cd / && exec sort -n --parallel=2 -S 64M"])
        .input(&numbers)
        .same_with_and_without()
        .assert_on_huge_pages(16 << 20);
}

/// As services do that root starts: the agent lies where they get to.
#[test]
fn a_program_that_becomes_another_user_is_placed() {
    let Some(setpriv) = installed("setpriv") else { return };
    let mut command = Command::new(env!("CARGO_BIN_EXE_firsttouch"));
    command.args(["run", "--pages", "thp", "--follow", "--"]).arg(setpriv);
    command.args(["--reuid=65534", "--clear-groups", "cat", "/proc/self/maps"]).env_remove("XDG_CACHE_HOME");
    let done = command.output().unwrap();
    let complaints = String::from_utf8_lossy(&done.stderr);
    if complaints.contains("setpriv: ") {
        return skipped(&format!("becoming another user: {complaints}"));
    }
    assert_eq!(complaints, "");
    assert!(String::from_utf8_lossy(&done.stdout).contains("libfirsttouch_preload"));
}

const HISTORY: &str = "\
set -e
git init -q -b main .
for round in 1 2 3 4 5 6; do
    seq $round 20000 > numbers
    seq 1 $((round * 1000)) > more-$round
    git add .
    git commit -q -m \"round $round\"
done
git gc -q
git fsck --strict
git log --format='%H %T %s' --stat
git diff HEAD~5 HEAD | git hash-object --stdin
git verify-pack .git/objects/pack/*.pack
rm -rf .git numbers more-*
";

#[test]
fn git_stores_the_same() {
    let (Some(_), Some(shell)) = (installed("git"), installed("sh")) else { return };
    for options in [&[][..], &["--follow"]] {
        let mut subject =
            Subject::new(&shell).arguments(&["-c", HISTORY]).variable("GIT_CONFIG_NOSYSTEM", "1");
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            subject = subject.variable(name, "nobody");
        }
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            subject = subject.variable(name, "2000-01-01T00:00:00Z");
        }
        let home = subject.folder().display().to_string();
        subject.variable("HOME", home).same_with(options).assert_complete();
    }
}
