//! Shortest paths from many sources on large graphs, at the speed of the memory they lie in.
//!
//! A [`Graph`] is arcs in the order of their tails (compressed sparse rows), with non-negative integer weights. [`read`] reads
//! one from a file, by a team of threads, into memory on chosen pages; [`Ids`] tells which node is which of the file.
//!
//! [`Search`] finds the shortest paths from one source after the other by one thread, [`TeamSearch`] by all threads of a team.
//! [`hierarchy`] prepares a graph for sweeps from many sources at once; [`AllPairs`] goes through very many sources by either, with
//! progress and checkpoints.
//!
//! Architecture invariants: this crate never prints and reads no environment; nodes inside are numbers from 0, and every
//! result is told in the numbers of the file.

#![deny(unsafe_code)]

mod all_pairs;
#[expect(unsafe_code, reason = "arrays in memory of several kinds, which they keep")]
mod array;
mod binary;
mod build;
mod copies;
mod derived;
mod description;
mod file;
mod fingerprint;
mod generate;
mod graph;
pub mod hierarchy;
mod histogram;
mod ids;
mod need;
mod order;
mod ranks;
mod read;
mod report;
mod rows;
mod search;
mod summary;
mod write;

pub use all_pairs::{
    AllPairs, AllPairsError, Checkpoint, Chunk, ChunkRows, Engine, Kept, Merged, Once, Outcome, Plan,
    Progress, Question, Queue, RowsError, Searches, Shard, Shards, Turn, once, room_for_matrix,
};
pub use array::Place;
pub use binary::BinaryError;
pub use copies::{Copies, CoreGroup, GraphAsked, GraphReceipt, Graphs, core_groups};
pub use description::Description;
pub use file::FileError;
pub use generate::{GenerateError, Recipe, generate};
pub use graph::{Graph, GraphError, Node, OutArc, UNREACHED};
pub use histogram::Histogram;
pub use ids::Ids;
pub use need::{Need, Size};
pub use order::{Order, Reordering};
pub use ranks::{HearError, MessageError, Ranks};
pub use read::{
    Format, LineError, Loaded, ReadError, ReadOptions, read, read_coordinates, read_coordinates_from,
    read_from, read_sources, read_sources_from,
};
pub use report::{Figure, Figures, GraphFigures, MergeReport, SearchBench, SearchReport, SearchWay, Spread};
pub use rows::{Arc, LentArc, LentArcs, LentRows, OwnRows, Rows, SoundRows, Stretch, View, Weight};
pub use search::{
    Algorithm, Choice, Distances, Goal, GraphShape, NEIGHBOURHOOD, NO_PARENT, STRETCH, Search, Task,
    TeamSearch, Tree, Width, choose, leads_on, search_each,
};
pub use summary::{Summary, Totals};
pub use write::{WriteError, save, write_text};
