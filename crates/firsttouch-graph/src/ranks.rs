//! Several processes, on one machine or many, that pass each other messages.
//!
//! What carries the messages is left to whoever has a [`Ranks`]: `firsttouch-mpi` has one over the system's MPI. Here is what
//! they say. Rank 0 reads the graph and tells it to all ([`Loaded::tell`], [`Loaded::hear`]); then it hands out the sources of a
//! run, and is told what was found ([`AllPairs::lead`], [`AllPairs::follow`]).
//!
//! Architecture invariant: all wait for rank 0 alone, and rank 0 only for those that have work of it. What becomes of the others
//! when one dies is the carrier's affair: MPI ends them all, and the checkpoint of rank 0 keeps what was found.
//!
//! [`Loaded::tell`]: crate::Loaded::tell
//! [`Loaded::hear`]: crate::Loaded::hear
//! [`AllPairs::lead`]: crate::AllPairs::lead
//! [`AllPairs::follow`]: crate::AllPairs::follow

use std::fmt;

/// What is given in pieces takes no more memory than has been heard, whatever its length is said to be.
const PIECE: usize = 1 << 20;

/// The processes of a job, as one of them sees them. One thread at a time calls it.
pub trait Ranks: fmt::Debug + Sync {
    /// Which of them this one is, from 0 on.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// Rank 0 tells bytes to all others, who call [`Ranks::hear`] at the same time.
    ///
    /// # Errors
    /// What carries messages says why.
    fn tell(&self, bytes: &[u8]) -> Result<(), MessageError>;

    /// What rank 0 tells: exactly as many bytes.
    ///
    /// # Errors
    /// As [`Ranks::tell`].
    fn hear(&self, bytes: &mut [u8]) -> Result<(), MessageError>;

    /// Sends bytes to one rank.
    ///
    /// # Errors
    /// As [`Ranks::tell`].
    fn send(&self, to: usize, bytes: &[u8]) -> Result<(), MessageError>;

    /// Waits for bytes from one rank.
    ///
    /// # Errors
    /// As [`Ranks::tell`].
    fn receive(&self, from: usize) -> Result<Vec<u8>, MessageError>;

    /// Bytes that have come from whichever rank, and which; `None` if there are none.
    ///
    /// # Errors
    /// As [`Ranks::tell`].
    fn poll(&self) -> Result<Option<(usize, Vec<u8>)>, MessageError>;

    /// Adds up what all ranks have, value by value: all call it at the same time, with as many values, and have the sums.
    ///
    /// # Errors
    /// As [`Ranks::tell`].
    fn sum(&self, values: &mut [f64]) -> Result<(), MessageError>;

    /// Ends all processes of the job, this one with such a code.
    fn abort(&self, code: u8) -> !;

    /// [`Ranks::tell`] where others do not know how many bytes.
    ///
    /// # Errors
    /// As [`Ranks::tell`].
    fn tell_all(&self, bytes: &[u8]) -> Result<(), MessageError> {
        self.tell(&(bytes.len() as u64).to_le_bytes())?;
        bytes.chunks(PIECE).try_for_each(|piece| self.tell(piece))
    }

    /// What [`Ranks::tell_all`] tells.
    ///
    /// # Errors
    /// As [`Ranks::tell`].
    fn hear_all(&self) -> Result<Vec<u8>, MessageError> {
        let mut length = [0; 8];
        self.hear(&mut length)?;
        let (mut left, mut bytes) = (u64::from_le_bytes(length), Vec::new());
        while left > 0 {
            let heard = bytes.len();
            bytes.resize(heard + left.min(PIECE as u64) as usize, 0);
            self.hear(&mut bytes[heard..])?;
            left -= (bytes.len() - heard) as u64;
        }
        Ok(bytes)
    }
}

/// Why there is no message, or none that was understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed: {answer}")]
pub struct MessageError {
    /// What was called.
    pub call: &'static str,
    /// What it answered.
    pub answer: String,
}

impl MessageError {
    pub(crate) fn not_understood() -> MessageError {
        MessageError { call: "reading a message", answer: "it is none of this program's".to_owned() }
    }

    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "start all ranks by the same launcher, with the same program and the same MPI as it was built with"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says that very many bytes follow, and ends.
    #[derive(Debug)]
    struct Boaster;

    impl Ranks for Boaster {
        fn rank(&self) -> usize {
            1
        }

        fn size(&self) -> usize {
            2
        }

        fn tell(&self, _bytes: &[u8]) -> Result<(), MessageError> {
            Ok(())
        }

        fn hear(&self, bytes: &mut [u8]) -> Result<(), MessageError> {
            let length = <&mut [u8; 8]>::try_from(bytes).map_err(|_| MessageError::not_understood())?;
            *length = u64::MAX.to_le_bytes();
            Ok(())
        }

        fn send(&self, _to: usize, _bytes: &[u8]) -> Result<(), MessageError> {
            Ok(())
        }

        fn receive(&self, _from: usize) -> Result<Vec<u8>, MessageError> {
            Err(MessageError::not_understood())
        }

        fn poll(&self) -> Result<Option<(usize, Vec<u8>)>, MessageError> {
            Ok(None)
        }

        fn sum(&self, _values: &mut [f64]) -> Result<(), MessageError> {
            Ok(())
        }

        fn abort(&self, code: u8) -> ! {
            panic!("aborted with {code}")
        }
    }

    #[test]
    fn a_length_takes_no_memory() {
        assert_eq!(Boaster.hear_all(), Err(MessageError::not_understood()));
    }
}
