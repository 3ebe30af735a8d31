//! Compressed sparse rows to be searched, wherever they lie: those of a [`Graph`], or arrays that somebody else keeps.
//!
//! [`LentRows`] are arrays of others, searched where they are: heads and weights lie apart there, so that an arc costs two
//! cache lines, but nothing is copied. Searches are compiled for each kind of rows by itself ([`Rows`]).
//!
//! Invariant: lent rows were looked at once ([`SoundRows::check`]): rows follow each other, heads are there, weights are
//! weights. If somebody changes them nevertheless, distances are wrong or a search panics, and no other memory is touched:
//! every index is compared with the length of what it is an index of.

use crate::graph::{Extent, Graph, GraphError, Node, OutArc};
use crate::search::memory::prefetch;
use std::fmt;
use std::ops::Range;

/// Compressed sparse rows that can be searched.
pub trait Rows: fmt::Debug + Sync {
    /// The same, as a value.
    type View<'a>: View
    where
        Self: 'a;

    /// How many nodes there are.
    fn nodes(&self) -> usize;
    /// How many arcs there are.
    fn arcs(&self) -> usize;
    /// The largest weight; 0 where there is no arc.
    fn max_weight(&self) -> u32;
    /// Where the arrays are: what a loop keeps in registers, since the compiler cannot know that nobody moves them.
    fn view(&self) -> Self::View<'_>;

    /// The arcs that leave a node.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline(always)]
    fn out(&self, node: Node) -> <Self::View<'_> as View>::Out {
        self.view().out(node)
    }
}

/// Where the arrays of rows are.
pub trait View: Copy {
    /// Arcs side by side.
    type Out: Stretch;

    /// The first of the arcs that leave a node, if any does.
    ///
    /// # Panics
    /// If there is no such node.
    fn begin(self, node: Node) -> usize;
    /// Which arcs leave a node.
    ///
    /// # Panics
    /// If there is no such node.
    fn row(self, node: Node) -> Range<usize>;
    /// These arcs; `None` if there are not so many.
    fn stretch(self, arcs: Range<usize>) -> Option<Self::Out>;
    /// Asks for the cache lines that [`View::row`] will read.
    fn prefetch_row(self, node: Node);
    /// Asks for the cache lines of an arc, which need not be there.
    fn prefetch_arc(self, arc: usize);

    /// The arcs that leave a node.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline(always)]
    fn out(self, node: Node) -> Self::Out {
        self.stretch(self.row(node)).expect("rows end where the arcs do")
    }
}

/// Arcs that lie side by side.
pub trait Stretch: Copy {
    /// One of them.
    type Arc: Arc;

    /// Each of them.
    fn each(self) -> impl Iterator<Item = Self::Arc>;
    /// The node that the one at this place leads to; `None` if there are not so many.
    fn head(self, place: usize) -> Option<Node>;
    /// How many there are.
    fn count(self) -> usize;
}

/// An arc where it lies. Its parts are read when they are asked for: a loop over several would run out of registers for them.
pub trait Arc: Copy {
    /// The node it leads to.
    fn head(self) -> Node;
    /// Its length.
    fn weight(self) -> u32;
}

impl Arc for &OutArc {
    #[inline(always)]
    fn head(self) -> Node {
        self.head
    }

    #[inline(always)]
    fn weight(self) -> u32 {
        self.weight
    }
}

impl Rows for Graph {
    type View<'a> = OwnRows<'a>;

    fn nodes(&self) -> usize {
        Graph::nodes(self)
    }

    fn arcs(&self) -> usize {
        Graph::arcs(self)
    }

    fn max_weight(&self) -> u32 {
        Graph::max_weight(self)
    }

    #[inline(always)]
    fn view(&self) -> OwnRows<'_> {
        OwnRows { offsets: self.offsets(), arcs: self.all_arcs() }
    }
}

/// The arrays of a [`Graph`].
#[derive(Clone, Copy, Debug)]
pub struct OwnRows<'a> {
    offsets: &'a [u64],
    arcs: &'a [OutArc],
}

impl<'a> View for OwnRows<'a> {
    type Out = &'a [OutArc];

    #[inline(always)]
    fn begin(self, node: Node) -> usize {
        self.offsets[node as usize] as usize
    }

    #[inline(always)]
    fn row(self, node: Node) -> Range<usize> {
        self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize
    }

    #[inline(always)]
    fn stretch(self, arcs: Range<usize>) -> Option<&'a [OutArc]> {
        self.arcs.get(arcs)
    }

    #[inline(always)]
    fn prefetch_row(self, node: Node) {
        prefetch(self.offsets, node as usize);
    }

    #[inline(always)]
    fn prefetch_arc(self, arc: usize) {
        prefetch(self.arcs, arc);
    }
}

impl<'a> Stretch for &'a [OutArc] {
    type Arc = &'a OutArc;

    #[inline(always)]
    fn each(self) -> impl Iterator<Item = &'a OutArc> {
        self.iter()
    }

    #[inline(always)]
    fn head(self, place: usize) -> Option<Node> {
        self.get(place).map(|arc| arc.head)
    }

    fn count(self) -> usize {
        self.len()
    }
}

/// A type that others keep weights in.
pub trait Weight: Copy + Send + Sync + 'static {
    /// The weight; `None` if it is no whole number from 0 to 2^32 - 1.
    fn length(self) -> Option<u32>;
    /// The weight of one that was looked at.
    fn sound_length(self) -> u32;
}

/// No weights: every arc has weight 1.
impl Weight for () {
    fn length(self) -> Option<u32> {
        Some(1)
    }

    #[inline(always)]
    fn sound_length(self) -> u32 {
        1
    }
}

macro_rules! weights {
    ($($integer:ty),*; $($fraction:ty),*) => {
        $(
            impl Weight for $integer {
                #[inline(always)]
                fn length(self) -> Option<u32> {
                    self.try_into().ok()
                }

                #[inline(always)]
                fn sound_length(self) -> u32 {
                    self as u32
                }
            }
        )*
        $(
            impl Weight for $fraction {
                #[inline(always)]
                fn length(self) -> Option<u32> {
                    let is_in_range = self >= 0.0 && f64::from(self) <= f64::from(u32::MAX);
                    (is_in_range && self.fract() == 0.0).then_some(self as u32)
                }

                #[inline(always)]
                fn sound_length(self) -> u32 {
                    self as u32
                }
            }
        )*
    };
}

weights!(i32, u32, i64, u64; f32, f64);

/// What is known of arrays that were found to be rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoundRows {
    nodes: usize,
    arcs: usize,
    extent: Extent,
}

impl SoundRows {
    /// Looks whether arrays are compressed sparse rows: `offsets` has one entry more than there are nodes, the arcs of node `v`
    /// are those from `offsets[v]` up to `offsets[v + 1]`. `weight` tells that of each arc, by its place among the heads, or
    /// `None` where it is no weight.
    ///
    /// # Errors
    /// Rows that do not follow each other, heads that are not there, weights that are none.
    pub fn check<O, H>(
        offsets: &[O],
        heads: &[H],
        weight: impl Fn(usize) -> Option<u32>,
    ) -> Result<SoundRows, GraphError>
    where
        O: Copy + TryInto<i64>,
        H: Copy + TryInto<u32>,
    {
        let head = |arc: usize| heads[arc].try_into().unwrap_or(Node::MAX);
        SoundRows::check_each(offsets, heads.len(), head, weight)
    }

    /// The same of so many arcs that lie in another way.
    pub(crate) fn check_each<O: Copy + TryInto<i64>>(
        offsets: &[O],
        arcs: usize,
        head: impl Fn(usize) -> Node,
        weight: impl Fn(usize) -> Option<u32>,
    ) -> Result<SoundRows, GraphError> {
        let nodes = offsets.len().saturating_sub(1);
        if nodes > u32::MAX as usize {
            return Err(GraphError::TooManyNodes { nodes: nodes as u64 });
        }
        if nodes == 0 && arcs > 0 {
            return Err(GraphError::BadRow { node: 0, begins: 0, ends: 0, arcs });
        }
        let number = |offset: O| offset.try_into().unwrap_or(-1);
        let mut reached = 0;
        let mut extent = Extent::default();
        for (node, row) in offsets.windows(2).enumerate() {
            let (begins, ends) = (number(row[0]), number(row[1]));
            let is_last = node + 1 == nodes;
            let is_sound = begins == reached
                && ends >= begins
                && ends as usize <= arcs
                && (!is_last || ends as usize == arcs);
            if !is_sound {
                return Err(GraphError::BadRow { node, begins, ends, arcs });
            }
            reached = ends;
            let (tail, mut longest) = (node as Node, 0);
            for arc in begins as usize..ends as usize {
                let head = head(arc);
                if head as usize >= nodes {
                    return Err(GraphError::NoSuchNode { arc, tail, head, nodes });
                }
                longest = longest.max(weight(arc).ok_or(GraphError::BadWeight { arc, tail, head })?);
            }
            extent = extent.with(Extent { max_weight: longest, distance_bound: u64::from(longest) });
        }
        Ok(SoundRows { nodes, arcs, extent })
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// How many arcs there are.
    #[must_use]
    pub fn arcs(&self) -> usize {
        self.arcs
    }

    /// As [`Graph::fits_32_bits`].
    #[must_use]
    pub fn fits_32_bits(&self) -> bool {
        self.extent.fits_32_bits(self.nodes)
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }
}

/// Compressed sparse rows in arrays of somebody else's, of numbers of 32 or 64 bits.
///
/// ```
/// use firsttouch_graph::{LentRows, Search, Width};
///
/// let (offsets, heads, weights) = ([0_u32, 2, 3, 3], [1_u32, 2, 2], [5.0, 20.0, 5.0]);
/// let rows = LentRows::new(&offsets, &heads, &weights)?;
/// let mut search = Search::with_buckets(&rows, Width::Guessed);
/// assert_eq!(search.run(0, None).distances().of(2), Some(10));
/// # Ok::<(), firsttouch_graph::GraphError>(())
/// ```
#[derive(Clone, Copy)]
pub struct LentRows<'a, I, W> {
    offsets: &'a [I],
    heads: &'a [I],
    weights: &'a [W],
    max_weight: u32,
}

impl<'a, I, W> LentRows<'a, I, W> {
    /// These arrays, with a weight for each head; `&[(); N]`, or a leaked vector of `()`, which takes no memory, are weights of 1.
    ///
    /// # Errors
    /// As [`SoundRows::check`]; another number of weights than of heads.
    pub fn new(offsets: &'a [I], heads: &'a [I], weights: &'a [W]) -> Result<LentRows<'a, I, W>, GraphError>
    where
        I: Copy + TryInto<i64> + TryInto<u32>,
        W: Weight,
    {
        let unequal = GraphError::UnequalLengths { heads: heads.len(), weights: weights.len() };
        if heads.len() != weights.len() {
            return Err(unequal);
        }
        let sound = SoundRows::check(offsets, heads, |arc| weights[arc].length())?;
        LentRows::known(sound, offsets, heads, weights).ok_or(unequal)
    }

    /// Arrays that were found sound before; `None` if they have another length now.
    #[must_use]
    pub fn known(
        sound: SoundRows,
        offsets: &'a [I],
        heads: &'a [I],
        weights: &'a [W],
    ) -> Option<LentRows<'a, I, W>> {
        let lengths = (offsets.len().saturating_sub(1), heads.len(), weights.len());
        let max_weight = sound.extent.max_weight;
        (lengths == (sound.nodes, sound.arcs, sound.arcs)).then_some(LentRows {
            offsets,
            heads,
            weights,
            max_weight,
        })
    }
}

impl<I, W> fmt::Debug for LentRows<'_, I, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LentRows").field("arcs", &self.heads.len()).finish_non_exhaustive()
    }
}

impl<'b, I: Copy + Into<u64> + Sync, W: Weight> Rows for LentRows<'b, I, W> {
    type View<'a>
        = LentRows<'b, I, W>
    where
        Self: 'a;

    fn nodes(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn arcs(&self) -> usize {
        self.heads.len()
    }

    fn max_weight(&self) -> u32 {
        self.max_weight
    }

    #[inline(always)]
    fn view(&self) -> LentRows<'b, I, W> {
        *self
    }
}

impl<'a, I: Copy + Into<u64>, W: Weight> View for LentRows<'a, I, W> {
    type Out = LentArcs<'a, I, W>;

    #[inline(always)]
    fn begin(self, node: Node) -> usize {
        self.offsets[node as usize].into() as usize
    }

    #[inline(always)]
    fn row(self, node: Node) -> Range<usize> {
        self.begin(node)..self.offsets[node as usize + 1].into() as usize
    }

    #[inline(always)]
    fn stretch(self, arcs: Range<usize>) -> Option<LentArcs<'a, I, W>> {
        Some(LentArcs { heads: self.heads.get(arcs.clone())?, weights: self.weights.get(arcs)? })
    }

    #[inline(always)]
    fn prefetch_row(self, node: Node) {
        prefetch(self.offsets, node as usize);
    }

    #[inline(always)]
    fn prefetch_arc(self, arc: usize) {
        prefetch(self.heads, arc);
        if size_of::<W>() > 0 {
            prefetch(self.weights, arc);
        }
    }
}

/// Arcs in arrays of somebody else's.
#[derive(Clone, Copy, Debug)]
pub struct LentArcs<'a, I, W> {
    heads: &'a [I],
    weights: &'a [W],
}

/// An arc in arrays of somebody else's.
#[derive(Clone, Copy, Debug)]
pub struct LentArc<'a, I, W> {
    head: &'a I,
    weight: &'a W,
}

impl<I: Copy + Into<u64>, W: Weight> Arc for LentArc<'_, I, W> {
    #[inline(always)]
    fn head(self) -> Node {
        (*self.head).into() as Node
    }

    #[inline(always)]
    fn weight(self) -> u32 {
        self.weight.sound_length()
    }
}

impl<'a, I: Copy + Into<u64>, W: Weight> Stretch for LentArcs<'a, I, W> {
    type Arc = LentArc<'a, I, W>;

    #[inline(always)]
    fn each(self) -> impl Iterator<Item = LentArc<'a, I, W>> {
        self.heads.iter().zip(self.weights).map(|(head, weight)| LentArc { head, weight })
    }

    #[inline(always)]
    fn head(self, place: usize) -> Option<Node> {
        self.heads.get(place).map(|head| (*head).into() as Node)
    }

    fn count(self) -> usize {
        self.heads.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Search, Width};

    #[test]
    fn lent_arcs_are_those_of_a_graph() {
        let graph = Graph::from_arcs(3, &[(0, 1, 5), (0, 2, 6), (2, 0, 7)]).unwrap();
        let (offsets, heads) = ([0_u32, 2, 2, 3], [1_u32, 2, 0]);
        let lent = LentRows::new(&offsets, &heads, &[5.0, 6.0, 7.0]).unwrap();
        assert_eq!((Rows::nodes(&lent), Rows::arcs(&lent), Rows::max_weight(&lent)), (3, 3, 7));
        for node in 0..3 {
            let arcs = Rows::out(&lent, node).each().map(|arc| (arc.head(), arc.weight()));
            assert!(arcs.eq(graph.out(node).iter().map(|arc| (arc.head, arc.weight))), "{node}");
            assert_eq!(Rows::out(&lent, node).count(), graph.out(node).len());
            assert_eq!(Rows::out(&lent, node).head(0), graph.out(node).first().map(|arc| arc.head));
        }
        assert!(lent.view().stretch(1..4).is_none());
        let without = LentRows::new(&[0_u64, 2, 2, 3], &[1, 2, 0], &[(); 3]).unwrap();
        assert!(Rows::out(&without, 0).each().all(|arc| arc.weight() == 1));
    }

    #[test]
    fn arrays_that_are_no_rows_are_refused() {
        let rows = |offsets: &[u32], heads: &[u32], weights: &[i64]| {
            LentRows::new(offsets, heads, weights).map(drop)
        };
        assert_eq!(rows(&[0, 1, 1], &[1], &[5]), Ok(()));
        assert_eq!(rows(&[0, 1, 1], &[1], &[]), Err(GraphError::UnequalLengths { heads: 1, weights: 0 }));
        assert_eq!(
            rows(&[0, 1, 1], &[2], &[5]),
            Err(GraphError::NoSuchNode { arc: 0, tail: 0, head: 2, nodes: 2 })
        );
        for weight in [-1, 1 << 32] {
            let wanted = GraphError::BadWeight { arc: 0, tail: 0, head: 1 };
            assert_eq!(rows(&[0, 1, 1], &[1], &[weight]), Err(wanted));
        }
        let bad_row = |node, begins, ends| Err(GraphError::BadRow { node, begins, ends, arcs: 1 });
        assert_eq!(rows(&[0, 2, 1], &[1], &[5]), bad_row(0, 0, 2));
        assert_eq!(rows(&[0, 1, 0], &[1], &[5]), bad_row(1, 1, 0));
        assert_eq!(rows(&[0], &[1], &[5]), bad_row(0, 0, 0));
    }

    #[test]
    fn arrays_of_another_length_are_not_those_that_were_sound() {
        let sound = SoundRows::check(&[0_i32, 1, 1], &[1_i32], |_| Some(7)).unwrap();
        assert!(sound.fits_32_bits() && (sound.nodes(), sound.arcs()) == (2, 1));
        assert!(LentRows::known(sound, &[0_u32, 1, 1], &[1], &[7_u32]).is_some());
        assert!(LentRows::known(sound, &[0_u32, 1, 1], &[], &[7_u32]).is_none());
        assert!(LentRows::known(sound, &[0_u32, 1], &[1], &[7_u32]).is_none());
    }

    #[test]
    fn a_search_through_arrays_that_were_changed_fails() {
        let sound = SoundRows::check(&[0_i32, 1, 1], &[1_i32], |_| Some(7)).unwrap();
        for (offsets, heads) in [([0_u32, 1, 1], [9_u32]), ([0, 9, 9], [1]), ([1, 0, 0], [1])] {
            let lent = LentRows::known(sound, &offsets, &heads, &[7_u32]).unwrap();
            let search = || Search::with_buckets(&lent, Width::Fixed(1)).run(0, None).summary();
            assert!(std::panic::catch_unwind(search).is_err(), "{offsets:?} {heads:?}");
        }
    }

    #[test]
    fn fractions_and_what_32_bits_do_not_hold_are_no_weights() {
        assert_eq!([0.0_f64, 4_294_967_295.0].map(Weight::length), [Some(0), Some(u32::MAX)]);
        assert_eq!([-1.0, 0.5, 4_294_967_296.0, f64::NAN, f64::INFINITY].map(Weight::length), [None; 5]);
        assert_eq!([3.0_f32, 4_294_967_296.0].map(Weight::length), [Some(3), None]);
    }
}
