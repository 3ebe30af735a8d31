//! Describing one sample: mean, spread, median, outliers.

/// Modified z-scores above this mark an outlier (Iglewicz and Hoaglin, *How to Detect and Handle Outliers*, 1993).
pub const OUTLIER_SCORE: f64 = 3.5;

/// Arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation with n − 1 in the denominator; `None` with fewer than two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Middle value, or the mean of the two middle ones; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { 0.5 * (sorted[middle - 1] + upper) })
}

/// The median of the means of all pairs, each value paired with itself too; `None` of nothing.
///
/// J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests", *Ann. Math. Statist.* 34 (1963).
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    let means: Vec<f64> = (0..values.len())
        .flat_map(|first| (first..values.len()).map(move |second| 0.5 * (values[first] + values[second])))
        .collect();
    median(&means)
}

/// Marks the values whose modified z-score is above [`OUTLIER_SCORE`].
///
/// The score measures the distance from the median in median absolute deviations. Where more than half of the values
/// are equal that deviation is 0 and the mean absolute deviation takes its place, as Iglewicz and Hoaglin advise.
pub fn outliers(values: &[f64]) -> Vec<bool> {
    let Some(centre) = median(values) else { return Vec::new() };
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let typical = median(&deviations).unwrap_or(0.0);
    // Both factors make the scale estimate the standard deviation of normal values.
    let scale =
        if typical > 0.0 { typical / 0.674_489_75 } else { mean(&deviations).unwrap_or(0.0) * 1.253_314_137 };
    deviations.iter().map(|&deviation| scale > 0.0 && deviation / scale > OUTLIER_SCORE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_a_small_sample() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), Some(5.0));
        assert_eq!(median(&values), Some(4.5));
        assert!((standard_deviation(&values).unwrap() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    }

    #[test]
    fn too_little_is_unknown() {
        assert_eq!((mean(&[]), median(&[])), (None, None));
        assert_eq!((standard_deviation(&[]), standard_deviation(&[1.0])), (None, None));
        assert!(outliers(&[]).is_empty());
        assert_eq!(outliers(&[1.0]), [false]);
    }

    #[test]
    fn marks_the_value_that_stands_apart() {
        // Median 10.1, median absolute deviation 0.1: 10.6 scores 3.37, 10.7 scores 4.05.
        let values = [10.0, 10.1, 10.2, 10.0, 10.2, 10.1, 10.7];
        assert_eq!(outliers(&values), [false, false, false, false, false, false, true]);
        let below = [10.0, 10.1, 10.2, 10.0, 10.2, 10.1, 10.6];
        assert!(outliers(&below).iter().all(|marked| !marked));
    }

    #[test]
    fn marks_one_among_equals() {
        let mut values = vec![1.0; 9];
        values.push(1.5);
        assert_eq!(outliers(&values).iter().filter(|&&marked| marked).count(), 1);
        assert!(outliers(&[1.0; 9]).iter().all(|marked| !marked));
    }

    #[test]
    fn hodges_lehmann_by_hand() {
        // Pair means of 1, 2, 10: 1, 1.5, 5.5, 2, 6, 10; their median is 3.75.
        assert_eq!(hodges_lehmann(&[1.0, 2.0, 10.0]), Some(3.75));
        assert_eq!(hodges_lehmann(&[4.0]), Some(4.0));
        assert_eq!(hodges_lehmann(&[]), None);
    }
}
