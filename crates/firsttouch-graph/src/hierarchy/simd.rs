//! The inner loops: rows of distances, one lane for each source, in vector instructions.
//!
//! This is the only module of the crate's hierarchies with `unsafe`. Its functions are safe to call: arcs are checked when
//! they are put together ([`Arcs::new`]), and the instructions are those that [`Instructions::best`] has found.

mod vector;

use super::length::Length;
use super::row::{LANES, Row};
use crate::rows::{Owner, Pack, Store};
use bytemuck::{Pod, Zeroable, cast_slice};
use std::fmt;
use vector::Vector;

/// Vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// 64 bytes at once (AVX-512F).
    Avx512,
    /// 32 bytes at once (AVX2).
    Avx2,
    /// What the compiler makes of plain loops.
    Portable,
}

impl Instructions {
    /// The widest of this processor.
    #[must_use]
    pub fn best() -> Instructions {
        [Instructions::Avx512, Instructions::Avx2]
            .into_iter()
            .find(|wide| wide.are_available())
            .unwrap_or(Instructions::Portable)
    }

    /// Whether this processor has them.
    #[must_use]
    pub fn are_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        match self {
            Instructions::Avx512 => std::arch::is_x86_feature_detected!("avx512f"),
            Instructions::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            Instructions::Portable => true,
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Instructions::Portable
        }
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Instructions::Avx512 => "avx512",
            Instructions::Avx2 => "avx2",
            Instructions::Portable => "portable",
        })
    }
}

/// Consecutive rows with equally many arcs each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Run {
    pub(super) degree: u16,
    pub(super) rows: u16,
}

/// Which of all runs, rows and arcs make one tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) runs: (u32, u32),
    pub(super) arcs: (u32, u32),
    pub(super) rows: u32,
}

/// Arcs, tile by tile, in the order in which they are relaxed: the row each comes from, and its length.
#[derive(Clone, Debug)]
pub(super) struct Arcs<T> {
    extents: Vec<Extent>,
    runs: Store<Run>,
    slots: Store<u16>,
    lengths: Store<T>,
    /// The first row that tiles write.
    base: usize,
    /// The most rows that a sweep needs.
    rows: usize,
}

impl<T: Length> Arcs<T> {
    /// Rows before `base` are above the tiles; each tile writes rows from `base` on.
    ///
    /// # Panics
    /// If a tile's runs are not its rows and arcs, or an arc comes from a row that is not there.
    pub(super) fn new(
        extents: Vec<Extent>,
        runs: Vec<Run>,
        slots: Vec<u16>,
        lengths: Vec<T>,
        base: usize,
    ) -> Arcs<T> {
        assert_eq!(slots.len(), lengths.len());
        let most = extents.iter().map(|extent| extent.rows as usize).max().unwrap_or(0);
        for extent in &extents {
            let own = &runs[extent.runs.0 as usize..extent.runs.1 as usize];
            let arcs: usize = own.iter().map(|run| usize::from(run.degree) * usize::from(run.rows)).sum();
            let rows: usize = own.iter().map(|run| usize::from(run.rows)).sum();
            assert!(arcs == (extent.arcs.1 - extent.arcs.0) as usize && rows == extent.rows as usize);
            assert!(extent.arcs.1 as usize <= slots.len());
        }
        let rows = base + most;
        assert!(slots.iter().all(|slot| usize::from(*slot) < rows));
        Arcs { extents, runs: runs.into(), slots: slots.into(), lengths: lengths.into(), base, rows }
    }

    /// What is to be packed of them, for [`Arcs::unpacked`].
    pub(super) fn parts(&self) -> [&[u8]; 3] {
        [cast_slice(&self.runs), cast_slice(&self.slots), cast_slice(&self.lengths)]
    }

    /// The same arcs in other memory: [`Arcs::parts`] come next out of the pack.
    ///
    /// # Panics
    /// If they do not.
    pub(super) fn unpacked(&self, pack: &mut Pack) -> Arcs<T> {
        let (runs, slots, lengths) = (pack.next(), pack.next(), pack.next());
        // What `new` has checked holds for copies.
        assert!(*runs == *self.runs && *slots == *self.slots && lengths.len() == self.lengths.len());
        Arcs { extents: self.extents.clone(), runs, slots, lengths, base: self.base, rows: self.rows }
    }

    pub(super) fn owner(&self) -> Option<&Owner> {
        self.slots.owner().map(|owner| &**owner)
    }

    pub(super) fn base(&self) -> usize {
        self.base
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.slots) + size_of_val(&*self.lengths) + size_of_val(&*self.runs)
    }

    /// Computes the rows of one tile from those above it. With `START`, rows begin with what they hold; else with nothing.
    ///
    /// # Panics
    /// If there are too few rows.
    pub(super) fn sweep<const START: bool>(&self, by: Instructions, tile: usize, rows: &mut [Row<T>])
    where
        T: Simd,
    {
        assert!(rows.len() >= self.rows);
        let extent = &self.extents[tile];
        let work = Work {
            runs: &self.runs[extent.runs.0 as usize..extent.runs.1 as usize],
            slots: &self.slots[extent.arcs.0 as usize..extent.arcs.1 as usize],
            lengths: &self.lengths[extent.arcs.0 as usize..extent.arcs.1 as usize],
        };
        // SAFETY: `new` has checked that the runs have as many arcs and rows as the extent, and that every arc comes from
        // one of the `self.rows` rows, which are there; whoever chose the instructions has looked whether they are.
        unsafe { T::sweep::<START>(by, work, self.base, rows) }
    }
}

/// One tile, taken apart.
#[derive(Clone, Copy)]
pub(super) struct Work<'arcs, T> {
    runs: &'arcs [Run],
    slots: &'arcs [u16],
    lengths: &'arcs [T],
}

/// Metric that there are vectors of.
pub(super) trait Simd: Length {
    /// # Safety
    /// The runs have as many arcs as there are slots and lengths, and as many rows as there are from `base` on; every slot
    /// is one of the rows; the processor has the instructions.
    unsafe fn sweep<const START: bool>(
        by: Instructions,
        work: Work<'_, Self>,
        base: usize,
        rows: &mut [Row<Self>],
    );

    /// Offers a row, lengthened by each arc, to the rows the arcs lead to.
    fn offer(by: Instructions, row: &Row<Self>, slots: &[u16], lengths: &[Self], rows: &mut [Row<Self>]);

    /// Adds rows up and finds the longest of each lane. Where the longest is [`Length::NONE`], or so long that sums may have
    /// run over, the sums mean nothing.
    fn fold(by: Instructions, rows: &[Row<Self>]) -> (Row<Self>, Row<Self>);
}

macro_rules! lanes {
    ($length:ty, $portable:ty, $(($instructions:ident, $feature:tt, $vector:ty, $in_row:literal)),*) => {
        impl Simd for $length {
            unsafe fn sweep<const START: bool>(
                by: Instructions,
                work: Work<'_, Self>,
                base: usize,
                rows: &mut [Row<Self>],
            ) {
                match by {
                    $(
                        #[cfg(target_arch = "x86_64")]
                        Instructions::$instructions => {
                            #[target_feature(enable = $feature)]
                            unsafe fn with<const START: bool>(
                                work: Work<'_, $length>,
                                base: usize,
                                rows: &mut [Row<$length>],
                            ) {
                                // SAFETY: the caller's duty.
                                unsafe { sweep_tile::<$length, $vector, $in_row, START>(work, base, rows) }
                            }
                            // SAFETY: the caller's duty.
                            unsafe { with::<START>(work, base, rows) }
                        }
                    )*
                    // SAFETY: the caller's duty.
                    _ => unsafe { sweep_tile::<$length, $portable, 1, START>(work, base, rows) },
                }
            }

            fn offer(
                by: Instructions,
                row: &Row<Self>,
                slots: &[u16],
                lengths: &[Self],
                rows: &mut [Row<Self>],
            ) {
                match by {
                    $(
                        #[cfg(target_arch = "x86_64")]
                        Instructions::$instructions if by.are_available() => {
                            #[target_feature(enable = $feature)]
                            fn with(
                                row: &Row<$length>,
                                slots: &[u16],
                                lengths: &[$length],
                                rows: &mut [Row<$length>],
                            ) {
                                // SAFETY: this function has the instructions.
                                unsafe { offer_row::<$length, $vector, $in_row>(row, slots, lengths, rows) }
                            }
                            // SAFETY: the processor has the instructions.
                            unsafe { with(row, slots, lengths, rows) }
                        }
                    )*
                    // SAFETY: plain loops need no instructions.
                    _ => unsafe { offer_row::<$length, $portable, 1>(row, slots, lengths, rows) },
                }
            }

            fn fold(by: Instructions, rows: &[Row<Self>]) -> (Row<Self>, Row<Self>) {
                match by {
                    $(
                        #[cfg(target_arch = "x86_64")]
                        Instructions::$instructions if by.are_available() => {
                            #[target_feature(enable = $feature)]
                            fn with(rows: &[Row<$length>]) -> (Row<$length>, Row<$length>) {
                                // SAFETY: this function has the instructions.
                                unsafe { fold_rows::<$length, $vector, $in_row>(rows) }
                            }
                            // SAFETY: the processor has the instructions.
                            unsafe { with(rows) }
                        }
                    )*
                    // SAFETY: plain loops need no instructions.
                    _ => unsafe { fold_rows::<$length, $portable, 1>(rows) },
                }
            }
        }
    };
}

lanes!(u32, [u32; LANES], (Avx512, "avx512f", vector::x86::U32x16, 2), (Avx2, "avx2", vector::x86::U32x8, 4));
lanes!(u64, [u64; LANES], (Avx512, "avx512f", vector::x86::U64x8, 4), (Avx2, "avx2", vector::x86::U64x4, 8));

/// # Safety
/// As [`Simd::sweep`].
#[inline(always)]
unsafe fn sweep_tile<T: Length, V: Vector<T>, const N: usize, const START: bool>(
    work: Work<'_, T>,
    base: usize,
    rows: &mut [Row<T>],
) {
    let rows = rows.as_mut_ptr();
    let (mut slots, mut lengths) = (work.slots.as_ptr(), work.lengths.as_ptr());
    let mut target = rows.wrapping_add(base);
    for run in work.runs {
        let count = usize::from(run.rows);
        let degree = usize::from(run.degree);
        // SAFETY: the caller's duty: rows and arcs of all runs are there.
        unsafe {
            match degree {
                0 => sweep_run::<T, V, N, START, 0>(rows, slots, lengths, target, count),
                1 => sweep_run::<T, V, N, START, 1>(rows, slots, lengths, target, count),
                2 => sweep_run::<T, V, N, START, 2>(rows, slots, lengths, target, count),
                3 => sweep_run::<T, V, N, START, 3>(rows, slots, lengths, target, count),
                4 => sweep_run::<T, V, N, START, 4>(rows, slots, lengths, target, count),
                5 => sweep_run::<T, V, N, START, 5>(rows, slots, lengths, target, count),
                6 => sweep_run::<T, V, N, START, 6>(rows, slots, lengths, target, count),
                7 => sweep_run::<T, V, N, START, 7>(rows, slots, lengths, target, count),
                8 => sweep_run::<T, V, N, START, 8>(rows, slots, lengths, target, count),
                _ => {
                    for row in 0..count {
                        let (slots, lengths) = (slots.add(row * degree), lengths.add(row * degree));
                        sweep_row::<T, V, N, START>(rows, slots, lengths, degree, target.add(row));
                    }
                }
            }
            slots = slots.add(count * degree);
            lengths = lengths.add(count * degree);
            target = target.add(count);
        }
    }
}

/// # Safety
/// There are `count` rows at `target`, and `D` arcs for each.
#[inline(always)]
unsafe fn sweep_run<T: Length, V: Vector<T>, const N: usize, const START: bool, const D: usize>(
    rows: *mut Row<T>,
    slots: *const u16,
    lengths: *const T,
    target: *mut Row<T>,
    count: usize,
) {
    for row in 0..count {
        // SAFETY: the caller's duty.
        unsafe {
            let (slots, lengths) = (slots.add(row * D), lengths.add(row * D));
            sweep_row::<T, V, N, START>(rows, slots, lengths, D, target.add(row));
        }
    }
}

/// # Safety
/// There are `degree` arcs, each from a row that is there.
#[inline(always)]
unsafe fn sweep_row<T: Length, V: Vector<T>, const N: usize, const START: bool>(
    rows: *mut Row<T>,
    slots: *const u16,
    lengths: *const T,
    degree: usize,
    target: *mut Row<T>,
) {
    // SAFETY: the caller's duty; a row is N vectors, and begins with a cache line.
    unsafe {
        let target = target.cast::<T>();
        let mut best = [V::splat(T::NONE); N];
        if START {
            for (part, best) in best.iter_mut().enumerate() {
                *best = V::load(target.add(part * (LANES / N)));
            }
        }
        for arc in 0..degree {
            let from = rows.add(usize::from(*slots.add(arc))).cast::<T>();
            let length = V::splat(*lengths.add(arc));
            for (part, best) in best.iter_mut().enumerate() {
                *best = best.least(V::load(from.add(part * (LANES / N))).plus(length));
            }
        }
        for (part, best) in best.into_iter().enumerate() {
            best.store(target.add(part * (LANES / N)));
        }
    }
}

/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn offer_row<T: Length, V: Vector<T>, const N: usize>(
    row: &Row<T>,
    slots: &[u16],
    lengths: &[T],
    rows: &mut [Row<T>],
) {
    for (slot, length) in slots.iter().zip(lengths) {
        let target = rows[usize::from(*slot)].0.as_mut_ptr();
        for part in 0..N {
            // SAFETY: both rows are borrowed, are N vectors and begin with a cache line; the instructions are the caller's
            // duty.
            unsafe {
                let path = V::load(row.0.as_ptr().add(part * (LANES / N))).plus(V::splat(*length));
                let target = target.add(part * (LANES / N));
                V::load(target).least(path).store(target);
            }
        }
    }
}

/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn fold_rows<T: Length, V: Vector<T>, const N: usize>(rows: &[Row<T>]) -> (Row<T>, Row<T>) {
    let (mut sums, mut longest) = (Row([T::default(); LANES]), Row([T::default(); LANES]));
    // SAFETY: rows are N vectors and begin with a cache line; the instructions are the caller's duty.
    unsafe {
        let mut sum = [V::splat(T::default()); N];
        let mut most = [V::splat(T::default()); N];
        for row in rows {
            for part in 0..N {
                let values = V::load(row.0.as_ptr().add(part * (LANES / N)));
                sum[part] = sum[part].plus(values);
                most[part] = most[part].most(values);
            }
        }
        for part in 0..N {
            sum[part].store(sums.0.as_mut_ptr().add(part * (LANES / N)));
            most[part].store(longest.0.as_mut_ptr().add(part * (LANES / N)));
        }
    }
    (sums, longest)
}
