//! A set.

use crate::sort_by;
use std::borrow::Borrow;
use std::ops::Deref;
use std::slice;
use std::vec;

/// A set whose members lie in ascending order. As a slice it is all of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SortedSet<T>(Vec<T>);

impl<T: Ord> SortedSet<T> {
    /// One without members.
    #[must_use]
    pub const fn new() -> SortedSet<T> {
        SortedSet(Vec::new())
    }

    /// Whether this is a member.
    #[must_use]
    pub fn contains<Q: Ord + ?Sized>(&self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.binary_search_by(|own| own.borrow().cmp(member)).is_ok()
    }

    /// Takes a member in; false if it was one.
    pub fn insert(&mut self, member: T) -> bool {
        let place = self.0.binary_search(&member);
        if let Err(place) = place {
            self.0.insert(place, member);
        }
        place.is_err()
    }

    /// Whether all members are members of another set.
    #[must_use]
    pub fn is_subset(&self, other: &SortedSet<T>) -> bool {
        self.0.iter().all(|member| other.contains(member))
    }

    /// Whether no member is one of another set.
    #[must_use]
    pub fn is_disjoint(&self, other: &SortedSet<T>) -> bool {
        !self.0.iter().any(|member| other.contains(member))
    }

    /// All members, in ascending order.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T: Ord> Default for SortedSet<T> {
    fn default() -> SortedSet<T> {
        SortedSet::new()
    }
}

impl<T> Deref for SortedSet<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, members: I) {
        self.0.extend(members);
        if !self.0.is_sorted_by(|one, next| one < next) {
            sort_by(&mut self.0, T::cmp);
            self.0.dedup();
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> SortedSet<T> {
        let mut set = SortedSet::new();
        set.extend(members);
        set
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> vec::IntoIter<T> {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> slice::Iter<'a, T> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::SortedSet;
    use std::collections::BTreeSet;

    #[test]
    fn it_holds_what_the_set_of_the_standard_library_holds() {
        let (mut own, mut like) = (SortedSet::new(), BTreeSet::new());
        for member in (0..200_u32).map(|at| at * 7919 % 131) {
            assert_eq!(own.insert(member), like.insert(member));
            assert_eq!(own.contains(&(member / 2)), like.contains(&(member / 2)));
        }
        let all: SortedSet<u32> = (0..200_u32).map(|at| at * 7919 % 131).collect();
        assert_eq!(all, own);
        let (few, others) = (SortedSet::from_iter([7, 5]), SortedSet::from_iter([5, 200]));
        assert!(few.is_subset(&all) && !others.is_subset(&all) && !few.is_disjoint(&others));
        assert!(SortedSet::from_iter([200]).is_disjoint(&all));
        assert!(own.iter().eq(&like) && own.into_vec().into_iter().eq(like));
    }
}
