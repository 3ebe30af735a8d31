//! The state of the session: who places blocks, what was chosen, what is redirected; and what a fork does to it.

use crate::lookup::{self, wait_for, with_loader};
use crate::object;
use crate::process::{self, HEAP};
use crate::provider::Provider;
use crate::redirect::{self, Chosen, Redirected, Which};
use crate::result::FirsttouchResult;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use firsttouch_linux::libraries::SANITIZERS;
use firsttouch_memory::{Guard, Heap, Lock, Pages, Settings};
use std::ffi::CString;
use std::ops::ControlFlow::{Break, Continue};

/// The one session of the process.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) chosen: Chosen,
    /// Whether this library redirects calls, and how many; `None` if it does not.
    pub(crate) redirected: Option<Redirected>,
}

static SESSION: Lock<Session> = Lock::new(Session { chosen: Chosen::NONE, redirected: None });

/// Whether this library redirects calls: what another copy asks.
static SERVES: AtomicBool = AtomicBool::new(false);
/// The functions were found, and the library will not be unloaded.
static PREPARED: AtomicBool = AtomicBool::new(false);

/// Whether this library redirects calls now.
pub(crate) fn serves() -> bool {
    SERVES.load(Ordering::Relaxed)
}

/// The session, for this thread alone, and who places blocks; `None` in a handler of a signal that interrupted this thread
/// in here, and where nobody can tell.
///
/// Names are looked up before, here and in [`prepare`]: a thread that loads a library may hold the loader's lock while a
/// constructor of that library waits for the session.
pub(crate) fn enter() -> Option<(Guard<'static, Session>, Provider)> {
    let found = if serves() { Provider::Own } else { with_loader(Provider::find)? };
    let session = SESSION.wait()?;
    let provider = if session.redirected.is_some() { Provider::Own } else { found };
    Some((session, provider))
}

/// The heap of this copy of the library, for code that allocates on it by itself and needs no redirected calls; safe over
/// forks. `None` where a sanitizer watches allocations.
///
/// What it makes must be freed on it: C's `free` knows its blocks only while calls are redirected.
pub fn heap() -> Option<&'static Heap> {
    prepare().then_some(&HEAP)
}

/// Finds the process's functions and sees to it that this library stays; false where nothing can be placed. Before the
/// session is entered.
pub(crate) fn prepare() -> bool {
    if !PREPARED.load(Ordering::Acquire) && FOLLOWS_FORKS.load(Ordering::Relaxed) {
        with_loader(|| {
            if !has_sanitizer() && process::resolve() {
                stay_loaded();
                HEAP.prepare();
                PREPARED.store(true, Ordering::Release);
            }
        });
    }
    PREPARED.load(Ordering::Acquire)
}

/// Redirects what was loaded since the last time, unless somebody is at it.
pub(crate) fn catch_up() {
    if let Some(mut session) = SESSION.try_lock(1)
        && session.redirected.is_some_and(|done| !done.is_current(&session.chosen))
    {
        session.redirected = Some(redirect::redirect(&session.chosen));
    }
}

impl Session {
    /// From now on, places what chosen libraries allocate, by redirecting their calls. After [`prepare`].
    pub(crate) fn place(&mut self, pages: Pages, min_bytes: usize, max_bytes: usize) -> FirsttouchResult {
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

/// Forks that went on without the session: another thread was changing it, and did not end. It may have waited for the loader,
/// which the thread that forks may have held.
static WITHOUT: AtomicU32 = AtomicU32::new(0);

extern "C" fn before_fork() {
    lookup::before_fork();
    if !wait_for(|| SESSION.close_if_free()) {
        WITHOUT.fetch_add(1, Ordering::Relaxed);
    }
    HEAP.before_fork();
}

extern "C" fn after_fork_in_parent() {
    HEAP.after_fork_in_parent();
    let one_less = |count: u32| count.checked_sub(1);
    if WITHOUT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
        drop(SESSION.open());
    }
    lookup::after_fork_in_parent();
}

extern "C" fn after_fork_in_child() {
    HEAP.after_fork_in_child();
    lookup::after_fork_in_child(WITHOUT.swap(0, Ordering::Relaxed) > 0);
    // Some of the calls may be redirected and others not: the next look finds which.
    if let Some(mut session) = SESSION.open_in_child()
        && let Some(done) = &mut session.redirected
    {
        done.loads = 0;
    }
}
