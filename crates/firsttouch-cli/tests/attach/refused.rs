//! Who may not be attached, or not by whom, or not that way: the reason and a hint, and nothing has changed.

use crate::attached::{Attached, command, journals};
use crate::meanwhile::cpus;
use crate::target::{Coverage, Target, compiled, folder, installed, sources};
use crate::{Outcome, Test, skip};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const MIB: &str = "16";
/// A user who has nothing to do with the program.
const STRANGER: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

pub(crate) fn tests() -> Vec<Test> {
    let refused = |name: &str, test: fn() -> Outcome| -> Test {
        (format!("refused: {name}"), Box::new(test) as Box<dyn Fn() -> Outcome + Send>)
    };
    let mut tests = vec![
        refused("without CAP_SYS_NICE", without_capability),
        refused("a process that lets nobody look into it", not_dumpable),
        refused("root without the capabilities", little_root),
        refused("root of a user namespace", root_of_a_namespace),
        refused("the process of another user", strangers),
        refused("a zombie", zombie),
        refused("a process that has ended", gone),
        refused("a kernel thread", kernel_thread),
        refused("the first process", || refuses_pid(1, "process 1")),
        refused("itself", itself),
        refused("with the /proc of another PID namespace", other_namespace),
        refused("numbers that are none", numbers),
    ];
    let wishes: [(&[&str], &str); 7] = [
        (&["--pages", "2m"], "thp"),
        (&["--pages", "1g"], "thp"),
        (&["--node", "77"], "there is no node 77"),
        (&["--memory", "bind=77"], "there is no node 77"),
        (&["--threads", "0,7777"], "there is no CPU 7777"),
        (&["--threads", "sideways"], "sideways"),
        (&["--budget-stall", "soon"], "soon"),
    ];
    tests.extend(wishes.into_iter().map(|(options, why)| -> Test {
        (format!("refused: {}", options.join(" ")), Box::new(move || refuses_wish(options, why)))
    }));
    tests
}

/// A program that nothing happens to.
struct Bystander {
    _folder: tempfile::TempDir,
    state: tempfile::TempDir,
    target: Target,
    before: (Vec<(String, String)>, Coverage),
}

impl Bystander {
    fn start() -> Outcome<Bystander> {
        let (folder, state) = (folder(), folder());
        // Somebody else must be able to write a journal.
        fs::set_permissions(state.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let program = compiled(folder.path(), &sources("c").join("changes.c"))?;
        let target = Target::start(&[program.as_os_str(), MIB.as_ref()], folder.path());
        let before = (cpus(target.pid), Coverage::of(&[target.pid]));
        Ok(Bystander { _folder: folder, state, target, before })
    }

    /// Attaches as root without some capabilities, or as somebody else; that is refused.
    #[track_caller]
    fn refuses(mut self, prefix: &[&str], options: &[&str], why: &str) {
        let pid = self.target.pid.to_string();
        let ours = command(self.state.path());
        let attached = Attached::of(&behind(prefix, &ours).arg(pid).args(options).output().unwrap());
        assert_refused(&attached, why);
        assert!(journals(self.state.path()).is_empty(), "{attached:?}");
        self.target.change("idle");
        let pid = self.target.pid;
        assert_eq!((cpus(pid), Coverage::of(&[pid])), self.before, "{attached:?}");
        assert_eq!(self.target.finish().0, Some(0), "memory was lost");
    }
}

/// A command as the last words of another.
fn behind(prefix: &[&str], ours: &Command) -> Command {
    let Some((first, others)) = prefix.split_first() else { return clone(ours, ours.get_program()) };
    let mut command = clone(ours, first.as_ref());
    command.args(others).arg(ours.get_program()).args(ours.get_args());
    command
}

/// The environment of a command for another program, without its arguments.
fn clone(ours: &Command, program: &std::ffi::OsStr) -> Command {
    let mut command = Command::new(program);
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if program == ours.get_program() {
        command.args(ours.get_args());
    }
    command
}

#[track_caller]
fn assert_refused(attached: &Attached, why: &str) {
    assert!(attached.code.is_some_and(|code| code != 0), "{attached:?}");
    assert!(attached.stderr.starts_with("error: ") && attached.stderr.contains(why), "{attached:?}");
}

#[track_caller]
fn assert_refused_with_hint(attached: &Attached, why: &str) {
    assert_refused(attached, why);
    assert!(attached.stderr.contains("\n\nhint: "), "{attached:?}");
}

fn without_capability() -> Outcome {
    installed("setpriv")?;
    for options in [&["--pages", "thp"][..], &["--pages", "thp", "--threads", "0"]] {
        let prefix = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"];
        Bystander::start()?.refuses(&prefix, options, "no-capability");
    }
    Ok(())
}

/// Whoever may trace everybody may look into it all the same; others may not, their own user's processes included.
fn not_dumpable() -> Outcome {
    installed("setpriv")?;
    let mut bystander = Bystander::start()?;
    bystander.target.change("hide");
    let prefix = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"];
    bystander.refuses(&prefix, &["--pages", "thp"], "without CAP_SYS_PTRACE");
    Ok(())
}

/// Root, without what root usually has; the hint names it.
fn little_root() -> Outcome {
    installed("setpriv")?;
    for (less, why) in [
        ("--bounding-set=-sys_ptrace", "--cap-add SYS_PTRACE"),
        ("--bounding-set=-dac_override,-dac_read_search", "--cap-add DAC_READ_SEARCH"),
    ] {
        let mut bystander = Bystander::start()?;
        bystander.target.change("stranger");
        bystander.refuses(&["setpriv", less, "--inh-caps=-all"], &["--threads", "0"], why);
    }
    Ok(())
}

/// A user who is root of a namespace of his own is not root of the machine.
fn root_of_a_namespace() -> Outcome {
    installed("unshare")?;
    let unshare = ["unshare", "--user", "--map-root-user"];
    if !Command::new(unshare[0]).args(&unshare[1..]).arg("true").status().is_ok_and(|status| status.success())
    {
        return skip("no user namespaces");
    }
    Bystander::start()?.refuses(&unshare, &["--threads", "0"], "run firsttouch as root of the machine");
    Ok(())
}

fn strangers() -> Outcome {
    installed("setpriv")?;
    let may_run = Command::new(STRANGER[0])
        .args(&STRANGER[1..])
        .args(["test", "-x", env!("CARGO_BIN_EXE_firsttouch")])
        .status();
    if !may_run.is_ok_and(|status| status.success()) {
        return skip("other users may not run the programs of this folder");
    }
    for options in [&["--pages", "thp"][..], &["--threads", "0"], &["--memory", "bind=0"]] {
        Bystander::start()?.refuses(&STRANGER, options, "belongs to user 0, and we are user 65534");
    }
    Ok(())
}

/// `T (stopped)` and its like.
pub(crate) fn state_of(pid: u32) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix("State:")?.trim().to_owned()))
}

#[track_caller]
fn refuses_pid(pid: u32, why: &str) -> Outcome {
    let state = folder();
    let pid = pid.to_string();
    let attached = Attached::of(&command(state.path()).args([&pid, "--pages", "thp"]).output().unwrap());
    assert_refused_with_hint(&attached, why);
    assert!(attached.stderr.contains(&pid), "{attached:?}");
    assert!(journals(state.path()).is_empty());
    Ok(())
}

/// A child that has ended, and nobody has asked how.
struct Zombie(Child);

impl Zombie {
    fn new() -> Zombie {
        let child = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
        while !state_of(child.id()).unwrap().starts_with('Z') {
            std::thread::yield_now();
        }
        Zombie(child)
    }
}

impl Drop for Zombie {
    fn drop(&mut self) {
        let _ = self.0.wait();
    }
}

fn zombie() -> Outcome {
    let zombie = Zombie::new();
    refuses_pid(zombie.0.id(), "has ended")
}

fn gone() -> Outcome {
    let zombie = Zombie::new();
    let pid = zombie.0.id();
    drop(zombie);
    refuses_pid(pid, "there is no process")
}

/// The parent of most kernel threads is process 2, which is one itself; a container sees none.
fn kernel_thread() -> Outcome {
    let is_kernel_thread = |pid: &u32| {
        let has_memory = fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| !words.is_empty());
        fs::read_link(format!("/proc/{pid}/exe")).is_err() && !has_memory
    };
    let Some(pid) =
        Some(2).filter(|pid| Path::new("/proc").join(pid.to_string()).exists() && is_kernel_thread(pid))
    else {
        return skip("no kernel thread can be seen from here");
    };
    refuses_pid(pid, "thread of the kernel")
}

fn itself() -> Outcome {
    let state = folder();
    let line = "exec \"$0\" attach $$ --pages thp";
    let mut shell = clone(&command(state.path()), "sh".as_ref());
    let attached =
        Attached::of(&shell.args(["-c", line, env!("CARGO_BIN_EXE_firsttouch")]).output().unwrap());
    assert_refused_with_hint(&attached, "this firsttouch itself");
    Ok(())
}

/// Its number is that of another process there, if of any.
fn other_namespace() -> Outcome {
    installed("unshare")?;
    Bystander::start()?.refuses(
        &["unshare", "--pid", "--fork"],
        &["--threads", "0"],
        "another PID namespace",
    );
    Ok(())
}

fn numbers() -> Outcome {
    let state = folder();
    for number in ["0", "-1", "x", "4294967296", "99999999999999999999", ""] {
        let attached =
            Attached::of(&command(state.path()).args([number, "--pages", "thp"]).output().unwrap());
        assert_refused(&attached, "");
        assert!(!attached.stderr.contains("panicked"), "{attached:?}");
    }
    Ok(())
}

fn refuses_wish(options: &[&str], why: &str) -> Outcome {
    Bystander::start()?.refuses(&[], options, why);
    Ok(())
}
