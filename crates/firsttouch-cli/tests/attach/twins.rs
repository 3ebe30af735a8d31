//! Processes of two PID namespaces, as those of containers are, that have the same number and began at the same moment, and whose
//! journals lie in the same folder.

use crate::attached::{Attached, command, journals};
use crate::meanwhile::cpus;
use crate::target::{Target, compiled, folder, installed, sources};
use crate::{Outcome, Test, skip};
use std::path::Path;
use std::process::Command;

pub(crate) fn tests() -> Vec<Test> {
    vec![("twins in two PID namespaces have a journal each".to_owned(), Box::new(twins))]
}

/// A namespace: the numbers, here, of its first process and of the twin in it.
#[derive(Clone, Copy)]
struct Space {
    first: u32,
    twin: u32,
}

impl Space {
    fn attach(self, state: &Path, words: &[&str]) -> Attached {
        let ours = command(state);
        let mut inside = Command::new("nsenter");
        inside.args(["--pid", "--mount", "--target"]).arg(self.first.to_string());
        inside.arg(ours.get_program()).args(ours.get_args()).args(words).arg("--json");
        Attached::of(&inside.env("XDG_STATE_HOME", state).output().unwrap())
    }

    fn cpus(self) -> String {
        cpus(self.twin).remove(0).1
    }
}

fn twins() -> Outcome {
    installed("nsenter")?;
    let (folder, state) = (folder(), folder());
    let mut target = Target::start(&[compiled(folder.path(), &sources("c").join("twins.c"))?], folder.path());
    let line = target.line();
    let numbers: Vec<u32> = line.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [first, twin, others, other, inside] = numbers[..] else { panic!("{line}") };
    let (one, two, number) =
        (Space { first, twin }, Space { first: others, twin: other }, inside.to_string());
    let before = one.cpus();
    let last = before.rsplit([',', '-']).next().unwrap();
    if last == before {
        return skip("there is one CPU");
    }
    one.attach(state.path(), &[&number, "--threads", "0"]).done(inside);
    // Of the other nothing was changed, and nothing is taken back.
    let undone = two.attach(state.path(), &["--undo", &number]).done(inside);
    assert!(undone.to_string().contains("nothing to take back"), "{undone}");
    two.attach(state.path(), &[&number, "--threads", last]).done(inside);
    assert_eq!((one.cpus(), two.cpus(), journals(state.path()).len()), ("0".to_owned(), last.to_owned(), 2));
    for space in [one, two] {
        let undone = space.attach(state.path(), &["--undo", &number]).done(inside);
        assert_eq!((&undone["bound_threads"], space.cpus()), (&1.into(), before.clone()), "{undone}");
    }
    assert!(journals(state.path()).is_empty());
    assert_eq!(target.finish().0, Some(0));
    Ok(())
}
