//! What is left of measurements when the effects of their block and of their configuration are taken out.

use super::contrast::Block;
use std::collections::BTreeMap;

/// The residuals of a two-way layout, in the shape of the blocks; `None` where nothing was measured, and in blocks too few or too
/// narrow to tell. Blocks of the same configurations are a layout of their own: where one has left, nothing has to be
/// estimated across.
pub fn residuals(blocks: &[Block]) -> Vec<Block> {
    let mut layouts: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for (number, block) in blocks.iter().enumerate() {
        let present = (0..block.len()).filter(|&entry| block[entry].is_some()).collect();
        layouts.entry(present).or_default().push(number);
    }
    let mut residuals: Vec<Block> = blocks.iter().map(|block| vec![None; block.len()]).collect();
    for (present, rows) in layouts {
        if present.len() < 2 || rows.len() < 2 {
            continue;
        }
        let at = |row: usize, entry: usize| blocks[row][entry].unwrap_or_default();
        let (height, width) = (rows.len() as f64, present.len() as f64);
        let of_row = |row: usize| present.iter().map(|&entry| at(row, entry)).sum::<f64>() / width;
        let of_entry = |entry: usize| rows.iter().map(|&row| at(row, entry)).sum::<f64>() / height;
        let means: Vec<f64> = present.iter().map(|&entry| of_entry(entry)).collect();
        let grand = means.iter().sum::<f64>() / width;
        for &row in &rows {
            let of_row = of_row(row);
            for (&entry, mean) in present.iter().zip(&means) {
                residuals[row][entry] = Some(at(row, entry) - of_row - mean + grand);
            }
        }
    }
    residuals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_of_blocks_and_configurations_leave_nothing() {
        let row =
            |speed: f64, entries: [Option<f64>; 3]| entries.map(|entry| entry.map(|it| it + speed)).to_vec();
        let three = [Some(1.0), Some(2.0), Some(4.0)];
        let two = [Some(1.0), None, Some(4.0)];
        let blocks = [
            row(0.0, three),
            row(5.0, three),
            row(1.0, two),
            row(7.0, two),
            row(2.0, [Some(9.0), None, None]),
        ];
        let residuals = residuals(&blocks);
        assert!(residuals.iter().flatten().flatten().all(|residual| residual.abs() < 1e-12), "{residuals:?}");
        assert_eq!(residuals[2], [Some(0.0), None, Some(0.0)]);
        assert_eq!(residuals[4], [None, None, None], "alone in its block");
    }

    #[test]
    fn what_stands_out_is_left() {
        let blocks = [vec![Some(0.0), Some(0.0)], vec![Some(0.0), Some(1.0)]];
        let expected = [vec![Some(0.25), Some(-0.25)], vec![Some(-0.25), Some(0.25)]];
        assert_eq!(residuals(&blocks), expected);
    }
}
