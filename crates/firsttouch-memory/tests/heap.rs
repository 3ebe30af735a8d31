//! The heap against the real kernel: what it hands out, keeps, moves and gives back, read back from /proc.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use firsttouch_memory::{
    BASE, BlockInfo, Coverage, GIGANTIC, HUGE, Heap, Pages, Reason, Region, Resized, Settings,
};
use skipped::skipped;
use std::thread;

const MIB: usize = 1 << 20;

fn heap_of(settings: Settings) -> Heap {
    let heap = Heap::new();
    heap.enable(settings);
    heap
}

fn heap(pages: Pages) -> Heap {
    heap_of(Settings { pages, ..Settings::STANDARD })
}

fn fill(address: *mut u8, bytes: usize, byte: u8) {
    // SAFETY: the tests fill blocks of their own.
    unsafe { address.write_bytes(byte, bytes) };
}

/// Whether all bytes have this value: by one comparison of slices, since an iterator is a call for each of them here.
fn is_all(address: *const u8, bytes: usize, byte: u8) -> bool {
    // SAFETY: the tests look at blocks of their own, which they have written.
    let block = unsafe { std::slice::from_raw_parts(address, bytes) };
    block[0] == byte && block[1..] == block[..bytes - 1]
}

fn block_at(heap: &Heap, address: *const u8) -> BlockInfo {
    let mut blocks = [BlockInfo::default(); 64];
    let count = heap.blocks_from(0, &mut blocks);
    *blocks[..count].iter().find(|block| block.address == address as usize).expect("the block is listed")
}

/// Why tests of transparent huge pages are skipped.
const NO_TRANSPARENT: &str = "this machine gives no transparent huge pages now, or cannot show them";

/// Whether this machine gives transparent huge pages to memory that asks for them, and shows them block by block.
fn has_transparent_pages() -> bool {
    let heap = heap(Pages::Transparent);
    let address = heap.allocate(8 * MIB, 0, false);
    fill(address, 8 * MIB, 1);
    let has = block_at(&heap, address).huge_bytes > Some(4 * MIB);
    if !has {
        skipped(NO_TRANSPARENT);
    }
    has
}

#[test]
fn blocks_are_laid_out_over_nodes_by_weight() {
    let Ok(allowed) = firsttouch_linux::numa::allowed_nodes() else {
        return skipped("the kernel has no NUMA");
    };
    let node = allowed.iter().next().expect("some node is allowed");
    let shares = firsttouch_memory::Shares::parse(&format!("{node}:3")).expect("reads");
    for pages in [Pages::Transparent, Pages::Base, Pages::Huge2M] {
        let heap = heap_of(Settings { pages, shares, ..Settings::STANDARD });
        let block = heap.allocate(20 * MIB, 0, false);
        let preferred = firsttouch_linux::numa::Mode::Preferred as usize;
        for at in [0, 9 * MIB, 20 * MIB - 1] {
            let (mode, nodes) = firsttouch_linux::numa::policy_at(block as usize + at).expect("is mapped");
            assert_eq!((mode, nodes.iter().collect::<Vec<_>>()), (preferred, vec![node]), "{pages} at {at}");
        }
        assert!(heap.free(block));
    }
}

#[test]
fn sizes_outside_the_range_are_not_wanted() {
    let heap = Heap::new();
    assert!(
        !heap.wants(0) && !heap.wants(MIB) && !heap.wants(usize::MAX),
        "nothing is wanted before it is enabled"
    );
    heap.enable(Settings { min_bytes: MIB, max_bytes: 4 * MIB, ..Settings::STANDARD });
    for (bytes, wanted) in [(0, false), (MIB - 1, false), (MIB, true), (4 * MIB, true), (4 * MIB + 1, false)]
    {
        assert_eq!(heap.wants(bytes), wanted, "{bytes}");
    }
    heap.disable();
    assert!(!heap.is_enabled() && !heap.wants(2 * MIB));
}

#[test]
fn impossible_sizes_are_left_to_the_caller() {
    let heap = heap(Pages::Transparent);
    assert!(heap.allocate(usize::MAX, 0, false).is_null());
    assert!(heap.allocate(isize::MAX as usize + 1, 0, false).is_null());
    assert!(heap.allocate(1 << 50, 0, false).is_null());
    assert_eq!(heap.totals().live_blocks, 0);
}

#[test]
fn blocks_have_the_alignment_of_the_c_library() {
    let heap = heap(Pages::Transparent);
    assert_eq!(heap.allocate(MIB, 0, false) as usize % 64, 16);
    assert_eq!(heap.allocate(MIB, 16, false) as usize % 64, 16);
    for alignment in [32, 64, 512, BASE, 4 * BASE, HUGE, 4 * HUGE, 4 * GIGANTIC, 16 * GIGANTIC] {
        let address = heap.allocate(3 * MIB + 5, alignment, false);
        assert_eq!(address as usize % alignment, 0);
        fill(address, 3 * MIB + 5, 7);
    }
}

#[test]
fn foreign_addresses_are_not_ours() {
    let heap = heap(Pages::Transparent);
    let own = 5;
    assert!(!heap.owns(&raw const own as *const u8), "before the first block");
    let address = heap.allocate(MIB, 0, false);
    assert!(heap.owns(address) && !heap.owns(&raw const own as *const u8) && !heap.owns(std::ptr::null()));
    assert!(!heap.free(address.wrapping_add(1)), "an address inside a block is no block");
    assert!(heap.free(address));
    assert!(!heap.free(address), "a block is freed once");
}

#[test]
fn fresh_blocks_are_huge() {
    if !has_transparent_pages() {
        return;
    }
    let heap = heap(Pages::Transparent);
    let blocks: Vec<*mut u8> = (1..6).map(|factor| heap.allocate(factor * 3 * MIB, 0, false)).collect();
    for (block, factor) in blocks.iter().zip(1..) {
        fill(*block, factor * 3 * MIB, 1);
    }
    // Blocks share their edges' huge pages, so even the first and last bytes are on one.
    for (block, factor) in blocks.iter().zip(1..) {
        let info = block_at(&heap, *block);
        assert_eq!((info.bytes, info.huge_bytes), (factor * 3 * MIB, Some(factor * 3 * MIB)));
    }
}

#[test]
fn base_pages_are_kept_small() {
    let heap = heap(Pages::Base);
    let address = heap.allocate(8 * MIB, 0, false);
    fill(address, 8 * MIB, 1);
    assert!(block_at(&heap, address).huge_bytes <= Some(0));
}

#[test]
fn a_block_may_have_pages_of_another_kind() {
    let heap = heap(Pages::Transparent);
    let block = heap.allocate_on(Some(Pages::Base), 8 * MIB, 0, true);
    fill(block, 8 * MIB, 3);
    assert!(block_at(&heap, block).huge_bytes <= Some(0));
    // SAFETY: the block is live and only used here.
    let Resized::To(grown) = (unsafe { heap.resize_on(Some(Pages::Base), block, 32 * MIB) }) else {
        panic!("there is room")
    };
    fill(grown, 32 * MIB, 4);
    assert!(block_at(&heap, grown).huge_bytes <= Some(0) && heap.fallback(grown).is_none());
    assert!(heap.free(grown) && heap.fallback(grown).is_none());
    assert!(heap.allocate_on(Some(Pages::Plain), MIB, 0, false).is_null());
}

#[test]
fn freed_memory_is_recycled_and_cleared_only_when_asked() {
    let heap = heap(Pages::Transparent);
    let first = heap.allocate(16 * MIB, 0, false);
    fill(first, 16 * MIB, 0xaa);
    assert!(heap.free(first));
    assert!(heap.totals().held_bytes >= 16 * MIB);
    let second = heap.allocate(16 * MIB, 0, true);
    assert_eq!(second, first, "the same run serves again");
    assert!(heap.totals().recycled_bytes >= 16 * MIB as u64);
    assert!(is_all(second, 16 * MIB, 0));
}

#[test]
fn zeroed_blocks_are_zero_whatever_lay_there() {
    let heap = heap(Pages::Transparent);
    // Small dirty patches between fresh memory: more of them than are told apart.
    let patches: Vec<*mut u8> = (0..40).map(|_| heap.allocate(128 << 10, 0, false)).collect();
    patches.iter().for_each(|patch| fill(*patch, 128 << 10, 0xff));
    for patch in patches.iter().step_by(2).chain(patches.iter().skip(1).step_by(2)) {
        assert!(heap.free(*patch));
    }
    let whole = heap.allocate(20 * MIB, 0, true);
    assert!(is_all(whole, 20 * MIB, 0));
}

#[test]
fn beyond_the_budget_memory_goes_back_at_once() {
    let heap = heap_of(Settings { recycle_bytes: Some(8 * MIB), ..Settings::STANDARD });
    let address = heap.allocate(64 * MIB, 0, false);
    fill(address, 64 * MIB, 1);
    assert!(heap.free(address));
    assert!(heap.totals().held_bytes <= 8 * MIB, "{:?}", heap.totals());
}

/// Without a reservation others map memory between blocks: it is not offered to the kernel with what is free around it.
#[test]
fn mappings_of_others_between_blocks_are_left_alone() {
    let heap = heap(Pages::Base);
    let (first, second) = (heap.allocate(33 * MIB, 0, false), heap.allocate(33 * MIB, 0, false));
    heap.ration();
    assert!(heap.free(first));
    let (bytes, hole) = (16 * MIB, (first as usize).next_multiple_of(HUGE) + 4 * MIB);
    // SAFETY: takes what the heap has given up, or fails.
    let theirs = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        libc::mmap(hole as *mut libc::c_void, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    };
    assert_eq!(theirs as usize, hole, "the place of a freed block is given up");
    fill(theirs.cast(), bytes, 7);
    // SAFETY: a block of the test's.
    let shorter = unsafe { heap.resize(second, 17 * MIB) };
    assert_eq!(shorter, Resized::To(second));
    // Small pieces, until all that is free is offered.
    for _ in 0..40 {
        let piece = heap.allocate(MIB, 0, false);
        assert!(!piece.is_null());
        fill(piece, MIB, 1);
        assert!(heap.free(piece));
    }
    let told = std::fs::read_to_string("/proc/self/smaps").expect("/proc is mounted");
    let mapping = told.split_once(&format!("{hole:x}-")).expect("their mapping is there").1;
    let offered = mapping.lines().find(|line| line.starts_with("LazyFree:")).expect("Linux 4.13");
    assert_eq!(offered.split_whitespace().nth(1), Some("0"), "{offered}");
    assert!(is_all(theirs.cast(), bytes, 7));
}

#[test]
fn idle_memory_goes_back_after_the_period() {
    let heap = heap_of(Settings { idle_ns: 0, ..Settings::STANDARD });
    let address = heap.allocate(64 * MIB, 0, false);
    fill(address, 64 * MIB, 1);
    let other = heap.allocate(MIB, 0, false);
    assert!(heap.free(address));
    // The first call ends the period in which the memory was freed, the second one in which nobody needed it.
    for _ in 0..2 {
        assert!(heap.free(heap.allocate(MIB, 0, false)));
    }
    assert!(heap.totals().held_bytes < 8 * MIB, "{:?}", heap.totals());
    assert!(heap.free(other));
    heap.trim();
    assert_eq!(heap.totals().held_bytes, 0);
}

#[test]
fn a_block_is_found_by_each_of_its_bytes() {
    let heap = heap(Pages::Transparent);
    for alignment in [0, BASE] {
        let address = heap.allocate(3 * MIB, alignment, false);
        for byte in [0, 1, MIB, 3 * MIB - 1] {
            let begin = heap.begin_of_block_over(address.wrapping_add(byte));
            assert_eq!(begin, Some(address as usize), "{alignment} {byte}");
        }
        assert_ne!(heap.begin_of_block_over(address.wrapping_sub(1)), Some(address as usize));
        assert!(heap.free(address));
        assert_eq!(heap.begin_of_block_over(address.wrapping_add(MIB)), None);
    }
    let elsewhere = 0_u8;
    assert_eq!(heap.begin_of_block_over(&raw const elsewhere), None);
}

#[test]
fn growing_in_place_and_shrinking_keep_the_contents() {
    let heap = heap(Pages::Transparent);
    let address = heap.allocate(2 * MIB, 0, false);
    fill(address, 2 * MIB, 3);
    for bytes in [8 * MIB, 3 * MIB, 64 * MIB, MIB] {
        // SAFETY: the block is this test's alone.
        assert_eq!(unsafe { heap.resize(address, bytes) }, Resized::To(address), "nothing lies behind it");
        assert!(is_all(address, MIB, 3));
        let usable = heap.usable_bytes(address).expect("a block");
        assert!((bytes..bytes + BASE).contains(&usable));
        assert_eq!(heap.totals().live_bytes, bytes);
    }
}

#[test]
fn a_move_keeps_contents_and_huge_pages() {
    let huge = has_transparent_pages();
    let heap = heap(Pages::Transparent);
    let first = heap.allocate(MIB, 0, false);
    let address = heap.allocate(33 * MIB, 0, false);
    for (index, page) in (0..33 * MIB).step_by(BASE).enumerate() {
        fill(address.wrapping_add(page), BASE, (index % 251) as u8);
    }
    let behind = heap.allocate(MIB, 0, false);
    // SAFETY: the block is this test's alone.
    let Resized::To(moved) = (unsafe { heap.resize(address, 90 * MIB) }) else { panic!("there is room") };
    assert_ne!(moved, address);
    assert_eq!(
        moved as usize % HUGE,
        address as usize % HUGE,
        "congruent, so that whole huge pages can move"
    );
    for (index, page) in (0..33 * MIB).step_by(BASE).enumerate() {
        let byte = (index % 251) as u8;
        assert!(is_all(moved.wrapping_add(page), BASE, byte), "page {index}");
    }
    if huge {
        let info = block_at(&heap, moved);
        assert!(info.huge_bytes >= Some(32 * MIB), "{:?} of 33 MiB are huge after the move", info.huge_bytes);
    }
    // What the block left behind is clean where the kernel moved it away, and serves again.
    let again = heap.allocate(30 * MIB, 0, true);
    assert!(is_all(again, 30 * MIB, 0));
    for block in [first, moved, behind, again] {
        assert!(heap.free(block));
    }
    assert_eq!(heap.totals().live_bytes, 0);
}

#[test]
fn who_asks_during_a_move_sees_the_block_once() {
    let heap = heap(Pages::Transparent);
    thread::scope(|scope| {
        let mover = scope.spawn(|| {
            for _ in 0..100 {
                let address = heap.allocate(3 * MIB, 0, false);
                let behind = heap.allocate(MIB, 0, false);
                fill(address, 3 * MIB, 1);
                // SAFETY: the block is this thread's alone. It is too small for the kernel to move it.
                let Resized::To(moved) = (unsafe { heap.resize(address, 7 * MIB / 2) }) else {
                    panic!("there is room")
                };
                assert_ne!(moved, address);
                for block in [moved, behind] {
                    assert!(heap.free(block));
                }
            }
        });
        let mut blocks = [BlockInfo::default(); 4];
        while !mover.is_finished() {
            let totals = heap.totals();
            assert!(totals.live_blocks <= 2, "{totals:?}");
            assert!(totals.live_bytes <= totals.peak_bytes, "{totals:?}");
            let count = heap.blocks_from(0, &mut blocks);
            assert!(count <= 2, "{blocks:?}");
            assert!(blocks[..count].iter().all(|block| block.bytes > 0), "{blocks:?}");
        }
    });
    assert_eq!((heap.totals().live_blocks, heap.totals().live_bytes), (0, 0));
}

#[test]
fn an_empty_pool_falls_back_with_its_reason() {
    let heap = heap(Pages::Huge1G);
    let address = heap.allocate(5 * MIB, 0, false);
    assert!(!address.is_null(), "the next smaller pages serve");
    fill(address, 5 * MIB, 1);
    assert!(heap.free(address));
}

#[test]
fn a_refused_pool_leaves_no_hole_in_the_span() {
    let heap = heap(Pages::Huge1G);
    let blocks: Vec<*mut u8> = (1..5).map(|factor| heap.allocate(factor * 5 * MIB, 0, false)).collect();
    // The C library maps each of these by itself, where the kernel finds the first room.
    let others: Vec<Vec<u8>> = (0..200).map(|_| vec![1; 300 << 10]).collect();
    assert!(others.iter().all(|other| !heap.owns(other.as_ptr())), "a mapping of others lies in the span");
    assert!(blocks.into_iter().all(|block| heap.free(block)));
}

#[test]
fn threads_free_each_others_blocks() {
    let heap = heap(Pages::Transparent);
    let heap = &heap;
    thread::scope(|scope| {
        let (send, receive) = std::sync::mpsc::sync_channel::<(usize, usize, u8)>(4);
        for worker in 0..3_u8 {
            let send = send.clone();
            scope.spawn(move || {
                for round in 0..24 {
                    let bytes = (1 + (round * 7 + worker as usize * 3) % 9) * MIB / 2;
                    let address = heap.allocate(bytes, 0, round % 2 == 0);
                    if round % 2 == 0 {
                        assert!(is_all(address, bytes, 0));
                    }
                    fill(address, bytes, worker + 1);
                    send.send((address as usize, bytes, worker + 1)).expect("the receiver waits for all");
                }
            });
        }
        drop(send);
        for (address, bytes, byte) in receive {
            assert!(is_all(address as *const u8, bytes, byte));
            assert!(heap.free(address as *mut u8));
        }
    });
    assert_eq!(heap.totals().live_blocks, 0);
}

#[test]
fn blocks_are_listed_while_they_live() {
    let heap = heap(Pages::Transparent);
    let blocks: Vec<*mut u8> = (0..50).map(|_| heap.allocate(MIB, 0, false)).collect();
    let mut some = [BlockInfo::default(); 8];
    assert_eq!(heap.blocks_from(0, &mut some), 50);
    assert_eq!(some.map(|block| block.id), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(heap.blocks_from(48, &mut some), 50);
    assert_eq!([some[0].id, some[1].id], [49, 50]);
    assert!(heap.free(blocks[0]));
    assert_eq!(heap.blocks_from(0, &mut some), 49);
    assert_eq!(some[0].id, 2);
}

#[test]
fn small_pages_of_a_region_have_the_reason_that_the_kernel_has_counted() {
    // From so much on the region knows what the kernel had counted before.
    const BYTES: usize = 32 * MIB;
    const SMALL: usize = BYTES - BYTES / HUGE * BASE;
    // What others are refused meanwhile counts for a region as well.
    let told = || {
        let mut region = Region::map(BYTES, Pages::Transparent, None).expect("is mapped");
        region.as_mut_slice().fill(1);
        let whole = region.receipt();
        let Some(Coverage { huge: BYTES, .. }) = whole.coverage else { return None };
        assert_eq!(whole.shortfalls().count(), 0);
        for at in (0..BYTES).step_by(HUGE) {
            region.discard(at..at + BASE).expect("is a part of it");
        }
        let split = region.receipt();
        assert_eq!(split.coverage, Some(Coverage { huge: 0, small: SMALL }));
        assert_eq!(region.receipt_of(0..BASE).shortfalls().count(), 0, "nothing is there");
        Some((split.shortfalls().collect::<Vec<_>>(), region.shortfall()))
    };
    let expected = (vec![(Reason::Split, SMALL)], Some(Reason::Split));
    let mut last = None;
    for _ in 0..100 {
        last = told();
        match &last {
            None => return skipped(NO_TRANSPARENT),
            Some(told) if *told == expected => return,
            Some(_) => {}
        }
    }
    panic!("{last:?}");
}
