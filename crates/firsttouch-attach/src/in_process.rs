//! The executor inside: the agent in the process carries the steps out, over its control channel.
//!
//! For where the kernel lets nobody collapse from outside (it wants `CAP_SYS_NICE`), but the process itself may. What
//! is said on the channel is told in [`firsttouch_linux::channel`].

use crate::executor::Executor;
use crate::target::Target;
use firsttouch_linux::channel::{self, Line, MOST_LINE_BYTES, MOST_PAGES};
use firsttouch_linux::cpulist::format_list;
use firsttouch_linux::numa::{self, CpuBits};
use firsttouch_linux::root::Root;
use firsttouch_linux::socket::peer_of_stream;
use firsttouch_linux::sysinfo::status_field;
use firsttouch_placement::ExecutorKind;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

/// Longer than any step takes; the agent serves one at a time.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why the agent in a process cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// Nobody listens.
    #[error("process {pid} has no control channel")]
    None {
        /// The process.
        pid: u32,
    },
    /// The agent does not listen to us.
    #[error("the agent in process {pid} does not listen to us")]
    Refused {
        /// The process.
        pid: u32,
    },
    /// No answer came, or a wrong one.
    #[error("the agent in process {pid} does not answer")]
    Silent {
        /// The process.
        pid: u32,
        /// What happened.
        source: io::Error,
    },
    /// The agent is of another version of firsttouch.
    #[error(
        "the agent in process {pid} speaks version {version} of the words, and we version {}",
        channel::VERSION
    )]
    OtherVersion {
        /// The process.
        pid: u32,
        /// Its version.
        version: u32,
    },
}

impl ChannelError {
    /// The line that mends it.
    pub fn hint(&self) -> &'static str {
        match self {
            ChannelError::None { .. } => {
                "firsttouch run --attachable -- PROGRAM   # opens one, in what it starts (--follow) with a thread or a block of 128 KiB; \
                 attach must be in the same network namespace"
            }
            ChannelError::Refused { .. } => {
                "run firsttouch as the user of that process; a process that is not dumpable lets nobody in"
            }
            ChannelError::Silent { .. } => "try again: the agent serves one attach at a time",
            ChannelError::OtherVersion { .. } => "attach with the firsttouch that started the program",
        }
    }
}

/// The agent in a process, which carries out steps on its own memory.
#[derive(Debug)]
pub struct InProcess {
    root: Root,
    pid: u32,
    agent: BufReader<UnixStream>,
}

impl InProcess {
    /// Calls the agent in a process.
    pub fn open(target: &Target) -> Result<InProcess, ChannelError> {
        let pid = target.pid();
        let none = |_| ChannelError::None { pid };
        // In a container the process knows itself by another number.
        let own_number = inner_number(target.root(), &format!("proc/{pid}/status")).unwrap_or(pid);
        let name = channel::name(own_number, target.start_ticks());
        let address = SocketAddr::from_abstract_name(name.bytes()).map_err(none)?;
        let stream = UnixStream::connect_addr(&address).map_err(none)?;
        // Anybody may take a name. The kernel knows who listens.
        if peer_of_stream(&stream).map_err(none)?.process != pid {
            return Err(ChannelError::None { pid });
        }
        let silent = |source| ChannelError::Silent { pid, source };
        stream
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| stream.set_write_timeout(Some(PATIENCE)))
            .map_err(silent)?;
        let mut inside = InProcess { root: target.root().clone(), pid, agent: BufReader::new(stream) };
        let answer = match inside.ask(b"version\n") {
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
                return Err(ChannelError::Refused { pid });
            }
            answer => answer.map_err(silent)?,
        };
        match answer.split(' ').next().and_then(|version| version.parse().ok()) {
            Some(channel::VERSION) => Ok(inside),
            Some(version) => Err(ChannelError::OtherVersion { pid, version }),
            None => Err(silent(no_words(&answer))),
        }
    }

    /// What follows `ok` in the answer; the kernel's error number otherwise.
    fn ask(&mut self, request: &[u8]) -> io::Result<String> {
        // A closed end is told by the answer that does not come, or that says why.
        let sent = self.agent.get_mut().write_all(request);
        let mut line = String::new();
        if let Err(error) = (&mut self.agent).take(MOST_LINE_BYTES as u64).read_line(&mut line) {
            // Its answer may still come, and would be taken for that to another request.
            let _ = self.agent.get_ref().shutdown(Shutdown::Both);
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("the agent does not answer: {error}"),
            ));
        }
        let Some(answer) = line.strip_suffix('\n') else {
            sent?;
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the agent closed the control channel"));
        };
        match answer.split_once(' ').unwrap_or((answer, "")) {
            ("ok", rest) => Ok(rest.to_owned()),
            ("error", number) => {
                Err(number.parse().map_or_else(|_| no_words(answer), io::Error::from_raw_os_error))
            }
            _ => Err(no_words(answer)),
        }
    }

    /// Asks about pages, as many at once as a request holds.
    fn ask_pages(&mut self, node: Option<i32>, addresses: &[u64], states: &mut [i32]) -> io::Result<()> {
        for (addresses, states) in addresses.chunks(MOST_PAGES).zip(states.chunks_mut(MOST_PAGES)) {
            let mut line = Line::<MOST_LINE_BYTES>::EMPTY;
            channel::write_pages(&mut line, node, addresses).map_err(io::Error::other)?;
            let answer = self.ask(line.bytes())?;
            channel::read_states(&answer, states).ok_or_else(|| no_words(&answer))?;
        }
        Ok(())
    }
}

fn no_words(answer: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("`{}` is no answer", answer.escape_default()))
}

/// The number that a process or thread has in the innermost namespace, which is its own.
fn inner_number(root: &Root, status: &str) -> Option<u32> {
    let text = root.read(status).ok()??;
    status_field(&text, "NSpid")?.split_ascii_whitespace().next_back()?.parse().ok()
}

impl Executor for InProcess {
    fn kind(&self) -> ExecutorKind {
        ExecutorKind::InProcess
    }

    fn may_collapse(&mut self) -> io::Result<()> {
        self.collapse(0, 0)
    }

    fn collapse(&mut self, start: u64, bytes: u64) -> io::Result<()> {
        self.ask(format!("collapse {start:x} {bytes:x}\n").as_bytes()).map(|_| ())
    }

    fn nodes_of(&mut self, addresses: &[u64], nodes: &mut [i32]) -> io::Result<()> {
        self.ask_pages(None, addresses, nodes)
    }

    fn move_pages(&mut self, addresses: &[u64], nodes: &[i32], status: &mut [i32]) -> io::Result<()> {
        let mut done = 0;
        for same in nodes.chunk_by(|node, next| node == next) {
            let range = done..done + same.len();
            done = range.end;
            let (Some(addresses), Some(status)) = (addresses.get(range.clone()), status.get_mut(range))
            else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            self.ask_pages(same.first().copied(), addresses, status)?;
        }
        Ok(())
    }

    /// Where we may not do it ourselves, the agent may.
    fn set_affinity(&mut self, thread: u32, cpus: &CpuBits) -> io::Result<()> {
        match numa::set_affinity(thread, cpus) {
            Ok(_) => Ok(()),
            Err(libc::EPERM | libc::ENOSYS) => {
                let status = format!("proc/{}/task/{thread}/status", self.pid);
                let own_number = inner_number(&self.root, &status).unwrap_or(thread);
                let list: Vec<u32> = cpus.iter().collect();
                let mut line = format!("affinity {own_number} ");
                let _ = writeln!(line, "{}", format_list(&list));
                self.ask(line.as_bytes()).map(|_| ())
            }
            Err(error) => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_comes_too_late_is_not_taken_for_that_to_another_request() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let mut inside = InProcess { root: Root::live(), pid: 1, agent: BufReader::new(ours) };
        let error = inside.ask(b"first\n").unwrap_err();
        // Nor is it one that asks for another try.
        assert_eq!((error.kind(), error.raw_os_error()), (io::ErrorKind::TimedOut, None));
        let _ = theirs.write_all(b"ok first\n");
        assert!(inside.ask(b"second\n").is_err());
    }
}
