//! Why memory did not get the pages that were asked for: a closed list, each with its remedy.

/// One row for each reason: what it is, its word, and one line that mends it, with the exact command where one exists.
macro_rules! reasons {
    ($($(#[$note:meta])* $reason:ident = $word:literal, $remedy:literal;)*) => {
        /// One reason for a shortfall. The words ([`Reason::word`]) are a contract of the receipt.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Reason {
            $($(#[$note])* $reason,)*
        }

        impl Reason {
            /// Every reason, in the order of declaration.
            pub const ALL: [Reason; [$(Reason::$reason),*].len()] = [$(Reason::$reason),*];

            /// The word of the contract, for example `pool-empty`.
            pub fn word(self) -> &'static str {
                match self {
                    $(Reason::$reason => $word,)*
                }
            }

            /// One line that mends it, with the exact command where one exists.
            pub fn remedy(self) -> &'static str {
                match self {
                    $(Reason::$reason => $remedy,)*
                }
            }
        }
    };
}

reasons! {
    /// Transparent huge pages are switched off for the whole machine.
    ThpNever = "thp-never", "sudo firsttouch setup thp madvise --apply";
    /// `PR_SET_THP_DISABLE` is set for the process; it is inherited over fork and exec.
    ThpDisabledByPrctl = "thp-disabled-by-prctl",
        "start the program from a shell or service that has not set PR_SET_THP_DISABLE (systemd: MemoryTHP=); if it sets it for itself, as MariaDB does: run --pages 2m";
    /// The allocation is smaller than one page of the size asked.
    TooSmall = "too-small",
        "nothing to mend: smaller than a page of that size; --min-size leaves such allocations out";
    /// The bytes lie before the first or after the last whole block of the allocation.
    NoWholeBlock = "no-whole-block",
        "nothing to mend: the edges of an allocation share their blocks with other memory";
    /// The program never touched these bytes, so no page exists.
    Untouched = "untouched", "nothing to mend: the program never used it; --prefault creates it anyway, where there is room";
    /// The mapping carries `MADV_NOHUGEPAGE`.
    NohugepageVma = "nohugepage-vma", "the program forbids huge pages here by madvise(MADV_NOHUGEPAGE)";
    /// The hugetlb pool had no free page.
    PoolEmpty = "pool-empty",
        "reserve pages: sudo firsttouch setup pages 2m=N --apply (1 GiB: 1g=N)";
    /// A control group's memory limit refused the page.
    CgroupLimit = "cgroup-limit", "raise the memory limit of the control group (memory.max, hugetlb.2MB.max)";
    /// The kernel found no contiguous free memory of that size.
    NoContiguousMemory = "no-contiguous-memory",
        "echo 1 | sudo tee /proc/sys/vm/compact_memory, or reserve pages at boot";
    /// A capability that the operation needs is missing.
    NoCapability = "no-capability",
        "run as root, or: sudo setcap cap_sys_nice+ep on the firsttouch binary; in a container: docker run --cap-add SYS_NICE --cap-add SYS_PTRACE";
    /// The process is not dumpable (setuid, or by its own wish): the kernel and the loader keep others out.
    NotDumpable = "not-dumpable",
        "run the program without setuid or file capabilities; of sudo and the like: sudo firsttouch run -- PROGRAM";
    /// The program brings its own allocator, or a sanitizer's, and the agent stood down; or a module of it does, whose memory came past the agent.
    ForeignAllocator = "foreign-allocator", "try --via supervise, which collapses pages from outside";
    /// The kernel lacks the call.
    KernelTooOld = "kernel-too-old",
        "a newer kernel (MADV_COLLAPSE 6.1, PAGEMAP_SCAN 6.7, multi-size pages 6.8)";
    /// Something stronger than the placement decided otherwise.
    PolicyOverridden = "policy-overridden", "see `firsttouch status` for the setting that decides";
    /// The program is statically linked (or for another C library): no preload library can reach it.
    StaticProgram = "static-program", "use --via supervise, which collapses pages from outside";
    /// A write after fork split the huge page.
    LostAfterFork = "lost-after-fork",
        "collapse again: it happens at the next large allocation after the fork";
    /// The program changed the mapping of a part (protection, advice, lock), which splits the page there or forbids a huge one.
    LostAfterMprotect = "lost-after-mprotect",
        "avoid changing the protection or the advice of parts of a placed block (mprotect, madvise, mlock)";
    /// The program runs in another word size or instruction set than the agent.
    ForeignArchitecture = "foreign-architecture", "use --via supervise, or a 64-bit build of the program";
    /// An address-space limit (`RLIMIT_AS`) left no room for the mapping.
    AddressSpaceLimit = "address-space-limit", "raise the address-space limit: ulimit -v unlimited";
    /// Other processes map the page too, so that it is not this one's to move.
    SharedPages = "shared-pages",
        "attach to the processes that share the memory before they do, or start them placed";
    /// The node that pages were to go to has no free memory left.
    NodeFull = "node-full", "firsttouch status shows what is free; free memory there, or name more nodes";
    /// The kernel or a device uses the page at the moment (under I/O, in a pipe).
    BusyPages = "busy-pages", "attach again when the input and output of the program is over";
    /// Transparent huge pages are switched off for shared memory, which has a switch of its own.
    SharedThpNever = "shared-thp-never",
        "sudo firsttouch setup thp shmem-huge=advise --apply";
    /// The first thread of the process has ended, by which the kernel would find its memory.
    FirstThreadEnded = "first-thread-ended",
        "place it from its start, by `firsttouch run` without --via; nodes and threads can be changed while it runs (attach --memory, --threads)";
    /// A mapping of the agent's own was not what it should be and could not be made anew: it placed nothing from then on.
    MappingChanged = "mapping-changed",
        "allow the process more mappings (sysctl vm.max_map_count), or try --via glibc, which places without recycling";
    /// The program confined itself to some system calls (seccomp), and from then on nothing was placed.
    Confined = "seccomp-filter",
        "nothing to mend: the agent keeps to what the program's own filter surely allows";
    /// The program touches few pages in each 2 MiB, or has allocated more than there is memory: it was left on small pages. So
    /// are a few of them by which that is found out.
    SparseUse = "sparse-use",
        "nothing to mend: left so where little of the memory is used, or to find that out; --prefault makes huge pages anyway, where there is room";
    /// Transparent huge pages of the size asked for are switched off by the setting of that size, which goes before that of the machine.
    ThpSizeNever = "thp-size-never",
        "sudo firsttouch setup thp 64k=madvise --apply, with the size asked for: 16k to 1024k, for thp 2m";
    /// The program may not write to the memory (`mprotect`): before Linux 6.18 the kernel collapses none of that.
    NotWritable = "not-writable",
        "place it from its start, by `firsttouch run --pages thp`: memory that is on huge pages stays there when it is protected";
    /// Somebody watches the memory through a userfaultfd, page by page.
    Userfaultfd = "userfaultfd",
        "attach again when nobody watches the memory any more: a virtual machine that migrates, a checkpoint, a garbage collector";
    /// It is a stack.
    Stack = "stack", "nothing to mend: stacks are left as they are, because programs use little of most";
    /// The kernel had a huge page each time, and split it, or had small ones there already: parts of it were freed or given back
    /// or paged out, or the kernel itself did, for room.
    Split = "split",
        "where it is much: firsttouch attach PID puts small pages together while the program runs";
    /// A device or io_uring has the page for as long as the program lets it (`VmPin`), and the kernel may not move it.
    PinnedPages = "pinned-pages",
        "the program has pinned them (VmPin: buffers of io_uring, of RDMA); place it from its start: firsttouch run --memory";
    /// The kernel treats the mapping in a way of its own: huge pages of a pool, memory of a device.
    SpecialMapping = "special-mapping",
        "nothing to mend: huge pages of a pool and memory of devices are left where they are; firsttouch run --memory places a program's from its start";
    /// The kernel's base pages are larger than 4 KiB, as arm64 may have them.
    BasePageSize = "base-page-size",
        "a kernel with base pages of 4 KiB (arm64: not the flavours 16k and 64k); --via glibc has the C library ask for such a kernel's huge pages";
}

impl Reason {
    /// The reason of a word, if it is one.
    pub fn parse(word: &str) -> Option<Reason> {
        Reason::ALL.into_iter().find(|reason| reason.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn words_lead_back_to_their_reason() {
        for reason in Reason::ALL {
            assert_eq!(Reason::parse(reason.word()), Some(reason));
            assert!(!reason.remedy().is_empty());
        }
        assert_eq!(Reason::parse("bad-luck"), None);
    }
}
