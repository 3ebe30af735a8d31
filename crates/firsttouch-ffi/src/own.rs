//! What has threads behind it belongs to the process that made it: a child of fork(2) has a copy of the memory, but none
//! of the threads, and would wait for them for ever.

use core::mem::ManuallyDrop;

/// A value of the process that made it.
#[derive(Debug)]
pub(crate) struct Own<T> {
    value: ManuallyDrop<T>,
    process: u32,
}

impl<T> Own<T> {
    pub(crate) fn new(value: T) -> Own<T> {
        Own { value: ManuallyDrop::new(value), process: std::process::id() }
    }

    /// The value; `None` in any other process.
    pub(crate) fn get(&self) -> Option<&T> {
        self.is_here().then(|| &*self.value)
    }

    /// Takes the value out, as long as nothing else holds this; `None` in any other process, where it is forgotten.
    pub(crate) fn into_inner(mut self) -> Option<T> {
        let is_here = self.is_here();
        // No process has this number, so that the value is not dropped below.
        self.process = 0;
        // SAFETY: taken once, because this is consumed, and its drop finds another process's number.
        is_here.then(|| unsafe { ManuallyDrop::take(&mut self.value) })
    }

    fn is_here(&self) -> bool {
        self.process == std::process::id()
    }
}

impl<T> Drop for Own<T> {
    /// In another process the value is left as it is: its memory goes when the process ends.
    fn drop(&mut self) {
        if self.is_here() {
            // SAFETY: dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Own;
    use std::rc::Rc;

    #[test]
    fn a_value_is_dropped_once_and_only_where_it_was_made() {
        let value = Rc::new(());
        let own = Own::new(Rc::clone(&value));
        assert_eq!(own.get().map(Rc::strong_count), Some(2));
        drop(own);
        assert_eq!(Rc::strong_count(&value), 1);
        drop(Own::new(Rc::clone(&value)).into_inner());
        assert_eq!(Rc::strong_count(&value), 1);
        let mut others = Own::new(Rc::clone(&value));
        others.process = 1;
        assert!(others.get().is_none() && others.into_inner().is_none());
        assert_eq!(Rc::strong_count(&value), 2);
    }
}
