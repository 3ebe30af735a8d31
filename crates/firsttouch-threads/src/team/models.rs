//! A team in every order in which its threads can meet, as loom plays them.

use super::barrier::Barrier;
use super::{Member, MemberLocation, Shared};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

/// Plays every order in which no thread is interrupted more often than this: others are too many.
fn model(interruptions: usize, play: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(interruptions);
    builder.check(play);
}

/// One group does so many pieces of work.
fn works(members: usize, jobs: u32) {
    let locations = (0..members).map(|in_group| MemberLocation { cpu: 0, group: 0, in_group }).collect();
    let shared = Arc::new(Shared::new(locations, vec![members]));
    let serving: Vec<JoinHandle<()>> = (0..members)
        .map(|index| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.serve(index))
        })
        .collect();
    for job in 1..=jobs {
        let counts: Vec<AtomicUsize> = (0..members).map(|_| AtomicUsize::new(0)).collect();
        shared.run(job, &|member: &Member<'_>| {
            counts[member.index()].fetch_add(1, Ordering::Relaxed);
        });
        // Without atomics: what the members wrote is there when `run` comes back, or loom complains.
        assert!(counts.into_iter().all(|mut count| count.with_mut(|count| *count) == 1));
    }
    shared.leave(jobs + 1);
    serving.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_member_does_each_piece_of_work_once_and_is_waited_for() {
    model(2, || works(1, 2));
}

#[test]
fn all_members_are_waited_for() {
    model(1, || works(2, 1));
}

#[test]
fn nobody_passes_a_barrier_before_the_other_has_come() {
    model(2, || {
        let shared = Arc::new((Barrier::new(2), AtomicBool::new(false), AtomicUsize::new(0)));
        let pass = |(barrier, broken, came): &(Barrier, AtomicBool, AtomicUsize)| {
            let mut lasts = 0;
            for phase in 1..=2 {
                came.fetch_add(1, Ordering::Relaxed);
                lasts += usize::from(barrier.wait(broken));
                assert!(came.load(Ordering::Relaxed) >= 2 * phase);
            }
            lasts
        };
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || pass(&shared))
        };
        let lasts = pass(&shared);
        assert_eq!(lasts + other.join().unwrap(), 2);
    });
}
