//! Which thread is bound to which CPU, and what became of it.
//!
//! Every thread has a slot, by whose number it gets its CPU: slot 0 is the main thread's, the others go to threads in the
//! order of their creation, the lowest free one first. Slots beyond the number of CPUs go round. A thread that is not to
//! be bound has a slot from the top of the table, for the time of its start and for the record.
//!
//! Nothing here allocates or waits. Slots are taken by one atomic exchange. A slot is free again when its thread is
//! joined; that of a thread that nobody joins is found free when it is looked for, because the end of a thread is nothing
//! that could be hooked without running in it.

use crate::HEAP;
use core::cell::Cell;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use firsttouch_linux::channel::Line;
use firsttouch_linux::numa::{self, CpuBits, NodeBits};
use firsttouch_linux::sys;
use firsttouch_memory::agent_settings::Numbers;
use firsttouch_memory::record_line::{Name, RecordLine};

/// Threads alive at one time that can have a slot.
const SLOTS: usize = 4096;
/// Of these, slots of bound threads.
const BOUND_SLOTS: usize = 3072;
/// The longest order of CPUs.
const MOST_CPUS: usize = 2048;
/// Threads that the record tells of.
const RECORDED: usize = 256;

const FREE: u32 = 0;
/// Taken for a thread that does not run yet. No thread has this number: it is that of the first process.
const STARTING: u32 = 1;

/// Memory that is written once, before there are threads to be bound.
struct Once<T>(core::cell::UnsafeCell<T>);
// SAFETY: written by `set` only, which its callers call before any other thread exists, and read after that.
unsafe impl<T> Sync for Once<T> {}

impl<T: Copy> Once<T> {
    const fn new(value: T) -> Self {
        Once(core::cell::UnsafeCell::new(value))
    }

    fn get(&self) -> &T {
        // SAFETY: nobody writes any more; see the type.
        unsafe { &*self.0.get() }
    }

    /// # Safety
    /// No other thread may exist.
    unsafe fn set(&self, value: T) {
        // SAFETY: the caller's duty.
        unsafe { *self.0.get() = value };
    }
}

/// What is asked: the CPUs in order, and the threads to be left alone.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    cpus: [u16; MOST_CPUS],
    count: usize,
    skip: NodeBits,
}

impl Asked {
    const NOTHING: Asked = Asked { cpus: [0; MOST_CPUS], count: 0, skip: NodeBits::EMPTY };

    /// `None` if a number is too large, or there are too many.
    pub(crate) fn of(cpus: Numbers<'_>, skip: Numbers<'_>) -> Option<Asked> {
        let mut asked = Asked::NOTHING;
        for cpu in cpus.iter() {
            *asked.cpus.get_mut(asked.count)? = u16::try_from(cpu).ok().filter(|_| cpu < CpuBits::END)?;
            asked.count += 1;
        }
        skip.iter().all(|number| asked.skip.insert(number)).then_some(asked)
    }
}

struct Slot {
    /// [`FREE`], [`STARTING`], or the number of the thread.
    thread: AtomicU32,
    function: AtomicUsize,
    argument: AtomicUsize,
    /// As pthread_self says.
    handle: AtomicUsize,
    /// In the order of creation.
    number: AtomicU32,
    /// The program has bound the thread itself meanwhile.
    is_programs: AtomicBool,
}

static SLOT: [Slot; SLOTS] = [const {
    Slot {
        thread: AtomicU32::new(FREE),
        function: AtomicUsize::new(0),
        argument: AtomicUsize::new(0),
        handle: AtomicUsize::new(0),
        number: AtomicU32::new(0),
        is_programs: AtomicBool::new(false),
    }
}; SLOTS];

/// One row of the record. A CPU is kept plus one, 0 being none.
struct Row {
    thread: AtomicU32,
    asked: AtomicU32,
    obtained: AtomicU32,
}

static ROW: [Row; RECORDED] =
    [const { Row { thread: AtomicU32::new(0), asked: AtomicU32::new(0), obtained: AtomicU32::new(0) } };
        RECORDED];

static ASKED: Once<Asked> = Once::new(Asked::NOTHING);
/// All CPUs of the order: what every thread may run on that is not bound, and what the program is told.
static ALL: Once<CpuBits> = Once::new(CpuBits::EMPTY);
static ACTIVE: AtomicBool = AtomicBool::new(false);
static CREATED: AtomicU32 = AtomicU32::new(0);
/// No slot at or above this one was taken for a bound thread.
static HIGHEST: AtomicUsize = AtomicUsize::new(0);
static SWEPT_NS: AtomicU64 = AtomicU64::new(0);

/// Begins to bind threads, with the calling one as the main thread.
///
/// # Safety
/// No other thread may exist.
pub(crate) unsafe fn begin(asked: &Asked) {
    if asked.count == 0 {
        return;
    }
    let mut all = CpuBits::EMPTY;
    for cpu in &asked.cpus[..asked.count] {
        all.insert(u32::from(*cpu));
    }
    // SAFETY: the caller's duty.
    unsafe {
        ASKED.set(*asked);
        ALL.set(all);
    }
    ACTIVE.store(true, Ordering::Relaxed);
    let main = &SLOT[0];
    main.handle.store(own_handle(), Ordering::Relaxed);
    HIGHEST.store(1, Ordering::Relaxed);
    // Somebody who came before us may have bound the thread: a library's constructor.
    let is_ours = numa::affinity(0).is_ok_and(|cpus| is_from_us(&cpus));
    main.is_programs.store(!is_ours, Ordering::Relaxed);
    let cpu = (is_ours && !asked.skip.contains(0)).then(|| cpu_of(0));
    bind(0, cpu, is_ours);
    main.thread.store(numa::thread_id(), Ordering::Release);
}

/// The program has created a thread, which has its files in common with others.
static HAS_OTHERS: AtomicBool = AtomicBool::new(false);

/// Takes note that the program creates a thread.
pub(crate) fn note_other() {
    HAS_OTHERS.store(true, Ordering::Relaxed);
    HEAP.create_thread();
}

/// Whether the program has created threads.
pub(crate) fn has_others() -> bool {
    HAS_OTHERS.load(Ordering::Relaxed)
}

/// Whether threads are bound in this process.
pub(crate) fn is_active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// The program has confined itself to some system calls: no thread is bound any more, as that takes others.
pub(crate) fn confine() {
    ACTIVE.store(false, Ordering::Relaxed);
}

/// In the child of a fork, which is not the program that was meant: every thread may run anywhere again.
pub(crate) fn end_in_child(was_bound: bool) {
    HAS_OTHERS.store(false, Ordering::Relaxed);
    if is_active() {
        ACTIVE.store(false, Ordering::Relaxed);
        if was_bound {
            let _ = numa::set_affinity(0, ALL.get());
        }
    }
}

fn cpu_of(slot: usize) -> u32 {
    let asked = ASKED.get();
    u32::from(asked.cpus[slot % asked.count])
}

fn own_handle() -> usize {
    // SAFETY: takes no argument and cannot fail.
    unsafe { libc::pthread_self() as usize }
}

/// A mask that we could have given: all CPUs, or one of them.
fn is_from_us(cpus: &CpuBits) -> bool {
    cpus == ALL.get() || cpus.count() == 1 && cpus.iter().all(|cpu| ALL.get().contains(cpu))
}

/// Binds the calling thread, whose number of creation is given, to a CPU, or lets it run on all; `change` is false if
/// it is to be left alone. Keeps what came of it.
fn bind(number: u32, cpu: Option<u32>, change: bool) {
    if change {
        let cpus = cpu.and_then(|cpu| CpuBits::of(&[cpu])).unwrap_or(*ALL.get());
        let _ = numa::set_affinity(0, &cpus);
    }
    let Some(row) = ROW.get(number as usize) else { return };
    let obtained = numa::affinity(0).ok().filter(|cpus| cpus.count() == 1);
    row.asked.store(cpu.map_or(0, |cpu| cpu + 1), Ordering::Relaxed);
    row.obtained
        .store(obtained.and_then(|cpus| cpus.iter().next()).map_or(0, |cpu| cpu + 1), Ordering::Relaxed);
    row.thread.store(numa::thread_id(), Ordering::Relaxed);
}

/// What a new thread does first and then: see [`enter`].
#[repr(C)]
pub(crate) struct Start {
    pub(crate) function: usize,
    pub(crate) argument: usize,
}

/// Counts a thread that the program binds itself.
pub(crate) fn pass_over() {
    CREATED.fetch_add(1, Ordering::Relaxed);
}

/// Takes a slot for a new thread; `None` if there is none.
pub(crate) fn prepare(start: &Start) -> Option<usize> {
    let number = CREATED.fetch_add(1, Ordering::Relaxed) + 1;
    let slot = if ASKED.get().skip.contains(number) { take_unbound() } else { take_bound() }?;
    let taken = &SLOT[slot];
    taken.number.store(number, Ordering::Relaxed);
    taken.is_programs.store(false, Ordering::Relaxed);
    taken.function.store(start.function, Ordering::Relaxed);
    // Starting a thread orders what was written before it.
    taken.argument.store(start.argument, Ordering::Release);
    Some(slot)
}

/// Notes the handle that a new thread is known by; it may not run yet.
pub(crate) fn known_as(slot: usize, handle: usize) {
    SLOT[slot].handle.store(handle, Ordering::Relaxed);
}

/// Gives back a slot.
pub(crate) fn cancel(slot: usize) {
    SLOT[slot].thread.store(FREE, Ordering::Relaxed);
}

fn take_bound() -> Option<usize> {
    let cpus = ASKED.get().count;
    // The first of the threads has ended: so, as a rule, have those that were created with it. Their CPUs serve again,
    // which keeps a program that makes its threads anew for each phase where its memory is.
    if has_ended(SLOT[1].thread.load(Ordering::Relaxed)) {
        sweep(1, HIGHEST.load(Ordering::Relaxed));
    }
    let slot = take_from(1..cpus.min(BOUND_SLOTS)).or_else(|| {
        // Every CPU was given away. One may be free again; looked for at most once a tick.
        let now = sys::coarse_ns();
        if SWEPT_NS.swap(now, Ordering::Relaxed) != now {
            sweep(1, cpus.min(HIGHEST.load(Ordering::Relaxed)));
        }
        take_from(1..BOUND_SLOTS)
    });
    let slot = slot.or_else(|| {
        sweep(1, BOUND_SLOTS);
        take_from(1..BOUND_SLOTS)
    })?;
    HIGHEST.fetch_max(slot + 1, Ordering::Relaxed);
    Some(slot)
}

fn take_unbound() -> Option<usize> {
    take_from(BOUND_SLOTS..SLOTS).or_else(|| {
        sweep(BOUND_SLOTS, SLOTS);
        take_from(BOUND_SLOTS..SLOTS)
    })
}

fn take_from(mut slots: core::ops::Range<usize>) -> Option<usize> {
    slots.find(|slot| {
        let thread = &SLOT[*slot].thread;
        thread.load(Ordering::Relaxed) == FREE
            && thread.compare_exchange(FREE, STARTING, Ordering::Acquire, Ordering::Relaxed).is_ok()
    })
}

fn has_ended(thread: u32) -> bool {
    thread > STARTING && !numa::is_alive(sys::process_id(), thread)
}

/// Frees the slots whose threads have ended.
fn sweep(from: usize, until: usize) {
    for slot in &SLOT[from..until.max(from)] {
        let thread = slot.thread.load(Ordering::Relaxed);
        if has_ended(thread) {
            let _ = slot.thread.compare_exchange(thread, FREE, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// The first thing a new thread does: goes to its CPU. Answers what it was created for.
pub(crate) extern "C" fn enter(slot: usize) -> Start {
    let own = &SLOT[slot];
    let argument = own.argument.load(Ordering::Acquire);
    let start = Start { function: own.function.load(Ordering::Relaxed), argument };
    own.handle.store(own_handle(), Ordering::Relaxed);
    bind(own.number.load(Ordering::Relaxed), (slot < BOUND_SLOTS).then(|| cpu_of(slot)), true);
    own.thread.store(numa::thread_id(), Ordering::Release);
    start
}

/// The slots of bound threads, and of the main thread.
fn bound_slots() -> impl Iterator<Item = (usize, &'static Slot)> {
    SLOT[..HIGHEST.load(Ordering::Relaxed)].iter().enumerate()
}

/// The number of the thread behind a handle, if it is one of ours.
pub(crate) fn thread_of(handle: usize) -> Option<u32> {
    if handle == own_handle() {
        return Some(numa::thread_id());
    }
    // A handle may be that of an earlier thread as well, which has ended.
    let same = bound_slots().filter(|(_, slot)| slot.handle.load(Ordering::Relaxed) == handle);
    let mut threads =
        same.map(|(_, slot)| slot.thread.load(Ordering::Acquire)).filter(|thread| *thread > STARTING);
    threads.find(|thread| numa::is_alive(sys::process_id(), *thread))
}

/// The slot of a thread that is about to be joined, and the number of its creation.
pub(crate) fn slot_to_join(handle: usize) -> Option<(usize, u32)> {
    if !is_active() {
        return None;
    }
    // Of several with this handle, all but the last have ended.
    let same = bound_slots().filter(|(_, slot)| slot.handle.load(Ordering::Relaxed) == handle);
    same.map(|(index, slot)| (index, slot.number.load(Ordering::Relaxed))).max_by_key(|(_, number)| *number)
}

/// The thread has been joined: its slot is free, unless another has it already.
pub(crate) fn joined(slot: usize, number: u32) {
    if SLOT[slot].number.load(Ordering::Relaxed) == number {
        cancel(slot);
    }
}

fn slot_of(thread: u32) -> Option<(usize, &'static Slot)> {
    bound_slots().find(|(_, slot)| slot.thread.load(Ordering::Relaxed) == thread)
}

/// Notes that the program has bound a thread itself: from now on that is its business.
pub(crate) fn leave_to_program(thread: u32) {
    if let Some((_, slot)) = slot_of(thread) {
        slot.is_programs.store(true, Ordering::Relaxed);
    }
}

/// What the program is told when it asks for the CPUs of a thread that we have bound: all that it may use, as without us.
/// Otherwise it would take the one CPU of the asking thread for all there are, and make one thread.
pub(crate) fn shown_instead(thread: u32, cpus: &CpuBits) -> Option<&'static CpuBits> {
    let (index, slot) = slot_of(thread)?;
    let is_as_bound = cpus.count() == 1 && cpus.contains(cpu_of(index));
    (is_as_bound && !slot.is_programs.load(Ordering::Relaxed)).then(|| ALL.get())
}

/// Whether the calling thread has its CPUs from us, so that threads it creates are ours to bind.
pub(crate) fn creator_is_ours() -> bool {
    let programs =
        slot_of(numa::thread_id()).is_some_and(|(_, slot)| slot.is_programs.load(Ordering::Relaxed));
    !programs && numa::affinity(0).is_ok_and(|cpus| is_from_us(&cpus))
}

/// The one CPU that the calling thread was bound to by us. In the child of vfork(2) the thread is not the one that was
/// bound, but has its mask.
pub(crate) fn bound_here() -> Option<u32> {
    if is_active() { bound_cpu() } else { None }
}

/// Sets of CPUs are large: here, and below, they take stack only where threads are bound.
#[inline(never)]
fn bound_cpu() -> Option<u32> {
    let cpu = numa::affinity(0).ok().filter(|cpus| cpus.count() == 1)?.iter().next()?;
    let is_ours =
        |index: usize, slot: &Slot| !slot.is_programs.load(Ordering::Relaxed) && cpu == cpu_of(index);
    let ours = match slot_of(numa::thread_id()) {
        Some((index, slot)) => is_ours(index, slot),
        None => bound_slots().any(|(index, slot)| is_ours(index, slot)),
    };
    ours.then_some(cpu)
}

/// Does something that hands the CPUs of the calling thread on to another program, which is to have all of them.
pub(crate) fn with_all_cpus<T>(act: impl FnOnce() -> T) -> T {
    let bound = bound_here();
    if bound.is_some() {
        roam();
    }
    let answer = act();
    if let Some(cpu) = bound {
        go_to(cpu);
    }
    answer
}

#[inline(never)]
fn go_to(cpu: u32) {
    if let Some(cpus) = CpuBits::of(&[cpu]) {
        let _ = numa::set_affinity(0, &cpus);
    }
}

/// For a helper thread of our own: runs it on any CPU of the program's.
pub(crate) fn roam() {
    if is_active() {
        let _ = numa::set_affinity(0, ALL.get());
    }
}

/// Where the calling thread creates pages by its first touch.
pub(crate) fn own_node() -> Option<u32> {
    numa::place().ok().map(|(_, node)| node)
}

/// A helper thread of our own that creates pages in the place of others.
pub(crate) struct StandIn {
    /// The program has no memory policy, which threads inherit: pages lie where the thread runs that creates them.
    has_no_policy: bool,
    /// The node whose pages the kernel is told to prefer.
    preferred: Cell<Option<u32>>,
}

impl StandIn {
    /// To be made by the helper.
    pub(crate) fn new() -> StandIn {
        // On the CPU of the thread that allocates, it would only take its time.
        roam();
        StandIn {
            has_no_policy: HEAP.asks_for_policies()
                && numa::policy().is_ok_and(|(mode, _)| mode == numa::Mode::Default as usize),
            preferred: Cell::new(None),
        }
    }

    /// Pages that it creates from now on lie where a thread on this node would have put them.
    pub(crate) fn create_on(&self, node: Option<u32>) {
        let is_new = |node: &u32| self.has_no_policy && self.preferred.replace(Some(*node)) != Some(*node);
        if let Some(nodes) = node.filter(is_new).and_then(|node| NodeBits::of(&[node])) {
            let _ = numa::set_policy(numa::Mode::Preferred, &nodes);
        }
    }
}

/// Writes the lines of the record: number, CPU asked, CPUs obtained, name. Threads that live are read now, from those
/// that have ended what was read when they were bound.
pub(crate) fn report(line: &mut dyn FnMut(RecordLine<'_>) -> fmt::Result) -> fmt::Result {
    if !is_active() {
        return Ok(());
    }
    let count = CREATED.load(Ordering::Relaxed) as usize + 1;
    for (number, row) in (0..).zip(&ROW).take(count) {
        let thread = row.thread.load(Ordering::Relaxed);
        let lives = thread > 0 && numa::is_alive(sys::process_id(), thread);
        let cpu = |plus_one: &AtomicU32| plus_one.load(Ordering::Relaxed).checked_sub(1);
        let obtained = match numa::affinity(thread) {
            Ok(cpus) if lives => Some(cpus),
            _ => cpu(&row.obtained).and_then(|cpu| CpuBits::of(&[cpu])),
        };
        let mut bytes = [0; 32];
        let name = if lives { name(thread, &mut bytes) } else { &[] };
        line(RecordLine::Thread { number, asked: cpu(&row.asked), obtained, name: Name(name) })?;
    }
    if count > RECORDED {
        line(RecordLine::UnseenThreads((count - RECORDED) as u64))?;
    }
    Ok(())
}

/// A thread's name; empty if it cannot be read.
fn name(thread: u32, bytes: &mut [u8; 32]) -> &[u8] {
    let mut path = Line::<48>::EMPTY;
    let written = write!(path, "/proc/self/task/{thread}/comm\0");
    let mut read = || {
        let path = core::ffi::CStr::from_bytes_until_nul(path.bytes()).ok()?;
        sys::open_to_read(path).and_then(|file| file.read(bytes)).ok()
    };
    let length = written.ok().and_then(|()| read()).unwrap_or(0);
    bytes[..length].trim_ascii_end()
}
