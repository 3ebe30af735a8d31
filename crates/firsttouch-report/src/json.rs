//! The JSON of sessions, whose numbers may be none that JSON can hold, and of the data blocks in pages.

use firsttouch_documents::{Document, to_json, to_line};
use firsttouch_experiment::Ratio;
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

/// A document on one line, such that no string in it can end the data block of a page: `<` stands in JSON strings only,
/// where it may be written as an escape.
pub(crate) fn block(document: &impl Document) -> String {
    to_line(document).trim_end().replace('<', "\\u003c")
}

/// The document with every number that JSON cannot hold taken out, as unknown where the contract has a word for
/// it. A mean without runs is no figure, whatever stands there.
fn finite(report: &TuneReport) -> Cow<'_, TuneReport> {
    let sound = |ratio: &Ratio| [ratio.value, ratio.low, ratio.high].iter().all(|value| value.is_finite());
    let fine =
        report.configurations.iter().all(|configuration| {
            configuration.proved.mean_wall_s.is_finite()
                && configuration.proved.ci95_wall_s.is_none_or(f64::is_finite)
                && configuration.proved.ratio.as_ref().is_none_or(sound)
        }) && report.confirmation.iter().all(|confirmation| confirmation.ratio.as_ref().is_none_or(sound))
            && report.tied_with.as_ref().is_none_or(|tie| sound(&tie.ratio));
    if fine {
        return Cow::Borrowed(report);
    }
    let mut report = report.clone();
    for configuration in &mut report.configurations {
        if !configuration.proved.mean_wall_s.is_finite() {
            configuration.proved.mean_wall_s = 0.0;
        }
        configuration.proved.ci95_wall_s = configuration.proved.ci95_wall_s.filter(|half| half.is_finite());
        configuration.proved.ratio = configuration.proved.ratio.filter(sound);
    }
    if let Some(confirmation) = &mut report.confirmation {
        confirmation.ratio = confirmation.ratio.filter(sound);
    }
    report.tied_with = report.tied_with.filter(|tie| sound(&tie.ratio));
    Cow::Owned(report)
}
