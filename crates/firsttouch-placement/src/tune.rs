//! Proved: the document `tune` writes. Every raw run is in it, in order.

use crate::{CaseFigures, Pages, Placement, Receipt, Via};
use firsttouch_experiment::{ConfigurationResult, Confirmation, Metric, Objective, SessionRun};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One configuration: asked, obtained, proved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ConfigurationReport {
    /// Short name, unique in the document (`baseline`, `thp`, `glibc-2m`, `thp threads=2`).
    pub name: String,
    /// The value of each name that was varied; empty where nothing was.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub varied: BTreeMap<String, String>,
    /// The program and its arguments with those values; absent of a variant of a benchmark of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The case that it ran; absent of what is no benchmark of cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<Box<CaseFigures>>,
    /// What was asked; `None` for a plain run (the baseline) or an alternative's own launcher.
    pub asked: Option<Placement>,
    /// What was obtained, from the untimed probe run.
    pub obtained: Option<Receipt>,
    /// What its runs proved; in a document these keys stand beside the others.
    #[serde(flatten)]
    pub proved: ConfigurationResult,
}

impl ConfigurationReport {
    /// What `runs` of this configuration had in memory at their peak: the median, in bytes. `None` without a run.
    ///
    /// A run tells the resident set of its largest process. Pages of a pool are in no resident set, so those of the
    /// untimed run are added. By other means than the agent's nobody counts them: all huge pages are taken for such then.
    pub fn peak_memory_bytes(&self, runs: &[SessionRun]) -> Option<u64> {
        let mut peaks: Vec<u64> = runs.iter().map(|run| run.timed.max_rss_bytes).collect();
        peaks.sort_unstable();
        let upper = *peaks.get(peaks.len() / 2)?;
        let lower = peaks[(peaks.len() - 1) / 2];
        let pool_bytes = pool_bytes(self.asked.as_ref(), self.obtained.as_ref());
        Some((lower + (upper - lower) / 2).saturating_add(pool_bytes))
    }
}

/// Bytes on pages of a pool, by the receipt of the untimed run.
pub fn pool_bytes(asked: Option<&Placement>, obtained: Option<&Receipt>) -> u64 {
    let obtained = obtained.and_then(|receipt| receipt.obtained.as_ref());
    let (Some(asked), Some(obtained)) = (asked, obtained) else { return 0 };
    let of_a_pool = asked.pages.is_reserved() && asked.via != Via::Supervise;
    if asked.is_placed_by_agent() || !of_a_pool {
        return obtained.pool_bytes;
    }
    let huge = obtained.bytes_by_page_size.range(Pages::Huge2M.bytes() as u64..);
    huge.fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
}

/// A configuration that was not run, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SkippedConfiguration {
    /// Its name.
    pub name: String,
    /// Why it cannot run here.
    pub reason: String,
    /// The command that would make it possible, where one exists.
    pub remedy: Option<String>,
}

/// The document of one `tune` session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TuneReport {
    /// The program and its arguments as they were typed: `{name}` in them stands for what was varied.
    pub command: Vec<String>,
    /// The seed of the block orders.
    pub seed: u64,
    /// When the session started, RFC 3339 in UTC.
    pub started: String,
    /// What is judged, and which direction is better; the wall time in documents that do not say.
    #[serde(flatten)]
    pub objective: Objective,
    /// The machine, as `status --json` prints it under `machine`.
    pub machine: serde_json::Value,
    /// The baseline first, then the others in the order asked.
    pub configurations: Vec<ConfigurationReport>,
    /// Configurations that could not run here.
    #[serde(default)]
    pub skipped: Vec<SkippedConfiguration>,
    /// Names of those that are faster than the baseline and cannot be told apart from the best of them, the fastest first.
    pub best: Vec<String>,
    /// Name of the one of them that asks least of the program and of the machine.
    pub recommended: Option<String>,
    /// Where the recommended one is not the fastest: what it spares beside the fastest, in words that follow its name (`needs no library
    /// in front of malloc`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spares: Option<String>,
    /// The confirmation phase, if there was something to confirm.
    pub confirmation: Option<Confirmation>,
    /// The session was cut short (Ctrl-C): what is here is what was finished.
    #[serde(default)]
    pub interrupted: bool,
    /// Half-width of the band around 1 in which a ratio counts as the same.
    pub same_band: f64,
    /// The session used `--quick`: those that are faster than the baseline were not told apart.
    #[serde(default)]
    pub quick: bool,
    /// Things that make the figures less sure, each with what to do.
    pub warnings: Vec<String>,
}

impl TuneReport {
    /// More memory than this share of the baseline's is a cost that has to be told beside the gain.
    pub const MEMORY_WORTH_TELLING: f64 = 0.1;

    /// Peak memory of the recommended configuration and of the baseline in bytes, by the runs that confirmed it.
    pub fn confirmed_memory_bytes(&self) -> Option<(u64, u64)> {
        let (confirmation, baseline) = (self.confirmation.as_ref()?, self.configurations.first()?);
        let recommended = self.configuration(self.recommended.as_deref()?)?;
        recommended
            .peak_memory_bytes(&confirmation.recommended_runs)
            .zip(baseline.peak_memory_bytes(&confirmation.baseline_runs))
    }

    /// How much more memory the recommended one needs, as a share of the baseline's; `None` where that is not worth telling, or is what
    /// is judged.
    pub fn more_memory(&self) -> Option<f64> {
        if self.objective.metric == Metric::Rss {
            return None;
        }
        let (recommended, baseline) = self.confirmed_memory_bytes()?;
        let (recommended, baseline) = (recommended as f64, baseline as f64);
        let is_worth_telling = baseline > 0.0 && recommended > baseline * (1.0 + Self::MEMORY_WORTH_TELLING);
        is_worth_telling.then(|| recommended / baseline - 1.0)
    }

    /// The program and its arguments as a configuration starts them, without what places them.
    pub fn command_of<'a>(&'a self, configuration: &'a ConfigurationReport) -> &'a [String] {
        configuration.command.as_ref().unwrap_or(&self.command)
    }

    /// The configuration of that name.
    pub fn configuration(&self, name: &str) -> Option<&ConfigurationReport> {
        self.configurations.iter().find(|configuration| configuration.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Obtained;
    use crate::receipt::tests::receipt;
    use firsttouch_experiment::{ConfirmationState, TimedRun};

    const MIB: u64 = 1 << 20;

    fn runs(peaks: &[u64]) -> Vec<SessionRun> {
        let run = |(order, &max_rss_bytes)| SessionRun {
            block: order,
            order,
            timed: TimedRun { wall_s: 1.0, user_s: 1.0, max_rss_bytes, ..TimedRun::default() },
            outlier: false,
        };
        (0..).zip(peaks).map(run).collect()
    }

    fn configuration(asked: &str, obtained: Obtained) -> ConfigurationReport {
        let asked: Placement = asked.parse().unwrap();
        ConfigurationReport {
            name: asked.to_string(),
            varied: BTreeMap::new(),
            command: None,
            case: None,
            obtained: Some(receipt(asked.clone(), obtained)),
            asked: Some(asked),
            proved: ConfigurationResult::default(),
        }
    }

    #[test]
    fn peak_memory_is_the_median_and_holds_what_a_pool_gave() {
        let by_page_size = BTreeMap::from([(4096, 7 * MIB), (2 << 20, 64 * MIB), (1 << 30, 1024 * MIB)]);
        let obtained =
            Obtained { pool_bytes: 32 * MIB, bytes_by_page_size: by_page_size, ..Obtained::default() };
        let peak = |asked: &str, peaks: &[u64]| {
            configuration(asked, obtained.clone()).peak_memory_bytes(&runs(peaks))
        };
        assert_eq!(peak("2m", &[]), None);
        assert_eq!(peak("2m", &[30 * MIB, 10 * MIB, 900 * MIB]), Some(62 * MIB));
        assert_eq!(peak("2m", &[10 * MIB, 20 * MIB]), Some(47 * MIB));
        // glibc counts nothing; and what it was not asked to take of a pool lies elsewhere.
        assert_eq!(peak("2m,via=glibc", &[10 * MIB]), Some(1098 * MIB));
        let transparent = Obtained { pool_bytes: 0, ..obtained.clone() };
        let glibc = configuration("thp,via=glibc", transparent);
        assert_eq!(glibc.peak_memory_bytes(&runs(&[10 * MIB])), Some(10 * MIB));
        assert_eq!(glibc.peak_memory_bytes(&runs(&[u64::MAX, u64::MAX])), Some(u64::MAX));
    }

    #[test]
    fn more_memory_is_told_beyond_a_tenth() {
        let more = |recommended: u64, baseline: u64| {
            let mut configurations =
                vec![configuration("plain", Obtained::default()), configuration("thp", Obtained::default())];
            configurations[0].name = "baseline".to_owned();
            let report = TuneReport {
                command: Vec::new(),
                seed: 0,
                started: String::new(),
                objective: Objective::default(),
                machine: serde_json::Value::Null,
                configurations,
                skipped: Vec::new(),
                best: vec!["thp".to_owned()],
                recommended: Some("thp".to_owned()),
                spares: None,
                confirmation: Some(Confirmation {
                    ratio: None,
                    state: ConfirmationState::Confirmed,
                    forecast: None,
                    baseline_runs: runs(&[baseline]),
                    recommended_runs: runs(&[recommended]),
                }),
                interrupted: false,
                same_band: 0.02,
                quick: false,
                warnings: Vec::new(),
            };
            report.more_memory()
        };
        assert_eq!(more(150, 100), Some(0.5));
        assert_eq!((more(110, 100), more(90, 100), more(5, 0)), (None, None, None));
    }
}
