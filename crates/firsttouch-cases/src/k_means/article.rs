//! The two forms of the article, as it prints them, but that squares are products in both, where the first has `std::pow`.

use super::points::{Block, Point, TILE, point};
use crate::simd::by_instructions;

/// Before: a branch keeps the least distance and the centre that it is of.
pub(super) fn branching(points: &[Block], centres: &[Point], labels: &mut [[u32; TILE]]) {
    for (place, label) in labels.iter_mut().flatten().enumerate() {
        let [red, green, blue] = point(points, place);
        let mut best_distance = f32::INFINITY;
        let mut best_centroid = 0;
        for (i, centroid) in centres.iter().enumerate() {
            let [x, y, z] = [red - centroid[0], green - centroid[1], blue - centroid[2]];
            let distance = x * x + y * y + z * z;
            if distance < best_distance {
                best_distance = distance;
                best_centroid = i;
            }
        }
        *label = best_centroid as u32;
    }
}

by_instructions! {
    /// After: all distances, then the least of them, then the centre that is nearer than that, of which there is none. Every
    /// label stays what it was set to before, the first centre; `found` is told the least distance of each point.
    printed(points: &[Block], centres: &[Point], labels: &mut [[u32; TILE]], found: impl FnMut(usize, f32)):
        printed_by::<16>, printed_by::<8>, printed_by::<4>
}

#[inline(always)]
fn printed_by<const LANES: usize>(
    points: &[Block],
    centres: &[Point],
    labels: &mut [[u32; TILE]],
    mut found: impl FnMut(usize, f32),
) {
    let axes: [Vec<f32>; 3] = std::array::from_fn(|axis| centres.iter().map(|centre| centre[axis]).collect());
    let mut distance = vec![f32::INFINITY; centres.len().next_multiple_of(LANES)];
    for (place, label) in labels.iter_mut().flatten().enumerate() {
        let [red, green, blue] = point(points, place);
        let best_centroid = 0;
        // Calculate Distance
        let centroids = axes[0].iter().zip(&axes[1]).zip(&axes[2]);
        for (((centroid_red, centroid_green), centroid_blue), distance) in centroids.zip(&mut distance) {
            let [x, y, z] = [red - centroid_red, green - centroid_green, blue - centroid_blue];
            *distance = x * x + y * y + z * z;
        }
        // Best Distance. Compilers may not change the order in which floating-point numbers are compared: so many at a time.
        let mut least = [f32::INFINITY; LANES];
        for distance in distance.as_chunks::<LANES>().0 {
            for (least, distance) in least.iter_mut().zip(distance) {
                *least = if *distance < *least { *distance } else { *least };
            }
        }
        let best_distance = least.into_iter().fold(f32::INFINITY, f32::min);
        // Best Centroid
        for (i, distance) in distance[..centres.len()].iter().enumerate() {
            *label = if *distance < best_distance { i as u32 } else { best_centroid };
        }
        found(place, best_distance);
    }
}

#[cfg(test)]
mod tests {
    use super::super::points::{BLOCK, as_blocks, coordinate, distance};
    use super::*;
    use crate::simd::Instructions;

    /// What the article's forms compute: before, the nearest; after, the distance of the nearest, and no label at all.
    #[test]
    fn the_form_after_finds_distances_and_no_centres() {
        let coordinates: Vec<f32> = (0..3 * BLOCK).map(|place| coordinate(place, 0)).collect();
        let points = as_blocks(&coordinates);
        let centre = |number| std::array::from_fn(|axis| coordinate(number, axis));
        for clusters in [1, 15, 16, 100] {
            let centres: Vec<Point> = (1000..1000 + clusters).map(centre).collect();
            let mut before = vec![[u32::MAX; TILE]; points.len()];
            branching(points, &centres, &mut before);
            for instructions in Instructions::available() {
                let mut after = vec![[u32::MAX; TILE]; points.len()];
                let mut least = Vec::new();
                printed(instructions, points, &centres, &mut after, |place, found| {
                    assert_eq!(place, least.len());
                    least.push(found);
                });
                assert_eq!(least.len(), points.len() * TILE);
                for (place, (found, label)) in least.into_iter().zip(before.as_flattened()).enumerate() {
                    let of = |centre: &Point| distance(point(points, place), *centre);
                    let wanted = centres.iter().map(of).fold(f64::INFINITY, f64::min);
                    assert!((f64::from(found) - wanted).abs() < 1e-6, "{instructions:?}");
                    assert!((of(&centres[*label as usize]) - wanted).abs() < 1e-6);
                }
                assert!(
                    after.as_flattened().iter().all(|label| *label == 0),
                    "no distance is less than the least"
                );
            }
            assert!(clusters == 1 || before.as_flattened().iter().any(|label| *label != 0));
        }
    }
}
