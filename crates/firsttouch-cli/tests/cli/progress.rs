//! How far a command is: shown on a terminal, as wide as that is, and nowhere else.

use crate::{assert_code, firsttouch, run, skipped, stderr, text_of};
use std::process::{Command, Stdio};

const TUNE: [&str; 8] =
    ["tune", "--configs", "thp,min-size=4M,prefault", "--max-runs", "2", "--no-warm", "--", "true"];

/// Columns of the terminal: less than a row has to say.
const COLUMNS: usize = 30;

/// What is left of a text without what terminals obey.
fn shown(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    first
        + &parts
            .map(|part| &part[part.find(char::is_alphabetic).map_or(0, |end| end + 1)..])
            .collect::<String>()
}

#[test]
fn a_terminal_gets_lines_that_fit() {
    let line = format!(
        "stty rows 30 cols {COLUMNS}; {} {} > /dev/null",
        env!("CARGO_BIN_EXE_firsttouch"),
        TUNE.join(" ")
    );
    let like = firsttouch();
    let mut terminal = Command::new("script");
    // Whoever sets `COLUMNS` means what is printed, not where lines are drawn over.
    terminal.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", "xterm");
    let Ok(output) = terminal.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).output() else {
        return skipped("there is no `script` to make a terminal");
    };
    let text = shown(&text_of(&output));
    let rows: Vec<&str> = text.split(['\r', '\n']).filter(|row| !row.is_empty()).collect();
    assert!(rows.iter().any(|row| row.starts_with("> baseline")), "{text:?}");
    assert!(rows.iter().any(|row| row.ends_with('…')), "{rows:?}");
    let frames: Vec<_> = rows.windows(3).filter(|frame| frame[0].starts_with("search, block ")).collect();
    assert!(!frames.is_empty(), "{rows:?}");
    for frame in frames {
        let placed = frame[1..].iter().all(|row| row.starts_with("  ") || row.starts_with("> "));
        let fits = frame.iter().all(|row| row.chars().count() < COLUMNS);
        assert!(placed && fits, "{frame:?}");
    }
}

#[test]
fn a_file_gets_none() {
    let output = run(&TUNE);
    assert_code(&output, 0);
    let told = stderr(&output);
    assert!(told.starts_with("comparing ") && !told.contains("block") && !told.contains('\x1b'), "{told:?}");
}
