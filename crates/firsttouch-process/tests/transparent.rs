//! Standing in for a program. Signals go to whole processes, so every case runs in a process of its own: this file
//! without a test harness, started again with `stand-in`.

#![allow(clippy::print_stderr, reason = "reports its cases like a test harness")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::shell;
use firsttouch_process::{Launch, run_and_wait};
use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("stand-in") => stand_in(&shell(&words[2]), 1),
        Some("stand-in-for-value") => {
            let own = std::env::current_exe().unwrap();
            stand_in(&Launch::new(own, ["tell-value"], common::environment()), 1)
        }
        Some("tell-value") => tell_value(),
        Some("stand-in-thrice") => stand_in(&shell(&words[2]), 3),
        Some("exec") => {
            let error = shell(&words[2]).exec();
            std::process::exit(error.exit_status().into());
        }
        Some("exec-nothing") => {
            let error = Launch::new("/no/such/program", [""; 0], common::environment()).exec();
            std::process::exit(error.exit_status().into());
        }
        _ => {
            // A job in the background, or under nohup, starts with these ignored, and no shell can trap a signal that was
            // ignored when it began.
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
                // SAFETY: sets a disposition that holds no handler.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            let run = |with: &str| {
                for (name, case) in CASES {
                    eprintln!("transparent: {name}{with}");
                    case();
                }
            };
            run("");
            // As under kernels and in sandboxes that have none.
            match forbid_pidfd_open() {
                true => run(", without handles"),
                false => eprintln!("transparent: no filter may be set here"),
            }
        }
    }
}

/// Has this process and those that it starts do without `pidfd_open`; answers whether that could be done.
fn forbid_pidfd_open() -> bool {
    // The number of the call, the comparison with it, and the two answers.
    let mut rules = [
        (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_pidfd_open as u32),
        (libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        (libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ]
    .map(|(code, jf, k)| libc::sock_filter { code: code as u16, jt: 0, jf, k });
    let filter = libc::sock_fprog { len: rules.len() as u16, filter: rules.as_mut_ptr() };
    // SAFETY: the kernel copies the filter, which is live.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
            && libc::syscall(libc::SYS_pidfd_open, std::process::id(), 0) == -1
    }
}

/// Tells the value that comes with a real-time signal.
#[allow(clippy::print_stdout, reason = "the program that is stood in for")]
fn tell_value() {
    // SAFETY: every pointer is to a live local, which the calls fill before it is read.
    let value = unsafe {
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&raw mut only, libc::SIGRTMIN());
        libc::sigprocmask(libc::SIG_BLOCK, &raw const only, std::ptr::null_mut());
        println!("ready");
        let mut news: libc::siginfo_t = std::mem::zeroed();
        assert_eq!(libc::sigwaitinfo(&raw const only, &raw mut news), libc::SIGRTMIN());
        news.si_value().sival_ptr as usize
    };
    println!("{value}");
}

fn stand_in(launch: &Launch, calls: u32) -> ! {
    let mut left = calls;
    let finished = run_and_wait(launch, |pid| {
        if left == calls {
            eprintln!("pid {pid}");
        }
        left -= 1;
        if calls > 1 && left == 0 {
            // SAFETY: a signal to our own child, which is not collected yet.
            unsafe { libc::kill(pid as i32, libc::SIGUSR1) };
        }
        (left > 0).then_some(Duration::from_millis(1))
    });
    match finished {
        Ok(finished) => std::process::exit(finished.ending.plan().carry_out().into()),
        Err(error) => std::process::exit(error.exit_status().into()),
    }
}

const CASES: [(&str, fn()); 13] = [
    ("the exit status is the program's", the_exit_status_is_the_programs),
    ("a death by signal is ours too", a_death_by_signal_is_ours_too),
    ("signals are passed on", signals_are_passed_on),
    ("what comes with a signal is passed on", what_comes_with_a_signal_is_passed_on),
    ("what the group was sent arrives once", what_the_group_was_sent_arrives_once),
    ("what the terminal sends arrives once", what_the_terminal_sends_arrives_once),
    ("a signal the program does not handle ends both", a_signal_ends_both),
    ("stopping and continuing goes for both", stopping_goes_for_both),
    ("whoever stops the program stops us", whoever_stops_the_program_stops_us),
    ("a program that does not stop does not stop us", a_program_that_does_not_stop_does_not_stop_us),
    ("the companion is called again", the_companion_is_called_again),
    ("the program gets our signal mask as it was", the_mask_is_as_it_was),
    ("exec replaces us", exec_replaces_us),
];

/// A stand-in in a process group of its own, so that stopping it does not look like an orphan's affair.
struct StandIn {
    child: Child,
    output: BufReader<ChildStdout>,
    program: i32,
}

impl StandIn {
    fn start(script: &str) -> StandIn {
        StandIn::in_mode("stand-in", script)
    }

    fn in_mode(mode: &str, script: &str) -> StandIn {
        StandIn::spawn(command(mode, script))
    }

    fn spawn(mut command: Command) -> StandIn {
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut messages = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        messages.read_line(&mut line).unwrap();
        let program = line.trim_end().strip_prefix("pid ").unwrap().parse().unwrap();
        StandIn { child, output, program }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn signal(&self, signal: i32) {
        // SAFETY: a signal to our own child, which is not collected yet.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// To all of its group.
    fn signal_group(&self, signal: i32) {
        // SAFETY: signals to a group that our own child leads, which is not collected yet.
        assert_eq!(unsafe { libc::kill(-(self.child.id() as i32), signal) }, 0);
    }

    /// Waits until it has stopped; answers by which signal.
    fn stopped_by(&self) -> i32 {
        let (pid, mut status) = (self.child.id() as i32, 0);
        // SAFETY: waits for our own child to stop; the status is a live local.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, libc::WUNTRACED) }, pid);
        assert!(libc::WIFSTOPPED(status), "{status:x}");
        libc::WSTOPSIG(status)
    }

    fn end(mut self) -> ExitStatus {
        drop(self.child.stdin.take());
        self.child.wait().unwrap()
    }
}

fn command(mode: &str, script: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([mode, script]).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn the_exit_status_is_the_programs() {
    assert_eq!(StandIn::start("exit 0").end().code(), Some(0));
    assert_eq!(StandIn::start("exit 137").end().code(), Some(137));
}

fn a_death_by_signal_is_ours_too() {
    for signal in [libc::SIGKILL, libc::SIGSEGV, libc::SIGTERM, libc::SIGPIPE] {
        let status = StandIn::start(&format!("kill -{signal} $$")).end();
        assert_eq!(status.signal(), Some(signal));
        assert!(!status.core_dumped());
    }
}

fn signals_are_passed_on() {
    for (name, signal) in [
        ("TERM", libc::SIGTERM),
        ("INT", libc::SIGINT),
        ("HUP", libc::SIGHUP),
        ("QUIT", libc::SIGQUIT),
        ("USR1", libc::SIGUSR1),
        ("USR2", libc::SIGUSR2),
        ("WINCH", libc::SIGWINCH),
        ("ALRM", libc::SIGALRM),
        ("RTMIN", libc::SIGRTMIN()),
        ("RTMAX", libc::SIGRTMAX()),
    ] {
        let mut stand_in =
            StandIn::start(&format!("trap 'echo {name}; exit 7' {signal}; echo ready; read line"));
        assert_eq!(stand_in.line(), "ready");
        stand_in.signal(signal);
        assert_eq!(stand_in.line(), name);
        assert_eq!(stand_in.end().code(), Some(7));
    }
}

fn what_comes_with_a_signal_is_passed_on() {
    let mut stand_in = StandIn::in_mode("stand-in-for-value", "");
    assert_eq!(stand_in.line(), "ready");
    let value = libc::sigval { sival_ptr: 4711 as *mut libc::c_void };
    // SAFETY: a signal with a number to our own child, which is not collected yet.
    assert_eq!(unsafe { libc::sigqueue(stand_in.child.id() as i32, libc::SIGRTMIN(), value) }, 0);
    assert_eq!(stand_in.line(), "4711");
    assert!(stand_in.end().success());
}

/// As `timeout`, shells and supervisors send it; what is then sent to us alone is still passed on.
fn what_the_group_was_sent_arrives_once() {
    let script = "trap 'n=$((n+1)); echo term $n' TERM; trap 'echo total $n' USR1; trap 'exit 5' USR2; echo ready; \
        while true; do read line; done";
    let mut stand_in = StandIn::start(script);
    assert_eq!(stand_in.line(), "ready");
    let mut count = 0;
    for to_group in [true, true, false, true, false, false] {
        count += 1;
        if to_group {
            stand_in.signal_group(libc::SIGTERM)
        } else {
            stand_in.signal(libc::SIGTERM)
        }
        assert_eq!(stand_in.line(), format!("term {count}"));
        // Passed on after whatever was passed on before.
        stand_in.signal(libc::SIGUSR1);
        assert_eq!(stand_in.line(), format!("total {count}"));
    }
    stand_in.signal(libc::SIGUSR2);
    assert_eq!(stand_in.end().code(), Some(5));
}

/// The master of a new terminal, and a command whose controlling terminal is that one.
fn on_a_terminal(mut command: Command) -> (File, Command) {
    let master = OpenOptions::new().read(true).write(true).open("/dev/ptmx").unwrap();
    let mut name = [0; 64];
    // SAFETY: calls on a descriptor of ours; the name's buffer is as long as said.
    unsafe {
        assert_eq!(libc::grantpt(master.as_raw_fd()), 0);
        assert_eq!(libc::unlockpt(master.as_raw_fd()), 0);
        assert_eq!(libc::ptsname_r(master.as_raw_fd(), name.as_mut_ptr(), name.len()), 0);
    }
    // SAFETY: ptsname_r has ended the name with a zero.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_owned();
    // SAFETY: only async-signal-safe calls run in the child: a session of its own, which the terminal belongs to.
    unsafe {
        command.pre_exec(move || {
            if libc::setsid() < 0 {
                return Err(std::io::Error::last_os_error());
            }
            let terminal = libc::open(name.as_ptr(), libc::O_RDWR);
            if terminal < 0 || libc::ioctl(terminal, libc::TIOCSCTTY, 0) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    (master, command)
}

fn what_the_terminal_sends_arrives_once() {
    // A trap ends one read; the next one waits for the next signal.
    let script = "trap 'n=$((n+1)); echo int $n' INT; trap 'echo total $n; exit 0' USR1; echo ready; \
        read line; read line; read line";
    let mut stand_in = Command::new(std::env::current_exe().unwrap());
    stand_in.args(["stand-in", script]);
    stand_in.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (mut master, stand_in) = on_a_terminal(stand_in);
    let mut stand_in = StandIn::spawn(stand_in);
    assert_eq!(stand_in.line(), "ready");
    master.write_all(b"\x03").unwrap();
    assert_eq!(stand_in.line(), "int 1");
    // Passed on after whatever was passed on for the terminal's signal.
    stand_in.signal(libc::SIGUSR1);
    assert_eq!(stand_in.line(), "total 1");
    assert_eq!(stand_in.end().code(), Some(0));
}

fn a_signal_ends_both() {
    let mut stand_in = StandIn::start("echo ready; read line");
    assert_eq!(stand_in.line(), "ready");
    stand_in.signal(libc::SIGTERM);
    // The end of its input would end it as well.
    let _kept_open = stand_in.child.stdin.take();
    assert_eq!(stand_in.end().signal(), Some(libc::SIGTERM));
}

fn stopping_goes_for_both() {
    let mut stand_in = StandIn::start("echo ready; read line; echo $line; read line; echo $line");
    assert_eq!(stand_in.line(), "ready");
    stand_in.signal(libc::SIGTSTP);
    assert_eq!(stand_in.stopped_by(), libc::SIGTSTP);
    assert_eq!(state(stand_in.program), 'T', "the program stopped first");
    stand_in.signal(libc::SIGCONT);
    stand_in.child.stdin.as_mut().unwrap().write_all(b"went on\n").unwrap();
    assert_eq!(stand_in.line(), "went on", "the program was continued too");
    // As a terminal and a shell do it.
    for _ in 0..20 {
        stand_in.signal_group(libc::SIGTSTP);
        assert_eq!(stand_in.stopped_by(), libc::SIGTSTP);
        stand_in.signal_group(libc::SIGCONT);
    }
    stand_in.child.stdin.as_mut().unwrap().write_all(b"again\n").unwrap();
    assert_eq!(stand_in.line(), "again");
    assert_eq!(stand_in.end().code(), Some(0));
}

fn whoever_stops_the_program_stops_us() {
    let mut stand_in = StandIn::start("echo ready; read line; kill -TTIN $$; echo went on");
    assert_eq!(stand_in.line(), "ready");
    // SAFETY: a signal to the program of a child of ours, which goes on for as long as it has input.
    assert_eq!(unsafe { libc::kill(stand_in.program, libc::SIGSTOP) }, 0);
    assert_eq!(stand_in.stopped_by(), libc::SIGSTOP);
    stand_in.signal(libc::SIGCONT);
    stand_in.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    assert_eq!(stand_in.stopped_by(), libc::SIGTTIN);
    stand_in.signal(libc::SIGCONT);
    assert_eq!(stand_in.line(), "went on");
    assert_eq!(stand_in.end().code(), Some(0));
}

fn a_program_that_does_not_stop_does_not_stop_us() {
    let script =
        "trap 'echo no' TSTP; trap 'echo here; exit 3' USR1; echo ready; while true; do read line; done";
    let mut stand_in = StandIn::start(script);
    assert_eq!(stand_in.line(), "ready");
    for to_group in [false, true] {
        if to_group {
            stand_in.signal_group(libc::SIGTSTP)
        } else {
            stand_in.signal(libc::SIGTSTP)
        }
        assert_eq!(stand_in.line(), "no");
    }
    stand_in.signal(libc::SIGUSR1);
    assert_eq!(stand_in.line(), "here");
    let (mut status, pid) = (0, stand_in.child.id() as i32);
    // SAFETY: asks for our own child; the status is a live local.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, libc::WUNTRACED) }, pid);
    assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 3), "{status:x}");
}

fn state(pid: i32) -> char {
    let root = firsttouch_linux::root::Root::live();
    firsttouch_linux::process::Stat::read(&root, pid as u32).unwrap().state
}

fn the_companion_is_called_again() {
    // The third call ends the program, which otherwise waits for input that does not come.
    let stand_in = StandIn::in_mode("stand-in-thrice", "read line");
    let StandIn { mut child, .. } = stand_in;
    let _kept_open = child.stdin.take();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGUSR1));
}

fn the_mask_is_as_it_was() {
    let mut stand_in = StandIn::start("grep SigBlk /proc/self/status");
    assert_eq!(stand_in.line().split_whitespace().last(), Some("0000000000000000"));
    assert!(stand_in.end().success());
}

fn exec_replaces_us() {
    let child = command("exec", "echo $$").spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), pid.to_string());
    assert_eq!(command("exec", "exit 9").status().unwrap().code(), Some(9));
    assert_eq!(command("exec-nothing", "").status().unwrap().code(), Some(127));
}
