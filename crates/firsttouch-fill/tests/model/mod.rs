//! A DSA device in software, for machines without the device, whose processors may lack its instructions.
//!
//! The instructions that hand descriptors over are run as they are, and fail: a processor that does not know them raises SIGILL, one
//! that knows them SIGBUS, because there is nothing behind the page they store to, or SIGSEGV, where the kernel has not
//! given the process an address space for devices. The handler reads the instruction where it happened, takes the 64 bytes it names, and answers in the zero flag as a
//! queue would: taken, or full. A thread does what descriptors say, as the specification words it: it stops at pages that
//! are not there, and writes completions.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, JoinHandle};

pub(crate) type Bytes = [u8; 64];

/// What the model does besides what it is told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Temper {
    /// The largest descriptor; 0 is any.
    pub(crate) max_transfer: u32,
    /// Refuses every descriptor with this number, counted from 1; 0 is none.
    pub(crate) refuses_every: u32,
    /// Never answers.
    pub(crate) is_silent: bool,
    /// Begins nothing before so many descriptors wait, once.
    pub(crate) gathers: usize,
}

/// What came in.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) fills: AtomicUsize,
    pub(crate) batches: AtomicUsize,
    pub(crate) faults: AtomicUsize,
    pub(crate) enqcmd: AtomicUsize,
    pub(crate) movdir64b: AtomicUsize,
    pub(crate) full: AtomicUsize,
}

impl Seen {
    pub(crate) fn of(&self, count: impl Fn(&Seen) -> &AtomicUsize) -> usize {
        count(self).load(Ordering::SeqCst)
    }
}

/// What the handler and the device share. Static, because a handler knows nothing else.
struct Entrance {
    /// Held for some stores only, and never by a thread that submits.
    is_locked: AtomicBool,
    waiting: std::cell::UnsafeCell<[Bytes; MOST]>,
    count: AtomicUsize,
    capacity: AtomicUsize,
    enqcmd: AtomicUsize,
    movdir64b: AtomicUsize,
    full: AtomicUsize,
}

const MOST: usize = 64;

// SAFETY: the cell is accessed under the lock.
unsafe impl Sync for Entrance {}

static ENTRANCE: Entrance = Entrance {
    is_locked: AtomicBool::new(false),
    waiting: std::cell::UnsafeCell::new([[0; 64]; MOST]),
    count: AtomicUsize::new(0),
    capacity: AtomicUsize::new(0),
    enqcmd: AtomicUsize::new(0),
    movdir64b: AtomicUsize::new(0),
    full: AtomicUsize::new(0),
};

impl Entrance {
    fn locked<R>(&self, what: impl FnOnce(&mut [Bytes; MOST]) -> R) -> R {
        while self.is_locked.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        // SAFETY: locked.
        let result = what(unsafe { &mut *self.waiting.get() });
        self.is_locked.store(false, Ordering::Release);
        result
    }

    /// False if it is full.
    fn enter(&self, descriptor: Bytes) -> bool {
        self.locked(|waiting| {
            let count = self.count.load(Ordering::Relaxed);
            if count >= self.capacity.load(Ordering::Relaxed).min(MOST) {
                return false;
            }
            waiting[count] = descriptor;
            self.count.store(count + 1, Ordering::Relaxed);
            true
        })
    }

    fn next(&self) -> Option<Bytes> {
        self.locked(|waiting| {
            let count = self.count.load(Ordering::Relaxed);
            let first = (count > 0).then(|| waiting[0])?;
            waiting.copy_within(1..count, 0);
            self.count.store(count - 1, Ordering::Relaxed);
            Some(first)
        })
    }
}

/// `ENQCMD r64, m512` is `F2 0F 38 F8 /r`, `MOVDIR64B r64, m512` is `66 0F 38 F8 /r`.
extern "C" fn on_instruction(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    const ZERO_FLAG: i64 = 1 << 6;
    const ARITHMETIC_FLAGS: i64 = 0x8d5;
    const REGISTERS: [i32; 8] = [
        libc::REG_RAX,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RBX,
        libc::REG_RSP,
        libc::REG_RBP,
        libc::REG_RSI,
        libc::REG_RDI,
    ];
    // SAFETY: the kernel gives a handler with SA_SIGINFO the context of the thread.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let at = registers[libc::REG_RIP as usize];
    // SAFETY: the processor has just read the instruction there.
    let code = unsafe { *(at as *const [u8; 5]) };
    let [prefix @ (0xf2 | 0x66), 0x0f, 0x38, 0xf8, operands] = code else { not_ours() };
    // The plain form only: `[register]`, which is all that is to be met.
    let (mode, register, memory) = (operands >> 6, operands >> 3 & 7, operands & 7);
    if mode != 0 || memory == 4 || memory == 5 {
        not_ours();
    }
    let of = |number: u8| registers[REGISTERS[number as usize] as usize];
    let (target, source) = (of(register), of(memory));
    if target % 64 != 0 {
        not_ours();
    }
    // SAFETY: the instruction reads these 64 bytes.
    let descriptor = unsafe { *(source as *const Bytes) };
    let is_taken = ENTRANCE.enter(descriptor);
    let flags = &mut registers[libc::REG_EFL as usize];
    if prefix == 0xf2 {
        ENTRANCE.enqcmd.fetch_add(1, Ordering::Relaxed);
        *flags &= !ARITHMETIC_FLAGS;
        if !is_taken {
            ENTRANCE.full.fetch_add(1, Ordering::Relaxed);
            *flags |= ZERO_FLAG;
        }
    } else {
        // What does not fit is lost: nobody is told.
        ENTRANCE.movdir64b.fetch_add(1, Ordering::Relaxed);
    }
    registers[libc::REG_RIP as usize] += code.len() as i64;
}

/// Another instruction that fails is the end, as without a handler.
fn not_ours() -> ! {
    // SAFETY: allowed in a handler.
    unsafe { libc::abort() }
}

/// A machine with a device, in a folder.
pub(crate) struct Machine {
    folder: tempfile::TempDir,
    /// One test at a time has the entrance.
    _turn: MutexGuard<'static, ()>,
    seen: Arc<Seen>,
    stop: Arc<AtomicBool>,
    device: Option<JoinHandle<()>>,
}

impl Machine {
    /// `dsa0` on node 0 with the queues `wq0.0` (shared), `wq0.1` (dedicated) and `wq0.2` (shared, to be written to), of which
    /// the first two have so many entries.
    pub(crate) fn new(entries: usize, temper: Temper) -> Machine {
        static TURN: Mutex<()> = Mutex::new(());
        static HANDLER: Once = Once::new();
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        HANDLER.call_once(|| {
            // SAFETY: the handler has the signature that SA_SIGINFO asks for, and does what handlers may.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_instruction as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO;
                for signal in [libc::SIGILL, libc::SIGBUS, libc::SIGSEGV] {
                    assert_eq!(libc::sigaction(signal, &raw const action, std::ptr::null_mut()), 0);
                }
            }
        });
        let folder = tempfile::tempdir().unwrap();
        tree(folder.path(), entries);
        ENTRANCE.capacity.store(entries, Ordering::SeqCst);
        ENTRANCE.count.store(0, Ordering::SeqCst);
        for count in [&ENTRANCE.enqcmd, &ENTRANCE.movdir64b, &ENTRANCE.full] {
            count.store(0, Ordering::SeqCst);
        }
        let (seen, stop) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
        let mut device = Device {
            temper,
            seen: Arc::clone(&seen),
            pagemap: File::open("/proc/self/pagemap").unwrap(),
            written: File::options()
                .read(true)
                .write(true)
                .custom_flags_nonblocking()
                .open(folder.path().join("dev/dsa/wq0.2"))
                .unwrap(),
            number: 0,
        };
        let until = Arc::clone(&stop);
        let device = thread::spawn(move || device.serve(&until));
        Machine { folder, _turn: turn, seen, stop, device: Some(device) }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn seen(&self) -> &Seen {
        self.seen.enqcmd.store(ENTRANCE.enqcmd.load(Ordering::SeqCst), Ordering::SeqCst);
        self.seen.movdir64b.store(ENTRANCE.movdir64b.load(Ordering::SeqCst), Ordering::SeqCst);
        self.seen.full.store(ENTRANCE.full.load(Ordering::SeqCst), Ordering::SeqCst);
        &self.seen
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(device) = self.device.take() {
            device.join().unwrap();
        }
    }
}

trait NonBlocking {
    fn custom_flags_nonblocking(&mut self) -> &mut Self;
}

impl NonBlocking for std::fs::OpenOptions {
    fn custom_flags_nonblocking(&mut self) -> &mut Self {
        std::os::unix::fs::OpenOptionsExt::custom_flags(self, libc::O_NONBLOCK)
    }
}

/// `/sys` and `/dev` as a kernel with the driver has them.
fn tree(root: &Path, entries: usize) {
    use std::fs;
    let device = root.join("sys/devices/pci0000:6a/0000:6a:01.0/dsa0");
    let bus = root.join("sys/bus/dsa/devices");
    fs::create_dir_all(&bus).unwrap();
    let write = |folder: &PathBuf, files: &[(&str, &str)]| {
        fs::create_dir_all(folder).unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.join(name), format!("{text}\n")).unwrap());
    };
    let link = |name: &str, to: &str| std::os::unix::fs::symlink(to, bus.join(name)).unwrap();
    write(
        &device,
        &[
            ("state", "enabled"),
            ("numa_node", "0"),
            ("pasid_enabled", "1"),
            ("max_transfer_size", "2147483648"),
            ("max_batch_size", "1024"),
            ("op_cap", "00000000,00000000,00000000,00000001,003f03ff"),
        ],
    );
    link("dsa0", "../../../devices/pci0000:6a/0000:6a:01.0/dsa0");
    let entries = entries.to_string();
    for (name, mode) in [("wq0.0", "shared"), ("wq0.1", "dedicated"), ("wq0.2", "shared")] {
        let files = [
            ("state", "enabled"),
            ("type", "user"),
            ("driver_name", "user"),
            ("mode", mode),
            ("size", &entries),
            ("threshold", &entries),
            ("max_transfer_size", "1048576"),
            ("max_batch_size", "32"),
            ("block_on_fault", "0"),
        ];
        write(&device.join(name), &files);
        link(name, &format!("../../../devices/pci0000:6a/0000:6a:01.0/dsa0/{name}"));
    }
    fs::create_dir_all(root.join("dev/dsa")).unwrap();
    // Their pages can be mapped, and not be stored to.
    fs::write(root.join("dev/dsa/wq0.0"), "").unwrap();
    fs::write(root.join("dev/dsa/wq0.1"), "").unwrap();
    let fifo = std::ffi::CString::new(root.join("dev/dsa/wq0.2").to_str().unwrap()).unwrap();
    // SAFETY: a path.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
}

struct Device {
    temper: Temper,
    seen: Arc<Seen>,
    pagemap: File,
    written: File,
    number: u32,
}

const SUCCESS: u8 = 1;
const BATCH_FAIL: u8 = 5;
const FAULT_AT_WRITE: u8 = 0x83;
const BAD_OPCODE: u8 = 0x10;
const INVALID_FLAGS: u8 = 0x11;
const BAD_SIZE: u8 = 0x13;
const BAD_COUNT: u8 = 0x14;
const LIST_ALIGNMENT: u8 = 0x18;

impl Device {
    fn serve(&mut self, stop: &AtomicBool) {
        // A pipe of one page: 64 descriptors.
        // SAFETY: takes numbers only.
        unsafe { libc::fcntl(self.written.as_raw_fd(), libc::F_SETPIPE_SZ, 4096) };
        let mut queue = VecDeque::new();
        let mut gathers = self.temper.gathers;
        while !stop.load(Ordering::SeqCst) {
            queue.extend(ENTRANCE.next());
            let mut descriptor = [0; 64];
            if matches!((&self.written).read(&mut descriptor), Ok(64)) {
                queue.push_back(descriptor);
            }
            if queue.len() < gathers {
                thread::yield_now();
                continue;
            }
            gathers = 0;
            match queue.pop_front().filter(|_| !self.temper.is_silent) {
                Some(descriptor) => drop(self.perform(descriptor, true)),
                None => thread::yield_now(),
            }
        }
    }

    /// Does what a descriptor says, and answers the status that it writes.
    fn perform(&mut self, descriptor: Bytes, may_be_batch: bool) -> u8 {
        let u32_at = |at: usize| u32::from_le_bytes(descriptor[at..at + 4].try_into().unwrap());
        let u64_at = |at: usize| u64::from_le_bytes(descriptor[at..at + 8].try_into().unwrap());
        let (flags, opcode) = (u32_at(4) & 0x00ff_ffff, descriptor[7]);
        let (completion, source, target, count) = (u64_at(8), u64_at(16), u64_at(24), u32_at(32));
        assert_eq!((completion % 32, u32_at(0)), (0, 0), "the address of a completion, and an owner");
        self.number += 1;
        let (status, bytes, fault) = if flags != 0xc {
            (INVALID_FLAGS, 0, 0)
        } else if self.temper.refuses_every > 0 && self.number.is_multiple_of(self.temper.refuses_every) {
            (BAD_OPCODE, 0, 0)
        } else {
            match opcode {
                4 => self.fill(source, target, count),
                1 if may_be_batch => self.batch(source, count),
                _ => (BAD_OPCODE, 0, 0),
            }
        };
        // SAFETY: the descriptor names a completion record, whose owner waits for it and only reads.
        unsafe {
            (*((completion + 4) as *const AtomicU32)).store(bytes, Ordering::Relaxed);
            (*((completion + 8) as *const AtomicU64)).store(fault, Ordering::Relaxed);
            (*(completion as *const AtomicU8)).store(status, Ordering::Release);
        }
        status
    }

    fn fill(&mut self, pattern: u64, target: u64, bytes: u32) -> (u8, u32, u64) {
        self.seen.fills.fetch_add(1, Ordering::SeqCst);
        if bytes == 0 || self.temper.max_transfer > 0 && bytes > self.temper.max_transfer {
            return (BAD_SIZE, 0, 0);
        }
        let end = target + u64::from(bytes);
        let mut at = target;
        while at < end {
            if !self.is_present(at) {
                self.seen.faults.fetch_add(1, Ordering::SeqCst);
                return (FAULT_AT_WRITE, (at - target) as u32, at);
            }
            let to = (at / 4096 * 4096 + 4096).min(end);
            let [byte, rest @ ..] = pattern.to_le_bytes();
            assert!(rest == [byte; 7], "the submitter fills with one byte");
            // SAFETY: the descriptor names memory that is the submitter's until the completion is written.
            unsafe { std::ptr::write_bytes(at as *mut u8, byte, (to - at) as usize) };
            at = to;
        }
        (SUCCESS, bytes, 0)
    }

    fn batch(&mut self, list: u64, count: u32) -> (u8, u32, u64) {
        self.seen.batches.fetch_add(1, Ordering::SeqCst);
        if count < 2 {
            return (BAD_COUNT, 0, 0);
        }
        if !list.is_multiple_of(64) {
            return (LIST_ALIGNMENT, 0, 0);
        }
        let mut status = SUCCESS;
        for index in 0..u64::from(count) {
            // SAFETY: the list holds so many descriptors until the batch is complete.
            let descriptor = unsafe { *((list + index * 64) as *const Bytes) };
            if self.perform(descriptor, false) != SUCCESS {
                status = BATCH_FAIL;
            }
        }
        (status, count, 0)
    }

    fn is_present(&self, address: u64) -> bool {
        let mut entry = [0; 8];
        self.pagemap.read_exact_at(&mut entry, address / 4096 * 8).unwrap();
        // Or on the move: the kernel puts it elsewhere, to make room for larger pages.
        u64::from_ne_bytes(entry) >> 62 != 0
    }
}
