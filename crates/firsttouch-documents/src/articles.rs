//! Articles whose tables and figures were repeated: what they print, and beside it what this machine made of the same.

use firsttouch_experiment::{Ratio, Verdict};
use firsttouch_placement::CaseFigure;
use serde::{Deserialize, Serialize};

/// An article.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ArticleReport {
    /// The name of the collection that it is in: `ism`, `numalb`, `paths`, `memset` or `feed`.
    pub document: String,
    /// Its title.
    pub title: String,
    /// Who wrote it, where and when.
    pub by: String,
    /// Its tables and figures.
    pub tables: Vec<ArticleTable>,
}

/// One of its tables or figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ArticleTable {
    /// Its word.
    pub name: String,
    /// What it shows, and where.
    pub shows: String,
    /// What the published values are in; empty where there are none.
    pub unit: String,
    /// Whether a larger one is the better; `None` where neither is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub higher_is_better: Option<bool>,
    /// The command that repeats it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Where its runs are: the place in `cases` from 0 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<u32>,
    /// Why it was not repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it compares, the first with all others; then what was run beyond that.
    pub rows: Vec<ArticleRow>,
    /// What else there is to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Something that a table compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ArticleRow {
    /// What the article calls it; of a run that it has not, what we do.
    pub way: String,
    /// What the article prints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedValue>,
    /// What this machine made of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub here: Vec<ArticleFigure>,
    /// Why this machine made nothing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A value that an article prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PublishedValue {
    /// The machine that it was measured on.
    pub system: String,
    /// The value, in the table's unit.
    pub value: f64,
}

/// What a configuration came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ArticleFigure {
    /// The configuration's name, in the sessions of the table's case.
    pub configuration: String,
    /// Its figure.
    pub figure: CaseFigure,
    /// What that is in.
    pub unit: String,
    /// How many times better it is than the first way, where that was the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// What is proved of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}
