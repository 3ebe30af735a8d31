//! What takes blocks into chaining values: of one message, or of as many side by side as a vector has words.

use super::algorithm::{Algorithm, State};
use super::lanes::Plain;
#[cfg(target_arch = "x86_64")]
use super::lanes::Twice;
use super::rounds::{Md5, Rounds, Sha1, Sha2, compress};
use std::time::Instant;

/// Takes all blocks of its lanes' messages, which are equally long, into their chaining values.
pub(super) type Run = fn(&mut [State], &[&[u8]]);

/// One way to do it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Engine {
    /// What it is made of.
    pub(super) name: &'static str,
    /// Messages side by side.
    pub(super) lanes: usize,
    pub(super) run: Run,
}

/// An engine, and what it takes here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paced {
    pub(super) engine: Engine,
    /// Seconds of a block of all its lanes.
    pub(super) seconds: f64,
}

impl Engine {
    /// Measures what a block takes: how much that differs between processors decides from how many messages on lanes pay.
    pub(super) fn paced(self, algorithm: Algorithm) -> Paced {
        const BLOCKS: usize = 32;
        const ROUNDS: usize = 8;
        let message = vec![0; BLOCKS * algorithm.block_bytes()];
        let (mut states, data) = (vec![algorithm.initial(); self.lanes], vec![&message[..]; self.lanes]);
        let round = |_| {
            let begin = Instant::now();
            (self.run)(&mut states, &data);
            begin.elapsed().as_secs_f64() / BLOCKS as f64
        };
        Paced { engine: self, seconds: (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min) }
    }
}

/// Plain code, one message at a time.
pub(super) fn portable(algorithm: Algorithm) -> Engine {
    let run: Run = match algorithm {
        Algorithm::Md5 => plain::<u32, Md5>,
        Algorithm::Sha1 => plain::<u32, Sha1>,
        Algorithm::Sha256 => plain::<u32, Sha2>,
        Algorithm::Sha512 => plain::<u64, Sha2>,
    };
    Engine { name: "plain code", lanes: 1, run }
}

#[expect(unsafe_code, reason = "lanes may be vectors, which these are not")]
fn plain<L: Plain, R: Rounds>(states: &mut [State], data: &[&[u8]]) {
    // SAFETY: a lane that is an integer needs no extension.
    unsafe { compress::<L, R>(states, data) }
}

/// The best for one message: instructions for the algorithm where the processor has some.
pub(super) fn single(algorithm: Algorithm) -> Engine {
    extensions::sha(algorithm).unwrap_or_else(|| portable(algorithm))
}

/// All that a processor may have, from one message to many: which pays depends on how many messages there are.
pub(super) fn multi_buffer(algorithm: Algorithm) -> Vec<Option<Engine>> {
    let widest = avx512(algorithm).or_else(|| avx2(algorithm));
    vec![Some(single(algorithm)), sha_in_turn(algorithm), widest, avx512_twice(algorithm)]
}

pub(super) use extensions::{avx2, avx512, avx512_twice, sha_in_turn};

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions")]
mod extensions {
    use super::super::vectors::{WideWords, Words};
    use super::*;
    use crate::hash::sha;
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::{__m256i, __m512i};

    macro_rules! engines {
        ($function:ident, $name:literal, $features:literal, $detected:expr,
         { $($algorithm:ident => ($lanes:literal, $words:ty, $rounds:ident),)+ } $(, $other:pat => None)?) => {
            /// The engine of these vectors; `None` where the processor has no such, or it does not pay.
            pub(in super::super) fn $function(algorithm: Algorithm) -> Option<Engine> {
                macro_rules! run {
                    ($lanes_of:ty, $rounds_of:ident) => {{
                        #[target_feature(enable = $features)]
                        fn run(states: &mut [State], data: &[&[u8]]) {
                            // SAFETY: the function has the features that the vectors need.
                            unsafe { compress::<$lanes_of, $rounds_of>(states, data) }
                        }
                        |states, data| {
                            assert!($detected, "chosen from what the processor has");
                            // SAFETY: the processor has the features.
                            unsafe { run(states, data) }
                        }
                    }};
                }
                let (lanes, run): (_, Run) = match algorithm {
                    $(Algorithm::$algorithm => ($lanes, run!($words, $rounds)),)+
                    $($other => return None,)?
                };
                $detected.then_some(Engine { name: $name, lanes, run })
            }
        };
    }

    engines!(
        avx512,
        "AVX-512",
        "avx512f,avx512bw",
        (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")),
        {
            Md5 => (16, Words<__m512i>, Md5),
            Sha1 => (16, Words<__m512i>, Sha1),
            Sha256 => (16, Words<__m512i>, Sha2),
            Sha512 => (8, WideWords<__m512i>, Sha2),
        }
    );
    // Each step of SHA-2 has more that does not wait for the one before: two vectors brought 8 % there, against 52 % of MD5.
    engines!(
        avx512_twice,
        "AVX-512, two vectors in turn",
        "avx512f,avx512bw",
        (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")),
        {
            Md5 => (32, Twice<Words<__m512i>>, Md5),
            Sha1 => (32, Twice<Words<__m512i>>, Sha1),
        },
        Algorithm::Sha256 | Algorithm::Sha512 => None
    );
    engines!(
        avx2,
        "AVX2",
        "avx2",
        is_x86_feature_detected!("avx2"),
        {
            Md5 => (8, Words<__m256i>, Md5),
            Sha1 => (8, Words<__m256i>, Sha1),
            Sha256 => (8, Words<__m256i>, Sha2),
            Sha512 => (4, WideWords<__m256i>, Sha2),
        }
    );

    /// Instructions for SHA-1 and SHA-256.
    pub(super) fn sha(algorithm: Algorithm) -> Option<Engine> {
        let run: Run = match algorithm {
            Algorithm::Sha1 => sha::sha1,
            Algorithm::Sha256 => sha::sha256::<1>,
            Algorithm::Md5 | Algorithm::Sha512 => return None,
        };
        sha::detected().then_some(Engine { name: "SHA extensions", lanes: 1, run })
    }

    /// Those for SHA-256, for some messages in turn.
    pub(in super::super) fn sha_in_turn(algorithm: Algorithm) -> Option<Engine> {
        let run: Run = sha::sha256::<{ sha::IN_TURN }>;
        let there = algorithm == Algorithm::Sha256 && sha::detected();
        there.then_some(Engine { name: "SHA extensions", lanes: sha::IN_TURN, run })
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod extensions {
    use super::{Algorithm, Engine};

    pub(in super::super) fn avx512(_: Algorithm) -> Option<Engine> {
        None
    }

    pub(in super::super) fn avx512_twice(_: Algorithm) -> Option<Engine> {
        None
    }

    pub(in super::super) fn avx2(_: Algorithm) -> Option<Engine> {
        None
    }

    pub(super) fn sha(_: Algorithm) -> Option<Engine> {
        None
    }

    pub(in super::super) fn sha_in_turn(_: Algorithm) -> Option<Engine> {
        None
    }
}
