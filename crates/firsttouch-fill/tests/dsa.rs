//! The DSA engine against a device in software: the real instructions, queues that are full, faults, refusals, silence.

#![cfg(target_arch = "x86_64")]
#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod model;

use firsttouch_fill::dsa::{DeviceQueue, Obstacle, QueueInfo, Submission, find_queues};
use firsttouch_fill::{Filler, Next, Threads};
use firsttouch_linux::numa;
use firsttouch_linux::root::Root;
use firsttouch_memory::{Pages, Region};
use model::{Machine, Temper};
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

const MIB: usize = 1 << 20;

fn info(machine: &Machine, name: &str) -> QueueInfo {
    find_queues(&Root::at(machine.folder())).into_iter().find(|queue| queue.name == name).unwrap()
}

fn open(machine: &Machine, name: &str, submission: Submission) -> DeviceQueue {
    DeviceQueue::open(info(machine, name), submission).unwrap()
}

/// Small pages that are all there, and dirty.
fn used(bytes: usize) -> Region {
    let mut region = Region::of(bytes).pages(Pages::Base).map().unwrap();
    region.as_mut_slice().fill(0xaa);
    region
}

/// Again where the device in software had no processor for so long that it was given up, as one is that never answers.
fn in_time(test: impl Fn() -> bool) {
    assert!((0..5).any(|_| test()), "it was given up each time");
}

fn is_all(memory: &[u8], value: u8) -> bool {
    memory.chunks(4096).all(|part| part == &[value; 4096][..part.len()])
}

fn get(total: &AtomicU64) -> u64 {
    total.load(Ordering::Relaxed)
}

#[test]
fn queues_are_found_with_what_is_in_their_way() {
    let machine = Machine::new(16, Temper::default());
    let queue = info(&machine, "wq0.0");
    assert_eq!((queue.device.as_str(), queue.node, queue.is_shared), ("dsa0", Some(0), true));
    assert_eq!((queue.entries, queue.max_transfer_bytes, queue.max_batch), (16, 1 << 20, 32));
    assert_eq!(queue.obstacle, None);
    assert!(!info(&machine, "wq0.1").is_shared);
    let bus = machine.folder().join("sys/bus/dsa/devices");
    let cases = [
        ("wq0.0/op_config", "00000000,00000000,00000000,00000001,003f03ef", Obstacle::CannotFill),
        ("dsa0/pasid_enabled", "0", Obstacle::NoSharedAddresses),
        ("wq0.0/type", "kernel", Obstacle::NotForUsers),
        ("wq0.0/state", "disabled", Obstacle::QueueDisabled),
        ("dsa0/state", "disabled", Obstacle::DeviceDisabled),
    ];
    for (file, text, obstacle) in cases {
        fs::write(bus.join(file), text).unwrap();
        assert_eq!(info(&machine, "wq0.0").obstacle, Some(obstacle));
        assert!(!obstacle.hint().is_empty());
    }
    let error = DeviceQueue::open(info(&machine, "wq0.0"), Submission::Either).unwrap_err();
    assert_eq!(error.to_string(), "wq0.0: the device is not enabled");
    // Compression engines are on the same bus.
    let other = machine.folder().join("sys/devices/pci0000:6a/0000:6a:02.0/iax1/wq1.0");
    fs::create_dir_all(&other).unwrap();
    std::os::unix::fs::symlink(&other, bus.join("wq1.0")).unwrap();
    assert!(find_queues(&Root::at(machine.folder())).iter().all(|queue| queue.name != "wq1.0"));
    assert!(find_queues(&Root::at("/nowhere")).is_empty());
}

#[test]
fn every_way_in_fills_every_byte_and_no_other() {
    for (name, submission) in
        [("wq0.0", Submission::Page), ("wq0.1", Submission::Page), ("wq0.2", Submission::Write)]
    {
        in_time(|| every_byte_and_no_other(name, submission));
    }
}

fn every_byte_and_no_other(name: &str, submission: Submission) -> bool {
    let machine = Machine::new(16, Temper::default());
    let mut queue = open(&machine, name, submission);
    let mut region = used(6 * MIB);
    for (range, value) in [(100..5 * MIB + 77, 0), (7..8, 9), (4096..4096 + 3 * MIB, 5)] {
        let before = region.as_slice().to_vec();
        queue.fill(&mut region.as_mut_slice()[range.clone()], value);
        let now = region.as_slice();
        assert!(is_all(&now[range.clone()], value), "{name}");
        assert!(now[..range.start] == before[..range.start] && now[range.end..] == before[range.end..]);
    }
    if !queue.is_alive() {
        return false;
    }
    let (totals, seen) = (queue.totals(), machine.seen());
    assert_eq!(get(&totals.device_bytes), (8 * MIB + 77 - 100 + 1) as u64, "{name}");
    assert_eq!((get(&totals.processor_bytes), get(&totals.faults)), (0, 0), "{name}");
    let by_page = submission == Submission::Page;
    assert_eq!(seen.of(|seen| &seen.enqcmd) > 0, name == "wq0.0", "{seen:?}");
    assert_eq!(seen.of(|seen| &seen.movdir64b) > 0, name == "wq0.1", "{seen:?}");
    // Batches go in by the page only.
    assert_eq!(seen.of(|seen| &seen.batches) > 0, by_page, "{seen:?}");
    assert!(queue.cost().bytes_per_s().is_some());
    true
}

#[test]
fn a_full_queue_is_tried_again_and_then_left_to_the_processor() {
    // No room at all: every descriptor is refused.
    let machine = Machine::new(0, Temper::default());
    let mut closed = QueueInfo { entries: 1, ..info(&machine, "wq0.0") };
    closed.obstacle = None;
    let mut queue = DeviceQueue::open(closed, Submission::Page).unwrap();
    let mut region = used(2 * MIB);
    queue.fill(region.as_mut_slice(), 0);
    assert!(is_all(region.as_slice(), 0));
    let totals = queue.totals();
    assert_eq!((get(&totals.device_bytes), get(&totals.processor_bytes)), (0, 2 * MIB as u64));
    assert!(get(&totals.retries) > 10 && machine.seen().of(|seen| &seen.full) > 10);
    drop((queue, machine));
    // Room for one: somebody else's descriptors keep it full now and then.
    let machine = Machine::new(1, Temper::default());
    let mut first = open(&machine, "wq0.0", Submission::Page);
    let mut second = open(&machine, "wq0.0", Submission::Page);
    std::thread::scope(|scope| {
        for queue in [&mut first, &mut second] {
            scope.spawn(|| {
                let mut region = used(8 * MIB);
                queue.fill(region.as_mut_slice(), 3);
                assert!(is_all(region.as_slice(), 3));
            });
        }
    });
    let totals = [first.totals(), second.totals()];
    let bytes = |queue: fn(&firsttouch_fill::dsa::DeviceTotals) -> &AtomicU64| -> u64 {
        totals.iter().map(|totals| get(queue(totals))).sum()
    };
    assert_eq!(
        bytes(|totals| &totals.device_bytes) + bytes(|totals| &totals.processor_bytes),
        16 * MIB as u64
    );
}

#[test]
fn pages_that_are_not_there_are_finished_by_the_processor() {
    in_time(finished_by_the_processor);
}

fn finished_by_the_processor() -> bool {
    let machine = Machine::new(16, Temper::default());
    let mut queue = open(&machine, "wq0.0", Submission::Page);
    let mut region = Region::of(4 * MIB).pages(Pages::Base).map().unwrap();
    // Every other page of the first half.
    region.as_mut_slice()[..2 * MIB].chunks_mut(8192).for_each(|pages| pages[..4096].fill(0xaa));
    region.as_mut_slice()[MIB..2 * MIB].fill(0xaa);
    queue.fill(region.as_mut_slice(), 1);
    assert!(is_all(region.as_slice(), 1));
    if !queue.is_alive() {
        return false;
    }
    let totals = queue.totals();
    // The second piece of a mebibyte was there; of the first the device did one page, of the others nothing.
    assert_eq!(get(&totals.device_bytes), (MIB + 4096) as u64);
    assert_eq!(get(&totals.processor_bytes), (3 * MIB - 4096) as u64);
    assert_eq!(get(&totals.faults), 3);
    assert_eq!(machine.seen().of(|seen| &seen.faults), 3);
    true
}

#[test]
fn what_the_device_refuses_is_filled_all_the_same() {
    let tempers = [
        Temper { refuses_every: 3, ..Temper::default() },
        Temper { max_transfer: 4096, ..Temper::default() },
        Temper { refuses_every: 1, ..Temper::default() },
    ];
    for temper in tempers {
        for (name, submission) in [("wq0.0", Submission::Page), ("wq0.2", Submission::Write)] {
            in_time(|| {
                let machine = Machine::new(16, temper);
                let mut queue = open(&machine, name, submission);
                let mut region = used(9 * MIB);
                queue.fill(region.as_mut_slice(), 0);
                assert!(is_all(region.as_slice(), 0), "{temper:?} {name}");
                assert!(get(&queue.totals().processor_bytes) > 0);
                queue.is_alive()
            });
        }
    }
}

/// The device begins nothing before it has the second hand: who waits for the first before making the second waits in vain.
#[test]
fn the_next_is_handed_over_while_the_device_works() {
    // Batches by the page, and single descriptors by writing.
    for (name, submission, gathers) in
        [("wq0.0", Submission::Page, 2), ("wq0.1", Submission::Page, 2), ("wq0.2", Submission::Write, 8)]
    {
        in_time(|| {
            let machine = Machine::new(16, Temper { gathers, ..Temper::default() });
            let mut queue = open(&machine, name, submission);
            let mut region = used(19 * MIB);
            queue.fill(&mut region.as_mut_slice()[5..], 6);
            assert!(is_all(&region.as_slice()[5..], 6) && region.as_slice()[..5] == [0xaa; 5], "{name}");
            let totals = [&queue.totals().device_bytes, &queue.totals().processor_bytes].map(get);
            queue.is_alive() && totals == [19 * MIB as u64 - 5, 0]
        });
    }
}

/// With fewer entries than two hands need they are narrower, and with one entry the first is waited for.
#[test]
fn few_entries_are_never_exceeded() {
    for entries in 1..=8 {
        in_time(|| {
            let machine = Machine::new(entries, Temper::default());
            let mut queue = open(&machine, "wq0.1", Submission::Page);
            let mut region = used(9 * MIB);
            queue.fill(region.as_mut_slice(), 3);
            assert!(is_all(region.as_slice(), 3), "{entries}");
            // A queue of one's own loses without a word what it has no room for.
            queue.is_alive() && get(&queue.totals().processor_bytes) == 0
        });
    }
}

#[test]
fn a_device_that_never_answers_is_given_up() {
    let machine = Machine::new(16, Temper { is_silent: true, ..Temper::default() });
    let mut queue = open(&machine, "wq0.0", Submission::Page);
    let mut region = used(3 * MIB);
    queue.fill(region.as_mut_slice(), 7);
    assert!(is_all(region.as_slice(), 7) && !queue.is_alive());
    queue.fill(&mut region.as_mut_slice()[..MIB], 8);
    assert_eq!((region.as_slice()[0], region.as_slice()[MIB]), (8, 7));
}

#[test]
fn a_filler_has_it_as_one_engine_more() {
    let machine = Machine::new(16, Temper::default());
    let queues = vec![open(&machine, "wq0.0", Submission::Page), open(&machine, "wq0.2", Submission::Write)];
    let cpu = numa::affinity(0).unwrap().iter().next().unwrap();
    let threads = Threads { by_node: BTreeMap::from([(0, vec![cpu])]) };
    let filler = Filler::with_devices(&threads, queues).unwrap();
    // What exists may be the device's; what does not is the kernel's.
    for round in 0..6_u8 {
        let value = round % 2 * 5;
        let buffers = vec![used(24 * MIB), used(MIB), Region::map(4 * MIB, Pages::Base, None).unwrap()];
        let filled = filler.fill(buffers, value, Next::Leave).wait();
        assert!(filled.buffers.iter().all(|region| is_all(region.as_slice(), value)));
        let filled = filler.fill(filled.buffers, 9, Next::Leave).cancel();
        for (region, ranges) in filled.buffers.iter().zip(&filled.ranges) {
            let mut expected = vec![value; region.as_slice().len()];
            ranges.iter().for_each(|range| expected[range.clone()].fill(9));
            assert!(region.as_slice() == expected, "round {round}");
        }
    }
    let fill = filler.fill(vec![Region::map(8 * MIB, Pages::Base, None).unwrap()], 0, Next::Leave);
    drop(fill.wait());
    let used = filler.devices();
    assert_eq!(used.len(), 2);
    assert!(used.iter().any(|used| used.device_bytes > 0 && used.bytes_per_s.is_some()), "{used:?}");
    assert_eq!(used.iter().map(|used| used.faults).sum::<u64>(), 0, "{used:?}");
}
