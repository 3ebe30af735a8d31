//! Lanes in vectors of 256 and 512 bits.
#![expect(unsafe_code, reason = "vector instructions")]

use super::algorithm::State;
use super::lanes::{Lanes, operations};
use std::arch::x86_64::*;

/// Integers in a vector. Values are made by [`Vector::read`] and from other values only.
trait Vector: Copy {
    const BYTES: usize;

    /// # Safety
    /// The processor has the extensions of the operations, and there are [`Vector::BYTES`] bytes.
    unsafe fn read(from: *const u8) -> Self;
    fn write(self) -> [u64; 8];
    fn every32(self, word: u32) -> Self;
    fn every64(self, word: u64) -> Self;
    fn add32(self, other: Self) -> Self;
    fn add64(self, other: Self) -> Self;
    fn rotated32(self, bits: u32) -> Self;
    fn rotated64(self, bits: u32) -> Self;
    fn shifted32(self, bits: u32) -> Self;
    fn shifted64(self, bits: u32) -> Self;
    fn choose(self, yes: Self, no: Self) -> Self;
    fn majority(self, second: Self, third: Self) -> Self;
    fn exclusive(self, other: Self) -> Self;
    fn parity(self, second: Self, third: Self) -> Self;
    fn crossed(self, second: Self, third: Self) -> Self;
    /// The bytes of each word in the other order.
    fn swapped32(self) -> Self;
    fn swapped64(self) -> Self;
    /// Words of both in turn, of the lower and of the upper half of each 16 bytes.
    fn interleaved32(self, other: Self) -> (Self, Self);
    fn interleaved64(self, other: Self) -> (Self, Self);
    /// Rows become columns, whose elements are 16 bytes: as many vectors as a vector has elements, `step` apart.
    fn transpose(vectors: &mut [Self; 16], first: usize, step: usize);
}

/// Words of 32 bits.
#[derive(Clone, Copy)]
pub(super) struct Words<V>(V);

/// Words of 64 bits.
#[derive(Clone, Copy)]
pub(super) struct WideWords<V>(V);

macro_rules! lanes {
    ($lanes:ident, $word:ty, $wide:literal, $every:ident, $add:ident, $rotated:ident, $shifted:ident, $swapped:ident,
     $interleave:ident) => {
        impl<V: Vector> Lanes for $lanes<V> {
            const LANES: usize = V::BYTES / size_of::<$word>();
            const WIDE: bool = $wide;

            #[inline(always)]
            unsafe fn of(states: &[State], word: usize) -> Self {
                let words = column(states, word, $wide);
                // SAFETY: the array is as large as the largest vector, and the caller vouches for the processor.
                $lanes(unsafe { V::read(words.as_ptr().cast()) })
            }

            #[inline(always)]
            fn put(self, states: &mut [State], word: usize) {
                put_column(self.0.write(), states, word, $wide);
            }

            #[inline(always)]
            fn every(self, word: u64) -> Self {
                $lanes(self.0.$every(word as $word))
            }

            #[inline(always)]
            fn load(self, data: &[&[u8]], at: usize, big_endian: bool) -> [Self; 16] {
                let mut words = [self; 16];
                for part in 0..16 / Self::LANES {
                    let mut rows = [self.0; 16];
                    for (row, message) in rows.iter_mut().zip(data) {
                        let bytes = &message[at + part * V::BYTES..][..V::BYTES];
                        // SAFETY: there are as many bytes; this value has been made where the processor can.
                        let read = unsafe { V::read(bytes.as_ptr()) };
                        *row = if big_endian { read.$swapped() } else { read };
                    }
                    let in_sixteen = 16 / size_of::<$word>();
                    for group in (0..Self::LANES).step_by(in_sixteen) {
                        $interleave(&mut rows, group);
                    }
                    for word in 0..in_sixteen {
                        V::transpose(&mut rows, word, in_sixteen);
                    }
                    for (word, row) in words[part * Self::LANES..][..Self::LANES].iter_mut().zip(rows) {
                        *word = $lanes(row);
                    }
                }
                words
            }

            operations! {
                add(self, other: Self) = $lanes(self.0.$add(other.0));
                rotated(self, bits: u32) = $lanes(self.0.$rotated(bits));
                shifted(self, bits: u32) = $lanes(self.0.$shifted(bits));
                choose(self, yes: Self, no: Self) = $lanes(self.0.choose(yes.0, no.0));
                majority(self, second: Self, third: Self) = $lanes(self.0.majority(second.0, third.0));
                exclusive(self, other: Self) = $lanes(self.0.exclusive(other.0));
                parity(self, second: Self, third: Self) = $lanes(self.0.parity(second.0, third.0));
                crossed(self, second: Self, third: Self) = $lanes(self.0.crossed(second.0, third.0));
            }
        }
    };
}

lanes!(Words, u32, false, every32, add32, rotated32, shifted32, swapped32, interleave32);
lanes!(WideWords, u64, true, every64, add64, rotated64, shifted64, swapped64, interleave64);

/// The word of each state as a vector has it. A call for each word of a message costs nothing, copies in each engine do.
#[inline(never)]
fn column(states: &[State], word: usize, wide: bool) -> [u64; 8] {
    let mut column = [0; 8];
    for (lane, state) in states.iter().enumerate() {
        if wide {
            column[lane] = state[word];
        } else {
            column[lane / 2] |= state[word] << (32 * (lane % 2));
        }
    }
    column
}

/// Puts the words of a vector into the states.
#[inline(never)]
fn put_column(column: [u64; 8], states: &mut [State], word: usize, wide: bool) {
    for (lane, state) in states.iter_mut().enumerate() {
        state[word] = if wide { column[lane] } else { column[lane / 2] >> (32 * (lane % 2)) & 0xffff_ffff };
    }
}

/// Four rows of words become columns, within 16 bytes each.
#[inline(always)]
fn interleave32<V: Vector>(rows: &mut [V; 16], at: usize) {
    let (low, high) = rows[at].interleaved32(rows[at + 1]);
    let (low_too, high_too) = rows[at + 2].interleaved32(rows[at + 3]);
    (rows[at], rows[at + 1]) = low.interleaved64(low_too);
    (rows[at + 2], rows[at + 3]) = high.interleaved64(high_too);
}

/// The same of two rows of wide words.
#[inline(always)]
fn interleave64<V: Vector>(rows: &mut [V; 16], at: usize) {
    (rows[at], rows[at + 1]) = rows[at].interleaved64(rows[at + 1]);
}

/// Places of the bytes of words of 32 bits in the other order.
static SWAP32: [u8; 64] = swap(4);
static SWAP64: [u8; 64] = swap(8);

const fn swap(word_bytes: usize) -> [u8; 64] {
    let mut places = [0; 64];
    let mut place = 0;
    while place < 64 {
        // A shuffle counts within 16 bytes.
        places[place] = (place % 16 / word_bytes * word_bytes + word_bytes - 1 - place % word_bytes) as u8;
        place += 1;
    }
    places
}

/// The trait's operations: each is what its intrinsic does, and may be executed because a value exists.
macro_rules! instructions {
    ($($name:ident($self:ident $(, $other:ident: $kind:ty)*) -> $answer:ty = $made:expr;)*) => {
        $(#[inline(always)]
        fn $name($self $(, $other: $kind)*) -> $answer {
            // SAFETY: values are made only where the processor has the extension.
            unsafe { $made }
        })*
    };
}

impl Vector for __m512i {
    const BYTES: usize = 64;

    #[inline(always)]
    unsafe fn read(from: *const u8) -> __m512i {
        // SAFETY: as the caller vouches; the load needs no alignment.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    instructions! {
        write(self) -> [u64; 8] = std::mem::transmute(self);
        every32(self, word: u32) -> Self = _mm512_set1_epi32(word as i32);
        every64(self, word: u64) -> Self = _mm512_set1_epi64(word as i64);
        add32(self, other: Self) -> Self = _mm512_add_epi32(self, other);
        add64(self, other: Self) -> Self = _mm512_add_epi64(self, other);
        rotated32(self, bits: u32) -> Self = _mm512_rorv_epi32(self, _mm512_set1_epi32(bits as i32));
        rotated64(self, bits: u32) -> Self = _mm512_rorv_epi64(self, _mm512_set1_epi64(bits.into()));
        shifted32(self, bits: u32) -> Self = _mm512_srlv_epi32(self, _mm512_set1_epi32(bits as i32));
        shifted64(self, bits: u32) -> Self = _mm512_srlv_epi64(self, _mm512_set1_epi64(bits.into()));
        choose(self, yes: Self, no: Self) -> Self = _mm512_ternarylogic_epi32::<0xca>(self, yes, no);
        majority(self, second: Self, third: Self) -> Self = _mm512_ternarylogic_epi32::<0xe8>(self, second, third);
        exclusive(self, other: Self) -> Self = _mm512_xor_si512(self, other);
        parity(self, second: Self, third: Self) -> Self = _mm512_ternarylogic_epi32::<0x96>(self, second, third);
        crossed(self, second: Self, third: Self) -> Self = _mm512_ternarylogic_epi32::<0x2d>(self, second, third);
        swapped32(self) -> Self = _mm512_shuffle_epi8(self, Self::read(SWAP32.as_ptr()));
        swapped64(self) -> Self = _mm512_shuffle_epi8(self, Self::read(SWAP64.as_ptr()));
        interleaved32(self, other: Self) -> (Self, Self) =
            (_mm512_unpacklo_epi32(self, other), _mm512_unpackhi_epi32(self, other));
        interleaved64(self, other: Self) -> (Self, Self) =
            (_mm512_unpacklo_epi64(self, other), _mm512_unpackhi_epi64(self, other));
    }

    #[inline(always)]
    fn transpose(vectors: &mut [__m512i; 16], first: usize, step: usize) {
        let [zero, one] = [vectors[first], vectors[first + step]];
        let [two, three] = [vectors[first + 2 * step], vectors[first + 3 * step]];
        // SAFETY: values are made only where the processor has the extension.
        let columns = unsafe {
            let (low, high) =
                (_mm512_shuffle_i32x4::<0x44>(zero, one), _mm512_shuffle_i32x4::<0xee>(zero, one));
            let (low_too, high_too) =
                (_mm512_shuffle_i32x4::<0x44>(two, three), _mm512_shuffle_i32x4::<0xee>(two, three));
            [
                _mm512_shuffle_i32x4::<0x88>(low, low_too),
                _mm512_shuffle_i32x4::<0xdd>(low, low_too),
                _mm512_shuffle_i32x4::<0x88>(high, high_too),
                _mm512_shuffle_i32x4::<0xdd>(high, high_too),
            ]
        };
        for (column, vector) in columns.into_iter().enumerate() {
            vectors[first + column * step] = vector;
        }
    }
}

impl Vector for __m256i {
    const BYTES: usize = 32;

    #[inline(always)]
    unsafe fn read(from: *const u8) -> __m256i {
        // SAFETY: as the caller vouches; the load needs no alignment.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    instructions! {
        write(self) -> [u64; 8] = std::mem::transmute([self, _mm256_setzero_si256()]);
        every32(self, word: u32) -> Self = _mm256_set1_epi32(word as i32);
        every64(self, word: u64) -> Self = _mm256_set1_epi64x(word as i64);
        add32(self, other: Self) -> Self = _mm256_add_epi32(self, other);
        add64(self, other: Self) -> Self = _mm256_add_epi64(self, other);
        rotated32(self, bits: u32) -> Self = _mm256_or_si256(
            self.shifted32(bits),
            _mm256_sllv_epi32(self, _mm256_set1_epi32(32 - bits as i32)),
        );
        rotated64(self, bits: u32) -> Self = _mm256_or_si256(
            self.shifted64(bits),
            _mm256_sllv_epi64(self, _mm256_set1_epi64x(64 - i64::from(bits))),
        );
        shifted32(self, bits: u32) -> Self = _mm256_srlv_epi32(self, _mm256_set1_epi32(bits as i32));
        shifted64(self, bits: u32) -> Self = _mm256_srlv_epi64(self, _mm256_set1_epi64x(bits.into()));
        choose(self, yes: Self, no: Self) -> Self =
            _mm256_xor_si256(no, _mm256_and_si256(self, _mm256_xor_si256(yes, no)));
        majority(self, second: Self, third: Self) -> Self = _mm256_or_si256(
            _mm256_and_si256(self, second),
            _mm256_and_si256(third, _mm256_or_si256(self, second)),
        );
        exclusive(self, other: Self) -> Self = _mm256_xor_si256(self, other);
        parity(self, second: Self, third: Self) -> Self =
            _mm256_xor_si256(self, _mm256_xor_si256(second, third));
        crossed(self, second: Self, third: Self) -> Self = _mm256_xor_si256(
            self,
            _mm256_or_si256(second, _mm256_andnot_si256(third, _mm256_set1_epi32(-1))),
        );
        swapped32(self) -> Self = _mm256_shuffle_epi8(self, Self::read(SWAP32.as_ptr()));
        swapped64(self) -> Self = _mm256_shuffle_epi8(self, Self::read(SWAP64.as_ptr()));
        interleaved32(self, other: Self) -> (Self, Self) =
            (_mm256_unpacklo_epi32(self, other), _mm256_unpackhi_epi32(self, other));
        interleaved64(self, other: Self) -> (Self, Self) =
            (_mm256_unpacklo_epi64(self, other), _mm256_unpackhi_epi64(self, other));
    }

    #[inline(always)]
    fn transpose(vectors: &mut [__m256i; 16], first: usize, step: usize) {
        let (zero, one) = (vectors[first], vectors[first + step]);
        // SAFETY: values are made only where the processor has the extension.
        (vectors[first], vectors[first + step]) = unsafe {
            (_mm256_permute2x128_si256::<0x20>(zero, one), _mm256_permute2x128_si256::<0x31>(zero, one))
        };
    }
}
