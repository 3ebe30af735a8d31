//! The range of address space that all placed blocks lie in, so that their addresses tell them from everything else.

use crate::lines::Lines;
use crate::pages::GIGANTIC;
use firsttouch_linux::sys;

/// Spans lie in the region of addresses from 32 to 64 TiB: far from the program, its heap and the kernel's own choices,
/// which grow down from the top of the address space, and above the addresses that other allocators ask for. That the
/// region is fixed makes it one shift and one comparison, without a load, to tell the blocks of others in `free`.
const REGION_SHIFT: u32 = 45;
const REGION_BASE: usize = 1 << REGION_SHIFT;
const REGION_BYTES: usize = 1 << REGION_SHIFT;
/// An arena is never larger than this.
const LARGEST_PART_BYTES: usize = 4 << 40;

/// Whether an address lies where spans do. Another heap's blocks do as well, and what a program maps there on purpose.
#[inline(always)]
pub fn may_be_placed(address: *const u8) -> bool {
    address as usize >> REGION_SHIFT == REGION_BASE >> REGION_SHIFT
}

/// Whether the program is emulated (qemu-user): the pages are then the emulator's to get, which takes no advice, and before QEMU 8.0
/// keeps 40 bytes for every page that is reserved. A kernel lays the first stack at the top of the addresses that there are, whatever their
/// number; an emulator has it amid its own.
pub fn is_emulated() -> bool {
    // SAFETY: reads the auxiliary vector.
    is_below_the_top(unsafe { libc::getauxval(libc::AT_RANDOM) } as usize)
}

/// Whether an address is not in the highest eighth of those of as many bits.
fn is_below_the_top(address: usize) -> bool {
    let top = usize::MAX.checked_shr(address.leading_zeros()).unwrap_or(0);
    address < top / 8 * 7
}

/// What decides how much address space there is for a span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Physical memory of the machine.
    machine_bytes: usize,
    /// There is a limit of address space or data, or the program locks all that is mapped, or an emulator counts the pages reserved.
    is_limited: bool,
    is_strict: bool,
}

impl Room {
    /// Asks the kernel.
    pub(crate) fn ask() -> Room {
        Room {
            machine_bytes: machine_bytes(),
            // A limit on data counts no reservation, but not what is mapped in its place either, of which the program then has less.
            is_limited: sys::mappings_are_limited() || is_emulated(),
            is_strict: is_strict(),
        }
    }

    /// Without a reservation, whatever the limit is.
    pub(crate) fn rationed() -> Room {
        Room { is_limited: true, ..Room::ask() }
    }
}

/// Address space in equal parts, one for each arena.
#[derive(Debug)]
pub(crate) struct Span {
    /// First address, a multiple of 1 GiB.
    pub(crate) base: usize,
    /// Bytes of each part, a multiple of 1 GiB.
    pub(crate) part_bytes: usize,
    parts: usize,
    /// Held by a mapping without access. Not so where a limit rations address space: a reservation would be taken
    /// from the program; nor where the kernel counts strictly. Then each chunk is mapped only if its place is free, and while it is in use.
    pub(crate) reserved: bool,
    /// The kernel counts what is mapped as if it were used.
    pub(crate) is_strict: bool,
    /// Physical memory of the machine.
    pub(crate) machine_bytes: usize,
}

impl Span {
    /// Four times the machine's memory for each part, so that fragmentation of addresses never matters; less where
    /// the region has no such room.
    pub(crate) fn reserve(parts: usize, room: Room) -> Option<Span> {
        let Room { machine_bytes, is_limited, is_strict } = room;
        let wanted = machine_bytes.saturating_mul(4).max(64 << 30);
        let mut part_bytes = wanted.min(LARGEST_PART_BYTES).next_multiple_of(GIGANTIC);
        if is_limited || is_strict {
            let base = random_base(parts * part_bytes);
            return Some(Span { base, part_bytes, parts, reserved: false, is_strict, machine_bytes });
        }
        while part_bytes >= GIGANTIC {
            let bytes = parts * part_bytes;
            // From the random place up, and on from the bottom of the region, until one is free.
            let first = random_base(bytes);
            let ahead = (first..=REGION_BASE + REGION_BYTES - bytes).step_by(bytes);
            let around = (REGION_BASE..first).step_by(bytes);
            if let Some(base) = ahead.chain(around).find(|base| reserve_at(*base, bytes)) {
                return Some(Span { base, part_bytes, parts, reserved: true, is_strict, machine_bytes });
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

/// Holds a range by a mapping without access, kept out of core files; false if something is there already.
pub(crate) fn reserve_at(base: usize, bytes: usize) -> bool {
    let flags = libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: a new mapping without access, which replaces nothing.
    match unsafe { sys::map_anonymous(base, bytes, libc::PROT_NONE, flags) } {
        Ok(at) if at == base => {
            // SAFETY: the new mapping; no contents change.
            let _ = unsafe { sys::advise(base, bytes, libc::MADV_DONTDUMP) };
            true
        }
        Ok(elsewhere) => {
            // A kernel before 4.17 takes the address for a hint.
            // SAFETY: the new mapping, which nobody knows.
            let _ = unsafe { sys::unmap(elsewhere, bytes) };
            false
        }
        Err(_) => false,
    }
}

/// A multiple of 1 GiB in the region with room for `bytes` behind it, as random as the kernel made the place of the
/// stack: placed blocks shall not be easier to guess than others.
fn random_base(bytes: usize) -> usize {
    let local = 0_u8;
    let places = (REGION_BYTES - bytes) / GIGANTIC + 1;
    REGION_BASE + ((&raw const local as usize) / crate::pages::BASE) % places * GIGANTIC
}

/// Whether all that processes map and may write together is never more than there is (`vm.overcommit_memory` 2, proc(5)): what one
/// of them holds for reuse is then taken from all others, and from its own small blocks and its forks.
fn is_strict() -> bool {
    Lines::open(c"/proc/sys/vm/overcommit_memory").is_some_and(|mut lines| lines.next() == Some(b"2"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_stack_amid_the_addresses_is_an_emulators() {
        // As Linux lays it on x86-64 (47 bits, once as far down as chance can), and on ARM (48, 39).
        for of_kernel in [0x7ffe_e7a1_f249, 0x7ffc_0000_0000, 0xffff_f7a1_f249, 0x7f_e7a1_f249] {
            assert!(!is_below_the_top(of_kernel), "{of_kernel:#x}");
        }
        // As QEMU 7.2 does for x86-64 and ARM, and 9.2.
        for of_emulator in [0x40_0280_aa90, 0x55_0080_1a90, 0x2aaa_ab2a_b000, 0x4000_0080_1a90] {
            assert!(is_below_the_top(of_emulator), "{of_emulator:#x}");
        }
        // Nothing is known.
        assert!(!is_below_the_top(0));
        assert!(!is_emulated());
    }
}
