//! How many blocks a decision takes: of those to come, and of fresh ones.

use super::contrast::Contrast;
use super::sessions::Sessions;
use super::student::below;

/// A forecast is right with this probability.
pub const POWER: f64 = 0.9;

/// The standard normal number that is exceeded with a probability of 1 − [`POWER`].
const POWER_QUANTILE: f64 = 1.281_551_565_545;

/// Whoever would need more blocks is told nothing.
const MOST_BLOCKS: u32 = 1 << 20;

/// What has to be known before something is decided.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The risk of a decision, shared among all that are open.
    pub alpha: f64,
    /// Half-width of the band around 1 in which a ratio counts as the same.
    pub same_band: f64,
}

/// In how many blocks, all told, something is decided with a probability of [`POWER`]: different, or the same. `None` where that is
/// beyond a million.
///
/// What the mean of so many blocks will be is uncertain in two ways: the blocks to come are noisy, and those so far were. Both
/// are counted (the posterior predictive distribution of the mean with a flat prior), so that a forecast from a lucky start is
/// longer than that start makes look.
pub fn blocks_to_decide(contrast: &Contrast, question: &Question) -> Option<u32> {
    least(contrast.blocks + 1, |blocks| {
        let then = after(contrast, contrast.log_ratio, blocks);
        decided_by(contrast, blocks, question, |alpha| then.half_width(alpha)) >= POWER
    })
}

/// In how many sessions, all told, something is decided with a probability of [`POWER`], by the interval that is read once. `None` where
/// that is beyond a million, and of two sessions, which say next to nothing of how far sessions differ.
pub fn sessions_to_decide(sessions: &Sessions, question: &Question) -> Option<u32> {
    let now = sessions.contrast();
    (now.blocks > 2).then_some(())?;
    least(now.blocks + 1, |count| {
        decided_by(&now, count, question, |alpha| Some(sessions.half_width_with(count, alpha))) >= POWER
    })
}

/// The probability that something is decided when there are so many blocks, which give an interval of this half-width.
fn decided_by(
    contrast: &Contrast,
    blocks: u32,
    question: &Question,
    half_width: impl Fn(f64) -> Option<f64>,
) -> f64 {
    let Some(excludes) = half_width(question.alpha) else { return 0.0 };
    let holds = half_width((2.0 * question.alpha).min(1.0))
        .map_or(f64::NEG_INFINITY, |half_width| question.same_band.ln_1p() - half_width);
    if holds >= excludes {
        return 1.0;
    }
    let share = 1.0 - f64::from(contrast.blocks) / f64::from(blocks);
    let spread = contrast.standard_error * share.sqrt();
    if spread == 0.0 {
        let distance = contrast.log_ratio.abs();
        return f64::from(distance >= excludes || distance <= holds);
    }
    let up_to = |value: f64| below((value - contrast.log_ratio) / spread, contrast.freedom);
    let same = if holds > 0.0 { up_to(holds) - up_to(-holds) } else { 0.0 };
    same + up_to(-excludes) + 1.0 - up_to(excludes)
}

/// How many fresh blocks of two configurations find the difference that earlier ones saw, with a probability of [`POWER`]. Those who chose it for
/// being large must expect less: what they see, less the error with which they see it. What is known of the noise stays known.
pub fn fresh_blocks(contrast: &Contrast, alpha: f64) -> Option<u32> {
    let cautious = contrast.log_ratio.abs() - POWER_QUANTILE * contrast.standard_error;
    least(2, |blocks| {
        let freedom = contrast.freedom + f64::from(blocks) - 1.0;
        let fresh = Contrast { freedom, ..after(contrast, cautious, blocks) };
        let seen = cautious - POWER_QUANTILE * fresh.standard_error;
        seen > 0.0 && Contrast { log_ratio: seen, ..fresh }.log_e() >= -alpha.ln()
    })
}

/// The same contrast with so many blocks.
fn after(contrast: &Contrast, log_ratio: f64, blocks: u32) -> Contrast {
    let more = f64::from(blocks) / f64::from(contrast.blocks);
    Contrast {
        log_ratio,
        standard_error: contrast.standard_error / more.sqrt(),
        freedom: contrast.freedom * more,
        blocks,
    }
}

/// The least number from `from` on that is enough, where more are enough as well.
fn least(from: u32, is_enough: impl Fn(u32) -> bool) -> Option<u32> {
    let (mut too_few, mut enough) = (from.saturating_sub(1), from);
    while !is_enough(enough) {
        too_few = enough;
        enough = enough.saturating_mul(2);
        if enough > MOST_BLOCKS {
            return None;
        }
    }
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if is_enough(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTION: Question = Question { alpha: 0.05, same_band: 0.02 };

    fn seen(log_ratio: f64, noise: f64, blocks: u32) -> Contrast {
        let standard_error = noise * (2.0 / f64::from(blocks)).sqrt();
        Contrast { log_ratio, standard_error, freedom: f64::from(blocks) - 1.0, blocks }
    }

    #[test]
    fn more_noise_and_smaller_differences_take_longer() {
        let blocks = |log_ratio, noise| blocks_to_decide(&seen(log_ratio, noise, 10), &QUESTION).unwrap();
        assert!(blocks(0.05, 0.05) < blocks(0.03, 0.05), "smaller");
        assert!(blocks(0.05, 0.05) < blocks(0.05, 0.08), "noisier");
        assert!((11..=30).contains(&blocks(0.10, 0.05)), "{}", blocks(0.10, 0.05));
        // Nothing between them: by the band, of which the width and the noise decide.
        assert!((25..=80).contains(&blocks(0.0, 0.02)), "{}", blocks(0.0, 0.02));
    }

    #[test]
    fn everything_is_decided_some_day() {
        assert!(blocks_to_decide(&seen(0.02, 0.1, 10), &QUESTION).is_some());
        assert_eq!(blocks_to_decide(&seen(0.0, 10.0, 1_000_000), &QUESTION), None, "beyond a million");
        assert_eq!(blocks_to_decide(&seen(0.5, 0.0, 10), &QUESTION), Some(11));
    }

    #[test]
    fn fresh_blocks_expect_less_than_was_seen() {
        let of = |log_ratio, noise, blocks| fresh_blocks(&seen(log_ratio, noise, blocks), 0.05);
        assert!(of(0.05, 0.05, 20) > of(0.05, 0.05, 2000));
        assert!(of(0.3, 0.03, 5).is_some_and(|blocks| (2..=9).contains(&blocks)), "{:?}", of(0.3, 0.03, 5));
        assert_eq!(of(0.01, 0.05, 3), None, "within its error: no number is enough");
    }
}
