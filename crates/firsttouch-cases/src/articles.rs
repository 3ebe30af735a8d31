//! The source documents: what their tables and figures show, what of it a run of cases repeats, and why the rest cannot be repeated.
//!
//! A file has the articles of one document, a line for each thing told:
//!
//! ```text
//! article TITLE | WHO, WHERE, WHEN
//! table NAME | WHAT IT SHOWS [| UNIT]
//! run WORDS               what `firsttouch bench` is told; `8~2` is 8, and 2 with --quick
//! cannot WHY              in place of `run`
//! needs SIZE              memory of a machine on which the run has its whole size
//! take TEXT # TEXT        the figure of a run is the number there in what it notes, and not its time
//! way LABEL [| WHICH [| WHY]]   what is compared, the first with all others; WHICH of our configurations, `-` for none
//! = SYSTEM | VALUE | …    what is published, for each way a value or `-`
//! note TEXT
//! ```
//!
//! WHICH has words: `plain`, or placements with bars between them as in `thp/2m`; and `variant=…`, `threads=…` or parameters. WORDS
//! and WHICH may hold what depends on the machine: `{cpus}`, `{ends}` (one thread, and one for each CPU), `{huge}` and `{pages}`
//! (kinds of pages that it gives).

use crate::case::About;
use crate::parameter::{Arguments, Kind};
use crate::texts::{self, Text};
use firsttouch_placement::parse_size;
use std::fmt;

/// The documents: a name, and the text.
const DOCUMENTS: [(&str, Text); 5] = [
    ("ism", texts::ARTICLES_ISM_TXT),
    ("numalb", texts::ARTICLES_NUMALB_TXT),
    ("paths", texts::ARTICLES_PATHS_TXT),
    ("memset", texts::ARTICLES_MEMSET_TXT),
    ("feed", texts::ARTICLES_FEED_TXT),
];

/// The names of the documents.
pub fn document_names() -> impl Iterator<Item = &'static str> {
    DOCUMENTS.iter().map(|(name, _)| *name)
}

/// All articles, with the names of their documents.
///
/// # Errors
/// A line that does not read; of the files that are compiled in, a test holds that there is none.
pub fn articles() -> Result<Vec<(&'static str, Article<'static>)>, ArticleError> {
    let mut all = Vec::new();
    for (name, text) in DOCUMENTS {
        all.extend(parse(text.get())?.into_iter().map(|article| (name, article)));
    }
    Ok(all)
}

/// A value that an article prints of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Published<'a> {
    /// The article, and where in it.
    pub source: String,
    /// What it is of: the way, and the system.
    pub what: String,
    /// The value.
    pub value: f64,
    /// What it is in.
    pub unit: &'a str,
}

/// What articles print of a case with these arguments: of tables that a run of it repeats, with the same words for parameters that
/// are words. Sizes may differ.
///
/// # Errors
/// As [`articles`].
pub fn published(about: &About, arguments: &Arguments) -> Result<Vec<Published<'static>>, ArticleError> {
    let differs = |set: &str| {
        let Some((name, value)) = set.split_once('=') else { return false };
        let parameter = about.parameters.iter().find(|parameter| parameter.name == name);
        parameter.is_some_and(|it| matches!(it.kind, Kind::Word(_)) && arguments.word(name) != value)
    };
    let mut all = Vec::new();
    for (_, article) in articles()? {
        let is_of = |table: &&ArticleTable<'_>| {
            table.case() == Some(about.name)
                && !table.run.into_iter().flat_map(str::split_whitespace).any(differs)
        };
        for table in article.tables.iter().filter(is_of) {
            for (system, values) in &table.systems {
                let values =
                    table.ways.iter().zip(values).filter_map(|(way, value)| Some((way.label, (*value)?)));
                all.extend(values.map(|(way, value)| Published {
                    source: format!("{}, {}", article.title, table.shows),
                    what: format!("{way}, {system}"),
                    value,
                    unit: table.unit,
                }));
            }
        }
    }
    Ok(all)
}

/// An article, and what it shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Article<'a> {
    /// Its title.
    pub title: &'a str,
    /// Who wrote it, where and when.
    pub by: &'a str,
    /// Its tables and figures.
    pub tables: Vec<ArticleTable<'a>>,
}

/// A table or figure of an article.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArticleTable<'a> {
    /// Its word, which no other table of the same file has.
    pub name: &'a str,
    /// What it shows, and where.
    pub shows: &'a str,
    /// What its values are in; empty without values.
    pub unit: &'a str,
    /// The words of `firsttouch bench` that repeat it.
    pub run: Option<&'a str>,
    /// Why nothing does.
    pub cannot: Option<&'a str>,
    /// Bytes of memory that a run of whole size needs.
    pub needs_bytes: u64,
    /// What stands before and after the figure in the notes of a run; `None` where it is the time.
    pub take: Option<(&'a str, &'a str)>,
    /// What is compared.
    pub ways: Vec<Way<'a>>,
    /// What is published: a system, and its value of each way.
    pub systems: Vec<(&'a str, Vec<Option<f64>>)>,
    /// What else there is to say.
    pub notes: Vec<&'a str>,
}

/// Something that a table compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way<'a> {
    /// What the article calls it.
    pub label: &'a str,
    /// Which of our configurations it is.
    pub which: Option<&'a str>,
    /// Why none of ours is.
    pub cannot: Option<&'a str>,
}

impl ArticleTable<'_> {
    /// Whether a larger value is the better one; `None` where neither is.
    pub fn higher_is_better(&self) -> Option<bool> {
        match self.unit {
            "s" | "ms" | "us" | "ns/element" => Some(false),
            "x" => Some(true),
            unit => unit.ends_with("/s").then_some(true),
        }
    }

    /// The case that the run is of.
    pub fn case(&self) -> Option<&str> {
        self.run?.split_whitespace().next()
    }
}

/// A line that does not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ArticleError {
    /// The line, from 1 on.
    pub line: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

impl fmt::Display for ArticleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// Reads the articles of a document.
///
/// # Errors
/// The first line that does not read, or that does not go with those before it.
pub fn parse(text: &str) -> Result<Vec<Article<'_>>, ArticleError> {
    let mut articles: Vec<Article<'_>> = Vec::new();
    let mut lines = 0;
    for (line, words) in (1..).zip(text.lines()) {
        lines = line;
        let words = words.trim();
        if !words.is_empty() && !words.starts_with('#') {
            read(&mut articles, words).map_err(|what| ArticleError { line, what })?;
        }
    }
    whole(&articles).map_err(|what| ArticleError { line: lines, what })?;
    Ok(articles)
}

/// Reads a line.
fn read<'a>(articles: &mut Vec<Article<'a>>, words: &'a str) -> Result<(), &'static str> {
    let (key, rest) = words.split_once(' ').ok_or("nothing stands after the first word")?;
    let fields: Vec<&str> = rest.split('|').map(str::trim).collect();
    if fields.contains(&"") {
        return Err("a field is empty");
    }
    if key == "article" {
        whole(articles)?;
        let [title, by] = fields[..] else { return Err("expected `article TITLE | BY`") };
        articles.push(Article { title, by, tables: Vec::new() });
        return Ok(());
    }
    if key == "table" {
        whole(articles)?;
        let (name, shows, unit) = match fields[..] {
            [name, shows] => (name, shows, ""),
            [name, shows, unit] => (name, shows, unit),
            _ => return Err("expected `table NAME | WHAT IT SHOWS | UNIT`"),
        };
        if articles.iter().flat_map(|article| &article.tables).any(|table| table.name == name) {
            return Err("another table has this name");
        }
        let article = articles.last_mut().ok_or("no article stands before this table")?;
        article.tables.push(ArticleTable { name, shows, unit, ..ArticleTable::default() });
        return Ok(());
    }
    let table = articles.last_mut().and_then(|article| article.tables.last_mut());
    let table = table.ok_or("no table stands before this line")?;
    match key {
        "run" => table.run = Some(rest),
        "cannot" => table.cannot = Some(rest),
        "needs" => table.needs_bytes = parse_size(rest).ok_or("expected a size, as `needs 96G`")?,
        "take" => table.take = Some(rest.split_once('#').ok_or("expected a `#` where the figure stands")?),
        "note" => table.notes.push(rest),
        "way" => {
            if !table.systems.is_empty() {
                return Err("ways stand before what is published of them");
            }
            let (which, cannot) = match fields[1..] {
                [] | ["-"] => (None, None),
                ["-", why] => (None, Some(why)),
                [which] => (Some(which), None),
                _ => return Err("expected `way LABEL | WHICH`, or `way LABEL | - | WHY`"),
            };
            table.ways.push(Way { label: fields[0], which, cannot });
        }
        "=" => {
            if fields.len() != 1 + table.ways.len() {
                return Err("expected a value or `-` for each way");
            }
            let number = |text: &&str| match *text {
                "-" => Ok(None),
                text => text.parse().map(Some).map_err(|_| "a value is no number"),
            };
            table.systems.push((fields[0], fields[1..].iter().map(number).collect::<Result<_, _>>()?));
        }
        _ => return Err("expected article, table, run, cannot, needs, take, way, = or note"),
    }
    Ok(())
}

/// Whether nothing is missing of the last table.
fn whole(articles: &[Article<'_>]) -> Result<(), &'static str> {
    let Some(table) = articles.last().and_then(|article| article.tables.last()) else { return Ok(()) };
    if table.run.is_some() == table.cannot.is_some() {
        return Err("the table before has to have either `run` or `cannot`");
    }
    if table.unit.is_empty() && !table.systems.is_empty() {
        return Err("the table before has values and no unit");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
