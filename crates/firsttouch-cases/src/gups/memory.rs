//! Words that several threads change: what the language has no safe word for. Safe to call.

use std::sync::atomic::AtomicU64;

/// Words that several threads may change as long as nobody else has them.
pub(super) fn shared(words: &mut [u64]) -> &[AtomicU64] {
    const { assert!(align_of::<AtomicU64>() == align_of::<u64>()) };
    // SAFETY: an atomic word is laid out as a word, is aligned as one (checked above), and nobody sees the words in another way
    // while they are borrowed.
    unsafe { &*(std::ptr::from_mut(words) as *const [AtomicU64]) }
}
