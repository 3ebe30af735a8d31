//! One run by several ranks: rank 0 hands out sources, and the others report to it what they found.
//!
//! A rank asks for as many sources as it finds in some seconds, and tells what it found of the last ones in the same message; so
//! ranks of any speed end together, and rank 0 knows at any time what all have found: for the checkpoint and for progress. It
//! searches, too; one more of its threads answers meanwhile.

use super::checkpoint;
use super::engine::Engine;
use super::error::AllPairsError;
use super::run::{AllPairs, Run, lock};
use super::stored::{AllPairsOutcome, Stored};
use crate::Node;
use crate::file::{self, FileError};
use crate::fingerprint::Fingerprint;
use crate::hierarchy::{Accumulator, Found};
use crate::ranks::{MessageError, Ranks};
use crate::search::Distances;
use firsttouch_documents::Summary;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How much work a rank asks for at a time: so much can be lost with it, and it hears of an end so late at most.
const STRETCH: Duration = Duration::from_secs(5);
/// How often rank 0 looks whether somebody has asked.
const PAUSE: Duration = Duration::from_micros(500);
/// Of its equal share of what is left, a rank gets at most one in so many at once, so that all end together.
const SHARE: usize = 2;

/// What rank 0 tells before anything is handed out.
struct Asked {
    histogram: bool,
    /// Sources that are to be searched from.
    nodes: Vec<Node>,
}

/// What a rank says: what it has found, and how much more it would have.
struct Request {
    /// None: it ends.
    wanted: u64,
    /// The least that keeps it busy.
    at_once: u64,
    /// The sources it was given, by their places among those that were told.
    given: Range<usize>,
    /// What was found of them, as a checkpoint has it.
    found: Vec<u8>,
}

impl AllPairs<'_> {
    /// Runs with other ranks, which [`AllPairs::follow`] meanwhile. Sources are handed out as they are asked for; the checkpoint, if
    /// there is one, keeps what all ranks have found, progress counts it, and a rank that is told to stop stops all. There
    /// is no matrix.
    ///
    /// # Errors
    ///
    /// As [`AllPairs::run`]; and messages that do not arrive.
    pub fn lead<'a, 'b>(
        &self,
        engine: impl Into<Engine<'a, 'b>>,
        sources: &[Node],
        ranks: &dyn Ranks,
    ) -> Result<AllPairsOutcome, AllPairsError>
    where
        'a: 'b,
    {
        self.lead_by(engine.into(), sources, ranks)
    }

    /// The same, which is compiled once.
    fn lead_by(
        &self,
        mut engine: Engine<'_, '_>,
        sources: &[Node],
        ranks: &dyn Ranks,
    ) -> Result<AllPairsOutcome, AllPairsError> {
        let settings = AllPairs { matrix: None, ..*self };
        let run = settings.begin(&engine, sources)?;
        let left: Vec<usize> = (0..sources.len()).filter(|index| !run.known[*index]).collect();
        let nodes: Vec<Node> = left.iter().map(|index| sources[*index]).collect();
        ranks.tell_all(&Asked { histogram: self.histogram, nodes: nodes.clone() }.to_bytes())?;
        let hand = Hand { run: &run, left: &left, next: Mutex::new(0), ranks, ended: AtomicBool::new(false) };
        thread::scope(|scope| {
            let answering = scope.spawn(|| {
                let answered = hand.answer();
                // Nobody will be told of what is found from here on.
                if answered.is_err() {
                    hand.ended.store(true, Ordering::Relaxed);
                }
                answered
            });
            let at_once = engine.at_once();
            let mut pace = Pace::new(at_once);
            let mut found = Ok(());
            while found.is_ok()
                && let Some(range) = hand.take(pace.wanted(), at_once)
            {
                pace.begin();
                let accumulator = Chunk { run: &run, indices: &left[range.clone()] };
                found = engine.accumulate(&nodes[range.clone()], &|| hand.ends(), &accumulator);
                pace.did(range.len());
            }
            if found.is_err() {
                hand.ended.store(true, Ordering::Relaxed);
            }
            if hand.ends() {
                // Whoever told it to stop may not wait until the others have ended.
                found = found.and(run.save(&mut lock(&run.ledger)).map_err(AllPairsError::from));
            }
            let answered = answering.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            found.and(answered)
        })?;
        let resumed = run.resumed;
        Ok(AllPairsOutcome { stored: run.finish()?, resumed })
    }

    /// Works for rank 0, which [`AllPairs::lead`]s: on its sources, and to its figures. Of the settings only `stop` means
    /// something, and `progress`, which is told of the sources that were got last. Answers whether it was not stopped.
    ///
    /// # Errors
    ///
    /// As [`AllPairs::lead`].
    pub fn follow<'a, 'b>(
        &self,
        engine: impl Into<Engine<'a, 'b>>,
        ranks: &dyn Ranks,
    ) -> Result<bool, AllPairsError>
    where
        'a: 'b,
    {
        self.follow_by(engine.into(), ranks)
    }

    /// The same, which is compiled once.
    fn follow_by(&self, mut engine: Engine<'_, '_>, ranks: &dyn Ranks) -> Result<bool, AllPairsError> {
        let asked = Asked::of_bytes(&ranks.hear_all()?).ok_or_else(MessageError::not_understood)?;
        let settings = AllPairs {
            checkpoint: None,
            matrix: None,
            progress: self.progress,
            stop: self.stop,
            histogram: asked.histogram,
        };
        let stopped = || self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let at_once = engine.at_once() as u64;
        let mut pace = Pace::new(engine.at_once());
        let (mut given, mut found) = (0..0, Vec::new());
        loop {
            let wanted = if stopped() { 0 } else { pace.wanted() as u64 };
            ranks.send(0, &Request { wanted, at_once, given, found }.to_bytes())?;
            let answer = range_of(&mut &ranks.receive(0)?[..]).ok_or_else(MessageError::not_understood)?;
            if answer.is_empty() {
                return Ok(!stopped());
            }
            let nodes = asked.nodes.get(answer.clone()).ok_or_else(MessageError::not_understood)?;
            pace.begin();
            let stored = settings.run(engine.again(), nodes)?.stored;
            pace.did(nodes.len());
            found = checkpoint::encoded(part(&answer), &stored);
            given = answer;
        }
    }
}

/// Rank 0's side.
struct Hand<'a> {
    run: &'a Run<'a>,
    /// Sources that are to be searched from, by their places among all.
    left: &'a [usize],
    /// The first of them that nobody has.
    next: Mutex<usize>,
    ranks: &'a dyn Ranks,
    /// A rank was told to stop, or something failed.
    ended: AtomicBool,
}

impl Hand<'_> {
    fn ends(&self) -> bool {
        let stop = self.run.settings.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        stop || self.ended.load(Ordering::Relaxed)
    }

    /// Sources for somebody who wants so many.
    fn take(&self, wanted: usize, at_once: usize) -> Option<Range<usize>> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.left.len() - *next;
        if left == 0 || self.ends() {
            return None;
        }
        let share = left.div_ceil(SHARE * self.ranks.size().max(1));
        let some = share.min(wanted).max(at_once).clamp(1, left);
        let range = *next..*next + some;
        *next = range.end;
        Some(range)
    }

    /// Answers all other ranks until each has been told that there is no more.
    fn answer(&self) -> Result<(), AllPairsError> {
        let mut working = self.ranks.size().saturating_sub(1);
        while working > 0 {
            let Some((from, bytes)) = self.ranks.poll()? else {
                thread::sleep(PAUSE);
                continue;
            };
            let request = Request::of_bytes(&bytes).ok_or_else(MessageError::not_understood)?;
            // Whoever asks is answered also where what it found cannot be kept.
            let noted = self.note(&request);
            if request.wanted == 0 || noted.is_err() {
                self.ended.store(true, Ordering::Relaxed);
            }
            let more = self.take(request.wanted as usize, request.at_once as usize).unwrap_or(0..0);
            working -= usize::from(more.is_empty());
            self.ranks.send(from, &bytes_of(&more))?;
            noted?;
        }
        Ok(())
    }

    /// Takes in what a rank has found.
    fn note(&self, request: &Request) -> Result<(), AllPairsError> {
        if request.given.is_empty() {
            return Ok(());
        }
        let not_understood = || AllPairsError::from(MessageError::not_understood());
        let indices = self.left.get(request.given.clone()).ok_or_else(not_understood)?;
        let histogram = self.run.settings.histogram;
        let stored = checkpoint::decoded(&request.found, part(&request.given), indices.len(), histogram);
        let Stored { summaries, histogram } = stored.map_err(|_| not_understood())?;
        let found: Vec<(usize, Summary)> = indices
            .iter()
            .copied()
            .zip(summaries)
            .filter_map(|(index, found)| Some((index, found?)))
            .collect();
        Ok(self.run.done(&Found { summaries: &found, histogram: histogram.as_ref() })?)
    }
}

/// Some sources of a run, found as if they were all.
struct Chunk<'a> {
    run: &'a Run<'a>,
    /// Their places among all.
    indices: &'a [usize],
}

impl Accumulator for Chunk<'_> {
    fn knows(&self, _index: usize) -> bool {
        false
    }

    fn wants_rows(&self) -> bool {
        false
    }

    fn wants_histogram(&self) -> bool {
        self.run.wants_histogram()
    }

    fn row(&self, _index: usize, _row: Distances<'_>, _took: Duration) -> Result<(), FileError> {
        Ok(())
    }

    fn done(&self, found: &Found<'_>) -> Result<(), FileError> {
        let summaries: Vec<(usize, Summary)> =
            found.summaries.iter().map(|(index, summary)| (self.indices[*index], *summary)).collect();
        self.run.done(&Found { summaries: &summaries, histogram: found.histogram })
    }
}

/// How many sources a rank finds in a stretch.
struct Pace {
    at_once: usize,
    began: Instant,
    wanted: usize,
}

impl Pace {
    fn new(at_once: usize) -> Pace {
        Pace { at_once, began: Instant::now(), wanted: at_once }
    }

    fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// So many were found since it began.
    fn did(&mut self, found: usize) {
        let each = self.began.elapsed().as_secs_f64().max(1e-9) / found.max(1) as f64;
        let many = (STRETCH.as_secs_f64() / each) as usize;
        self.wanted = many.next_multiple_of(self.at_once.max(1)).max(self.at_once);
    }

    fn wanted(&self) -> usize {
        self.wanted.max(1)
    }
}

/// Tells parts apart, so that none is taken for another.
fn part(given: &Range<usize>) -> Fingerprint {
    Fingerprint::NEW.with(given.start as u64).with(given.end as u64)
}

fn bytes_of(range: &Range<usize>) -> Vec<u8> {
    [range.start, range.end].iter().flat_map(|end| (*end as u64).to_le_bytes()).collect()
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    file::take(rest).map(u64::from_le_bytes)
}

fn range_of(rest: &mut &[u8]) -> Option<Range<usize>> {
    Some(number(rest)? as usize..number(rest)? as usize)
}

impl Asked {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.histogram)];
        bytes.extend(self.nodes.iter().flat_map(|node| node.to_le_bytes()));
        bytes
    }

    fn of_bytes(bytes: &[u8]) -> Option<Asked> {
        let (histogram, nodes) = bytes.split_first()?;
        let (nodes, rest) = nodes.as_chunks();
        let nodes = nodes.iter().map(|node| Node::from_le_bytes(*node)).collect();
        rest.is_empty().then_some(Asked { histogram: *histogram != 0, nodes })
    }
}

impl Request {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            [self.wanted, self.at_once].iter().flat_map(|number| number.to_le_bytes()).collect();
        bytes.extend(bytes_of(&self.given));
        bytes.extend_from_slice(&self.found);
        bytes
    }

    fn of_bytes(mut bytes: &[u8]) -> Option<Request> {
        let rest = &mut bytes;
        let (wanted, at_once, given) = (number(rest)?, number(rest)?, range_of(rest)?);
        Some(Request { wanted, at_once, given, found: rest.to_vec() })
    }
}
