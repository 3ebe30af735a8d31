//! Memory that has a file descriptor and no name in any file system: what processes can share and hand on.
//!
//! See memfd_create(2), fcntl(2) (file seals), fstatfs(2). Invariant: nothing here allocates or touches `errno`.

use crate::sys::{Answer, Descriptor, call, open_to_read_and_write};
use core::ffi::CStr;
use core::fmt::Write;

/// Seal: the size cannot become less.
pub const SEAL_SHRINK: u32 = libc::F_SEAL_SHRINK as u32;
/// Seal: the size cannot become more.
pub const SEAL_GROW: u32 = libc::F_SEAL_GROW as u32;
/// Seal: nobody can write. Refused (`EBUSY`) while somebody has it mapped to be written.
pub const SEAL_WRITE: u32 = libc::F_SEAL_WRITE as u32;

const MFD_CLOEXEC: usize = 1;
const MFD_ALLOW_SEALING: usize = 2;
const MFD_HUGETLB: usize = 4;
/// The logarithm of the page size stands here in the flags (Linux 4.14).
const MFD_HUGE_SHIFT: u32 = 26;
const HUGETLBFS_MAGIC: i64 = 0x9584_58f6;

/// New memory with nothing in it, on pages of the hugetlb pool of this size if there is one (Linux 4.14; seals for such
/// files came with 4.16). The kernel shows at most 249 bytes of the name, as `/memfd:NAME`.
pub fn create(name: &CStr, huge_page_bytes: Option<usize>) -> Result<Descriptor, i32> {
    let pool =
        huge_page_bytes.map_or(0, |bytes| MFD_HUGETLB | (bytes.trailing_zeros() as usize) << MFD_HUGE_SHIFT);
    let flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | pool;
    // SAFETY: the kernel reads the name; a new file is nobody else's.
    let made = unsafe { call(libc::SYS_memfd_create, [name.as_ptr() as usize, flags, 0, 0, 0, 0]) };
    made.map(|descriptor| Descriptor(descriptor as i32))
}

/// What another process of this user has open under a number (`/proc/PID/fd`), opened anew: with the right to write if
/// there is one, else to read; and whether it can be written.
pub fn open_of(process: u32, descriptor: u32) -> Result<(Descriptor, bool), i32> {
    let mut path = crate::channel::Line::<64>::EMPTY;
    write!(path, "/proc/{process}/fd/{descriptor}\0").map_err(|_| libc::ENAMETOOLONG)?;
    let path = CStr::from_bytes_with_nul(path.bytes()).map_err(|_| libc::EINVAL)?;
    match open_to_read_and_write(path) {
        Err(libc::EACCES | libc::EPERM | libc::EROFS | libc::ETXTBSY) => {
            Ok((crate::sys::open_to_read(path)?, false))
        }
        answer => Ok((answer?, true)),
    }
}

/// The same file once more, only to be read: of such a descriptor the kernel allows mappings when writing is sealed.
pub fn reopen_to_read(file: &Descriptor) -> Result<Descriptor, i32> {
    let mut path = crate::channel::Line::<64>::EMPTY;
    write!(path, "/proc/thread-self/fd/{}\0", file.0).map_err(|_| libc::ENAMETOOLONG)?;
    crate::sys::open_to_read(CStr::from_bytes_with_nul(path.bytes()).map_err(|_| libc::EINVAL)?)
}

/// Whether the descriptor allows writing.
pub fn may_write(file: &Descriptor) -> bool {
    // SAFETY: takes numbers only.
    let flags = unsafe { call(libc::SYS_fcntl, [file.0 as usize, libc::F_GETFL as usize, 0, 0, 0, 0]) };
    flags.is_ok_and(|flags| flags as i32 & libc::O_ACCMODE == libc::O_RDWR)
}

/// Sets the size. Pages come into being when they are touched.
pub fn set_size(file: &Descriptor, bytes: usize) -> Answer {
    // SAFETY: changes a file that the caller has open.
    unsafe { call(libc::SYS_ftruncate, [file.0 as usize, bytes, 0, 0, 0, 0]) }
}

/// Adds seals, for good.
pub fn seal(file: &Descriptor, seals: u32) -> Answer {
    let arguments = [file.0 as usize, libc::F_ADD_SEALS as usize, seals as usize, 0, 0, 0];
    // SAFETY: takes numbers only.
    unsafe { call(libc::SYS_fcntl, arguments) }
}

/// The seals; `EINVAL` for a file that can have none.
pub fn seals(file: &Descriptor) -> Result<u32, i32> {
    // SAFETY: takes numbers only.
    let seals = unsafe { call(libc::SYS_fcntl, [file.0 as usize, libc::F_GET_SEALS as usize, 0, 0, 0, 0]) };
    seals.map(|seals| seals as u32)
}

/// Size, and the size of the hugetlb pages if it is made of such.
pub fn shape(file: &Descriptor) -> Result<(usize, Option<usize>), i32> {
    // SAFETY: both structures are plain numbers.
    let (mut status, mut system): (libc::stat, libc::statfs) = unsafe { core::mem::zeroed() };
    let (status_at, system_at) = (&raw mut status as usize, &raw mut system as usize);
    // SAFETY: the kernel fills the structures whose addresses it is given.
    unsafe {
        call(libc::SYS_fstat, [file.0 as usize, status_at, 0, 0, 0, 0])?;
        call(libc::SYS_fstatfs, [file.0 as usize, system_at, 0, 0, 0, 0])?;
    }
    let bytes = usize::try_from(status.st_size).map_err(|_| libc::EOVERFLOW)?;
    let huge = (system.f_type == HUGETLBFS_MAGIC).then_some(system.f_bsize as usize);
    Ok((bytes, huge))
}

/// Maps the first `bytes`, shared with everybody who has it, over the range at `address`.
///
/// # Safety
/// The range must belong to the caller.
pub unsafe fn map_over(file: &Descriptor, address: usize, bytes: usize, protection: i32) -> Answer {
    let flags = (libc::MAP_SHARED | libc::MAP_FIXED) as usize;
    // SAFETY: the caller's duty.
    unsafe { call(libc::SYS_mmap, [address, bytes, protection as usize, flags, file.0 as usize, 0]) }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_file_keeps_its_size_and_is_found_again() {
        let file = create(c"seal test", None).unwrap();
        set_size(&file, 8192).unwrap();
        seal(&file, SEAL_SHRINK | SEAL_GROW).unwrap();
        assert_eq!(set_size(&file, 4096), Err(libc::EPERM));
        assert_eq!(seals(&file), Ok(SEAL_SHRINK | SEAL_GROW));
        let (again, may_write) = open_of(std::process::id(), file.number() as u32).unwrap();
        assert!(may_write);
        assert_eq!((shape(&again), seals(&again)), (Ok((8192, None)), seals(&file)));
        assert!(open_of(std::process::id(), 1_000_000).is_err());
        let plain = std::fs::File::open("/proc/self/exe").unwrap();
        let (plain, may_write) =
            open_of(std::process::id(), std::os::fd::AsRawFd::as_raw_fd(&plain) as u32).unwrap();
        assert!(seals(&plain).is_err() || !may_write);
    }
}
