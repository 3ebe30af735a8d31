//! MPI's calls, as safe functions of bytes.
//!
//! Invariant: they are called between [`start`] and [`end`], by one thread at a time; [`World`](super::World) keeps both.

use firsttouch_graph::MessageError;
use std::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    fn ftmpi_start(rank: *mut c_int, size: *mut c_int, threads_may_call: *mut c_int) -> c_int;
    fn ftmpi_end() -> c_int;
    fn ftmpi_abort(code: c_int) -> c_int;
    fn ftmpi_broadcast(bytes: *mut c_void, count: c_int) -> c_int;
    fn ftmpi_sum(values: *mut f64, count: c_int) -> c_int;
    fn ftmpi_send(bytes: *const c_void, count: c_int, to: c_int, tag: c_int) -> c_int;
    fn ftmpi_receive(bytes: *mut c_void, count: c_int, from: c_int, tag: c_int) -> c_int;
    fn ftmpi_look(tag: c_int, there: *mut c_int, from: *mut c_int) -> c_int;
    fn ftmpi_words(code: c_int, words: *mut c_char, room: c_int) -> c_int;
}

/// Bytes that go at once: far below what an `int` counts, and enough that their beginnings cost nothing.
pub(crate) const PIECE: usize = 16 << 20;

/// Starts MPI: which rank this is, how many there are, and whether threads other than this one may call.
pub(crate) fn start() -> Result<(usize, usize, bool), MessageError> {
    let (mut rank, mut size, mut threads_may_call) = (0, 0, 0);
    // SAFETY: three numbers that outlive the call; `World` calls it once in a process.
    let code = unsafe { ftmpi_start(&raw mut rank, &raw mut size, &raw mut threads_may_call) };
    answered("MPI_Init_thread", code)?;
    Ok((rank as usize, size as usize, threads_may_call != 0))
}

/// Ends MPI.
pub(crate) fn end() -> Result<(), MessageError> {
    // SAFETY: `World` calls it once, after all others.
    answered("MPI_Finalize", unsafe { ftmpi_end() })
}

/// Ends all processes.
pub(crate) fn abort(code: u8) {
    // SAFETY: a number. Whoever ends a job has waited for its own threads.
    unsafe { ftmpi_abort(c_int::from(code)) };
}

/// Rank 0's half of a broadcast.
pub(crate) fn tell(bytes: &[u8]) -> Result<(), MessageError> {
    bytes.chunks(PIECE).try_for_each(|piece| {
        // SAFETY: the bytes outlive the call. At its root a broadcast only reads them, though its type does not say so;
        // `World` calls this on rank 0 alone.
        let code = unsafe { ftmpi_broadcast(piece.as_ptr().cast_mut().cast(), count(piece)) };
        answered("MPI_Bcast", code)
    })
}

/// The half of the others.
pub(crate) fn hear(bytes: &mut [u8]) -> Result<(), MessageError> {
    bytes.chunks_mut(PIECE).try_for_each(|piece| {
        // SAFETY: the bytes outlive the call, are borrowed exclusively, and are as many as it is told.
        let code = unsafe { ftmpi_broadcast(piece.as_mut_ptr().cast(), count(piece)) };
        answered("MPI_Bcast", code)
    })
}

/// Adds up what all ranks have.
pub(crate) fn sum(values: &mut [f64]) -> Result<(), MessageError> {
    values.chunks_mut(PIECE / size_of::<f64>()).try_for_each(|piece| {
        // SAFETY: the values outlive the call, are borrowed exclusively, and are as many as it is told.
        let code = unsafe { ftmpi_sum(piece.as_mut_ptr(), piece.len() as c_int) };
        answered("MPI_Allreduce", code)
    })
}

/// Sends bytes to a rank.
pub(crate) fn send(bytes: &[u8], to: usize, tag: c_int) -> Result<(), MessageError> {
    bytes.chunks(PIECE).try_for_each(|piece| {
        // SAFETY: the bytes outlive the call, which only reads them.
        let code = unsafe { ftmpi_send(piece.as_ptr().cast(), count(piece), to as c_int, tag) };
        answered("MPI_Send", code)
    })
}

/// Waits for bytes from a rank.
pub(crate) fn receive(bytes: &mut [u8], from: usize, tag: c_int) -> Result<(), MessageError> {
    bytes.chunks_mut(PIECE).try_for_each(|piece| {
        // SAFETY: the bytes outlive the call and are borrowed exclusively; a message longer than they are is an error.
        let code = unsafe { ftmpi_receive(piece.as_mut_ptr().cast(), count(piece), from as c_int, tag) };
        answered("MPI_Recv", code)
    })
}

/// The rank from which a message with such a tag has come, if there is one.
pub(crate) fn look(tag: c_int) -> Result<Option<usize>, MessageError> {
    let (mut there, mut from) = (0, 0);
    // SAFETY: two numbers that outlive the call.
    let code = unsafe { ftmpi_look(tag, &raw mut there, &raw mut from) };
    answered("MPI_Iprobe", code)?;
    Ok((there != 0).then_some(from as usize))
}

/// Of a piece, which is short.
fn count(piece: &[u8]) -> c_int {
    const { assert!(PIECE <= c_int::MAX as usize) };
    piece.len() as c_int
}

fn answered(call: &'static str, code: c_int) -> Result<(), MessageError> {
    if code == 0 {
        return Ok(());
    }
    let mut words = [0_u8; 512];
    // SAFETY: room for as many bytes as it is told.
    let length = unsafe { ftmpi_words(code, words.as_mut_ptr().cast(), words.len() as c_int) };
    let words = words.get(..length as usize).unwrap_or_default();
    let answer = match String::from_utf8_lossy(words) {
        words if words.is_empty() => format!("error {code}"),
        words => words.into_owned(),
    };
    Err(MessageError { call, answer })
}
