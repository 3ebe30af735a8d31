//! What kind of program a file is, and whether a preload library reaches it.

use crate::elf::{Elf, Machine};
use firsttouch_linux::libraries::{AGENT, ALLOCATORS, JVM, SANITIZERS, is_loader_of_others};
use firsttouch_memory::Reason;
use std::ffi::{CString, OsStr};
use std::fs::{File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// How a program gets its C library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// By the loader of the GNU C library, which honours `LD_PRELOAD`.
    Glibc,
    /// By the loader of another C library, of another system, or of a GNU C library that is too old for the agent.
    OtherLibc {
        /// The loader.
        loader: String,
    },
    /// Not at all: no loader runs.
    Static,
    /// The file may be executed, but not read.
    Unreadable,
}

/// What makes the loader ignore preload libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// The program runs as another user.
    SetUser,
    /// The program runs as another group.
    SetGroup,
    /// The file carries capabilities.
    Capabilities,
}

/// What is known of a program from its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramKind {
    /// How it gets its C library.
    pub linkage: Linkage,
    /// Its machine, where that is another than ours.
    pub foreign: Option<Machine>,
    /// It gains privileges that the starting user lacks.
    pub privilege: Option<Privilege>,
    /// What shows that it was built with a sanitizer.
    pub sanitizer: Option<String>,
    /// What shows that it brings its own allocator.
    pub allocator: Option<String>,
    /// It was built by the Go tool chain, whose heap is its own.
    pub go: bool,
    /// It starts a Java virtual machine, which maps its heap itself.
    pub jvm: bool,
}

const SANITIZER_SYMBOLS: [&str; 5] =
    ["__asan_init", "__tsan_init", "__msan_init", "__hwasan_init", "__lsan_init"];
const ALLOCATOR_SYMBOLS: [&str; 7] =
    ["malloc", "mi_malloc", "je_malloc", "jemalloc", "tc_malloc", "sn_malloc", "rpmalloc"];

impl ProgramKind {
    /// Of a file that can be executed but not read.
    pub(crate) fn unreadable() -> ProgramKind {
        ProgramKind {
            linkage: Linkage::Unreadable,
            foreign: None,
            privilege: None,
            sanitizer: None,
            allocator: None,
            go: false,
            jvm: false,
        }
    }

    /// From what the ELF file says.
    pub(crate) fn of(elf: &Elf) -> ProgramKind {
        let library = |known: &[&str]| {
            elf.needed.iter().find(|name| known.iter().any(|known| name.starts_with(known))).cloned()
        };
        let symbol = |known: &[&str]| elf.defined.iter().find(|name| known.contains(&name.as_str())).cloned();
        let sanitizer = library(&SANITIZERS).or_else(|| symbol(&SANITIZER_SYMBOLS));
        ProgramKind {
            linkage: match &elf.interpreter {
                None => Linkage::Static,
                Some(loader) if CString::new(&loader[..]).is_ok_and(|it| !is_loader_of_others(&it)) => {
                    Linkage::Glibc
                }
                Some(loader) => Linkage::OtherLibc { loader: loader.clone() },
            },
            foreign: (Machine::native() != Some(elf.machine)).then_some(elf.machine),
            privilege: None,
            // A sanitizer defines malloc as well; that it is one says more.
            allocator: if sanitizer.is_some() {
                None
            } else {
                library(&ALLOCATORS).or_else(|| symbol(&ALLOCATOR_SYMBOLS))
            },
            sanitizer,
            go: elf.go,
            jvm: library(&JVM).is_some(),
        }
    }
}

/// What privileges the kernel would add at the exec of this file by the calling process.
pub(crate) fn privilege(path: &Path, metadata: &Metadata) -> Option<Privilege> {
    const SET_USER: u32 = 0o4000;
    const SET_GROUP_EXECUTABLE: u32 = 0o2010;
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    if mounted_nosuid(&name) {
        return None;
    }
    let mode = metadata.permissions().mode();
    // SAFETY: these calls take no pointers and cannot fail.
    let (user, group, may_change) =
        unsafe { (libc::getuid(), libc::getgid(), libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) };
    if may_change && mode & SET_USER != 0 && metadata.uid() != user {
        Some(Privilege::SetUser)
    } else if may_change && mode & SET_GROUP_EXECUTABLE == SET_GROUP_EXECUTABLE && metadata.gid() != group {
        Some(Privilege::SetGroup)
    } else if user != 0 && has_capabilities(&name) {
        // The loader trusts root even with a file that carries capabilities.
        Some(Privilege::Capabilities)
    } else {
        None
    }
}

fn mounted_nosuid(path: &CString) -> bool {
    let mut facts = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends with a zero; the kernel fills the struct when it answers 0, and only then it is read.
    unsafe {
        libc::statvfs(path.as_ptr(), facts.as_mut_ptr()) == 0
            && facts.assume_init().f_flag & libc::ST_NOSUID != 0
    }
}

fn has_capabilities(path: &CString) -> bool {
    // SAFETY: both names end with a zero; a size of 0 asks for the length only, so no buffer is written.
    let bytes =
        unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) };
    bytes > 0
}

impl ProgramKind {
    /// Why the agent does not reach this program, whose file is `image`, in words; `None` if it does.
    pub fn out_of_reach(&self, image: &str) -> Option<String> {
        if self.foreign.is_some() {
            return Some(format!("{image} is a program for another word size or processor"));
        }
        if let Some(privilege) = self.privilege {
            let how = match privilege {
                Privilege::SetUser => "runs as another user (setuid)",
                Privilege::SetGroup => "runs as another group (setgid)",
                Privilege::Capabilities => "carries capabilities",
            };
            return Some(format!("{image} {how}, so the loader ignores preloaded libraries"));
        }
        match &self.linkage {
            Linkage::Unreadable => return Some(format!("{image} cannot be read")),
            Linkage::Static => return Some(format!("{image} is statically linked")),
            Linkage::OtherLibc { loader } => return Some(format!("{image} uses the C library of {loader}")),
            Linkage::Glibc => {}
        }
        if let Some(sign) = &self.sanitizer {
            return Some(format!("{image} was built with a sanitizer ({sign})"));
        }
        if let Some(sign) = &self.allocator {
            return Some(format!("{image} brings its own allocator ({sign})"));
        }
        self.go.then(|| format!("{image} was built by Go, whose heap is its own"))
    }
}

/// Whether the agent, a preload library of this machine's word size for the GNU C library, can place the memory of such
/// a program; if not, why.
pub fn agent_reach(kind: &ProgramKind) -> Result<(), Reason> {
    if kind.foreign.is_some() {
        return Err(Reason::ForeignArchitecture);
    }
    if kind.privilege.is_some() {
        return Err(Reason::NotDumpable);
    }
    match kind.linkage {
        Linkage::Unreadable => return Err(Reason::NotDumpable),
        Linkage::Static | Linkage::OtherLibc { .. } => return Err(Reason::StaticProgram),
        Linkage::Glibc => {}
    }
    if kind.sanitizer.is_some() || kind.allocator.is_some() || kind.go {
        return Err(Reason::ForeignAllocator);
    }
    Ok(())
}

/// The first library of an `LD_PRELOAD` value that is an allocator or a sanitizer. The agent hands what it does not
/// place to glibc directly, so beside another allocator it would take that one's place: it must stay away.
pub fn preloaded_allocator(libraries: &OsStr) -> Option<String> {
    libraries.as_bytes().split(|byte| matches!(byte, b':' | b' ')).find_map(|library| {
        let name = String::from_utf8_lossy(library.rsplit(|byte| *byte == b'/').next()?).into_owned();
        let known = |known: &[&str]| known.iter().any(|known| name.starts_with(known));
        let defines = || {
            let file = File::open(OsStr::from_bytes(library)).ok()?;
            Some(Elf::of_file(&file).ok()?.defined.iter().any(|symbol| symbol == "malloc"))
        };
        let is_agent = name.starts_with(AGENT);
        let is_other = known(&ALLOCATORS) || known(&SANITIZERS) || defines() == Some(true);
        (!is_agent && is_other).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_are_known_by_name_and_by_what_they_define() {
        let find = |libraries: &str| preloaded_allocator(OsStr::new(libraries));
        assert_eq!(find(""), None);
        assert_eq!(find("/a/libfirsttouch_preload-12.so:/nowhere/libm.so.6"), None);
        assert_eq!(find("libm.so.6 /x/libjemalloc.so.2").as_deref(), Some("libjemalloc.so.2"));
        assert_eq!(find("libasan.so.8").as_deref(), Some("libasan.so.8"));
        // The C library itself defines malloc.
        let status = std::fs::read_to_string("/proc/self/maps").unwrap();
        let libc = status.split_whitespace().find(|word| word.ends_with("/libc.so.6")).unwrap();
        assert_eq!(find(libc).as_deref(), Some("libc.so.6"));
    }

    fn elf(loader: Option<&str>, needed: &[&str], defined: &[&str]) -> Elf {
        Elf {
            machine: Machine::native().unwrap(),
            interpreter: loader.map(str::to_owned),
            needed: needed.iter().map(|&name| name.to_owned()).collect(),
            run_path: Vec::new(),
            segments_end: 0,
            defined: defined.iter().map(|&name| name.to_owned()).collect(),
            go: false,
        }
    }

    fn reach(elf: &Elf) -> Result<(), Reason> {
        agent_reach(&ProgramKind::of(elf))
    }

    const GLIBC: Option<&str> = Some("/lib64/ld-linux-x86-64.so.2");

    #[test]
    fn reach_follows_from_what_the_file_says() {
        let words = |elf: &Elf| ProgramKind::of(elf).out_of_reach("/bin/x");
        assert_eq!(words(&elf(GLIBC, &["libc.so.6"], &["main"])), None);
        assert_eq!(words(&elf(None, &[], &[])).as_deref(), Some("/bin/x is statically linked"));
        assert_eq!(reach(&elf(GLIBC, &["libc.so.6"], &["main"])), Ok(()));
        assert_eq!(reach(&elf(None, &[], &[])), Err(Reason::StaticProgram));
        assert_eq!(
            reach(&elf(Some("/lib/ld-musl-x86_64.so.1"), &["libc.so"], &[])),
            Err(Reason::StaticProgram)
        );
        assert_eq!(reach(&elf(GLIBC, &["libjemalloc.so.2"], &[])), Err(Reason::ForeignAllocator));
        assert_eq!(reach(&elf(GLIBC, &["libtcmalloc_minimal.so.4"], &[])), Err(Reason::ForeignAllocator));
        assert_eq!(reach(&elf(GLIBC, &["libc.so.6"], &["malloc", "free"])), Err(Reason::ForeignAllocator));
        assert_eq!(reach(&elf(GLIBC, &["libasan.so.8"], &[])), Err(Reason::ForeignAllocator));
        assert_eq!(
            reach(&Elf { go: true, ..elf(GLIBC, &["libc.so.6"], &[]) }),
            Err(Reason::ForeignAllocator)
        );
        let narrow = Machine { wide: false, little_endian: true, number: 3 };
        assert_eq!(reach(&Elf { machine: narrow, ..elf(None, &[], &[]) }), Err(Reason::ForeignArchitecture));
        assert_eq!(agent_reach(&ProgramKind::unreadable()), Err(Reason::NotDumpable));
    }

    #[test]
    fn a_sanitizer_is_not_taken_for_an_allocator() {
        let kind = ProgramKind::of(&elf(GLIBC, &["libc.so.6"], &["malloc", "__asan_init"]));
        assert_eq!((kind.sanitizer.as_deref(), kind.allocator), (Some("__asan_init"), None));
    }

    #[test]
    fn what_starts_java_is_known_by_its_library() {
        let jvm = |needed: &[&str]| ProgramKind::of(&elf(GLIBC, needed, &[])).jvm;
        assert!(jvm(&["libz.so.1", "libjli.so", "libc.so.6"]));
        assert!(!jvm(&["libc.so.6"]));
    }
}
