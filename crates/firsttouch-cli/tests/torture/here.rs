//! Runs on this machine, with somebody who attaches meanwhile where that is wanted.

use crate::plan::Plan;
use crate::program::{Program, workshop};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// What a program that fails said, or nothing.
pub(crate) type Failure = Option<String>;

/// What a run that is right writes.
pub(crate) const DONE: &str = "done\n";

fn own_cache(command: &mut Command) -> &mut Command {
    for name in ["LD_PRELOAD", "FIRSTTOUCH_AGENT", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX"] {
        command.env_remove(name);
    }
    command.env("XDG_CACHE_HOME", workshop()).env("XDG_STATE_HOME", workshop())
}

/// Runs a plan. The program's own watcher ends it where it hangs.
pub(crate) fn run(plan: &Plan, program: &Program) -> Failure {
    let files = ["stdout", "stderr"].map(|name| workshop().join(format!("{name}-{}", std::process::id())));
    let [stdout, stderr] = files.each_ref().map(|file| File::create(file).unwrap());
    let words: Vec<OsString> = plan.command(env!("CARGO_BIN_EXE_firsttouch"), program);
    let mut command = Command::new(&words[0]);
    // A group of its own, to be ended with all that a program which fails leaves behind. Files and no pipes: who is left
    // behind would hold these open.
    own_cache(&mut command).args(&words[1..]).stdout(stdout).stderr(stderr).process_group(0);
    let mut child =
        command.stdin(Stdio::piped()).spawn().unwrap_or_else(|error| panic!("{words:?}: {error}"));
    let status = if plan.attached { attached(&mut child) } else { Ok(child.wait().unwrap()) };
    let _ = Command::new("kill")
        .args(["-KILL", "--", &format!("-{}", child.id())])
        .stderr(Stdio::null())
        .status();
    let [stdout, stderr] =
        files.each_ref().map(|file| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned());
    files.iter().for_each(|file| fs::remove_file(file).unwrap());
    match status {
        Ok(status) => judge(&ending(status), &stdout, &stderr),
        Err(why) => Some(format!("{why}\n{stderr}")),
    }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => String::new(),
        (Some(code), _) => format!("exit status {code}"),
        (_, signal) => format!("signal {}", signal.unwrap_or_default()),
    }
}

/// Whether a run was what it is without us.
pub(crate) fn judge(ending: &str, stdout: &str, stderr: &str) -> Failure {
    if ending.is_empty() && stdout == DONE {
        return None;
    }
    let ending = if ending.is_empty() { "exit status 0" } else { ending };
    let said: Vec<&str> = stderr.lines().take(12).collect();
    Some(format!("{ending}, stdout {stdout:?}\n{}", said.join("\n")))
}

/// Changes the placement of the program and takes it back, again and again, until it has done all its operations; the
/// program waits with its end until that succeeded once.
fn attached(child: &mut Child) -> Result<ExitStatus, String> {
    let (over, id, mut input) = (AtomicBool::new(false), child.id(), child.stdin.take());
    thread::scope(|scope| {
        let attacher = scope.spawn(|| {
            let (mut changes, mut last) = (0_u32, String::new());
            while !over.load(Ordering::Relaxed) {
                for words in
                    [&["--pages", "thp"][..], &["--undo"], &["--via", "agent", "--pages", "thp"], &["--undo"]]
                {
                    let mut attach = Command::new(env!("CARGO_BIN_EXE_firsttouch"));
                    let output = own_cache(&mut attach)
                        .arg("attach")
                        .arg(id.to_string())
                        .args(words)
                        .output()
                        .unwrap();
                    changes += u32::from(output.status.success());
                    last = String::from_utf8_lossy(&output.stderr).into_owned();
                }
                if changes > 0 {
                    drop(input.take());
                }
            }
            if changes == 0 { Err(format!("nobody could attach: {last}")) } else { Ok(()) }
        });
        // Its number stays its own until nobody attaches any more.
        let child_id = Pid::from_child(child);
        waitid(WaitId::Pid(child_id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        over.store(true, Ordering::Relaxed);
        attacher.join().unwrap().map(|()| child.wait().unwrap())
    })
}
