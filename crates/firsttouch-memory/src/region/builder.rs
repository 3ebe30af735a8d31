//! What a region is to be, before it is mapped.

use super::error::RegionError;
use super::name::Name;
use super::policy::NodePolicy;
use crate::object_places;
use crate::pages::{BASE, GIGANTIC, HUGE, Pages, base_pages_fit};
use crate::shares::Shares;
use firsttouch_linux::numa::NodeBits;

/// A region to be: its size, and whatever else is wished. [`Region::of`](super::Region::of) makes one.
///
/// ```
/// use firsttouch_memory::{Pages, Region};
/// let table = Region::of(6 << 20).pages(Pages::Transparent).prefer(&[0]).name("lookup table").prefault().map()?;
/// assert_eq!(table.as_slice().len(), 6 << 20);
/// let receipt = table.receipt();
/// for (reason, bytes) in receipt.shortfalls() {
///     println!("{bytes} bytes: {}; {}", reason.word(), reason.remedy());
/// }
/// # Ok::<(), firsttouch_memory::RegionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "nothing is mapped before `map`"]
pub struct Builder {
    pub(super) bytes: usize,
    pub(super) pages: Pages,
    pub(super) policy: NodePolicy,
    pub(super) align_bytes: usize,
    pub(super) prefault: bool,
    pub(super) name: Name,
    /// A node whose number is too large for any kernel.
    wrong_node: Option<u32>,
}

impl Builder {
    pub(super) fn new(bytes: usize) -> Builder {
        Builder {
            bytes,
            pages: Pages::Transparent,
            policy: NodePolicy::Inherited,
            align_bytes: HUGE,
            prefault: false,
            name: Name::NONE,
            wrong_node: None,
        }
    }

    /// The kind of pages; transparent huge pages if nothing is said. Where reserved pages cannot be had, the next smaller
    /// kind is taken, and the receipt says why. Reserved pages are created at once. `Pages::Plain` asks for none: whatever the
    /// machine's settings give any memory.
    pub fn pages(self, pages: Pages) -> Builder {
        Builder { pages, ..self }
    }

    /// The kind that is wished until now.
    pub fn wished_pages(&self) -> Pages {
        self.pages
    }

    /// Where the pages come from.
    pub fn memory(self, policy: NodePolicy) -> Builder {
        Builder { policy, ..self }
    }

    /// From these nodes only: [`NodePolicy::Bind`].
    pub fn bind(self, nodes: &[u32]) -> Builder {
        self.on(nodes, NodePolicy::Bind)
    }

    /// From these nodes, and others when they are full: [`NodePolicy::Prefer`].
    pub fn prefer(self, nodes: &[u32]) -> Builder {
        self.on(nodes, NodePolicy::Prefer)
    }

    /// Page by page over these nodes: [`NodePolicy::Interleave`].
    pub fn interleave(self, nodes: &[u32]) -> Builder {
        self.on(nodes, NodePolicy::Interleave)
    }

    /// Over nodes by weight: [`NodePolicy::Weighted`].
    pub fn weighted(self, shares: Shares) -> Builder {
        self.memory(NodePolicy::Weighted(shares))
    }

    /// The region begins at a multiple of this: a power of two from 4096 to 1 GiB. It is 2 MiB at least, in any case.
    pub fn align(self, align_bytes: usize) -> Builder {
        Builder { align_bytes, ..self }
    }

    /// The pages are created when it is mapped, and when it grows.
    pub fn prefault(self) -> Builder {
        Builder { prefault: true, ..self }
    }

    /// A name for those who read `/proc/PID/maps` (Linux 5.17, where it is built in; the receipt says whether it shows): at
    /// most 79 bytes, printable ASCII without ``[]\$` ``; what is longer is cut. Of shared memory it is the file's name.
    pub fn name(self, name: &str) -> Builder {
        Builder { name: Name::cut(name), ..self }
    }

    /// The memory of a name, which whoever started the program may have given a place: `places` is the value of
    /// [`object_places::VARIABLE`]. An entry of this name says the pages and where they come from, instead of what was wished before; without one, that
    /// stands. `None` where the places do not read, or this cannot be a name.
    pub fn named(self, name: &str, places: &str) -> Option<Builder> {
        let place = object_places::parse(places)?.find(|place| place.name == name);
        let builder = place.map_or(self, |place| self.pages(place.pages).memory(place.memory));
        object_places::is_name(name).then(|| builder.name(name))
    }

    fn on(self, nodes: &[u32], policy: impl Fn(NodeBits) -> NodePolicy) -> Builder {
        match NodeBits::of(nodes) {
            Some(bits) => self.memory(policy(bits)),
            None => {
                let wrong_node = nodes.iter().copied().find(|node| *node >= NodeBits::END);
                Builder { wrong_node, ..self }
            }
        }
    }

    /// Whether it can be had at all.
    pub(super) fn check(&self) -> Result<(), RegionError> {
        if !base_pages_fit() {
            return Err(RegionError::BasePages);
        }
        if let Some(node) = self.wrong_node {
            return Err(RegionError::Bind { node, errno: libc::EINVAL });
        }
        if !self.align_bytes.is_power_of_two() || !(BASE..=GIGANTIC).contains(&self.align_bytes) {
            return Err(RegionError::Align { align_bytes: self.align_bytes });
        }
        Ok(())
    }

    /// With another size.
    pub(super) fn sized(self, bytes: usize) -> Builder {
        Builder { bytes, ..self }
    }

    /// Where it begins: always at a huge page's place, so that a move keeps huge pages.
    pub(super) fn alignment(&self) -> usize {
        self.align_bytes.max(HUGE)
    }
}
