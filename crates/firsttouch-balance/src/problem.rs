//! What is to be placed: tasks, and the messages between them.

use crate::Machine;
use std::borrow::Cow;
use std::ops::Range;

/// Something that runs on one core at a time and can be moved to another, unless it is pinned.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// How long it runs on a core of speed 1, in seconds per step.
    pub load: f64,
    /// What moving it would have to move, in bytes.
    pub bytes: u64,
    /// The core it is on, as an index into the machine's cores; `None` for a task that has not started anywhere, whose
    /// first place is no migration.
    pub home: Option<u32>,
    /// Whether it must stay at home.
    pub pinned: bool,
    /// What it needs of its node's memory, in bytes.
    pub memory: u64,
    /// What its file calls it, where that is not its number.
    pub label: Option<Box<str>>,
}

impl Task {
    /// A task of this load that is nowhere yet.
    #[must_use]
    pub fn new(load: f64) -> Task {
        Task { load, bytes: 0, home: None, pinned: false, memory: 0, label: None }
    }

    /// The same task on a core.
    #[must_use]
    pub fn at(self, core: u32) -> Task {
        Task { home: Some(core), ..self }
    }
}

/// What one task sends another in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// How many messages.
    pub count: f64,
    /// All their bytes.
    pub bytes: f64,
}

/// What a task sends another, as it lies in the problem: behind its sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arc {
    /// The receiver.
    pub to: u32,
    /// How many messages.
    pub count: f64,
    /// All their bytes.
    pub bytes: f64,
}

/// Why tasks and messages make no problem, or none of this machine.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// More tasks or pairs than 32 bits count.
    #[error("{0} tasks or pairs that talk are more than 32 bits count")]
    TooMany(usize),
    /// A load that is negative or no number.
    #[error("task {task}: its load is {load}; a load is a finite number of seconds, 0 or more")]
    Load {
        /// Which task.
        task: String,
        /// What it is said to be.
        load: f64,
    },
    /// Loads that have no sum.
    #[error("the loads of all tasks are together more than a number holds")]
    Total,
    /// A pinned task that is nowhere.
    #[error("task {0} is pinned but has no home to be pinned to")]
    PinnedNowhere(String),
    /// A message of a task that is not there.
    #[error("message {message} (counted from 0) is of task {task}, but there are only {tasks} tasks")]
    NoSuchTask {
        /// Which message, in the order given.
        message: usize,
        /// The number it names.
        task: u32,
        /// How many tasks there are.
        tasks: usize,
    },
    /// A number of messages or bytes that is negative or no number.
    #[error(
        "message {message} (counted from 0): {count} messages of {bytes} bytes; both are numbers, 0 or more"
    )]
    Traffic {
        /// Which message, in the order given.
        message: usize,
        /// How many messages.
        count: f64,
        /// How many bytes.
        bytes: f64,
    },
    /// A task lives on a core that the machine does not have.
    #[error("task {task} is on core {core}, but the machine has {cores} cores, numbered from 0")]
    NoSuchCore {
        /// Which task.
        task: String,
        /// Where it is said to be.
        core: u32,
        /// How many cores there are.
        cores: usize,
    },
    /// The tasks need more memory than there is, or one of them more than any node has.
    #[error("{what} {needed} bytes of memory, but {place} {available}")]
    Memory {
        /// Who needs it, with the verb.
        what: String,
        /// How much.
        needed: u64,
        /// What has less, with the verb.
        place: &'static str,
        /// How much less.
        available: u64,
    },
}

impl ProblemError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            ProblemError::TooMany(_) => "merge tasks that belong together before balancing them",
            ProblemError::Load { .. } | ProblemError::Total | ProblemError::Traffic { .. } => {
                "correct the input: nothing was guessed"
            }
            ProblemError::PinnedNowhere(_) => "give the task a home, or do not pin it",
            ProblemError::NoSuchTask { .. } => "give every task that sends or receives a line of its own",
            ProblemError::NoSuchCore { .. } => "name the machine the tasks ran on by --machine",
            ProblemError::Memory { .. } => "name a machine with more memory, or leave tasks out",
        }
    }
}

/// Tasks, and the messages between them as compressed rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    tasks: Vec<Task>,
    /// Where the arcs of each sender begin; one more than there are tasks.
    sent: Vec<u32>,
    /// By sender, then by receiver.
    arcs: Vec<Arc>,
    /// Where the entries of each receiver begin in `sources`; one more than there are tasks.
    received: Vec<u32>,
    /// By receiver, then by sender: the sender, and the place of the arc in `arcs`.
    sources: Vec<(u32, u32)>,
}

impl Problem {
    /// Makes a problem of tasks and messages. Messages of one pair are added up; what a task sends itself never travels and
    /// is left out, as are pairs without any traffic.
    ///
    /// # Errors
    ///
    /// A load or traffic that is negative or no number, loads without a sum, a pinned task without a home, a message of a task that is not there.
    pub fn new(tasks: Vec<Task>, messages: &[Message]) -> Result<Problem, ProblemError> {
        if tasks.len() >= u32::MAX as usize || messages.len() >= u32::MAX as usize {
            return Err(ProblemError::TooMany(tasks.len().max(messages.len())));
        }
        let name = |index: usize| label(&tasks, index).into_owned();
        for (index, task) in tasks.iter().enumerate() {
            if !task.load.is_finite() || task.load < 0.0 {
                return Err(ProblemError::Load { task: name(index), load: task.load });
            }
            if task.pinned && task.home.is_none() {
                return Err(ProblemError::PinnedNowhere(name(index)));
            }
        }
        if !tasks.iter().map(|task| task.load).sum::<f64>().is_finite() {
            return Err(ProblemError::Total);
        }
        for (index, message) in messages.iter().enumerate() {
            if let Some(&task) = [message.from, message.to].iter().find(|task| **task as usize >= tasks.len())
            {
                return Err(ProblemError::NoSuchTask { message: index, task, tasks: tasks.len() });
            }
            let Message { count, bytes, .. } = *message;
            if !(count.is_finite() && bytes.is_finite() && count >= 0.0 && bytes >= 0.0) {
                return Err(ProblemError::Traffic { message: index, count, bytes });
            }
        }
        let (sent, arcs) = rows(tasks.len(), messages);
        let (received, sources) = columns(tasks.len(), &sent, &arcs);
        Ok(Problem { tasks, sent, arcs, received, sources })
    }

    /// The tasks, by number.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// How many tasks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there is nothing to place.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// How many pairs (sender, receiver) talk.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.arcs.len()
    }

    /// What people call a task: its label, or its number.
    #[must_use]
    pub fn label(&self, task: usize) -> Cow<'_, str> {
        label(&self.tasks, task)
    }

    /// What a task sends, by receiver.
    #[must_use]
    pub fn sent(&self, task: usize) -> &[Arc] {
        &self.arcs[span(&self.sent, task)]
    }

    /// What a task receives, by sender: the sender and its arc.
    pub fn received(&self, task: usize) -> impl Iterator<Item = (u32, &Arc)> {
        self.sources[span(&self.received, task)].iter().map(|&(from, arc)| (from, &self.arcs[arc as usize]))
    }

    /// All traffic, by sender, then by receiver.
    pub fn messages(&self) -> impl Iterator<Item = Message> {
        (0..self.len()).flat_map(|from| {
            let message = move |arc: &Arc| Message {
                from: from as u32,
                to: arc.to,
                count: arc.count,
                bytes: arc.bytes,
            };
            self.sent(from).iter().map(message)
        })
    }

    /// The load of all tasks, in seconds on a core of speed 1.
    #[must_use]
    pub fn total_load(&self) -> f64 {
        self.tasks.iter().map(|task| task.load).sum()
    }

    /// The same tasks with other loads: those of a later step.
    ///
    /// # Errors
    ///
    /// A load that is negative or no number, or loads without a sum.
    ///
    /// # Panics
    ///
    /// If there are not as many loads as tasks.
    pub fn set_loads(&mut self, loads: &[f64]) -> Result<(), ProblemError> {
        assert_eq!(loads.len(), self.len(), "a load for each task");
        if let Some(index) = loads.iter().position(|load| !load.is_finite() || *load < 0.0) {
            return Err(ProblemError::Load { task: self.label(index).into_owned(), load: loads[index] });
        }
        if !loads.iter().sum::<f64>().is_finite() {
            return Err(ProblemError::Total);
        }
        for (task, load) in self.tasks.iter_mut().zip(loads) {
            task.load = *load;
        }
        Ok(())
    }

    /// Whether the machine has the cores that the tasks are on, and the memory they need.
    ///
    /// # Errors
    ///
    /// What is missing.
    pub fn check(&self, machine: &Machine) -> Result<(), ProblemError> {
        let cores = machine.cores().len();
        for (index, task) in self.tasks.iter().enumerate() {
            if let Some(core) = task.home.filter(|core| *core as usize >= cores) {
                return Err(ProblemError::NoSuchCore { task: self.label(index).into_owned(), core, cores });
            }
        }
        // Where a node's memory is unknown, nothing can be said of what fits.
        let Some(memory) = machine.nodes().iter().map(|node| node.memory).collect::<Option<Vec<u64>>>()
        else {
            return Ok(());
        };
        let largest = memory.iter().copied().max().unwrap_or(0);
        for (index, task) in self.tasks.iter().enumerate() {
            if task.memory > largest {
                return Err(ProblemError::Memory {
                    what: format!("task {} needs", self.label(index)),
                    needed: task.memory,
                    place: "no node has more than",
                    available: largest,
                });
            }
        }
        let needed = self.tasks.iter().fold(0_u64, |sum, task| sum.saturating_add(task.memory));
        let available = memory.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
        if needed > available {
            let what = "all tasks together need".to_owned();
            return Err(ProblemError::Memory { what, needed, place: "all nodes together have", available });
        }
        Ok(())
    }
}

fn label(tasks: &[Task], index: usize) -> Cow<'_, str> {
    match &tasks[index].label {
        Some(label) => Cow::Borrowed(label),
        None => Cow::Owned(index.to_string()),
    }
}

fn span(offsets: &[u32], index: usize) -> Range<usize> {
    offsets[index] as usize..offsets[index + 1] as usize
}

/// Offsets of rows of these lengths.
fn offsets(lengths: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut sum = 0;
    let mut offsets = vec![0];
    offsets.extend(lengths.map(|length| {
        sum += length;
        sum
    }));
    offsets
}

/// Messages by sender and receiver, those of one pair added up. Two passes of counting keep it linear.
fn rows(tasks: usize, messages: &[Message]) -> (Vec<u32>, Vec<Arc>) {
    let travels =
        |message: &&Message| message.from != message.to && (message.count > 0.0 || message.bytes > 0.0);
    let mut by_receiver = counted(tasks, messages.iter().filter(travels), |message| message.to);
    by_receiver = counted(tasks, by_receiver.iter().copied(), |message| message.from);
    let mut lengths = vec![0_u32; tasks];
    let mut arcs: Vec<Arc> = Vec::with_capacity(by_receiver.len());
    let mut last = None;
    for message in by_receiver {
        let pair = (message.from, message.to);
        match arcs.last_mut().filter(|_| last == Some(pair)) {
            Some(arc) => {
                arc.count += message.count;
                arc.bytes += message.bytes;
            }
            None => {
                arcs.push(Arc { to: message.to, count: message.count, bytes: message.bytes });
                lengths[message.from as usize] += 1;
                last = Some(pair);
            }
        }
    }
    (offsets(lengths.into_iter()), arcs)
}

/// Messages in the order of a key, those of one key as they were.
fn counted<'a>(
    keys: usize,
    messages: impl Iterator<Item = &'a Message> + Clone,
    key: impl Fn(&Message) -> u32,
) -> Vec<&'a Message> {
    let mut next = vec![0_u32; keys + 1];
    let mut any = None;
    let mut count = 0;
    for message in messages.clone() {
        next[key(message) as usize + 1] += 1;
        any = Some(message);
        count += 1;
    }
    for key in 0..keys {
        next[key + 1] += next[key];
    }
    let Some(any) = any else { return Vec::new() };
    let mut sorted = vec![any; count];
    for message in messages {
        let place = &mut next[key(message) as usize];
        sorted[*place as usize] = message;
        *place += 1;
    }
    sorted
}

fn columns(tasks: usize, sent: &[u32], arcs: &[Arc]) -> (Vec<u32>, Vec<(u32, u32)>) {
    let mut lengths = vec![0_u32; tasks];
    for arc in arcs {
        lengths[arc.to as usize] += 1;
    }
    let received = offsets(lengths.into_iter());
    let mut next = received.clone();
    let mut sources = vec![(0, 0); arcs.len()];
    for from in 0..tasks {
        for place in span(sent, from) {
            let entry = &mut next[arcs[place].to as usize];
            sources[*entry as usize] = (from as u32, place as u32);
            *entry += 1;
        }
    }
    (received, sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(from: u32, to: u32, bytes: f64) -> Message {
        Message { from, to, count: 1.0, bytes }
    }

    #[test]
    fn messages_of_a_pair_add_up_and_are_found_from_both_ends() {
        let tasks = vec![Task::new(1.0), Task::new(1.0), Task::new(1.0)];
        let messages = [
            message(2, 0, 5.0),
            message(0, 1, 1.0),
            message(2, 0, 7.0),
            message(1, 1, 9.0),
            message(0, 2, 2.0),
        ];
        let problem = Problem::new(tasks, &messages).unwrap();
        assert_eq!(problem.pairs(), 3);
        assert_eq!(problem.sent(0).iter().map(|arc| arc.to).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(problem.sent(2), [Arc { to: 0, count: 2.0, bytes: 12.0 }]);
        assert_eq!(problem.received(0).map(|(from, arc)| (from, arc.bytes)).collect::<Vec<_>>(), [(2, 12.0)]);
        assert_eq!(problem.received(1).map(|(from, _)| from).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |tasks, messages: &[Message]| Problem::new(tasks, messages).unwrap_err().to_string();
        assert!(error(vec![Task::new(-1.0)], &[]).contains("its load is -1"));
        assert!(error(vec![Task::new(f64::NAN)], &[]).contains("NaN"));
        assert!(error(vec![Task { pinned: true, ..Task::new(1.0) }], &[]).contains("pinned"));
        assert!(error(vec![Task::new(1.0)], &[message(0, 3, 1.0)]).contains("task 3"));
        assert!(error(vec![Task::new(1.0), Task::new(1.0)], &[message(0, 1, -2.0)]).contains("-2 bytes"));
    }

    #[test]
    fn tasks_without_a_home_start_in_blocks() {
        let tasks = (0..5).map(|_| Task::new(1.0)).collect();
        let machine = Machine::parse("2 + 1").unwrap();
        let start = Problem::new(tasks, &[]).unwrap().start(&machine).unwrap();
        assert_eq!(start.cores(), [0, 0, 0, 1, 1]);
    }

    #[test]
    fn memory_that_cannot_suffice_is_refused() {
        let needs = |memory| Task { memory, ..Task::new(1.0) };
        let machine = Machine::parse("2:2 + 1:2").unwrap().with_node_memory(&[100, 100]);
        let check = |tasks| Problem::new(tasks, &[]).unwrap().check(&machine);
        assert_eq!(check(vec![needs(100), needs(90)]), Ok(()));
        assert!(check(vec![needs(101)]).unwrap_err().to_string().contains("task 0 needs 101"));
        assert!(check(vec![needs(80), needs(80), needs(80)]).unwrap_err().to_string().contains("together"));
    }
}
