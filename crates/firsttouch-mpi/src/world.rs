//! All processes of an MPI job.

use crate::calls;
use firsttouch_graph::{MessageError, Ranks};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tells how long the message behind it is.
const LENGTH: c_int = 1;
/// The message.
const BYTES: c_int = 2;

/// MPI is started once in a process, and not again when it has ended.
static STARTED: AtomicBool = AtomicBool::new(false);

/// The processes that `mpirun` or `srun` started together. MPI ends when it is dropped, which is to be done by the thread that
/// made it.
#[derive(Debug)]
pub struct World {
    rank: usize,
    size: usize,
    /// Whoever calls MPI holds it: not two threads at a time.
    calls: Mutex<()>,
}

impl World {
    /// Starts MPI.
    ///
    /// # Errors
    /// What MPI answers; that it was started before; that it lets no thread but one call, as rank 0 must.
    pub fn start() -> Result<World, MessageError> {
        let failed = |answer: &str| MessageError { call: "MPI_Init_thread", answer: answer.to_owned() };
        if STARTED.swap(true, Ordering::Relaxed) {
            return Err(failed("MPI was started in this process before"));
        }
        let (rank, size, threads_may_call) = calls::start()?;
        let world = World { rank, size, calls: Mutex::new(()) };
        if !threads_may_call {
            return Err(failed("this MPI was built without MPI_THREAD_SERIALIZED"));
        }
        Ok(world)
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive_from(from: usize) -> Result<Vec<u8>, MessageError> {
        let mut length = [0; 8];
        calls::receive(&mut length, from, LENGTH)?;
        let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
        calls::receive(&mut bytes, from, BYTES)?;
        Ok(bytes)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The others wait for a word of this one, and to end takes all of them.
            const OF_A_PANIC: u8 = 101;
            calls::abort(OF_A_PANIC);
        }
        // There is nobody left to tell.
        let _ = calls::end();
    }
}

impl Ranks for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn tell(&self, bytes: &[u8]) -> Result<(), MessageError> {
        assert_eq!(self.rank, 0, "rank 0 tells");
        let _turn = self.turn();
        calls::tell(bytes)
    }

    fn hear(&self, bytes: &mut [u8]) -> Result<(), MessageError> {
        let _turn = self.turn();
        calls::hear(bytes)
    }

    fn send(&self, to: usize, bytes: &[u8]) -> Result<(), MessageError> {
        let _turn = self.turn();
        calls::send(&(bytes.len() as u64).to_le_bytes(), to, LENGTH)?;
        calls::send(bytes, to, BYTES)
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, MessageError> {
        let _turn = self.turn();
        World::receive_from(from)
    }

    fn poll(&self) -> Result<Option<(usize, Vec<u8>)>, MessageError> {
        let _turn = self.turn();
        let Some(from) = calls::look(LENGTH)? else { return Ok(None) };
        Ok(Some((from, World::receive_from(from)?)))
    }

    fn sum(&self, values: &mut [f64]) -> Result<(), MessageError> {
        let _turn = self.turn();
        calls::sum(values)
    }

    fn abort(&self, code: u8) -> ! {
        calls::abort(code);
        std::process::exit(code.into())
    }
}
