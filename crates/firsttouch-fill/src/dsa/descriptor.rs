//! What is written to the device, and what it answers: the layouts of the DSA architecture specification, as the kernel's
//! header linux/idxd.h has them.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

const OPCODE_BATCH: u8 = 1;
const OPCODE_MEMFILL: u8 = 4;
/// The completion address is valid, and a completion is wanted.
const COMPLETION: u32 = 0x4 | 0x8;

/// Work for the device: 64 bytes.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Descriptor {
    /// Whose memory it is: the kernel or the processor fills it in.
    owner: u32,
    flags_and_opcode: u32,
    completion: u64,
    /// The bytes to be written, or where the descriptors of a batch are.
    pattern_or_list: u64,
    target: u64,
    /// Bytes, or the number of descriptors.
    count: u32,
    rest: [u32; 7],
}

const _: () = assert!(size_of::<Descriptor>() == 64);

impl Descriptor {
    /// Fills memory with eight bytes again and again. Page faults end it: it does not wait for them (the flag `BOF` is not
    /// set), and what is written goes to memory, not to the cache (`CC` is not set).
    pub(super) fn fill(start: usize, bytes: u32, value: u8, completion: &Completion) -> Descriptor {
        Descriptor {
            flags_and_opcode: head(OPCODE_MEMFILL),
            completion: completion.address(),
            pattern_or_list: u64::from_ne_bytes([value; 8]),
            target: start as u64,
            count: bytes,
            ..Descriptor::default()
        }
    }

    /// Does what several descriptors say, in any order; they must stay where they are until it is complete.
    pub(super) fn batch(list: &[Descriptor], completion: &Completion) -> Descriptor {
        Descriptor {
            flags_and_opcode: head(OPCODE_BATCH),
            completion: completion.address(),
            pattern_or_list: list.as_ptr() as u64,
            count: list.len() as u32,
            ..Descriptor::default()
        }
    }
}

fn head(opcode: u8) -> u32 {
    COMPLETION | u32::from(opcode) << 24
}

/// Where the device says how it went: 32 bytes.
#[repr(C, align(32))]
#[derive(Debug, Default)]
pub(super) struct Completion {
    /// Written last; 0 until then.
    status: AtomicU8,
    result: AtomicU8,
    reserved: [u8; 2],
    bytes: AtomicU32,
    fault_address: AtomicU64,
    rest: [u64; 2],
}

const _: () = assert!(size_of::<Completion>() == 32);

/// How a descriptor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// All was done.
    Whole,
    /// A page was not there. What was written before it, in bytes.
    Fault(u32),
    /// The device refused it, or failed: the status as the specification numbers it.
    Refused(u8),
}

impl Completion {
    /// The device is to write it (again).
    pub(super) fn reset(&self) {
        self.bytes.store(0, Ordering::Relaxed);
        self.status.store(0, Ordering::Relaxed);
    }

    fn address(&self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    /// How it ended; `None` while it has not.
    pub(super) fn ended(&self) -> Option<Ended> {
        const SUCCESS: u8 = 1;
        const PAGE_FAULT: u8 = 3;
        /// The fault was one of writing.
        const WRITE: u8 = 0x80;
        match self.status.load(Ordering::Acquire) {
            0 => None,
            SUCCESS => Some(Ended::Whole),
            status if status & !WRITE == PAGE_FAULT => Some(Ended::Fault(self.bytes.load(Ordering::Relaxed))),
            status => Some(Ended::Refused(status)),
        }
    }
}
