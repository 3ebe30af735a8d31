//! Another metric than the wall time is judged by the same rule, in its own direction.

use crate::machine::{Broken, Machine, plan};
use firsttouch_experiment::{
    ConfirmationState, Launcher, Metric, Objective, RunRequest, Silent, TimedRun, Verdict, run,
};
use std::time::Duration;

/// Programs that all take a second and do as much work in it as the machine inside says times for.
struct Rates(Machine);

impl Launcher for Rates {
    type Error = Broken;

    fn launch(&mut self, request: &RunRequest) -> Result<TimedRun, Broken> {
        let rate = 1e4 * self.0.launch(request)?.wall_s;
        Ok(TimedRun { wall_s: 1.0, judged: Some(rate), ..TimedRun::default() })
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.0.requests.len() as u64)
    }

    fn interrupted(&self) -> bool {
        false
    }
}

#[test]
fn a_rate_is_better_where_it_is_higher() {
    for (higher_is_better, better) in [(true, 1), (false, 2)] {
        let mut plan = plan(4, 3);
        let metric = Metric::Stdout("rate (.*)".to_owned());
        plan.objective = Objective { metric, higher_is_better };
        plan.max_runs = Some(40);
        let mut rates = Rates(Machine::new(&[1.0, 1.3, 0.7, 1.0], 0.05, 3));
        let outcome = run(&plan, &mut rates, &mut Silent);
        assert_eq!(outcome.recommended, Some(better));
        let worse = 3 - better;
        assert_eq!(outcome.configurations[better].verdict(), Some(Verdict::Faster));
        assert_eq!(outcome.configurations[worse].verdict(), Some(Verdict::Slower));
        let ratio = outcome.configurations[better].ratio.unwrap();
        assert!(ratio.low > 1.1, "{ratio:?}");
        let confirmation = outcome.confirmation.unwrap();
        assert_eq!(confirmation.state, ConfirmationState::Confirmed);
        let judged = outcome.configurations[0].judged.unwrap();
        assert!((9e3..1.1e4).contains(&judged.mean) && judged.deviation.is_some(), "{judged:?}");
        // The wall time is as it was, and what is undecided is forecast in it.
        assert_eq!(outcome.configurations[1].mean_wall_s, 1.0);
        let forecast = outcome.configurations[3].forecast.unwrap();
        assert_eq!(forecast.seconds, 2.0 * f64::from(forecast.runs));
        let warned = outcome.warnings.join("\n");
        assert!(!warned.contains("slow") && !warned.contains("faster"), "{warned}");
    }
}
