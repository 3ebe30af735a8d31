//! What has to be said about the figures besides the verdict: how they were made, and what is odd about them.

use crate::cells::other_means;
use crate::number::plural;
use crate::sentence::Sentence;
use crate::summary::{baseline_name, fresh_blocks, raw_runs, search_blocks};
use crate::verdict::about;
use firsttouch_experiment::Verdict;
use firsttouch_placement::TuneReport;

/// What is neither warning nor shortfall: bimodal, dropped and undecided configurations, outliers, and the notes
/// of the receipts.
pub(crate) fn remarks(report: &TuneReport) -> Vec<Sentence> {
    let mut remarks = Vec::new();
    for configuration in &report.configurations {
        let named = || Sentence::new().name(&configuration.name);
        if configuration.proved.bimodal {
            remarks.push(named().words(
                " is bimodal: its times fall into more than one group, so its mean describes neither (dip test, \
                 5 % level).",
            ));
        }
        if let Some(block) = configuration.proved.dropped_after_block {
            let blocks = plural((block as usize).saturating_add(1), "block");
            remarks.push(
                named().words(format!(" was dropped after {blocks}: it was certainly worse than the best.")),
            );
        }
        if let (Some(Verdict::Undecided), Some(more)) =
            (configuration.proved.verdict, configuration.proved.more_runs)
        {
            remarks.push(named().words(format!(" is undecided: it would take {}.", about(more))));
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
    let quick = if report.quick {
        "The session used --quick: 5 blocks were enough to stop, where 10 are usual. "
    } else {
        ""
    };
    let fresh = match fresh_blocks(report) {
        0 => "of which this session has none.".to_owned(),
        number => format!("here {number}."),
    };
    Sentence::new()
        .words(format!(
            "{} in {} of the search phase (seed {}, started {}). Every block runs each live configuration once, \
             in a fresh random order, the baseline (",
            plural(raw_runs(report).len(), "timed run"),
            plural(search_blocks(report), "block"),
            report.seed,
            report.started,
        ))
        .name(baseline_name(report))
        .words(format!(
            ") included. {quick}Times are means with a Student-t 95 % interval. Ratios are baseline time over time: \
             geometric means of the ratios within each block, with a t interval of their logarithms, so what \
             drifts over the session cancels. Verdicts of the search are adjusted for the number of configurations \
             (Holm). The verdict sentence rests on the confirmation phase alone: fresh blocks of the winner and \
             the baseline, {fresh}"
        ))
}
