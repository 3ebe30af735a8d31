//! Pools on this machine: what they hand out is zero, whatever was done with it before.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use firsttouch_fill::{Level, Pool, Stock};
use firsttouch_memory::{FillMeans, NodePolicy, Pages, Region};
use skipped::skipped;
use std::time::Duration;

const MIB: usize = 1 << 20;
/// For what takes milliseconds on a machine that is not busy.
const LONG: Duration = Duration::from_secs(240);

fn stock(ready: usize, most: usize) -> Stock {
    Stock { region_bytes: 6 * MIB, pages: Pages::Transparent, node: None, ready, most, keep: None }
}

fn is_zero(region: &Region) -> bool {
    region.as_slice().iter().all(|byte| *byte == 0)
}

#[test]
fn ready_regions_exist_already() {
    let pool = Pool::new(stock(2, 4), None).unwrap();
    // As long as it takes.
    assert!(pool.wait_ready(2, Duration::MAX));
    let taken = pool.take().unwrap();
    assert!(taken.was_ready && is_zero(&taken.region));
    if let Some(seen) = taken.region.coverage() {
        assert_eq!(seen.huge + seen.small, taken.region.as_slice().len());
    } else {
        skipped("the kernel does not tell which pages there are");
    }
}

#[test]
fn used_regions_come_back_clean() {
    for means in [None, Some(FillMeans::Streaming).filter(|means| means.is_available())] {
        let pool = Pool::new(stock(0, 1), means).unwrap();
        let mut region = pool.take().unwrap().region;
        let address = region.as_slice().as_ptr();
        for round in 1..=3 {
            region.as_mut_slice().fill(round);
            pool.give(region);
            assert!(pool.wait_ready(1, LONG));
            let taken = pool.take().unwrap();
            assert!(taken.was_ready && is_zero(&taken.region));
            assert_eq!(taken.region.as_slice().as_ptr(), address);
            region = taken.region;
        }
    }
}

#[test]
fn an_empty_pool_makes_memory_at_once() {
    let pool = Pool::new(stock(0, 1), None).unwrap();
    let taken = pool.take().unwrap();
    assert!(!taken.was_ready && is_zero(&taken.region));
    assert_eq!(pool.level(), Level::default());
}

#[test]
fn no_more_is_kept_than_was_said() {
    let pool = Pool::new(stock(0, 2), None).unwrap();
    let taken: Vec<Region> = (0..5).map(|_| pool.take().unwrap().region).collect();
    taken.into_iter().for_each(|region| pool.give(region));
    assert!(pool.wait_ready(2, LONG));
    assert_eq!(pool.level(), Level { ready: 2, dirty: 0 });
    // Of another size: not the pool's.
    let pool = Pool::new(stock(0, 2), None).unwrap();
    pool.give(Region::map(40 * MIB, Pages::Transparent, None).unwrap());
    pool.give(Region::map(MIB, Pages::Base, None).unwrap());
    // Of other pages, and from elsewhere: whoever takes one is told that it is as the pool's.
    pool.give(Region::map(6 * MIB, Pages::Base, None).unwrap());
    pool.give(Region::of(6 * MIB).memory(NodePolicy::Local).map().unwrap());
    assert_eq!(pool.level(), Level::default());
}

#[test]
fn what_nobody_takes_for_long_is_given_to_the_kernel() {
    let keep = Some(Duration::from_millis(1));
    let pool = Pool::new(Stock { keep, ..stock(1, 3) }, None).unwrap();
    assert!(pool.wait_ready(1, LONG));
    let taken: Vec<Region> = (0..3).map(|_| pool.take().unwrap().region).collect();
    taken.into_iter().for_each(|region| pool.give(region));
    let begun = std::time::Instant::now();
    while pool.level() != (Level { ready: 1, dirty: 0 }) {
        assert!(begun.elapsed() < LONG, "{:?}", pool.level());
        std::thread::yield_now();
    }
}

#[test]
fn whoever_takes_gets_zeroes_however_many_take_and_give() {
    let pool = Pool::new(stock(2, 6), None).unwrap();
    std::thread::scope(|scope| {
        for value in 1..=4_u8 {
            let pool = &pool;
            scope.spawn(move || {
                for _ in 0..30 {
                    let mut taken = pool.take().unwrap();
                    assert!(is_zero(&taken.region));
                    taken.region.as_mut_slice().fill(value);
                    pool.give(taken.region);
                }
            });
        }
    });
    assert!(pool.level().ready + pool.level().dirty <= 6);
}
