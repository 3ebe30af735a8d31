//! Attaching to real processes, with the effect read back from the kernel.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod heirs;
mod meddling;
#[path = "../../../../tests/skipped.rs"]
mod skipped;
mod targets;

use firsttouch_attach::{
    AttachContext, AttachError, Executor, JournalHistory, Remote, ResolvedRequest, Target, ThreadAffinity,
    attach, kept, undo,
};
use firsttouch_linux::root::Root;
use firsttouch_linux::smaps::read_smaps;
use firsttouch_memory::Reason;
use firsttouch_placement::{AttachAsked, AttachEnded, AttachReport};
use firsttouch_threads::threads_of;
use skipped::skipped;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// What the kernel's own thread may have collapsed meanwhile.
const BY_ITSELF: u64 = 16 * MIB;

/// Fills MiB of memory on base pages, without a word about the mapping, so that the kernel's own thread leaves it alone
/// where huge pages are for those who ask; starts threads, says the address, and obeys single letters: `e` executes itself
/// again, `f` forbids huge pages, `d` disables them for the process, `t` makes another thread, `q` checks what it filled and ends.
const PROGRAM: &str = "\
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
static void *wait_for_ever(void *x) { pause(); return x; }
int main(int count, char **words) {
    size_t bytes = (size_t)atoi(words[1]) << 20;
    unsigned char *block = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    for (size_t at = 0; at < bytes; at += 4096) block[at] = (unsigned char)(at / 4096 * 7 + 1);
    prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    for (int i = 0; i < atoi(words[2]); i++) { pthread_t t; pthread_create(&t, 0, wait_for_ever, 0); }
    for (;;) {
        printf(\"%p\\n\", (void *)block);
        fflush(stdout);
        switch (getchar()) {
        case 'e': execv(words[0], words); return 2;
        case 'f': madvise(block, bytes, MADV_NOHUGEPAGE); break;
        case 'd': prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); break;
        case 't': { pthread_t t; pthread_create(&t, 0, wait_for_ever, 0); break; }
        case 'u': munmap(block + bytes / 2, bytes / 2); bytes /= 2; break;
        default:
            for (size_t at = 0; at < bytes; at += 4096) if (block[at] != (unsigned char)(at / 4096 * 7 + 1)) return 4;
            return 0;
        }
    }
}
";

struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    address: u64,
    folder: tempfile::TempDir,
}

impl Running {
    /// `None`, which is said, without a C compiler.
    fn start(mib: u64, threads: u32) -> Option<Running> {
        let folder = tempfile::tempdir().unwrap();
        let (code, file) = (folder.path().join("program.c"), folder.path().join("program"));
        std::fs::write(&code, PROGRAM).unwrap();
        let compiled = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&file).arg(&code).status();
        if !compiled.is_ok_and(|status| status.success()) {
            skipped("no C compiler");
            return None;
        }
        let mut child = Command::new(&file)
            .args([mib.to_string(), threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut running = Running { child, input, output, address: 0, folder };
        running.listen();
        Some(running)
    }

    fn listen(&mut self) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        self.address = u64::from_str_radix(line.trim_end().strip_prefix("0x").unwrap(), 16).unwrap();
    }

    fn tell(&mut self, letter: char) {
        self.input.write_all(&[letter as u8]).unwrap();
        self.listen();
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn target(&self) -> Target {
        Target::open(&Root::live(), self.pid()).unwrap()
    }

    fn journals(&self) -> PathBuf {
        self.folder.path().join("journals")
    }

    /// The bytes of its block that are on huge pages.
    fn huge_bytes(&self) -> u64 {
        let regions = read_smaps(&Root::live(), self.pid()).unwrap();
        let inside = |region: &&firsttouch_linux::smaps::Region| {
            (region.mapping.start..region.mapping.end).contains(&self.address)
        };
        regions.iter().find(inside).unwrap().figures.anon_huge_pages.unwrap()
    }

    fn cpus(&self) -> Vec<Vec<u32>> {
        threads_of(&Root::live(), self.pid()).unwrap().into_iter().map(|thread| thread.cpus).collect()
    }

    fn ends_well(mut self) {
        self.input.write_all(b"q").unwrap();
        assert!(self.child.wait().unwrap().success(), "what it filled was changed");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn huge_pages() -> ResolvedRequest {
    ResolvedRequest {
        asked: AttachAsked { huge_pages: true, ..AttachAsked::default() },
        stall_limit: Duration::from_millis(20),
        ..ResolvedRequest::default()
    }
}

fn on_cpu(cpu: u32) -> ResolvedRequest {
    ResolvedRequest {
        affinity: ThreadAffinity { cpus: vec![cpu], ..ThreadAffinity::default() },
        ..ResolvedRequest { stall_limit: Duration::from_millis(20), ..ResolvedRequest::default() }
    }
}

static GO_ON: AtomicBool = AtomicBool::new(false);

fn context<'a>(running: &Running, stop: &'a AtomicBool) -> AttachContext<'a> {
    AttachContext {
        journals: running.journals(),
        now: "2026-01-01T00:00:00Z".to_owned(),
        nodes: vec![0],
        stop,
    }
}

/// Attaches; `None`, said on stderr, where this machine or user may not.
fn attached(running: &Running, request: &ResolvedRequest) -> Option<AttachReport> {
    let target = running.target();
    let mut executor = Remote::new(&target).unwrap();
    attached_by(running, &target, &mut executor, request, &GO_ON)
}

/// Whether this machine, or user, cannot attach to anything, which is said.
fn cannot(error: &AttachError) -> bool {
    let AttachError::Refused { reason: reason @ (Reason::NoCapability | Reason::KernelTooOld), .. } = error
    else {
        return false;
    };
    skipped(&format!("attaching: {}", reason.word()));
    true
}

fn attached_by(
    running: &Running,
    target: &Target,
    executor: &mut dyn Executor,
    request: &ResolvedRequest,
    stop: &AtomicBool,
) -> Option<AttachReport> {
    match attach(target, executor, request, &context(running, stop), false, &mut |_| {}) {
        Ok(report) => Some(report),
        Err(error) if cannot(&error) => None,
        Err(error) => panic!("{error}"),
    }
}

fn undone(running: &Running) -> AttachReport {
    let target = running.target();
    let mut executor = Remote::new(&target).unwrap();
    undo(&target, &mut executor, &context(running, &GO_ON), Duration::from_millis(20), &mut |_| {}).unwrap()
}

fn history(path: &Path) -> JournalHistory {
    JournalHistory::parse(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn memory_moves_to_huge_pages_and_keeps_its_contents() {
    let Some(running) = Running::start(128, 0) else { return };
    assert!(running.huge_bytes() <= BY_ITSELF);
    let Some(report) = attached(&running, &huge_pages()) else { return };
    assert_eq!(report.ended, AttachEnded::Done);
    assert!(report.planned.collapse_bytes >= 124 * MIB - BY_ITSELF, "{:?}", report.planned);
    let short_of_memory = report.shortfalls.iter().any(|short| short.reason == Reason::NoContiguousMemory);
    assert!(running.huge_bytes() >= 124 * MIB || short_of_memory, "{report:?}");
    assert!(report.collapsed_bytes + BY_ITSELF >= running.huge_bytes(), "{report:?}");
    let share = |receipt: &firsttouch_placement::Receipt| {
        receipt.obtained.as_ref().unwrap().share_on_pages_of(2 * MIB).unwrap()
    };
    assert!(share(&report.before) < share(&report.after));
    assert!(report.worst_pause_ms > 0.0);
    // What is huge stays so, and there is nothing more to do.
    let again = attached(&running, &huge_pages()).unwrap();
    assert!(again.planned.collapse_bytes <= 4 * MIB || short_of_memory, "{:?}", again.planned);
    let back = undone(&running);
    assert!(back.notes.iter().any(|note| note.contains("stay huge")), "{:?}", back.notes);
    assert_eq!(kept(&Root::live(), &running.journals()).unwrap().len(), 0);
    running.ends_well();
}

#[test]
fn large_memory_is_counted_in_pieces_to_the_same_end() {
    let Some(running) = Running::start(64, 0) else { return };
    // Any memory is too large to be read at once within so short a pause.
    let request = ResolvedRequest { stall_limit: Duration::from_micros(40), ..huge_pages() };
    let Some(report) = attached(&running, &request) else { return };
    let obtained = report.after.obtained.as_ref().unwrap();
    let huge = obtained.bytes_by_page_size.get(&(2 * MIB)).copied().unwrap_or(0);
    assert_eq!(
        huge,
        read_smaps(&Root::live(), running.pid())
            .unwrap()
            .iter()
            .map(|r| r.figures.transparent_huge())
            .sum::<u64>()
    );
    let short_of_memory = report.shortfalls.iter().any(|short| short.reason == Reason::NoContiguousMemory);
    assert!(running.huge_bytes() >= 60 * MIB && report.collapsed_bytes > 0 || short_of_memory, "{report:?}");
    running.ends_well();
}

#[test]
fn what_the_program_forbids_is_left_and_told() {
    for stall_limit in [Duration::from_millis(20), Duration::from_micros(40)] {
        let Some(mut running) = Running::start(32, 0) else { return };
        running.tell('f');
        let Some(report) = attached(&running, &ResolvedRequest { stall_limit, ..huge_pages() }) else {
            return;
        };
        assert!(running.huge_bytes() <= BY_ITSELF && report.ended == AttachEnded::Done);
        let told = report.shortfalls.iter().find(|short| short.reason == Reason::NohugepageVma);
        assert!(told.is_some_and(|short| short.bytes >= 28 * MIB - BY_ITSELF), "{:?}", report.shortfalls);
        running.ends_well();
    }
}

#[test]
fn what_the_process_has_disabled_is_left_and_told() {
    let Some(mut running) = Running::start(32, 0) else { return };
    running.tell('d');
    let Some(report) = attached(&running, &huge_pages()) else { return };
    assert_eq!((report.planned.collapse_bytes, report.collapsed_bytes), (0, 0));
    let told = report.shortfalls.iter().find(|short| short.reason == Reason::ThpDisabledByPrctl);
    assert!(told.is_some_and(|short| short.bytes >= 32 * MIB - BY_ITSELF), "{:?}", report.shortfalls);
    running.ends_well();
}

#[test]
fn threads_get_their_cpus_and_get_them_back() {
    let Some(mut running) = Running::start(1, 2) else { return };
    let before = running.cpus();
    let [_, .., cpu] = before[0][..] else { return skipped("one CPU") };
    let Some(report) = attached(&running, &on_cpu(cpu)) else { return };
    assert_eq!((report.bound_threads, running.cpus()), (3, vec![vec![cpu]; 3]));
    // One that is made now inherits, and is given what the main thread had.
    running.tell('t');
    assert_eq!(running.cpus(), vec![vec![cpu]; 4]);
    let steps = kept(&Root::live(), &running.journals()).unwrap();
    assert!(steps.len() == 1 && steps[0].alive && !steps[0].cut_off && steps[0].open_steps == 3, "{steps:?}");
    let back = undone(&running);
    assert_eq!((back.bound_threads, back.journal), (4, None));
    assert_eq!(running.cpus(), vec![before[0].clone(); 4]);
    let nothing = undone(&running);
    assert!(nothing.bound_threads == 0 && nothing.notes[0].contains("nothing to take back"), "{nothing:?}");
    running.ends_well();
}

#[test]
fn several_attaches_go_back_to_the_first_beginning() {
    let Some(running) = Running::start(1, 0) else { return };
    let before = running.cpus();
    let [first, .., last] = before[0][..] else { return skipped("one CPU") };
    if attached(&running, &on_cpu(first)).is_none() {
        return;
    }
    attached(&running, &on_cpu(last)).unwrap();
    assert_eq!(running.cpus(), [[last]]);
    undone(&running);
    assert_eq!(running.cpus(), before);
    running.ends_well();
}

#[test]
fn no_step_is_made_without_a_journal() {
    let Some(running) = Running::start(16, 0) else { return };
    let target = running.target();
    let mut executor = Remote::new(&target).unwrap();
    let file = running.folder.path().join("program");
    let context =
        AttachContext { journals: file.join("x"), now: String::new(), nodes: vec![0], stop: &GO_ON };
    match attach(&target, &mut executor, &huge_pages(), &context, false, &mut |_| {}) {
        Err(AttachError::Journal(error)) => assert!(error.hint().contains("XDG_STATE_HOME"), "{error}"),
        Err(error) if cannot(&error) => return,
        outcome => panic!("{outcome:?}"),
    }
    assert!(running.huge_bytes() <= BY_ITSELF);
    running.ends_well();
}

#[test]
fn a_dry_run_changes_nothing_and_leaves_nothing() {
    let Some(running) = Running::start(32, 1) else { return };
    let target = running.target();
    let before = running.cpus();
    let mut executor = Remote::new(&target).unwrap();
    let request = ResolvedRequest {
        affinity: ThreadAffinity { order: vec![before[0][0]], ..ThreadAffinity::default() },
        ..huge_pages()
    };
    match attach(&target, &mut executor, &request, &context(&running, &GO_ON), true, &mut |_| {}) {
        Ok(report) => {
            assert!(report.planned.collapse_bytes >= 28 * MIB - BY_ITSELF, "{:?}", report.planned);
            assert_eq!(report.planned.threads, if before[0].len() > 1 { 2 } else { 0 });
        }
        Err(error) if cannot(&error) => return,
        Err(error) => panic!("{error}"),
    }
    assert!(running.huge_bytes() <= BY_ITSELF);
    assert_eq!(running.cpus(), before);
    assert!(!running.journals().exists());
    running.ends_well();
}
