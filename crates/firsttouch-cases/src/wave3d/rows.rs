//! One time step of some rows of a plane.
#![expect(unsafe_code, reason = "vector instructions, on fields that several threads compute")]

use super::field::{Cube, REACH};
use std::marker::PhantomData;
use std::ops::Range;

/// The fields of two times, which change their names with every time step.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    /// That of one time step ago, in whose place the next one comes.
    pub(super) before: *mut f32,
    /// That of now.
    pub(super) now: *mut f32,
    /// What the sum of differences counts.
    pub(super) speed: &'a [f32],
    fields: PhantomData<&'a mut [f32]>,
}

// SAFETY: they are borrowed for as long as there are such values; what threads do with them is theirs to justify.
unsafe impl Send for Fields<'_> {}
// SAFETY: the same.
unsafe impl Sync for Fields<'_> {}

impl<'a> Fields<'a> {
    /// # Panics
    /// Where a field is not as long as the cube.
    pub(super) fn new(
        cube: &Cube,
        before: &'a mut [f32],
        now: &'a mut [f32],
        speed: &'a [f32],
    ) -> Fields<'a> {
        assert!([before.len(), now.len(), speed.len()] == [cube.length(); 3]);
        Fields { before: before.as_mut_ptr(), now: now.as_mut_ptr(), speed, fields: PhantomData }
    }

    /// So many time steps later.
    pub(super) fn after(self, steps: usize) -> Fields<'a> {
        if steps.is_multiple_of(2) { self } else { Fields { before: self.now, now: self.before, ..self } }
    }
}

/// Rows of a plane.
pub(super) struct Block<'a> {
    pub(super) cube: &'a Cube,
    pub(super) fields: Fields<'a>,
    /// The number of the plane.
    pub(super) z: usize,
    /// The rows.
    pub(super) rows: Range<usize>,
}

/// Computes rows of a plane, in the place of those of the field one time step ago.
///
/// # Safety
/// The rows are rows of the cube, and its fields are as long as it. Meanwhile nobody else reads or writes these rows of the field before, nor
/// writes to those of the field of now that they are computed from: these rows and planes, and as many on each side as differences reach.
pub(super) type Rows = unsafe fn(&Block<'_>);

/// The second difference of eighth order: what a point counts, and those at distances 1 to 4.
const DIFFERENCE: [f32; REACH + 1] = [-205.0 / 72.0, 8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0];

impl Block<'_> {
    /// What a movement loses at a row: at least what it loses there along x.
    fn damping(&self, y: usize) -> f32 {
        self.cube.damping[y].max(self.cube.damping[self.z])
    }
}

/// As the compiler likes.
///
/// # Safety
/// As [`Rows`] says.
pub(super) unsafe fn plain(block: &Block<'_>) {
    let Block { cube, fields, .. } = block;
    let Cube { width, stride, plane: depth, .. } = **cube;
    for y in block.rows.clone() {
        let at = cube.at([0, y, block.z]);
        // SAFETY: rows of the cube and their neighbours lie within the fields, and nobody writes to them.
        let row_of_now =
            |at: usize| unsafe { std::slice::from_raw_parts(fields.now.add(at).cast_const(), width) };
        let neighbours = |step: usize, distance: usize| {
            let beside = step * distance;
            (row_of_now(at - beside), row_of_now(at + beside))
        };
        let by_distance: [_; REACH] =
            std::array::from_fn(|index| [1, stride, depth].map(|step| neighbours(step, index + 1)));
        let (now, speed) = (row_of_now(at), &fields.speed[at..][..width]);
        // SAFETY: a row of the cube lies within the field, and is ours alone.
        let row = unsafe { std::slice::from_raw_parts_mut(fields.before.add(at), width) };
        let along = &cube.damping[..width];
        let across = block.damping(y);
        for x in 0..width {
            let mut sum = 3.0 * DIFFERENCE[0] * now[x];
            for (factor, [(left, right), (above, below), (before, behind)]) in
                DIFFERENCE[1..].iter().zip(&by_distance)
            {
                sum += factor * ((left[x] + right[x]) + (above[x] + below[x]) + (before[x] + behind[x]));
            }
            let moved = now[x] - row[x];
            row[x] = now[x] + moved + speed[x] * sum - along[x].max(across) * moved;
        }
    }
}

/// Every way that this processor has, the widest vectors first.
pub(super) fn all() -> Vec<Rows> {
    #[cfg(target_arch = "x86_64")]
    let vectors = vectors::all();
    #[cfg(not(target_arch = "x86_64"))]
    let vectors = Vec::new();
    vectors.into_iter().chain([plain as Rows]).collect()
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use super::{Block, Cube, DIFFERENCE, REACH, Rows};
    use crate::prefetch::prefetch;
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::*;

    pub(super) fn all() -> Vec<Rows> {
        let wide = is_x86_feature_detected!("avx512f").then_some(avx512::rows as Rows);
        let narrow = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        wide.into_iter().chain(narrow.then_some(avx2::rows as Rows)).collect()
    }

    macro_rules! rows {
        ($module:ident, $lanes:literal, [$($feature:tt),*], $set:ident, $load:ident, $store:ident, $add:ident, $subtract:ident,
         $multiply:ident, $multiply_add:ident, $negated_multiply_add:ident, $max:ident) => {
            pub(super) mod $module {
                use super::*;

                /// # Safety
                /// As [`Rows`] says.
                pub(super) unsafe fn rows(block: &Block<'_>) {
                    assert!($(is_x86_feature_detected!($feature))&&*, "chosen from what the processor has");
                    let cube = block.cube;
                    assert!(block.z < cube.n && block.rows.end <= cube.n && cube.length() <= block.fields.speed.len());
                    assert!(cube.width.is_multiple_of($lanes) && cube.width <= cube.damping.len());
                    for y in block.rows.clone() {
                        // SAFETY: the processor has the extensions, neither the row nor any of its neighbours lies outside, and the
                        // caller vouches for others.
                        unsafe { row(block, y) }
                    }
                }

                /// # Safety
                /// The row and its neighbours, as far as differences reach, lie within the fields, and a row is whole
                /// vectors; beside that as [`Rows`] says.
                #[target_feature($(enable = $feature),*)]
                unsafe fn row(block: &Block<'_>, y: usize) {
                    let Cube { width, stride, plane, .. } = *block.cube;
                    let across = $set(block.damping(y));
                    let factors = DIFFERENCE.map(|factor| $set(factor));
                    let middle = $set(3.0 * DIFFERENCE[0]);
                    let at = block.cube.at([0, y, block.z]);
                    let fields = &block.fields;
                    for x in (0..width).step_by($lanes) {
                        // SAFETY: the caller has seen to it.
                        unsafe {
                            let (now, speed) = (fields.now.add(at + x).cast_const(), fields.speed.as_ptr().add(at + x));
                            let target = fields.before.add(at + x);
                            let point = $load(now);
                            let mut sum = $multiply(middle, point);
                            // One axis after the other: what lies across planes waits longest, and is asked for first.
                            for step in [plane, stride, 1] {
                                for distance in 1..=REACH {
                                    let beside = step * distance;
                                    let both = $add($load(now.sub(beside)), $load(now.add(beside)));
                                    sum = $multiply_add(factors[distance], both, sum);
                                }
                            }
                            if x.is_multiple_of(LINE) {
                                ask_for_later(target, now, speed, plane);
                            }
                            let moved = $subtract(point, $load(target));
                            let next = $multiply_add($load(speed), sum, $add(point, moved));
                            let along = $load(block.cube.damping.as_ptr().add(x));
                            let damping = $max(along, across);
                            $store(target, $negated_multiply_add(damping, moved, next));
                        }
                    }
                }
            }
        };
    }

    /// Points of a cache line.
    const LINE: usize = 16;
    /// Points ahead at which a row is asked for.
    const AHEAD: usize = 4 * LINE;

    /// Asks for lines that a row reads soon, from a cache that is further away, and for those that the next plane reads first, from
    /// memory: nobody else foresees so many streams.
    #[inline(always)]
    fn ask_for_later(target: *const f32, now: *const f32, speed: *const f32, plane: usize) {
        for distance in 1..=REACH {
            for stream in [now.wrapping_sub(distance * plane), now.wrapping_add(distance * plane)] {
                prefetch::<1, _>(stream.wrapping_add(AHEAD));
            }
        }
        for stream in [target, speed] {
            prefetch::<1, _>(stream.wrapping_add(AHEAD));
        }
        for stream in [target, speed, now.wrapping_add(REACH * plane)] {
            prefetch::<2, _>(stream.wrapping_add(plane));
        }
    }

    rows!(
        avx512,
        16,
        ["avx512f"],
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_fmadd_ps,
        _mm512_fnmadd_ps,
        _mm512_max_ps
    );
    rows!(
        avx2,
        8,
        ["avx2", "fma"],
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps,
        _mm256_fmadd_ps,
        _mm256_fnmadd_ps,
        _mm256_max_ps
    );
}
