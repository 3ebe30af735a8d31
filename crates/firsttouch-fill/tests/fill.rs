//! Fills on this machine: what is said to be filled is, and nothing else was touched.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use firsttouch_fill::{Filled, Filler, Next, Threads};
use firsttouch_linux::numa;
use firsttouch_memory::{Pages, Region};
use skipped::skipped;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

const MIB: usize = 1 << 20;

/// One for all tests: measuring takes a while. Two nodes, as far as it knows, so that both ways are gone.
fn filler() -> &'static Filler {
    static FILLER: OnceLock<Filler> = OnceLock::new();
    FILLER.get_or_init(|| Filler::new(&threads(2)).expect("this machine has memory"))
}

fn threads(nodes: u32) -> Threads {
    let cpus: Vec<u32> = numa::affinity(0).expect("the kernel tells").iter().collect();
    let share = |node: u32| cpus[node as usize % cpus.len()..].to_vec();
    Threads { by_node: (0..nodes).map(|node| (node, share(node))).collect() }
}

/// What is in no range is `before`, what is in one `after`.
fn assert_exact<B: AsRef<[u8]>>(filled: &Filled<B>, before: u8, after: u8) {
    for (buffer, ranges) in filled.buffers.iter().zip(&filled.ranges) {
        let buffer = buffer.as_ref();
        let mut at = 0;
        for range in ranges {
            assert!(buffer[at..range.start].iter().all(|byte| *byte == before), "before {range:?}");
            assert!(buffer[range.clone()].iter().all(|byte| *byte == after), "in {range:?}");
            at = range.end;
        }
        assert!(buffer[at..].iter().all(|byte| *byte == before), "after {at}");
    }
}

#[test]
fn buffers_of_all_sizes_are_filled_whole() {
    for (value, next) in [(0, Next::Read), (7, Next::Leave), (255, Next::Unknown)] {
        let sizes = [0, 1, 77, 4096, 3 * MIB + 5, 100, 17 * MIB, 64 << 10];
        let buffers: Vec<Vec<u8>> = sizes.iter().map(|bytes| vec![0xaa; *bytes]).collect();
        let fill = filler().fill(buffers, value, next);
        assert_eq!(fill.progress().total_bytes, sizes.iter().sum::<usize>());
        let filled = fill.wait();
        assert_exact(&filled, 0xaa, value);
        let lengths: Vec<usize> =
            filled.ranges.iter().map(|ranges| ranges.iter().map(|range| range.len()).sum()).collect();
        assert_eq!(lengths, sizes);
        assert!(filled.ranges.iter().all(|ranges| ranges.len() <= 1), "{:?}", filled.ranges);
    }
}

#[test]
fn new_memory_is_created_and_used_memory_is_cleared() {
    for pages in [Pages::Transparent, Pages::Base] {
        let mut regions: Vec<Region> =
            (0..3).map(|_| Region::map(9 * MIB, pages, None).expect("this machine has memory")).collect();
        for at in [0, 5 * MIB, 8 * MIB + 4095] {
            regions[1].as_mut_slice()[at] = 9;
        }
        regions[2].as_mut_slice().fill(9);
        let filled = filler().fill(regions, 0, Next::Leave).wait();
        for region in &filled.buffers {
            assert!(region.as_slice().iter().all(|byte| *byte == 0));
            if let Some(seen) = region.coverage() {
                assert_eq!(seen.huge + seen.small, region.as_slice().len(), "{pages}");
            } else {
                skipped("the kernel does not tell which pages there are");
            }
        }
        let filled = filler().fill(filled.buffers, 3, Next::Leave).wait();
        assert!(filled.buffers.iter().all(|region| region.as_slice().iter().all(|byte| *byte == 3)));
    }
}

#[test]
fn a_cancelled_fill_tells_exactly_what_it_did() {
    for look_at in [0, 1, 20] {
        let buffers = vec![vec![0xaa_u8; 96 * MIB + 3], vec![0xaa; 10], vec![0xaa; 5 * MIB]];
        let fill = filler().fill(buffers, 1, Next::Unknown);
        while fill.progress().filled_bytes < look_at * MIB {
            std::hint::spin_loop();
        }
        let filled = fill.cancel();
        assert_exact(&filled, 0xaa, 1);
        let bytes: usize = filled.ranges.iter().flatten().map(|range| range.len()).sum();
        assert!(bytes >= look_at * MIB);
    }
}

#[test]
fn a_fill_goes_on_while_its_owner_does_something_else_and_may_be_dropped() {
    let fill = filler().fill(vec![vec![1_u8; 64 * MIB]], 0, Next::Unknown);
    // Not helped: only the filler's threads can bring it to its end.
    assert!(fill.wait_for(Duration::MAX) && fill.is_done());
    assert_eq!(fill.progress().filled_bytes, 64 * MIB);
    assert_exact(&fill.wait(), 1, 0);
    for _ in 0..20 {
        drop(filler().fill(
            vec![Region::map(32 * MIB, Pages::Transparent, None).expect("memory")],
            0,
            Next::Leave,
        ));
    }
}

#[test]
fn many_fills_at_once_do_not_mix() {
    std::thread::scope(|scope| {
        for value in 1..=8_u8 {
            scope.spawn(move || {
                for round in 0..10 {
                    let buffers = vec![vec![0_u8; (3 + round) * MIB + usize::from(value)], vec![0; 50_000]];
                    let fill = filler().fill(buffers, value, Next::Unknown);
                    let filled = if round % 3 == 2 { fill.cancel() } else { fill.wait() };
                    assert_exact(&filled, 0, value);
                }
            });
        }
    });
}

#[test]
fn a_fill_outlives_its_filler() {
    let filler = Filler::new(&threads(1)).unwrap();
    let fill = filler.fill(vec![vec![5_u8; 40 * MIB]], 6, Next::Unknown);
    drop(filler);
    assert_exact(&fill.wait(), 5, 6);
}

#[test]
fn what_was_measured_is_of_this_machine() {
    let known = filler().knowledge();
    assert!(known.threads_in_place >= 1 && known.threads_new >= 1, "{known:?}");
    assert!(
        known.in_place_bytes_per_s > 1e8 && known.new_bytes_per_s > 1e7 && known.wake_s > 0.0,
        "{known:?}"
    );
    assert!(Filler::new(&Threads { by_node: BTreeMap::from([(0, Vec::new())]) }).is_err());
}

#[test]
fn new_memory_may_be_cancelled_in_the_middle_of_a_piece() {
    let region = Region::map(64 * MIB, Pages::Base, None).expect("this machine has memory");
    let filled = filler().fill(vec![region], 0, Next::Leave).cancel();
    let pages: usize = filled.ranges[0].iter().map(std::iter::ExactSizeIterator::len).sum();
    // What is said to be filled exists, and nothing beside it but the rest of a step.
    for range in &filled.ranges[0] {
        let seen = filled.buffers[0].receipt_of(range.clone()).coverage;
        assert!(seen.is_none_or(|seen| seen.huge + seen.small == range.len()), "{range:?} {seen:?}");
    }
    let seen = filled.buffers[0].coverage();
    assert!(seen.is_none_or(|seen| seen.huge + seen.small == pages), "{pages} {seen:?}");
}
