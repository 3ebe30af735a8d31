//! SHA-1 and SHA-256 by the processor's instructions for them, of one message or of several in turn: each instruction waits for
//! the one before of its own message, and a processor has room for others meanwhile.
//!
//! Source: the descriptions of SHA1RNDS4, SHA256RNDS2 and their companions in Intel's *Software Developer's Manual*, volume 2.
#![expect(unsafe_code, reason = "vector instructions")]

use super::algorithm::State;
use super::rounds::{CUBE_ROOTS, unrolled};
use std::arch::is_x86_feature_detected;
use std::arch::x86_64::*;

/// Whether the processor has them.
pub(super) fn detected() -> bool {
    is_x86_feature_detected!("sha") && is_x86_feature_detected!("avx")
}

/// Messages in turn that keep the instructions busy: no more of them were faster on Zen 4.
pub(super) const IN_TURN: usize = 4;

/// Takes the blocks of one message into its chaining value.
pub(super) fn sha1(states: &mut [State], data: &[&[u8]]) {
    assert!(detected(), "chosen from what the processor has");
    // SAFETY: the processor has the features.
    unsafe { sha1_blocks(&mut states[0], data[0]) }
}

/// Takes the blocks of `N` messages, which are equally long, into their chaining values.
pub(super) fn sha256<const N: usize>(states: &mut [State], data: &[&[u8]]) {
    assert!(detected(), "chosen from what the processor has");
    // SAFETY: the processor has the features.
    unsafe { sha256_blocks::<N>(states, data) }
}

/// Four words, the first of them lowest.
#[target_feature(enable = "avx")]
fn words(state: [u64; 4]) -> __m128i {
    let [one, two, three, four] = state.map(|word| word as i32);
    _mm_set_epi32(four, three, two, one)
}

#[target_feature(enable = "avx")]
fn numbers(words: __m128i) -> [u64; 4] {
    [
        _mm_extract_epi32::<0>(words),
        _mm_extract_epi32::<1>(words),
        _mm_extract_epi32::<2>(words),
        _mm_extract_epi32::<3>(words),
    ]
    .map(|word| u64::from(word.cast_unsigned()))
}

/// The 16 words of the block that begins `at` this byte, by fours, their bytes put into the order that `places` says.
#[target_feature(enable = "avx")]
fn message(data: &[u8], at: usize, places: __m128i) -> [__m128i; 4] {
    let block = &data[at..][..64];
    // SAFETY: the block has four times 16 bytes; the load needs no alignment.
    std::array::from_fn(|quad| unsafe {
        _mm_shuffle_epi8(_mm_loadu_si128(block.as_ptr().add(16 * quad).cast()), places)
    })
}

#[target_feature(enable = "sha,avx")]
fn sha1_blocks(state: &mut State, data: &[u8]) {
    // The instructions want a word of the message, and of the state, highest first.
    let places = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
    let mut four = words([state[3], state[2], state[1], state[0]]);
    let mut fifth = words([0, 0, 0, state[4]]);
    for at in (0..data.len()).step_by(64) {
        let before = (four, fifth);
        let mut message = message(data, at, places);
        for quad in 0..20 {
            let sum = match quad {
                0 => _mm_add_epi32(fifth, message[0]),
                _ => _mm_sha1nexte_epu32(fifth, message[0]),
            };
            fifth = four;
            four = match quad / 5 {
                0 => _mm_sha1rnds4_epu32::<0>(four, sum),
                1 => _mm_sha1rnds4_epu32::<1>(four, sum),
                2 => _mm_sha1rnds4_epu32::<2>(four, sum),
                _ => _mm_sha1rnds4_epu32::<3>(four, sum),
            };
            let mixed = _mm_xor_si128(_mm_sha1msg1_epu32(message[0], message[1]), message[2]);
            message = [message[1], message[2], message[3], _mm_sha1msg2_epu32(mixed, message[3])];
        }
        (four, fifth) = (_mm_add_epi32(four, before.0), _mm_sha1nexte_epu32(fifth, before.1));
    }
    let [d, c, b, a] = numbers(four);
    state[..5].copy_from_slice(&[a, b, c, d, numbers(fifth)[3]]);
}

#[target_feature(enable = "sha,avx")]
fn sha256_blocks<const N: usize>(states: &mut [State], data: &[&[u8]]) {
    let places = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
    let mut halves: [[__m128i; 2]; N] = std::array::from_fn(|lane| {
        let [a, b, c, d, e, f, g, h] = states[lane];
        [words([f, e, b, a]), words([h, g, d, c])]
    });
    for at in (0..data[0].len()).step_by(64) {
        let before = halves;
        let mut messages: [[__m128i; 4]; N] = std::array::from_fn(|lane| message(data[lane], at, places));
        for constants in UPPER_HALVES.as_chunks::<16>().0 {
            unrolled!(quad in [0 1 2 3] {
                // SAFETY: there are four times 16 bytes; the load needs no alignment.
                let constants = unsafe { _mm_loadu_si128(constants.as_ptr().add(4 * quad).cast()) };
                for ([abef, cdgh], message) in halves.iter_mut().zip(&mut messages) {
                    let [now, next, after, last] = [0, 1, 2, 3].map(|on| message[(quad + on) % 4]);
                    let sums = _mm_add_epi32(now, constants);
                    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sums);
                    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32::<0x0e>(sums));
                    let near = _mm_add_epi32(_mm_sha256msg1_epu32(now, next), _mm_alignr_epi8::<4>(last, after));
                    message[quad] = _mm_sha256msg2_epu32(near, last);
                }
            });
        }
        for (now, before) in halves.iter_mut().zip(before) {
            *now = [_mm_add_epi32(now[0], before[0]), _mm_add_epi32(now[1], before[1])];
        }
    }
    for (state, [abef, cdgh]) in states.iter_mut().zip(halves) {
        let ([f, e, b, a], [h, g, d, c]) = (numbers(abef), numbers(cdgh));
        *state = [a, b, c, d, e, f, g, h];
    }
}

/// The constants of SHA-256, side by side.
static UPPER_HALVES: [u32; 64] = {
    let mut halves = [0; 64];
    let mut place = 0;
    while place < 64 {
        halves[place] = (CUBE_ROOTS[place] >> 32) as u32;
        place += 1;
    }
    halves
};
