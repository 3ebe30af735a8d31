//! What a decision about values from elsewhere says: its sentences, and its tables for every format.

use crate::number::{self, UNKNOWN, percent, plural, ratio, ratio_words};
use crate::sentence::Sentence;
use crate::sheet::{Sheet, SheetRow, column};
use crate::verdict::{Headline, inverse, within, without_verdict};
use firsttouch_documents::DecisionReport;
use firsttouch_experiment::{
    AcrossSessions, ComparedConfiguration, ComparedSession, Comparison, ComparisonRules, Ratio, Verdict,
};
use firsttouch_sorted::SortedSet;

/// A sentence for each configuration beside the baseline: over all sessions, where there are several.
pub(crate) fn headlines(report: &DecisionReport) -> Vec<Headline> {
    let comparison = &report.comparison;
    let across = comparison.across.iter().map(|together| over_sessions(comparison, together));
    let is_across = |name: &str| comparison.across.iter().any(|together| together.name == name);
    // Those that one session alone has.
    let alone =
        comparison.sessions.iter().filter(|session| compares(comparison, session)).flat_map(|session| {
            let configurations = session.configurations.iter().skip(1);
            configurations.filter(|one| !is_across(&one.name)).map(|one| in_session(comparison, session, one))
        });
    across.chain(alone).collect()
}

/// Whether a session has the baseline, which is the first then.
fn compares(comparison: &Comparison, session: &ComparedSession) -> bool {
    session.configurations.first().is_some_and(|first| first.name == comparison.rules.baseline)
}

fn over_sessions(comparison: &Comparison, together: &AcrossSessions) -> Headline {
    let where_to = format!(" over sessions like these {}", together.sessions);
    let forecast = match together.more_sessions {
        Some(more) => {
            format!("; {} would decide it, nine times in ten", plural(more as usize, "more session"))
        }
        None if together.sessions == 2 => "; two sessions cannot tell how many more it takes".to_owned(),
        None => String::new(),
    };
    sentence(comparison, &together.name, together.verdict, Some(&together.ratio), &where_to, &forecast)
}

fn in_session(comparison: &Comparison, session: &ComparedSession, one: &ComparedConfiguration) -> Headline {
    let decided = one.decided;
    let where_to = match decided.filter(|_| session.paired) {
        Some(decided) => format!(", decided after {}", plural(decided.blocks as usize, "block")),
        None => String::new(),
    };
    let forecast = match one.more_runs {
        Some(more) => format!(
            "; about {} of each would decide it, nine times in ten",
            plural(more as usize, "more run")
        ),
        None if !meet(session, one) => "; no block has a run of both".to_owned(),
        None if one.ratio.is_none() => "; its runs are too few to tell anything".to_owned(),
        None => String::new(),
    };
    let verdict = decided.map(|decided| decided.verdict);
    sentence(comparison, &one.name, verdict, one.ratio.as_ref(), &where_to, &forecast)
}

/// Whether there are blocks in which both the baseline and this one ran. Without blocks all runs are held against each other.
fn meet(session: &ComparedSession, one: &ComparedConfiguration) -> bool {
    let baseline = session.configurations.first().map_or(&[][..], |baseline| &baseline.runs);
    let blocks: SortedSet<_> = baseline.iter().map(|run| run.block).collect();
    !session.paired || one.runs.iter().any(|run| blocks.contains(&run.block))
}

fn sentence(
    comparison: &Comparison,
    name: &str,
    verdict: Option<Verdict>,
    ratio: Option<&Ratio>,
    where_to: &str,
    forecast: &str,
) -> Headline {
    let rules = &comparison.rules;
    let interval = |ratio: &Ratio| {
        let (value, low, high) = ratio_words(ratio);
        (value, format!("95 % interval {low} to {high}"))
    };
    let headline = Headline::new(verdict).name(name);
    match (verdict, ratio) {
        (Some(verdict @ (Verdict::Faster | Verdict::Slower)), Some(ratio)) => {
            let ratio = if verdict == Verdict::Slower { inverse(ratio) } else { *ratio };
            let (value, interval) = interval(&ratio);
            headline
                .words(format!(" is {value} times {} than ", direction(verdict, rules)))
                .name(&rules.baseline)
                .words(format!("{where_to} ({interval})."))
        }
        (Some(_), ratio) => headline.words(" is the same as ").name(&rules.baseline).words(format!(
            ", within {}{where_to}{}.",
            within(rules.same_band),
            ratio.map_or(String::new(), |ratio| format!(" ({})", interval(ratio).1))
        )),
        (None, ratio) => headline.words(" is undecided against ").name(&rules.baseline).words(format!(
            "{where_to}{}{forecast}.",
            ratio.map_or(String::new(), |ratio| {
                let (value, interval) = interval(ratio);
                format!(": ratio {value}, {interval}")
            })
        )),
    }
}

/// The word for a difference. Where more is better, nothing is `faster`.
fn direction(verdict: Verdict, rules: &ComparisonRules) -> &'static str {
    match (verdict, rules.higher_is_better) {
        (Verdict::Faster, true) => "higher",
        (Verdict::Slower, true) => "lower",
        _ => rules.objective().word(verdict),
    }
}

/// The table over sessions, where there are several, and one for each session.
pub(crate) fn sheets(report: &DecisionReport) -> Vec<Sheet> {
    let comparison = &report.comparison;
    let several = comparison.sessions.len() > 1;
    let across = (!comparison.across.is_empty()).then(|| across_sheet(comparison));
    let sessions = comparison.sessions.iter().map(|session| session_sheet(report, session, several));
    across.into_iter().chain(sessions).collect()
}

fn ratio_title(comparison: &Comparison) -> &'static str {
    match direction(Verdict::Faster, &comparison.rules) {
        "higher" => "times higher [95 %]",
        "better" => "times better [95 %]",
        _ => "times faster [95 %]",
    }
}

fn verdict_cell(comparison: &Comparison, verdict: Option<Verdict>, is_baseline: bool) -> String {
    match verdict {
        Some(verdict) => direction(verdict, &comparison.rules).to_owned(),
        None => without_verdict(is_baseline).to_owned(),
    }
}

fn across_sheet(comparison: &Comparison) -> Sheet {
    let rows = comparison.across.iter().map(|together| {
        let next = Ratio {
            value: together.ratio.value,
            low: together.next_session.low,
            high: together.next_session.high,
        };
        let (_, low, high) = ratio_words(&next);
        SheetRow {
            name: Sentence::new().name(&together.name),
            is_below: false,
            cells: vec![
                together.sessions.to_string(),
                ratio(&together.ratio),
                verdict_cell(comparison, together.verdict, false),
                number::significant(together.e_value, 3),
                format!("{low} to {high}"),
                together.between_share.map_or(UNKNOWN.to_owned(), percent),
            ],
            verdict: together.verdict,
            is_baseline: false,
        }
    });
    Sheet {
        caption: Some(Sentence::new().words("All sessions, against ").name(&comparison.rules.baseline)),
        columns: vec![
            column("", "configuration", false),
            column("proved", "sessions", true),
            column("proved", ratio_title(comparison), true),
            column("proved", "verdict", false),
            column("proved", "e-value", true),
            column("spread", "next session", true),
            column("spread", "between sessions", true),
        ],
        rows: rows.collect(),
    }
}

fn session_sheet(report: &DecisionReport, session: &ComparedSession, several: bool) -> Sheet {
    let comparison = &report.comparison;
    let rows = session.configurations.iter().map(|one| {
        let is_baseline = one.name == comparison.rules.baseline;
        let decided = one.decided;
        let verdict = decided.map(|decided| decided.verdict);
        let mut cells = vec![
            one.runs.len().to_string(),
            mean(report.unit.as_deref(), one),
            match &one.ratio {
                Some(of_runs) => ratio(of_runs),
                None if is_baseline => "1".to_owned(),
                None => UNKNOWN.to_owned(),
            },
            if compares(comparison, session) {
                verdict_cell(comparison, verdict, is_baseline)
            } else {
                UNKNOWN.to_owned()
            },
        ];
        if session.paired {
            cells.push(decided.map_or(String::new(), |decided| decided.blocks.to_string()));
        }
        cells.push(decided.map_or(String::new(), |decided| number::significant(decided.e_value, 3)));
        cells.push(one.more_runs.map_or(String::new(), |more| number::plural(more as usize, "run")));
        let name = Sentence::new().name(&one.name);
        SheetRow { name, is_below: false, cells, verdict, is_baseline }
    });
    let rows: Vec<SheetRow> = rows.collect();
    let mut columns = vec![
        column("", "configuration", false),
        column("proved", "runs", true),
        column("proved", "mean ± sd", true),
        column("proved", ratio_title(comparison), true),
        column("proved", "verdict", false),
    ];
    columns.extend(session.paired.then(|| column("how", "after blocks", true)));
    columns.extend([column("how", "e-value", true), column("how", "it takes", true)]);
    Sheet { caption: several.then(|| Sentence::new().name(&session.name)), columns, rows }
}

fn mean(unit: Option<&str>, one: &ComparedConfiguration) -> String {
    match unit {
        Some("s") => number::mean_seconds(one.mean, one.deviation),
        unit => {
            let mut words = number::significant(one.mean, 4);
            if let Some(deviation) = one.deviation {
                words = format!("{words} ± {}", number::significant(deviation, 2));
            }
            unit.map_or(words.clone(), |unit| format!("{words} {unit}"))
        }
    }
}

/// The warnings of all sessions, each with its session where there are several.
pub(crate) fn warnings(report: &DecisionReport) -> Vec<Sentence> {
    let sessions = &report.comparison.sessions;
    let several = sessions.len() > 1;
    let of = |session: &ComparedSession| -> Vec<Sentence> {
        let lead = || if several { Sentence::new().name(&session.name).words(": ") } else { Sentence::new() };
        session.warnings.iter().map(|warning| lead().words(warning)).collect()
    };
    sessions.iter().flat_map(of).collect()
}
