//! Regions that several processes have.
//!
//! A shared region is memory without a name in any file system whose size is sealed: whoever maps it can rely on every
//! byte being there. It goes to another process over a Unix socket, or is opened there through `/proc/PID/fd`, and is
//! checked where it arrives. What others may write meanwhile is no slice of Rust's: it is atomics, until it is frozen.

use super::builder::Builder;
use super::chain::{Refusal, first_of_chain};
use super::name::Naming;
use super::receipt::why_small;
use super::{READ_WRITE, RegionError, RegionReceipt, reserve_guarded};
use crate::backing::Backing;
use crate::coverage::{self, Reader};
use crate::evidence::Evidence;
use crate::failures::Of;
use crate::pages::{BASE, Pages};
use crate::reason::Reason;
use core::sync::atomic::AtomicU64;
use firsttouch_linux::memfd::{self, SEAL_GROW, SEAL_SHRINK, SEAL_WRITE};
use firsttouch_linux::socket;
use firsttouch_linux::sys::{self, Descriptor};

/// Memory that other processes can have, too. Unmapped when dropped; it lives as long as somebody has it.
///
/// ```
/// use firsttouch_memory::{Region, SharedRegion};
/// let mut table = Region::of(1 << 20).name("table").map_shared()?;
/// table.as_mut_slice().expect("nobody else has it yet").fill(7);
/// table.freeze()?;
/// // In the other process; here it is our own.
/// let theirs = SharedRegion::open(std::process::id(), table.descriptor() as u32)?;
/// assert_eq!(theirs.as_slice().map(|bytes| bytes[1000]), Some(7));
/// # Ok::<(), firsttouch_memory::RegionError>(())
/// ```
#[derive(Debug)]
pub struct SharedRegion {
    file: Descriptor,
    address: usize,
    bytes: usize,
    asked: Builder,
    backing: Backing,
    fallback: Option<Reason>,
    /// By which it is told why transparent pages are small ones.
    evidence: Evidence,
    unplaced: Option<Reason>,
    access: Access,
}

/// Who may do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Nobody else has it.
    Own,
    /// Others have it, and anybody may write.
    Everybody,
    /// Others have it, and we may only read.
    Others,
    /// Nobody can write any more.
    Frozen,
}

impl Builder {
    /// Maps it as memory that can be handed to other processes.
    pub fn map_shared(self) -> Result<SharedRegion, RegionError> {
        self.check()?;
        SharedRegion::build(self)
    }
}

impl SharedRegion {
    fn build(asked: Builder) -> Result<SharedRegion, RegionError> {
        let mut region = first_of_chain(asked, |backing, fallback| {
            SharedRegion::on(backing, asked, fallback).map_err(|error| match backing.is_reserved_pool() {
                // A pool that has too few pages says so in many ways; the kinds after it are tried.
                true => Refusal::Reason(Reason::PoolEmpty),
                false => Refusal::Error(error),
            })
        })?;
        if asked.prefault {
            region.prefault()?;
        }
        Ok(region)
    }

    fn on(backing: Backing, asked: Builder, fallback: Option<Reason>) -> Result<SharedRegion, RegionError> {
        let wrong = |errno| RegionError::Map { bytes: asked.bytes, errno };
        let bytes = backing.whole(asked.bytes).ok_or_else(|| wrong(libc::ENOMEM))?;
        let pool = backing.is_reserved_pool().then(|| backing.chunk_bytes());
        let file = memfd::create(asked.name.as_c_str(), pool).map_err(wrong)?;
        memfd::set_size(&file, bytes).map_err(wrong)?;
        memfd::seal(&file, SEAL_SHRINK | SEAL_GROW).map_err(wrong)?;
        let evidence = Evidence::from_now(Of::Files);
        let mut region = SharedRegion::map(file, bytes, backing, asked, Access::Own).map_err(wrong)?;
        (region.fallback, region.evidence) = (fallback, evidence);
        region.unplaced = asked.policy.apply(region.address, region.address..region.address + bytes)?;
        if pool.is_some() {
            // A page that the pool promised can still be refused at first touch, by SIGBUS.
            region.prefault()?;
        }
        Ok(region)
    }

    fn map(
        file: Descriptor,
        bytes: usize,
        backing: Backing,
        asked: Builder,
        access: Access,
    ) -> Result<SharedRegion, i32> {
        let address = reserve_guarded(bytes, asked.alignment().max(backing.chunk_bytes()))?;
        let protection = access.protection();
        // SAFETY: the addresses were reserved just now.
        let mapped = unsafe { memfd::map_over(&file, address, bytes, protection) };
        let (fallback, evidence, unplaced) = (None, Evidence::SHARED, None);
        let region =
            SharedRegion { file, address, bytes, asked, backing, fallback, evidence, unplaced, access };
        mapped?;
        if let Some(advice) = backing.advice(asked.pages).filter(|_| !backing.is_reserved_pool()) {
            // SAFETY: the mapping is ours; the advice changes no contents. What it achieved is read back.
            let _ = unsafe { sys::advise(address, bytes, advice) };
        }
        Ok(region)
    }

    /// Hands it to the process at the other end of a Unix socket, by the socket's number. From now on it has a part in it.
    pub fn send(&mut self, socket: i32) -> Result<(), RegionError> {
        socket::send_descriptor(socket, &self.file).map_err(|errno| RegionError::Share { errno })?;
        self.is_handed_over();
        Ok(())
    }

    /// Receives one over a Unix socket, by the socket's number, and waits for it. What arrives is checked: its size must be
    /// sealed.
    pub fn receive(socket: i32) -> Result<SharedRegion, RegionError> {
        let file = socket::receive_descriptor(socket).map_err(|errno| RegionError::Share { errno })?;
        SharedRegion::check(file, true)
    }

    /// Opens what a process of the same user has under a number ([`SharedRegion::descriptor`]), and checks it as
    /// [`SharedRegion::receive`] does.
    pub fn open(process: u32, descriptor: u32) -> Result<SharedRegion, RegionError> {
        let opened = memfd::open_of(process, descriptor).map_err(|errno| RegionError::Share { errno });
        opened.and_then(|(file, may_write)| SharedRegion::check(file, may_write))
    }

    fn check(file: Descriptor, may_write: bool) -> Result<SharedRegion, RegionError> {
        let wrong = |errno| RegionError::Share { errno };
        // What can have no seals is a file of somebody's.
        let seals = memfd::seals(&file).map_err(|_| RegionError::NotSealed)?;
        if seals & (SEAL_SHRINK | SEAL_GROW) != SEAL_SHRINK | SEAL_GROW {
            return Err(RegionError::NotSealed);
        }
        let (bytes, pool) = memfd::shape(&file).map_err(wrong)?;
        let backing = pool.map_or(Some(Backing::Transparent), Backing::of_pool);
        let Some(backing) = backing else { return Err(wrong(libc::EOPNOTSUPP)) };
        let unit = pool.unwrap_or(BASE);
        if bytes == 0 || !bytes.is_multiple_of(unit) {
            return Err(wrong(libc::EINVAL));
        }
        let access = match (seals & SEAL_WRITE != 0, may_write) {
            (true, _) => Access::Frozen,
            (false, true) => Access::Everybody,
            (false, false) => Access::Others,
        };
        // Without the right to write, the kernel takes a mapping of a sealed file.
        let file = if access == Access::Frozen { memfd::reopen_to_read(&file).map_err(wrong)? } else { file };
        let asked = Builder::new(bytes).pages(backing.pages(Pages::Transparent));
        let access = match access {
            // A descriptor that came over a socket may be one that only reads.
            Access::Everybody if !memfd::may_write(&file) => Access::Others,
            access => access,
        };
        SharedRegion::map(file, bytes, backing, asked, access).map_err(wrong)
    }

    /// Ends all writing, for good and for everybody: from now on it is a slice. `EBUSY` while others have it mapped to be
    /// written; then it stays as it is.
    pub fn freeze(&mut self) -> Result<(), RegionError> {
        let wrong = |errno| RegionError::Share { errno };
        if self.access == Access::Frozen {
            return Ok(());
        }
        if self.access == Access::Others {
            return Err(wrong(libc::EACCES));
        }
        let reader = memfd::reopen_to_read(&self.file).map_err(wrong)?;
        // Our own mapping, too, keeps the seal away: guard stands in its place meanwhile.
        // SAFETY: the addresses are ours and borrowed by nobody.
        unsafe { sys::map_anonymous(self.address, self.bytes, libc::PROT_NONE, libc::MAP_FIXED) }
            .map_err(wrong)?;
        let sealed = memfd::seal(&self.file, SEAL_WRITE);
        let (file, access) = match sealed {
            Ok(_) => (&reader, Access::Frozen),
            Err(_) => (&self.file, self.access),
        };
        // SAFETY: as above.
        let mapped = unsafe { memfd::map_over(file, self.address, self.bytes, access.protection()) };
        if mapped.is_err() {
            // Nothing may be read there; the memory is in the file, which can be handed over.
            self.access = Access::Others;
        } else if sealed.is_ok() {
            (self.file, self.access) = (reader, Access::Frozen);
        }
        mapped.and(sealed).map(drop).map_err(wrong)
    }

    /// The number under which this process has it open. Whoever is told may have a part in it from now on.
    pub fn descriptor(&mut self) -> i32 {
        self.is_handed_over();
        self.file.number()
    }

    fn is_handed_over(&mut self) {
        if self.access == Access::Own {
            self.access = Access::Everybody;
        }
    }

    /// Creates all pages now.
    pub fn prefault(&mut self) -> Result<(), RegionError> {
        let advice = match self.access {
            Access::Own | Access::Everybody => libc::MADV_POPULATE_WRITE,
            Access::Others | Access::Frozen => libc::MADV_POPULATE_READ,
        };
        // SAFETY: the mapping is ours; creating pages changes no contents.
        unsafe { sys::advise(self.address, self.bytes, advice) }
            .map(drop)
            .map_err(|errno| RegionError::Prefault { bytes: self.bytes, errno })
    }

    /// Its size in bytes, the same for everybody, always.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// The memory, while nobody else can write: before it is handed over, and when it is frozen.
    pub fn as_slice(&self) -> Option<&[u8]> {
        // SAFETY: mapped, as long as said (the size is sealed), and written by nobody while it is borrowed.
        matches!(self.access, Access::Own | Access::Frozen)
            .then(|| unsafe { core::slice::from_raw_parts(self.address as *const u8, self.bytes) })
    }

    /// The memory to be written, before it is handed over.
    pub fn as_mut_slice(&mut self) -> Option<&mut [u8]> {
        // SAFETY: as above; nobody else has it.
        (self.access == Access::Own).then(|| unsafe { self.shared_mut_slice() })
    }

    /// The memory as numbers that everybody may read and write at any time; `None` where we may only read, and before it is handed over,
    /// when it is a slice.
    pub fn atomics(&self) -> Option<&[AtomicU64]> {
        // SAFETY: mapped to be written; pages are aligned for the numbers, and other processes, too, are bound to atomics.
        (self.access == Access::Everybody).then(|| unsafe {
            core::slice::from_raw_parts(self.address as *const AtomicU64, self.bytes / size_of::<AtomicU64>())
        })
    }

    /// Where it begins in this process: for those who agree with others about who does what, by other means.
    pub fn as_ptr(&self) -> *mut u8 {
        self.address as *mut u8
    }

    /// The memory to be written, handed over or not.
    ///
    /// # Safety
    /// It must be mapped to be written ([`SharedRegion::atomics`] or [`SharedRegion::as_mut_slice`] answers), and no other process may
    /// access it as long as the slice lives.
    pub unsafe fn shared_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: mapped and as long as said; the rest is the caller's duty.
        unsafe { core::slice::from_raw_parts_mut(self.address as *mut u8, self.bytes) }
    }

    /// What it has obtained by now. Pages and nodes are those of the pages that this process has touched.
    pub fn receipt(&self) -> RegionReceipt {
        let (start, end) = (self.address, self.address + self.bytes);
        let coverage = Reader::open().and_then(|reader| reader.read(start, end));
        let pages = self.backing.pages(self.asked.pages);
        // Multi-size pages have switches of their own.
        let is_forbidden = || forbidden().filter(|_| pages == Pages::Transparent);
        RegionReceipt {
            bytes: self.bytes,
            asked: self.asked.pages,
            pages,
            coverage,
            policy: self.asked.policy,
            // The name of the file.
            naming: if self.asked.name.is_none() { Naming::Unnamed } else { Naming::Shown },
            nodes: coverage::nodes(start, end),
            pages_reasons: why_small(self.bytes, pages, coverage, self.fallback, is_forbidden, self.evidence),
            policy_reason: self.unplaced,
        }
    }
}

impl Access {
    fn protection(self) -> i32 {
        match self {
            Access::Own | Access::Everybody => READ_WRITE,
            Access::Others | Access::Frozen => libc::PROT_READ,
        }
    }
}

/// How many bytes of a mapping of shared memory have small pages, and what forbids huge ones, if anything does; `None` if none have.
pub fn small_shared(start: usize, end: usize) -> Option<(usize, Option<Reason>)> {
    let small = Reader::open()?.read(start, end)?.small;
    (small > 0).then(|| (small, forbidden()))
}

/// Why shared memory gets no huge pages, whatever there is; it has a switch of its own.
fn forbidden() -> Option<Reason> {
    const ENABLED: &core::ffi::CStr = c"/sys/kernel/mm/transparent_hugepage/shmem_enabled";
    let is_off =
        [&b"never"[..], b"deny"].iter().any(|word| coverage::is_selected(ENABLED, word) == Some(true));
    is_off.then_some(Reason::SharedThpNever)
}

impl Drop for SharedRegion {
    fn drop(&mut self) {
        // SAFETY: the mapping and its guards are ours, and nothing borrows them any more.
        let _ = unsafe { sys::unmap(self.address - BASE, self.bytes + 2 * BASE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::Region;
    use core::sync::atomic::Ordering;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_is_handed_over_is_the_same_memory() {
        for pages in [Pages::Base, Pages::Transparent, Pages::Huge2M] {
            let mut ours = Region::of(3 << 20).pages(pages).name("shared test").map_shared().unwrap();
            ours.as_mut_slice().unwrap()[8..16].copy_from_slice(&5_u64.to_ne_bytes());
            // Numbers that change behind a slice would be neither.
            assert!(ours.as_slice().is_some() && ours.atomics().is_none());
            let (here, there) = UnixStream::pair().unwrap();
            ours.send(here.as_raw_fd()).unwrap();
            assert!(ours.as_slice().is_none() && ours.as_mut_slice().is_none());
            let theirs = SharedRegion::receive(there.as_raw_fd()).unwrap();
            assert_eq!(theirs.len(), ours.len());
            assert_eq!(theirs.atomics().unwrap()[1].load(Ordering::Relaxed), 5);
            theirs.atomics().unwrap()[2].store(6, Ordering::Relaxed);
            assert_eq!(ours.atomics().unwrap()[2].load(Ordering::Relaxed), 6);
            let receipt = ours.receipt();
            let as_asked = receipt.coverage.is_none_or(|seen| pages == Pages::Base || seen.small == 0);
            assert!(as_asked || receipt.shortfalls().next().is_some(), "{pages}: {receipt:?}");
            // While they may write, it cannot be frozen, and nothing is lost by the attempt.
            assert_eq!(ours.freeze(), Err(RegionError::Share { errno: libc::EBUSY }));
            assert_eq!(ours.atomics().unwrap()[2].load(Ordering::Relaxed), 6);
            drop(theirs);
            ours.freeze().unwrap();
            assert!(ours.atomics().is_none() && ours.freeze().is_ok());
            assert_eq!(ours.as_slice().unwrap()[16], 6);
            let theirs = SharedRegion::open(std::process::id(), ours.descriptor() as u32).unwrap();
            assert_eq!(theirs.as_slice().unwrap()[..24], ours.as_slice().unwrap()[..24]);
        }
    }

    #[test]
    fn files_that_may_change_their_size_are_refused() {
        let file = memfd::create(c"unsealed", None).unwrap();
        memfd::set_size(&file, 1 << 20).unwrap();
        let opened = SharedRegion::open(std::process::id(), file.number() as u32);
        assert_eq!(opened.unwrap_err(), RegionError::NotSealed);
        // Sealed, but nothing that pages would fill.
        memfd::set_size(&file, 100).unwrap();
        memfd::seal(&file, SEAL_GROW | SEAL_SHRINK).unwrap();
        let opened = SharedRegion::open(std::process::id(), file.number() as u32);
        assert_eq!(opened.unwrap_err(), RegionError::Share { errno: libc::EINVAL });
        let program = std::fs::File::open("/proc/self/exe").unwrap();
        let opened = SharedRegion::open(std::process::id(), program.as_raw_fd() as u32);
        assert_eq!(opened.unwrap_err(), RegionError::NotSealed);
        assert!(SharedRegion::open(std::process::id(), 1_000_000).is_err());
        assert!(matches!(SharedRegion::receive(-1), Err(RegionError::Share { errno: libc::EBADF })));
    }
}
