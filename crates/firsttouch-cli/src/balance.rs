//! `balance`: reads tasks, messages and a machine, asks the library for a mapping, and writes it.

mod runs;
mod simulate;

use crate::args::{
    Balance, BalanceWhat, Convert, Eval, Form, GenerateWhat, Generated, Input, Show, Solve, TaskFormat,
};
use crate::export;
use crate::input::bytes_of;
use crate::measure;
use crate::output::{self, Failure, Outcome};
use firsttouch_balance::formats::{
    self, FormatError, JobLayout, LaunchError, Measured, VtRun, csv_mapping, csv_messages, csv_problem,
    csv_tasks_of, metis_parts, metis_text,
};
use firsttouch_balance::generate::{Jacobi2D, KNeighbor, LbTest, Start, Work, at_home};
use firsttouch_balance::{
    BalanceReport, CpuSelection, Machine, Mapping, Problem, SolveOptions, StrategyError, strategies,
};
use firsttouch_documents::to_json;
use firsttouch_launch::Here;
use firsttouch_machine::{Root, SourceError};
use firsttouch_report::{Style, text};
use std::fs;
use std::path::{Path, PathBuf};

/// What was read: tasks and messages, the machine, and where the tasks are.
struct Case {
    problem: Problem,
    machine: Machine,
    start: Mapping,
    vt: Option<(VtRun, u64)>,
}

pub(crate) fn run(args: &Balance) -> Outcome {
    match &args.what {
        BalanceWhat::Solve(solve) => solve_case(solve),
        BalanceWhat::Eval(eval) => eval_case(eval),
        BalanceWhat::Convert(convert) => convert_case(convert),
        BalanceWhat::Generate(generate) => generate_case(&generate.what),
        BalanceWhat::Simulate(args) => simulate::run(args),
    }
}

fn solve_case(args: &Solve) -> Outcome {
    let strategy = strategies::named(&args.strategy).map_err(not_solved)?;
    let case = read(&args.input)?;
    let options = SolveOptions {
        tolerance: args.tolerance,
        alpha: args.alpha,
        most_migrations: args.most_migrations,
        most_migrated_bytes: args.most_migrated_bytes,
        migration_weight: args.migration_weight,
        steps: args.steps,
        receiving: args.receiving,
        improve: args.improve,
        rounds: args.rounds,
        time_limit: args.time,
        front: args.front,
        seed: args.seed,
        raw: args.raw,
    };
    let solution = strategy.solve(&case.problem, &case.machine, &case.start, &options).map_err(not_solved)?;
    let report =
        BalanceReport::of_solution(&case.problem, &case.machine, &case.start, strategy.name(), &solution);
    show(&args.show, &case, &solution.mapping, &report)
}

fn not_solved(error: StrategyError) -> Failure {
    let is_usage = matches!(error, StrategyError::Unknown(_) | StrategyError::Option { .. });
    Failure::hinted(error).usage_if(is_usage)
}

fn eval_case(args: &Eval) -> Outcome {
    let case = read(&args.input)?;
    let mapping = match &args.mapping {
        Some(path) => read_mapping(path, &case.problem, &case.machine)?,
        None => case.start.clone(),
    };
    let report = BalanceReport::of_mapping(&case.problem, &case.machine, &mapping, &case.start);
    show(&args.show, &case, &mapping, &report)
}

fn convert_case(args: &Convert) -> Outcome {
    let (measured, _) = read_problem(&args.input)?;
    write_problem(&measured.problem, args.to, args.output.as_deref())
}

fn generate_case(what: &GenerateWhat) -> Outcome {
    let (problem, written) = match *what {
        GenerateWhat::LbTest { tasks, least, most, graph: topology, seed, ref written } => {
            let (least_s, most_s) = (least * 1e-6, most * 1e-6);
            (LbTest { tasks, least_s, most_s, topology, seed }.problem(), written)
        }
        GenerateWhat::KNeighbor { tasks, neighbours, stride, message, work: work_s, equal, ref written } => {
            let work = if equal { Work::Equal } else { Work::Skewed };
            let message_bytes = message as f64;
            (KNeighbor { tasks, neighbours, stride, message_bytes, work_s, work }.problem(), written)
        }
        GenerateWhat::Jacobi2D { array, block, point, hot, ref written } => {
            (Jacobi2D { array, block, point_s: point * 1e-9, hot }.problem(), written)
        }
    };
    let Generated { cores, round_robin, bytes, to, output } = written;
    let mut problem = problem.map_err(|error| Failure::new(error).usage())?;
    if let Some(cores) = *cores {
        let start = if *round_robin { Start::RoundRobin(cores) } else { Start::Block(cores) };
        problem = at_home(&problem, start, *bytes).map_err(Failure::new)?;
    }
    write_problem(&problem, *to, output.as_deref())
}

fn write_problem(problem: &Problem, to: TaskFormat, output: Option<&Path>) -> Outcome {
    let texts = match to {
        TaskFormat::Csv => {
            vec![(".tasks.csv", csv_tasks_of(problem)), (".messages.csv", csv_messages(problem))]
        }
        TaskFormat::Metis => vec![("", metis_text(problem).map_err(Failure::new)?)],
    };
    for (ending, text) in texts {
        match output {
            Some(path) => export::write(&with_ending(path, ending), &text)?,
            None => output::data(&text)?,
        }
    }
    Ok(0)
}

fn show(args: &Show, case: &Case, mapping: &Mapping, report: &BalanceReport) -> Outcome {
    let launch =
        |error: LaunchError| Failure::new(error).hint("name the hosts by --hosts, all of the same size");
    let layout = || JobLayout::new(&case.machine, &args.hosts).map_err(launch);
    let (problem, machine, start) = (&case.problem, &case.machine, &case.start);
    let text = match args.to {
        None if args.json => to_json(report),
        None if args.output.is_some() => text::balance(report, output::width(), Style::Plain),
        None => text::balance(report, output::width(), Style::Ansi),
        Some(Form::Csv) => formats::mapping_csv(problem, mapping, start),
        Some(Form::Plan) => formats::migration_plan(problem, machine, mapping, start),
        Some(Form::Part) => formats::metis_part(mapping),
        Some(Form::Rankfile) => formats::rankfile(&layout()?, mapping),
        Some(Form::SlurmHostfile) => formats::slurm_hostfile(&layout()?, mapping),
        Some(Form::CpuBind) => formats::cpu_bind(&layout()?, mapping).map_err(launch)?,
        Some(Form::Cpusets) => formats::cpusets(&layout()?, mapping),
        Some(Form::Vt) => return show_vt(args, case, mapping),
    };
    match &args.output {
        Some(path) => export::write(path, &text)?,
        None => output::data(&text)?,
    }
    Ok(0)
}

fn show_vt(args: &Show, case: &Case, mapping: &Mapping) -> Outcome {
    let Some(path) = &args.output else {
        return Err(Failure::message("vt's form is a file for each rank").hint("name them by -o FILE"));
    };
    let ranks = case.machine.cores().len();
    let files = match &case.vt {
        Some((run, phase)) => run.offline(&case.problem, mapping, phase + 1, ranks),
        None => formats::vt_offline(&case.problem, mapping, 0, ranks),
    };
    for (rank, text) in files.iter().enumerate() {
        export::write(&with_ending(path, &format!(".{rank}.json")), text)?;
    }
    Ok(0)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// A file that is not what it should be: its name, then line and reason.
fn wrong(path: &Path) -> impl Fn(FormatError) -> Failure {
    let name = path.display().to_string();
    move |error| Failure::new(anyhow::Error::new(error).context(name.clone()))
}

fn read(args: &Input) -> Outcome<Case> {
    let (measured, vt) = read_problem(args)?;
    let ranks = vt.as_ref().map(|(run, _)| run.ranks());
    let machine = machine(args, ranks)?;
    let machine = measured.on(machine).with_seconds_per_byte(args.seconds_per_byte);
    let problem = measured.problem;
    let start = match &args.start {
        Some(path) => {
            problem.check(&machine).map_err(Failure::hinted)?;
            read_mapping(path, &problem, &machine)?
        }
        None => problem.start(&machine).map_err(Failure::hinted)?,
    };
    Ok(Case { problem, machine, start, vt })
}

/// Tasks and messages, and of vt's run the run with the phase that was taken.
fn read_problem(args: &Input) -> Outcome<(Measured, Option<(VtRun, u64)>)> {
    let source = &args.source;
    let alone = |problem| (Measured { problem, cores: Vec::new() }, None);
    if let Some(path) = &source.tasks {
        let messages = args.messages.as_deref().map(bytes_of).transpose()?;
        let tasks = bytes_of(path)?;
        // Whose line it is that is wrong: the tasks are read alone first.
        csv_problem(&tasks, None).map_err(wrong(path))?;
        let blamed = args.messages.as_deref().unwrap_or(path);
        return Ok(alone(csv_problem(&tasks, messages.as_deref()).map_err(wrong(blamed))?));
    }
    if let Some(path) = &source.matrix {
        let counts = args.counts.as_deref().map(bytes_of).transpose()?;
        return Ok(alone(formats::matrices(Some(&bytes_of(path)?), counts.as_deref()).map_err(wrong(path))?));
    }
    if let Some(path) = &source.graph {
        return Ok(alone(formats::metis_graph(&bytes_of(path)?).map_err(wrong(path))?));
    }
    if let Some(path) = &source.charm {
        return Ok((formats::charm_dump(&bytes_of(path)?).map_err(wrong(path))?, None));
    }
    if let Some(path) = &source.hopbyte {
        return Ok(alone(formats::hopbyte(&bytes_of(path)?).map_err(wrong(path))?));
    }
    let named = source.vt.clone().unwrap_or_default();
    let files = runs::files(&named)?;
    let contents = files.iter().map(|path| bytes_of(path)).collect::<Outcome<Vec<Vec<u8>>>>()?;
    let blamed = named.first().cloned().unwrap_or_default();
    let mut run = VtRun::read(&contents).map_err(wrong(&blamed))?;
    let phase = args.phase.or(run.phases().last().copied()).unwrap_or(0);
    let problem = run.problem(phase).map_err(wrong(&blamed))?;
    Ok((Measured { problem, cores: Vec::new() }, Some((run, phase))))
}

fn read_mapping(path: &Path, problem: &Problem, machine: &Machine) -> Outcome<Mapping> {
    let content = bytes_of(path)?;
    let table = content.contains(&b',');
    let read = if table { csv_mapping(&content, problem) } else { metis_parts(&content, problem) };
    let mapping = read.map_err(wrong(path))?;
    if let Some(core) = mapping.cores().iter().find(|core| **core as usize >= machine.cores().len()) {
        let cores = machine.cores().len();
        let reason = format!("{}: there is no core {core}; the machine has {cores}", path.display());
        return Err(Failure::message(reason).hint("name the machine by --machine"));
    }
    Ok(mapping)
}

/// The machine that was named; for a run of vt on no named machine as many cores as it had ranks.
fn machine(args: &Input, ranks: Option<usize>) -> Outcome<Machine> {
    let seats = if args.cpus { CpuSelection::Cpus } else { CpuSelection::Cores };
    let text = args.machine.as_str();
    let path = Path::new(text);
    if text == "live" {
        if let Some(ranks) = ranks {
            return Machine::parse(&format!("{ranks} + 1")).map_err(Failure::hinted);
        }
        let live = firsttouch_machine::Machine::read(&Root::live())?;
        let here = Here::on(live, measure::kept_file().as_deref());
        measure::warn_of_unread(here.unread());
        let allowed = here.machine().limits.allowed_cpus.as_ref();
        let may = |cpu| allowed.is_none_or(|allowed| allowed.contains(&cpu));
        return Machine::of(here.machine(), here.measured(), seats, may).map_err(Failure::hinted);
    }
    if path.is_file()
        && let Ok(table) = fs::read_to_string(path)
        && !table.trim_start().starts_with('<')
        // An archive that is not packed may be text all through, but for what its headers are filled up with.
        && !table.contains('\0')
    {
        return Machine::from_table(text, &table, args.cores_per_node)
            .map_err(|error| Failure::hinted(error).context(text.to_owned()));
    }
    let ours = if path.exists() { None } else { Some(Machine::parse(text)) };
    if let Some(Ok(machine)) = ours {
        return Ok(machine);
    }
    match (firsttouch_machine::Machine::from_source(text), ours) {
        (Ok(machine), _) => Machine::of(&machine, None, seats, |_| true).map_err(Failure::hinted),
        // It is no file: these were to be words of ours.
        (Err(SourceError::Synthetic(_)), Some(Err(error))) => Err(Failure::hinted(error).usage()),
        (Err(error), _) => Err(Failure::hinted(error)),
    }
}
