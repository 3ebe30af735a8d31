//! The field of 256 elements: bytes are polynomials over the field of two, modulo x^8 + x^4 + x^3 + x^2 + 1.

use super::{DATA, PARITY};

/// What each block of data counts in each target.
pub(super) type Matrix = [[u8; DATA]; PARITY];

/// The polynomial without its highest term.
const POLYNOMIAL: u8 = 0x1d;

/// A product.
pub(super) const fn product(mut first: u8, mut second: u8) -> u8 {
    let mut sum = 0;
    while second != 0 {
        if second & 1 == 1 {
            sum ^= first;
        }
        first = first << 1 ^ if first >> 7 == 1 { POLYNOMIAL } else { 0 };
        second >>= 1;
    }
    sum
}

/// The element by which this one is multiplied to 1: its 254th power. That of 0 is 0.
fn inverse(element: u8) -> u8 {
    (0..254).fold(1, |power, _| product(power, element))
}

/// The coefficients of the parity: of parity i and block j the inverse of their difference, counted one after the other.
pub(super) fn parity() -> Matrix {
    std::array::from_fn(|row| std::array::from_fn(|column| inverse((DATA + row) as u8 ^ column as u8)))
}

/// The coefficients that make lost blocks again, of all blocks with the parity in the place of those lost.
pub(super) fn rebuilding(lost: [usize; PARITY]) -> Matrix {
    // What is known is a square matrix times what is wanted: rows of one block each, or of parity. Gauss and Jordan's steps turn
    // it into the identity, and the identity into its inverse.
    let parity = parity();
    let mut known: [[u8; DATA]; DATA] =
        std::array::from_fn(|row| match lost.iter().position(|block| *block == row) {
            Some(number) => parity[number],
            None => std::array::from_fn(|column| u8::from(column == row)),
        });
    let mut inverted: [[u8; DATA]; DATA] =
        std::array::from_fn(|row| std::array::from_fn(|column| u8::from(column == row)));
    for column in 0..DATA {
        let pivot = (column..DATA).find(|row| known[*row][column] != 0);
        let pivot = pivot.expect("every square part of a Cauchy matrix can be inverted");
        known.swap(column, pivot);
        inverted.swap(column, pivot);
        let factor = inverse(known[column][column]);
        for rows in [&mut known, &mut inverted] {
            rows[column] = rows[column].map(|element| product(factor, element));
        }
        for row in (0..DATA).filter(|row| *row != column) {
            let factor = known[row][column];
            for rows in [&mut known, &mut inverted] {
                let by = rows[column];
                rows[row].iter_mut().zip(by).for_each(|(element, by)| *element ^= product(factor, by));
            }
        }
    }
    lost.map(|block| inverted[block])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_field() {
        // Powers of 2 as every table of this field has them.
        let powers: [u8; 9] =
            std::array::from_fn(|exponent| (0..exponent).fold(128, |power, _| product(power, 2)));
        assert_eq!(powers, [128, 29, 58, 116, 232, 205, 135, 19, 38]);
        for first in 0..=255 {
            assert_eq!(product(first, inverse(first)), u8::from(first != 0));
            for second in 0..=255 {
                assert_eq!(product(first, second), product(second, first));
                assert_eq!(product(first, second ^ 7), product(first, second) ^ product(first, 7));
            }
        }
    }

    #[test]
    fn any_three_blocks_come_back() {
        let data: [u8; DATA] = [1, 0, 255, 7, 7, 100, 29, 128, 3];
        let times = |matrix: &Matrix, blocks: &[u8; DATA]| {
            matrix.map(|row| {
                row.iter().zip(blocks).fold(0, |sum, (factor, block)| sum ^ product(*factor, *block))
            })
        };
        let parity = times(&parity(), &data);
        for lost in (0..512_usize).filter(|set| set.count_ones() == 3) {
            let lost: Vec<usize> = (0..DATA).filter(|block| lost >> block & 1 == 1).collect();
            let lost: [usize; PARITY] = lost.try_into().unwrap();
            let mut left = data;
            lost.iter().zip(parity).for_each(|(block, parity)| left[*block] = parity);
            assert_eq!(times(&rebuilding(lost), &left), lost.map(|block| data[block]), "{lost:?}");
        }
    }
}
