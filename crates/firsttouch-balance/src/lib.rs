//! Puts tasks on cores: by how long each runs, by what they send one another, and by how far apart the cores are.
//!
//! A [`Problem`] is tasks and messages, a [`Machine`] is cores with distances between them, a [`Mapping`] says on which
//! core each task is, and [`Metrics`] computes its makespan, its traffic and its migrations. A [`Strategy`] makes a better mapping of a given one;
//! [`strategies`] lists those there are, [`strategies::Best`] is the one to use.
//!
//! ```
//! use firsttouch_balance::{Machine, Message, Metrics, SolveOptions, Problem, Strategy, Task, strategies::Best};
//! let tasks = vec![Task::new(3.0).at(0), Task::new(2.0).at(0), Task::new(2.0).at(0), Task::new(1.0).at(1)];
//! let messages = vec![Message { from: 1, to: 2, count: 10.0, bytes: 80_000.0 }];
//! let problem = Problem::new(tasks, &messages)?;
//! let machine = Machine::parse("2:2 + 1:2")?;
//! let start = problem.start(&machine)?;
//! let solution = Best.solve(&problem, &machine, &start, &SolveOptions::default())?;
//! let metrics = Metrics::of(&problem, &machine, &solution.mapping, &start);
//! assert_eq!((metrics.makespan_s, metrics.lower_bound_s, metrics.remote_bytes), (3.0, 3.0, 0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Architecture invariants: nothing here prints or reads the environment, and only `metis` and `scotch`, which run
//! programs of others, touch files; the same input and seed give the same mapping, unless a time limit cut the search short,
//! which the solution then says; a pinned task never moves.

#![forbid(unsafe_code)]

pub mod formats;
pub mod generate;
mod machine;
mod mapping;
mod metrics;
mod problem;
mod receiving;
mod report;
pub mod simulate;
pub mod strategies;
mod strategy;
pub mod trial;

pub use machine::{Core, CpuSelection, Level, Machine, MachineError, Node};
pub use mapping::Mapping;
pub use metrics::{LevelTraffic, Metrics, Migrations};
pub use problem::{Arc, Message, Problem, ProblemError, Task};
pub use report::{AlphaUsed, BalanceReport, FrontPoint, TaskPlace};
pub use strategy::{Alpha, Answer, Asked, Point, Solution, SolveOptions, Strategy, StrategyError};
