//! Why memory did not get the pages that were asked for: a closed list, each with its remedy.

/// One reason for a shortfall. The words ([`Reason::word`]) are a contract of the receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reason {
    /// Transparent huge pages are switched off for the whole machine (or for the size asked).
    ThpNever,
    /// `PR_SET_THP_DISABLE` is set for the process; it is inherited over fork and exec.
    ThpDisabledByPrctl,
    /// The allocation is smaller than one page of the size asked.
    TooSmall,
    /// The bytes lie before the first or after the last whole block of the allocation.
    NoWholeBlock,
    /// The program never touched these bytes, so no page exists.
    Untouched,
    /// The mapping carries `MADV_NOHUGEPAGE`.
    NohugepageVma,
    /// The hugetlb pool had no free page.
    PoolEmpty,
    /// A control group's memory limit refused the page.
    CgroupLimit,
    /// The kernel found no contiguous free memory of that size.
    NoContiguousMemory,
    /// A capability that the operation needs is missing.
    NoCapability,
    /// The process is not dumpable (setuid, or by its own wish): the kernel and the loader keep others out.
    NotDumpable,
    /// The program brings its own allocator, or a sanitizer's; the agent stood down.
    ForeignAllocator,
    /// The kernel lacks the call.
    KernelTooOld,
    /// Something stronger than the placement decided otherwise.
    PolicyOverridden,
    /// The program is statically linked (or for another C library): no preload library can reach it.
    StaticProgram,
    /// A write after fork split the huge page.
    LostAfterFork,
    /// A change of protection or a partial unmap split the huge page.
    LostAfterMprotect,
    /// The program runs in another word size or instruction set than the agent.
    ForeignArchitecture,
    /// An address-space limit (`RLIMIT_AS`) left no room for the mapping.
    AddressSpaceLimit,
    /// Other processes map the page too, so that it is not this one's to move.
    SharedPages,
    /// The node that pages were to go to has no free memory left.
    NodeFull,
    /// The kernel or a device uses the page at the moment (pinned, under I/O).
    BusyPages,
    /// Transparent huge pages are switched off for shared memory, which has a switch of its own.
    SharedThpNever,
    /// The first thread of the process has ended, by which the kernel would find its memory.
    FirstThreadEnded,
    /// A mapping of the agent's own was not what it should be and could not be made anew: it placed nothing from then on.
    MappingChanged,
    /// The program confined itself to some system calls (seccomp), and from then on nothing was placed.
    Confined,
    /// The program touches few pages in each 2 MiB, or has allocated more than there is memory: it was left on small pages. So
    /// are a few of them by which that is found out.
    SparseUse,
}

impl Reason {
    /// Every reason, in the order of declaration.
    pub const ALL: [Reason; 27] = [
        Reason::ThpNever,
        Reason::ThpDisabledByPrctl,
        Reason::TooSmall,
        Reason::NoWholeBlock,
        Reason::Untouched,
        Reason::NohugepageVma,
        Reason::PoolEmpty,
        Reason::CgroupLimit,
        Reason::NoContiguousMemory,
        Reason::NoCapability,
        Reason::NotDumpable,
        Reason::ForeignAllocator,
        Reason::KernelTooOld,
        Reason::PolicyOverridden,
        Reason::StaticProgram,
        Reason::LostAfterFork,
        Reason::LostAfterMprotect,
        Reason::ForeignArchitecture,
        Reason::AddressSpaceLimit,
        Reason::SharedPages,
        Reason::NodeFull,
        Reason::BusyPages,
        Reason::SharedThpNever,
        Reason::FirstThreadEnded,
        Reason::MappingChanged,
        Reason::Confined,
        Reason::SparseUse,
    ];

    /// The word of the contract, for example `pool-empty`.
    pub fn word(self) -> &'static str {
        match self {
            Reason::ThpNever => "thp-never",
            Reason::ThpDisabledByPrctl => "thp-disabled-by-prctl",
            Reason::TooSmall => "too-small",
            Reason::NoWholeBlock => "no-whole-block",
            Reason::Untouched => "untouched",
            Reason::NohugepageVma => "nohugepage-vma",
            Reason::PoolEmpty => "pool-empty",
            Reason::CgroupLimit => "cgroup-limit",
            Reason::NoContiguousMemory => "no-contiguous-memory",
            Reason::NoCapability => "no-capability",
            Reason::NotDumpable => "not-dumpable",
            Reason::ForeignAllocator => "foreign-allocator",
            Reason::KernelTooOld => "kernel-too-old",
            Reason::PolicyOverridden => "policy-overridden",
            Reason::StaticProgram => "static-program",
            Reason::LostAfterFork => "lost-after-fork",
            Reason::LostAfterMprotect => "lost-after-mprotect",
            Reason::ForeignArchitecture => "foreign-architecture",
            Reason::AddressSpaceLimit => "address-space-limit",
            Reason::SharedPages => "shared-pages",
            Reason::NodeFull => "node-full",
            Reason::BusyPages => "busy-pages",
            Reason::SharedThpNever => "shared-thp-never",
            Reason::FirstThreadEnded => "first-thread-ended",
            Reason::MappingChanged => "mapping-changed",
            Reason::Confined => "seccomp-filter",
            Reason::SparseUse => "sparse-use",
        }
    }

    /// The reason of a word, if it is one.
    pub fn parse(word: &str) -> Option<Reason> {
        Reason::ALL.into_iter().find(|reason| reason.word() == word)
    }

    /// One line that mends it, with the exact command where one exists.
    pub fn remedy(self) -> &'static str {
        match self {
            Reason::ThpNever => "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
            Reason::ThpDisabledByPrctl => {
                "start the program from a shell or service that has not set PR_SET_THP_DISABLE (systemd: MemoryTHP=)"
            }
            Reason::TooSmall => {
                "nothing to mend: smaller than a page of that size; --min-size leaves such allocations out"
            }
            Reason::NoWholeBlock => {
                "nothing to mend: the edges of an allocation share their blocks with other memory"
            }
            Reason::Untouched => "nothing to mend: the program never used it; --prefault creates it anyway",
            Reason::NohugepageVma => "the program forbids huge pages here by madvise(MADV_NOHUGEPAGE)",
            Reason::PoolEmpty => {
                "reserve pages: echo N | sudo tee /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages (1 GiB: hugepages-1048576kB)"
            }
            Reason::CgroupLimit => {
                "raise the memory limit of the control group (memory.max, hugetlb.2MB.max)"
            }
            Reason::NoContiguousMemory => {
                "echo 1 | sudo tee /proc/sys/vm/compact_memory, or reserve pages at boot"
            }
            Reason::NoCapability => "run as root, or: sudo setcap cap_sys_nice+ep on the firsttouch binary",
            Reason::NotDumpable => "run the program without setuid or file capabilities",
            Reason::ForeignAllocator => "try --via supervise, which collapses pages from outside",
            Reason::KernelTooOld => {
                "a newer kernel (MADV_COLLAPSE 6.1, PAGEMAP_SCAN 6.7, multi-size pages 6.8)"
            }
            Reason::PolicyOverridden => "see `firsttouch status` for the setting that decides",
            Reason::StaticProgram => "use --via supervise, which collapses pages from outside",
            Reason::LostAfterFork => "collapse again: it happens at the next large allocation after the fork",
            Reason::LostAfterMprotect => "avoid changing the protection of parts of a placed block",
            Reason::ForeignArchitecture => "use --via supervise, or a 64-bit build of the program",
            Reason::AddressSpaceLimit => "raise the address-space limit: ulimit -v unlimited",
            Reason::SharedPages => {
                "attach to the processes that share the memory before they do, or start them placed"
            }
            Reason::NodeFull => "firsttouch status shows what is free; free memory there, or name more nodes",
            Reason::BusyPages => "attach again when the input and output of the program is over",
            Reason::SharedThpNever => {
                "echo advise | sudo tee /sys/kernel/mm/transparent_hugepage/shmem_enabled"
            }
            Reason::FirstThreadEnded => {
                "start the program by `firsttouch run`; nodes and threads can be changed while it runs (--memory, --threads)"
            }
            Reason::MappingChanged => {
                "allow the process more mappings (sysctl vm.max_map_count), or try --via glibc, which places without recycling"
            }
            Reason::SparseUse => {
                "nothing to mend: left so where little of the memory is used, or to find that out; --prefault makes huge pages anyway"
            }
            Reason::Confined => {
                "nothing to mend: the agent keeps to what the program's own filter surely allows"
            }
        }
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
