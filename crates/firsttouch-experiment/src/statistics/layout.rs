//! Blocks of measurements, and what is left of them when the effects of their block and of their configuration are taken out.

use firsttouch_sorted::SortedMap;

/// A block: the logarithm of what was measured of each configuration, or `None` where one did not run.
pub type Block = Vec<Option<f64>>;

/// Blocks in which the same configurations ran, two blocks and two configurations at least. Where one has left, the blocks after are a layout
/// of their own: nothing has to be estimated across.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The configurations, by their entries in the blocks.
    pub(crate) present: Vec<usize>,
    /// The numbers of the blocks.
    rows: Vec<usize>,
    /// What is left of each measurement, block by block in the order of `present`.
    pub(crate) residuals: Vec<Vec<f64>>,
}

/// The layouts that blocks consist of.
pub(crate) fn layouts(blocks: &[Block]) -> Vec<Layout> {
    let mut rows: SortedMap<Vec<usize>, Vec<usize>> = SortedMap::new();
    for (number, block) in blocks.iter().enumerate() {
        let present = (0..block.len()).filter(|&entry| block[entry].is_some()).collect();
        rows.entry(present).or_default().push(number);
    }
    let is_wide = |(present, rows): &(Vec<usize>, Vec<usize>)| present.len() > 1 && rows.len() > 1;
    rows.into_iter().filter(is_wide).map(|(present, rows)| layout(blocks, present, rows)).collect()
}

fn layout(blocks: &[Block], present: Vec<usize>, rows: Vec<usize>) -> Layout {
    let (height, width) = (rows.len() as f64, present.len() as f64);
    let mut residuals: Vec<Vec<f64>> =
        rows.iter().map(|&row| present.iter().filter_map(|&entry| blocks[row][entry]).collect()).collect();
    for row in &mut residuals {
        let mean = row.iter().sum::<f64>() / width;
        row.iter_mut().for_each(|value| *value -= mean);
    }
    for column in 0..present.len() {
        let mean = residuals.iter().map(|row| row[column]).sum::<f64>() / height;
        residuals.iter_mut().for_each(|row| row[column] -= mean);
    }
    Layout { present, rows, residuals }
}

/// The residuals in the shape of the blocks; `None` where nothing was measured, and in blocks that are in no layout.
pub(crate) fn residuals(blocks: &[Block]) -> Vec<Block> {
    let mut residuals: Vec<Block> = blocks.iter().map(|block| vec![None; block.len()]).collect();
    for layout in layouts(blocks) {
        for (&row, values) in layout.rows.iter().zip(&layout.residuals) {
            for (&entry, value) in layout.present.iter().zip(values) {
                residuals[row][entry] = Some(*value);
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
