//! What several sessions (boots, machines, days) say together: each is one draw of what a session adds.
//!
//! After a reboot memory lies elsewhere, and on another day something else runs beside: the ratios of sessions differ by more than
//! the noise within them tells (T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013). So sessions are random
//! effects: the ratio of a session is the mean ratio, plus what the session adds, plus the error with which the session knows it.
//!
//! The interval of the mean ratio is Student's, of the sessions' own ratios, where each session counts the same. It needs no
//! estimate of how far sessions differ, which two to ten of them hardly give, and promises what it says however unequal their errors
//! are: among independent normal numbers with one mean and *any* variances, the t test at 5 % is wrong most often when the
//! variances are equal (N. Bakirov and G. Székely, "Student's t-test for Gaussian scale mixtures", *Journal of Mathematical Sciences* 139,
//! 2006; used in this way by R. Ibragimov and U. Müller, "t-statistic based correlation and heterogeneity robust inference", *Journal of Business &
//! Economic Statistics* 28, 2010; at 10 %, which the two one-sided tests for "same" are, for up to 14 sessions). Where sessions are alike it is the interval of Hartung and Knapp (J. IntHout, J. Ioannidis and G. Borm,
//! *BMC Medical Research Methodology* 14, 2014), which weighs sessions by an estimated variance else, and promises less then.

use super::contrast::Contrast;
use super::sample::{mean, standard_deviation};
use super::student::{quantile, tail};

/// The logarithms of the ratios of two or more sessions, put together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sessions {
    /// Their mean, each session counting the same.
    pub log_ratio: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// How many there are.
    pub sessions: u32,
}

impl Sessions {
    /// Of the logarithms of the ratios that sessions found; `None` of fewer than two.
    pub fn of(log_ratios: &[f64]) -> Option<Sessions> {
        let (log_ratio, deviation) = mean(log_ratios).zip(standard_deviation(log_ratios))?;
        Some(Sessions { log_ratio, deviation, sessions: log_ratios.len() as u32 })
    }

    /// Half the width of the interval of the mean that misses with probability `alpha`. It is read once.
    pub fn half_width(&self, alpha: f64) -> f64 {
        self.half_width_with(self.sessions, alpha)
    }

    /// The same if there were so many sessions, two at least, which differ as much.
    pub(crate) fn half_width_with(&self, sessions: u32, alpha: f64) -> f64 {
        let count = f64::from(sessions);
        quantile(0.5 * alpha, count - 1.0) * self.deviation / count.sqrt()
    }

    /// Half the width of the interval around the mean in which the next session, measured as these were, finds its ratio, but with
    /// probability `alpha`.
    pub fn next_half_width(&self, alpha: f64) -> f64 {
        let count = f64::from(self.sessions);
        quantile(0.5 * alpha, count - 1.0) * self.deviation * (1.0 + 1.0 / count).sqrt()
    }

    /// Probability of a mean as far from no difference if there were none.
    pub fn p(&self) -> f64 {
        if self.log_ratio == 0.0 {
            return 1.0;
        }
        let count = f64::from(self.sessions);
        tail(self.log_ratio / (self.deviation / count.sqrt()), count - 1.0).unwrap_or(1.0)
    }

    /// How much of the variance of a session's ratio lies between sessions, from the standard errors that the sessions had: what is more
    /// than the errors within account for (L. Hedges, "A random effects model for effect sizes", *Psychological Bulletin* 93, 1983).
    pub fn between_share(&self, standard_errors: &[f64]) -> Option<f64> {
        let squares: Vec<f64> = standard_errors.iter().map(|error| error.powi(2)).collect();
        let (within, whole) = (mean(&squares)?, self.deviation.powi(2));
        (whole > 0.0).then(|| (1.0 - within / whole).max(0.0))
    }

    /// The mean of sessions as if each were a block: its e-value holds however often somebody looks, after whichever session.
    pub fn contrast(&self) -> Contrast {
        let count = f64::from(self.sessions);
        Contrast {
            log_ratio: self.log_ratio,
            standard_error: self.deviation / count.sqrt(),
            freedom: count - 1.0,
            blocks: self.sessions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_by_hand() {
        // Mean 3, s = sqrt(2.5), t(4) = 2.776445: half-width 1.963243; the next one 2.776445 * sqrt(2.5 * 6/5).
        let seen = Sessions::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((seen.log_ratio, seen.sessions), (3.0, 5));
        assert!((seen.half_width(0.05) - 1.963_243).abs() < 1e-5);
        assert!((seen.next_half_width(0.05) - 4.808_943).abs() < 1e-5);
        assert!((seen.p() - 0.013_2).abs() < 1e-4, "{}", seen.p());
        assert!((seen.between_share(&[1.0, 1.0, 1.0, 1.0, 1.0]).unwrap() - 0.6).abs() < 1e-12);
        assert_eq!(seen.between_share(&[2.0; 5]), Some(0.0), "the errors within account for all of it");
        assert_eq!(seen.between_share(&[]), None);
    }

    #[test]
    fn extremes_are_known() {
        assert_eq!(Sessions::of(&[1.0]), None);
        let alike = Sessions::of(&[0.1, 0.1]).unwrap();
        assert_eq!((alike.half_width(0.05), alike.p(), alike.between_share(&[0.1])), (0.0, 0.0, None));
        assert_eq!(Sessions::of(&[0.0, 0.0]).unwrap().p(), 1.0);
    }

    #[test]
    fn the_e_value_needs_four_sessions() {
        let certain = |sessions| Sessions { log_ratio: 0.3, deviation: 1e-6, sessions }.contrast().log_e();
        assert!(certain(3) < 20f64.ln() && certain(4) > 20f64.ln());
    }
}
