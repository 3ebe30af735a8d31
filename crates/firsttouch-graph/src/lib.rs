//! Shortest paths from many sources on large graphs, at the speed of the memory that holds them.
//!
//! A [`Graph`] is arcs in compressed sparse rows (CSR), with non-negative integer weights. A team of threads [`read`]s one from
//! a file into memory on chosen pages; [`Ids`] maps its nodes to those of the file. `BorrowedCsr` is such rows in arrays of the
//! caller's (feature `borrowed`, on by default).
//!
//! [`Search`] runs Dijkstra's algorithm from one source after the other, by one thread; [`ParallelSearch`] runs delta-stepping
//! by all threads of a team. [`hierarchy`] prepares a graph for PHAST, which answers 32 sources at once. [`AllPairs`] runs either
//! from very many sources, with progress and checkpoints. [`choose`] picks the algorithm that suits a graph.
//!
//! Architecture invariants: this crate never prints and reads no environment; it numbers nodes from 0 inside, and gives
//! results in the numbers of the file. Files do not import each other in circles: `rows/` imports from no other folder,
//! `formats/` and `search/` from rows, `hierarchy/` from rows and searches, `all_pairs/` from these three, reports from all; what
//! two files share lies in a file below both.

#![deny(unsafe_code)]

mod all_pairs;
mod description;
mod figures;
mod file;
mod fingerprint;
mod formats;
mod generate;
pub mod hierarchy;
mod histogram;
mod memory_estimate;
mod ranks;
mod report;
mod rows;
mod search;

pub use all_pairs::{
    AllPairs, AllPairsError, AllPairsOutcome, AllPairsProgress, Checkpoint, Chunk, ChunkRows, Engine, Merged,
    Once, Plan, Question, Queue, RowsError, Searches, Shard, Shards, Stored, Turn, once, room_for_matrix,
};
pub use file::FileError;
pub use firsttouch_documents::{
    Description, Figures, GraphFigures, GraphReceipt, MemoryEstimate, MergeReport, Summary, Totals,
};
pub use formats::{
    BinaryError, Format, LineError, Loaded, ReadError, ReadOptions, ReceiveError, WriteError, read,
    read_coordinates, read_coordinates_from, read_from, read_sources, read_sources_from, save, write_text,
};
pub use generate::{GenerateError, Recipe, generate};
pub use histogram::Histogram;
pub use memory_estimate::Size;
pub use ranks::{MessageError, Ranks};
pub use report::{Figure, figures_of, merge_report};
#[cfg(feature = "borrowed")]
pub use rows::BorrowedCsr;
pub use rows::{
    Copies, CoreGroup, CsrArrays, Graph, GraphError, Graphs, Ids, Index, Node, Order, OutArc, Place,
    Reordering, Rows, UNREACHED, ValidatedCsr, Weights, core_groups, core_groups_across,
};
pub use search::{
    Algorithm, Choice, Distances, Goal, GraphShape, NEIGHBOURHOOD, NO_PARENT, ParallelSearch, STRETCH,
    Search, Task, Tree, Width, choose, leads_on, search_each,
};
