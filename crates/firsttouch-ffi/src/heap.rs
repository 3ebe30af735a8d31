//! The heap that placed blocks lie on.

use firsttouch_memory::Heap;

/// The one heap of the process.
pub(crate) static HEAP: Heap = Heap::new();
