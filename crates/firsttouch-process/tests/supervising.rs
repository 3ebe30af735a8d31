//! Collapsing the memory of running programs, with the effect read back from the kernel.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Talking, compile, launch, skipped, talk};
use firsttouch_linux::root::Root;
use firsttouch_linux::smaps::read_smaps;
use firsttouch_memory::Reason;
use firsttouch_process::{Pass, SuperviseError, SuperviseRange, Supervisor};
use std::io::Write;
use std::time::Duration;

const RANGE: SuperviseRange = SuperviseRange { min_size: 1 << 20, max_size: None };
const MIB: u64 = 1 << 20;

/// Takes MiB, step in bytes and a mode (`vast` is the beginning of much address space); fills on base pages, without a word about the mapping, so that the kernel's own
/// thread leaves it alone where huge pages are for those who ask; says so, waits for a line, and checks what it filled.
const FILLING: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
int main(int count, char **words) {
    size_t bytes = (size_t)atoi(words[1]) << 20, step = (size_t)atoi(words[2]);
    const char *mode = words[3];
    if (!strcmp(mode, \"hidden\")) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    size_t mapped = strcmp(mode, \"vast\") ? bytes : (size_t)1 << 40;
    unsigned char *block = mmap(0, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) return 2;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    for (size_t at = 0; at < bytes; at += step) block[at] = (unsigned char)(at / step * 7 + 1);
    if (strcmp(mode, \"prctl\")) prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    if (!strcmp(mode, \"forbidden\")) madvise(block, bytes, MADV_NOHUGEPAGE);
    printf(\"%p\\n\", (void *)block);
    fflush(stdout);
    if (getchar() == EOF) return 3;
    for (size_t at = 0; at < bytes; at += step)
        if (block[at] != (unsigned char)(at / step * 7 + 1)) return 4;
    return 0;
}
";

struct Filled {
    talking: Talking,
    address: u64,
    _folder: tempfile::TempDir,
}

fn filled(mib: u64, step: u64, mode: &str) -> Option<Filled> {
    let folder = tempfile::tempdir().unwrap();
    let file = compile(folder.path(), "filling", FILLING, &[])?;
    let mut talking = talk(launch(&file, &[&mib.to_string(), &step.to_string(), mode]));
    let line = talking.line();
    let address = u64::from_str_radix(line.strip_prefix("0x").unwrap(), 16).unwrap();
    Some(Filled { talking, address, _folder: folder })
}

impl Filled {
    fn pid(&self) -> u32 {
        self.talking.running.pid()
    }

    fn figures(&self) -> (u64, u64) {
        let regions = read_smaps(&Root::live(), self.pid()).unwrap();
        let region =
            regions.iter().find(|region| (region.mapping.start..region.mapping.end).contains(&self.address));
        let figures = region.unwrap().figures;
        (figures.rss.unwrap(), figures.anon_huge_pages.unwrap())
    }

    fn ends_well(mut self) {
        self.talking.input.write_all(b"\n").unwrap();
        let finished = self.talking.running.wait().unwrap();
        assert!(finished.ending.is_success(), "what it filled was changed: {}", finished.ending);
    }
}

/// `None`, which is said, where this machine or user cannot collapse.
fn supervise(filled: &Filled, range: SuperviseRange) -> Option<Supervisor> {
    match Supervisor::new(Root::live(), filled.pid(), range) {
        Ok(supervisor) => Some(supervisor),
        Err(SuperviseError::Refused {
            reason: reason @ (Reason::NoCapability | Reason::KernelTooOld),
            ..
        }) => {
            skipped(&format!("collapsing from outside: {}", reason.word()));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Passes until one is complete and gets nothing more.
fn all_passes(supervisor: &mut Supervisor) -> Vec<Pass> {
    let mut passes = Vec::new();
    loop {
        let pass = supervisor.pass().unwrap();
        let done = !pass.unfinished && pass.collapsed_bytes == 0;
        passes.push(pass);
        if done || passes.len() == 1000 {
            return passes;
        }
    }
}

#[test]
fn filled_memory_moves_to_huge_pages_and_keeps_its_contents() {
    let Some(filled) = filled(256, 4096, "plain") else { return };
    let Some(mut supervisor) = supervise(&filled, RANGE) else { return };
    let (rss_before, huge_before) = filled.figures();
    let passes = all_passes(&mut supervisor);
    let (rss_after, huge_after) = filled.figures();
    let collapsed: u64 = passes.iter().map(|pass| pass.collapsed_bytes).sum();
    assert!(rss_before >= 256 * MIB && huge_before < 128 * MIB, "{rss_before} {huge_before}");
    // The edges share their blocks with other memory; free memory may be short of whole blocks.
    let refused = passes.iter().any(|pass| pass.refused.contains_key(&Reason::NoContiguousMemory));
    assert!(huge_after >= 240 * MIB || refused, "{huge_after} {passes:?}");
    assert!(huge_after > huge_before);
    assert!(collapsed <= huge_after, "{collapsed} {huge_after}");
    assert!(collapsed + huge_before + 16 * MIB >= huge_after, "{collapsed} {huge_before} {huge_after}");
    assert!(rss_after <= rss_before + 4 * MIB);

    // What is settled is not asked for again, and the passes space out.
    for _ in 0..12 {
        let idle = supervisor.pass().unwrap();
        assert_eq!((idle.asked_bytes, idle.collapsed_bytes), (0, 0));
        assert!(idle.huge_before_bytes >= huge_after);
    }
    assert!(supervisor.pause() >= Duration::from_secs(2));
    filled.ends_well();
}

/// To read which pages there are of all of it takes longer than a pass.
#[test]
fn the_beginning_of_a_vast_mapping_is_reached() {
    let Some(filled) = filled(64, 4096, "vast") else { return };
    let Some(mut supervisor) = supervise(&filled, RANGE) else { return };
    let (_, huge_before) = filled.figures();
    let pass = supervisor.pass().unwrap();
    let (_, huge_after) = filled.figures();
    let refused = pass.refused.contains_key(&Reason::NoContiguousMemory);
    assert!(huge_after >= huge_before + 32 * MIB || refused, "{huge_before} {huge_after} {pass:?}");
    assert!(pass.unfinished);
    filled.ends_well();
}

#[test]
fn sparsely_touched_memory_is_left_alone() {
    let Some(filled) = filled(256, 64 << 10, "plain") else { return };
    let Some(mut supervisor) = supervise(&filled, RANGE) else { return };
    let (rss_before, _) = filled.figures();
    for pass in all_passes(&mut supervisor) {
        assert_eq!(pass.collapsed_bytes, 0);
    }
    let (rss_after, _) = filled.figures();
    // The kernel's own background thread may have taken a block or two.
    assert!(rss_after < rss_before + 32 * MIB, "{rss_before} {rss_after}");
    filled.ends_well();
}

#[test]
fn mappings_outside_the_range_are_left_alone() {
    let Some(filled) = filled(64, 4096, "plain") else { return };
    let Some(mut supervisor) = supervise(&filled, SuperviseRange { min_size: 1 << 30, max_size: None })
    else {
        return;
    };
    assert_eq!(supervisor.pass().unwrap(), Pass::default());
    let Some(mut supervisor) = supervise(&filled, SuperviseRange { min_size: 0, max_size: Some(32 << 20) })
    else {
        return;
    };
    assert_eq!(supervisor.pass().unwrap().collapsed_bytes, 0);
    filled.ends_well();
}

#[test]
fn memory_that_forbids_huge_pages_is_a_shortfall() {
    let Some(filled) = filled(64, 4096, "forbidden") else { return };
    let Some(mut supervisor) = supervise(&filled, RANGE) else { return };
    let pass = supervisor.pass().unwrap();
    assert!(pass.refused[&Reason::NohugepageVma] >= 60 * MIB, "{pass:?}");
    assert_eq!(filled.figures().1, 0);
    filled.ends_well();
}

#[test]
fn a_process_that_disabled_huge_pages_is_refused() {
    let Some(filled) = filled(8, 4096, "prctl") else { return };
    match Supervisor::new(Root::live(), filled.pid(), RANGE) {
        Err(error) if error.reason() == Some(Reason::ThpDisabledByPrctl) => {}
        Err(error) if matches!(error.reason(), Some(Reason::NoCapability | Reason::KernelTooOld)) => {
            skipped(&error.to_string());
        }
        other => panic!("{other:?}"),
    }
    filled.ends_well();
}

#[test]
fn a_process_that_ends_is_a_clean_end() {
    let Some(filled) = filled(16, 4096, "plain") else { return };
    let Some(mut supervisor) = supervise(&filled, RANGE) else { return };
    filled.talking.running.kill(libc::SIGKILL).unwrap();
    assert!(supervisor.handle().wait_ended(None).unwrap());
    assert!(supervisor.pass().unwrap().ended, "not collected yet");
    let pid = filled.pid();
    filled.talking.running.wait().unwrap();
    assert!(supervisor.pass().unwrap().ended);
    let error = Supervisor::new(Root::live(), pid, RANGE).unwrap_err();
    assert!(matches!(error, SuperviseError::NoSuchProcess { .. }), "{error}");
}

/// Takes capabilities away from the calling thread only.
fn without_capabilities(gone: &[u32]) -> bool {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    let header = Header { version: 0x2008_0522, pid: 0 };
    let mut sets = [[0u32; 3]; 2];
    // SAFETY: version 3 of the interface reads and writes two structs of three words; both live on our stack.
    let got = unsafe { libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr()) };
    for &capability in gone {
        sets[capability as usize / 32][0] &= !(1 << (capability % 32));
    }
    // SAFETY: as above.
    got == 0 && unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) == 0 }
}

const CAP_SYS_PTRACE: u32 = 19;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_SYS_NICE: u32 = 23;
const CAP_PERFMON: u32 = 38;

#[test]
fn a_missing_capability_has_its_reason() {
    let Some(filled) = filled(8, 4096, "plain") else { return };
    let pid = filled.pid();
    let answer = std::thread::spawn(move || {
        assert!(without_capabilities(&[CAP_SYS_NICE]));
        Supervisor::new(Root::live(), pid, RANGE)
    });
    match answer.join().unwrap() {
        Err(error) if error.reason() == Some(Reason::NoCapability) => {}
        Err(error) if error.reason() == Some(Reason::KernelTooOld) => skipped(&error.to_string()),
        other => panic!("{other:?}"),
    }
    filled.ends_well();
}

#[test]
fn a_process_that_hides_has_its_reason() {
    let Some(filled) = filled(8, 4096, "hidden") else { return };
    let pid = filled.pid();
    let answer = std::thread::spawn(move || {
        assert!(without_capabilities(&[CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON]));
        Supervisor::new(Root::live(), pid, RANGE)
    });
    match answer.join().unwrap() {
        Err(error) if error.reason() == Some(Reason::NotDumpable) => {}
        Err(error) if matches!(error.reason(), Some(Reason::NoCapability | Reason::KernelTooOld)) => {
            skipped(&error.to_string());
        }
        other => panic!("{other:?}"),
    }
    filled.ends_well();
}
