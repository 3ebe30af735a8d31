//! Commands written so that a shell reads back the same words.

use crate::visible::is_obeyed;

/// One word, quoted where a POSIX shell needs it. Control characters and marks that turn the direction of text
/// come out as `$'\012'`, so that what is shown is what is run.
///
/// ```
/// use firsttouch_report::shell::quote;
/// assert_eq!(quote("lm.R"), "lm.R");
/// assert_eq!(quote("it's"), r"'it'\''s'");
/// assert_eq!(quote("a\nb"), r"$'a\012b'");
/// ```
pub fn quote(word: &str) -> String {
    quoted(word, false)
}

/// `is_argument`: a word before it is the command.
fn quoted(word: &str, is_argument: bool) -> String {
    if word.contains(is_obeyed) {
        let mut quoted = String::from("$'");
        for c in word.chars() {
            match c {
                '\'' | '\\' => quoted.extend(['\\', c]),
                c if is_obeyed(c) => {
                    let mut buffer = [0; 4];
                    for byte in c.encode_utf8(&mut buffer).bytes() {
                        quoted.push_str(&format!("\\{byte:03o}"));
                    }
                }
                c => quoted.push(c),
            }
        }
        quoted.push('\'');
        return quoted;
    }
    // `=` opens an assignment unless the word is plainly an option, or an argument; and, in zsh, a path where a word begins with it.
    let holds_equals = word.starts_with('-') || is_argument && !word.starts_with('=');
    let safe = |c: char| c.is_ascii_alphanumeric() || "_@%+:,./-".contains(c) || (c == '=' && holds_equals);
    if !word.is_empty() && word.chars().all(safe) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A whole command, its words quoted.
///
/// ```
/// use firsttouch_report::shell::command;
/// assert_eq!(command(&["env", "THREADS=4", "./a b"]), "env THREADS=4 './a b'");
/// ```
pub fn command<S: AsRef<str>>(words: &[S]) -> String {
    let each = words.iter().enumerate().map(|(index, word)| quoted(word.as_ref(), index > 0));
    each.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{command, quote};
    use proptest::prelude::*;
    use std::process::Command;

    #[test]
    fn words_that_need_it_are_quoted() {
        assert_eq!(
            command(&["Rscript", "-e", "x <- \"a b\"; $HOME", ""]),
            "Rscript -e 'x <- \"a b\"; $HOME' ''"
        );
        assert_eq!(command(&["--pages=thp", "A=b", "~x", "=x"]), "--pages=thp A=b '~x' '=x'");
        assert_eq!(command(&["A=b", "A=b", "A=~"]), "'A=b' A=b 'A=~'");
        assert_eq!(quote("\u{202e}x"), r"$'\342\200\256x'");
    }

    #[test]
    fn bash_reads_back_the_same_word() {
        let odd =
            ["it's", "a\nb\t\u{1b}[0m", "\\n", "$(date) `date` !x \"", "größe\u{202e}", "*?[a]{b}~", "-n"];
        let line = format!("printf '%s\\0' {}", command(&odd));
        let out = Command::new("bash").args(["-c", &line]).output().expect("bash runs");
        assert_eq!(out.stdout, format!("{}\0", odd.join("\0")).into_bytes());
    }

    proptest! {
        #[test]
        fn nothing_obeyed_comes_out(word in ".*") {
            prop_assert!(!quote(&word).contains(crate::visible::is_obeyed));
        }

        #[test]
        fn single_quotes_keep_every_other_character(word in "[ -~]*") {
            let quoted = quote(&word);
            let inner = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
            prop_assert_eq!(inner.unwrap_or(&quoted).replace(r"'\''", "'"), word);
        }
    }
}
