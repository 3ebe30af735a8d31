//! `#!` lines, by the kernel's rules.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// As much of a file as the kernel looks at.
pub(crate) const HEAD_BYTES: usize = 256;

/// The kernel gives up after that many interpreters in a row.
pub(crate) const MOST_INTERPRETERS: usize = 5;

/// A parsed `#!` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptLine {
    pub(crate) interpreter: PathBuf,
    /// Everything after it, as one argument.
    pub(crate) argument: Option<OsString>,
}

/// Reads the head of a file; `None` if it does not name an interpreter.
pub(crate) fn parse(head: &[u8]) -> Option<ScriptLine> {
    let head = &head[..head.len().min(HEAD_BYTES)];
    let rest = head.strip_prefix(b"#!")?;
    let end = rest.iter().position(|&byte| byte == b'\n' || byte == 0);
    let line = rest[..end.unwrap_or(rest.len())].trim_ascii();
    let name_end = line.iter().position(|&byte| blank(byte));
    if line.is_empty() || (end.is_none() && head.len() == HEAD_BYTES && name_end.is_none()) {
        // Cut off within the name of the interpreter: the kernel refuses to guess.
        return None;
    }
    let (name, argument) = line.split_at(name_end.unwrap_or(line.len()));
    let argument = argument.trim_ascii();
    Some(ScriptLine {
        interpreter: OsString::from_vec(name.to_vec()).into(),
        argument: (!argument.is_empty()).then(|| OsString::from_vec(argument.to_vec())),
    })
}

fn blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// The program that `env` is told to start by its argument on a `#!` line: the whole argument, or with `-S` the first
/// word that is neither an option nor an assignment.
pub(crate) fn started_by_env(argument: &[u8]) -> Option<OsString> {
    let program = match argument.strip_prefix(b"-S").or_else(|| argument.strip_prefix(b"--split-string=")) {
        None => argument,
        Some(words) => words
            .split(|&byte| blank(byte))
            .find(|word| !word.is_empty() && !word.starts_with(b"-") && !word.contains(&b'='))?,
    };
    (!program.is_empty()).then(|| OsString::from_vec(program.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(text: &str) -> Option<(String, Option<String>)> {
        let line = parse(text.as_bytes())?;
        Some((line.interpreter.to_str()?.to_owned(), line.argument.map(|word| word.into_string().unwrap())))
    }

    #[test]
    fn lines_read_by_the_kernels_rules() {
        assert_eq!(line("#!/bin/sh\necho"), Some(("/bin/sh".into(), None)));
        assert_eq!(line("#! \t/bin/sh  -e -u \n"), Some(("/bin/sh".into(), Some("-e -u".into()))));
        assert_eq!(line("#!/bin/sh"), Some(("/bin/sh".into(), None)), "a short file may end with the line");
        assert_eq!(line("#!\n"), None);
        assert_eq!(line("# !/bin/sh"), None);
        let long = format!("#!/{}", "a".repeat(400));
        assert_eq!(line(&long), None, "cut within the name");
        let long = format!("#!/bin/sh {}", "a".repeat(400));
        assert_eq!(line(&long).unwrap().1.unwrap().len(), HEAD_BYTES - "#!/bin/sh ".len(), "cut argument");
    }

    #[test]
    fn env_names_its_program() {
        let started = |text: &str| started_by_env(text.as_bytes()).map(|word| word.into_string().unwrap());
        assert_eq!(started("python3").as_deref(), Some("python3"));
        assert_eq!(started("-S A=1 python3 -u").as_deref(), Some("python3"));
        assert_eq!(started("-Spython3").as_deref(), Some("python3"));
        assert_eq!(started("-S A=1"), None);
    }

    proptest! {
        #[test]
        fn any_head_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut head = b"#!".to_vec();
            head.extend(bytes);
            if let Some(line) = parse(&head) {
                prop_assert!(!line.interpreter.as_os_str().is_empty());
                let _ = line.argument.map(|argument| started_by_env(&argument.into_vec()));
            }
        }
    }
}
