//! No statistic panics or answers with something that is no number, whatever positive times it is given.

use crate::machine::plan;
use firsttouch_experiment::statistics::contrast::contrasts;
use firsttouch_experiment::statistics::forecast::{Question, blocks_to_decide, fresh_blocks};
use firsttouch_experiment::statistics::layout::Block;
use firsttouch_experiment::statistics::{dip, drift, sample, student};
use firsttouch_experiment::{Launcher, Plan, Ratio, RunRequest, SessionResult, Silent, TimedRun, run};
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
        prop_assert!(is_number(sample::hodges_lehmann(&values)));
        prop_assert!(is_probability(dip::dip(&values)));
        if let Some(interval) = student::MeanInterval::of(&values, 0.05) {
            prop_assert!(interval.mean.is_finite() && is_number(interval.half_width));
            prop_assert_eq!(interval.half_width.is_some(), values.len() > 1);
        }
        let group: Vec<(u32, f64)> = (0..).zip(values).collect();
        if let Some(drift) = drift::drift(&[group]) {
            prop_assert!(drift.change.is_finite() && is_probability(drift.p));
        }
    }

    #[test]
    fn ratios_are_ordered_numbers_and_forecasts_lie_ahead(left in times(), right in times(), alpha in 0.001f64..1.0) {
        let blocks: Vec<Block> =
            left.iter().zip(&right).map(|(left, right)| vec![Some(left.ln()), Some(right.ln())]).collect();
        for contrast in contrasts(&blocks, 0).iter().flatten() {
            if let Some(ratio) = Ratio::of(contrast, alpha) {
                prop_assert!(ratio.low > 0.0 && ratio.high.is_finite());
                prop_assert!(ratio.low <= ratio.value && ratio.value <= ratio.high);
            }
            let question = Question { alpha, same_band: 0.02 };
            prop_assert!(blocks_to_decide(contrast, &question).is_none_or(|blocks| blocks > contrast.blocks));
            prop_assert!(fresh_blocks(contrast, alpha).is_none_or(|blocks| blocks >= 2));
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
            prop_assert!(configuration.mean_wall_s.is_finite() && is_number(configuration.deviation_wall_s));
            let has_forecast = configuration.forecast.is_some();
            prop_assert!(configuration.decided.is_none() || configuration.ratio.is_some() && !has_forecast);
            if let Some(ratio) = configuration.ratio {
                prop_assert!(ratio.low > 0.0 && ratio.low <= ratio.value);
                prop_assert!(ratio.value <= ratio.high && ratio.high.is_finite());
            }
        }
        prop_assert!(outcome.warnings.iter().all(|line| !line.contains("NaN") && !line.contains("inf ")));
    }
}
