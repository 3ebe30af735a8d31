//! Documents of ours: the runs of a session of `tune`, in its blocks; and what was decided before.

use super::{MeasuredError, MeasuredFile, MeasuredFormat};
use crate::summary::{Phase, raw_runs};
use firsttouch_documents::AnyDocument;
use firsttouch_experiment::{MeasuredConfiguration, MeasuredRun, MeasuredSession, Metric};
use firsttouch_placement::TuneReport;

pub(super) fn read(text: &str) -> Result<MeasuredFile, MeasuredError> {
    match crate::open(text)? {
        AnyDocument::Tune(report) => session(MeasuredFormat::Tune, &report),
        AnyDocument::Decision(report) => {
            let configurations = |session: &firsttouch_experiment::ComparedSession| {
                let configurations = session.configurations.iter();
                configurations
                    .map(|one| MeasuredConfiguration { name: one.name.clone(), runs: one.runs.clone() })
                    .collect()
            };
            let sessions: Vec<MeasuredSession> = report
                .comparison
                .sessions
                .iter()
                .map(|session| MeasuredSession {
                    name: session.name.clone(),
                    configurations: configurations(session),
                })
                .collect();
            let format = MeasuredFormat::Decision;
            let all = sessions.iter().flat_map(|session| &session.configurations);
            if let Some(run) = all.flat_map(|one| &one.runs).find(|run| !MeasuredRun::is_sound(run.value)) {
                return Err(MeasuredError::Shape {
                    format,
                    reason: format!("it has the value {}", run.value),
                });
            }
            Ok(MeasuredFile {
                format,
                unit: report.unit.clone(),
                higher_is_better: Some(report.comparison.rules.higher_is_better),
                metric: report.comparison.rules.metric.clone(),
                sessions,
                notes: Vec::new(),
            })
        }
        other => Err(MeasuredError::NoRuns { kind: other.kind() }),
    }
}

/// What the session judged of the runs of the search; then of those of the confirmation, whose blocks come after.
fn session(format: MeasuredFormat, report: &TuneReport) -> Result<MeasuredFile, MeasuredError> {
    let runs = raw_runs(report);
    let searched = runs.iter().filter(|(_, phase, _)| *phase == Phase::Search);
    let fresh = searched.map(|(_, _, run)| run.block.saturating_add(1)).max().unwrap_or(0);
    let mut configurations: Vec<MeasuredConfiguration> = report
        .configurations
        .iter()
        .map(|one| MeasuredConfiguration { name: one.name.clone(), runs: Vec::new() })
        .collect();
    for (name, phase, run) in runs {
        let value = report.objective.value(&run.timed).filter(|value| MeasuredRun::is_sound(*value));
        let Some(value) = value else {
            let reason = format!(
                "a run of `{name}` has no number from 1e-100 to 1e100 for {}",
                report.objective.metric
            );
            return Err(MeasuredError::Shape { format, reason });
        };
        let block = if phase == Phase::Search { run.block } else { run.block.saturating_add(fresh) };
        let run = MeasuredRun { block: Some(block), order: Some(run.order), value };
        if let Some(own) = configurations.iter_mut().find(|one| one.name == name) {
            own.runs.push(run);
        }
    }
    configurations.retain(|one| !one.runs.is_empty());
    let metric = &report.objective.metric;
    let unit = match metric {
        Metric::Rss => Some("bytes".to_owned()),
        metric if metric.is_seconds() => Some("s".to_owned()),
        metric => (!metric.is_said()).then(|| metric.to_string()),
    };
    let file = MeasuredFile::of_session(format, unit.as_deref(), configurations);
    let higher_is_better = Some(report.objective.higher_is_better);
    Ok(MeasuredFile { metric: Some(metric.clone()), higher_is_better, ..file })
}
