//! The closed list of kinds.

use crate::open::OpenError;
use crate::reading::from_json;
use crate::{
    Account, AttachForgotten, AttachList, BenchReport, CaseList, DecisionReport, DoctorReport, Document,
    Explanation, GraphReport, JobReport, JournalEntry, LabList, LabReport, Measurements,
    MemoryEstimateReport, MergeReport, ObservationReport, Recording, RegionReceipt, SearchReport, SetupEntry,
    SetupReport, WatchEnd, WatchHeader, WatchSample,
};
use firsttouch_balance::BalanceReport;
use firsttouch_balance::trial::TrialReport;
use firsttouch_machine::{FillReport, Measurement, StatusReport};
use firsttouch_placement::{AttachReport, Receipt, TuneReport};
use flate2::read::ZlibDecoder;
use std::fmt;
use std::io::{BufRead as _, BufReader};

/// One table for all that depends on the kind: its word, what writes it, its type, and how its text is read.
macro_rules! kinds {
    (
        documents { $($(#[$note:meta])* $kind:ident($type:ty) = $word:literal, $written:literal;)* }
        lines { $($(#[$line_note:meta])* $line:ident($line_type:ty) = $line_word:literal, $line_written:literal;)* }
    ) => {
        /// The kinds of documents, and of the lines that a recording or a journal is made of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$note])* $kind,)*
            $($(#[$line_note])* $line,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Kind] = &[$(Kind::$kind,)* $(Kind::$line,)*];

            /// Its word: the value of the key `kind`.
            pub fn word(self) -> &'static str {
                match self {
                    $(Kind::$kind => $word,)*
                    $(Kind::$line => $line_word,)*
                }
            }

            /// The command or call that writes it.
            pub fn written_by(self) -> &'static str {
                match self {
                    $(Kind::$kind => $written,)*
                    $(Kind::$line => $line_written,)*
                }
            }

            /// The same, made of the type: what the files are held to.
            #[cfg(test)]
            pub(crate) fn schema_of_type(self) -> schemars::Schema {
                use crate::schema::schema_of;
                match self {
                    $(Kind::$kind => schema_of::<$type>(),)*
                    $(Kind::$line => schema_of::<$line_type>(),)*
                }
            }
        }

        /// A document that was opened.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyDocument {
            $($(#[$note])* $kind(Box<$type>),)*
        }

        impl AnyDocument {
            /// Its kind.
            pub fn kind(&self) -> Kind {
                match self {
                    $(AnyDocument::$kind(_) => Kind::$kind,)*
                }
            }

            /// The document as indented JSON, ending in a newline.
            pub fn to_json(&self) -> String {
                match self {
                    $(AnyDocument::$kind(document) => crate::to_json(document.as_ref()),)*
                }
            }

            /// Reads a whole text of this kind.
            pub(crate) fn read(kind: Kind, text: &str) -> Result<AnyDocument, OpenError> {
                let shape = |source| OpenError::Shape { kind, source };
                match kind {
                    $(Kind::$kind => from_json(text).map(AnyDocument::$kind).map_err(shape),)*
                    $(Kind::$line => Err(OpenError::LineAlone { kind }),)*
                }
            }
        }

        $(impl Document for $type {
            const KIND: Kind = Kind::$kind;
        })*

        $(impl Document for $line_type {
            const KIND: Kind = Kind::$line;
        })*
    };
}

kinds! {
    documents {
        /// Asked against obtained, for one execution of a program.
        Receipt(Receipt) = "receipt", "firsttouch run --receipt FILE -- PROGRAM";
        /// The receipts of all ranks of a job.
        Job(JobReport) = "job", "firsttouch run --ranks auto --receipt FILE -- PROGRAM";
        /// A session of `tune`.
        Tune(TuneReport) = "tune", "firsttouch tune --export-json FILE -- PROGRAM";
        /// Cases in their variants and under their placements.
        Bench(BenchReport) = "bench", "firsttouch bench CASE --export-json FILE";
        /// The cases that there are.
        CaseList(CaseList) = "case-list", "firsttouch bench --list --json";
        /// Verdicts about what was measured elsewhere.
        Decision(DecisionReport) = "decision", "firsttouch report --decide FILE --export-json FILE";
        /// What was done to a running process.
        Attach(AttachReport) = "attach", "firsttouch attach PID --json";
        /// The journals that are kept.
        AttachList(AttachList) = "attach-list", "firsttouch attach --list --json";
        /// The journals that were removed.
        AttachForgotten(AttachForgotten) = "attach-forget", "firsttouch attach --forget --json";
        /// Threads that were seen and given CPUs by a strategy.
        Observation(ObservationReport) = "observation", "firsttouch attach PID --balance --json";
        /// A recording of `watch`, as one document.
        Recording(Recording) = "recording", "firsttouch report FILE --export-json FILE";
        /// Latency and bandwidth between nodes.
        Measurement(Measurement) = "measurement", "firsttouch measure --export-json FILE";
        /// The measurements that are kept in a file.
        Measurements(Measurements) = "measurements", "firsttouch measure --save FILE";
        /// What filling memory costs.
        Fill(FillReport) = "fill", "firsttouch fill --json";
        /// What a machine has and allows.
        Status(StatusReport) = "status", "firsttouch status --json";
        /// Who will override a placement.
        Explain(Explanation) = "explain", "firsttouch explain --json -- PROGRAM";
        /// What is wrong with machines.
        Doctor(DoctorReport) = "doctor", "firsttouch doctor --json";
        /// What a machine was set up for, or would be.
        Setup(SetupReport) = "setup", "firsttouch setup pages 2m=N --json";
        /// A program that ran on an emulated machine.
        Lab(LabReport) = "lab", "firsttouch lab --json -- PROGRAM";
        /// The machines that `lab` knows.
        LabList(LabList) = "lab-list", "firsttouch lab --list --json";
        /// A graph that was read, converted or made.
        Graph(GraphReport) = "graph", "firsttouch graph info GRAPH --json";
        /// Memory that searching takes.
        MemoryEstimate(MemoryEstimateReport) = "memory-estimate", "firsttouch sssp GRAPH --dry-run --json";
        /// A search for shortest paths.
        ShortestPaths(SearchReport) = "shortest-paths", "firsttouch sssp GRAPH --json";
        /// What several processes of one search have found.
        ShortestPathsMerge(MergeReport) = "shortest-paths-merge", "firsttouch apsp --merge FOLDER --json";
        /// What a mapping of tasks to cores is worth.
        Balance(BalanceReport) = "balance", "firsttouch balance solve --json";
        /// Balancers compared on simulated machines.
        BalanceTrial(TrialReport) = "balance-trial", "firsttouch balance simulate --json";
        /// What a run of the runtime did with its time.
        Runtime(Account) = "runtime", "to_json(runtime.account())";
        /// Asked against obtained, for one region of memory.
        Region(RegionReceipt) = "region", "firsttouch_region_json(), or firsttouch.obtained(array).to_dict()";
    }
    lines {
        /// The first line of a recording.
        Watch(WatchHeader) = "watch", "firsttouch watch PID --record FILE";
        /// A sample.
        WatchSample(WatchSample) = "watch-sample", "firsttouch watch PID --record FILE";
        /// The last line of a recording.
        WatchEnd(WatchEnd) = "watch-end", "firsttouch watch PID --record FILE";
        /// A line of the journal of an attach.
        AttachJournal(JournalEntry) = "attach-journal", "firsttouch attach PID";
        /// A line of the journal of `setup`.
        SetupJournal(SetupEntry) = "setup-journal", "firsttouch setup pages 2m=N --apply";
    }
}

impl Kind {
    /// The kind of this word.
    pub fn parse(word: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.word() == word)
    }

    /// The JSON Schema (draft 2020-12) of it: what a document holds, as it is written. One line, of those that `build.rs` packed.
    pub fn schema(self) -> String {
        let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.z"));
        let mut lines = BufReader::new(ZlibDecoder::new(packed)).lines().map_while(Result::ok);
        let found =
            lines.find_map(|line| Some(line.strip_prefix(self.word())?.strip_prefix(' ')?.to_owned()));
        found.unwrap_or_default() + "\n"
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
