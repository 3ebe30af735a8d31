//! How far a measurement is, for those who wait for it.

/// How far a measurement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasureProgress {
    /// Memory is being created and written.
    Preparing {
        /// Bytes, over all nodes.
        bytes: u64,
        /// Nodes whose memory is measured.
        nodes: usize,
    },
    /// The fastest instructions are looked for.
    Choosing,
    /// Pairs of nodes are being measured.
    Measuring {
        /// Pairs done, over all repetitions.
        done: usize,
        /// Pairs to do.
        of: usize,
    },
    /// Pairs of CPUs pass a cache line back and forth.
    Cores {
        /// Pairs done, over all repetitions.
        done: usize,
        /// Pairs to do.
        of: usize,
    },
}
