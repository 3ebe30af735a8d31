//! A run that several processes share through a folder.

use super::{Input, this_rank};
use crate::args::{Chosen, GraphInput, Index, PlacedGraph, ShardWord};
use crate::exit::{FAILED, INTERRUPTED};
use crate::output::{self, Failure, Outcome};
use crate::program;
use firsttouch_documents::to_json;
use firsttouch_graph::{
    Algorithm, Figure, FileError, Format, Merged, Once, Plan, Question, Shard, Shards, Task, Turn, choose,
    merge_report, once, save,
};
use firsttouch_placement::Pages;
use firsttouch_report::{Style, text};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The folder that processes share, and which of them this is.
pub(crate) struct Shared<'a> {
    folder: &'a Path,
    pub(crate) shard: Shard,
}

impl<'a> Shared<'a> {
    /// If the run is to be shared.
    pub(crate) fn of(
        folder: Option<&'a Path>,
        shard: ShardWord,
        graph: &PlacedGraph,
    ) -> Outcome<Option<Shared<'a>>> {
        let Some(folder) = folder else { return Ok(None) };
        let shard = this_rank(shard, &program::environment())?;
        if graph.input.file.as_os_str() == "-" {
            return Err(Failure::message("several processes cannot share standard input")
                .hint("name a file that all of them can read")
                .usage());
        }
        fs::create_dir_all(folder)?;
        Ok(Some(Shared { folder, shard }))
    }

    /// The graph, brought into our own format by one of the processes and mapped by all: those of a machine have one copy.
    pub(crate) fn load(&self, args: &PlacedGraph, stop: &AtomicBool) -> Outcome<Input> {
        let (file, lock) = (self.folder.join("graph.ftg"), self.folder.join("graph.lock"));
        let words = identity(&args.input)?;
        let ours = self.turn(&file, &lock, &words, stop)?;
        if ours.is_some() {
            let mut input = Input::load(args)?;
            save(&input.loaded, &file, Format::Binary, &mut input.team).map_err(Failure::hinted)?;
        }
        drop(ours);
        if fs::read_to_string(&lock)? != words {
            return Err(Failure::message(format!(
                "{} is the folder of another graph",
                self.folder.display()
            ))
            .hint("name another folder: --shard-dir DIR")
            .usage());
        }
        let input = GraphInput {
            file,
            format: None,
            undirected: false,
            most_memory: None,
            coordinates: None,
            reorder: None,
            threads: args.input.threads,
        };
        Input::load(&PlacedGraph { input, pages: Pages::Plain, groups: args.groups })
    }

    /// The index: made by one of the processes for all, if one is needed and none was named. Others wait for it as long as what comes
    /// with it is kept.
    pub(crate) fn index(
        &self,
        algorithm: Chosen,
        index: &Index,
        input: &Input,
        task: Task,
        stop: &AtomicBool,
    ) -> Outcome<(Index, Option<Making>)> {
        let sweeps = match algorithm {
            Chosen::Auto => choose(&input.shape, task).algorithm == Algorithm::Phast,
            Chosen::This(algorithm) => algorithm == Algorithm::Phast,
        };
        if index.is_named() || !sweeps {
            return Ok((index.clone(), None));
        }
        let (file, lock) = (self.folder.join("index"), self.folder.join("index.lock"));
        let words = format!("process {} of {}\n", self.shard.rank, self.shard.ranks);
        Ok(match self.turn(&file, &lock, &words, stop)? {
            None => (Index { index: Some(file), save_index: None }, None),
            ours => (Index { index: None, save_index: Some(file) }, ours),
        })
    }

    /// Waits until a file is there (`None`), or this process is to make it.
    fn turn(&self, file: &Path, lock: &Path, words: &str, stop: &AtomicBool) -> Outcome<Option<Making>> {
        match once(file, lock, words, stop).map_err(Failure::hinted)? {
            Once::There => Ok(None),
            Once::Ours(turn) => Ok(Some(Making { _turn: Some(turn) })),
            Once::Everyone => {
                let what =
                    format!("{} cannot be locked: every process makes {}", lock.display(), file.display());
                output::warning(&what, Some("--shard-dir DIR on a file system with locks (flock)"));
                Ok(Some(Making { _turn: None }))
            }
            Once::Stopped => Err(Failure::message("interrupted").code(INTERRUPTED)),
        }
    }

    /// Joins the run.
    pub(crate) fn join(&self, question: Question, plan: Plan) -> Result<Shards, FileError> {
        Shards::join(self.folder, question, self.shard, plan)
    }

    /// What a process tells that has ended and does not tell what was found, and its exit code; `None` for the one that does.
    pub(crate) fn ended(&self, finished: bool) -> Option<u8> {
        let Shard { rank, ranks } = self.shard;
        if !finished {
            output::warning(
                &format!("process {rank} of {ranks} was interrupted"),
                Some("run the same command again: what is done is not done again"),
            );
            return Some(INTERRUPTED);
        }
        if rank == 0 {
            return None;
        }
        output::message(&format!("process {rank} of {ranks}: all is done; process 0 tells what was found\n"));
        Some(0)
    }
}

/// Kept while this process makes what others wait for.
pub(crate) struct Making {
    /// None where there are no locks.
    _turn: Option<Turn>,
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

/// Writes to a file what there is of every source.
type Export<'a> = &'a dyn Fn(&Shards, &Merged) -> Outcome<()>;

/// Tells what the processes that share a folder have found, and what is missing.
pub(crate) fn merge(
    folder: &Path,
    command: &str,
    figures: &[Figure],
    export: Option<Export<'_>>,
    as_json: bool,
) -> Outcome {
    let shards = Shards::open(folder).map_err(|error| {
        Failure::new(error)
            .hint(format!("name the folder that was --shard-dir: firsttouch {command} --merge DIR"))
    })?;
    let merged = shards.merge().map_err(Failure::hinted)?;
    let exported = export.map_or(Ok(()), |export| export(&shards, &merged));
    let report = merge_report(shards.plan(), &merged, figures);
    let told = output::data(&if as_json {
        to_json(&report)
    } else {
        text::merge(&report, output::width(), Style::Ansi)
    });
    output::together([exported, told])?;
    if merged.missing.is_empty() {
        return Ok(0);
    }
    let what = format!("{} of {} sources are missing", report.sources - report.searched, report.sources);
    output::warning(&what, Some("run the same command again: it does what is missing"));
    Ok(FAILED)
}
