//! The `jacobi2D` of Pilla et al. (2011): a five-point stencil on a square array, cut into square blocks that exchange their borders.
//!
//! The left border is 1, the others 0. The blocks of the first quarter (upper rows, left columns) compute each point several
//! times over, which makes the start unbalanced and changes no result.

use crate::{Context, Program, Runtime};
use firsttouch_balance::generate::{GenerateError, Jacobi2D};
use firsttouch_memory::Region;
use std::hint::black_box;

/// What the array is held at left of its first column.
const LEFT: f64 = 1.0;

/// Which side of the receiver a border comes to.
const ABOVE: u32 = 0;
const BELOW: u32 = 1;
const BEFORE: u32 = 2;
const BEHIND: u32 = 3;

/// Why there is no such array.
pub type JacobiError = GenerateError;

/// The program.
#[derive(Clone, Copy, Debug)]
pub struct Jacobi {
    /// The side of the array, in points.
    array: usize,
    /// The side of a block, in points.
    block: usize,
    /// How often the first quarter computes each point.
    hot: u32,
}

impl Jacobi {
    /// An array of `array` x `array` points in blocks of `block` x `block`, whose first quarter takes `hot` times as long.
    ///
    /// # Errors
    /// Blocks that do not fill the array.
    pub fn new(array: usize, block: usize, hot: u32) -> Result<Jacobi, JacobiError> {
        // What it asks of its parameters is asked here, too.
        Jacobi2D { array, block, point_s: 0.0, hot: f64::from(hot) }.problem()?;
        Ok(Jacobi { array, block, hot: hot.max(1) })
    }

    /// Points that all tasks compute in a step, each as often as it is computed.
    #[must_use]
    pub fn points(&self) -> u64 {
        let hot = (self.side() / 2).pow(2) * self.block.pow(2);
        (self.array.pow(2) - hot) as u64 + hot as u64 * u64::from(self.hot)
    }

    fn side(&self) -> usize {
        self.array / self.block
    }

    /// Points of a block with a frame around it.
    fn framed(&self) -> usize {
        (self.block + 2).pow(2)
    }

    /// The row and the column of a block.
    fn place(&self, task: u32) -> (usize, usize) {
        (task as usize / self.side(), task as usize % self.side())
    }

    /// Sends the borders of a block to its neighbours.
    fn exchange(&self, task: &mut Context<'_>, block: &[f64]) {
        let (row, column) = self.place(task.number());
        let (width, side, number) = (self.block + 2, self.side(), task.number());
        let line = |row: usize| &block[row * width + 1..row * width + 1 + self.block];
        let upright =
            |column: usize| -> Vec<f64> { (1..=self.block).map(|row| block[row * width + column]).collect() };
        if row > 0 {
            task.send(number - side as u32, BELOW, line(1));
        }
        if row + 1 < side {
            task.send(number + side as u32, ABOVE, line(self.block));
        }
        if column > 0 {
            task.send(number - 1, BEHIND, &upright(1));
        }
        if column + 1 < side {
            task.send(number + 1, BEFORE, &upright(self.block));
        }
    }

    /// The array after the steps that a runtime has made, row by row.
    pub fn solution(runtime: &mut Runtime<Jacobi>) -> Vec<f64> {
        let program = *runtime.program();
        let steps = runtime.account().steps.len();
        let mut array = vec![0.0; program.array * program.array];
        for task in 0..program.tasks() {
            let (row, column) = program.place(task);
            let state = runtime.state(task).as_slice_of::<f64>();
            let block = &state[(steps % 2) * program.framed()..][..program.framed()];
            let lines = block.chunks_exact(program.block + 2).skip(1).take(program.block);
            for (line, row) in lines.zip(row * program.block..) {
                let first = row * program.array + column * program.block;
                array[first..first + program.block].copy_from_slice(&line[1..=program.block]);
            }
        }
        array
    }

    /// The array after so many steps, computed by one thread without blocks.
    #[must_use]
    pub fn sequential(&self, steps: usize) -> Vec<f64> {
        let width = self.array + 2;
        let mut old = vec![0.0; width * width];
        old.chunks_exact_mut(width).skip(1).take(self.array).for_each(|line| line[0] = LEFT);
        let mut new = old.clone();
        for _ in 0..steps {
            relax(&old, &mut new, width);
            std::mem::swap(&mut old, &mut new);
        }
        let lines = old.chunks_exact(width).skip(1).take(self.array);
        lines.flat_map(|line| line[1..=self.array].to_vec()).collect()
    }
}

/// The mean of the four neighbours for every point within the frame.
fn relax(old: &[f64], new: &mut [f64], width: usize) {
    for row in 1..width - 1 {
        let line = row * width;
        let (above, below) = (&old[line - width..line], &old[line + width..line + 2 * width]);
        let (here, there) = (&old[line..line + width], &mut new[line..line + width]);
        for column in 1..width - 1 {
            let upright = above[column] + below[column];
            there[column] = 0.25 * (upright + (here[column - 1] + here[column + 1]));
        }
    }
}

impl Program for Jacobi {
    fn tasks(&self) -> u32 {
        (self.side() * self.side()) as u32
    }

    /// A block before and after a step, in turn.
    fn state_bytes(&self, _: u32) -> usize {
        2 * self.framed() * size_of::<f64>()
    }

    fn begin(&self, task: &mut Context<'_>, state: &mut Region) {
        let both = &mut state.as_mut_slice_of::<f64>()[..2 * self.framed()];
        let width = self.block + 2;
        if self.place(task.number()).1 == 0 {
            for block in both.chunks_exact_mut(self.framed()) {
                block.chunks_exact_mut(width).skip(1).take(self.block).for_each(|line| line[0] = LEFT);
            }
        }
        self.exchange(task, &both[..self.framed()]);
    }

    fn step(&self, task: &mut Context<'_>, state: &mut Region) {
        let (even, odd) = state.as_mut_slice_of::<f64>()[..2 * self.framed()].split_at_mut(self.framed());
        let (old, new) = if task.step() % 2 == 1 { (even, odd) } else { (odd, even) };
        let width = self.block + 2;
        for message in task.inbox() {
            let border: &[f64] = message.elements();
            match message.tag {
                ABOVE => old[1..=self.block].copy_from_slice(border),
                BELOW => old[(self.block + 1) * width + 1..][..self.block].copy_from_slice(border),
                side => {
                    let column = if side == BEFORE { 0 } else { self.block + 1 };
                    for (row, value) in border.iter().enumerate() {
                        old[(row + 1) * width + column] = *value;
                    }
                }
            }
        }
        let (row, column) = self.place(task.number());
        let is_hot = row < self.side() / 2 && column < self.side() / 2;
        for _ in 0..if is_hot { self.hot } else { 1 } {
            relax(black_box(old), new, width);
        }
        self.exchange(task, new);
    }
}
