//! The state of the session: who places blocks, what was chosen, what is redirected; and what a fork does to it.

use crate::function::Function;
use crate::heap::HEAP;
use crate::lookup::{self, wait_for, with_loader};
use crate::provider::Provider;
use crate::redirect::{self, Chosen, Redirected, Which};
use crate::result::FirsttouchResult;
use crate::serving::{serves, set_serves};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use firsttouch_memory::{Guard, Lock, Pages, Settings};

/// The one session of the process.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) chosen: Chosen,
    /// Whether this library redirects calls, and how many; `None` if it does not.
    pub(crate) redirected: Option<Redirected>,
}

static SESSION: Lock<Session> = Lock::new(Session { chosen: Chosen::NONE, redirected: None });

/// The session, for this thread alone, and who places blocks; `None` in a handler of a signal that interrupted this thread
/// in here, and where nobody can tell.
///
/// Names are looked up before, here and in [`prepare`](crate::prepare): a thread that loads a library may hold the loader's lock while a
/// constructor of that library waits for the session.
pub(crate) fn enter() -> Option<(Guard<'static, Session>, Provider)> {
    let found = if serves() { Provider::Own } else { with_loader(Provider::find)? };
    let session = SESSION.wait()?;
    let provider = if session.redirected.is_some() { Provider::Own } else { found };
    Some((session, provider))
}

/// Redirects what was loaded since the last time, unless somebody is at it.
pub(crate) fn catch_up(functions: &[Function]) {
    if let Some(mut session) = SESSION.try_lock(1)
        && session.redirected.is_some_and(|done| !done.is_current(&session.chosen))
    {
        session.redirected = Some(redirect::redirect(functions, &session.chosen));
    }
}

impl Session {
    /// From now on, places what chosen libraries allocate, by redirecting their calls. After [`prepare`](crate::prepare).
    pub(crate) fn place(
        &mut self,
        functions: &[Function],
        pages: Pages,
        min_bytes: usize,
        max_bytes: usize,
    ) -> FirsttouchResult {
        // What takes blocks leads to us before the first one is placed.
        if !self.redirected.is_some_and(|done| done.is_current(&self.chosen)) {
            self.redirected = Some(redirect::redirect(functions, &self.chosen));
        }
        set_serves(true);
        HEAP.enable(Settings { pages, min_bytes, max_bytes, ..HEAP.settings() });
        FirsttouchResult::Ok
    }

    /// Takes the redirection back, if no placed block is live.
    pub(crate) fn end(&mut self, functions: &[Function]) -> FirsttouchResult {
        HEAP.disable();
        if self.redirected.is_none() {
            return FirsttouchResult::Ok;
        }
        redirect::undo(functions, Which::Making);
        HEAP.trim();
        if HEAP.totals().live_blocks > 0 {
            self.redirected = Some(redirect::redirect(functions, &self.chosen));
            return FirsttouchResult::Busy;
        }
        redirect::undo(functions, Which::All);
        // A call that was on its way while we looked may have made a block after all.
        if HEAP.totals().live_blocks > 0 {
            self.redirected = Some(redirect::redirect(functions, &self.chosen));
            return FirsttouchResult::Busy;
        }
        self.redirected = None;
        set_serves(false);
        FirsttouchResult::Ok
    }
}

/// The handlers of forks are registered.
static FOLLOWS_FORKS: AtomicBool = AtomicBool::new(false);

/// Whether forks find the session, and leave it, whole.
pub(crate) fn follows_forks() -> bool {
    FOLLOWS_FORKS.load(Ordering::Relaxed)
}

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
