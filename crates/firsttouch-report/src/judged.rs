//! What a session judged, in the words and units of people: faster and slower of times that pass on the wall, better and worse of
//! anything else.

use crate::number::{self, UNKNOWN};
use crate::visible::shortened;
use firsttouch_experiment::{Metric, Objective, SessionRun, Verdict};
use firsttouch_placement::{ConfigurationReport, TuneReport};

/// Columns that the title of a column may take.
const TITLE_COLUMNS: usize = 20;

/// A value of a metric in its unit: `12.3 s`, `405 MiB`, `104k`; what a program says has none.
pub fn amount(metric: &Metric, value: f64) -> String {
    match metric {
        Metric::Rss => number::bytes(value),
        metric if metric.is_seconds() => number::seconds(value),
        metric if metric.is_said() => number::significant(value, 4),
        _ => number::count(value),
    }
}

/// The words for what a session judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged<'a>(pub(crate) &'a Objective);

impl<'a> Judged<'a> {
    pub(crate) fn of(report: &'a TuneReport) -> Judged<'a> {
        Judged(&report.objective)
    }

    pub(crate) fn better(self) -> &'static str {
        self.0.word(Verdict::Faster)
    }

    pub(crate) fn worse(self) -> &'static str {
        self.0.word(Verdict::Slower)
    }

    /// Words after a comparison, where it is not of times that pass on the wall: ` by peak memory`.
    pub(crate) fn by(self) -> String {
        if self.0.is_wall() { String::new() } else { format!(" by {}", self.0.metric.label()) }
    }

    /// The title of the column of ratios.
    pub(crate) fn ratio_title(self) -> String {
        format!("times {} [95 %]", self.better())
    }

    /// The title of the column of means.
    pub(crate) fn mean_title(self) -> String {
        let label = self.0.metric.label();
        let what = if self.0.is_wall() { "mean".into() } else { shortened(&label, TITLE_COLUMNS) };
        format!("{what} ± sd")
    }

    /// The name of an axis: `wall time in seconds`.
    pub(crate) fn axis(self) -> String {
        let label = self.0.metric.label();
        match &self.0.metric {
            Metric::Rss => format!("{label} in bytes"),
            metric if metric.is_seconds() => format!("{label} in seconds"),
            _ => label,
        }
    }

    /// The same at the beginning of a sentence; what a program says is quoted as it is.
    pub(crate) fn caption(self) -> String {
        let label = self.0.metric.label();
        if self.0.metric.is_said() {
            return label;
        }
        let mut letters = label.chars();
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
    }

    pub(crate) fn value(self, run: &SessionRun) -> Option<f64> {
        self.0.value(&run.timed)
    }

    pub(crate) fn show(self, value: f64) -> String {
        amount(&self.0.metric, value)
    }

    /// The mean of runs; unknown without any.
    pub(crate) fn mean_of(self, runs: &[SessionRun]) -> String {
        let values: Vec<f64> = runs.iter().filter_map(|run| self.value(run)).collect();
        crate::summary::mean(&values).map_or(UNKNOWN.to_owned(), |mean| self.show(mean))
    }

    /// Mean and standard deviation of the runs of a configuration in the search; `None` without a run.
    pub(crate) fn described(self, configuration: &ConfigurationReport) -> Option<(f64, Option<f64>)> {
        let proved = &configuration.proved;
        if proved.runs.is_empty() {
            return None;
        }
        match proved.judged {
            _ if self.0.is_wall() => Some((proved.mean_wall_s, proved.deviation_wall_s)),
            judged => judged.map(|judged| (judged.mean, judged.deviation)),
        }
    }

    /// The same as tables show it.
    pub(crate) fn mean(self, configuration: &ConfigurationReport) -> String {
        let Some((mean, deviation)) = self.described(configuration) else { return UNKNOWN.to_owned() };
        match &self.0.metric {
            metric if metric.is_seconds() => number::mean_seconds(mean, deviation),
            Metric::Rss => number::mean_bytes(mean, deviation),
            _ => match deviation.filter(|deviation| deviation.is_finite() && mean.is_finite()) {
                Some(deviation) => number::mean_number(mean, deviation),
                None => self.show(mean),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_its_unit() {
        let shown = |metric: &str, value: f64| amount(&metric.parse().unwrap(), value);
        assert_eq!(shown("user", 0.25), "250 ms");
        assert_eq!(shown("rss", 405.0 * 1024.0 * 1024.0), "405 MiB");
        assert_eq!(shown("cycles", 1.2e9), "1.20G");
        assert_eq!(shown("stdout:rate (.*)", 1234.56), "1235");
    }

    #[test]
    fn words_are_those_of_the_metric() {
        let wall = Objective::default();
        let rss = Objective { metric: Metric::Rss, higher_is_better: false };
        let words = |objective: &Objective| {
            let judged = Judged(objective);
            [judged.ratio_title(), judged.mean_title(), judged.axis(), judged.by()]
        };
        assert_eq!(words(&wall), ["times faster [95 %]", "mean ± sd", "wall time in seconds", ""]);
        let expected = ["times better [95 %]", "peak memory ± sd", "peak memory in bytes", " by peak memory"];
        assert_eq!(words(&rss), expected);
        assert_eq!(Judged(&rss).caption(), "Peak memory");
    }
}
