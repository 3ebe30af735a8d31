//! The cutting into pieces and bins, and who takes which.

use super::*;
use proptest::prelude::*;

fn spans(lengths: &[(usize, usize)]) -> Vec<Span> {
    let mut end = 1 << 30;
    let span = |(buffer, (gap, bytes)): (usize, &(usize, usize))| {
        let start = end + gap;
        end = start + bytes;
        Span { memory: start..end, buffer, is_anonymous: false }
    };
    lengths.iter().enumerate().map(span).collect()
}

proptest! {
    #[test]
    fn pieces_cover_every_byte_once_and_end_where_huge_pages_do(
        lengths in proptest::collection::vec((0_usize..5 << 20, 0_usize..9 << 20), 0..20),
    ) {
        let spans = spans(&lengths);
        let queue = Queue::new(None, spans.clone(), 0, &[1.0, 0.3]);
        let mut covered: Vec<Vec<Range<usize>>> = vec![Vec::new(); spans.len()];
        for piece in 0..queue.pieces {
            let parts: Vec<_> = queue.parts(piece).collect();
            prop_assert!(parts.iter().map(|(part, _)| part.len()).sum::<usize>() <= PIECE);
            for (part, span) in parts {
                let large = span.memory.len() >= PIECE;
                prop_assert!(!large || part.end == span.memory.end || part.end % PIECE == 0);
                covered[span.buffer].push(part);
            }
        }
        for (span, parts) in spans.iter().zip(covered) {
            let mut at = span.memory.start;
            for part in parts {
                prop_assert_eq!(part.start, at);
                at = part.end;
            }
            prop_assert_eq!(at, span.memory.end);
        }
    }
}

fn work() -> Work {
    Work { value: 0, next: Next::Leave, threads: 1, nodes: 2, thread_rate: 1e9, devices: Vec::new() }
}

#[test]
fn a_thread_takes_of_its_own_node_first_and_then_of_others() {
    let mut all = spans(&[(0, 2 * PIECE), (0, PIECE)]);
    let second = all.split_off(1);
    let job = Job::new(vec![(Some(0), all), (Some(1), second)], &work(), None);
    let location = Some(EngineLocation { node: 1, of_node: 0, of_all: 1 });
    let taken: Vec<(usize, usize)> =
        std::iter::from_fn(|| job.take(location)).map(|piece| (piece.queue, piece.number)).collect();
    assert_eq!(taken, [(1, 0), (0, 0), (0, 1)]);
    assert!(job.is_handed_out() && !job.is_done());
}

#[test]
fn engines_get_pieces_by_what_they_are_predicted_to_do() {
    let all = spans(&[(0, 100 * PIECE)]);
    let devices = vec![(0, 3e9), (1, 9e9)];
    let job = Job::new(vec![(Some(0), all)], &Work { devices, ..work() }, None);
    let ends: Vec<usize> = job.queues[0].bins.iter().map(|bin| bin.end).collect();
    // The device of the other node has no part in it.
    assert_eq!(ends, [25, 100]);
    let device = Some(EngineLocation { node: 0, of_node: 1, of_all: 2 });
    assert_eq!(job.take(device).map(|piece| piece.number), Some(25));
    let thread = Some(EngineLocation { node: 0, of_node: 0, of_all: 0 });
    let taken: Vec<usize> = std::iter::from_fn(|| job.take(thread)).map(|piece| piece.number).collect();
    assert!(taken.iter().copied().eq((0..25).chain(26..100)), "{taken:?}");
}

proptest! {
    #[test]
    fn bins_cover_every_piece_once(
        pieces in 0_usize..3000,
        rates in proptest::collection::vec(0.0_f64..1e11, 0..9),
    ) {
        let mut at = 0;
        for bin in bins(pieces, &rates) {
            prop_assert_eq!(bin.next.load(Ordering::Relaxed), at);
            at = bin.end;
        }
        prop_assert_eq!(at, pieces);
    }
}
