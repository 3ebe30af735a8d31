//! `run --ranks`: the placement of one of several processes on this machine, apart from those of the others.

use crate::args::{RankList, RanksWord};
use crate::output::{self, Failure, Outcome};
use crate::{export, measure};
use firsttouch_documents::JobRank;
use firsttouch_launch::Gathering;
use firsttouch_linux::cpulist::{format_list, parse_list};
use firsttouch_linux::process::{OWN_PROC, SHOWS_OTHERS, shows_others};
use firsttouch_linux::root::Root;
use firsttouch_placement::{Pages, Placement, Receipt, Resolved, ThreadPlacement};
use firsttouch_process::{Environment, Finished, Meeting, Met, Rank, launcher_of, meet};
use std::path::Path;
use std::time::Duration;

/// Launchers start the processes of a machine within seconds; a busy machine takes longer.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// So long whoever starts them need not know of it.
const SILENT_WAIT: Duration = Duration::from_secs(5);
/// What is to be done about ranks that do not come.
const ALL_COME: &str = "start all of them under firsttouch run --ranks, or say how many come: --ranks N";

/// One of the processes of a job on this machine.
#[derive(Debug)]
pub(crate) struct LocalRank {
    /// What is asked for this one.
    pub(crate) asked: Placement,
    /// What that means.
    pub(crate) resolved: Resolved,
    local_rank: u32,
    /// Ranks on this machine.
    ranks: u32,
    told: Option<Rank>,
    launcher: (u32, u64),
}

impl LocalRank {
    /// Where the receipts of all ranks are gathered that are to be in a file, or what the launcher does not tell for that.
    pub(crate) fn gathering(
        &self,
        file: &Path,
        folder: Option<&Path>,
        own: &Environment,
    ) -> Outcome<Gathering> {
        let told = self.told.as_ref();
        let (rank, size) = match told.and_then(|told| told.rank.zip(told.size)) {
            Some(numbers) => numbers,
            None => (self.local_rank, self.ranks),
        };
        let (pid, start) = self.launcher;
        let job = match told.and_then(|told| told.job.clone()) {
            Some(job) => job,
            None if size <= self.ranks => format!("{pid}.{start}"),
            // Nothing is the same on all machines.
            None => "unnamed".to_owned(),
        };
        let folder = match folder {
            Some(folder) => folder.to_owned(),
            None if !export::is_stdout(file) => {
                let mut beside = file.as_os_str().to_owned();
                beside.push(".ranks");
                beside.into()
            }
            None if size <= self.ranks => temporary(own).join(format!("firsttouch-job-{pid}-{start}")),
            None => {
                let what =
                    "the receipts of ranks on several machines are gathered in a folder that all reach";
                return Err(Failure::message(what)
                    .hint("--gather FOLDER, or --receipt FILE in place of -")
                    .usage());
            }
        };
        Ok(Gathering { folder, launcher: told.map(|told| told.launcher.to_owned()), job, rank, size })
    }

    /// This rank, which ran and obtained that.
    pub(crate) fn ended(&self, gathering: &Gathering, finished: &Finished, mut receipt: Receipt) -> JobRank {
        // Ranks may be told of the same file by other words, each where it is.
        if let Ok(absolute) = std::path::absolute(&receipt.program) {
            receipt.program = absolute.display().to_string();
        }
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let used = &finished.used;
        JobRank {
            rank: gathering.rank,
            local_rank: self.local_rank,
            host: host.trim().to_owned(),
            seconds: used.wall_s,
            cpu_s: used.user_s + used.system_s,
            receipt,
        }
    }
}

fn temporary(own: &Environment) -> &Path {
    own.get("TMPDIR").map_or(Path::new("/tmp"), Path::new)
}

/// Lets the processes of this machine meet, and finds what is this one's. A rank that `only` does not list takes part in that, so
/// that the others know the CPUs of all, and is not placed.
pub(crate) fn place(
    asked: &Placement,
    word: RanksWord,
    only: Option<&RankList>,
    own: &Environment,
    quiet: bool,
) -> Outcome<LocalRank> {
    let told = Rank::of(own);
    let (ranks, local_rank) = numbers(word, told.as_ref())?;
    // Ranks know each other and their launcher by their numbers.
    if shows_others(&Root::live()) {
        return Err(Failure::message(format!("ranks cannot be told apart: {SHOWS_OTHERS}")).hint(OWN_PROC));
    }
    let size = told.as_ref().and_then(|told| told.size).unwrap_or(ranks);
    if let Some(beyond) = only.map(RankList::last).filter(|last| *last >= size) {
        return Err(Failure::message(format!(
            "there is no rank {beyond}: the job has {size}, counted from 0"
        ))
        .hint("--only-ranks with numbers of ranks"));
    }
    let here = measure::here(asked, quiet).map_err(Failure::hinted)?;
    let machine = here.machine();
    let allowed = machine.limits.allowed_cpus.as_ref();
    let online = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id);
    let mask: Vec<u32> = online.filter(|cpu| allowed.is_none_or(|allowed| allowed.contains(cpu))).collect();
    let launcher = launcher_of(told.as_ref().and_then(|told| told.number.as_ref()))?;
    let met = gather(ranks, local_rank, launcher, own, &mask, quiet)?;
    let absent = met.told.iter().filter(|word| word.is_none()).count();
    if absent > 0 && !quiet {
        let what = format!(
            "{absent} of {ranks} ranks of this machine did not come within {} s",
            LONGEST_WAIT.as_secs()
        );
        output::warning(
            &format!("{what}: they are taken to have the CPUs that this one has"),
            Some(ALL_COME),
        );
    }
    let rank = told.as_ref().and_then(|told| told.rank).unwrap_or(met.local_rank);
    if let Some(only) = only.filter(|only| !only.contains(rank)) {
        let asked = Placement { pages: Pages::Plain, ..Placement::default() };
        let resolved = Resolved {
            notes: vec![format!("rank {rank} is not placed: --only-ranks {only}")],
            ..Resolved::default()
        };
        return Ok(LocalRank { asked, resolved, local_rank: met.local_rank, ranks, told, launcher });
    }
    let masks: Vec<Vec<u32>> = met
        .told
        .iter()
        .map(|word| word.as_deref().and_then(parse_list).unwrap_or_else(|| mask.clone()))
        .collect();
    let asked = here.of_rank(asked, met.local_rank as usize, &masks).map_err(Failure::hinted)?;
    let mut resolved = here.resolve(&asked).map_err(Failure::hinted)?;
    let by = told.as_ref().map_or_else(String::new, |told| format!(" ({})", told.launcher));
    resolved.notes.insert(
        0,
        format!(
            "rank {} of the {ranks} of this machine{by}: CPUs {} of {}",
            met.local_rank,
            format_list(&resolved.cpus),
            format_list(&mask)
        ),
    );
    Ok(LocalRank { asked, resolved, local_rank: met.local_rank, ranks, told, launcher })
}

/// How many processes there are on this machine, and which this one is, if anybody says so.
fn numbers(word: RanksWord, told: Option<&Rank>) -> Outcome<(u32, Option<u32>)> {
    let launcher = told.map_or("no launcher", |told| told.launcher);
    let ranks = match (word, told.and_then(|told| told.local_size)) {
        (RanksWord::Number(ranks), _) | (RanksWord::Auto, Some(ranks)) => ranks,
        (RanksWord::Auto, None) => {
            let what = format!("{launcher} says how many ranks run on this machine");
            let what = if told.is_some() { what.replace("says", "does not say") } else { what };
            return Err(Failure::message(what)
                .hint("say it: --ranks 4, or start it by mpirun, mpiexec, srun or torchrun"));
        }
    };
    let local_rank = told.and_then(|told| told.local_rank);
    if let Some(beyond) = local_rank.filter(|rank| *rank >= ranks) {
        let what =
            format!("{launcher} calls this process {beyond}, counted from 0, of the {ranks} of this machine");
        return Err(Failure::message(what).hint("--ranks auto, or the number of ranks on this machine"));
    }
    Ok((ranks, local_rank))
}

fn gather(
    ranks: u32,
    local_rank: Option<u32>,
    launcher: (u32, u64),
    own: &Environment,
    mask: &[u32],
    quiet: bool,
) -> Outcome<Met> {
    let word = format_list(mask);
    if ranks == 1 {
        return Ok(Met { local_rank: 0, told: vec![Some(word)] });
    }
    let folder = temporary(own);
    let tell = |come: usize| {
        let limit = LONGEST_WAIT.as_secs();
        let what = format!(
            "{come} of {ranks} ranks of this machine have come; the others are waited for, {limit} s at most"
        );
        output::warning(&what, Some(ALL_COME));
    };
    let silent = if quiet { LONGEST_WAIT } else { SILENT_WAIT };
    let meeting = Meeting { folder, launcher, ranks, local_rank, word: &word, limit: LONGEST_WAIT, silent };
    meet(&meeting, tell).map_err(|error| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            let what =
                format!("more than {ranks} processes of this machine take part, or two have the same rank");
            return Failure::message(what)
                .hint("--ranks with the number of processes that are started on this machine");
        }
        let what = format!("the ranks of this machine cannot meet in {}", folder.display());
        Failure::new(error).context(what).hint("set TMPDIR to a folder that all of them can write to")
    })
}

/// Says that ranks without `--ranks` get the same CPUs.
pub(crate) fn warn_of_sharing(asked: &Placement, own: &Environment) {
    let told =
        Rank::of(own).filter(|told| told.local_size > Some(1) && asked.threads != ThreadPlacement::None);
    let Some(told) = told else { return };
    let Ok(here) = measure::here(asked, true) else { return };
    let machine = here.machine();
    let online = machine.cpus.iter().filter(|cpu| cpu.online).count();
    if told.must_share(machine.limits.allowed_cpus.as_ref().map_or(online, Vec::len), online) {
        let ranks = told.local_size.unwrap_or(1);
        output::warning(
            &format!(
                "{} runs {ranks} ranks on this machine, and each binds its threads to the same CPUs",
                told.launcher
            ),
            Some("firsttouch run --ranks auto"),
        );
    }
}

/// Says that ranks without `--ranks` all write this file: once for a job, by its first, and not where the name is that rank's own.
pub(crate) fn warn_of_one_file(file: &Path, own: &Environment) {
    let Some(told) = Rank::of(own).filter(|told| told.rank == Some(0) && told.is_one_of_several()) else {
        return;
    };
    let name = file.to_string_lossy();
    let mut numbers = name.split(|c: char| !c.is_ascii_digit());
    if export::is_stdout(file) || numbers.any(|number| number.parse() == Ok(0)) {
        return;
    }
    let what = format!(
        "{} runs several ranks, and each writes {}: the receipt of the last one to end stays",
        told.launcher,
        file.display()
    );
    output::warning(&what, Some("firsttouch run --ranks auto, which gathers those of all ranks"));
}
