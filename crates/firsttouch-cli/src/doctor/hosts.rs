//! `doctor` on many hosts: which they are, the command that runs it there, and what came of it.
//!
//! Each host has a command of its own, by ssh, srun or mpirun alike: one that cannot be reached, does not end or says something
//! else costs nothing but its own document, and output of hosts cannot mix.

use super::answer::{Answer, End, answer};
use crate::args::Doctor;
use crate::interrupt::Interrupt;
use crate::output::{Failure, Outcome};
use crate::progress_lines::ProgressLines;
use anyhow::Context;
use firsttouch_documents::{AnyDocument, DoctorHost, MissingHost, NoNames, expanded};
use firsttouch_report::{shell, shortened};
use firsttouch_threads::at_once;
use signal_hook::consts::SIGPIPE;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

/// How long a host has: reading takes seconds, measuring minutes.
const LIMIT: Duration = Duration::from_secs(60);
const LIMIT_MEASURED: Duration = Duration::from_secs(15 * 60);

/// How long whoever knows the hosts has to name them.
const NAMING: Duration = Duration::from_secs(60);

/// How often a command is started again that a pipe killed before it had said anything. MPICH's mpirun (Hydra 4.0.2) ends so in four of a
/// hundred starts of `uname` on a busy machine: its program has ended before it could be told about the others.
const AGAIN: u32 = 4;

/// A host to ask.
struct Host {
    name: String,
    /// How many CPUs it has, if Slurm says it.
    cpus: Option<u32>,
}

impl Host {
    fn named(name: String) -> Host {
        Host { name, cpus: None }
    }
}

/// How hosts are reached; the words are the command and options of the user's, which a shell takes apart.
pub(super) enum Way<'a> {
    Ssh(&'a str),
    Slurm(&'a str),
    Mpi(&'a str),
}

/// What hosts said.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) hosts: Vec<DoctorHost>,
    pub(super) missing: Vec<MissingHost>,
    /// Somebody asked for an end before all of them had said something.
    pub(super) interrupted: bool,
}

impl Way<'_> {
    /// The one that is asked for, if one is.
    pub(super) fn of(args: &Doctor) -> Option<Way<'_>> {
        match (&args.slurm, &args.mpi, &args.hosts) {
            (Some(words), ..) => Some(Way::Slurm(words)),
            (_, Some(words), _) => Some(Way::Mpi(words)),
            (None, None, Some(_)) => Some(Way::Ssh(&args.ssh)),
            (None, None, None) => None,
        }
    }

    /// The command that runs some words on a host.
    fn command(&self, host: &Host, words: &[String], measures: bool) -> Command {
        let name = host.name.as_str();
        let (own, ours): (_, Vec<&str>) = match self {
            Way::Ssh(own) => (*own, vec!["-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "--", name]),
            Way::Slurm(own) => (*own, vec!["--nodes=1", "--ntasks=1", "--nodelist", name, "--cpu-bind=none"]),
            Way::Mpi(own) => (*own, vec!["-n", "1", "--host", name, "--bind-to", "none"]),
        };
        let mut ours: Vec<String> = ours.into_iter().map(str::to_owned).collect();
        match self {
            // Within a job its CPUs are taken already, by the step that this is.
            Way::Slurm(_) if in_job() => ours.push("--overlap".to_owned()),
            // A task has one CPU and its part of the memory: enough to look at a node, on which others run, and too little to measure
            // it.
            Way::Slurm(_) if measures => {
                ours.push("--mem=0".to_owned());
                ours.extend(host.cpus.map(|cpus| format!("--cpus-per-task={cpus}")));
            }
            _ => {}
        }
        match self {
            // A shell on the other side takes them apart again.
            Way::Ssh(_) => ours.extend(words.iter().map(|word| shell::quote(word))),
            _ => ours.extend(words.iter().cloned()),
        }
        shell_command(own, &ours)
    }

    /// The hosts to ask, each once, and those that are known to be down.
    fn hosts(&self, args: &Doctor, interrupt: &Interrupt) -> Outcome<(Vec<Host>, Vec<MissingHost>)> {
        let Some(text) = &args.hosts else {
            let (mut hosts, mut missing) = self.known_hosts(interrupt)?;
            // A node is in several partitions.
            let mut seen = BTreeSet::new();
            hosts.retain(|host| seen.insert(host.name.clone()));
            missing.retain(|host| seen.insert(host.name.clone()));
            return Ok((hosts, missing));
        };
        let mut hosts: Vec<Host> = named_hosts(text)?.into_iter().map(Host::named).collect();
        let mut seen = BTreeSet::new();
        hosts.retain(|host| seen.insert(host.name.clone()));
        let mut missing = Vec::new();
        // Who waits for a node that is down waits for nothing. Where Slurm does not say how it is, srun will.
        if matches!(self, Way::Slurm(_))
            && !in_job()
            && let Ok((up, down)) = self.known_hosts(interrupt)
        {
            let cpus: BTreeMap<&str, Option<u32>> =
                up.iter().map(|host| (host.name.as_str(), host.cpus)).collect();
            hosts.retain_mut(|host| {
                host.cpus = cpus.get(host.name.as_str()).copied().flatten();
                let found = down.iter().find(|one| one.name == host.name);
                missing.extend(found.cloned());
                found.is_none()
            });
        }
        Ok((hosts, missing))
    }

    /// Those that whoever starts something there knows of.
    fn known_hosts(&self, interrupt: &Interrupt) -> Outcome<(Vec<Host>, Vec<MissingHost>)> {
        let (mut command, hint) = match self {
            Way::Slurm(_) if std::env::var_os("SLURM_JOB_NODELIST").is_some() => {
                (shell_command("scontrol show hostnames", &[]), "scontrol show hostnames says the same")
            }
            Way::Slurm(_) => (
                shell_command("sinfo --noheader --Node --format '%N %t %c %E'", &[]),
                "sinfo --Node lists the nodes; or name the hosts: --hosts",
            ),
            Way::Ssh(words) | Way::Mpi(words) => (
                shell_command(words, &["uname".to_owned(), "-n".to_owned()]),
                "try it: mpirun uname -n; options of yours: --mpi='mpirun --hostfile FILE'; or name the hosts: --hosts",
            ),
        };
        let named = answer_again(&mut command, NAMING, interrupt.flag())
            .context("there is no shell to start the command")?;
        if !matches!(&named.end, End::Ended(status) if status.success()) {
            let failure = format!("nobody names the hosts: {}", named.last_words());
            return Err(Failure::message(failure).hint(hint));
        }
        let (mut hosts, mut missing) = (Vec::new(), Vec::new());
        for line in String::from_utf8_lossy(&named.said).lines() {
            let mut words = line.trim().splitn(4, ' ');
            let Some(name) = words.next().filter(|name| !name.is_empty()).map(str::to_owned) else {
                continue;
            };
            let (state, cpus, reason) = (words.next(), words.next(), words.next());
            match state.filter(|state| is_down(state)) {
                Some(state) => {
                    let reason = reason.filter(|reason| *reason != "none");
                    let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
                    missing.push(MissingHost { name, why: format!("Slurm says: {state}{reason}") });
                }
                None => hosts.push(Host { name, cpus: cpus.and_then(|text| text.parse().ok()) }),
            }
        }
        Ok((hosts, missing))
    }
}

/// Whether this runs in a job of Slurm's.
fn in_job() -> bool {
    std::env::var_os("SLURM_JOB_ID").is_some()
}

/// States of Slurm in which a node starts nothing; `*` is one that does not respond.
fn is_down(state: &str) -> bool {
    ["down", "drain", "drng", "fail", "maint", "unk", "pow", "inval"]
        .iter()
        .any(|start| state.starts_with(start))
        || state.ends_with('*')
}

/// A command with options of the user's, taken apart by a shell, and words that no shell touches.
fn shell_command(own: &str, words: &[String]) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("exec {own} \"$@\"")).arg("firsttouch").args(words);
    command
}

/// Runs `doctor --json` on all hosts, some at once.
pub(super) fn ask(args: &Doctor, way: &Way<'_>, profile: Option<&str>) -> Outcome<Asked> {
    let interrupt = Interrupt::listen().context("cannot listen to signals")?;
    let (hosts, mut missing) = way.hosts(args, &interrupt)?;
    if hosts.is_empty() && missing.is_empty() {
        return Err(Failure::message("there are no hosts to ask").usage().hint("--hosts a,b,c names them"));
    }
    let mut words = vec![args.remote.clone(), "doctor".to_owned(), "--json".to_owned()];
    words.extend(profile.into_iter().flat_map(|text| ["--profile-text".to_owned(), text.to_owned()]));
    if args.measure {
        words.extend([
            "--measure".to_owned(),
            "--tolerance".to_owned(),
            format!("{}%", args.tolerance * 100.0),
        ]);
    }
    let limit = args.host_limit.unwrap_or(if args.measure { LIMIT_MEASURED } else { LIMIT });
    let lines = ProgressLines::new();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let answers: Vec<Mutex<Option<Result<DoctorHost, String>>>> =
        hosts.iter().map(|_| Mutex::new(None)).collect();
    let one_after_another = || {
        while let Some((host, place)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((hosts.get(at)?, &answers[at])))
        {
            if interrupt.asked() {
                return;
            }
            let command = &mut way.command(host, &words, args.measure);
            let found = answer_again(command, limit, interrupt.flag());
            let found = found.map_err(|error| error.to_string()).and_then(|said| understood(&said, limit));
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            lines.show(&format!("{done} of {} hosts", hosts.len()));
        }
    };
    at_once((0..usize::from(args.at_once).min(hosts.len())).map(|_| one_after_another));
    lines.clear();
    let mut asked = Asked { interrupted: interrupt.asked(), ..Asked::default() };
    for (Host { name, .. }, found) in hosts.into_iter().zip(answers) {
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        match found.unwrap_or_else(|| Err("not asked: interrupted".to_owned())) {
            Ok(host) => asked.hosts.push(DoctorHost { name, ..host }),
            Err(why) => missing.push(MissingHost { name, why }),
        }
    }
    asked.missing = missing;
    Ok(asked)
}

/// What a command says, of which a launcher may need more than one start.
fn answer_again(command: &mut Command, limit: Duration, stop: &AtomicBool) -> io::Result<Answer> {
    let is_lost = |found: &Answer| {
        let signal = if let End::Ended(status) = &found.end { status.signal() } else { None };
        signal == Some(SIGPIPE) && found.said.is_empty()
    };
    let mut found = answer(command, limit, stop)?;
    for _ in 0..AGAIN {
        if !is_lost(&found) {
            break;
        }
        found = answer(command, limit, stop)?;
    }
    Ok(found)
}

/// The host in what the command said, or why there is none.
fn understood(answer: &Answer, limit: Duration) -> Result<DoctorHost, String> {
    match &answer.end {
        End::Ended(_) => {}
        End::TimeUp => {
            let told = answer.last_words();
            return Err(format!("no answer within {} s: {told}", limit.as_secs_f64()));
        }
        End::TooMuch => return Err("what it says is no document, and does not end".to_owned()),
        End::Interrupted => return Err("interrupted".to_owned()),
    }
    let said = String::from_utf8_lossy(&answer.said);
    let Some(document) = document_in(&said) else {
        let why = match answer.said.is_empty() {
            true => answer.last_words(),
            false => {
                format!("it says no document, but `{}`; {}", shortened(said.trim(), 60), answer.last_words())
            }
        };
        return Err(why);
    };
    match firsttouch_report::open(document) {
        Ok(AnyDocument::Doctor(report)) => {
            let mut hosts = report.hosts;
            let one = if hosts.len() == 1 { hosts.pop() } else { None };
            one.ok_or_else(|| "its document is not of one machine".to_owned())
        }
        Ok(other) => Err(format!("its document is of kind {}, and not doctor", other.kind())),
        Err(error) => Err(format!("{:#}", anyhow::Error::new(error))),
    }
}

/// The JSON document of a host in what it said, from its first line to its last one. Files that a shell reads at a login may say something before, and what ends a
/// job or a session after it.
fn document_in(said: &str) -> Option<&str> {
    let document = &said[said.find("{\n")?..];
    Some(document.find("\n}\n").map_or(document, |end| &document[..end + 2]))
}

/// The hosts of a file, which may be a pipe, or of a list with commas.
fn named_hosts(text: &str) -> Outcome<Vec<String>> {
    let text = if text == "-" { "/dev/stdin" } else { text };
    let words: Vec<String> = if fs::metadata(text).is_ok_and(|found| !found.is_dir()) {
        let content = fs::read_to_string(text).with_context(|| format!("cannot read {text}"))?;
        let lines = content.lines().map(|line| line.split('#').next().unwrap_or_default());
        // What follows the name in files of MPI tells how many processes may run there.
        lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    } else {
        list(text)
    };
    let mut hosts = Vec::new();
    for word in words.iter().filter(|word| !word.is_empty()) {
        let names = match expanded(word) {
            Ok(names) if names.iter().any(|name| !is_name(name)) => Err(NoNames::Unread),
            names => names,
        };
        hosts.extend(names.map_err(|error| {
            let hint = match error {
                NoNames::Unread => {
                    "a name, user@name, or several with numbers: n[01-16,20]; a file has one a line"
                }
                NoNames::TooMany => {
                    "several ranges with fewer numbers, one after another; is one of these mistyped?"
                }
            };
            Failure::message(format!("`{word}` {error}")).usage().hint(hint)
        })?);
    }
    Ok(hosts)
}

/// At commas, but those between brackets.
fn list(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut within = false;
    for c in text.chars() {
        within = c == '[' || within && c != ']';
        match words.last_mut().filter(|_| c != ',' || within) {
            Some(word) => word.push(c),
            None => words.push(String::new()),
        }
    }
    words
}

/// Nothing that a command would take for an option or a shell for more than a word.
fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "._-@:%".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_document_is_found_between_what_others_say() {
        let document = "{\n  \"kind\": {\n  }\n}";
        for (before, after) in [("", ""), ("", "\n"), ("Welcome to {n1}\n", "\n"), ("", "\nlogout {\n}\n")] {
            assert_eq!(document_in(&format!("{before}{document}{after}")), Some(document), "{before}{after}");
        }
        assert_eq!((document_in("{\n  \"cut"), document_in("bash: {")), (Some("{\n  \"cut"), None));
    }

    #[test]
    fn hosts_are_a_list_or_a_file() {
        let of =
            |text: &str| named_hosts(text).map(|hosts| hosts.join(" ")).map_err(|error| error.to_string());
        assert_eq!(of("a,b,n[1-2,4],root@c"), Ok("a b n1 n2 n4 root@c".to_owned()));
        for bad in ["-oProxyCommand=x", "a;b", "n[1-", "$(x)"] {
            assert_eq!(of(bad), Err(format!("`{bad}` names no host")));
        }
        assert_eq!(of("h[1-1000000]"), Err("`h[1-1000000]` stands for more than 65536 hosts".to_owned()));
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), "# mine\nn1 slots=4\n\nn[2-3]  # new\n").expect("it can be written");
        assert_eq!(of(file.path().to_str().expect("a path of ours")), Ok("n1 n2 n3".to_owned()));
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(b"n4\nn5\n").expect("it is read");
        drop(writer);
        assert_eq!(of(&format!("/dev/fd/{}", reader.as_raw_fd())), Ok("n4 n5".to_owned()));
    }
}
