//! The words of a placement.

use super::words::{pages, placement_word, size};
use clap::Args;
use firsttouch_placement::{
    MemoryPolicy, NodeSet, ObjectPlacement, PREFAULT_WORDS, Pages, Placement, PlacementError, Prefault,
    ProgramCpus, ThreadPlacement, Via, parse_object, parse_order,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The fields of a placement. What is not given comes from the profile, or is the default.
#[derive(Args, Debug, Default)]
pub(crate) struct PlacementArgs {
    /// Kind of pages: plain (as without us), 4k, thp, 16k…1024k (multi-size), 2m, 1g (both reserved) or auto [default: thp]
    #[arg(long, value_parser = pages, value_name = "KIND")]
    pub(crate) pages: Option<Pages>,
    /// Leave allocations smaller than SIZE alone [default: 1M]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pub(crate) min_size: Option<u64>,
    /// Leave allocations larger than SIZE alone [default: no limit]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pub(crate) max_size: Option<u64>,
    /// Create the pages before the program touches them: at-once, with their block, which is meant without a word, or background
    ///
    /// In the background a thread of the agent creates the pages of large blocks on another CPU, ahead of the program, which does not wait for
    /// them (Linux 5.14).
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "at-once",
          value_parser = prefault)]
    pub(crate) prefault: Option<Prefault>,
    /// Clear memory that served before when a new block gets it, as glibc's blocks above 32 MiB are always new
    ///
    /// For programs that read what they have not written. C promises zeroes from calloc only.
    #[arg(long)]
    pub(crate) zero: bool,
    /// Put the C library's heap, with all smaller allocations, on transparent huge pages too (glibc 2.35)
    ///
    /// For programs that hold many small objects. Sets glibc's tunable, which the programs that the program starts
    /// inherit.
    #[arg(long)]
    pub(crate) heap: bool,
    /// With --via glibc, mimalloc or jemalloc: keep freed memory for reuse, as the agent does, instead of giving it back
    #[arg(long)]
    pub(crate) keep: bool,
    /// The means: agent, supervise, glibc, mimalloc, jemalloc or jvm [default: agent]
    #[arg(long, value_parser = via, value_name = "MEANS")]
    pub(crate) via: Option<Via>,
    /// Start from the placement of a profile; the options above replace its fields
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Place the programs that the program starts, too
    #[arg(long)]
    pub(crate) follow: bool,
    /// Where memory comes from: local, bind=NODES, prefer=NODES, interleave=NODES, weighted, weighted=NODES or none
    ///
    /// NODES are numbers such as 0-3,5; all; or kinds of memory: hbm, dram, cxl, pmem, gpu. `weighted` gives each node
    /// its part by bandwidth, as `firsttouch measure` found it. It holds for all memory of the program and its children.
    #[arg(long, group = "policy", value_parser = placement_word::<MemoryPolicy>, value_name = "POLICY")]
    pub(crate) memory: Option<MemoryPolicy>,
    /// Memory from these nodes only: --memory bind=NODES
    #[arg(short, long, group = "policy", value_parser = placement_word::<NodeSet>, value_name = "NODES")]
    pub(crate) membind: Option<NodeSet>,
    /// Memory from these nodes, and others when they are full: --memory prefer=NODES
    #[arg(short, long, visible_short_alias = 'P', visible_alias = "preferred-many")]
    #[arg(group = "policy", value_parser = placement_word::<NodeSet>, value_name = "NODES")]
    pub(crate) preferred: Option<NodeSet>,
    /// Memory page by page over these nodes: --memory interleave=NODES
    #[arg(short, long, group = "policy", value_parser = placement_word::<NodeSet>, value_name = "NODES")]
    pub(crate) interleave: Option<NodeSet>,
    /// Memory over these nodes, each its part by bandwidth: --memory weighted=NODES
    #[arg(short, long, group = "policy", value_parser = placement_word::<NodeSet>, value_name = "NODES")]
    pub(crate) weighted_interleave: Option<NodeSet>,
    /// Memory of the node of the CPU that touches first: --memory local
    #[arg(short, long, group = "policy")]
    pub(crate) localalloc: bool,
    /// CPUs of the program, any thread on any of them: 0-3,8; all; or those of nodes, nodes=NODES; or none
    ///
    /// A mask that the program and its children inherit, static programs too. The program may set another itself; the
    /// receipt tells. With --threads, threads are bound one by one to CPUs among these.
    #[arg(short = 'C', long, visible_alias = "physcpubind", group = "mask")]
    #[arg(value_parser = placement_word::<ProgramCpus>, value_name = "CPUS")]
    pub(crate) cpus: Option<ProgramCpus>,
    /// CPUs of these nodes: --cpus nodes=NODES
    #[arg(short = 'N', long, group = "mask", value_parser = placement_word::<NodeSet>, value_name = "NODES")]
    pub(crate) cpunodebind: Option<NodeSet>,
    /// Memory and CPUs of these nodes: -m NODES -N NODES
    #[arg(long, groups = ["policy", "mask"], value_parser = placement_word::<NodeSet>, value_name = "NODES")]
    pub(crate) node: Option<NodeSet>,
    /// CPUs of the threads: compact, scatter, groups=CORESxGROUPS, cores=CORESxTHREADS, CPUs such as 0,2,4-7, or none
    ///
    /// Threads are bound one after another as they are created, the main thread to the first CPU; when every CPU has its
    /// thread, the order begins again. A program that binds its threads itself has the last word. Threads made by
    /// clone(2) without the C library are not seen: they, and static programs, run on any of these CPUs.
    #[arg(long, value_parser = placement_word::<ThreadPlacement>, value_name = "PLACEMENT")]
    pub(crate) threads: Option<ThreadPlacement>,
    /// Threads not to be bound, by the number of their creation: 1-14 (0 is the main thread)
    ///
    /// For helpers that do no work of the program's, of the Java virtual machine for example; a receipt lists the threads
    /// with their numbers and names.
    #[arg(long, value_parser = thread_numbers, value_name = "NUMBERS")]
    pub(crate) skip_threads: Option<SkipThreads>,
    /// Run on the CPUs next to a device, with memory from there: nvme0n1, eth0, md0, 0000:05:00.0, /dev/dri/renderD128
    ///
    /// With `run --ranks` several, with commas: each rank gets the one next to its CPUs, by turns where several are.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) near: Option<String>,
    /// Memory that the program gives a name: NAME:PAGES or NAME:PAGES:POLICY, as packed-b:thp:prefer=hbm
    ///
    /// For the arrays of the cases of `bench`. Other memory is not concerned: with --pages plain this is all that is placed.
    #[arg(long = "object", value_name = "OBJECT", value_parser = object)]
    pub(crate) objects: Vec<(String, ObjectPlacement)>,
}

fn object(text: &str) -> Result<(String, ObjectPlacement), String> {
    parse_object(text).map_err(|error| error.to_string())
}

/// Numbers of threads; a type of its own, because clap takes a list for an option that is given several times.
#[derive(Clone, Debug)]
pub(crate) struct SkipThreads(Vec<u32>);

impl PlacementArgs {
    /// These fields over those of `start`, where they agree with each other.
    pub(crate) fn over(&self, start: &Placement) -> Result<Placement, PlacementError> {
        let mut objects = BTreeMap::new();
        for (name, place) in &self.objects {
            if objects.insert(name.clone(), place.clone()).is_some() {
                return Err(PlacementError::Twice { word: format!("{name}:{place}") });
            }
        }
        let placement = Placement {
            pages: self.pages.unwrap_or(start.pages),
            min_size: self.min_size.unwrap_or(start.min_size),
            max_size: self.max_size.or(start.max_size),
            prefault: self.prefault.unwrap_or(start.prefault),
            zero: self.zero || start.zero,
            heap: self.heap || start.heap,
            keep: self.keep || start.keep,
            via: self.via.unwrap_or(start.via),
            follow: self.follow || start.follow,
            memory: self.memory().unwrap_or_else(|| start.memory.clone()),
            cpus: self.cpus().unwrap_or_else(|| start.cpus.clone()),
            threads: self.threads.as_ref().unwrap_or(&start.threads).clone(),
            skip_threads: match (&self.skip_threads, &self.threads) {
                (Some(SkipThreads(numbers)), _) => numbers.clone(),
                (None, Some(ThreadPlacement::None)) => Vec::new(),
                (None, _) => start.skip_threads.clone(),
            },
            near: self.near.as_ref().or(start.near.as_ref()).cloned(),
            objects: start.objects.clone().into_iter().chain(objects).collect(),
        };
        placement.check().map(|()| placement)
    }

    /// The memory policy, in whichever way it was asked for; the parser lets one through.
    fn memory(&self) -> Option<MemoryPolicy> {
        let bound = self.membind.as_ref().or(self.node.as_ref());
        (self.memory.clone())
            .or(bound.map(|nodes| MemoryPolicy::Bind(nodes.clone())))
            .or(self.preferred.as_ref().map(|nodes| MemoryPolicy::Prefer(nodes.clone())))
            .or(self.interleave.as_ref().map(|nodes| MemoryPolicy::Interleave(nodes.clone())))
            .or(self.weighted_interleave.clone().map(|nodes| MemoryPolicy::Weighted(Some(nodes))))
            .or(self.localalloc.then_some(MemoryPolicy::Local))
    }

    /// The CPUs of the program, in whichever way they were asked for.
    fn cpus(&self) -> Option<ProgramCpus> {
        let nodes = self.cpunodebind.as_ref().or(self.node.as_ref());
        self.cpus.clone().or(nodes.map(|nodes| ProgramCpus::Nodes(nodes.clone())))
    }
}

fn thread_numbers(text: &str) -> Result<SkipThreads, String> {
    parse_order(text)
        .map(SkipThreads)
        .ok_or_else(|| "expected numbers of threads, for example 1-14 or 1,3".to_owned())
}

fn prefault(text: &str) -> Result<Prefault, String> {
    let named = PREFAULT_WORDS.into_iter().find(|(word, _)| *word == text);
    let words = || format!("expected one of {}", PREFAULT_WORDS.map(|(word, _)| word).join(", "));
    named.map(|(_, prefault)| prefault).ok_or_else(words)
}

fn via(text: &str) -> Result<Via, String> {
    Via::ALL
        .into_iter()
        .find(|via| via.word() == text)
        .ok_or_else(|| format!("expected one of {}", Via::ALL.map(Via::word).join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, Command};
    use super::*;
    use clap::Parser;

    /// What `firsttouch run` with these options asks for, over a placement.
    fn asked(options: &str, start: &str) -> Result<String, String> {
        let words = ["firsttouch", "run"].into_iter().chain(options.split_whitespace()).chain(["true"]);
        match Cli::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Run(run) => Ok(run.placement.over(&start.parse().unwrap()).unwrap().to_string()),
            _ => panic!("not run"),
        }
    }

    #[test]
    fn the_options_of_numactl_ask_for_the_same() {
        for (options, placement) in [
            ("-m 1 -N 0", "thp,bind=1,cpus=nodes=0"),
            ("-m0,2 -C0-3", "thp,bind=0+2,cpus=0-3"),
            ("--membind=1 --cpunodebind=0", "thp,bind=1,cpus=nodes=0"),
            ("--physcpubind=0-3,8 --localalloc", "thp,local,cpus=0-3+8"),
            ("--cpus nodes=1", "thp,cpus=nodes=1"),
            ("-p 1", "thp,prefer=1"),
            ("--preferred=1", "thp,prefer=1"),
            ("-P 0,1", "thp,prefer=0+1"),
            ("--preferred-many=0,1", "thp,prefer=0+1"),
            ("-w 0,2", "thp,weighted=0+2"),
            ("--weighted-interleave=all", "thp,weighted=all"),
            ("-i all", "thp,interleave=all"),
            ("--interleave=0-1", "thp,interleave=0-1"),
            ("-l", "thp,local"),
            ("--node 1", "thp,bind=1,cpus=nodes=1"),
            ("--node 1 --threads compact", "thp,bind=1,cpus=nodes=1,threads=compact"),
        ] {
            assert_eq!(asked(options, "thp").as_deref(), Ok(placement), "{options}");
        }
        assert_eq!(asked("-m 1 -C 2", "2m,local,cpus=0").as_deref(), Ok("2m,bind=1,cpus=2"));
        assert_eq!(asked("-N 1", "thp,bind=0,cpus=0").as_deref(), Ok("thp,bind=0,cpus=nodes=1"));
    }

    #[test]
    fn one_thing_is_asked_for_in_one_way() {
        for options in [
            "-m 1 -i all",
            "-m 1 --memory local",
            "-p 1 -l",
            "-N 0 -C 0",
            "--node 1 -m 1",
            "--node 1 -N 1",
            "--node 1 --cpus 0",
            "--node 1 --memory local",
        ] {
            let said = asked(options, "thp").unwrap_err();
            assert!(said.contains("cannot be used with"), "{options}: {said}");
        }
    }

    #[test]
    fn options_replace_the_fields_of_a_profile() {
        let start: Placement = "2m,min-size=4M,prefault".parse().unwrap();
        let args = PlacementArgs { pages: Some(Pages::Transparent), ..PlacementArgs::default() };
        assert_eq!(args.over(&start).unwrap(), "thp,min-size=4M,prefault".parse().unwrap());
    }

    #[test]
    fn the_words_of_a_placement_ask_for_it_again() {
        for text in [
            "thp,bind=hbm+2,threads=4-7+0,skip-threads=1+3,near=eth0",
            "plain,interleave=all,threads=groups=6x4",
            "plain,bind=0,cpus=nodes=0+2,threads=compact",
            "thp,cpus=0-3+8",
        ] {
            let placement: Placement = text.parse().unwrap();
            let words = ["firsttouch", "run"].map(str::to_owned).into_iter();
            let words = words.chain(placement.arguments()).chain(["--".to_owned(), "true".to_owned()]);
            let Command::Run(run) = Cli::parse_from(words).command else { panic!("not run") };
            assert_eq!(run.placement.over(&Placement::default()).unwrap(), placement);
            let none = PlacementArgs {
                memory: Some(MemoryPolicy::None),
                cpus: Some(ProgramCpus::None),
                threads: Some(ThreadPlacement::None),
                ..PlacementArgs::default()
            };
            let reset = none.over(&placement).unwrap();
            assert_eq!((reset.memory, reset.threads), (MemoryPolicy::None, ThreadPlacement::None));
            assert!(reset.cpus.is_none() && reset.skip_threads.is_empty());
        }
    }
}
