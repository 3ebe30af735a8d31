//! Formats that are text. What is read by many threads at once is cut into pieces of whole lines (`pieces.rs`), in which a cursor
//! goes from word to word; those with one arc in a line differ in a grammar only (`records.rs`).

pub(super) mod beside;
mod cursor;
pub(super) mod dimacs;
pub(super) mod edge_list;
pub(super) mod matrix_market;
pub(super) mod metis;
mod pieces;
mod promise;
mod records;
mod trouble;

pub(super) use pieces::Text;
