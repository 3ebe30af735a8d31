//! Compressed sparse rows as other programs keep them: three arrays, with numbers of whatever types these have.

use super::arc::Node;

/// Which arcs there are: `offsets` has one entry more than there are nodes, the arcs of node `v` are those from `offsets[v]` up to
/// `offsets[v + 1]`, and lead to these of `heads`. Made of signed integers, too: by their bits, which make negative ones larger
/// than anything that can be counted.
#[derive(Clone, Copy, Debug)]
pub enum Index<'a> {
    /// In integers of 32 bits.
    Narrow {
        /// Where the arcs of each node begin.
        offsets: &'a [u32],
        /// The node that each arc leads to.
        heads: &'a [u32],
    },
    /// In integers of 64 bits.
    Wide {
        /// Where the arcs of each node begin.
        offsets: &'a [u64],
        /// The node that each arc leads to.
        heads: &'a [u64],
    },
}

macro_rules! from_slices {
    ($($kind:ident, $type:ty);*) => {
        $(impl<'a> From<(&'a [$type], &'a [$type])> for Index<'a> {
            fn from((offsets, heads): (&'a [$type], &'a [$type])) -> Index<'a> {
                Index::$kind { offsets: bytemuck::cast_slice(offsets), heads: bytemuck::cast_slice(heads) }
            }
        })*
    };
}

from_slices! { Narrow, i32; Narrow, u32; Wide, i64; Wide, u64 }

impl Index<'_> {
    /// How many offsets there are.
    pub(super) fn offsets(self) -> usize {
        match self {
            Index::Narrow { offsets, .. } => offsets.len(),
            Index::Wide { offsets, .. } => offsets.len(),
        }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(self) -> usize {
        self.offsets().saturating_sub(1)
    }

    /// How many arcs there are.
    #[must_use]
    pub fn arcs(self) -> usize {
        match self {
            Index::Narrow { heads, .. } => heads.len(),
            Index::Wide { heads, .. } => heads.len(),
        }
    }

    #[inline(always)]
    pub(super) fn offset(self, at: usize) -> u64 {
        match self {
            Index::Narrow { offsets, .. } => u64::from(offsets[at]),
            Index::Wide { offsets, .. } => offsets[at],
        }
    }

    /// The head of an arc; that of no node where it does not fit.
    #[inline(always)]
    pub(super) fn head(self, arc: usize) -> Node {
        match self {
            Index::Narrow { heads, .. } => heads[arc],
            Index::Wide { heads, .. } => heads[arc].try_into().unwrap_or(Node::MAX),
        }
    }
}

/// The weights of arcs.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "most are named after the type of their numbers")]
pub enum Weights<'a> {
    /// There is no array: all are 1.
    One,
    I32(&'a [i32]),
    U32(&'a [u32]),
    I64(&'a [i64]),
    U64(&'a [u64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

macro_rules! weights {
    ($($kind:ident, $type:ty);*) => {
        $(impl<'a> From<&'a [$type]> for Weights<'a> {
            fn from(all: &'a [$type]) -> Weights<'a> {
                Weights::$kind(all)
            }
        })*

        impl Weights<'_> {
            /// How many there are, if there is an array.
            #[must_use]
            pub fn count(self) -> Option<usize> {
                match self {
                    Weights::One => None,
                    $(Weights::$kind(all) => Some(all.len()),)*
                }
            }

            /// One of them as people write it.
            ///
            /// # Panics
            /// If there are not so many.
            #[must_use]
            pub fn text(self, arc: usize) -> String {
                match self {
                    Weights::One => 1.to_string(),
                    $(Weights::$kind(all) => all[arc].to_string(),)*
                }
            }
        }
    };
}

weights! { I32, i32; U32, u32; I64, i64; U64, u64; F32, f32; F64, f64 }

impl Weights<'_> {
    /// One of them; `None` if it is no whole number from 0 to 2^32 - 1.
    #[inline(always)]
    pub(super) fn length(self, arc: usize) -> Option<u32> {
        let of_fraction = |weight: f64| {
            let whole = weight as u32;
            (f64::from(whole) == weight).then_some(whole)
        };
        match self {
            Weights::One => Some(1),
            Weights::I32(all) => all[arc].try_into().ok(),
            Weights::U32(all) => Some(all[arc]),
            Weights::I64(all) => all[arc].try_into().ok(),
            Weights::U64(all) => all[arc].try_into().ok(),
            Weights::F32(all) => of_fraction(f64::from(all[arc])),
            Weights::F64(all) => of_fraction(all[arc]),
        }
    }
}

/// Compressed sparse rows that nobody has looked at yet: heads and weights lie apart.
#[derive(Clone, Copy, Debug)]
pub struct CsrArrays<'a> {
    /// Which arcs there are.
    pub index: Index<'a>,
    /// How long each of them is.
    pub weights: Weights<'a>,
}
