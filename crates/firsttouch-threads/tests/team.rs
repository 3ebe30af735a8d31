//! Teams on the CPUs of this machine, several members on one CPU where there are few.

use firsttouch_linux::numa;
use firsttouch_linux::root::Root;
use firsttouch_threads::{PerGroup, Schedule, Team, TeamError, threads_of};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// For what takes no time on a machine that is not busy.
const LONG: Duration = Duration::from_secs(120);

/// Groups of so many members each, on the CPUs that there are, in turn.
fn on_cpus(sizes: &[usize]) -> Vec<Vec<u32>> {
    let cpus: Vec<u32> = numa::affinity(0).expect("the kernel tells").iter().collect();
    let mut next = cpus.iter().copied().cycle();
    sizes.iter().map(|size| next.by_ref().take(*size).collect()).collect()
}

#[test]
fn every_member_runs_on_its_cpu_and_knows_its_place() {
    let groups = on_cpus(&[2, 1, 3]);
    let mut team = Team::new(&groups).unwrap();
    assert_eq!((team.size(), team.group_sizes()), (6, &[2, 1, 3][..]));
    let seen = team.map(|member| {
        let cpus: Vec<u32> = numa::affinity(0).unwrap().iter().collect();
        assert_eq!(cpus, [member.cpu()]);
        assert_eq!((member.team_size(), member.group_size()), (6, groups[member.group()].len()));
        (member.index(), member.group(), member.index_in_group(), member.cpu())
    });
    let expected = groups
        .iter()
        .enumerate()
        .flat_map(|(group, cpus)| cpus.iter().enumerate().map(move |(place, cpu)| (group, place, *cpu)))
        .enumerate()
        .map(|(index, (group, place, cpu))| (index, group, place, cpu));
    assert_eq!(seen, expected.collect::<Vec<_>>());
}

#[test]
fn members_have_names_while_the_team_lives_and_are_gone_after_it() {
    let names = || -> BTreeSet<String> {
        let threads = threads_of(&Root::live(), std::process::id()).unwrap();
        threads.into_iter().map(|thread| thread.name).filter(|name| name.starts_with("team 7")).collect()
    };
    // Other tests of this program have teams as well, but none with so many groups.
    let team = Team::new(&on_cpus(&[1, 1, 1, 1, 1, 1, 1, 2])).unwrap();
    assert_eq!(names(), BTreeSet::from(["team 7.0".to_owned(), "team 7.1".to_owned()]));
    drop(team);
    // The kernel takes a thread down a moment after it was joined; one that was not joined stays.
    let begun = Instant::now();
    while !names().is_empty() {
        assert!(begun.elapsed() < LONG, "{:?}", names());
        std::thread::yield_now();
    }
}

#[test]
fn nobody_passes_a_barrier_before_all_have_come() {
    const PHASES: u32 = 200;
    let mut team = Team::new(&on_cpus(&[2, 2])).unwrap();
    let came: Vec<AtomicU32> = (0..4).map(|_| AtomicU32::new(0)).collect();
    let last = AtomicU32::new(0);
    team.run(|member| {
        for phase in 1..=PHASES {
            came[member.index()].store(phase, Ordering::Relaxed);
            if member.barrier() {
                last.fetch_add(1, Ordering::Relaxed);
            }
            assert!(came.iter().all(|came| came.load(Ordering::Relaxed) >= phase));
            member.barrier();
        }
    });
    assert_eq!(last.into_inner(), PHASES);
}

#[test]
fn groups_wait_for_their_own_and_have_their_own() {
    let mut team = Team::new(&on_cpus(&[1, 3])).unwrap();
    let counts = PerGroup::new(&mut team, |member| {
        assert_eq!(member.index_in_group(), 0);
        AtomicUsize::new(100 * member.group())
    });
    team.run(|member| {
        counts.of(member).fetch_add(1, Ordering::Relaxed);
        member.group_barrier();
        let all = 100 * member.group() + member.group_size();
        assert_eq!(counts.of(member).load(Ordering::Relaxed), all);
    });
    let counts: Vec<usize> = counts.into_values().into_iter().map(AtomicUsize::into_inner).collect();
    assert_eq!(counts, [1, 103]);
}

#[test]
fn parts_of_a_range_reach_everything_once_whatever_the_schedule() {
    let mut team = Team::new(&on_cpus(&[3])).unwrap();
    let schedules = [
        Schedule::Static,
        Schedule::StaticParts(7),
        Schedule::Dynamic(5),
        Schedule::Guided(3),
        Schedule::Dynamic(0),
    ];
    for schedule in schedules {
        for length in [0, 1, 2, 1000] {
            let touched: Vec<AtomicU32> = (0..length).map(|_| AtomicU32::new(0)).collect();
            team.for_each(0..length, schedule, |_, part| {
                for touched in &touched[part] {
                    touched.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert!(
                touched.iter().all(|touched| touched.load(Ordering::Relaxed) == 1),
                "{schedule:?} {length}"
            );
        }
    }
}

/// A wake-up that is lost would hang here: work so short that members go to sleep and wake at every moment.
#[test]
fn short_work_is_done_again_and_again() {
    const TIMES: usize = 20_000;
    let mut team = Team::new(&on_cpus(&[2])).unwrap();
    let count = AtomicUsize::new(0);
    for time in 0..TIMES {
        team.run(|_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(count.load(Ordering::Relaxed), 2 * (time + 1));
    }
}

#[test]
fn a_panic_reaches_the_caller_frees_those_who_wait_and_leaves_the_team_whole() {
    let mut team = Team::new(&on_cpus(&[1, 2])).unwrap();
    for _ in 0..3 {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            team.run(|member| {
                assert!(member.index() != 1, "as planned");
                member.barrier();
            });
        }));
        let panic = ended.unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"as planned"));
        let came = Mutex::new(Vec::new());
        team.run(|member| {
            member.barrier();
            member.group_barrier();
            came.lock().unwrap().push(member.index());
        });
        let mut came = came.into_inner().unwrap();
        came.sort_unstable();
        assert_eq!(came, [0, 1, 2]);
    }
}

#[test]
fn a_team_that_cannot_be_is_refused_with_its_reason() {
    assert!(matches!(Team::new(&[]), Err(TeamError::Empty)));
    assert!(matches!(Team::new(&[vec![0], vec![]]), Err(TeamError::Empty)));
    for absent in [8191, 1 << 20] {
        let mut groups = on_cpus(&[2]);
        groups.push(vec![absent]);
        let error = Team::new(&groups).unwrap_err();
        assert!(matches!(&error, TeamError::Bind { cpu, .. } if *cpu == absent), "{error}");
        assert!(!error.hint().is_empty());
    }
}

#[test]
fn a_team_of_this_process_keeps_to_its_cpus() {
    let cpus: Vec<u32> = numa::affinity(0).unwrap().iter().collect();
    for most in [0, 1, 2, 10_000] {
        let mut team = Team::of_this_process(most).unwrap();
        assert_eq!(team.size(), most.clamp(1, cpus.len()));
        let used = team.map(|member| member.cpu());
        assert!(used.iter().all(|cpu| cpus.contains(cpu)), "{used:?} of {cpus:?}");
    }
}
