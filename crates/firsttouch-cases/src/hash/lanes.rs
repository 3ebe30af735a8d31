//! Words of several messages side by side: what the rounds of hash functions compute with, on any processor.

use super::algorithm::State;

/// A word of as many messages as there are lanes.
///
/// A vector's operations need an extension of the processor. Whoever has a value has been asked for that when the first was made
/// ([`Lanes::of`]); all others come from values. So the rounds themselves are safe code.
pub(super) trait Lanes: Copy {
    /// Messages side by side.
    const LANES: usize;
    /// Words are of 64 bits; otherwise of 32.
    const WIDE: bool;

    /// A word of each state.
    ///
    /// # Safety
    /// The processor has the extensions that the operations are made of.
    #[expect(unsafe_code, reason = "vectors need extensions")]
    unsafe fn of(states: &[State], word: usize) -> Self;

    /// Puts the word of each lane into its state.
    fn put(self, states: &mut [State], word: usize);

    /// The same word in each lane: the lower bits of that number.
    fn every(self, word: u64) -> Self;

    /// The 16 words of the block that begins `at` this byte of each message.
    fn load(self, data: &[&[u8]], at: usize, big_endian: bool) -> [Self; 16];

    /// The sum, modulo two to the word's bits.
    fn add(self, other: Self) -> Self;

    /// Rotated to the right by so many bits.
    fn rotated(self, bits: u32) -> Self;

    /// Shifted to the right by so many bits.
    fn shifted(self, bits: u32) -> Self;

    /// Where a bit of this is set, that of `yes`, otherwise that of `no`.
    fn choose(self, yes: Self, no: Self) -> Self;

    /// The bits that two at least of the three have.
    fn majority(self, second: Self, third: Self) -> Self;

    /// The bits that one of both has and the other has not.
    fn exclusive(self, other: Self) -> Self;

    /// The bits that an odd number of the three have.
    fn parity(self, second: Self, third: Self) -> Self;

    /// `self ^ (second | !third)`, the fourth function of MD5.
    fn crossed(self, second: Self, third: Self) -> Self;
}

/// A lane that any processor has.
pub(super) trait Plain: Lanes {}

impl Plain for u32 {}
impl Plain for u64 {}

/// Operations of the trait: what each makes of lanes.
macro_rules! operations {
    ($($name:ident($self:ident, $($argument:ident: $kind:ty),+) = $made:expr;)+) => {
        $(#[inline(always)]
        fn $name($self, $($argument: $kind),+) -> Self {
            $made
        })+
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use operations;

macro_rules! one_lane {
    ($word:ty, $wide:literal) => {
        #[expect(unsafe_code, reason = "the trait asks for what vectors need")]
        impl Lanes for $word {
            const LANES: usize = 1;
            const WIDE: bool = $wide;

            #[inline(always)]
            unsafe fn of(states: &[State], word: usize) -> $word {
                states[0][word] as $word
            }

            #[inline(always)]
            fn put(self, states: &mut [State], word: usize) {
                states[0][word] = self.into();
            }

            #[inline(always)]
            fn every(self, word: u64) -> $word {
                word as $word
            }

            #[inline(always)]
            fn load(self, data: &[&[u8]], at: usize, big_endian: bool) -> [$word; 16] {
                let (words, _) = data[0][at..][..16 * size_of::<$word>()].as_chunks();
                let read = if big_endian { <$word>::from_be_bytes } else { <$word>::from_le_bytes };
                std::array::from_fn(|word| read(words[word]))
            }

            operations! {
                add(self, other: $word) = self.wrapping_add(other);
                rotated(self, bits: u32) = self.rotate_right(bits);
                shifted(self, bits: u32) = self >> bits;
                choose(self, yes: $word, no: $word) = no ^ (self & (yes ^ no));
                majority(self, second: $word, third: $word) = (self & second) | (third & (self | second));
                exclusive(self, other: $word) = self ^ other;
                parity(self, second: $word, third: $word) = self ^ second ^ third;
                crossed(self, second: $word, third: $word) = self ^ (second | !third);
            }
        }
    };
}

one_lane!(u32, false);
one_lane!(u64, true);

/// Twice as many messages: two words of them in turn, so that the processor has the other to do where it would wait for the one.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Twice<L>(L, L);

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the trait asks for what vectors need")]
impl<L: Lanes> Lanes for Twice<L> {
    const LANES: usize = 2 * L::LANES;
    const WIDE: bool = L::WIDE;

    #[inline(always)]
    unsafe fn of(states: &[State], word: usize) -> Self {
        let (first, second) = states.split_at(L::LANES);
        // SAFETY: as the caller vouches.
        unsafe { Twice(L::of(first, word), L::of(second, word)) }
    }

    #[inline(always)]
    fn put(self, states: &mut [State], word: usize) {
        let (first, second) = states.split_at_mut(L::LANES);
        self.0.put(first, word);
        self.1.put(second, word);
    }

    #[inline(always)]
    fn every(self, word: u64) -> Self {
        let every = self.0.every(word);
        Twice(every, every)
    }

    #[inline(always)]
    fn load(self, data: &[&[u8]], at: usize, big_endian: bool) -> [Self; 16] {
        let (first, second) = data.split_at(L::LANES);
        let (first, second) = (self.0.load(first, at, big_endian), self.1.load(second, at, big_endian));
        std::array::from_fn(|word| Twice(first[word], second[word]))
    }

    operations! {
        add(self, other: Self) = Twice(self.0.add(other.0), self.1.add(other.1));
        rotated(self, bits: u32) = Twice(self.0.rotated(bits), self.1.rotated(bits));
        shifted(self, bits: u32) = Twice(self.0.shifted(bits), self.1.shifted(bits));
        choose(self, yes: Self, no: Self) = Twice(self.0.choose(yes.0, no.0), self.1.choose(yes.1, no.1));
        majority(self, second: Self, third: Self) =
            Twice(self.0.majority(second.0, third.0), self.1.majority(second.1, third.1));
        exclusive(self, other: Self) = Twice(self.0.exclusive(other.0), self.1.exclusive(other.1));
        parity(self, second: Self, third: Self) =
            Twice(self.0.parity(second.0, third.0), self.1.parity(second.1, third.1));
        crossed(self, second: Self, third: Self) =
            Twice(self.0.crossed(second.0, third.0), self.1.crossed(second.1, third.1));
    }
}
