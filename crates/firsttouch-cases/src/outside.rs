//! Variants that are programs of somebody else's.

use crate::error::Missing;
use crate::texts::{self, Text};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that computes a case in its own way.
///
/// It is started with [`Outside::words`] after its name, and writes to the file that [`Outside::RESULT`] names in its environment
/// what a run of ours writes: a JSON object of at least `seconds`, the time of a step by its own clock, and `checksum`, either
/// `{"exact": "HEX"}` or `{"value": NUMBER, "within": SHARE}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// Its name, looked for on the search path.
    pub program: &'static str,
    /// Its arguments.
    pub words: Vec<String>,
    /// Variables that it needs.
    pub variables: Vec<(&'static str, String)>,
}

impl Outside {
    /// The variable that names the file of the result.
    pub const RESULT: &'static str = "FIRSTTOUCH_CASE_RESULT";

    /// The variable that says how many steps are to be done.
    pub const STEPS: &'static str = "FIRSTTOUCH_CASE_STEPS";

    /// With so many threads: what OpenMP and the usual libraries of linear algebra obey.
    pub(crate) fn threads(mut self, threads: usize) -> Outside {
        let names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"];
        self.variables.extend(names.map(|name| (name, threads.to_string())));
        self
    }
}

/// Runs a script of R after `outside/case.R`, which gives it `arguments`, and `report` to time and write with.
pub(crate) fn r_script(script: Text, arguments: Vec<String>) -> Outside {
    let script = format!("{}\n{}", texts::OUTSIDE_CASE_R.get(), script.get());
    let words = ["--vanilla", "-e", &script].map(str::to_owned).into_iter().chain(arguments);
    Outside { program: "Rscript", words: words.collect(), variables: Vec::new() }
}

/// Runs a script of Python after `outside/case.py`, which gives it `arguments`, and `report` to time and write with.
pub(crate) fn python_script(script: Text, arguments: Vec<String>) -> Outside {
    let script = format!("{}\n{}", texts::OUTSIDE_CASE_PY.get(), script.get());
    let words = ["-c", &script].map(str::to_owned).into_iter().chain(arguments);
    Outside { program: "python3", words: words.collect(), variables: Vec::new() }
}

/// What is missing of R.
pub(crate) fn missing_r(path: Option<&OsStr>) -> Option<Missing> {
    missing_program("Rscript", path, "sudo apt install r-base-core")
}

/// What is missing of a program on a search path.
pub(crate) fn missing_program(program: &str, path: Option<&OsStr>, remedy: &str) -> Option<Missing> {
    on_path(program, path).is_none().then(|| Missing::new(format!("{program} is not installed"), remedy))
}

/// What is missing of a module of Python: found by a look at where modules lie, without loading it.
pub(crate) fn missing_module(module: &str, path: Option<&OsStr>, remedy: &str) -> Option<Missing> {
    if let Some(missing) = missing_program("python3", path, "sudo apt install python3") {
        return Some(missing);
    }
    let look = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)";
    let found = python(look, module, path).is_some();
    (!found).then(|| Missing::new(format!("python3 has no module {module}"), remedy))
}

pub(crate) fn missing_numpy(path: Option<&OsStr>) -> Option<Missing> {
    missing_module("numpy", path, "sudo apt install python3-numpy")
}

/// What is missing of a package of Python's that is there, but before this release, of a major and a minor number; one that does
/// not tell its own is taken for new enough.
pub(crate) fn missing_release(
    package: &str,
    least: (u32, u32),
    path: Option<&OsStr>,
    remedy: &str,
) -> Option<Missing> {
    let look = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))";
    let release = python(look, package, path)?;
    older(&release, least)
        .then(|| format!("{package} {release} is older than {}.{}", least.0, least.1))
        .map(|what| Missing::new(what, remedy))
}

/// Whether a release such as 1.2.1 comes before a major and a minor number.
fn older(release: &str, least: (u32, u32)) -> bool {
    let mut numbers = release.split('.').map_while(|number| number.parse().ok());
    numbers.next().zip(numbers.next()).is_some_and(|numbers| numbers < least)
}

/// What a line of Python prints, with this argument, where it ends well.
fn python(script: &str, argument: &str, path: Option<&OsStr>) -> Option<String> {
    let output = Command::new(on_path("python3", path)?).args(["-c", script, argument]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The program of that name; `None` if there is none.
pub(crate) fn on_path(program: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let folders = path?.as_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes);
    folders.map(|folder| Path::new(folder).join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_said_with_what_brings_it() {
        let path = OsStr::new("/nowhere");
        let missing = missing_program("Rscript", Some(path), "sudo apt install r-base-core").unwrap();
        assert_eq!(missing.to_string(), "Rscript is not installed");
        assert_eq!(missing_module("numpy", Some(path), "").unwrap().what, "python3 is not installed");
        assert_eq!(missing_r(Some(path)).unwrap().remedy, "sudo apt install r-base-core");
    }

    #[test]
    fn releases_are_compared_by_their_numbers() {
        assert!(older("1.2.1", (1, 5)) && older("0.24.2", (1, 5)) && older("1.4.1.post1", (1, 5)));
        assert!(!older("1.5.0", (1, 5)) && !older("1.10", (1, 5)) && !older("2.0", (1, 5)));
        assert!(!older("unknown", (1, 5)) && !older("", (1, 5)));
    }

    #[test]
    fn scripts_come_after_what_they_have_in_common() {
        let python = python_script(texts::R_FFT_PY, vec!["1".into()]).threads(3);
        assert_eq!((python.words[0].as_str(), python.words[2].as_str()), ("-c", "1"));
        assert!(
            python.words[1].starts_with("# What scripts") && python.words[1].ends_with(texts::R_FFT_PY.get())
        );
        assert!(python.variables.contains(&("OMP_NUM_THREADS", "3".to_owned())));
        let r = r_script(texts::R_FFT_R, vec!["1".into()]);
        assert_eq!((r.words[..2].join(" "), r.words[3].as_str()), ("--vanilla -e".to_owned(), "1"));
        assert!(r.words[2].starts_with("# What scripts") && r.words[2].ends_with(texts::R_FFT_R.get()));
    }
}
