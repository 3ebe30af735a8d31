//! The rounds of the hash functions, written once for any number of messages side by side.
//!
//! Source: RFC 1321 for MD5, FIPS 180-4 for the others. Their two sorts of SHA-2 differ by the width of words, by how far they
//! rotate and by the number of rounds.

use super::algorithm::State;
use super::lanes::Lanes;

/// Repeats code for each of these places, which are constants in it. Compilers do not unroll as much by themselves, and move words
/// from register to register instead: MD5 and SHA-1 were slower by a tenth to a third so.
macro_rules! unrolled {
    ($place:ident in [$($value:literal)*] $body:block) => {
        $({
            let $place = $value;
            $body
        })*
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use unrolled;

/// How a hash function takes a block into its chaining value.
pub(super) trait Rounds {
    /// Words of the chaining value.
    const WORDS: usize;
    /// Words of a message begin with their highest byte.
    const BIG_ENDIAN: bool;

    /// Makes of a chaining value what is to be added to it for a block.
    fn block<L: Lanes>(state: &mut [L; 8], words: [L; 16]);
}

/// Takes all blocks of some messages, which are equally long, into their chaining values.
///
/// # Safety
/// The processor has the extensions that the lanes need.
#[inline(always)]
#[expect(unsafe_code, reason = "lanes may be vectors")]
pub(super) unsafe fn compress<L: Lanes, R: Rounds>(states: &mut [State], data: &[&[u8]]) {
    assert!(states.len() == L::LANES && data.len() == L::LANES, "a message for each lane");
    // SAFETY: as the caller vouches.
    let mut state = [unsafe { L::of(states, 0) }; 8];
    for (word, value) in state.iter_mut().enumerate().take(R::WORDS) {
        // SAFETY: the same.
        *value = unsafe { L::of(states, word) };
    }
    let block_bytes = if L::WIDE { 128 } else { 64 };
    for at in (0..data[0].len()).step_by(block_bytes) {
        let mut after = state;
        R::block(&mut after, state[0].load(data, at, R::BIG_ENDIAN));
        for (value, after) in state.iter_mut().zip(after) {
            *value = value.add(after);
        }
    }
    for (word, value) in state.iter().enumerate().take(R::WORDS) {
        value.put(states, word);
    }
}

/// MD5.
pub(super) struct Md5;

impl Rounds for Md5 {
    const WORDS: usize = 4;
    const BIG_ENDIAN: bool = false;

    #[inline(always)]
    fn block<L: Lanes>(state: &mut [L; 8], words: [L; 16]) {
        md5_round(state, &words, 0, (0, 1), [7, 12, 17, 22]);
        md5_round(state, &words, 1, (1, 5), [5, 9, 14, 20]);
        md5_round(state, &words, 2, (5, 3), [4, 11, 16, 23]);
        md5_round(state, &words, 3, (0, 7), [6, 10, 15, 21]);
    }
}

/// Sixteen steps of MD5. `order`: the first word of the message, and how many further on the next one is.
#[inline(always)]
fn md5_round<L: Lanes>(
    state: &mut [L; 8],
    words: &[L; 16],
    round: usize,
    order: (usize, usize),
    rotations: [u32; 4],
) {
    let [mut a, mut b, mut c, mut d, ..] = *state;
    for four in (0..16).step_by(4) {
        unrolled!(place in [0 1 2 3] {
            let step = four + place;
            let mixed = match round {
                0 => b.choose(c, d),
                1 => d.choose(b, c),
                2 => b.parity(c, d),
                _ => c.crossed(b, d),
            };
            let constant = a.every(SINES[16 * round + step].into());
            let sum = a.add(constant.add(words[(order.0 + order.1 * step) % 16])).add(mixed);
            (a, b, c, d) = (d, b.add(sum.rotated(32 - rotations[place])), b, c);
        });
    }
    [state[0], state[1], state[2], state[3]] = [a, b, c, d];
}

/// SHA-1.
pub(super) struct Sha1;

impl Rounds for Sha1 {
    const WORDS: usize = 5;
    const BIG_ENDIAN: bool = true;

    #[inline(always)]
    fn block<L: Lanes>(state: &mut [L; 8], mut words: [L; 16]) {
        let [mut a, mut b, mut c, mut d, mut e, ..] = *state;
        for round in (0..80).step_by(5) {
            unrolled!(place in [0 1 2 3 4] {
                let round = round + place;
                let at = [round % 16, (round + 2) % 16, (round + 8) % 16, (round + 13) % 16];
                if round >= 16 {
                    let mixed = words[at[0]].parity(words[at[1]], words[at[2]]);
                    words[at[0]] = mixed.exclusive(words[at[3]]).rotated(31);
                }
                let (constant, mixed) = match round / 20 {
                    0 => (0x5a82_7999, b.choose(c, d)),
                    1 => (0x6ed9_eba1, b.parity(c, d)),
                    2 => (0x8f1b_bcdc, b.majority(c, d)),
                    _ => (0xca62_c1d6, b.parity(c, d)),
                };
                let sum = e.add(a.every(constant).add(words[at[0]])).add(mixed).add(a.rotated(27));
                (a, b, c, d, e) = (sum, a, b.rotated(2), c, d);
            });
        }
        [state[0], state[1], state[2], state[3], state[4]] = [a, b, c, d, e];
    }
}

/// SHA-256 on words of 32 bits, SHA-512 on words of 64.
pub(super) struct Sha2;

impl Rounds for Sha2 {
    const WORDS: usize = 8;
    const BIG_ENDIAN: bool = true;

    #[inline(always)]
    fn block<L: Lanes>(state: &mut [L; 8], mut words: [L; 16]) {
        let (rounds, narrower, turns) = if L::WIDE { (80, 0, &WIDE_TURNS) } else { (64, 32, &TURNS) };
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
        for first in (0..rounds).step_by(16) {
            // Not unrolled: that was no faster on Zen 4, in vectors of 256 bits slower, and many times as long.
            for place in 0..16 {
                if first > 0 {
                    let (after, before) = (words[(place + 1) % 16], words[(place + 14) % 16]);
                    let spread = spread(after, turns[2]).add(spread(before, turns[3]));
                    words[place] = words[place].add(words[(place + 9) % 16]).add(spread);
                }
                let constant = a.every(CUBE_ROOTS[first + place] >> narrower);
                let kept = h.add(constant.add(words[place])).add(e.choose(f, g)).add(turned(e, turns[1]));
                let sum = kept.add(turned(a, turns[0])).add(a.majority(b, c));
                (a, b, c, d, e, f, g, h) = (sum, a, b, c, d.add(kept), e, f, g);
            }
        }
        *state = [a, b, c, d, e, f, g, h];
    }
}

/// A word mixed with itself, rotated three times.
#[inline(always)]
fn turned<L: Lanes>(word: L, turns: [u32; 3]) -> L {
    word.rotated(turns[0]).parity(word.rotated(turns[1]), word.rotated(turns[2]))
}

/// The same with a shift in place of the last.
#[inline(always)]
fn spread<L: Lanes>(word: L, turns: [u32; 3]) -> L {
    word.rotated(turns[0]).parity(word.rotated(turns[1]), word.shifted(turns[2]))
}

/// How far words of 32 bits are rotated: those of the state, then those of the message, whose last is a shift.
const TURNS: [[u32; 3]; 4] = [[2, 13, 22], [6, 11, 25], [7, 18, 3], [17, 19, 10]];

/// The same for words of 64 bits.
const WIDE_TURNS: [[u32; 3]; 4] = [[28, 34, 39], [14, 18, 41], [1, 8, 7], [19, 61, 6]];

/// The first 64 bits of the fractions of the cube roots of the first 80 primes. SHA-512 uses them, SHA-256 the upper halves of the
/// first 64.
pub(super) const CUBE_ROOTS: [u64; 80] = [
    0x428a_2f98_d728_ae22,
    0x7137_4491_23ef_65cd,
    0xb5c0_fbcf_ec4d_3b2f,
    0xe9b5_dba5_8189_dbbc,
    0x3956_c25b_f348_b538,
    0x59f1_11f1_b605_d019,
    0x923f_82a4_af19_4f9b,
    0xab1c_5ed5_da6d_8118,
    0xd807_aa98_a303_0242,
    0x1283_5b01_4570_6fbe,
    0x2431_85be_4ee4_b28c,
    0x550c_7dc3_d5ff_b4e2,
    0x72be_5d74_f27b_896f,
    0x80de_b1fe_3b16_96b1,
    0x9bdc_06a7_25c7_1235,
    0xc19b_f174_cf69_2694,
    0xe49b_69c1_9ef1_4ad2,
    0xefbe_4786_384f_25e3,
    0x0fc1_9dc6_8b8c_d5b5,
    0x240c_a1cc_77ac_9c65,
    0x2de9_2c6f_592b_0275,
    0x4a74_84aa_6ea6_e483,
    0x5cb0_a9dc_bd41_fbd4,
    0x76f9_88da_8311_53b5,
    0x983e_5152_ee66_dfab,
    0xa831_c66d_2db4_3210,
    0xb003_27c8_98fb_213f,
    0xbf59_7fc7_beef_0ee4,
    0xc6e0_0bf3_3da8_8fc2,
    0xd5a7_9147_930a_a725,
    0x06ca_6351_e003_826f,
    0x1429_2967_0a0e_6e70,
    0x27b7_0a85_46d2_2ffc,
    0x2e1b_2138_5c26_c926,
    0x4d2c_6dfc_5ac4_2aed,
    0x5338_0d13_9d95_b3df,
    0x650a_7354_8baf_63de,
    0x766a_0abb_3c77_b2a8,
    0x81c2_c92e_47ed_aee6,
    0x9272_2c85_1482_353b,
    0xa2bf_e8a1_4cf1_0364,
    0xa81a_664b_bc42_3001,
    0xc24b_8b70_d0f8_9791,
    0xc76c_51a3_0654_be30,
    0xd192_e819_d6ef_5218,
    0xd699_0624_5565_a910,
    0xf40e_3585_5771_202a,
    0x106a_a070_32bb_d1b8,
    0x19a4_c116_b8d2_d0c8,
    0x1e37_6c08_5141_ab53,
    0x2748_774c_df8e_eb99,
    0x34b0_bcb5_e19b_48a8,
    0x391c_0cb3_c5c9_5a63,
    0x4ed8_aa4a_e341_8acb,
    0x5b9c_ca4f_7763_e373,
    0x682e_6ff3_d6b2_b8a3,
    0x748f_82ee_5def_b2fc,
    0x78a5_636f_4317_2f60,
    0x84c8_7814_a1f0_ab72,
    0x8cc7_0208_1a64_39ec,
    0x90be_fffa_2363_1e28,
    0xa450_6ceb_de82_bde9,
    0xbef9_a3f7_b2c6_7915,
    0xc671_78f2_e372_532b,
    0xca27_3ece_ea26_619c,
    0xd186_b8c7_21c0_c207,
    0xeada_7dd6_cde0_eb1e,
    0xf57d_4f7f_ee6e_d178,
    0x06f0_67aa_7217_6fba,
    0x0a63_7dc5_a2c8_98a6,
    0x113f_9804_bef9_0dae,
    0x1b71_0b35_131c_471b,
    0x28db_77f5_2304_7d84,
    0x32ca_ab7b_40c7_2493,
    0x3c9e_be0a_15c9_bebc,
    0x431d_67c4_9c10_0d4c,
    0x4cc5_d4be_cb3e_42b6,
    0x597f_299c_fc65_7e2a,
    0x5fcb_6fab_3ad6_faec,
    0x6c44_198c_4a47_5817,
];

/// The first 32 bits of the sines of 1 to 64, without their signs.
pub(super) static SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];
