//! Long runs: from very many sources, with progress, interrupted and resumed, by PHAST queries or by searches.
//!
//! A run stores ([`Stored`]) a summary of each source, and, where the caller asks for them, a histogram and a matrix on the disk:
//! it never has the distances of all pairs in memory. It stores the same whichever [`Engine`] finds the distances, so that a run
//! that searches began can be ended by PHAST queries. Several processes share a run through a folder (`shards.rs`) or by
//! messages (`handed.rs`).

mod checkpoint;
mod engine;
mod error;
mod handed;
mod matrix;
mod once;
mod question;
mod rows;
mod run;
mod searches;
mod shards;
mod stored;

pub use checkpoint::Checkpoint;
pub use engine::Engine;
pub use error::AllPairsError;
pub use matrix::room_for_matrix;
pub use once::{Once, Turn, once};
pub use question::Question;
pub use rows::{ChunkRows, RowsError};
pub use run::AllPairs;
pub use searches::{Queue, Searches};
pub use shards::{Chunk, Merged, Plan, Shard, Shards};
pub use stored::{AllPairsOutcome, AllPairsProgress, Stored};
