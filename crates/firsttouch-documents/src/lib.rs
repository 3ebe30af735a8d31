//! Every JSON document that firsttouch writes: which kinds there are ([`Kind`], a closed list), how one is written
//! ([`to_json`], [`to_line`]), what it holds ([`Kind::schema`]), and how a text becomes one again ([`open()`]).
//!
//! A document begins with `kind` and `schema_version`. Readers know it by these, never by its other keys, and documents
//! within documents do not repeat them. What a document holds is a type: here, or in the crate below that measures it.
//!
//! Architecture invariant: this crate measures nothing and renders nothing. It reads and writes no file but the one that keeps
//! measurements ([`load_measurement`], [`save_measurement`]), which is replaced as others are that have to be whole ([`Replacement`]).

#![forbid(unsafe_code)]

mod articles;
mod attached;
mod bench;
mod decision;
mod distances;
mod doctor;
mod envelope;
mod explanation;
mod graph;
mod hosts;
mod job;
mod journal;
mod kept;
mod kind;
mod lab;
mod open;
mod reading;
mod recording;
mod region;
mod replacement;
mod runtime;
#[cfg(test)]
mod schema;
mod search;
mod setup;

pub use articles::{ArticleFigure, ArticleReport, ArticleRow, ArticleTable, PublishedValue};
pub use attached::{AttachForgotten, AttachList, ObservationReport};
pub use bench::{
    BenchReport, CaseComparison, CaseList, CaseReport, ComparisonAxis, ListedCase, ListedParameter,
    ListedVariant, MissingVariant, PlacedArrays, PublishedFigure,
};
pub use decision::{DecisionReport, DecisionSource};
pub use distances::{Summary, Totals};
pub use doctor::{DoctorHost, DoctorReport, Quantity, Unseen, is_time, less_good_median, measured_words};
pub use envelope::{Document, to_json, to_line};
pub use explanation::{Explanation, Finding, Proof, Weight};
pub use firsttouch_placement::SCHEMA_VERSION;
pub use graph::{
    Description, GraphAsked, GraphFigures, GraphReceipt, GraphReport, GraphSize, HierarchyShape,
    MemoryEstimate, MemoryEstimateReport,
};
pub use hosts::{DifferingFact, HostComparison, MissingHost, NoNames, SlowHost, expanded, folded};
pub use job::{JobRank, JobReport};
pub use journal::{JournalBegin, JournalEntry, ProgramImage};
pub use kept::{MeasurementError, Measurements, load_measurement, save_measurement};
pub use kind::{AnyDocument, Kind};
pub use lab::{LabList, LabMachine, LabNode, LabReport};
pub use open::{OpenError, open};
pub use reading::from_json;
pub use recording::{
    PoolLevel, Recording, WatchCost, WatchEnd, WatchEnding, WatchHeader, WatchSample, WatchedFaults,
    WatchedMachine, WatchedMemory, WatchedProcess, WatchedThreads,
};
pub use region::{RegionAsked, RegionObtained, RegionReceipt};
pub use replacement::{Beside, Replacement};
pub use runtime::{Account, Balancing, Span, Step, WorkerStep};
pub use search::{DistanceHistogram, Figures, MergeReport, SearchReport, Spread};
pub use setup::{SetupAction, SetupChange, SetupEntry, SetupKind, SetupReport, SetupState};
