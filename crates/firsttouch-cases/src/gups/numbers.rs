//! The pseudo-random numbers of RandomAccess: powers of x modulo x^64 + x^2 + x + 1 over the field of two elements. The polynomial
//! is `POLY` of the HPC Challenge, x its first number, and each number the one before it, multiplied by x.

/// The polynomial without its highest term.
const POLYNOMIAL: u64 = 0b111;

/// The number after this one.
#[inline]
pub(super) fn next(number: u64) -> u64 {
    number << 1 ^ if number >> 63 == 1 { POLYNOMIAL } else { 0 }
}

/// The numbers after the one of that index; x^0 has index 0.
pub(super) fn after(index: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(next(power(index))), |number| Some(next(*number)))
}

/// x to that power.
fn power(exponent: u64) -> u64 {
    let bits = (0..u64::BITS - exponent.leading_zeros()).rev();
    bits.fold(1, |power, bit| {
        let squared = product(power, power);
        if exponent >> bit & 1 == 1 { next(squared) } else { squared }
    })
}

/// The product of two numbers: the first, shifted for each term of the second.
fn product(first: u64, second: u64) -> u64 {
    (0..u64::BITS).rev().fold(0, |sum, bit| next(sum) ^ if second >> bit & 1 == 1 { first } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_benchmark() {
        // The recurrence as it is printed, in signed words.
        let mut number = 1_i64;
        let mut at = Vec::new();
        for _ in 0..10_000 {
            number = (number << 1) ^ if number < 0 { 7 } else { 0 };
            at.push(number as u64);
        }
        for start in [0, 1, 2, 63, 64, 65, 1000, 9000] {
            assert!(after(start).take(1000).eq(at[start as usize..].iter().copied().take(1000)), "{start}");
        }
        // The benchmark gives the length of the whole cycle.
        assert_eq!(power(1_317_624_576_693_539_401), 1);
        assert_ne!(power(1_317_624_576_693_539_401 / 7), 1);
    }
}
