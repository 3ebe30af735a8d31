//! Digests against the standards and against other implementations; the pipeline against hashing one chunk after another.

use super::algorithm::{Algorithm, Digest};
use super::engine::{self, Paced};
use super::manager::{Hasher, Job, Manager};
use super::pipeline::{fill, weigh};
use super::{ABOUT, Hash};
use crate::here::workload;
use crate::{Case, Checksum};
use firsttouch_threads::Team;
use proptest::prelude::*;
use sha2::Digest as _;

const ALL: [Algorithm; 4] = [Algorithm::Md5, Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512];

/// All engines that this machine has for an algorithm.
fn engines(algorithm: Algorithm) -> Vec<Paced> {
    let few = [engine::portable(algorithm), engine::single(algorithm)].map(Some);
    let many = [
        engine::sha_in_turn(algorithm),
        engine::avx2(algorithm),
        engine::avx512(algorithm),
        engine::avx512_twice(algorithm),
    ];
    few.into_iter().chain(many).flatten().map(|engine| Paced { engine, seconds: 1.0 }).collect()
}

/// Digests in the order of their messages; `flush` says after which of them the manager is asked to go on.
fn digests(
    algorithm: Algorithm,
    engines: &[Paced],
    messages: &mut [Vec<u8>],
    flush: impl Fn(usize) -> bool,
) -> Vec<String> {
    let mut found = vec![None; messages.len()];
    let mut done = |job: Job<'_>, digest: &Digest| {
        assert!(found[job.number].replace(hex(&digest[..algorithm.digest_bytes()])).is_none(), "each once");
    };
    let mut manager = Manager::new(algorithm, engines);
    let blocks = messages.iter().map(|message| message.len() / algorithm.block_bytes() + 2).sum();
    for (number, data) in messages.iter_mut().enumerate() {
        manager.submit(Job { number, data }, &mut done);
        if flush(number) {
            manager.flush(&mut done);
        }
    }
    // Each flush takes a block at least.
    (0..blocks).for_each(|_| manager.flush(&mut done));
    found.into_iter().map(Option::unwrap).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn by_others(algorithm: Algorithm, data: &[u8]) -> String {
    match algorithm {
        Algorithm::Md5 => hex(&md5::Md5::digest(data)),
        Algorithm::Sha1 => hex(&sha1::Sha1::digest(data)),
        Algorithm::Sha256 => hex(&sha2::Sha256::digest(data)),
        Algorithm::Sha512 => hex(&sha2::Sha512::digest(data)),
    }
}

/// The messages of RFC 1321, A.5, and of FIPS 180-4's examples, each on every engine, alone and beside others.
#[test]
fn digests_are_those_of_the_standards() {
    let two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    let long = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
    let digits = "1234567890".repeat(8);
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let million = "a".repeat(1_000_000);
    let vectors: [(Algorithm, &str, &str); 16] = [
        (Algorithm::Md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
        (Algorithm::Md5, "a", "0cc175b9c0f1b6a831c399e269772661"),
        (Algorithm::Md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
        (Algorithm::Md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (Algorithm::Md5, &alphabet[26..52], "c3fcd3d76192e4007dfb496cca67e13b"),
        (Algorithm::Md5, alphabet, "d174ab98d277d9f5a5611c2c9f419d9f"),
        (Algorithm::Md5, &digits, "57edf4a22be3c955ac49da2e2107b67a"),
        (Algorithm::Sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (Algorithm::Sha1, two_blocks, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
        (Algorithm::Sha1, &million, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        (Algorithm::Sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (Algorithm::Sha256, two_blocks, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        (Algorithm::Sha256, &million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        (
            Algorithm::Sha512,
            "abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        (
            Algorithm::Sha512,
            long,
            "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909",
        ),
        (
            Algorithm::Sha512,
            &million,
            "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973ebde0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
        ),
    ];
    for (algorithm, message, expected) in vectors {
        for engine in engines(algorithm) {
            let mut messages = vec![message.as_bytes().to_vec(), b"another".to_vec()];
            let found = digests(algorithm, &[engine], &mut messages, |number| number == 0);
            assert_eq!(found[0], expected, "{:?}", engine.engine);
        }
    }
}

/// RFC 1321 defines its table by sines; FIPS 180-4 its constants by roots of primes.
#[test]
fn tables_are_what_the_standards_define_them_by() {
    for (place, sine) in super::rounds::SINES.iter().enumerate() {
        assert_eq!(*sine, ((place + 1) as f64).sin().abs().mul_add(4_294_967_296.0, 0.0) as u32);
    }
    let primes = (2_u32..).filter(|number| (2..*number).all(|divisor| number % divisor != 0));
    for (prime, root) in primes.zip(super::rounds::CUBE_ROOTS) {
        let fraction = (root >> 12) as f64 / (1_u64 << 52) as f64;
        assert!((f64::from(prime).cbrt().fract() - fraction).abs() < 1e-14, "{prime}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the lengths, the engines' speeds and the moments at which somebody asks for digests.
    #[test]
    fn messages_of_any_length_have_their_digests(
        lengths in prop::collection::vec(0_usize..700, 1..80),
        speeds in prop::collection::vec(0.01_f64..10.0, 6),
        flushes in prop::collection::vec(prop::bool::weighted(0.05), 80),
        algorithm in prop::sample::select(ALL.to_vec()),
        seed: u64,
    ) {
        let byte = |number: usize, place| firsttouch_measure::mix(seed ^ ((number as u64) << 32) ^ place as u64) as u8;
        let message = |(number, length): (usize, &usize)| (0..*length).map(|place| byte(number, place)).collect();
        let mut messages: Vec<Vec<u8>> = lengths.iter().enumerate().map(message).collect();
        let expected: Vec<String> = messages.iter().map(|message| by_others(algorithm, message)).collect();
        let mut engines = engines(algorithm);
        engines.iter_mut().zip(&speeds).for_each(|(paced, seconds)| paced.seconds = *seconds);
        prop_assert_eq!(&digests(algorithm, &engines, &mut messages, |number| flushes[number]), &expected);
        for engine in &engines {
            let found = digests(algorithm, &[*engine], &mut messages, |number| flushes[number]);
            prop_assert_eq!(&found, &expected, "{:?}", engine.engine);
        }
    }
}

/// Otherwise one lane works where those that come meanwhile would fill all.
#[test]
fn a_message_that_comes_later_takes_a_lane_beside_a_long_one() {
    let mut messages = [vec![1; 1 << 20], vec![2; 1000]];
    let [long, short] = &mut messages;
    let order = std::cell::RefCell::new(Vec::new());
    let mut done = |job: Job<'_>, _: &Digest| order.borrow_mut().push(job.number);
    let engines = engines(Algorithm::Md5);
    let mut manager = Manager::new(Algorithm::Md5, &engines);
    manager.submit(Job { number: 0, data: long }, &mut done);
    manager.flush(&mut done);
    manager.submit(Job { number: 1, data: short }, &mut done);
    let blocks = (1 << 20) / 64 + 1;
    (0..blocks).for_each(|_| manager.flush(&mut done));
    assert_eq!(*order.borrow(), [1, 0]);
}

fn run(choices: &[(&str, &str)], variant: &str, threads: usize) -> (Checksum, u64, Vec<String>) {
    let mut team = Team::new(&[vec![0; threads]]).unwrap();
    let mut workload = workload(&Hash, variant, choices, &mut team);
    workload.step(&mut team);
    (workload.checksum(), workload.work().bytes, workload.notes())
}

/// Producers more and fewer than threads, chunks more and fewer than producers, with and without a pace.
#[test]
fn every_chunk_is_hashed_once_however_many_make_it() {
    for (producers, total, chunks) in [("1", "5000", 5), ("3", "16500", 17), ("40", "30000", 30)] {
        for algorithm in ["md5", "sha512"] {
            let mut chunk = vec![0; 1000];
            let expected = (0..chunks).fold(0_u64, |sum, number| {
                fill(&mut chunk, number);
                let mut digest = [0; 64];
                let hex = by_others(Algorithm::of(algorithm), &chunk);
                let bytes = (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..][..2], 16).unwrap());
                digest.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
                sum.wrapping_add(weigh(number, &digest))
            });
            for speed in ["0", "20"] {
                let choices = [
                    ("producers", producers),
                    ("speed", speed),
                    ("chunk-size", "1000"),
                    ("total-size", total),
                    ("algorithm", algorithm),
                ];
                for threads in [1, 2, 5] {
                    for variant in
                        ABOUT.variants.iter().filter(|variant| Hash.missing(variant, None).is_none())
                    {
                        let (checksum, bytes, _) = run(&choices, variant.name, threads);
                        let seen = (checksum, bytes);
                        assert_eq!(
                            seen,
                            (Checksum::Exact(expected), 1000 * chunks as u64),
                            "{}",
                            variant.name
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn what_the_article_prints_is_in_the_notes() {
    let (_, _, notes) = run(&[("chunk-size", "64K"), ("total-size", "1M")], "single-buffer", 2);
    let [usage, speed, lanes] = &notes[..] else { panic!("{notes:?}") };
    let usage: f64 =
        usage.strip_prefix("consumer thread usage: ").unwrap().trim_end_matches(" %").parse().unwrap();
    assert!(usage > 0.0 && usage <= 100.0);
    assert!(speed.starts_with("hash speed: ") && speed.ends_with(" MiB/s)"), "{speed}");
    assert!(lanes.starts_with("lanes: 1 ("), "{lanes}");
}
