//! A sort.

use std::cmp::Ordering;

/// Sorts values; those that compare equal keep their order. The sort itself is compiled once for all types, and calls for each
/// comparison.
pub fn sort_by<T>(values: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let order = order(values.len(), &|one, other| compare(&values[one], &values[other]));
    for at in 0..order.len() {
        // What was here has been exchanged for something behind it, perhaps several times.
        let mut from = order[at];
        while from < at {
            from = order[from];
        }
        values.swap(at, from);
    }
}

/// Sorts values by what `key` says of them, as [`sort_by`].
pub fn sort_by_key<T, K: Ord>(values: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(values, |one, other| key(one).cmp(&key(other)));
}

/// The numbers from 0 on in the order of what they stand for.
fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|one, other| compare(*one, *other));
    order
}

#[cfg(test)]
mod tests {
    use super::{sort_by, sort_by_key};

    #[test]
    fn values_are_sorted_and_equal_ones_keep_their_order() {
        for count in 0..100_usize {
            let values: Vec<(usize, usize)> = (0..count).map(|at| (at * 7919 % 13, at)).collect();
            let (mut by_key, mut all, mut like) = (values.clone(), values.clone(), values);
            sort_by_key(&mut by_key, |value| value.0);
            sort_by(&mut all, |one, other| other.cmp(one));
            like.sort_by_key(|value| value.0);
            assert_eq!(by_key, like);
            like.sort_by(|one, other| other.cmp(one));
            assert_eq!(all, like);
        }
    }
}
