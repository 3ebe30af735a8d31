//! A map.

use crate::sort_by;
use std::borrow::Borrow;
use std::ops::{Deref, Index};
use std::slice;
use std::vec;

/// A map whose entries lie in ascending order of their keys. As a slice it is all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

impl<K: Ord, V> SortedMap<K, V> {
    /// One without entries.
    #[must_use]
    pub const fn new() -> SortedMap<K, V> {
        SortedMap(Vec::new())
    }

    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0.binary_search_by(|(own, _)| own.borrow().cmp(key))
    }

    /// The value of a key.
    #[must_use]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| &self.0[place].1)
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| &mut self.0[place].1)
    }

    /// Whether there is such a key.
    #[must_use]
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Gives a key its value; answers the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => Some(std::mem::replace(&mut self.0[place].1, value)),
            Err(place) => {
                self.0.insert(place, (key, value));
                None
            }
        }
    }

    /// Takes a key out; answers its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| self.0.remove(place).1)
    }

    /// The place of a key, whether something is there or not.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        Entry { map: self, key }
    }

    /// The entries from a key on, whether it is there or not.
    #[must_use]
    pub fn from_key<Q: Ord + ?Sized>(&self, key: &Q) -> &[(K, V)]
    where
        K: Borrow<Q>,
    {
        &self.0[self.place(key).unwrap_or_else(|place| place)..]
    }

    /// The keys, in ascending order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values, in ascending order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// The values, in ascending order of their keys, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// The values, in ascending order of their keys.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.0.into_iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> Default for SortedMap<K, V> {
    fn default() -> SortedMap<K, V> {
        SortedMap::new()
    }
}

impl<K, V> Deref for SortedMap<K, V> {
    type Target = [(K, V)];

    fn deref(&self) -> &[(K, V)] {
        &self.0
    }
}

impl<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized> Index<&Q> for SortedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key is there")
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    /// Of several entries with a key the last one stays.
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.0.extend(entries);
        if !self.0.is_sorted_by(|(one, _), (next, _)| one < next) {
            self.0.reverse();
            sort_by(&mut self.0, |(one, _), (other, _)| one.cmp(other));
            self.0.dedup_by(|(one, _), (before, _)| one == before);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> SortedMap<K, V> {
        let mut map = SortedMap::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> SortedMap<K, V> {
        entries.into_iter().collect()
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = vec::IntoIter<(K, V)>;

    fn into_iter(self) -> vec::IntoIter<(K, V)> {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = &'a (K, V);
    type IntoIter = slice::Iter<'a, (K, V)>;

    fn into_iter(self) -> slice::Iter<'a, (K, V)> {
        self.0.iter()
    }
}

/// The place of a key in a map.
#[derive(Debug)]
pub struct Entry<'a, K, V> {
    map: &'a mut SortedMap<K, V>,
    key: K,
}

impl<'a, K: Ord, V> Entry<'a, K, V> {
    /// The value that is there, or else this one.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        let Entry { map, key } = self;
        let place = map.place(&key).unwrap_or_else(|place| {
            map.0.insert(place, (key, value()));
            place
        });
        &mut map.0[place].1
    }

    /// The value that is there, or else this one.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value that is there, or else that of its type.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

#[cfg(test)]
mod tests {
    use super::SortedMap;
    use std::collections::BTreeMap;

    /// Keys in no order, some of them twice.
    fn entries() -> impl Iterator<Item = (u32, usize)> {
        (0..200_usize).map(|at| ((at * 7919 % 131) as u32, at))
    }

    #[test]
    fn it_holds_what_the_map_of_the_standard_library_holds() {
        let (mut own, mut like) = (SortedMap::new(), BTreeMap::new());
        for (key, value) in entries() {
            assert_eq!(own.insert(key, value), like.insert(key, value));
            assert_eq!(own.get(&(key / 2)), like.get(&(key / 2)));
            assert_eq!(own.remove(&(key / 3)), like.remove(&(key / 3)));
            *own.entry(key / 5).or_default() += value;
            *like.entry(key / 5).or_default() += value;
        }
        assert!(!own.is_empty() && own.len() == like.len());
        assert!(own.keys().eq(like.keys()) && own.values().eq(like.values()));
        for key in 0..140 {
            assert_eq!(own.contains_key(&key), like.contains_key(&key));
            assert_eq!(own.get_mut(&key), like.get_mut(&key));
        }
        assert!(own.into_iter().eq(like));
    }

    #[test]
    fn of_several_entries_with_a_key_the_last_one_stays() {
        let mut own: SortedMap<u32, usize> = entries().take(100).collect();
        own.extend(entries().skip(100));
        let like: BTreeMap<u32, usize> = entries().collect();
        assert!(own.from_key(&60).iter().map(|(key, _)| key).eq(like.range(60..).map(|(key, _)| key)));
        assert!(own.into_iter().eq(like));
    }
}
