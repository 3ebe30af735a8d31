//! The state of the session: who places blocks, what was chosen, what is redirected; and what a fork does to it.

use crate::object;
use crate::process::{self, HEAP};
use crate::provider::Provider;
use crate::redirect::{self, Chosen, Redirected, Which};
use crate::result::FirsttouchResult;
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicBool, Ordering};
use firsttouch_linux::libraries::SANITIZERS;
use firsttouch_memory::{Fork, Heap, Pages, Settings};
use std::ffi::CString;
use std::ops::ControlFlow::{Break, Continue};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The one session of the process.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) chosen: Chosen,
    /// Whether this library redirects calls, and how many; `None` if it does not.
    pub(crate) redirected: Option<Redirected>,
    /// The functions were found, forks are followed, and the library will not be unloaded.
    begun: bool,
}

static SESSION: Mutex<Session> = Mutex::new(Session { chosen: Chosen::NONE, redirected: None, begun: false });

/// Whether this library redirects calls: what another copy asks.
static SERVES: AtomicBool = AtomicBool::new(false);

/// Whether this library redirects calls now.
pub(crate) fn serves() -> bool {
    SERVES.load(Ordering::Relaxed)
}

/// The session, for this thread alone.
pub(crate) fn lock() -> MutexGuard<'static, Session> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The heap of this copy of the library, for code that allocates on it by itself and needs no redirected calls; safe over
/// forks from now on. `None` where a sanitizer watches allocations.
///
/// What it makes must be freed on it: C's `free` knows its blocks only while calls are redirected.
pub fn heap() -> Option<&'static Heap> {
    lock().begin().then_some(&HEAP)
}

/// Redirects what was loaded since the last time, unless somebody is at it.
pub(crate) fn catch_up() {
    if let Ok(mut session) = SESSION.try_lock()
        && session.redirected.is_some_and(|done| !done.is_current(&session.chosen))
    {
        session.redirected = Some(redirect::redirect(&session.chosen));
    }
}

impl Session {
    /// Who places blocks, as far as known: this library once it redirects.
    pub(crate) fn provider(&self) -> Provider {
        if self.redirected.is_some() { Provider::Own } else { Provider::find() }
    }

    /// From now on, places what chosen libraries allocate, by redirecting their calls.
    pub(crate) fn place(&mut self, pages: Pages, min_bytes: usize, max_bytes: usize) -> FirsttouchResult {
        if !self.begin() {
            return FirsttouchResult::Unsupported;
        }
        // What takes blocks leads to us before the first one is placed.
        if !self.redirected.is_some_and(|done| done.is_current(&self.chosen)) {
            self.redirected = Some(redirect::redirect(&self.chosen));
        }
        SERVES.store(true, Ordering::Relaxed);
        HEAP.enable(Settings { pages, min_bytes, max_bytes, ..HEAP.settings() });
        FirsttouchResult::Ok
    }

    /// Takes the redirection back, if no placed block is live.
    pub(crate) fn end(&mut self) -> FirsttouchResult {
        HEAP.disable();
        if self.redirected.is_none() {
            return FirsttouchResult::Ok;
        }
        redirect::undo(Which::Making);
        HEAP.trim();
        if HEAP.totals().live_blocks > 0 {
            self.redirected = Some(redirect::redirect(&self.chosen));
            return FirsttouchResult::Busy;
        }
        redirect::undo(Which::All);
        // A call that was on its way while we looked may have made a block after all.
        if HEAP.totals().live_blocks > 0 {
            self.redirected = Some(redirect::redirect(&self.chosen));
            return FirsttouchResult::Busy;
        }
        self.redirected = None;
        SERVES.store(false, Ordering::Relaxed);
        FirsttouchResult::Ok
    }

    fn begin(&mut self) -> bool {
        if !self.begun && !has_sanitizer() && process::resolve() {
            stay_loaded();
            follow_forks();
            self.begun = FOLLOWS_FORKS.load(Ordering::Relaxed);
        }
        self.begun
    }
}

/// Whether a sanitizer watches the process's allocations; it would not know ours.
pub(crate) fn has_sanitizer() -> bool {
    let linked = [c"__asan_init", c"__tsan_init", c"__hwasan_init", c"__lsan_init"].iter().any(|name| {
        // SAFETY: looks a name up.
        !unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.is_null()
    });
    let mut loaded = false;
    object::each(|_, object| {
        loaded = SANITIZERS.iter().any(|name| object.file_name().starts_with(name.as_bytes()));
        if loaded { Break(()) } else { Continue(()) }
    });
    linked || loaded
}

/// Keeps the loader from unloading this library: a thread may be on its way into it at any time, even when the last slot
/// leads elsewhere again.
fn stay_loaded() {
    let own = stay_loaded as *const c_void as usize;
    let mut path: Option<CString> = None;
    object::each(|_, object| {
        if object.holds(own) {
            path = Some(object.path().to_owned());
            return Break(());
        }
        Continue(())
    });
    // The program itself has no path, and is not unloaded.
    if let Some(path) = path.filter(|path| !CStr::is_empty(path)) {
        // SAFETY: this library, which is loaded; the handle is kept for ever.
        unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
}

/// The handlers of forks are registered.
static FOLLOWS_FORKS: AtomicBool = AtomicBool::new(false);

/// Called when the library is loaded: a fork that has begun when the handlers are registered runs none of them, and what it
/// would copy is a session that another thread is just beginning, with its locks held.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = follow_forks;

extern "C" fn follow_forks() {
    if !FOLLOWS_FORKS.swap(true, Ordering::Relaxed) {
        // SAFETY: registers functions of this library, which the C library forgets when it unloads it.
        let answer = unsafe {
            libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child))
        };
        FOLLOWS_FORKS.store(answer == 0, Ordering::Relaxed);
    }
}

/// What is held from before a fork to its end on both sides.
struct Held(UnsafeCell<Option<(MutexGuard<'static, Session>, Fork)>>);
// SAFETY: written and taken by the thread that forks, while it holds the session's lock.
unsafe impl Sync for Held {}

static HELD: Held = Held(UnsafeCell::new(None));

extern "C" fn before_fork() {
    let session = lock();
    let fork = HEAP.before_fork();
    // SAFETY: the session's lock is held from here to the end of both other handlers.
    unsafe { *HELD.0.get() = Some((session, fork)) };
}

extern "C" fn after_fork_in_parent() {
    // SAFETY: as in `before_fork`.
    if let Some((session, fork)) = unsafe { (*HELD.0.get()).take() } {
        // SAFETY: the value of the fork that ends here.
        unsafe { HEAP.after_fork_in_parent(fork) };
        drop(session);
    }
}

extern "C" fn after_fork_in_child() {
    // SAFETY: as in `before_fork`.
    if let Some((session, fork)) = unsafe { (*HELD.0.get()).take() } {
        // SAFETY: the value of the fork that ends here.
        unsafe { HEAP.after_fork_in_child(fork) };
        drop(session);
    }
}
