//! Hashes of chunks that producers make and one consumer takes: whether the consumer keeps up, and at what rate it hashes.
//!
//! Source: *Intel ISA-L: Cryptographic Hashes for Cloud Storage*. As there, each producer has one chunk, fills it, and waits until
//! it has been hashed; the consumer takes whatever is there. Unlike there, a chunk goes back to its producer when its digest is
//! known: the article's consumer gives it back once it is submitted, and its lanes read what the producer writes meanwhile.
//!
//! The workload is a matter of time itself (`speed`, and the consumer's waiting), so that this case has a clock.

mod algorithm;
mod engine;
mod isal;
mod lanes;
mod manager;
mod openssl;
mod pipeline;
mod rounds;
#[cfg(target_arch = "x86_64")]
mod sha;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vectors;

use crate::array::Array;
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::parameter::{Kind, Parameter};
use crate::share::each;
use algorithm::Algorithm;
use engine::Paced;
use firsttouch_threads::Team;
use isal::IsaL;
use manager::{Hasher, Manager};
use openssl::OpenSsl;
use pipeline::{Consumed, Plan, Role, consume, produce, produce_and_consume, roles};
use std::ffi::OsStr;
use std::time::Duration;

/// The pipeline of producers and a consumer that hashes.
#[derive(Debug)]
pub(crate) struct Hash;

static ABOUT: About = About {
    name: "hash",
    summary: "digests of chunks that producers fill and one consumer hashes",
    source: "Intel ISA-L: Cryptographic Hashes for Cloud Storage",
    parameters: &[
        Parameter::new(
            "producers",
            "producers, each with a chunk of its own; threads but the first stand for them in turn",
            Kind::Count(1, 4096),
            ["16", "16"],
        ),
        Parameter::new(
            "speed",
            "MB/s (10^6 bytes) that each producer makes; 0 for as many as it can",
            Kind::Count(0, 1_000_000),
            ["0", "0"],
        ),
        Parameter::new(
            "chunk-size",
            "bytes of a chunk, hashed as a message of its own",
            Kind::Bytes(1, 1 << 31),
            ["4M", "4M"],
        ),
        Parameter::new(
            "total-size",
            "bytes of a step, rounded up to whole chunks",
            Kind::Bytes(1, 1 << 44),
            ["2G", "64M"],
        ),
        Parameter::new("algorithm", "the hash function", Kind::Word(Algorithm::WORDS), ["sha256", "sha256"]),
    ],
    variants: &[
        Variant::ours(
            "multi-buffer",
            "messages side by side in the widest vectors there are, or few of them by the processor's own instructions",
        ),
        Variant::ours("multi-buffer-avx2", "the same in vectors of 256 bits at most"),
        Variant::ours(
            "single-buffer",
            "one message after another, by the processor's own instructions where it has them",
        ),
        Variant::ours("portable", "one message after another, in plain code"),
        Variant::others("openssl", "OpenSSL's EVP digests, one message after another"),
        Variant::others("isa-l", "the job managers of ISA-L crypto"),
    ],
    steps: 4,
    unit: Unit::Bandwidth,
    bound: None,
};

impl Case for Hash {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, _: Option<&OsStr>) -> Option<Missing> {
        match variant.name {
            "multi-buffer-avx2" => engine::avx2(Algorithm::Md5).is_none().then(Missing::avx2),
            "openssl" => openssl::open().err(),
            "isa-l" => isal::open().err(),
            _ => None,
        }
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let number = |name| given.arguments.number(name);
        let algorithm = Algorithm::of(given.arguments.word("algorithm"));
        let (producers, chunk) = (number("producers"), number("chunk-size"));
        let pace = match number("speed") {
            0 => Duration::ZERO,
            speed => Duration::from_secs_f64(chunk as f64 / 1e6 / speed as f64),
        };
        let plan = Plan { producers, chunks: number("total-size").div_ceil(chunk), pace };
        let hashing = hashing(algorithm, given.variant.name)?;
        let mut chunks = given.arrays.zeroed::<u8>("chunks", producers * apart(chunk))?;
        // Producers touch their chunks first.
        let parts = roles(plan, given.team.size(), cut_apart(&mut chunks, chunk));
        each(given.team, parts, |_, role| {
            if let Role::Producers(mut producers, ..) | Role::Both(mut producers) = role {
                producers.touch();
            }
        });
        Ok(Prepared::Here(Box::new(Pipeline { plan, hashing, chunk, chunks, consumed: Consumed::default() })))
    }
}

/// Bytes from one chunk to the next. Lanes read all chunks at the same place; if that were the same place of a page, too, sixteen
/// lines would compete for the eight ways of one set of the caches.
fn apart(chunk: usize) -> usize {
    const LINE_BYTES: usize = 64;
    chunk.next_multiple_of(LINE_BYTES) + 5 * LINE_BYTES
}

/// The chunks of the producers.
fn cut_apart(chunks: &mut [u8], chunk: usize) -> Vec<&mut [u8]> {
    chunks.chunks_exact_mut(apart(chunk)).map(|both| &mut both[..chunk]).collect()
}

/// What digests are computed by.
enum Hashing {
    Ours(Algorithm, Vec<Paced>),
    OpenSsl(OpenSsl),
    IsaL(IsaL),
}

fn hashing(algorithm: Algorithm, variant: &str) -> Result<Hashing, CaseError> {
    let single = Some(engine::single(algorithm));
    let engines = match variant {
        "multi-buffer" => engine::multi_buffer(algorithm),
        "multi-buffer-avx2" => vec![single, engine::avx2(algorithm)],
        "single-buffer" => vec![single],
        "portable" => vec![Some(engine::portable(algorithm))],
        "openssl" => return Ok(Hashing::OpenSsl(OpenSsl::new(algorithm)?)),
        _ => return Ok(Hashing::IsaL(IsaL::new(algorithm)?)),
    };
    Ok(Hashing::Ours(algorithm, engines.into_iter().flatten().map(|it| it.paced(algorithm)).collect()))
}

impl Hashing {
    fn hasher<'data>(&'data mut self) -> Box<dyn Hasher<'data> + 'data> {
        match self {
            Hashing::Ours(algorithm, engines) => Box::new(Manager::new(*algorithm, engines)),
            Hashing::OpenSsl(library) => Box::new(library),
            Hashing::IsaL(library) => Box::new(isal::Jobs::new(library)),
        }
    }
}

struct Pipeline {
    plan: Plan,
    hashing: Hashing,
    /// Bytes of a chunk.
    chunk: usize,
    chunks: Array<u8>,
    consumed: Consumed,
}

impl Workload for Pipeline {
    fn step(&mut self, team: &mut Team) {
        let (plan, hashing) = (self.plan, std::sync::Mutex::new(Some(&mut self.hashing)));
        let hasher = || hashing.lock().ok().and_then(|mut it| it.take()).map(Hashing::hasher);
        let parts = roles(plan, team.size(), cut_apart(&mut self.chunks, self.chunk));
        let consumed = each(team, parts, |_, role| match role {
            Role::Consumer(ready, back) => hasher().map(|hasher| consume(plan, hasher, &ready, &back)),
            Role::Both(producers) => hasher().map(|hasher| produce_and_consume(plan, producers, hasher)),
            Role::Producers(producers, made, returned) => {
                produce(producers, &made, &returned);
                None
            }
            Role::Idle => None,
        });
        self.consumed = consumed.into_iter().flatten().next().unwrap_or_default();
    }

    fn checksum(&self) -> Checksum {
        Checksum::Exact(self.consumed.sum)
    }

    fn work(&self) -> Work {
        Work { bytes: (self.plan.chunks * self.chunk) as u64, operations: 0 }
    }

    fn notes(&self) -> Vec<String> {
        let Consumed { bytes, elapsed, waited, .. } = self.consumed;
        let busy = (elapsed - waited).as_secs_f64();
        let (usage, rate) = (100.0 * busy / elapsed.as_secs_f64(), bytes as f64 / busy);
        let speed = format!("hash speed: {:.1} MB/s ({:.1} MiB/s)", rate / 1e6, rate / f64::from(1 << 20));
        let mut notes = vec![format!("consumer thread usage: {usage:.1} %"), speed];
        if let Hashing::Ours(_, engines) = &self.hashing {
            let most = manager::fastest(engines, self.plan.producers);
            notes.extend(most.map(|engine| format!("lanes: {} ({})", engine.lanes, engine.name)));
        }
        notes
    }
}
