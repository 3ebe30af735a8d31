//! What comes back from a guest: streams, statuses, files; and what is said when nothing comes.

use crate::bench::{Setting, Test, program, shell};
use firsttouch_lab::Ending;

pub(crate) fn tests() -> Vec<Test> {
    let setting = || Setting::of("two-node");
    let streams = Test::new(
        "streams come back apart, whole and in order",
        setting(),
        vec![shell("i=0; while [ $i -lt 3000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done; exit 7")],
        |_, ran| {
            let wanted = |word: &str| (0..3000).map(|i| format!("{word} {i}\n")).collect::<String>();
            assert_eq!(ran[0].finished.ending, Ending::Exited(7));
            assert!(ran[0].stdout == wanted("out") && ran[0].stderr == wanted("err"), "mixed or cut");
        },
    );
    let signal =
        Test::new("a signal is told as a shell does", setting(), vec![shell("kill -SEGV $$")], |_, ran| {
            assert_eq!(ran[0].finished.ending, Ending::Signaled(11));
            assert_eq!(ran[0].finished.ending.code(), 139);
        });
    let left = Test::new(
        "what a command leaves running ends with it",
        setting(),
        vec![shell("while :; do :; done & echo begun")],
        |_, ran| {
            assert_eq!(ran[0].stdout, "begun\n");
            assert_eq!(ran[0].finished.ending, Ending::Exited(0));
        },
    );
    let files = Test::new(
        "files come back, and missing ones are told",
        setting(),
        vec![
            shell("umask 077; printf 'a\\0b' > made; : > empty")
                .copy_out("made")
                .copy_out("empty")
                .copy_out("absent"),
        ],
        |_, ran| {
            let finished = &ran[0].finished;
            assert_eq!(finished.files[0].contents, b"a\0b");
            assert_eq!((finished.files[0].mode, finished.files[1].contents.len()), (0o600, 0));
            assert_eq!(finished.missing[0].0.to_str(), Some("absent"));
        },
    );
    let environment = Test::new(
        "a program gets the environment it was given, and no other",
        setting(),
        vec![shell("echo $GIVEN; echo $CARGO_MANIFEST_DIR").env("GIVEN", "yes")],
        |_, ran| assert_eq!(ran[0].stdout, "yes\n\n"),
    );
    let wrong = Test::new(
        "a program that fails says so on its own stream",
        setting(),
        vec![program("policy", "nonsense 0 1 small")],
        |_, ran| {
            assert_eq!(ran[0].finished.ending, Ending::Exited(1));
            assert_eq!(ran[0].stderr, "unknown policy nonsense\n");
        },
    );
    vec![streams, signal, left, files, environment, wrong]
}
