//! What cases say: a sentence, and tables for every format.

use crate::cells::{asked, obtained};
use crate::number::{self, UNKNOWN, percent, ratio, significant};
use crate::sentence::Sentence;
use crate::sheet::{Sheet, SheetColumn, SheetRow, column};
use crate::verdict;
use firsttouch_documents::{CaseComparison, CaseReport, ComparisonAxis, PlacedArrays};
use firsttouch_placement::{CaseFigure, ConfigurationReport, ObjectObtained, Placement, TuneReport};

/// Significant digits of a figure.
const DIGITS: usize = 3;

/// What is told first of a session that Ctrl-C ended.
pub(crate) const INTERRUPTED: &str = "The session was interrupted: what it had not finished is missing.";

/// What a case computes, by which parameters, and where it comes from.
pub(crate) fn about(case: &CaseReport) -> Sentence {
    let parameters: Vec<String> =
        case.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let parameters =
        if parameters.is_empty() { String::new() } else { format!(" ({})", parameters.join(", ")) };
    Sentence::new().marked(&format!("{}{parameters}. Source: {}.", case.summary, case.source))
}

/// The word of what a comparison is of, as documents have it.
pub(crate) fn axis_word(axis: ComparisonAxis) -> &'static str {
    match axis {
        ComparisonAxis::Variants => "variants",
        ComparisonAxis::Placements => "placements",
        ComparisonAxis::Varied => "varied",
        ComparisonAxis::Objects => "objects",
    }
}

/// A table for each comparison, and one for what others published.
pub(crate) fn sheets(case: &CaseReport) -> Vec<Sheet> {
    let published = (!case.published.is_empty()).then(|| published(case));
    case.comparisons.iter().map(comparison).chain(published).collect()
}

/// What variants and placements of a case lack here.
pub(crate) fn lacking(case: &CaseReport) -> impl Iterator<Item = Sentence> {
    let missing = case.missing.iter().map(|one| {
        Sentence::new().name(&one.variant).words(": ").marked(&one.reason).words("; ").name(&one.remedy)
    });
    let skipped = case.comparisons.iter().flat_map(|comparison| &comparison.session.skipped).map(|skipped| {
        let lead = Sentence::new().name(&skipped.name).words(": ").marked(&skipped.reason);
        match &skipped.remedy {
            Some(remedy) => lead.words("; ").name(remedy),
            None => lead,
        }
    });
    missing.chain(skipped)
}

/// What is missing of a case here, what its workloads say, what was skipped, and what makes its figures less sure.
pub(crate) fn remarks(case: &CaseReport) -> Vec<Sentence> {
    let sessions = || case.comparisons.iter().map(|comparison| &comparison.session);
    let configurations = sessions().flat_map(|session| &session.configurations);
    let notes = configurations.filter_map(|one| Some((&one.name, &one.case.as_ref()?.notes))).flat_map(
        |(name, notes)| notes.iter().map(move |note| Sentence::new().name(name).words(": ").marked(note)),
    );
    let warnings = sessions().flat_map(|session| &session.warnings).map(Sentence::from);
    let mut all: Vec<Sentence> = Vec::new();
    let found = case.objects.iter().flat_map(found_words);
    for sentence in found.chain(lacking(case)).chain(notes).chain(warnings) {
        // Comparisons of one case have much in common.
        if !all.iter().any(|one| one.plain() == sentence.plain()) {
            all.push(sentence);
        }
    }
    all
}

/// The arrays of a case, and which of them deserve a place of their own.
fn found_words(found: &PlacedArrays) -> [Sentence; 2] {
    let array = |(name, bytes): (&String, &u64)| format!("{name} {}", number::bytes(*bytes as f64));
    let arrays: Vec<String> = found.arrays.iter().map(array).collect();
    let kept = match &found.placement {
        Some(placement) => {
            Sentence::new().words("Arrays that deserve a place of their own: ").name(&placement.to_string())
        }
        None => Sentence::new().words("No array deserves a place of its own."),
    };
    [kept, Sentence::new().words(format!("Arrays: {}.", arrays.join(", ")))]
}

fn comparison(comparison: &CaseComparison) -> Sheet {
    let session = &comparison.session;
    let case = session.configurations.iter().find_map(|one| one.case.as_deref());
    let limit = session.configurations.iter().find_map(|one| one.case.as_ref()?.limit.as_ref());
    let caption = match comparison.of {
        ComparisonAxis::Variants => Sentence::new().words("Variants"),
        ComparisonAxis::Placements => {
            let variant = case.map_or("", |case| case.variant.as_str());
            Sentence::new().words("Placements of ").name(variant)
        }
        ComparisonAxis::Varied => Sentence::new().words("Values"),
        ComparisonAxis::Objects => Sentence::new().words("An array more at a place of its own"),
    };
    let caption = match limit {
        Some(limit) => caption.words(format!("; {}: {}", limit.what, limit_words(limit.value))),
        None => caption,
    };
    let places = comparison.of == ComparisonAxis::Placements
        || session.configurations.iter().any(|one| one.asked.is_some());
    let mut columns: Vec<SheetColumn> =
        vec![column("", "configuration", false), column("figure", "figure [95 %]", true)];
    columns.extend(limit.is_some().then(|| column("figure", "of the limit", true)));
    columns.extend([
        column("proved", "times faster [95 %]", true),
        column("proved", "verdict", false),
        column("proved", "runs", true),
    ]);
    columns.extend(places.then(|| column("obtained", "obtained", false)));
    let row = |(index, one): (usize, &ConfigurationReport)| {
        let is_baseline = index == 0;
        let mut cells = vec![
            one.case.as_deref().map_or(UNKNOWN.to_owned(), |case| figure_words(case.figure, &case.unit)),
        ];
        cells.extend(limit.is_some().then(|| share(one)));
        cells.extend([
            match &one.proved.ratio {
                Some(of_runs) => ratio(of_runs),
                None if is_baseline => "1".to_owned(),
                None => UNKNOWN.to_owned(),
            },
            verdict_word(session, one, is_baseline),
            one.proved.runs.len().to_string(),
        ]);
        cells.extend(places.then(|| obtained_words(one)));
        let verdict = one.proved.verdict();
        SheetRow { name: name(comparison.of, one), is_below: false, cells, verdict, is_baseline }
    };
    Sheet {
        caption: Some(caption),
        columns,
        rows: session.configurations.iter().enumerate().map(row).collect(),
    }
}

/// What it obtained; of arrays with places of their own what each of them did.
fn obtained_words(one: &ConfigurationReport) -> String {
    let Some(case) = one.case.as_deref().filter(|case| !case.objects.is_empty()) else {
        return obtained(one);
    };
    let object = |(name, object): (&String, &ObjectObtained)| {
        let huge = object.huge_bytes.map_or(String::new(), |huge| {
            format!(", {} huge", percent(huge as f64 / object.bytes.max(1) as f64))
        });
        let nodes: Vec<String> = object.bytes_by_node.keys().map(u32::to_string).collect();
        let nodes = if nodes.is_empty() { String::new() } else { format!(", node {}", nodes.join("+")) };
        format!("{name}: {}{huge}{nodes}", number::bytes(object.bytes as f64))
    };
    case.objects.iter().map(object).collect::<Vec<_>>().join("; ")
}

/// `packed-b:thp:prefer=hbm, a:thp`: each array that has a place of its own.
fn objects_words(placement: Option<&Placement>) -> String {
    let objects = placement.iter().flat_map(|placement| &placement.objects);
    let words: Vec<String> = objects.map(|(name, place)| format!("{name}:{place}")).collect();
    words.join(", ")
}

/// What a configuration is called: by what differs alone.
fn name(axis: ComparisonAxis, one: &ConfigurationReport) -> Sentence {
    let name = |name: &str| Sentence::new().name(name);
    match (axis, &one.case) {
        (ComparisonAxis::Variants, Some(case)) if case.alternative => {
            name(&case.variant).words(" (alternative)")
        }
        (ComparisonAxis::Variants, Some(case)) => name(&case.variant),
        (ComparisonAxis::Placements | ComparisonAxis::Objects, _) if one.asked.is_none() => {
            Sentence::new().words("as it is")
        }
        (ComparisonAxis::Objects, _) => name(&objects_words(one.asked.as_ref())),
        (ComparisonAxis::Placements, _) => name(&asked(one.asked.as_ref())),
        _ => name(&one.name),
    }
}

fn verdict_word(session: &TuneReport, one: &ConfigurationReport, is_baseline: bool) -> String {
    verdict::word(session, one.proved.verdict(), is_baseline).to_owned()
}

/// `12.3 [12.1, 12.5] GB/s`.
pub(crate) fn figure_words(figure: Option<CaseFigure>, unit: &str) -> String {
    let Some(figure) = figure else { return UNKNOWN.to_owned() };
    let shown = |value: f64| match unit {
        "s" => number::seconds(value),
        _ => significant(value, DIGITS),
    };
    let ends = figure
        .low
        .zip(figure.high)
        .map_or(String::new(), |(low, high)| format!(" [{}, {}]", shown(low), shown(high)));
    match unit {
        "s" => format!("{}{ends}", shown(figure.value)),
        unit => format!("{}{ends} {unit}", shown(figure.value)),
    }
}

fn share(one: &ConfigurationReport) -> String {
    let share = one.case.as_ref().and_then(|case| case.limit.as_ref()?.share);
    share.map_or(UNKNOWN.to_owned(), percent)
}

/// Bytes or operations by second; of less than one it is the time of a read.
fn limit_words(value: f64) -> String {
    if value < 1.0 { number::seconds(value) } else { format!("{} G/s", significant(value / 1e9, DIGITS)) }
}

fn published(case: &CaseReport) -> Sheet {
    let rows = case.published.iter().map(|one| SheetRow {
        name: Sentence::new().words(&one.what),
        is_below: false,
        cells: vec![format!("{} {}", significant(one.value, 4), one.unit), one.source.clone()],
        verdict: None,
        is_baseline: true,
    });
    Sheet {
        caption: Some(Sentence::new().words("Published")),
        columns: vec![
            column("", "of", false),
            column("figure", "figure", true),
            column("source", "where", false),
        ],
        rows: rows.collect(),
    }
}
