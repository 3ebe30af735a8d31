//! The range of address space that all placed blocks lie in, so that two comparisons tell them from everything else.

use crate::pages::GIGANTIC;
use firsttouch_linux::sys;

/// Where an unreserved span begins: far from the program, the heap and the kernel's own choices, which grow down from
/// the top of the address space.
const UNRESERVED_BASE: usize = 0x1000_0000_0000;
/// An arena is never larger than this.
const LARGEST_PART_BYTES: usize = 4 << 40;

/// Address space in equal parts, one for each arena.
#[derive(Debug)]
pub(crate) struct Span {
    /// First address, a multiple of 1 GiB.
    pub(crate) base: usize,
    /// Bytes of each part, a multiple of 1 GiB.
    pub(crate) part_bytes: usize,
    parts: usize,
    /// Held by a mapping without access. Not so where a limit rations address space: a reservation would be taken
    /// from the program. Then each chunk is mapped only if its place is free.
    pub(crate) reserved: bool,
    /// Physical memory of the machine.
    pub(crate) machine_bytes: usize,
}

impl Span {
    /// Four times the machine's memory for each part, so that fragmentation of addresses never matters.
    pub(crate) fn reserve(parts: usize) -> Option<Span> {
        let machine_bytes = machine_bytes();
        let wanted = machine_bytes.saturating_mul(4).max(64 << 30);
        if let Some(limit) = sys::address_space_limit() {
            let part_bytes = limit.min(wanted).clamp(GIGANTIC, LARGEST_PART_BYTES).next_multiple_of(GIGANTIC);
            return Some(Span { base: UNRESERVED_BASE, part_bytes, parts, reserved: false, machine_bytes });
        }
        let mut part_bytes = wanted.min(LARGEST_PART_BYTES).next_multiple_of(GIGANTIC);
        while part_bytes >= GIGANTIC {
            let bytes = parts * part_bytes + GIGANTIC;
            // SAFETY: a new mapping without access, at an address of the kernel's choice.
            if let Ok(at) = unsafe { sys::map_anonymous(0, bytes, libc::PROT_NONE, libc::MAP_NORESERVE) } {
                let base = at.next_multiple_of(GIGANTIC);
                let end = base + parts * part_bytes;
                // SAFETY: the parts of the reservation before and after the aligned one; then keeps the rest out of
                // core files. No contents change.
                unsafe {
                    if base > at {
                        let _ = sys::unmap(at, base - at);
                    }
                    if at + bytes > end {
                        let _ = sys::unmap(end, at + bytes - end);
                    }
                    let _ = sys::advise(base, end - base, libc::MADV_DONTDUMP);
                }
                return Some(Span { base, part_bytes, parts, reserved: true, machine_bytes });
            }
            part_bytes = (part_bytes / 2) / GIGANTIC * GIGANTIC;
        }
        None
    }

    pub(crate) fn bytes(&self) -> usize {
        self.parts * self.part_bytes
    }

    /// First address of a part.
    pub(crate) fn part(&self, index: usize) -> usize {
        self.base + index * self.part_bytes
    }
}

fn machine_bytes() -> usize {
    // SAFETY: all zeroes is a valid `sysinfo`, which the call fills in.
    let mut info: libc::sysinfo = unsafe { core::mem::zeroed() };
    // SAFETY: the address is that of the structure.
    match unsafe { sys::call(libc::SYS_sysinfo, [&raw mut info as usize, 0, 0, 0, 0, 0]) } {
        Ok(_) => (info.totalram as usize).saturating_mul(info.mem_unit as usize),
        Err(_) => GIGANTIC,
    }
}
