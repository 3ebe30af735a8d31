//! The GNU C library's `rand`, so that programs that draw from it can be repeated exactly.

/// How many numbers the generator looks back.
const DEGREE: usize = 31;
const SEPARATION: usize = 3;
/// Numbers that are drawn and dropped after seeding.
const DROPPED: usize = 10 * DEGREE;

/// The additive feedback generator behind `srand` and `rand` (TYPE_3 in random_r.c): `x[i] = x[i-3] + x[i-31]`, begun by Park
/// and Miller's multiplicative one.
#[derive(Clone, Debug)]
pub struct Rand {
    state: [u32; DEGREE],
    next: usize,
}

impl Rand {
    /// The greatest number it draws.
    pub const MAX: u32 = 0x7fff_ffff;

    /// As after `srand(seed)`.
    #[must_use]
    pub fn new(seed: u32) -> Rand {
        let mut state = [0; DEGREE];
        // The library takes 1 for 0, which would stay 0 for ever.
        let mut word = i64::from(if seed == 0 { 1 } else { seed as i32 });
        for entry in &mut state {
            *entry = word as u32;
            word = (16_807 * word) % 2_147_483_647;
            if word < 0 {
                word += 2_147_483_647;
            }
        }
        let mut rand = Rand { state, next: SEPARATION };
        for _ in 0..DROPPED {
            rand.draw();
        }
        rand
    }

    /// The next number, from 0 to [`Rand::MAX`].
    pub fn draw(&mut self) -> u32 {
        let lagging = (self.next + DEGREE - SEPARATION) % DEGREE;
        self.state[self.next] = self.state[self.next].wrapping_add(self.state[lagging]);
        let drawn = self.state[self.next] >> 1;
        self.next = (self.next + 1) % DEGREE;
        drawn
    }

    /// The next number as a share of the greatest, from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        f64::from(self.draw()) / f64::from(Rand::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a C program prints after `srand(1)` and `srand(12345)`.
    #[test]
    fn numbers_are_those_of_the_library() {
        let drawn = |seed| {
            let mut rand = Rand::new(seed);
            [rand.draw(), rand.draw(), rand.draw()]
        };
        assert_eq!(drawn(1), [1_804_289_383, 846_930_886, 1_681_692_777]);
        assert_eq!(drawn(0), drawn(1));
        assert_eq!(drawn(12_345), [383_100_999, 858_300_821, 357_768_173]);
    }
}
