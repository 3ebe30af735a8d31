//! What has to be said about the figures besides the verdict: how they were made, and what is odd about them.

use crate::cells::other_means;
use crate::judged::Judged;
use crate::number::plural;
use crate::sentence::Sentence;
use crate::summary::{baseline_name, fresh_blocks, raw_runs, search_blocks, varied};
use crate::verdict::about;
use firsttouch_placement::TuneReport;

/// What is neither warning nor shortfall: bimodal and undecided configurations, outliers, and the notes
/// of the receipts.
pub(crate) fn remarks(report: &TuneReport) -> Vec<Sentence> {
    let mut remarks = Vec::new();
    for configuration in &report.configurations {
        let named = || Sentence::new().name(&configuration.name);
        if configuration.proved.bimodal {
            remarks.push(named().words(format!(
                " is bimodal: its {} fall into more than one group, so its mean describes neither (dip test, \
                 5 % level).",
                report.objective.values()
            )));
        }
        if let Some(forecast) = &configuration.proved.forecast {
            remarks.push(
                named()
                    .words(format!(" is undecided: {} would decide it, nine times in ten.", about(forecast))),
            );
        }
    }
    let runs = raw_runs(report);
    let outliers = runs.iter().filter(|(_, _, run)| run.outlier).count();
    if outliers > 0 {
        remarks.push(Sentence::new().words(format!(
            "{outliers} of {} {} (modified z-score above 3.5): marked, not dropped.",
            plural(runs.len(), "run"),
            if outliers == 1 { "is an outlier" } else { "are outliers" }
        )));
    }
    for configuration in &report.configurations {
        let Some(receipt) = &configuration.obtained else { continue };
        let means = other_means(receipt, configuration.asked.as_ref());
        for note in means.iter().chain(&receipt.notes) {
            remarks.push(Sentence::new().name(&configuration.name).words(format!(": {note}")));
        }
    }
    remarks
}

/// How the session was made, in one paragraph; also the place where the seed stands.
pub(crate) fn method(report: &TuneReport) -> Sentence {
    let better = Judged::of(report).better();
    let (judged, ratios) = match (report.objective.is_wall(), report.objective.higher_is_better) {
        (true, _) => ("Times are".to_owned(), "baseline time over time"),
        (false, more) => (
            format!(
                "Judged is {}, of which {} is better. Values are",
                report.objective.metric.label(),
                if more { "more" } else { "less" }
            ),
            if more { "value over the baseline's" } else { "baseline's value over value" },
        ),
    };
    let quick = if report.quick {
        format!("The session used --quick: those that are {better} than the baseline were not told apart. ")
    } else {
        String::new()
    };
    let each = varied(report).into_iter().map(|(name, values)| format!("{name} ({})", values.join(", ")));
    let varied = match each.collect::<Vec<_>>() {
        none if none.is_empty() => String::new(),
        each => format!("Varied: {}. ", each.join("; ")),
    };
    let fresh = match fresh_blocks(report) {
        0 => "of which this session has none.".to_owned(),
        number => format!("here {number}."),
    };
    Sentence::new()
        .words(format!(
            "{varied}{} in {} of the search phase (seed {}, started {}). Every block runs each live configuration once, \
             in a fresh random order, the baseline (",
            plural(raw_runs(report).len(), "timed run"),
            plural(search_blocks(report), "block"),
            report.seed,
            report.started,
        ))
        .name(baseline_name(report))
        .words(format!(
            ") included; one that is decided leaves. {quick}{judged} means with the standard deviation of a run. Ratios are \
             {ratios}: geometric means of the ratios within each block, so what drifts over the session \
             cancels, with an interval that holds at 95 % however often it is looked at. Verdicts count all configurations \
             (a closed test of e-values). The verdict sentence rests on the confirmation phase alone: fresh blocks of what is \
             recommended and of the baseline, {fresh}"
        ))
}
