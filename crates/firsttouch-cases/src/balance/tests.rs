use super::{ABOUT, Balance};
use crate::Checksum;
use crate::case::{Case, Work};
use crate::here::workload;
use firsttouch_balance::generate::{KNeighbor, Work as Loads};
use firsttouch_runtime::programs::Jacobi;
use firsttouch_threads::Team;

fn comes_to(variant: &str, threads: usize, chosen: &[(&str, &str)]) -> (Checksum, Work) {
    let mut team = Team::of_this_process(threads).unwrap();
    let mut workload = workload(&Balance, variant, chosen, &mut team);
    // A step begins anew: the second comes to the same.
    let mut found = Vec::new();
    for _ in 0..2 {
        workload.reset(&mut team);
        workload.step(&mut team);
        found.push((workload.checksum(), workload.work()));
    }
    assert_eq!(found[0], found[1], "{variant}");
    found[0]
}

/// A checksum of the same values by one loop: states one after the other.
fn words(values: &[Vec<u64>]) -> Checksum {
    let sum = |words: &[u64]| {
        (1_u64..)
            .step_by(2)
            .zip(words)
            .fold(0_u64, |sum, (weight, word)| sum.wrapping_add(weight.wrapping_mul(*word)))
    };
    Checksum::Exact(sum(&values.iter().map(|one| sum(one)).collect::<Vec<_>>()))
}

/// The ring of kNeighbor as one loop over arrays, without a runtime: each message is made of the sender's words as it ends.
fn ring_by_hand(tasks: u64, words_of_state: usize, rounds: u64, iterations: u64) -> Vec<Vec<u64>> {
    let ring = KNeighbor {
        tasks: tasks as usize,
        neighbours: 8,
        stride: 1,
        message_bytes: 16e3,
        work_s: 1.0,
        work: Loads::Skewed,
    };
    let problem = ring.problem().unwrap();
    let mut states: Vec<Vec<u64>> = (0..tasks)
        .map(|task| (0..words_of_state as u64).map(|place| place ^ (task << 40)).collect())
        .collect();
    let round = |value: u64, data: &mut [u64]| {
        let place = (value >> 32) as usize % data.len();
        let mut mixed = (value ^ data[place]).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        data[place] = mixed ^ (mixed >> 31);
        data[place]
    };
    for _ in 0..iterations {
        let before = states.clone();
        for task in 0..tasks {
            let mut value = states[task as usize][0];
            let neighbour = |step: u64| [(task + step) % tasks, (task + tasks - step) % tasks];
            let mut from: Vec<u64> = (1..=4).flat_map(neighbour).collect();
            from.sort_unstable();
            let data = &mut states[task as usize][1..];
            for sender in from {
                // Two of 16 KB each, as the answer counts.
                for tag in 0..2 {
                    value = round(value ^ (sender << 32 | tag), data);
                    let message = &before[sender as usize][..2000];
                    value = message.iter().fold(value, |sum, word| sum.rotate_left(1) ^ word);
                }
            }
            let total = problem.total_load();
            for _ in 0..(problem.tasks()[task as usize].load * (rounds as f64 / total)) as u64 {
                value = round(value, data);
            }
            states[task as usize][0] = value;
        }
    }
    states
}

#[test]
fn the_ring_comes_to_what_one_loop_comes_to() {
    let chosen =
        [("tasks", "17"), ("state", "20000"), ("rounds", "1003"), ("iterations", "5"), ("every", "2")];
    let expected = words(&ring_by_hand(17, 2500, 1003, 5));
    for threads in [1, 2] {
        for variant in ["none", "greedy"] {
            assert_eq!(comes_to(variant, threads, &chosen).0, expected, "{variant} {threads}");
        }
    }
}

#[test]
fn a_relaxation_comes_to_what_it_comes_to_without_blocks() {
    const BLOCK: usize = 14;
    const WIDTH: usize = BLOCK + 2;
    let chosen =
        [("benchmark", "jacobi2d"), ("tasks", "17"), ("state", "4096"), ("iterations", "7"), ("every", "3")];
    let (checksum, work) = comes_to("greedy", 2, &chosen);
    // Four by four blocks, of which a quarter computes its points four times.
    assert_eq!(work.operations, 7 * (12 + 4 * 4) * (BLOCK * BLOCK) as u64);
    assert_eq!(work.bytes, 2 * 16 * 2 * 8 * (WIDTH * WIDTH) as u64);
    let array = 4 * BLOCK;
    let jacobi = Jacobi::new(array, BLOCK, 4).unwrap();
    let [fifth, sixth, seventh] = [5, 6, 7].map(|iterations| jacobi.sequential(iterations));
    // A block with what came from its neighbours: beyond the array 1 on the left, and 0.
    let framed = |task: usize, inner: &[f64], frame: &[f64]| -> Vec<u64> {
        let value = |place: usize| {
            let (row, column) = (place / WIDTH, place % WIDTH);
            let edges = [row, column].map(|at| at == 0 || at == BLOCK + 1);
            let (row, column) = (task / 4 * BLOCK + row, task % 4 * BLOCK + column);
            let inside = |at: usize| (1..=array).contains(&at);
            match edges {
                [true, true] => 0.0,
                [false, true] if column == 0 => 1.0,
                _ if !inside(row) || !inside(column) => 0.0,
                [false, false] => inner[(row - 1) * array + column - 1],
                _ => frame[(row - 1) * array + column - 1],
            }
        };
        (0..WIDTH * WIDTH).map(|place| value(place).to_bits()).collect()
    };
    let state = |task| [framed(task, &sixth, &sixth), framed(task, &seventh, &fifth)].concat();
    assert_eq!(checksum, words(&(0..16).map(state).collect::<Vec<_>>()));
    assert_eq!(checksum, comes_to("none", 1, &chosen).0);
}

#[test]
fn every_strategy_comes_to_the_same_and_says_what_it_moved() {
    let path = std::env::var_os("PATH");
    for benchmark in ["kneighbor", "lb_test"] {
        let chosen = [
            ("benchmark", benchmark),
            ("tasks", "40"),
            ("state", "8K"),
            ("rounds", "20000"),
            ("iterations", "6"),
            ("every", "2"),
        ];
        let expected = comes_to("none", 1, &chosen);
        let here =
            ABOUT.variants.iter().filter(|variant| Balance.missing(variant, path.as_deref()).is_none());
        for variant in here {
            assert_eq!(comes_to(variant.name, 2, &chosen), expected, "{benchmark} {}", variant.name);
        }
        let mut team = Team::of_this_process(2).unwrap();
        let mut workload = workload(&Balance, "greedy", &chosen, &mut team);
        workload.reset(&mut team);
        workload.step(&mut team);
        let notes = workload.notes();
        assert!(notes[0].contains("moves of 40 tasks"), "{notes:?}");
        if team.size() > 1 {
            assert!(!notes[0].starts_with("0 moves"), "{notes:?}");
        }
    }
}

#[test]
fn what_is_missing_is_said() {
    let missing = |name: &str| Balance.missing(ABOUT.variant(name).unwrap(), Some("/nowhere".as_ref()));
    assert_eq!(missing("metis").unwrap().remedy, "sudo apt install metis");
    assert_eq!(missing("scotch").unwrap().what, "scotch_gmap is not installed");
    assert_eq!(missing("greedy"), None);
}
