//! Attaching to real processes, with the effect read back from the kernel.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a skipped test says so on stderr")]

use firsttouch_attach::{
    Around, AttachError, Entry, Hand, Outside, Seats, Story, Target, TargetError, Wish, attach, kept, undo,
};
use firsttouch_linux::numa::CpuBits;
use firsttouch_linux::root::Root;
use firsttouch_linux::smaps::read_smaps;
use firsttouch_memory::Reason;
use firsttouch_placement::{AttachAsked, AttachEnded, AttachReport, AttachVia};
use firsttouch_threads::threads_of;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// What the kernel's own thread may have collapsed meanwhile.
const BY_ITSELF: u64 = 16 * MIB;

/// Fills MiB of memory on base pages, without a word about the mapping, so that the kernel's own thread leaves it alone
/// where huge pages are for those who ask; starts threads, says the address, and obeys single letters: `e` executes itself
/// again, `f` forbids huge pages, `t` makes another thread, `q` checks what it filled and ends.
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
    /// `None`, said on stderr, without a C compiler.
    fn start(mib: u64, threads: u32) -> Option<Running> {
        let folder = tempfile::tempdir().unwrap();
        let (code, file) = (folder.path().join("program.c"), folder.path().join("program"));
        std::fs::write(&code, PROGRAM).unwrap();
        let compiled = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&file).arg(&code).status();
        if !compiled.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no C compiler");
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

fn huge_pages() -> Wish {
    Wish {
        asked: AttachAsked { huge_pages: true, ..AttachAsked::default() },
        stall_limit: Duration::from_millis(20),
        ..Wish::default()
    }
}

fn on_cpu(cpu: u32) -> Wish {
    Wish {
        seats: Seats { cpus: vec![cpu], ..Seats::default() },
        ..Wish { stall_limit: Duration::from_millis(20), ..Wish::default() }
    }
}

static GO_ON: AtomicBool = AtomicBool::new(false);

fn around<'a>(running: &Running, stop: &'a AtomicBool) -> Around<'a> {
    Around { journals: running.journals(), now: "2026-01-01T00:00:00Z".to_owned(), nodes: vec![0], stop }
}

/// Attaches; `None`, said on stderr, where this machine or user may not.
fn attached(running: &Running, wish: &Wish) -> Option<AttachReport> {
    let target = running.target();
    let mut hand = Outside::new(&target).unwrap();
    attached_by(running, &target, &mut hand, wish, &GO_ON)
}

fn attached_by(
    running: &Running,
    target: &Target,
    hand: &mut dyn Hand,
    wish: &Wish,
    stop: &AtomicBool,
) -> Option<AttachReport> {
    match attach(target, hand, wish, &around(running, stop), false, &mut |_| {}) {
        Ok(report) => Some(report),
        Err(AttachError::Refused {
            reason: reason @ (Reason::NoCapability | Reason::KernelTooOld), ..
        }) => {
            eprintln!("skipped: attaching: {}", reason.word());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn undone(running: &Running) -> AttachReport {
    let target = running.target();
    let mut hand = Outside::new(&target).unwrap();
    undo(&target, &mut hand, &around(running, &GO_ON), Duration::from_millis(20), &mut |_| {}).unwrap()
}

fn story(path: &Path) -> Story {
    Story::parse(&std::fs::read(path).unwrap()).unwrap()
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
    let wish = Wish { stall_limit: Duration::from_micros(40), ..huge_pages() };
    let Some(report) = attached(&running, &wish) else { return };
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
        let Some(report) = attached(&running, &Wish { stall_limit, ..huge_pages() }) else { return };
        assert!(running.huge_bytes() <= BY_ITSELF && report.ended == AttachEnded::Done);
        let told = report.shortfalls.iter().find(|short| short.reason == Reason::NohugepageVma);
        assert!(told.is_some_and(|short| short.bytes >= 28 * MIB - BY_ITSELF), "{:?}", report.shortfalls);
        running.ends_well();
    }
}

#[test]
fn threads_get_their_cpus_and_get_them_back() {
    let Some(mut running) = Running::start(1, 2) else { return };
    let before = running.cpus();
    let Some(&cpu) = before[0].last() else { return };
    if before[0].len() < 2 {
        eprintln!("skipped: one CPU");
        return;
    }
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
    let [first, .., last] = before[0][..] else {
        eprintln!("skipped: one CPU");
        return;
    };
    if attached(&running, &on_cpu(first)).is_none() {
        return;
    }
    attached(&running, &on_cpu(last)).unwrap();
    assert_eq!(running.cpus(), [[last]]);
    undone(&running);
    assert_eq!(running.cpus(), before);
    running.ends_well();
}

/// Does something before each collapse.
struct Meddling<F>(Outside, F);

impl<F> std::fmt::Debug for Meddling<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<F: FnMut(u64, u64)> Hand for Meddling<F> {
    fn via(&self) -> AttachVia {
        self.0.via()
    }
    fn may_collapse(&mut self) -> io::Result<()> {
        self.0.may_collapse()
    }
    fn collapse(&mut self, start: u64, bytes: u64) -> io::Result<()> {
        self.1(start, bytes);
        self.0.collapse(start, bytes)
    }
    fn nodes_of(&mut self, addresses: &[u64], nodes: &mut [i32]) -> io::Result<()> {
        self.0.nodes_of(addresses, nodes)
    }
    fn move_pages(&mut self, addresses: &[u64], nodes: &[i32], status: &mut [i32]) -> io::Result<()> {
        self.0.move_pages(addresses, nodes, status)
    }
    fn set_affinity(&mut self, thread: u32, cpus: &CpuBits) -> io::Result<()> {
        self.0.set_affinity(thread, cpus)
    }
}

#[test]
fn each_step_is_in_the_journal_before_it_is_made() {
    let Some(running) = Running::start(32, 0) else { return };
    let target = running.target();
    let journal = running.journals().join(format!("{}-{}.jsonl", running.pid(), target.start_ticks()));
    let mut calls = 0;
    let look = |at: u64, size: u64| {
        calls += 1;
        let story = story(&journal);
        let written = matches!(story.entries.last(), Some(Entry::Collapse { start, bytes, .. }) if (*start, *bytes) == (at, size));
        assert!(written && story.is_cut_off(), "{:?}", story.entries.last());
    };
    let mut hand = Meddling(Outside::new(&target).unwrap(), look);
    let Some(report) = attached_by(&running, &target, &mut hand, &huge_pages(), &GO_ON) else { return };
    drop(hand);
    assert!(calls > 0);
    assert!(!story(Path::new(&report.journal.unwrap())).is_cut_off());
    running.ends_well();
}

#[test]
fn a_request_to_stop_ends_it_between_two_steps() {
    let Some(running) = Running::start(64, 0) else { return };
    let (target, stop) = (running.target(), AtomicBool::new(false));
    let outside = Outside::new(&target).unwrap();
    let mut hand = Meddling(outside, |_, _| stop.store(true, Ordering::Relaxed));
    let Some(report) = attached_by(&running, &target, &mut hand, &huge_pages(), &stop) else { return };
    assert_eq!(report.ended, AttachEnded::Interrupted);
    assert!(report.collapsed_bytes < 64 * MIB && report.journal.is_some());
    assert_eq!(attached(&running, &huge_pages()).unwrap().ended, AttachEnded::Done);
    running.ends_well();
}

#[test]
fn where_pauses_cannot_be_kept_short_it_stops_and_says_so() {
    let Some(running) = Running::start(64, 0) else { return };
    let (target, mut sizes) = (running.target(), Vec::new());
    let late = |_, size| {
        sizes.push(size);
        std::thread::sleep(Duration::from_millis(30));
    };
    let mut hand = Meddling(Outside::new(&target).unwrap(), late);
    let Some(report) = attached_by(&running, &target, &mut hand, &huge_pages(), &GO_ON) else { return };
    drop(hand);
    assert_eq!((report.ended, sizes.last()), (AttachEnded::StallLimit, Some(&(2 * MIB))), "{sizes:?}");
    assert!(sizes.len() <= 8, "{sizes:?}");
    assert!(report.worst_pause_ms >= 30.0);
    let told = report.notes.iter().find(|note| note.contains("--budget-stall"));
    assert!(
        told.is_some_and(|note| note.contains("4 calls") && note.contains("20 ms")),
        "{:?}",
        report.notes
    );
    assert!(report.notes.iter().any(|note| note.contains("were not reached")), "{:?}", report.notes);
    // What was done stays, the journal has its end, and the next goes on from there.
    assert!(report.collapsed_bytes < 64 * MIB && report.collapsed_bytes <= running.huge_bytes());
    let journal = story(Path::new(report.journal.as_ref().unwrap()));
    assert!(!journal.is_cut_off());
    let allowed = Wish { stall_limit: Duration::from_secs(2), ..huge_pages() };
    assert_eq!(attached(&running, &allowed).unwrap().ended, AttachEnded::Done);
    running.ends_well();
}

#[test]
fn a_process_that_is_killed_in_the_middle_is_a_clean_end() {
    let Some(mut running) = Running::start(64, 0) else { return };
    let target = running.target();
    let outside = Outside::new(&target).unwrap();
    let kill = |_, _| {
        // From the second call on it has been gone for long.
        if target.handle().signal(libc::SIGKILL).is_ok() {
            target.handle().wait_ended(None).unwrap();
        }
    };
    let mut hand = Meddling(outside, kill);
    let Some(report) = attached_by(&running, &target, &mut hand, &huge_pages(), &GO_ON) else { return };
    assert_eq!(report.ended, AttachEnded::TargetEnded);
    assert!(report.after.obtained.is_none() && !report.after.complete);
    drop(hand);
    running.child.wait().unwrap();
    // Nothing can be taken back from what is gone, and the folder can be tidied.
    let kept = kept(&Root::live(), &running.journals()).unwrap();
    assert!(kept.len() == 1 && !kept[0].alive);
    assert_eq!(firsttouch_attach::forget(&Root::live(), &running.journals()).unwrap().len(), 1);
}

#[test]
fn a_process_that_becomes_another_program_is_left_alone() {
    let Some(mut running) = Running::start(64, 0) else { return };
    let target = running.target();
    target.check().unwrap();
    let wish = on_cpu(running.cpus()[0][0]);
    if attached(&running, &wish).is_none() {
        return;
    }
    running.tell('e');
    // The number and the start time are the same; the program is not, though its file is.
    assert_eq!(target.check(), Err(AttachEnded::TargetExec));
    let mut hand = Outside::new(&target).unwrap();
    let outcome = attach(&target, &mut hand, &huge_pages(), &around(&running, &GO_ON), false, &mut |_| {});
    assert!(matches!(outcome, Err(AttachError::Gone { ended: AttachEnded::TargetExec, .. })), "{outcome:?}");
    assert!(running.huge_bytes() <= BY_ITSELF);
    // CPUs outlive the exec, and are given back.
    let back = undone(&running);
    assert!(
        back.notes.iter().any(|note| note.contains("another program")) || back.bound_threads == 0,
        "{back:?}"
    );
    running.ends_well();
}

#[test]
fn memory_that_is_unmapped_meanwhile_is_no_error() {
    let Some(mut running) = Running::start(64, 0) else { return };
    let target = running.target();
    let outside = Outside::new(&target).unwrap();
    let journals = running.journals();
    let mut first = true;
    let meddle = |_, _| {
        if std::mem::take(&mut first) {
            running.tell('u');
        }
    };
    let around = Around { journals, now: String::new(), nodes: vec![0], stop: &GO_ON };
    let mut hand = Meddling(outside, meddle);
    match attach(&target, &mut hand, &huge_pages(), &around, false, &mut |_| {}) {
        Ok(report) => assert_eq!(report.ended, AttachEnded::Done, "{report:?}"),
        Err(AttachError::Refused { reason: Reason::NoCapability | Reason::KernelTooOld, .. }) => return,
        Err(error) => panic!("{error}"),
    }
    drop(hand);
    running.ends_well();
}

#[test]
fn a_process_that_was_stopped_meanwhile_is_left_alone() {
    let Some(running) = Running::start(1, 0) else { return };
    let target = running.target();
    target.handle().signal(libc::SIGSTOP).unwrap();
    // The signal has been sent; when it has been taken, the kernel says so to the parent, which we are.
    while target.check().is_ok() {
        std::thread::yield_now();
    }
    assert_eq!(target.check(), Err(AttachEnded::TargetStopped));
    // Who is stopped from the start may be attached to.
    running.target().check().unwrap();
    target.handle().signal(libc::SIGCONT).unwrap();
    running.ends_well();
}

/// Traces a process until it is let go.
const TRACER: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
int main(int count, char **words) {
    puts(ptrace(PTRACE_SEIZE, atoi(words[1]), 0, 0) ? \"no\" : \"yes\");
    fflush(stdout);
    getchar();
    return 0;
}
";

#[test]
fn a_process_that_is_traced_meanwhile_is_left_alone() {
    let Some(running) = Running::start(1, 0) else { return };
    let target = running.target();
    let (code, file) = (running.folder.path().join("tracer.c"), running.folder.path().join("tracer"));
    std::fs::write(&code, TRACER).unwrap();
    assert!(Command::new("cc").arg("-o").arg(&file).arg(&code).status().unwrap().success());
    let mut tracer = Command::new(&file)
        .arg(running.pid().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answer = String::new();
    BufReader::new(tracer.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    if answer == "yes\n" {
        assert_eq!(target.check(), Err(AttachEnded::TargetTraced));
        // Whoever traces it from the start is no surprise.
        running.target().check().unwrap();
    } else {
        eprintln!("skipped: tracing is not allowed");
    }
    drop(tracer.stdin.take());
    tracer.wait().unwrap();
    target.check().unwrap();
    running.ends_well();
}

#[test]
fn no_step_is_made_without_a_journal() {
    let Some(running) = Running::start(16, 0) else { return };
    let target = running.target();
    let mut hand = Outside::new(&target).unwrap();
    let file = running.folder.path().join("program");
    let around = Around { journals: file.join("x"), now: String::new(), nodes: vec![0], stop: &GO_ON };
    match attach(&target, &mut hand, &huge_pages(), &around, false, &mut |_| {}) {
        Err(AttachError::Journal(error)) => assert!(error.hint().contains("XDG_STATE_HOME"), "{error}"),
        Err(AttachError::Refused { .. }) => return,
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
    let mut hand = Outside::new(&target).unwrap();
    let wish = Wish { seats: Seats { order: vec![before[0][0]], ..Seats::default() }, ..huge_pages() };
    match attach(&target, &mut hand, &wish, &around(&running, &GO_ON), true, &mut |_| {}) {
        Ok(report) => {
            assert!(report.planned.collapse_bytes >= 28 * MIB - BY_ITSELF, "{:?}", report.planned);
            assert_eq!(report.planned.threads, if before[0].len() > 1 { 2 } else { 0 });
        }
        Err(AttachError::Refused { .. }) => return,
        Err(error) => panic!("{error}"),
    }
    assert!(running.huge_bytes() <= BY_ITSELF);
    assert_eq!(running.cpus(), before);
    assert!(!running.journals().exists());
    running.ends_well();
}

#[test]
fn who_cannot_be_attached_to_is_told_apart() {
    let open = |pid| Target::open(&Root::live(), pid).unwrap_err();
    assert!(matches!(open(1), TargetError::Init));
    assert!(matches!(open(std::process::id()), TargetError::Ourselves { .. }));
    let mut child = Command::new("true").spawn().unwrap();
    let pid = child.id();
    while !std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z ") {
        std::thread::yield_now();
    }
    assert!(matches!(open(pid), TargetError::Zombie { .. }));
    child.wait().unwrap();
    assert!(matches!(open(pid), TargetError::NoSuchProcess { .. }));
    assert!(matches!(open(u32::MAX / 2), TargetError::NoSuchProcess { .. }));
    let own = std::process::id();
    let thread = std::thread::spawn(move || {
        let thread = firsttouch_linux::numa::thread_id();
        assert!(matches!(open(thread), TargetError::Thread { process, .. } if process == own));
        open(thread).hint()
    });
    assert_eq!(thread.join().unwrap(), format!("firsttouch attach {own}"));
    if std::fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim() == "kthreadd") {
        assert!(matches!(open(2), TargetError::KernelThread { .. }));
    }
    for error in [open(1), open(pid), open(own)] {
        assert!(!error.hint().is_empty());
    }
}

/// The kernel gives numbers one after another; where it lets itself be told which was the last, one comes again at will.
#[test]
fn a_number_that_is_reused_is_not_taken_for_the_same_process() {
    let last = "/proc/sys/kernel/ns_last_pid";
    for _ in 0..200 {
        let mut first = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = first.id();
        let target = Target::open(&Root::live(), pid).unwrap();
        drop(first.stdin.take());
        first.wait().unwrap();
        if std::fs::write(last, (pid - 1).to_string()).is_err() {
            eprintln!("skipped: {last} cannot be written");
            return;
        }
        let mut second = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // Once it answers it has become `cat`.
        second.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        second.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let reused = second.id() == pid;
        if reused {
            assert_eq!(target.check(), Err(AttachEnded::TargetEnded));
            let mut hand = Outside::new(&target).unwrap();
            let before = threads_of(&Root::live(), pid).unwrap();
            let bits = CpuBits::of(&before[0].cpus[..1]).unwrap();
            assert_eq!(hand.set_affinity(pid, &bits).unwrap_err().raw_os_error(), Some(libc::ESRCH));
            assert_eq!(hand.nodes_of(&[4096], &mut [0]).unwrap_err().raw_os_error(), Some(libc::ESRCH));
            assert_eq!(hand.collapse(0, 2 * MIB).unwrap_err().raw_os_error(), Some(libc::ESRCH));
            assert_eq!(threads_of(&Root::live(), pid).unwrap(), before);
        }
        drop(second.stdin.take());
        second.wait().unwrap();
        if reused {
            return;
        }
    }
    eprintln!("skipped: no number came again");
}
