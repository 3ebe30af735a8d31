//! What a program needs besides itself: the loader and the libraries its ELF file names, the interpreter of a script.
//!
//! By the loader's own rules (`ld.so(8)`), read from files; the program is never executed to find out. Libraries that a
//! program opens by name while it runs are in no file: those are taken in by hand.

use crate::LabError;
use crate::tree::{Entry, Tree};
use firsttouch_process::elf::{Elf, Machine};
use firsttouch_process::{inspect, resolve};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Where the loader looks last, whatever the configuration.
const LAST_FOLDERS: [&str; 8] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/lib/x86_64-linux-gnu",
];
/// `include` lines in a row.
const MOST_INCLUDES: u32 = 8;
/// Libraries in a row, each needed by the one before.
const DEEPEST: u32 = 64;

/// What a library means that is nowhere to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    /// The program would not start.
    Refused,
    /// The file is one of a folder: whoever opens it may have opened the library before, from a place of his own, as Java's does.
    Left,
}

/// Takes programs and their needs into a tree.
pub(crate) struct Closure {
    /// Folders of `LD_LIBRARY_PATH`, as they stand there.
    variable: Vec<String>,
    /// Folders of the loader's configuration, and its last ones.
    folders: Vec<PathBuf>,
    done: BTreeSet<PathBuf>,
}

impl Closure {
    /// Reads the loader's configuration; `library_path` is the value of `LD_LIBRARY_PATH`.
    pub(crate) fn new(library_path: Option<&OsStr>) -> Closure {
        let variable = library_path.filter(|path| !path.is_empty()).map(OsStr::to_string_lossy);
        // Nothing between two colons is the current folder.
        let named = |text: &str| text.split([':', ';']).map(str::to_owned).collect();
        let variable = variable.map_or(Vec::new(), |text| named(&text));
        let mut folders = Vec::new();
        configured(Path::new("/etc/ld.so.conf"), MOST_INCLUDES, &mut folders);
        folders.extend(LAST_FOLDERS.map(PathBuf::from));
        Closure { variable, folders, done: BTreeSet::new() }
    }

    /// Takes in the program of that name, looked up in `path` (the value of `PATH`). Answers its file.
    pub(crate) fn program(
        &mut self,
        name: &OsStr,
        path: Option<&OsStr>,
        tree: &mut Tree,
    ) -> Result<PathBuf, LabError> {
        let program = inspect(name, &[], path)?;
        for file in program.interpreters.iter().chain([&program.file, &program.image]) {
            self.file(&absolute(file)?, tree)?;
        }
        // `#!/usr/bin/env python3` names two programs.
        if !program.interpreters.is_empty()
            && let Ok(env) = resolve(OsStr::new("env"), path)
        {
            self.file(&absolute(&env)?, tree)?;
        }
        absolute(&program.file)
    }

    /// Takes in a file and, if it is a program or a library, what that needs.
    pub(crate) fn file(&mut self, path: &Path, tree: &mut Tree) -> Result<(), LabError> {
        let real = tree.copy(path)?;
        self.needs_of(&real, &[], Missing::Refused, DEEPEST, tree)
    }

    /// Takes in what a program needs, without the program.
    pub(crate) fn needs(&mut self, program: &Path, tree: &mut Tree) -> Result<(), LabError> {
        self.needs_of(program, &[], Missing::Refused, DEEPEST, tree)
    }

    /// Takes in a file, or a folder with everything below it.
    pub(crate) fn all_below(&mut self, path: &Path, tree: &mut Tree) -> Result<(), LabError> {
        self.below(path, Missing::Refused, tree)
    }

    fn below(&mut self, path: &Path, missing: Missing, tree: &mut Tree) -> Result<(), LabError> {
        let real = tree.copy(path)?;
        if !real.is_dir() {
            return self.needs_of(&real, &[], missing, DEEPEST, tree);
        }
        let refused = |error: std::io::Error| LabError::CopyIn { path: real.clone(), why: error.to_string() };
        for entry in fs::read_dir(&real).map_err(refused)? {
            let entry = entry.map_err(refused)?;
            let kind = entry.file_type().map_err(refused)?;
            if kind.is_symlink() {
                // As it stands: it may well lead nowhere, here as there.
                let target = fs::read_link(entry.path()).map_err(refused)?;
                tree.put(entry.path(), Entry::Link { target });
            } else if kind.is_dir() || kind.is_file() {
                self.below(&entry.path(), Missing::Left, tree)?;
            }
        }
        Ok(())
    }

    /// `inherited` are the folders named by the files that led here, which an old-style RPATH passes on.
    fn needs_of(
        &mut self,
        file: &Path,
        inherited: &[PathBuf],
        missing: Missing,
        deeper: u32,
        tree: &mut Tree,
    ) -> Result<(), LabError> {
        if deeper == 0 || !self.done.insert(file.to_owned()) {
            return Ok(());
        }
        let Some(elf) = File::open(file).ok().and_then(|file| Elf::of_file(&file).ok()) else {
            return Ok(());
        };
        let is_native = Some(elf.machine) == Machine::native();
        if let Some(loader) = elf.interpreter.as_deref().map(Path::new)
            && (is_native || loader.is_file())
        {
            let real = tree.copy(loader)?;
            self.done.insert(real);
        }
        let origin = file.parent().unwrap_or(Path::new("/"));
        let own = elf.run_path.iter().map(|folder| named_folder(folder, origin));
        let folders: Vec<PathBuf> = own.chain(inherited.iter().cloned()).collect();
        let variable =
            self.variable.iter().map(|folder| absolute(&Path::new(".").join(named_folder(folder, origin))));
        let variable: Vec<PathBuf> = variable.collect::<Result<_, _>>()?;
        for name in &elf.needed {
            // RPATH goes before the variable and RUNPATH after it: the loader chooses there as it does here.
            let by_file = find(name, elf.machine, folders.iter().chain(&self.folders));
            let found: Vec<PathBuf> = find(name, elf.machine, &variable).into_iter().chain(by_file).collect();
            // A 32-bit program may run here or not; another processor's is a file like any other.
            if found.is_empty() && is_native && missing == Missing::Refused {
                return Err(LabError::NoLibrary { path: file.to_owned(), name: name.clone() });
            }
            for library in found {
                let real = tree.copy(&library)?;
                self.needs_of(&real, &folders, missing, deeper - 1, tree)?;
            }
        }
        Ok(())
    }
}

/// The file of a library: named by a path, or in the first folder that has one for that machine.
fn find<'a>(name: &str, machine: Machine, folders: impl IntoIterator<Item = &'a PathBuf>) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    folders.into_iter().map(|folder| folder.join(name)).find(|path| {
        let elf = File::open(path).ok().and_then(|file| Elf::of_file(&file).ok());
        elf.is_some_and(|elf| elf.machine == machine)
    })
}

fn absolute(path: &Path) -> Result<PathBuf, LabError> {
    std::path::absolute(path)
        .map_err(|error| LabError::CopyIn { path: path.to_owned(), why: error.to_string() })
}

/// A folder of a run path, with the loader's words filled in.
fn named_folder(folder: &str, origin: &Path) -> PathBuf {
    let origin = origin.to_string_lossy();
    let mut text = folder.to_owned();
    for (word, value) in
        [("ORIGIN", origin.as_ref()), ("LIB", "lib/x86_64-linux-gnu"), ("PLATFORM", "x86_64")]
    {
        text = text.replace(&format!("${{{word}}}"), value).replace(&format!("${word}"), value);
    }
    PathBuf::from(text)
}

/// The folders of a configuration file of the loader and of those it includes.
fn configured(file: &Path, deeper: u32, folders: &mut Vec<PathBuf>) {
    // A machine without the file has the last folders only.
    let Ok(text) = fs::read_to_string(file) else { return };
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        match line.strip_prefix("include").filter(|rest| rest.starts_with(char::is_whitespace)) {
            Some(pattern) if deeper > 0 => {
                let pattern = file.parent().unwrap_or(Path::new("/")).join(pattern.trim());
                matching(&pattern).iter().for_each(|file| configured(file, deeper - 1, folders));
            }
            None if line.starts_with('/') => folders.push(PathBuf::from(line)),
            _ => {}
        }
    }
}

/// The files that a pattern with at most one `*` in its last name means, in order.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name().map(OsStr::to_string_lossy))
    else {
        return Vec::new();
    };
    let Some((start, end)) = name.split_once('*') else { return vec![pattern.to_owned()] };
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let fits = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(fits).collect();
    files.sort_unstable();
    files
}

/// A program without what only tools read: everything behind its last segment, where a debugging build has most of its
/// size. The heads say then that there are no sections.
pub(crate) fn slim(program: &Path) -> Result<Vec<u8>, LabError> {
    let refused = |why: String| LabError::CopyIn { path: program.to_owned(), why };
    let mut bytes = fs::read(program).map_err(|error| refused(error.to_string()))?;
    let elf = Elf::read(bytes.as_slice()).map_err(|error| refused(error.to_string()))?;
    let end = usize::try_from(elf.segments_end).unwrap_or(usize::MAX).min(bytes.len());
    // Offset, count and index of names of the section table, in the head of a 64-bit file.
    if elf.machine.wide && end >= 64 {
        bytes.truncate(end);
        bytes[40..48].fill(0);
        bytes[60..64].fill(0);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn the_shell_comes_with_its_loader_and_library() {
        let mut tree = Tree::default();
        let file = Closure::new(None).program(OsStr::new("sh"), None, &mut tree).unwrap();
        assert!(tree.contains(&file.canonicalize().unwrap()));
        let has = |part: &str| tree.entries().any(|(path, _)| path.to_string_lossy().contains(part));
        assert!(has("libc.so.6") && has("ld-linux"), "{tree:?}");
    }

    #[test]
    fn a_script_comes_with_its_interpreter() {
        let scratch = tempfile::tempdir().unwrap();
        let script = scratch.path().join("script");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let mut tree = Tree::default();
        Closure::new(None).program(script.as_os_str(), None, &mut tree).unwrap();
        assert!(tree.contains(&script.canonicalize().unwrap()));
        assert!(tree.entries().any(|(path, _)| path.to_string_lossy().contains("libc.so.6")));
    }

    #[test]
    fn libraries_are_where_the_variable_says_or_left_to_who_opens_a_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        fs::create_dir(folder.join("server")).unwrap();
        for (source, words) in [("a", "server/liba.so"), ("b", "libb.so -Lserver -la")] {
            let file = format!("{source}.c");
            fs::write(folder.join(&file), format!("int {source};\n")).unwrap();
            let mut compiler = Command::new("cc");
            compiler.current_dir(folder).args(["-shared", "-Wl,--no-as-needed", &file, "-o"]);
            assert!(compiler.args(words.split(' ')).status().unwrap().success());
        }
        let mut tree = Tree::default();
        let library = folder.join("libb.so");
        let error = Closure::new(None).all_below(&library, &mut tree).unwrap_err();
        assert!(error.to_string().contains("liba.so"), "{error}");
        Closure::new(None).all_below(folder, &mut tree).unwrap();
        let has = |tree: &Tree, name: &str| tree.contains(&folder.canonicalize().unwrap().join(name));
        assert!(has(&tree, "libb.so") && has(&tree, "server/liba.so"), "{tree:?}");

        for variable in [format!("/absent:{}", folder.join("server").display()), "$ORIGIN/server".to_owned()]
        {
            let mut tree = Tree::default();
            Closure::new(Some(OsStr::new(&variable))).all_below(&library, &mut tree).unwrap();
            assert!(has(&tree, "server/liba.so"), "{variable}: {tree:?}");
        }
    }

    #[test]
    fn the_loaders_words_are_filled_in() {
        assert_eq!(named_folder("$ORIGIN/../lib", Path::new("/a/b")), Path::new("/a/b/../lib"));
        assert_eq!(named_folder("/x/$LIB", Path::new("/")), Path::new("/x/lib/x86_64-linux-gnu"));
    }

    #[test]
    fn a_slim_program_runs_as_before() {
        let scratch = tempfile::tempdir().unwrap();
        let slimmed = scratch.path().join("sh");
        fs::write(&slimmed, slim(Path::new("/bin/sh")).unwrap()).unwrap();
        fs::set_permissions(&slimmed, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(fs::metadata(&slimmed).unwrap().len() < fs::metadata("/bin/sh").unwrap().len());
        let output = Command::new(&slimmed).args(["-c", "echo $((6 * 7))"]).output().unwrap();
        assert_eq!(output.stdout, b"42\n");
    }
}
