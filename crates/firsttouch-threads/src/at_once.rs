//! Work that ends before its caller goes on, on as many threads as there are.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Does every piece of work, all at once, and answers what each made, in their order. The first is the caller's own, and so is each that no
/// thread can be started for: under a limit on processes work takes longer, and is done.
///
/// # Panics
/// With the panic of a piece that panicked, once all have ended.
pub fn at_once<T: Send, W: FnOnce() -> T + Send>(work: impl IntoIterator<Item = W>) -> Vec<T> {
    // What was given to a thread that did not start would be lost: each takes its piece when it has.
    let pieces: Vec<Mutex<Option<W>>> = work.into_iter().map(|piece| Mutex::new(Some(piece))).collect();
    let done = |piece: &Mutex<Option<W>>| {
        let taken = piece.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.map(|work| work())
    };
    thread::scope(|scope| {
        let start = |piece| thread::Builder::new().spawn_scoped(scope, move || done(piece)).ok();
        let threads: Vec<_> = pieces.iter().skip(1).map(start).collect();
        let own = pieces.iter().zip([None].into_iter().chain(threads));
        own.filter_map(|(piece, thread)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            None => done(piece),
        })
        .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::at_once;
    use std::sync::Barrier;
    use std::thread::{self, ThreadId};

    /// Each waits for the others, and only the first is the caller's.
    #[test]
    fn all_are_done_at_the_same_time_and_in_order() {
        let (all, own) = (Barrier::new(3), thread::current().id());
        let piece = |number: u32| {
            let all = &all;
            move || {
                all.wait();
                (number, thread::current().id())
            }
        };
        let done: Vec<(u32, ThreadId)> = at_once([7, 8, 9].map(piece));
        let numbers: Vec<u32> = done.iter().map(|(number, _)| *number).collect();
        let is_own: Vec<bool> = done.iter().map(|(_, thread)| *thread == own).collect();
        assert_eq!((&numbers[..], &is_own[..]), (&[7, 8, 9][..], &[true, false, false][..]));
        assert!(at_once([(); 0].map(|()| || ())).is_empty());
    }
}
