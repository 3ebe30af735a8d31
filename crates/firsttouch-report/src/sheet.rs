//! Tables as every format shows them: what each line is of, and beside it cells in columns.

use crate::sentence::Sentence;
use firsttouch_experiment::Verdict;

/// A table; its first column holds what the lines are of.
#[derive(Debug)]
pub(crate) struct Sheet {
    /// What it is of, where there are several.
    pub(crate) caption: Option<Sentence>,
    pub(crate) columns: Vec<SheetColumn>,
    pub(crate) rows: Vec<SheetRow>,
}

/// A column, and the ones that it stays with where a table is split.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SheetColumn {
    pub(crate) group: &'static str,
    pub(crate) title: &'static str,
    pub(crate) numeric: bool,
}

/// What one line is of, and what stands in the columns after the first.
#[derive(Debug)]
pub(crate) struct SheetRow {
    pub(crate) name: Sentence,
    /// It is a part of the last line that is not below another.
    pub(crate) is_below: bool,
    pub(crate) cells: Vec<String>,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) is_baseline: bool,
}

pub(crate) const fn column(group: &'static str, title: &'static str, numeric: bool) -> SheetColumn {
    SheetColumn { group, title, numeric }
}
