//! `lab`: a program on a machine that is not there.

use crate::output::{self, Failure, Outcome};
use crate::{args, program};
use anyhow::Context;
use firsttouch_documents::{LabList, LabMachine, LabNode, LabReport, to_json};
use firsttouch_lab::{
    Acceleration, Command, CopiedFile, Cpuset, Description, Ending, Finished, Kernel, KernelStore, Lab,
    LabError, Qemu, Release, Stream, built_in_names,
};
use firsttouch_linux::program::text_of;
use firsttouch_report::text;
use std::collections::BTreeSet;
use std::env;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &args::Lab) -> Outcome {
    if args.list {
        return list(args.json);
    }
    if args.fetch {
        return fetch(args);
    }
    let machine = description(&args.machine)?;
    let acceleration = match (args.kvm, args.single_thread) {
        (true, _) => Acceleration::Kvm,
        (_, true) => Acceleration::SingleThread,
        _ => Acceleration::Software,
    };
    let path = env::var_os("PATH");
    let qemu = Qemu::find(path.as_deref(), acceleration).map_err(failure)?;
    let kernel = kernel(&args.kernel)?;
    let version = kernel.version.clone();
    let own = env::current_exe().context("cannot find this program's own file")?;
    let folder = env::current_dir().context("the current folder is gone")?;
    let mut lab = Lab::new(machine, kernel, qemu, own).folder(folder).limit(args.timeout).shell(args.keep);
    if let Some(path) = path {
        lab = lab.path(path);
    }
    if let Some(path) = env::var_os("LD_LIBRARY_PATH") {
        lab = lab.library_path(path);
    }
    for path in &args.copy_in {
        lab = lab.copy_in(path);
    }
    let commands: Vec<Command> = if args.program.is_empty() { Vec::new() } else { vec![command(args)?] };
    let (mut stdout, mut stderr, mut closed) = (Vec::new(), Vec::new(), false);
    let outcome = lab.run(&commands, &mut |_, stream, bytes| {
        if args.json {
            if stream == Stream::Stdout { &mut stdout } else { &mut stderr }.extend_from_slice(bytes);
        } else if !closed {
            closed = forward(stream, bytes).is_err();
        }
    });
    let outcome = outcome.map_err(failure)?;
    if outcome.boots > 1 {
        output::warning("the guest's kernel panicked while it started, and was booted again", None);
    }
    let Some(finished) = outcome.commands.first() else { return Ok(0) };
    let here = copy_out(args, finished)?;
    if args.json {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        output::data(&to_json(&LabReport {
            machine: args.machine.clone(),
            kernel: version,
            command: args.program.iter().map(|word| text_of(word.as_bytes())).collect(),
            exit_code: finished.ending.code(),
            signal: signal(&finished.ending),
            boot_s: outcome.boot.as_secs_f64(),
            program_s: finished.took.as_secs_f64(),
            stdout: text(&stdout),
            stderr: text(&stderr),
            copied_out: here,
        }))?;
    }
    if let Ending::NotStarted(why) = &finished.ending {
        output::warning(&format!("the guest could not start the program: {why}"), None);
    }
    Ok(finished.ending.code())
}

fn signal(ending: &Ending) -> Option<u8> {
    match ending {
        Ending::Signaled(signal) => Some(*signal),
        _ => None,
    }
}

/// Writes what the program wrote to the same stream of ours, byte for byte.
fn forward(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let mut stderr = io::stderr().lock();
    let to: &mut dyn Write = if stream == Stream::Stdout { &mut stdout } else { &mut stderr };
    to.write_all(bytes)?;
    to.flush()
}

fn description(word: &str) -> Outcome<Description> {
    if built_in_names().contains(&word) || !(word.contains(['/', '.']) || Path::new(word).exists()) {
        return Description::named(word)
            .map_err(|error| Failure::new(error).hint("firsttouch lab --list tells what each of them is"));
    }
    let text = fs::read_to_string(word).with_context(|| format!("cannot read the machine {word}"))?;
    Description::parse(&text)
        .with_context(|| format!("cannot use {word}"))
        .map_err(|error| Failure::new(error).hint("docs/lab.md has the words of a description"))
}

fn kernel(word: &str) -> Outcome<Kernel> {
    match word.parse::<Release>() {
        Ok(release) => Ok(KernelStore::at(store()?).find(release).map_err(failure)?),
        Err(_) if word.contains('/') || Path::new(word).exists() => {
            Ok(Kernel::from_file(Path::new(word)).map_err(failure)?)
        }
        Err(why) => Err(Failure::message(format!("{why}, nor a file"))),
    }
}

/// Where kernels are kept.
fn store() -> Outcome<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    match cache {
        Some(cache) => Ok(cache.join("firsttouch/lab")),
        None => Err(Failure::message("there is no folder for kernels").hint("set XDG_CACHE_HOME or HOME")),
    }
}

fn command(args: &args::Lab) -> Outcome<Command> {
    let cpuset = Cpuset { cpus: args.cpus.clone(), nodes: args.mems.clone() };
    let mut command = Command::new(args.program.clone()).cpuset(cpuset);
    for variable in &args.env {
        let Some((name, value)) = variable.split_once('=') else {
            return Err(Failure::message(format!("--env {variable}: expected NAME=VALUE")));
        };
        command = command.env(name, value);
    }
    let files: BTreeSet<PathBuf> = args.copy_out.iter().map(|place| there_and_here(place).0).collect();
    Ok(files.into_iter().fold(command, Command::copy_out))
}

/// The file of the guest, and the file here: by default one of the same name in the current folder.
fn there_and_here(place: &str) -> (PathBuf, PathBuf) {
    match place.split_once(':') {
        Some((there, here)) => (there.into(), here.into()),
        None => (place.into(), Path::new(place).file_name().map(PathBuf::from).unwrap_or_default()),
    }
}

/// Writes the files that came back; answers where.
fn copy_out(args: &args::Lab, finished: &Finished) -> Outcome<Vec<String>> {
    for (path, why) in &finished.missing {
        output::warning(&format!("the guest has no file {}: {why}", path.display()), None);
    }
    let mut written = Vec::new();
    for CopiedFile { path, mode, contents } in &finished.files {
        let places = args.copy_out.iter().map(|place| there_and_here(place));
        for (_, here) in places.filter(|(there, _)| there == path) {
            let shown = here.display().to_string();
            let cannot = || format!("cannot write {shown}");
            fs::write(&here, contents).with_context(cannot)?;
            // A program of the guest's must not become a privileged one here.
            fs::set_permissions(&here, Permissions::from_mode(mode & 0o777)).with_context(cannot)?;
            written.push(shown);
        }
    }
    Ok(written)
}

fn fetch(args: &args::Lab) -> Outcome {
    let release: Release = args.kernel.parse().map_err(|why| Failure::message(format!("--fetch: {why}")))?;
    output::message(&format!("fetching Debian's kernel {release} …\n"));
    let kernel = KernelStore::at(store()?).fetch(release).map_err(failure)?;
    output::message(&format!("{} in {}\n", kernel.version, kernel.image.display()));
    Ok(0)
}

fn list(as_json: bool) -> Outcome {
    let machine = |name: &str| -> Outcome<LabMachine> {
        let machine = Description::named(name)?;
        let nodes = machine.nodes.iter();
        let nodes = nodes.map(|node| LabNode { id: node.id, cpus: node.cpus.clone(), bytes: node.bytes() });
        Ok(LabMachine { name: name.to_owned(), nodes: nodes.collect(), about: machine.about })
    };
    let list = LabList { machines: built_in_names().into_iter().map(machine).collect::<Outcome<_>>()? };
    output::data(&if as_json { to_json(&list) } else { text::lab_list(&list) })?;
    Ok(0)
}

/// An error of the lab, with the guest's last words and what mends it.
fn failure(error: LabError) -> Failure {
    let error = match error {
        LabError::Program(error) => return program::not_runnable(error),
        error => error,
    };
    let hint = error.hint();
    let console = error.console().map(|text| format!("{error}\nits console ended with\n{text}"));
    let failure = match console {
        Some(text) => Failure::message(text),
        None => Failure::new(error),
    };
    failure.hint_if_some(hint)
}

/// A process of a lab that could not become what it is for.
pub(crate) fn did_not_become(error: io::Error) -> Failure {
    Failure::new(error)
}
