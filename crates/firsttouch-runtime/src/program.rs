//! What tasks do.

use crate::mail::{Mail, Outbox, Received, Sender};
use bytemuck::Pod;
use firsttouch_memory::Region;

/// What the tasks of a program do, all of them the same but for their numbers.
///
/// Whatever a task keeps from step to step is in its state, which moves with it. The program itself is shared by all
/// workers.
pub trait Program: Sync {
    /// How many tasks there are, numbered from 0.
    fn tasks(&self) -> u32;

    /// How large the state of a task is, in bytes.
    fn state_bytes(&self, task: u32) -> usize;

    /// Whether a task must stay with the worker it began on.
    fn is_pinned(&self, _task: u32) -> bool {
        false
    }

    /// Begins a task: fills its state, which is zero, and may send what is found in the inboxes of the first step.
    fn begin(&self, task: &mut Context<'_>, state: &mut Region);

    /// Makes one step of a task. What it does must depend on its state and its inbox alone.
    fn step(&self, task: &mut Context<'_>, state: &mut Region);
}

impl<P: Program + ?Sized> Program for Box<P> {
    fn tasks(&self) -> u32 {
        (**self).tasks()
    }

    fn state_bytes(&self, task: u32) -> usize {
        (**self).state_bytes(task)
    }

    fn is_pinned(&self, task: u32) -> bool {
        (**self).is_pinned(task)
    }

    fn begin(&self, task: &mut Context<'_>, state: &mut Region) {
        (**self).begin(task, state);
    }

    fn step(&self, task: &mut Context<'_>, state: &mut Region) {
        (**self).step(task, state);
    }
}

/// What a task knows and can do in a step.
#[derive(Debug)]
pub struct Context<'a> {
    pub(crate) step: u64,
    pub(crate) mail: Mail<'a>,
    pub(crate) sent: &'a [Outbox],
    pub(crate) sender: Sender<'a>,
}

impl<'a> Context<'a> {
    /// The task's number.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.sender.task
    }

    /// How many tasks there are.
    #[must_use]
    pub fn tasks(&self) -> u32 {
        self.sender.workers.len() as u32
    }

    /// The step, from 1; 0 in [`Program::begin`].
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// What was sent to the task in the step before, by sender, and of one sender in the order in which it sent.
    pub fn inbox(&self) -> impl ExactSizeIterator<Item = Received<'a>> + use<'a> {
        self.mail.open(self.sent)
    }

    /// Sends elements to a task, itself included, which finds them in its inbox in the next step.
    ///
    /// # Panics
    /// If there is no such task; the run then ends with the number of the sender.
    pub fn send<T: Pod>(&mut self, to: u32, tag: u32, elements: &[T]) {
        self.sender.send(to, tag, bytemuck::cast_slice(elements));
    }
}
