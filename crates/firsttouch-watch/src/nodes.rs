//! The nodes of resident pages, asked for page by page (move_pages(2)): the lock of the process is held for sixteen pages at a
//! time, where `numa_maps` holds it for a whole mapping.
//!
//! Every huge page is asked for. Of small ones as many as tell the shares to better than half a per cent: one at random out
//! of each group of neighbours, so that neither regions nor a pattern of nodes can hide.

use firsttouch_linux::pagemap::ResidentRun;
use firsttouch_linux::smaps::PMD_BYTES;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// Small pages that are asked for at most: the standard error of a share is 0.4 % at worst.
const MOST_ASKED: u64 = 16 << 10;
const BASE_BYTES: u64 = 4096;
/// Pages of one call.
const BATCH: usize = 1024;

/// What was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nodes {
    pub(crate) bytes: BTreeMap<u32, u64>,
    /// How many small pages were asked for, where not all were.
    pub(crate) sampled_pages: Option<u64>,
    pub(crate) longest_call: Duration,
}

/// Asks for the nodes of these pages, of which `small_bytes` are on small ones. `ask` is [`firsttouch_linux::remote::nodes_of`];
/// `seed` decides which pages stand for their groups.
pub(crate) fn nodes(
    runs: &[ResidentRun],
    small_bytes: u64,
    seed: u64,
    mut ask: impl FnMut(&[u64], &mut [i32]) -> io::Result<()>,
) -> io::Result<Nodes> {
    let small_pages: u64 = runs.iter().filter(|run| !run.huge).map(|run| bytes_of(run) / BASE_BYTES).sum();
    let group = small_pages.div_ceil(MOST_ASKED).max(1);
    let (mut small, mut huge) = (Vec::new(), Vec::new());
    let (mut passed, mut picked) = (0, 0);
    for run in runs {
        if run.huge {
            huge.extend((run.range.start..run.range.end).step_by(PMD_BYTES as usize));
            continue;
        }
        let end = passed + bytes_of(run) / BASE_BYTES;
        // The page that stands for each group that begins before the end of this run.
        while picked * group + random(seed, picked) % group < end {
            let page = picked * group + random(seed, picked) % group;
            small.push(run.range.start + (page - passed) * BASE_BYTES);
            picked += 1;
        }
        passed = end;
    }
    let mut nodes = Nodes::default();
    let mut counts = |addresses: &[u64]| -> io::Result<BTreeMap<u32, u64>> {
        let mut counts = BTreeMap::new();
        let mut answers = [0; BATCH];
        for batch in addresses.chunks(BATCH) {
            let answers = &mut answers[..batch.len()];
            let begun = Instant::now();
            ask(batch, answers)?;
            nodes.longest_call = begun.elapsed().max(nodes.longest_call);
            // Negative: given back meanwhile, or a page of zeros.
            for node in answers.iter().filter_map(|answer| u32::try_from(*answer).ok()) {
                *counts.entry(node).or_insert(0) += 1;
            }
        }
        Ok(counts)
    };
    let (huge, small) = (counts(&huge)?, counts(&small)?);
    let answered: u64 = small.values().sum();
    let mut add = |node: u32, bytes: u64| *nodes.bytes.entry(node).or_insert(0) += bytes;
    for (node, count) in huge {
        add(node, count * PMD_BYTES);
    }
    for (node, count) in small {
        add(node, (u128::from(small_bytes) * u128::from(count) / u128::from(answered)) as u64);
    }
    nodes.sampled_pages = (group > 1).then_some(answered);
    Ok(nodes)
}

fn bytes_of(run: &ResidentRun) -> u64 {
    run.range.end - run.range.start
}

/// The random number of a place (SplitMix64).
fn random(seed: u64, place: u64) -> u64 {
    let mut word = seed.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(start: u64, pages: u64) -> ResidentRun {
        ResidentRun { range: start..start + pages * BASE_BYTES, huge: false }
    }

    const GIB: u64 = 1 << 30;

    #[test]
    fn few_pages_are_all_asked_for() {
        let huge = ResidentRun { range: 8 * GIB..8 * GIB + 3 * PMD_BYTES, huge: true };
        let runs = [run(0, 10), huge, run(GIB, 5)];
        let found = nodes(&runs, 15 * BASE_BYTES, 1, |addresses, nodes| {
            for (node, address) in nodes.iter_mut().zip(addresses) {
                *node = if *address >= GIB { 1 } else { 0 };
            }
            Ok(())
        })
        .unwrap();
        let expected = BTreeMap::from([(0, 10 * BASE_BYTES), (1, 5 * BASE_BYTES + 3 * PMD_BYTES)]);
        assert_eq!((found.bytes, found.sampled_pages), (expected, None));
    }

    /// Page by page in turn over two nodes, the worst for whoever asks at regular steps.
    #[test]
    fn a_pattern_cannot_hide() {
        let runs = [run(0, 3 << 20), run(64 * GIB, 1 << 20)];
        let small = (4 << 20) * BASE_BYTES;
        let found = nodes(&runs, small, 7, |addresses, nodes| {
            for (node, address) in nodes.iter_mut().zip(addresses) {
                *node = if *address >= 64 * GIB { 2 } else { (address / BASE_BYTES % 2) as i32 };
            }
            Ok(())
        })
        .unwrap();
        let share = |node: u32| found.bytes[&node] as f64 / small as f64;
        assert!((share(0) - 0.375).abs() < 0.02 && (share(1) - 0.375).abs() < 0.02, "{found:?}");
        assert!((share(2) - 0.25).abs() < 0.001, "regions are asked for in proportion: {found:?}");
        assert_eq!(found.sampled_pages, Some(MOST_ASKED));
    }

    #[test]
    fn what_is_gone_counts_nowhere() {
        let found = nodes(&[run(0, 4)], 4 * BASE_BYTES, 1, |_, nodes| {
            nodes.copy_from_slice(&[-2, -14, 3, -2]);
            Ok(())
        });
        assert_eq!(found.unwrap().bytes, BTreeMap::from([(3, 4 * BASE_BYTES)]));
        let refused = nodes(&[run(0, 4)], 1, 1, |_, _| Err(io::ErrorKind::PermissionDenied.into()));
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }

    proptest! {
        #[test]
        fn any_runs_are_asked_for_within_themselves(pages in prop::collection::vec(1_u64..40_000, 0..9), seed: u64) {
            let runs: Vec<ResidentRun> = pages.iter().zip(0..).map(|(pages, at)| run(at * GIB, *pages)).collect();
            let mut asked = 0;
            let found = nodes(&runs, pages.iter().sum::<u64>() * BASE_BYTES, seed, |addresses, nodes| {
                asked += addresses.len() as u64;
                assert!(addresses.is_sorted());
                assert!(addresses.iter().all(|address| runs.iter().any(|run| run.range.contains(address))));
                nodes.fill(0);
                Ok(())
            });
            prop_assert!(asked <= MOST_ASKED);
            prop_assert_eq!(found.unwrap().bytes.values().sum::<u64>(), pages.iter().sum::<u64>() * BASE_BYTES);
        }
    }
}
