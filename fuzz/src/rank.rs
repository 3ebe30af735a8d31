//! A rank that hears what a text of bytes says, in place of other processes.

use firsttouch_graph::{MessageError, Ranks};
use std::sync::{Mutex, PoisonError};

/// Bytes of a message's length.
const LENGTH: usize = 2;

/// One of two ranks. What it hears is the next of its bytes; what it receives begins with a length of two bytes, the least
/// significant first. When they are used up, nothing is heard any more. What it tells and sends is kept in the same form.
#[derive(Debug)]
pub struct Scripted {
    rank: usize,
    left: Mutex<Vec<u8>>,
    said: Mutex<Vec<u8>>,
}

impl Scripted {
    /// Rank 0 or 1, which hears these bytes.
    pub fn new(rank: usize, bytes: &[u8]) -> Scripted {
        Scripted { rank, left: Mutex::new(bytes.to_vec()), said: Mutex::default() }
    }

    /// What it has told and sent.
    pub fn said(self) -> Vec<u8> {
        self.said.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, bytes: &[u8]) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    }

    fn next(&self, bytes: usize) -> Result<Vec<u8>, MessageError> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > left.len() {
            return Err(MessageError { call: "the script", answer: "there is no more".to_owned() });
        }
        Ok(left.drain(..bytes).collect())
    }
}

impl Ranks for Scripted {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        2
    }

    fn tell(&self, bytes: &[u8]) -> Result<(), MessageError> {
        self.say(bytes);
        Ok(())
    }

    fn hear(&self, bytes: &mut [u8]) -> Result<(), MessageError> {
        bytes.copy_from_slice(&self.next(bytes.len())?);
        Ok(())
    }

    fn send(&self, _to: usize, bytes: &[u8]) -> Result<(), MessageError> {
        self.say(&(bytes.len() as u16).to_le_bytes());
        self.say(bytes);
        Ok(())
    }

    fn receive(&self, _from: usize) -> Result<Vec<u8>, MessageError> {
        let length = self.next(LENGTH)?;
        self.next(usize::from(u16::from_le_bytes([length[0], length[1]])))
    }

    fn poll(&self) -> Result<Option<(usize, Vec<u8>)>, MessageError> {
        Ok(Some((1 - self.rank, self.receive(1 - self.rank)?)))
    }

    fn sum(&self, values: &mut [f64]) -> Result<(), MessageError> {
        for value in values {
            self.say(&value.to_le_bytes());
            let others = self.next(size_of::<f64>())?;
            *value += f64::from_le_bytes(others.try_into().expect("as many bytes as were asked for"));
        }
        Ok(())
    }

    fn abort(&self, code: u8) -> ! {
        panic!("aborted with {code}")
    }
}
