//! Streams: reading, writing and copying memory at the speed of the memory, by several means of which one is the fastest
//! here. Which one that is must be measured: it depends on the processor, and on what the hypervisor shows of it.

#[cfg(target_arch = "x86_64")]
use crate::simd;
use crate::simd::Stores;

/// The width of loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// What the compiler and the C library make of plain code.
    Plain,
    #[cfg(target_arch = "x86_64")]
    Sse2,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// One means of streaming. There are only those that this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    width: Width,
    stores: Stores,
}

impl Stream {
    /// Plain code, which every processor has.
    pub(crate) fn plain() -> Stream {
        Stream { width: Width::Plain, stores: Stores::Regular }
    }

    /// Every means this processor has, for reading (where stores make no difference).
    pub(crate) fn readers() -> Vec<Stream> {
        widths().into_iter().map(|width| Stream { width, stores: Stores::Regular }).collect()
    }

    /// Every means this processor has, for writing and copying.
    pub(crate) fn writers() -> Vec<Stream> {
        let streamed = widths().into_iter().filter(|width| *width != Width::Plain);
        let streamed = streamed.map(|width| Stream { width, stores: Stores::NonTemporal });
        streamed.chain(Stream::readers()).collect()
    }

    /// In words: `avx512`, `avx2 non-temporal`, or `plain` for what compiler and C library choose.
    pub(crate) fn words(self) -> String {
        match self.stores {
            Stores::Regular => self.width().to_owned(),
            Stores::NonTemporal => format!("{} non-temporal", self.width()),
        }
    }

    fn width(self) -> &'static str {
        match self.width {
            Width::Plain => "plain",
            #[cfg(target_arch = "x86_64")]
            Width::Sse2 => "sse2",
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Width::Avx512 => "avx512",
        }
    }

    /// Reads everything and adds it up, wrapping around.
    pub(crate) fn read(self, words: &[u64]) -> u64 {
        match self.width {
            Width::Plain => words.iter().fold(0, |sum, word| sum.wrapping_add(*word)),
            #[cfg(target_arch = "x86_64")]
            Width::Sse2 => simd::read_sse2(words),
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => simd::read_avx2(words),
            #[cfg(target_arch = "x86_64")]
            Width::Avx512 => simd::read_avx512(words),
        }
    }

    /// Writes zeroes.
    pub(crate) fn write(self, words: &mut [u64]) {
        match (self.width, self.stores) {
            (Width::Plain, _) => words.fill(0),
            #[cfg(target_arch = "x86_64")]
            (Width::Sse2, stores) => simd::write_sse2(words, stores),
            #[cfg(target_arch = "x86_64")]
            (Width::Avx2, stores) => simd::write_avx2(words, stores),
            #[cfg(target_arch = "x86_64")]
            (Width::Avx512, stores) => simd::write_avx512(words, stores),
        }
    }

    /// Copies as many words as the shorter one has.
    pub(crate) fn copy(self, from: &[u64], to: &mut [u64]) {
        let length = from.len().min(to.len());
        let (from, to) = (&from[..length], &mut to[..length]);
        match (self.width, self.stores) {
            (Width::Plain, _) => to.copy_from_slice(from),
            #[cfg(target_arch = "x86_64")]
            (Width::Sse2, stores) => simd::copy_sse2(from, to, stores),
            #[cfg(target_arch = "x86_64")]
            (Width::Avx2, stores) => simd::copy_avx2(from, to, stores),
            #[cfg(target_arch = "x86_64")]
            (Width::Avx512, stores) => simd::copy_avx512(from, to, stores),
        }
    }
}

/// The widths of this processor, the widest first.
fn widths() -> Vec<Width> {
    let mut widths = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            widths.push(Width::Avx512);
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            widths.push(Width::Avx2);
        }
        widths.push(Width::Sse2);
    }
    widths.push(Width::Plain);
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths around whole blocks, and a start that no vector likes.
    const LENGTHS: [usize; 6] = [0, 1, 63, 64, 129, 4096 + 5];

    fn numbers(length: usize) -> Vec<u64> {
        (0..length as u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
    }

    #[test]
    fn every_means_reads_everything_once() {
        for length in LENGTHS {
            for offset in [0, 1, 3] {
                let words = numbers(length + offset);
                let words = &words[offset..];
                let naive = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word));
                for stream in Stream::readers() {
                    assert_eq!(stream.read(words), naive, "{stream:?} {length} {offset}");
                }
            }
        }
    }

    #[test]
    fn every_means_writes_and_copies_that_and_nothing_else() {
        for length in LENGTHS {
            for offset in [0, 1, 3] {
                for stream in Stream::writers() {
                    let from = numbers(length + 3);
                    let mut to = vec![1; length + 8];
                    stream.copy(&from[3..], &mut to[offset..offset + length]);
                    assert_eq!(to[offset..offset + length], from[3..], "{stream:?} {length} {offset}");
                    stream.write(&mut to[offset..offset + length]);
                    assert!(to[offset..offset + length].iter().all(|word| *word == 0), "{stream:?}");
                    assert!(
                        to[..offset].iter().chain(&to[offset + length..]).all(|word| *word == 1),
                        "{stream:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_copy_ends_with_the_shorter() {
        for stream in Stream::writers() {
            let mut to = [0; 2];
            stream.copy(&[1, 2, 3], &mut to);
            assert_eq!(to, [1, 2]);
            stream.copy(&[4], &mut to);
            assert_eq!(to, [4, 2]);
        }
    }
}
