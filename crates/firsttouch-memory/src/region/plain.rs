//! Memory seen as numbers.

/// Elements that any bytes are: numbers, and arrays of such.
///
/// # Safety
/// Every pattern of bytes is a value, all zeroes too; there is no padding and nothing to be dropped.
pub unsafe trait PlainData: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($number:ty),*) => {
        $(
            // SAFETY: every pattern of its bits is a number.
            unsafe impl PlainData for $number {}
        )*
    };
}

plain!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64);

// SAFETY: elements without padding between them.
unsafe impl<T: PlainData, const COUNT: usize> PlainData for [T; COUNT] {}

/// Bytes of an element, which has some and whose alignment is met by a page.
pub(super) const fn element_bytes<T: PlainData>() -> usize {
    const { assert!(size_of::<T>() > 0 && align_of::<T>() <= crate::pages::BASE) };
    size_of::<T>()
}
