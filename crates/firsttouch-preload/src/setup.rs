//! Coming to life inside a program: reading the settings, deciding whether to stand down, and the way out.
//!
//! The settings are one environment variable, `FIRSTTOUCH_AGENT`, of words `key=value`:
//!
//! ```text
//! pid=4711 pages=thp min=1048576 max=18446744073709551615 prefault=0 follow=0 recycle=0 record=/path
//! ```
//!
//! `shares=0:2,1:1` lays placed memory out over nodes by weight. `cpus=4-7,0` binds threads in that order, but for those
//! in `skip=1-3`; only in the process `pid` itself, because every other would begin with the same CPU. `attachable=1`
//! opens the control channel; `zero=1` clears recycled memory before it serves again.
//!
//! `pid` is the process to place; it keeps its number when it executes another program (Rscript, sh, R). In other
//! processes the agent stands down and takes itself out of the environment, unless `follow=1`. `pid=0` means whoever
//! reads it first. `record`, if there, is last and goes to the end of the value; programs that follow write to `PATH.PID`, if they
//! have placed anything or wanted to.

use crate::{HEAP, VARIABLE, behind, binding, channel, exec, forks, mapping, prefault, threads};
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use firsttouch_linux::sys;
use firsttouch_memory::{Pages, Reason, Settings, Shares};

/// Longest path of a record, with its zero byte.
const PATH_BYTES: usize = 4096;

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// The process that a record belongs to; 0 for none.
static RECORDING_PROCESS: AtomicU32 = AtomicU32::new(0);

/// Memory that is written once, by the constructor, before any other thread exists.
struct Once<T>(core::cell::UnsafeCell<T>);
// SAFETY: see the type: written before there are threads.
unsafe impl<T> Sync for Once<T> {}

static RECORD_PATH: Once<[u8; PATH_BYTES]> = Once(core::cell::UnsafeCell::new([0; PATH_BYTES]));

/// What the variable says.
struct Asked<'a> {
    settings: Settings,
    process: u32,
    prefault: bool,
    follow: bool,
    attachable: bool,
    record: Option<&'a [u8]>,
    threads: threads::Asked,
}

/// Reads the settings; `None` if a word does not read, so that nothing is done by half.
fn read(text: &[u8]) -> Option<Asked<'_>> {
    let mut asked = Asked {
        settings: Settings::STANDARD,
        process: 0,
        prefault: false,
        follow: false,
        attachable: false,
        record: None,
        threads: threads::Asked::NOTHING,
    };
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(path) = rest.strip_prefix(b"record=") {
            asked.record = Some(path);
            break;
        }
        let length = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        let word = core::str::from_utf8(&rest[..length]).ok()?;
        rest = rest.get(length + 1..).unwrap_or(&[]);
        if word.is_empty() {
            continue;
        }
        let (key, value) = word.split_once('=')?;
        let number = || value.parse::<usize>().ok();
        match key {
            "pid" => asked.process = value.parse().ok()?,
            "pages" => asked.settings.pages = Pages::parse(value)?,
            "min" => asked.settings.min_bytes = number()?,
            "max" => asked.settings.max_bytes = number()?,
            "recycle" => asked.settings.recycle_bytes = Some(number()?),
            "zero" => asked.settings.zero = number()? == 1,
            "shares" => asked.settings.shares = Shares::parse(value)?,
            "cpus" => asked.threads.read_cpus(value)?,
            "skip" => asked.threads.read_skip(value)?,
            "prefault" => asked.prefault = number()? == 1,
            "follow" => asked.follow = number()? == 1,
            "attachable" => asked.attachable = number()? == 1,
            _ => return None,
        }
    }
    (asked.settings.min_bytes <= asked.settings.max_bytes).then_some(asked)
}

/// The value of a variable of the environment.
pub(crate) fn variable(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: environ is a null-terminated array of C strings, set up by the loader.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            if let Some(value) = CStr::from_ptr(*at).to_bytes().strip_prefix(name) {
                return Some(value);
            }
            at = at.add(1);
        }
    }
    None
}

/// Keeps the path of the record, with a number behind it if there is one; `None` where it is empty or too long. For the
/// constructor.
fn record_path(path: &[u8], number: Option<u32>) -> Option<&'static CStr> {
    // SAFETY: the constructor runs before other threads, and once.
    let buffer = unsafe { &mut *RECORD_PATH.0.get() };
    let mut digits = [0; 11];
    let suffix = number.map_or(&[][..], |number| behind_a_dot(number, &mut digits));
    let length = path.len() + suffix.len();
    if path.is_empty() || length >= PATH_BYTES {
        return None;
    }
    buffer[..path.len()].copy_from_slice(path);
    buffer[path.len()..length].copy_from_slice(suffix);
    CStr::from_bytes_until_nul(buffer).ok()
}

/// `.4711`, at the end of `digits`.
fn behind_a_dot(mut number: u32, digits: &mut [u8; 11]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    digits[at - 1] = b'.';
    &digits[at - 1..]
}

/// Reads the settings and begins, once: by the loader, or before it by a library that needs us earlier; no other thread
/// exists then.
pub(crate) extern "C" fn construct() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if BEGUN.load(Ordering::Relaxed) || BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    let is_foreign = behind::is_foreign();
    exec::resolve();
    binding::resolve();
    mapping::resolve();
    forks::follow();
    // The loader keeps preload libraries from setuid programs; should one come in all the same, stand down.
    // SAFETY: reads the auxiliary vector.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return;
    }
    let Some(asked) = variable(VARIABLE).and_then(read) else { return };
    let process = sys::process_id();
    let chosen = asked.process == 0 || asked.process == process;
    exec::set_policy(asked.follow, if asked.process == 0 { process } else { asked.process });
    if !chosen && !asked.follow {
        exec::leave_environment();
        return;
    }
    // A program that the chosen one started has a record of its own: the name ends in the number of its process.
    if let Some(path) = asked.record.and_then(|path| record_path(path, (!chosen).then_some(process))) {
        HEAP.record_to(path, !chosen);
        RECORDING_PROCESS.store(process, Ordering::Relaxed);
    }
    prefault::enable(asked.prefault);
    if is_foreign {
        HEAP.stand_down(Reason::ForeignAllocator);
    }
    if asked.settings.pages != Pages::Plain {
        HEAP.enable(asked.settings);
    }
    if chosen {
        // SAFETY: no other thread exists yet.
        unsafe { threads::begin(&asked.threads) };
    }
    if asked.attachable {
        channel::open();
    }
}

/// Writes the record, once, when the process that it belongs to ends, or before it confines itself to some system calls. The
/// kernel is asked for nothing where there is no record: the program may be confined by then.
pub(crate) fn finish() {
    let recording = RECORDING_PROCESS.load(Ordering::Relaxed);
    if recording != 0 && recording == sys::process_id() {
        RECORDING_PROCESS.store(0, Ordering::Relaxed);
        HEAP.finish_record(&|out| threads::report(out));
    }
}

extern "C" fn destruct() {
    finish();
}

/// _exit(2): the way out that runs no destructor, taken by shells and by Python's `os._exit`.
#[unsafe(no_mangle)]
pub extern "C" fn _exit(status: c_int) -> ! {
    finish();
    sys::exit_now(status)
}

/// _Exit of C99, the same.
#[unsafe(no_mangle)]
pub extern "C" fn _Exit(status: c_int) -> ! {
    _exit(status)
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCT: extern "C" fn() = construct;

#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCT: extern "C" fn() = destruct;
