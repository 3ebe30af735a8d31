//! Load-balancing dumps of Charm++ (`+LBDump`, version 3): little-endian and packed, as its PUP framework writes them.

use super::{FormatError, Measured};
use crate::{Message, Problem, Task};
use std::collections::HashMap;

/// How the 16 bytes of a little-endian machine of 64 bits begin a dump.
const MACHINE: [u8; 16] = [0x10, 0xea, 0xbd, 0xf9, 1, 1, 2, 4, 8, 0x10, 1, 4, 8, 1, 1, 8];
const VERSION: i32 = 3;
/// Kinds of receivers.
const TO_OBJECT: u8 = 2;
const TO_PROCESSOR: u8 = 1;
const TO_LIST: u8 = 3;
/// Sizes are kept in 13 bits, and the power of 256 that scales them in the 3 above.
const SIZE_BITS: u32 = 13;

/// Bytes that are read from the front.
struct Reader<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N], FormatError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            let at = self.length - self.rest.len();
            return Err(FormatError::Whole(format!("the dump ends at byte {at}, within {what}")));
        };
        self.rest = rest;
        Ok(*taken)
    }

    fn int(&mut self, what: &str) -> Result<i32, FormatError> {
        Ok(i32::from_le_bytes(self.take(what)?))
    }

    fn long(&mut self, what: &str) -> Result<u64, FormatError> {
        Ok(u64::from_le_bytes(self.take(what)?))
    }

    fn float(&mut self, what: &str) -> Result<f64, FormatError> {
        Ok(f64::from_le_bytes(self.take(what)?))
    }

    /// A number of entries, each of some bytes, that can be in the rest.
    fn count(&mut self, what: &str, bytes: usize) -> Result<usize, FormatError> {
        let count = self.long(what)?;
        let fits = usize::try_from(count).ok().filter(|count| *count <= self.rest.len() / bytes);
        fits.ok_or_else(|| {
            FormatError::Whole(format!("the dump states {count} entries of {what}, more than it holds"))
        })
    }
}

/// The tasks, messages and processors of a dump. Background load is what a processor did beside its objects; messages from
/// or to processors are left out, those to a list of objects go to each.
///
/// # Errors
///
/// Another version or kind of machine, a dump that ends early, an object that is not there.
pub fn charm_dump(bytes: &[u8]) -> Result<Measured, FormatError> {
    let mut reader = Reader { rest: bytes, length: bytes.len() };
    let machine: [u8; 16] = reader.take("its first 16 bytes")?;
    if machine != MACHINE {
        return Err(FormatError::Whole(
            "this is no dump of Charm++ from a little-endian machine of 64 bits".to_owned(),
        ));
    }
    let version = reader.int("the version")?;
    if version != VERSION {
        return Err(FormatError::Whole(format!("a dump of version {version}; version {VERSION} is read")));
    }
    let _: [u8; 8] = reader.take("the head")?;
    let mut cores = Vec::new();
    for processor in 0..reader.count("processors", 41)? {
        let _wall_and_idle: [u8; 16] = reader.take("a processor")?;
        let background = reader.float("a processor")?;
        let speed = reader.float("a processor")?;
        let _available_objects_number: [u8; 9] = reader.take("a processor")?;
        if !(background.is_finite() && background >= 0.0 && speed.is_finite() && speed > 0.0) {
            let reason = format!("processor {processor} has speed {speed} and background load {background}");
            return Err(FormatError::Whole(reason));
        }
        cores.push((speed, background));
    }
    let (mut tasks, objects) = objects(&mut reader)?;
    let homes = reader.count("homes", 4)?;
    if homes != tasks.len() {
        return Err(FormatError::Whole(format!("{homes} homes of {} objects", tasks.len())));
    }
    for task in &mut tasks {
        let home = reader.int("a home")?;
        let known = u32::try_from(home).ok().filter(|home| (*home as usize) < cores.len());
        let missing = || FormatError::Whole(format!("an object is on processor {home} of {}", cores.len()));
        task.home = Some(known.ok_or_else(missing)?);
    }
    let messages = messages(&mut reader, &objects)?;
    if !reader.rest.is_empty() {
        let reason =
            format!("{} bytes follow the dump: it is from a build with other fields", reader.rest.len());
        return Err(FormatError::Whole(reason));
    }
    Ok(Measured { problem: Problem::new(tasks, &messages)?, cores })
}

/// A manager of objects and an object of it, as a dump names them.
type Key = (i32, u64);

fn objects(reader: &mut Reader<'_>) -> Result<(Vec<Task>, HashMap<Key, u32>), FormatError> {
    let (mut tasks, mut keys) = (Vec::new(), HashMap::new());
    for number in 0..reader.count("objects", 32)? {
        let manager = reader.int("an object")?;
        let _handle: [u8; 4] = reader.take("an object")?;
        let id = reader.long("an object")?;
        let _handle: [u8; 4] = reader.take("an object")?;
        let load = reader.float("an object")?;
        let [migratable, _arrives] = reader.take("an object")?;
        let size = u16::from_le_bytes(reader.take("an object")?);
        if keys.insert((manager, id), number as u32).is_some() {
            return Err(FormatError::Whole(format!("object {id} is there twice")));
        }
        tasks.push(Task {
            bytes: u64::from(size & ((1 << SIZE_BITS) - 1)) << (8 * u32::from(size >> SIZE_BITS)),
            pinned: migratable == 0,
            // The processor follows later; until then pinned objects need one.
            home: Some(0),
            label: Some(id.to_string().into()),
            ..Task::new(load)
        });
    }
    Ok((tasks, keys))
}

fn messages(reader: &mut Reader<'_>, objects: &HashMap<Key, u32>) -> Result<Vec<Message>, FormatError> {
    let number = |key: Key| {
        let missing = || FormatError::Whole(format!("a message of object {}, which is not there", key.1));
        objects.get(&key).copied().ok_or_else(missing)
    };
    let mut messages = Vec::new();
    for _ in 0..reader.count("messages", 29)? {
        let processor = reader.int("a message")?;
        let sender = (reader.int("a message")?, reader.long("a message")?);
        let [kind] = reader.take("a message")?;
        let mut receivers = Vec::new();
        match kind {
            TO_PROCESSOR => {
                let _: [u8; 4] = reader.take("a message")?;
            }
            TO_OBJECT => {
                receivers.push((reader.int("a message")?, reader.long("a message")?));
                let _: [u8; 4] = reader.take("a message")?;
            }
            TO_LIST => {
                for _ in 0..reader.int("a message")? {
                    receivers.push((reader.int("a message")?, reader.long("a message")?));
                }
            }
            _ => {
                return Err(FormatError::Whole(format!(
                    "a message to a receiver of the unknown kind {kind}"
                )));
            }
        }
        let count = f64::from(reader.int("a message")?);
        let bytes = f64::from(reader.int("a message")?);
        if processor >= 0 {
            continue;
        }
        for receiver in receivers {
            messages.push(Message { from: number(sender)?, to: number(receiver)?, count, bytes });
        }
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump() -> Vec<u8> {
        let mut bytes = MACHINE.to_vec();
        for word in [3_i32, 0, 2] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(1_u64.to_le_bytes());
        for number in [9.0_f64, 1.0, 0.5, 1.0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([1, 2, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(2_u64.to_le_bytes());
        for (id, load, size) in [(70_u64, 0.25_f64, 300_u16), (71, 0.5, (1 << 13) | 4)] {
            bytes.extend(10_i32.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(id.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(load.to_le_bytes());
            bytes.extend([1, 0]);
            bytes.extend(size.to_le_bytes());
        }
        bytes.extend(2_u64.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(1_u64.to_le_bytes());
        bytes.extend((-1_i32).to_le_bytes());
        bytes.extend(10_i32.to_le_bytes());
        bytes.extend(70_u64.to_le_bytes());
        bytes.push(2);
        bytes.extend(10_i32.to_le_bytes());
        bytes.extend(71_u64.to_le_bytes());
        bytes.extend(0_i32.to_le_bytes());
        bytes.extend(3_i32.to_le_bytes());
        bytes.extend(360_i32.to_le_bytes());
        bytes
    }

    #[test]
    fn a_dump_reads_byte_by_byte() {
        let measured = charm_dump(&dump()).unwrap();
        let tasks = measured.problem.tasks();
        assert_eq!((tasks[0].load, tasks[0].bytes, tasks[1].bytes), (0.25, 300, 1024));
        assert_eq!((tasks[1].home, measured.problem.label(1).as_ref()), (Some(0), "71"));
        assert_eq!(measured.cores, [(1.0, 0.5)]);
        assert_eq!((measured.problem.sent(0)[0].count, measured.problem.sent(0)[0].bytes), (3.0, 360.0));
    }

    #[test]
    fn every_shortened_dump_is_refused() {
        let whole = dump();
        for length in 0..whole.len() {
            assert!(charm_dump(&whole[..length]).is_err(), "{length} bytes");
        }
        assert!(charm_dump(&[whole, vec![0]].concat()).unwrap_err().to_string().contains("1 bytes follow"));
    }
}
