//! Did the machine itself become slower or faster during the session?

use super::sample::mean;
use super::student::tail;

/// A straight-line trend common to all configurations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Relative change of the time from the first run of the session to the last (0.05: 5 % slower at the end).
    pub change: f64,
    /// Probability of such a trend among runs that know no order; `None` with too few runs.
    pub p: Option<f64>,
}

/// The trend of wall times over the order of runs, configuration by configuration centred, so that differences
/// between configurations play no part. Each group holds `(order, seconds)` of one configuration.
/// `None` if there is no order to speak of.
pub fn drift(groups: &[Vec<(u32, f64)>]) -> Option<Drift> {
    let mut centred: Vec<(f64, f64)> = Vec::new();
    let mut used_groups = 0;
    for group in groups {
        let usable = || group.iter().filter(|(_, seconds)| *seconds > 0.0 && seconds.is_finite());
        let orders: Vec<f64> = usable().map(|(order, _)| f64::from(*order)).collect();
        let logs: Vec<f64> = usable().map(|(_, seconds)| seconds.ln()).collect();
        let (Some(order), Some(log)) = (mean(&orders), mean(&logs)) else { continue };
        used_groups += 1;
        centred.extend(orders.iter().zip(&logs).map(|(o, l)| (o - order, l - log)));
    }
    let spread: f64 = centred.iter().map(|(order, _)| order * order).sum();
    if spread == 0.0 {
        return None;
    }
    let slope = centred.iter().map(|(order, log)| order * log).sum::<f64>() / spread;
    let last = groups.iter().flatten().map(|(order, _)| *order).max()?;
    let first = groups.iter().flatten().map(|(order, _)| *order).min()?;
    let change = (slope * f64::from(last - first)).clamp(-700.0, 700.0).exp_m1();

    let residual: f64 = centred.iter().map(|(order, log)| (log - slope * order).powi(2)).sum();
    let freedom = centred.len() as f64 - f64::from(used_groups) - 1.0;
    let p = if freedom < 1.0 {
        None
    } else if residual == 0.0 {
        Some(if slope == 0.0 { 1.0 } else { 0.0 })
    } else {
        tail(slope / (residual / freedom / spread).sqrt(), freedom)
    };
    Some(Drift { change, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_planted_trend_under_unequal_configurations() {
        // Two interleaved configurations, one three times as slow, both growing by 10 % over 21 runs.
        let run = |order: u32, base: f64| (order, base * 1.1f64.powf(f64::from(order) / 20.0));
        let groups = [
            (0..21).step_by(2).map(|order| run(order, 1.0)).collect(),
            (1..20).step_by(2).map(|order| run(order, 3.0)).collect(),
        ];
        let drift = drift(&groups).unwrap();
        assert!((drift.change - 0.1).abs() < 1e-9);
        assert!(drift.p.unwrap() < 1e-6);
    }

    #[test]
    fn noise_without_order_is_no_trend() {
        let group =
            [1.0, 1.1, 0.9, 1.05, 0.95, 0.9, 1.1, 1.0].iter().enumerate().map(|(i, s)| (i as u32, *s));
        assert!(drift(&[group.collect()]).unwrap().p.unwrap() > 0.5);
    }

    #[test]
    fn too_little_is_unknown() {
        assert_eq!(drift(&[]), None);
        assert_eq!(drift(&[vec![(0, 1.0)]]), None);
        assert_eq!(drift(&[vec![(0, 1.0), (1, 1.2)]]).unwrap().p, None);
    }
}
