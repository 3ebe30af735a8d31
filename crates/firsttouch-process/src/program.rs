//! From the name a person typed to the file the kernel will run, and what kind of program that is.

use crate::elf::Elf;
use crate::exit_status::{NOT_EXECUTABLE, NOT_FOUND};
use crate::kind::{Linkage, ProgramKind, privilege};
use crate::script;
use firsttouch_linux::libraries::is_loader;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where programs are looked for when `PATH` is unset: the C library's own default.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// What keeps a file that is there from being executed.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    /// It is a directory.
    #[error("it is a directory")]
    Directory,
    /// It has no execute permission, or a directory on the way cannot be entered.
    #[error("permission denied")]
    Permission,
    /// It is neither a program nor a script of a format the kernel knows.
    #[error("the format is neither a program of this machine nor a script with a #! line")]
    Format,
    /// What it needs to run is not there.
    #[error("its interpreter or loader {0} is missing")]
    InterpreterMissing(PathBuf),
    /// It needs an interpreter that needs an interpreter that…
    #[error("its interpreters lead through too many scripts")]
    TooManyInterpreters,
    /// Another refusal of the kernel.
    #[error("{0}")]
    Kernel(io::Error),
}

/// A program that cannot be invoked.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// There is no such file.
    #[error("program not found: {}", .program.display())]
    NotFound {
        /// The program as it was asked for.
        program: PathBuf,
    },
    /// The file is there, but cannot be executed.
    #[error("cannot execute {}", .program.display())]
    NotExecutable {
        /// The file.
        program: PathBuf,
        /// Why not.
        #[source]
        obstacle: Obstacle,
    },
}

/// Whether somebody gave a line of several words as one: it does not begin with a file that is missing.
fn is_line(program: &Path) -> bool {
    let mut words = program.as_os_str().as_bytes().split(|byte| b" \t\n|&;<>$".contains(byte));
    let first = Path::new(OsStr::from_bytes(words.next().unwrap_or_default()));
    words.next().is_some() && (first.components().count() < 2 || first.exists())
}

/// As one word of a shell's.
fn quoted(path: &Path) -> String {
    let shown = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._+-".contains(c);
    if shown.chars().all(is_plain) { shown } else { format!("'{}'", shown.replace('\'', "'\\''")) }
}

impl ProgramError {
    /// The exit status of programs that start others: 127 not found, 126 cannot invoke.
    pub fn exit_status(&self) -> u8 {
        match self {
            ProgramError::NotFound { .. } => NOT_FOUND,
            ProgramError::NotExecutable { .. } => NOT_EXECUTABLE,
        }
    }

    /// What would mend it, as a command or an instruction.
    pub fn hint(&self) -> String {
        match self {
            ProgramError::NotFound { program }
                if program.as_os_str().as_bytes().contains(&b'/') && !is_line(program) =>
            {
                format!("ls -l {}", quoted(program.parent().unwrap_or(program)))
            }
            ProgramError::NotFound { program } if is_line(program) => {
                format!("a line for the shell is given to one: sh -c {}", quoted(program))
            }
            ProgramError::NotFound { .. } => "echo $PATH".to_owned(),
            ProgramError::NotExecutable { program, obstacle } => match obstacle {
                Obstacle::Permission => format!("chmod +x {}", quoted(program)),
                Obstacle::InterpreterMissing(missing) => format!("ls -l {}", quoted(missing)),
                _ => format!("file {}", quoted(program)),
            },
        }
    }

    /// From the error number of a failed exec.
    pub(crate) fn of_exec(program: &Path, error: i32) -> ProgramError {
        let program = program.to_owned();
        let obstacle = match error {
            // The file may be there while what it names is not.
            libc::ENOENT | libc::ENOTDIR => match missing_interpreter(&program) {
                Some(missing) => Obstacle::InterpreterMissing(missing),
                None => return ProgramError::NotFound { program },
            },
            libc::EACCES if program.is_dir() => Obstacle::Directory,
            libc::EACCES => Obstacle::Permission,
            libc::ENOEXEC => Obstacle::Format,
            libc::ELOOP => Obstacle::TooManyInterpreters,
            number => Obstacle::Kernel(io::Error::from_raw_os_error(number)),
        };
        ProgramError::NotExecutable { program, obstacle }
    }
}

/// The interpreter or loader that a file names and that is not there.
fn missing_interpreter(program: &Path) -> Option<PathBuf> {
    let mut file = program.to_owned();
    for _ in 0..=script::MOST_INTERPRETERS {
        let mut content = File::open(&file).ok()?;
        let named = match script::parse(&head(&mut content).ok()?) {
            Some(line) => line.interpreter,
            None => Elf::of_file(&content).ok()?.interpreter?.into(),
        };
        if !named.exists() {
            return Some(named);
        }
        file = named;
    }
    None
}

/// A program that can be invoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file that is executed.
    pub file: PathBuf,
    /// The interpreters that `#!` lines lead through, outermost first; the last one is [`Program::image`].
    pub interpreters: Vec<PathBuf>,
    /// The file whose code the process runs in the end (as far as files tell: a script may start anything); where a loader is executed,
    /// the program that it is given.
    pub image: PathBuf,
    /// What kind of program the image is.
    pub kind: ProgramKind,
}

/// The file that a program name means: looked up in `path` (the value of `PATH`) unless it holds a slash.
pub fn resolve(program: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    if program.as_bytes().contains(&b'/') {
        let file = PathBuf::from(program);
        return match obstacle(&file) {
            None => Ok(file),
            Some(Missing::NotThere) => Err(ProgramError::NotFound { program: file }),
            Some(Missing::Blocked(obstacle)) => Err(ProgramError::NotExecutable { program: file, obstacle }),
        };
    }
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    let mut blocked = None;
    if !program.is_empty() {
        for folder in path.as_bytes().split(|&byte| byte == b':') {
            // An empty entry is the current directory.
            let folder =
                Path::new(if folder.is_empty() { OsStr::new(".") } else { OsStr::from_bytes(folder) });
            let file = folder.join(program);
            match obstacle(&file) {
                None => return Ok(file),
                Some(Missing::NotThere) => {}
                // A directory of that name is passed over, as shells do.
                Some(Missing::Blocked(Obstacle::Directory)) => {}
                Some(Missing::Blocked(obstacle)) => {
                    blocked.get_or_insert(ProgramError::NotExecutable { program: file, obstacle });
                }
            }
        }
    }
    Err(blocked.unwrap_or_else(|| ProgramError::NotFound { program: program.into() }))
}

enum Missing {
    NotThere,
    Blocked(Obstacle),
}

fn obstacle(file: &Path) -> Option<Missing> {
    let blocked = |obstacle| Some(Missing::Blocked(obstacle));
    match std::fs::metadata(file) {
        Ok(metadata) if metadata.is_dir() => return blocked(Obstacle::Directory),
        Ok(metadata) if !metadata.is_file() => return blocked(Obstacle::Permission),
        Ok(_) => {}
        Err(error) => {
            return match error.raw_os_error() {
                Some(libc::EACCES) => blocked(Obstacle::Permission),
                Some(libc::ELOOP) => blocked(Obstacle::Kernel(error)),
                _ => Some(Missing::NotThere),
            };
        }
    }
    let name = CString::new(file.as_os_str().as_bytes()).ok()?;
    // SAFETY: the path ends with a zero and outlives the call.
    let allowed =
        unsafe { libc::faccessat(libc::AT_FDCWD, name.as_ptr(), libc::X_OK, libc::AT_EACCESS) == 0 };
    if allowed { None } else { blocked(Obstacle::Permission) }
}

/// Finds out what a program is: resolves its name in `path` (the value of `PATH`), follows `#!` lines and reads the
/// ELF file at their end, or the one that it would load if it is a loader with these `arguments`.
pub fn inspect(
    program: &OsStr,
    arguments: &[OsString],
    path: Option<&OsStr>,
) -> Result<Program, ProgramError> {
    let file = resolve(program, path)?;
    let mut image = file.clone();
    let mut interpreters = Vec::new();
    let refused = |obstacle| ProgramError::NotExecutable { program: file.clone(), obstacle };
    loop {
        let mut content = match File::open(&image) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(Program { file, interpreters, image, kind: ProgramKind::unreadable() });
            }
            Err(error) => return Err(refused(Obstacle::Kernel(error))),
        };
        let head = head(&mut content).map_err(|error| refused(Obstacle::Kernel(error)))?;
        let Some(line) = script::parse(&head) else {
            let mut kind = kind(&image, &content).map_err(refused)?;
            if interpreters.is_empty()
                && let Some(loaded) = loaded(&image, &kind, arguments)
            {
                (image, kind) = loaded;
            }
            return Ok(Program { file, interpreters, image, kind });
        };
        if interpreters.len() == script::MOST_INTERPRETERS {
            return Err(refused(Obstacle::TooManyInterpreters));
        }
        image = interpreter(&line, path).map_err(refused)?;
        interpreters.push(image.clone());
    }
}

/// The interpreter of a `#!` line; `env` only fetches the real one.
fn interpreter(line: &script::ScriptLine, path: Option<&OsStr>) -> Result<PathBuf, Obstacle> {
    let named = match obstacle(&line.interpreter) {
        None => line.interpreter.clone(),
        Some(Missing::NotThere) => return Err(Obstacle::InterpreterMissing(line.interpreter.clone())),
        Some(Missing::Blocked(obstacle)) => return Err(obstacle),
    };
    if named.file_name() == Some(OsStr::new("env"))
        && let Some(argument) = &line.argument
        && let Some(started) = script::started_by_env(argument.as_bytes())
        && let Ok(started) = resolve(&started, path)
    {
        return Ok(started);
    }
    Ok(named)
}

fn kind(path: &Path, content: &File) -> Result<ProgramKind, Obstacle> {
    let elf = Elf::of_file(content).map_err(|_| Obstacle::Format)?;
    let metadata = content.metadata().map_err(Obstacle::Kernel)?;
    Ok(ProgramKind { privilege: privilege(path, &metadata), ..ProgramKind::of(&elf) })
}

/// The program that a loader with these arguments loads. The loader decides which C library it gets, whatever the program's file names,
/// and the loader's file which privileges.
fn loaded(file: &Path, of_file: &ProgramKind, arguments: &[OsString]) -> Option<(PathBuf, ProgramKind)> {
    // `ld.so` is a link to it.
    let loader = file.canonicalize().ok()?;
    if of_file.linkage != Linkage::Static || !is_loader(loader.as_os_str().as_bytes()) {
        return None;
    }
    let image = PathBuf::from(given_to_loader(arguments)?);
    let mut elf = Elf::of_file(&File::open(&image).ok()?).ok()?;
    if elf.interpreter.is_some() {
        elf.interpreter = Some(loader.to_str()?.to_owned());
    }
    Some((image, ProgramKind { privilege: of_file.privilege, ..ProgramKind::of(&elf) }))
}

/// The first argument that is no option (`ld.so --help`). A name without a slash is looked for among libraries, which finds no program;
/// with the other options none is run.
fn given_to_loader(mut arguments: &[OsString]) -> Option<&OsStr> {
    loop {
        let (word, rest) = arguments.split_first()?;
        arguments = match word.as_bytes() {
            b"--inhibit-cache" => rest,
            b"--library-path"
            | b"--preload"
            | b"--argv0"
            | b"--audit"
            | b"--inhibit-rpath"
            | b"--glibc-hwcaps-prepend"
            | b"--glibc-hwcaps-mask" => rest.get(1..)?,
            b"--" => return rest.first().map(OsString::as_os_str),
            name => return (!name.starts_with(b"--") && name.contains(&b'/')).then_some(word),
        }
    }
}

fn head(content: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(script::HEAD_BYTES);
    content.take(script::HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}
