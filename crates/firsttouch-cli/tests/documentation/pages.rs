//! Pages in Markdown, as far as these tests need to know them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the repository.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Pages that are not in `docs`, and are read with them.
const OTHERS: [&str; 4] = ["README.md", "CONTRIBUTING.md", "bindings/python/README.md", "benches/README.md"];

/// Every page that somebody reads.
pub(crate) fn all() -> Vec<Page> {
    let mut files: Vec<PathBuf> = OTHERS.iter().map(|name| workspace().join(name)).collect();
    files.extend(below(&workspace().join("docs")));
    files.iter().map(|file| read(file)).collect()
}

/// The pages in a folder and in those in it.
pub(crate) fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(below(&path));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

pub(crate) fn read(path: &Path) -> Page {
    Page { path: path.to_owned(), text: fs::read_to_string(path).unwrap() }
}

/// A page.
pub(crate) struct Page {
    path: PathBuf,
    text: String,
}

/// A block of commands, with what is said about it.
#[derive(Default)]
pub(crate) struct Block {
    /// The line of the page that it begins on, counted from 1.
    pub(crate) line: usize,
    /// Lines for the shell that are run before it.
    pub(crate) first: Vec<String>,
    /// Why commands do not run: those that begin with one of these words, or, without any, all.
    pub(crate) not_run: Vec<(Vec<String>, String)>,
    /// What commands may end with, but for 0.
    pub(crate) statuses: Vec<i32>,
    pub(crate) commands: Vec<Command>,
}

/// A command, and the first words of the lines that the page shows of what it says.
pub(crate) struct Command {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) shown: Vec<String>,
}

impl Page {
    pub(crate) fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Its name in the repository.
    pub(crate) fn name(&self) -> String {
        self.path.strip_prefix(workspace()).unwrap().display().to_string()
    }

    /// The blocks of commands.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let (mut blocks, mut next, mut comment) = (Vec::new(), Block::default(), None::<String>);
        let mut language = None;
        for (number, line) in self.text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
            match (language, line.strip_prefix("```")) {
                (None, Some(named)) => {
                    language = Some(named);
                    next.line = number;
                }
                (Some(named), Some(_)) => {
                    if ["console", "sh"].contains(&named) {
                        blocks.push(std::mem::take(&mut next));
                    }
                    (language, next) = (None, Block::default());
                }
                (Some("console"), None) => match line.strip_prefix("$ ") {
                    Some(command) => next.begin(number, command),
                    None => next.go_on(line),
                },
                (Some("sh"), None) if next.is_unfinished() => next.go_on(line),
                (Some("sh"), None) => next.begin(number, line),
                (Some(_), None) => {}
                (None, None) => {
                    // Comments, which may go on for lines, belong to the block right behind them.
                    if comment.is_none() {
                        match line.strip_prefix("<!-- ") {
                            Some(begun) => comment = Some(begun.to_owned()),
                            None if line.is_empty() => {}
                            None => next = Block::default(),
                        }
                    } else if let Some(comment) = &mut comment {
                        comment.push('\n');
                        comment.push_str(line);
                    }
                    if let Some(whole) = comment.as_ref().and_then(|comment| comment.strip_suffix("-->")) {
                        next.mark(whole.trim(), &format!("{}:{number}", self.name()));
                        comment = None;
                    }
                }
            }
        }
        blocks
    }

    /// Where links in the text lead, with the lines they are on.
    pub(crate) fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (number, line) in self.prose() {
            for part in outside_of_code(line).split("](").skip(1) {
                links.push((number, part.split(')').next().unwrap().to_owned()));
            }
        }
        links
    }

    /// The names by which headings are linked to, as code hosts and mdBook make them.
    pub(crate) fn headings(&self) -> BTreeSet<String> {
        let headings = self.prose().filter(|(_, line)| line.starts_with('#'));
        let name = |line: &str| {
            let kept = |c: char| c.is_alphanumeric() || " -_".contains(c);
            let words = line.trim_start_matches('#').trim().to_lowercase();
            words.chars().filter(|c| kept(*c)).collect::<String>().replace(' ', "-")
        };
        headings.map(|(_, line)| name(line)).collect()
    }

    /// The lines outside of blocks, with their numbers.
    fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut inside = false;
        self.text.lines().enumerate().filter_map(move |(index, line)| {
            let fence = line.trim_start().starts_with("```");
            inside ^= fence;
            (!inside && !fence).then_some((index + 1, line))
        })
    }
}

/// A line without what stands between backquotes.
fn outside_of_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

impl Block {
    fn begin(&mut self, line: usize, text: &str) {
        self.commands.push(Command { line, text: text.to_owned(), shown: Vec::new() });
    }

    /// Whether the last command has more lines.
    fn is_unfinished(&self) -> bool {
        self.commands.last().is_some_and(|command| command.text.ends_with('\\'))
    }

    /// A line that goes on with a command, or is of what it says.
    fn go_on(&mut self, line: &str) {
        let unfinished = self.is_unfinished();
        let Some(command) = self.commands.last_mut() else { return };
        if unfinished {
            command.text.push('\n');
            command.text.push_str(line);
        } else if let Some(word) = line.split_whitespace().next().filter(|word| !word.starts_with('#')) {
            command.shown.push(word.to_owned());
        }
    }

    /// Takes a comment as what it says of the block.
    fn mark(&mut self, comment: &str, place: &str) {
        let (kind, text) = comment.split_once(':').unwrap_or((comment, ""));
        let text = text.trim();
        let reason = || assert!(text.len() > 8, "{place}: a reason is missing: {comment}");
        if kind == "first" {
            self.first.extend(text.lines().map(|line| line.trim().to_owned()));
        } else if let Some(words) = kind.strip_prefix("not run") {
            reason();
            let words = words.trim().trim_start_matches('(').trim_end_matches(')');
            let words = words.split(", ").filter(|word| !word.is_empty()).map(str::to_owned);
            self.not_run.push((words.collect(), text.to_owned()));
        } else if let Some(statuses) = kind.strip_prefix("ends with ") {
            reason();
            self.statuses.extend(statuses.split(" or ").map(|status| status.parse::<i32>().unwrap()));
        } else {
            panic!("{place}: no mark of blocks begins with {kind:?}");
        }
    }

    /// Why a command does not run, if so.
    pub(crate) fn excuse(&self, command: &str) -> Option<&str> {
        let begins = |word: &String| command.starts_with(word.as_str());
        let excuse = self.not_run.iter().find(|(words, _)| words.is_empty() || words.iter().any(begins));
        excuse.map(|(_, why)| why.as_str())
    }

    /// Words of a mark that no command begins with.
    pub(crate) fn idle(&self) -> Vec<&str> {
        let words = self.not_run.iter().flat_map(|(words, _)| words);
        let begun =
            |word: &&String| self.commands.iter().any(|command| command.text.starts_with(word.as_str()));
        words.filter(|word| !begun(word)).map(String::as_str).collect()
    }
}
