//! The names of regions.

use core::ffi::CStr;
use core::fmt;
use firsttouch_linux::sys;

/// With the zero byte at the end; the kernel's limit.
const MOST_BYTES: usize = 80;

/// A name, or none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Name([u8; MOST_BYTES]);

/// Whether a region's name is to be seen in `/proc/PID/maps`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// It was given none.
    #[default]
    Unnamed,
    /// It shows.
    Shown,
    /// The kernel does not take it.
    Hidden {
        /// The kernel's error number: `EINVAL` before Linux 5.17, or where it is built without names.
        errno: i32,
    },
}

impl Name {
    pub(super) const NONE: Name = Name([0; MOST_BYTES]);

    /// As much of it as fits, up to a zero byte.
    pub(super) fn cut(name: &str) -> Name {
        let mut bytes = [0; MOST_BYTES];
        let kept = name.bytes().take(MOST_BYTES - 1).take_while(|byte| *byte != 0);
        bytes.iter_mut().zip(kept).for_each(|(to, byte)| *to = byte);
        Name(bytes)
    }

    pub(super) fn as_c_str(&self) -> &CStr {
        // The last byte is always zero.
        CStr::from_bytes_until_nul(&self.0).unwrap_or(c"")
    }

    pub(super) fn is_none(&self) -> bool {
        self.0[0] == 0
    }

    /// Names memory.
    pub(super) fn give(&self, address: usize, bytes: usize) -> Naming {
        if self.is_none() {
            return Naming::Unnamed;
        }
        match sys::name_memory(address, bytes, self.as_c_str()) {
            Ok(_) => Naming::Shown,
            Err(errno) => Naming::Hidden { errno },
        }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_c_str().fmt(f)
    }
}
