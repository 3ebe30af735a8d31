//! The multi-buffer digests of ISA-L crypto, whose job managers are the model of ours.
#![expect(unsafe_code, reason = "a library in C")]

use super::algorithm::{Algorithm, Digest};
use super::manager::{Hasher, Job};
use crate::error::Missing;
use crate::library;
use libloading::{Library, Symbol};
use std::ffi::{c_int, c_void};
use std::ptr;

/// A job's context, of any of the digests: `ISAL_MD5_HASH_CTX` and its like of `isa-l_crypto/md5_mb.h`, of at most 512 bytes.
#[repr(C, align(64))]
struct Context {
    /// The buffer and its length.
    head: [u64; 8],
    /// Words of 32 bits, but for SHA-512.
    digest: [u32; 16],
    /// The job's status and user data, and behind them, at the next cache line, the context's own status.
    rest: [u32; 128],
}

/// `ISAL_HASH_CTX_STS_COMPLETE`: ready for a message.
const COMPLETE: u32 = 4;
/// `ISAL_HASH_ENTIRE`: a whole message at once.
const ENTIRE: c_int = 3;

/// A manager's memory: the largest, `ISAL_MD5_HASH_CTX_MGR`, has 1192 bytes.
#[repr(C, align(64))]
struct Lanes([u64; 1024]);

type Init = unsafe extern "C" fn(*mut Lanes) -> c_int;
type Submit =
    unsafe extern "C" fn(*mut Lanes, *mut Context, *mut *mut Context, *const c_void, u32, c_int) -> c_int;
type Flush = unsafe extern "C" fn(*mut Lanes, *mut *mut Context) -> c_int;

/// The library's functions for one digest.
#[derive(Debug)]
pub(super) struct IsaL {
    algorithm: Algorithm,
    init: Init,
    submit: Submit,
    flush: Flush,
    /// Keeps the functions loaded.
    _library: Library,
}

pub(super) fn open() -> Result<Library, Missing> {
    library::open(&["libisal_crypto.so.2"], "https://github.com/intel/isa-l_crypto, 2.25 or later")
}

impl IsaL {
    pub(super) fn new(algorithm: Algorithm) -> Result<IsaL, Missing> {
        let library = open()?;
        let name = match algorithm {
            Algorithm::Md5 => "md5",
            Algorithm::Sha1 => "sha1",
            Algorithm::Sha256 => "sha256",
            Algorithm::Sha512 => "sha512",
        };
        macro_rules! function {
            ($kind:ty, $what:literal) => {{
                let name = format!("isal_{name}_ctx_mgr_{}", $what);
                let lacks = |_| {
                    Missing::new(format!("libisal_crypto.so.2 has no {name}"), "ISA-L crypto 2.25 or later")
                };
                // SAFETY: that is the prototype of the function in the library's headers.
                let symbol: Symbol<'_, $kind> = unsafe { library.get(name.as_str()) }.map_err(lacks)?;
                *symbol
            }};
        }
        let (init, submit) = (function!(Init, "init"), function!(Submit, "submit"));
        Ok(IsaL { algorithm, init, submit, flush: function!(Flush, "flush"), _library: library })
    }
}

/// A manager of the library, and the messages that it has.
pub(super) struct Jobs<'data> {
    functions: &'data IsaL,
    lanes: Box<Lanes>,
    /// Each context stays where it is while the library has it.
    contexts: Vec<(Box<Context>, Option<Job<'data>>)>,
}

impl<'data> Jobs<'data> {
    pub(super) fn new(functions: &'data IsaL) -> Jobs<'data> {
        let mut lanes = Box::new(Lanes([0; 1024]));
        // SAFETY: there is memory for any of the managers, aligned as they want it.
        let status = unsafe { (functions.init)(&raw mut *lanes) };
        assert_eq!(status, 0, "a manager begins");
        Jobs { functions, lanes, contexts: Vec::new() }
    }

    fn hand_back(&mut self, context: *mut Context, done: &mut dyn FnMut(Job<'data>, &Digest)) {
        let of_it = |(own, _): &&mut (Box<Context>, _)| ptr::eq(&raw const **own, context);
        let Some((context, job)) = self.contexts.iter_mut().find(of_it) else { return };
        let Some(job) = job.take() else { return };
        let words = context.digest;
        let state = std::array::from_fn(|word| match self.functions.algorithm {
            Algorithm::Sha512 => u64::from(words[2 * word]) | u64::from(words[2 * word + 1]) << 32,
            _ => words[word].into(),
        });
        done(job, &self.functions.algorithm.digest(&state));
    }
}

impl<'data> Hasher<'data> for Jobs<'data> {
    fn submit(&mut self, job: Job<'data>, done: &mut dyn FnMut(Job<'data>, &Digest)) {
        let free = self.contexts.iter().position(|(_, job)| job.is_none()).unwrap_or_else(|| {
            let context = Context { head: [0; 8], digest: [0; 16], rest: [0; 128] };
            self.contexts.push((Box::new(context), None));
            self.contexts.len() - 1
        });
        let (data, length) = (job.data.as_ptr(), job.data.len() as u32);
        let (context, place) = &mut self.contexts[free];
        let context = &raw mut **context;
        *place = Some(job);
        let status = if self.functions.algorithm == Algorithm::Sha512 { 16 } else { 0 };
        let mut ended = ptr::null_mut();
        // SAFETY: context and message stay where they are until the manager has handed the context back, for which `contexts` keeps
        // both; the message has that many bytes.
        let answer = unsafe {
            (*context).rest[status] = COMPLETE;
            (*context).rest[status + 1] = 0;
            (self.functions.submit)(
                &raw mut *self.lanes,
                context,
                &raw mut ended,
                data.cast(),
                length,
                ENTIRE,
            )
        };
        assert_eq!(answer, 0, "a whole message is taken");
        self.hand_back(ended, done);
    }

    fn flush(&mut self, done: &mut dyn FnMut(Job<'data>, &Digest)) {
        let mut ended = ptr::null_mut();
        // SAFETY: what the manager has is kept, as above.
        let answer = unsafe { (self.functions.flush)(&raw mut *self.lanes, &raw mut ended) };
        assert_eq!(answer, 0, "messages are brought to their ends");
        self.hand_back(ended, done);
    }
}
