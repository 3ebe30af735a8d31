//! No statistic panics or answers with something that is no number, whatever positive times it is given.

use crate::machine::plan;
use firsttouch_experiment::statistics::{dip, drift, holm, ratio, sample, student, wilcoxon};
use firsttouch_experiment::{Launcher, Plan, RunRequest, SessionResult, Silent, TimedRun, run};
use proptest::prelude::*;
use std::convert::Infallible;
use std::time::Duration;

/// Times over 24 orders of magnitude, with equal ones among them; often none, one, two or all the same.
fn times() -> impl Strategy<Value = Vec<f64>> {
    let any = (-12.0f64..12.0).prop_map(|exponent| 10f64.powf(exponent));
    let coarse = (1u8..4).prop_map(f64::from);
    prop_oneof![
        prop::collection::vec(any, 0..30),
        prop::collection::vec(coarse, 0..30),
        (0usize..30, 1e-6f64..1e6).prop_map(|(count, value)| vec![value; count]),
    ]
}

fn is_number(value: Option<f64>) -> bool {
    value.is_none_or(f64::is_finite)
}

fn is_probability(value: Option<f64>) -> bool {
    value.is_none_or(|p| (0.0..=1.0).contains(&p))
}

/// Hands out the given times one after the other, round and round.
struct Script {
    times: Vec<f64>,
    next: usize,
}

impl Launcher for Script {
    type Error = Infallible;

    fn launch(&mut self, _: &RunRequest) -> Result<TimedRun, Infallible> {
        let wall_s = self.times[self.next % self.times.len()];
        self.next += 1;
        Ok(TimedRun { wall_s, ..TimedRun::default() })
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.next as u64)
    }

    fn interrupted(&self) -> bool {
        false
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn descriptions_are_numbers(values in times()) {
        prop_assert!(is_number(sample::mean(&values)));
        prop_assert!(is_number(sample::median(&values)));
        prop_assert!(is_number(sample::standard_deviation(&values)));
        prop_assert_eq!(sample::outliers(&values).len(), values.len());
        prop_assert!(is_probability(student::two_sided_p(&values)));
        prop_assert!(is_probability(wilcoxon::signed_rank_p(&values)));
        prop_assert!(is_number(wilcoxon::hodges_lehmann(&values)));
        prop_assert!(is_probability(dip::dip(&values)));
        if let Some(interval) = student::MeanInterval::of(&values, 0.05) {
            prop_assert!(interval.mean.is_finite() && is_number(interval.half_width));
            prop_assert!(is_number(interval.relative_error()));
            prop_assert_eq!(interval.half_width.is_some(), values.len() > 1);
        }
        let group: Vec<(u32, f64)> = (0..).zip(values).collect();
        if let Some(drift) = drift::drift(&[group]) {
            prop_assert!(drift.change.is_finite() && is_probability(drift.p));
        }
    }

    #[test]
    fn ratios_are_ordered_numbers(left in times(), right in times(), alpha in 0.0f64..1.0) {
        let logs = ratio::log_ratios(left.iter().zip(&right));
        if let Some(ratio) = ratio::ratio_interval(&logs, alpha) {
            prop_assert!(ratio.low > 0.0 && ratio.high.is_finite());
            prop_assert!(ratio.low <= ratio.value && ratio.value <= ratio.high);
        }
        prop_assert!(ratio::more_pairs_needed(&logs, 0.05, 0.02).is_none_or(|more| more >= 1));
        prop_assert!(is_probability(student::two_sided_p(&logs)));
    }

    #[test]
    fn holm_rejects_no_more_than_single_tests_and_no_less_than_bonferroni(
        p_values in prop::collection::vec(prop::option::of(0.0f64..=1.0), 0..12)
    ) {
        let count = p_values.len() as f64;
        for (decision, p) in holm::holm(&p_values, 0.05).iter().zip(&p_values) {
            let p = p.unwrap_or(1.0);
            prop_assert!(!decision.rejected || p <= 0.05);
            prop_assert!(decision.rejected || p > 0.05 / count);
            prop_assert_eq!(decision.rejected, p <= decision.level);
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_session_ends_in_valid_numbers(values in times(), seed in any::<u64>(), configurations in 1usize..5) {
        prop_assume!(!values.is_empty());
        let plan = Plan { max_runs: Some(12), ..plan(configurations, seed) };
        let outcome: SessionResult<Infallible> = run(&plan, &mut Script { times: values, next: 0 }, &mut Silent);
        for configuration in &outcome.configurations {
            prop_assert!(configuration.mean_wall_s.is_finite() && is_number(configuration.ci95_wall_s));
            if let Some(ratio) = configuration.ratio {
                prop_assert!(ratio.low > 0.0 && ratio.low <= ratio.value);
                prop_assert!(ratio.value <= ratio.high && ratio.high.is_finite());
            }
        }
        prop_assert!(outcome.warnings.iter().all(|line| !line.contains("NaN") && !line.contains("inf ")));
    }
}
