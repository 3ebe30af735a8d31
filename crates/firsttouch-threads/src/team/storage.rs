//! One value for each group of a team.

use super::lock::lock;
use super::{Member, Team};
use crate::sync::Mutex;
use std::sync::PoisonError;

/// One value for each group of a team, made by the group's first member: what it touches first lies on the group's node.
///
/// ```
/// use firsttouch_threads::{PerGroup, Team};
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let mut team = Team::new(&[vec![0], vec![0]])?; // two groups, both on CPU 0
/// let counts = PerGroup::new(&mut team, |_| AtomicUsize::new(0));
/// team.run(|member| {
///     counts.of(member).fetch_add(1, Ordering::Relaxed);
/// });
/// assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
/// # Ok::<(), firsttouch_threads::TeamError>(())
/// ```
#[derive(Debug)]
pub struct PerGroup<T> {
    values: Vec<Apart<T>>,
}

/// On cache lines of its own, and of the neighbour line that processors fetch along with it.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

impl<T: Send> PerGroup<T> {
    /// Makes the value of every group.
    pub fn new(team: &mut Team, make: impl Fn(&Member<'_>) -> T + Sync) -> PerGroup<T> {
        let made: Vec<Mutex<Option<T>>> = team.group_sizes().iter().map(|_| Mutex::new(None)).collect();
        team.run(|member| {
            if member.index_in_group() == 0 {
                let value = make(member);
                *lock(&made[member.group()]) = Some(value);
            }
        });
        // Every group has a first member, and it has stored its value: a panic would have passed us by.
        let values =
            made.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
        PerGroup { values: values.map(Apart).collect() }
    }
}

impl<T> PerGroup<T> {
    /// The value of a member's group.
    ///
    /// # Panics
    /// For a member of another team that has more groups.
    pub fn of(&self, member: &Member<'_>) -> &T {
        &self.values[member.group()].0
    }

    /// The values, group after group.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.values.iter().map(|value| &value.0)
    }

    /// The values, group after group.
    pub fn into_values(self) -> Vec<T> {
        self.values.into_iter().map(|value| value.0).collect()
    }
}
