//! The hash functions: what differs between them but their rounds.

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// RFC 1321.
    Md5,
    /// FIPS 180-4, as the two below.
    Sha1,
    Sha256,
    Sha512,
}

/// The chaining value of a message: as many words as the function has, each of 32 or 64 bits; the rest is 0.
pub(super) type State = [u64; 8];

/// A digest, from its first byte on; what it is shorter than this is 0.
pub(super) type Digest = [u8; 64];

impl Algorithm {
    pub(super) const WORDS: &'static [&'static str] = &["md5", "sha1", "sha256", "sha512"];

    /// The algorithm of one of these words.
    pub(super) fn of(word: &str) -> Algorithm {
        match word {
            "md5" => Algorithm::Md5,
            "sha1" => Algorithm::Sha1,
            "sha256" => Algorithm::Sha256,
            _ => Algorithm::Sha512,
        }
    }

    /// Bytes of a block.
    pub(super) fn block_bytes(self) -> usize {
        16 * self.word_bytes()
    }

    /// Bytes of a digest.
    pub(super) fn digest_bytes(self) -> usize {
        match self {
            Algorithm::Md5 => 16,
            Algorithm::Sha1 => 20,
            Algorithm::Sha256 => 32,
            Algorithm::Sha512 => 64,
        }
    }

    /// The chaining value before the first block.
    pub(super) fn initial(self) -> State {
        match self {
            Algorithm::Md5 => [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0, 0, 0, 0],
            Algorithm::Sha1 => [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0, 0, 0, 0],
            Algorithm::Sha256 => SQUARE_ROOTS.map(|word| word >> 32),
            Algorithm::Sha512 => SQUARE_ROOTS,
        }
    }

    /// What follows the whole blocks of a message of `length` bytes that ends with `rest`: one or two blocks.
    pub(super) fn pad(self, rest: &[u8], length: usize) -> ([u8; 256], usize) {
        let (block, length_bytes) = (self.block_bytes(), 2 * self.word_bytes());
        let bytes = (rest.len() + 1 + length_bytes).next_multiple_of(block);
        let mut padded = [0; 256];
        padded[..rest.len()].copy_from_slice(rest);
        padded[rest.len()] = 0x80;
        let bits = 8 * length as u64;
        let (place, bits) =
            if self.big_endian() { (bytes - 8, bits.to_be_bytes()) } else { (bytes - 8, bits.to_le_bytes()) };
        padded[place..place + 8].copy_from_slice(&bits);
        (padded, bytes)
    }

    /// The digest that a last chaining value is.
    pub(super) fn digest(self, state: &State) -> Digest {
        let mut digest = [0; 64];
        let (words, width) = (self.digest_bytes() / self.word_bytes(), self.word_bytes());
        for (bytes, word) in digest.chunks_exact_mut(width).zip(&state[..words]) {
            if self.big_endian() {
                bytes.copy_from_slice(&word.to_be_bytes()[8 - width..]);
            } else {
                bytes.copy_from_slice(&word.to_le_bytes()[..width]);
            }
        }
        digest
    }

    fn word_bytes(self) -> usize {
        if self == Algorithm::Sha512 { 8 } else { 4 }
    }

    fn big_endian(self) -> bool {
        self != Algorithm::Md5
    }
}

/// The first 64 bits of the fractions of the square roots of the first 8 primes. SHA-512 begins with them, SHA-256 with their
/// upper halves.
const SQUARE_ROOTS: State = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];
