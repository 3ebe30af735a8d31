//! A run that several processes share through a folder.

use crate::USAGE;
use crate::args::{Apsp, Chosen, GraphInput, Index, PlacedGraph};
use crate::output::{self, Failure, Outcome};
use crate::paths::{INTERRUPTED, Input, Made, made, this_rank};
use firsttouch_graph::{
    Algorithm, AllPairs, AllPairsError, Engine, Figures, Format, Ids, MergeReport, Merged, Node, Plan, Shard,
    Shards, Task, Totals, choose, save,
};
use firsttouch_placement::{Pages, SCHEMA_VERSION};
use firsttouch_report::{Style, json, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The folder that processes share, and which of them this is.
pub(super) struct Shared<'a> {
    folder: &'a Path,
    pub(super) shard: Shard,
}

impl<'a> Shared<'a> {
    /// If the run is to be shared.
    pub(super) fn of(args: &'a Apsp) -> Outcome<Option<Shared<'a>>> {
        let Some(folder) = &args.shard_dir else { return Ok(None) };
        let shard = this_rank(args.shard, |name| std::env::var(name).ok())?;
        if args.graph.input.file.as_os_str() == "-" {
            return Err(Failure::message("several processes cannot share standard input")
                .hint("name a file that all of them can read")
                .code(USAGE));
        }
        fs::create_dir_all(folder)?;
        Ok(Some(Shared { folder, shard }))
    }

    /// The graph, brought into our own format by one of the processes and mapped by all: those of a machine have one copy.
    pub(super) fn load(&self, args: &PlacedGraph, stop: &AtomicBool) -> Outcome<Input> {
        let (file, claimed) = (self.folder.join("graph.ftg"), self.folder.join("graph.claim"));
        let words = identity(&args.input)?;
        if made(&file, &claimed, &words, stop)? == Made::ByUs {
            let made = Input::load(args).and_then(|mut input| {
                save(&input.loaded, &file, Format::Binary, &mut input.team).map_err(|error| {
                    let hint = error.hint();
                    Failure::new(error).hint(hint)
                })
            });
            if made.is_err() {
                // Others find out by themselves what is wrong.
                let _ = fs::remove_file(&claimed);
            }
            made?;
        }
        if fs::read_to_string(&claimed).is_ok_and(|known| known != words) {
            return Err(Failure::message(format!(
                "{} is the folder of another graph",
                self.folder.display()
            ))
            .hint("name another folder: --shard-dir DIR")
            .code(USAGE));
        }
        let input = GraphInput {
            file,
            format: None,
            undirected: false,
            coordinates: None,
            reorder: None,
            threads: args.input.threads,
        };
        Input::load(&PlacedGraph { input, pages: Pages::Plain, groups: args.groups })
    }

    /// The index: made by one of the processes for all, if one is needed and none was named.
    pub(super) fn index(
        &self,
        algorithm: Chosen,
        index: &Index,
        input: &Input,
        task: Task,
        stop: &AtomicBool,
    ) -> Outcome<Index> {
        let named = Index { index: index.index.clone(), save_index: index.save_index.clone() };
        let sweeps = match algorithm {
            Chosen::Auto => choose(&input.shape, task).algorithm == Algorithm::Sweep,
            Chosen::This(algorithm) => algorithm == Algorithm::Sweep,
        };
        if named.is_named() || !sweeps {
            return Ok(named);
        }
        let file = self.index_file();
        let words = format!("process {} of {}\n", self.shard.rank, self.shard.ranks);
        Ok(match made(&file, &self.index_claim(), &words, stop)? {
            Made::ByOthers => Index { index: Some(file), save_index: None },
            Made::ByUs => Index { index: None, save_index: Some(file) },
        })
    }

    /// Where no index could be made, nobody need wait for it.
    pub(super) fn give_up_index(&self) {
        if !self.index_file().exists() {
            let _ = fs::remove_file(self.index_claim());
        }
    }

    fn index_file(&self) -> PathBuf {
        self.folder.join("index")
    }

    fn index_claim(&self) -> PathBuf {
        self.folder.join("index.claim")
    }

    /// Joins the run and works on it; answers what all have found, if all is there, and how many sources were done before.
    pub(super) fn work<'b, 'c: 'b>(
        &self,
        settings: &AllPairs<'_>,
        engine: impl Into<Engine<'c, 'b>>,
        nodes: &[Node],
        plan: Plan,
    ) -> Result<(Shards, usize, bool), AllPairsError> {
        let mut engine = engine.into();
        let shards = Shards::join(self.folder, &engine, nodes, self.shard, plan)?;
        let before = shards.done();
        let finished = shards.work(settings, &mut engine, nodes, self.shard)?;
        Ok((shards, before, finished))
    }
}

/// What tells the graphs of two commands apart before they are read.
fn identity(input: &GraphInput) -> Outcome<String> {
    let file = fs::canonicalize(&input.file)?;
    let data = fs::metadata(&file)?;
    let modified = data.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    Ok(format!(
        "{}\n{} bytes, changed at {}\nformat {:?}, undirected {}, reorder {:?}\n",
        file.display(),
        data.len(),
        modified.map_or(0, |since| since.as_nanos()),
        input.format,
        input.undirected,
        input.reorder
    ))
}

/// Tells what the processes that share a folder have found, and what is missing.
pub(super) fn merge(args: &Apsp) -> Outcome {
    let folder = &args.graph.input.file;
    let shards = Shards::open(folder).map_err(|error| {
        Failure::new(error).hint("name the folder that was --shard-dir: firsttouch apsp --merge DIR")
    })?;
    let plan = *shards.plan();
    let Merged { kept, missing } = shards.merge().map_err(|error| {
        let hint = error.hint();
        Failure::new(error).hint(hint)
    })?;
    if let Some(file) = &args.export_csv {
        let Some(first) = plan.first_id else {
            return Err(Failure::message("which numbers the sources have, only the graph knows, which is not here")
                .hint("run the same command again: what is done is not done again, and its first process writes the file")
                .code(USAGE));
        };
        let ids = Ids::from_first(first, plan.graph.nodes);
        let nodes: Vec<Node> = (0..plan.graph.nodes as Node).collect();
        super::nodes::write(file, &ids, &nodes, &kept.summaries, &args.reduce)?;
    }
    let report = MergeReport {
        schema_version: SCHEMA_VERSION,
        graph: plan.graph,
        sources: plan.sources,
        searched: kept.done(),
        totals: Totals::of(kept.summaries.iter().flatten()),
        figures: Figures::of(&kept, plan.graph.nodes, &args.reduce),
        missing: missing.iter().map(|range| [range.start, range.end - 1]).collect(),
    };
    output::data(&if args.json {
        json::merge(&report)
    } else {
        text::merge(&report, output::width(), Style::Ansi)
    })?;
    if missing.is_empty() {
        return Ok(0);
    }
    let what = format!("{} of {} sources are missing", plan.sources - report.searched, plan.sources);
    output::warning(&what, Some("run the same command again: it does what is missing"));
    Ok(1)
}

/// What a process that has ended tells of itself.
pub(super) fn ended(shared: &Shared<'_>, finished: bool) -> u8 {
    let Shard { rank, ranks } = shared.shard;
    if finished {
        if rank > 0 {
            output::message(&format!(
                "process {rank} of {ranks}: all is done; process 0 tells what was found\n"
            ));
        }
        return 0;
    }
    output::warning(
        &format!("process {rank} of {ranks} was interrupted"),
        Some("run the same command again: what is done is not done again"),
    );
    INTERRUPTED
}
