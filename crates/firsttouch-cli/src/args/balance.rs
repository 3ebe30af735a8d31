//! The options of `balance`.

use super::words::{duration, size};
use clap::builder::{NonEmptyStringValueParser, ValueParser};
use clap::{Args, Subcommand, ValueEnum};
use firsttouch_balance::Alpha;
use firsttouch_balance::generate::Topology;
use std::path::PathBuf;
use std::time::Duration;

/// Put tasks on cores by load, messages and distance
///
/// Tasks and messages are read from tables, matrices, graphs or the dumps of other balancers; the machine is this one, a
/// recorded or a described one. `firsttouch attach --balance` does it for the threads of a program that runs.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch balance solve --tasks tasks.csv --messages messages.csv
  firsttouch balance eval --graph mesh.graph --machine '4:2:8 + 1:10:100' --mapping mesh.graph.part.64
  firsttouch balance convert --charm dump.dat.0 --to csv
  firsttouch balance generate lb_test --tasks 200 --cores 32 -o lb_test
  firsttouch balance simulate                  ten balancers on three benchmarks and two machines")]
pub(crate) struct Balance {
    #[command(subcommand)]
    pub(crate) what: BalanceWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BalanceWhat {
    /// Find a mapping
    Solve(Box<Solve>),
    /// Say what a mapping is worth
    Eval(Box<Eval>),
    /// Write tasks and messages in another form
    Convert(Box<Convert>),
    /// Make the tasks and messages of a benchmark
    Generate(Generate),
    /// Simulate every strategy on kNeighbor, lb_test and jacobi2D, on NUMA16 and NUMA32
    ///
    /// Every strategy is told the loads that the start was seen to have; its mapping is simulated with messages and distances.
    /// Times are not those of Pilla et al. (2011), whose programs and machines are not here: ratios are to be compared.
    Simulate(Simulate),
}

#[derive(Args, Debug)]
pub(crate) struct Input {
    #[command(flatten)]
    pub(crate) source: InputSource,
    /// Messages of the tasks: from,to,count,bytes
    #[arg(long, value_name = "CSV", requires = "tasks")]
    pub(crate) messages: Option<PathBuf>,
    /// Numbers of messages, beside the bytes of --matrix
    #[arg(long, value_name = "CSV", requires = "matrix")]
    pub(crate) counts: Option<PathBuf>,
    /// The phase of --vt [default: the last]
    #[arg(long, value_name = "N", requires = "vt")]
    pub(crate) phase: Option<u64>,
    /// The machine: `live`, one described (`4:2:8 + 1:10:100`, `mesh:4x4x4`, `torus:8x8`, numa16, numa32, or in hwloc's
    /// words), a recorded one as in `status --machine`, or a file with NUMA factors or distances
    ///
    /// Cores of `mesh:AxBxC` and `torus:AxBxC` are numbered along the first side first: the core at (a, b, c), counted from 0, is
    /// a + A*(b + B*c). Distances are hops. `4:2:8 + 1:10:100` is 8 groups of 2 groups of 4 cores, numbered group by group, at distances 1, 10
    /// and 100.
    #[arg(long, value_name = "MACHINE", default_value = "live")]
    pub(crate) machine: String,
    /// Cores of each node, where --machine is a table of factors
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) cores_per_node: usize,
    /// Use every CPU, not one of each core
    #[arg(long)]
    pub(crate) cpus: bool,
    /// What a core spends itself on each byte it exchanges with others, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "0")]
    pub(crate) seconds_per_byte: f64,
    /// Where the tasks are: CSV with task,core, or a line for each task [default: their homes; those without one in blocks of their
    /// numbers over all cores]
    #[arg(long, value_name = "FILE")]
    pub(crate) start: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct InputSource {
    /// Tasks: id,load and where there are any home,pinned,bytes,memory
    #[arg(long, value_name = "CSV")]
    pub(crate) tasks: Option<PathBuf>,
    /// Bytes that each task sends each other, a row for each sender; load 1, no homes, the diagonal left out
    #[arg(long, value_name = "CSV")]
    pub(crate) matrix: Option<PathBuf>,
    /// A graph in METIS's form
    #[arg(long, value_name = "FILE")]
    pub(crate) graph: Option<PathBuf>,
    /// Statistics of vt or LBAF: a folder with the JSON files of one run (STEM.RANK.json), FOLDER/STEM of a folder with several runs, or
    /// the files. Without --machine as many cores as ranks, all at distance 1
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) vt: Option<Vec<PathBuf>>,
    /// A dump of Charm++'s +LBDump
    #[arg(long, value_name = "FILE")]
    pub(crate) charm: Option<PathBuf>,
    /// Lines `from to bytes hops`, or without hops, which are not used; ranks have load 1 and no home
    #[arg(long, value_name = "FILE")]
    pub(crate) hopbyte: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch balance solve --vt run/ --phase 10 --machine numa32
  firsttouch balance solve --matrix bytes.csv --machine mesh:4x4x4 --time 1s --to rankfile --hosts n1,n2,n3,n4
  firsttouch balance solve --tasks tasks.csv --strategy greedy --json")]
pub(crate) struct Solve {
    #[command(flatten)]
    pub(crate) input: Input,
    /// How tasks are put on cores: `best` or a simpler strategy
    ///
    /// none leaves all where they are. greedy puts the heaviest task on the core that is done first; greedy-refine does the same, but a
    /// task stays at home while it fits there; refine takes tasks from overloaded cores only. recbipart halves the graph of messages by
    /// searches in breadth; metis and scotch partition it by these programs. numa weighs loads against messages and distances, from where
    /// tasks are. treematch cuts graph and machine together, for tasks that are nowhere yet. best relieves cores that are late, then
    /// shortens distances by moves and exchanges, asks greedy, greedy-refine, refine, recbipart, numa and treematch as well, and never
    /// answers worse than any of these: by memory, then makespan (one within the tolerance is as good as another), then bytes times
    /// distances with what migrations cost, unless it moves more tasks for less. Tasks that are all nowhere yet it maps further, see
    /// --rounds.
    #[arg(long, value_name = "NAME", default_value = "best")]
    pub(crate) strategy: String,
    /// The imbalance that is good enough: a start within it is left alone unless --improve is given
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    pub(crate) tolerance: f64,
    /// What a message weighs against load in `numa`: auto, SECONDS (a message) or SECONDS/byte
    #[arg(long, value_name = "ALPHA", value_parser = alpha, default_value = "auto")]
    pub(crate) alpha: Alpha,
    /// Move at most N tasks away from home (`best`) [default: any number]
    #[arg(long, value_name = "N")]
    pub(crate) most_migrations: Option<usize>,
    /// Move at most so many bytes of tasks (`best`) [default: any number]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub(crate) most_migrated_bytes: Option<u64>,
    /// What a migration has to save (`best`): so many times the bytes an average task sends in a step
    #[arg(long, value_name = "TIMES", default_value_t = 0.25)]
    pub(crate) migration_weight: f64,
    /// How many steps the mapping serves (`best`): the bytes of a task that migrates count once in that time [default: for ever, they do
    /// not count]
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<f64>,
    /// Count what receiving messages takes, where the machine says (`best`): loads were measured with their messages, where the
    /// tasks are now
    #[arg(long)]
    pub(crate) receiving: bool,
    /// Look for shorter distances even when the load is balanced
    #[arg(long)]
    pub(crate) improve: bool,
    /// Look further N times after the first answer of `best`; 0 is that answer [default: while it brings something, where no task has a
    /// home; else 0]
    ///
    /// A round anneals the mapping, or makes another one and works at it. By default rounds end when four in a row saved less than 0.1 %
    /// each, when ranks of MPI (one to a core, all alike) led to the best mapping once more, or after as much work as takes about a
    /// second. Work is counted, not timed: the same input and --seed give the same mapping.
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u32>,
    /// Look further for this time at most: 100ms, 2s. As many rounds as fit, or --rounds; what it cut short may differ the next time
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time: Option<Duration>,
    /// Show the trade-offs between makespan, cost and migrations
    #[arg(long)]
    pub(crate) front: bool,
    /// What random choices start from
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Take the parts of metis and scotch by their own numbers, not by overlap with the start
    #[arg(long)]
    pub(crate) raw: bool,
    #[command(flatten)]
    pub(crate) show: Show,
}

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the mapping in this form instead of its metrics
    #[arg(long, value_name = "FORM", value_enum, conflicts_with = "json")]
    pub(crate) to: Option<Form>,
    /// Hosts of a rankfile or hostfile, separated by commas; each has the same number of cores
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), default_value = "localhost")]
    pub(crate) hosts: Vec<String>,
    /// Write to FILE; with `--to vt` to FILE.0.json, FILE.1.json and so on
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What a mapping is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// task,core,home,moved
    Csv,
    /// What migrates: task,from,to,bytes,distance
    Plan,
    /// The core of each task, a line each, as METIS writes it
    Part,
    /// Open MPI
    Rankfile,
    /// Slurm, --distribution=arbitrary
    SlurmHostfile,
    /// Slurm, --cpu-bind=map_cpu
    CpuBind,
    /// Rank and CPU, for taskset
    Cpusets,
    /// What vt's offline balancer reads
    Vt,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch balance eval --tasks tasks.csv --messages messages.csv --mapping mapping.csv
  firsttouch balance eval --vt run/ --machine numa32 --json")]
pub(crate) struct Eval {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The mapping: CSV with task,core, or a line for each task [default: the start]
    #[arg(long, value_name = "FILE")]
    pub(crate) mapping: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) show: Show,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch balance convert --vt run/ --to csv -o run
  firsttouch balance convert --tasks tasks.csv --messages messages.csv --to metis")]
pub(crate) struct Convert {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The form
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) to: TaskFormat,
    /// Write to FILE; `csv` writes FILE.tasks.csv and FILE.messages.csv [default: to standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Make the tasks and messages of a benchmark
///
/// With the numbers of the original programs of Charm++.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch balance generate kneighbor --tasks 400 --neighbours 4 --to metis
  firsttouch balance generate jacobi2d --array 640 --cores 16 --round-robin -o jacobi")]
pub(crate) struct Generate {
    #[command(subcommand)]
    pub(crate) what: GenerateWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GenerateWhat {
    /// Loads between two bounds, most near the lower one, and small messages
    #[command(name = "lb_test")]
    LbTest {
        #[arg(long, value_name = "N", default_value_t = 200)]
        tasks: usize,
        /// The least load, in microseconds
        #[arg(long, value_name = "US", default_value_t = 500.0)]
        least: f64,
        /// The greatest load, in microseconds
        #[arg(long, value_name = "US", default_value_t = 2000.0)]
        most: f64,
        /// Ring, Mesh2D, Mesh3D or RandGraph
        #[arg(long, value_name = "GRAPH", default_value = "RandGraph")]
        graph: Topology,
        /// Added to the original's seed
        #[arg(long, value_name = "N", default_value_t = 0)]
        seed: u32,
        #[command(flatten)]
        written: Generated,
    },
    /// Each task exchanges messages with those before and behind it
    #[command(name = "kneighbor")]
    KNeighbor {
        #[arg(long, value_name = "N", default_value_t = 200)]
        tasks: usize,
        /// To how many each sends, half of them on each side
        #[arg(long, value_name = "K", default_value_t = 8)]
        neighbours: usize,
        /// How far these are from one another
        #[arg(long, value_name = "N", default_value_t = 1)]
        stride: usize,
        /// The bytes of a message
        #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16K")]
        message: u64,
        /// The work of all tasks in a step, in seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
        work: f64,
        /// Give every task the same work, instead of nearly the fourth power of its number
        #[arg(long)]
        equal: bool,
        #[command(flatten)]
        written: Generated,
    },
    /// Blocks of an array and their borders: a five-point stencil
    #[command(name = "jacobi2d")]
    Jacobi2D {
        /// The side of the array, in points
        #[arg(long, value_name = "N", default_value_t = 320)]
        array: usize,
        /// The side of a block
        #[arg(long, value_name = "N", default_value_t = 32)]
        block: usize,
        /// How long a point takes, in nanoseconds
        #[arg(long, value_name = "NS", default_value_t = 5.0)]
        point: f64,
        /// How many times as long the points of the first quarter take
        #[arg(long, value_name = "TIMES", default_value_t = 2.0)]
        hot: f64,
        #[command(flatten)]
        written: Generated,
    },
}

/// Where generated tasks are, and where they are written.
#[derive(Args, Debug)]
pub(crate) struct Generated {
    /// Put the tasks on N cores [default: they are nowhere yet]
    #[arg(long, value_name = "N")]
    pub(crate) cores: Option<u32>,
    /// One after the other on the cores in turn, instead of in blocks
    #[arg(long, requires = "cores")]
    pub(crate) round_robin: bool,
    /// The bytes of a task
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "0", requires = "cores")]
    pub(crate) bytes: u64,
    /// The form
    #[arg(long, value_name = "FORM", value_enum, default_value = "csv")]
    pub(crate) to: TaskFormat,
    /// Write to FILE; `csv` writes FILE.tasks.csv and FILE.messages.csv [default: to standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What tasks and messages are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TaskFormat {
    /// Tables of tasks and of messages
    Csv,
    /// A graph in METIS's form
    Metis,
}

fn seconds(word: &str) -> Result<f64, String> {
    let seconds = word.trim().parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
    seconds.ok_or_else(|| format!("`{word}` is no number of seconds, 0 or more"))
}

fn alpha(text: &str) -> Result<Alpha, String> {
    match text.split_once('/') {
        None if text == "auto" => Ok(Alpha::Auto),
        None | Some((_, "message")) => Ok(Alpha::PerMessage(seconds(text.trim_end_matches("/message"))?)),
        Some((number, "byte")) => Ok(Alpha::PerByte(seconds(number)?)),
        Some((_, unit)) => Err(format!("`{unit}` is neither message nor byte")),
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch balance simulate --seeds 5
  firsttouch balance simulate --json | jq .kind")]
pub(crate) struct Simulate {
    /// Executions of each, with loads of their own [default: 25, and more until the mean is known to 5 %, as in the paper]
    #[arg(long, value_name = "N", value_parser = seeds())]
    pub(crate) seeds: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// At least two: one value has no interval.
fn seeds() -> ValueParser {
    ValueParser::from(clap::value_parser!(u32).range(2..=10_000))
}
