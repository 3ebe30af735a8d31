//! Points of three coordinates, and how they lie in memory.

use firsttouch_measure::mix;

/// Coordinates of a point: red, green and blue in the article.
pub(super) const COORDINATES: usize = 3;

/// Points that lie together.
pub(super) const TILE: usize = 64;

/// Numbers of a block.
pub(super) const BLOCK: usize = COORDINATES * TILE;

/// A point.
pub(super) type Point = [f32; COORDINATES];

/// Points as vector instructions want them: all first coordinates, all second ones, all third ones.
pub(super) type Block = [[f32; TILE]; COORDINATES];

/// Numbers as blocks; what is no whole one is left out.
pub(super) fn as_blocks(coordinates: &[f32]) -> &[Block] {
    coordinates.as_chunks().0.as_chunks().0
}

/// The point at that place.
pub(super) fn point(blocks: &[Block], place: usize) -> Point {
    std::array::from_fn(|axis| blocks[place / TILE][axis][place % TILE])
}

/// A coordinate of a point: 24 bits of chance between 0 and 1.
pub(super) fn coordinate(place: usize, axis: usize) -> f32 {
    (mix((place * COORDINATES + axis) as u64) >> 40) as f32 / (1 << 24) as f32
}

/// The square of the distance of two points.
pub(super) fn distance(one: Point, other: Point) -> f64 {
    one.iter().zip(other).map(|(one, other)| (f64::from(*one) - f64::from(other)).powi(2)).sum()
}
