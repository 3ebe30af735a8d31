//! How much memory a run takes from the machine, whichever of its processes does.
//!
//! The kernel tells a parent of the largest process among those that were waited for. Servers leave whoever started them,
//! and memory that processes share is no single one's; but the machine has less meanwhile.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Does something, and answers by how many bytes what is `available` was less meanwhile than before, at the least point that
/// was seen. `None` where nobody tells, or no thread can be started to look.
pub(crate) fn meanwhile<T>(
    mut available: impl FnMut() -> Option<u64> + Send,
    act: impl FnOnce() -> T,
) -> (T, Option<u64>) {
    let before = available();
    let (done, is_done) = channel::<()>();
    thread::scope(|scope| {
        let looking = thread::Builder::new().spawn_scoped(scope, move || {
            let mut least = before;
            while is_done.recv_timeout(BETWEEN_LOOKS) == Err(RecvTimeoutError::Timeout) {
                least = least.min(available());
            }
            least
        });
        let answer = act();
        drop(done);
        let least = looking.ok().and_then(|looking| looking.join().ok()).flatten();
        (answer, before.zip(least).map(|(before, least)| before.saturating_sub(least)))
    })
}

#[cfg(test)]
mod tests {
    use super::meanwhile;
    use std::sync::mpsc::channel;

    #[test]
    fn the_least_point_counts() {
        let (seen, is_seen) = channel();
        let mut looks = [100, 90, 30, 80].into_iter().cycle();
        let look = move || {
            let available = looks.next();
            // Nobody listens any more when all was seen.
            let _ = seen.send(());
            available
        };
        let answer = meanwhile(look, || (0..4).for_each(|_| is_seen.recv().unwrap()));
        assert_eq!(answer, ((), Some(70)));
        assert_eq!(meanwhile(|| None, || 7), (7, None));
    }
}
