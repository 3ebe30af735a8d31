//! The JSON of sessions, whose numbers may be none that JSON can hold, and of the data blocks in pages.

use firsttouch_documents::{BenchReport, Document, to_json, to_line};
use firsttouch_experiment::{Decided, Forecast, Judged, Ratio};
use firsttouch_placement::TuneReport;
use std::borrow::Cow;

/// A session as indented JSON, ending in a newline.
pub fn tune(report: &TuneReport) -> String {
    to_json(finite(report).as_ref())
}

/// A session on one line, for the data block of a page.
pub(crate) fn tune_block(report: &TuneReport) -> String {
    block(finite(report).as_ref())
}

/// Cases as indented JSON, ending in a newline.
pub fn bench(report: &BenchReport) -> String {
    to_json(&finite_bench(report))
}

/// Cases on one line, for the data block of a page.
pub(crate) fn bench_block(report: &BenchReport) -> String {
    block(&finite_bench(report))
}

fn finite_bench(report: &BenchReport) -> BenchReport {
    let mut report = report.clone();
    let sessions = report.cases.iter_mut().flat_map(|case| &mut case.comparisons);
    sessions.for_each(|comparison| comparison.session = finite(&comparison.session).into_owned());
    report
}

/// A document on one line, such that no string in it can end the data block of a page: `<` stands in JSON strings only,
/// where it may be written as an escape.
pub(crate) fn block(document: &impl Document) -> String {
    to_line(document).trim_end().replace('<', "\\u003c")
}

/// The document with every number that JSON cannot hold taken out, as unknown where the contract has a word for
/// it. A mean without runs is no figure, whatever stands there.
fn finite(report: &TuneReport) -> Cow<'_, TuneReport> {
    let sound = |ratio: &Ratio| [ratio.value, ratio.low, ratio.high].iter().all(|value| value.is_finite());
    let described = |judged: Judged| judged.mean.is_finite() && judged.deviation.is_none_or(f64::is_finite);
    let timed = |forecast: &Forecast| forecast.seconds.is_finite();
    let decided = |decided: &Decided| sound(&decided.ratio) && decided.e_value.is_finite();
    let fine = report.configurations.iter().map(|configuration| &configuration.proved).all(|proved| {
        proved.mean_wall_s.is_finite()
            && proved.deviation_wall_s.is_none_or(f64::is_finite)
            && proved.judged.is_none_or(described)
            && proved.ratio.as_ref().is_none_or(sound)
            && proved.decided.as_ref().is_none_or(decided)
            && proved.forecast.as_ref().is_none_or(timed)
    }) && report.confirmation.iter().all(|confirmation| {
        confirmation.ratio.as_ref().is_none_or(sound) && confirmation.forecast.as_ref().is_none_or(timed)
    }) && report.same_band.is_finite();
    if fine {
        return Cow::Borrowed(report);
    }
    let mut report = report.clone();
    for proved in report.configurations.iter_mut().map(|configuration| &mut configuration.proved) {
        if !proved.mean_wall_s.is_finite() {
            proved.mean_wall_s = 0.0;
        }
        proved.deviation_wall_s = proved.deviation_wall_s.filter(|deviation| deviation.is_finite());
        proved.judged = proved.judged.filter(|judged| described(*judged));
        proved.ratio = proved.ratio.filter(sound);
        proved.decided = proved.decided.filter(decided);
        proved.forecast = proved.forecast.filter(timed);
    }
    if let Some(confirmation) = &mut report.confirmation {
        confirmation.ratio = confirmation.ratio.filter(sound);
        confirmation.forecast = confirmation.forecast.filter(timed);
    }
    if !report.same_band.is_finite() {
        report.same_band = 0.0;
    }
    Cow::Owned(report)
}
