//! Vectors made orthonormal: the hot spot of Krylov methods in reservoir simulation.
//!
//! The case of *Implementation of Classic Gram-Schmidt in a Reservoir Simulator*: 32 vectors of n^3 numbers, modified Gram-Schmidt against
//! the classic one by chunks of 2048, which needs one reduction for a vector where the modified one needs as many as there are vectors
//! before it. Directions are its second set of vectors, d, which takes the same combinations.

mod cholesky;
#[expect(unsafe_code, reason = "vector instructions")]
mod kernels;
mod messages;
mod methods;
mod triangle;
mod vectors;

use crate::blas::{Blas, Columns, Package};
use crate::case::{About, Case, Given, OverRanks, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::{Checksum, weighted_sum, weighted_sum_of};
use crate::error::{CaseError, Missing};
use crate::parameter::{Kind, Parameter};
use crate::share::{cut_slice, each};
use cholesky::{Scratch, cholesky_qr2};
use firsttouch_graph::Ranks;
use firsttouch_measure::{Limit, mix};
use firsttouch_threads::Team;
use kernels::Kernel;
use messages::{Everybody, Messages};
use std::ffi::OsStr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use triangle::Triangle;
use vectors::Vectors;

/// Orthogonalisation of vectors.
#[derive(Debug)]
pub(crate) struct GramSchmidt;

static ABOUT: About = About {
    name: "gram-schmidt",
    summary: "long vectors made orthonormal",
    source: ARTICLE,
    parameters: &[
        Parameter::new(
            "n",
            "vectors have n^3 numbers, of a grid of n by n by n cells",
            Kind::Count(1, 1 << 13),
            ["192", "64"],
        ),
        Parameter::new("vectors", "how many there are", Kind::Count(1, 256), ["32", "32"]),
        Parameter::new(
            "chunk",
            "numbers of a vector that stay in the cache in the classic method",
            Kind::Count(1, 1 << 30),
            ["2048", "2048"],
        ),
        Parameter::new(
            "directions",
            "whether a second set of vectors takes the same combinations, as the directions of Orthomin do",
            Kind::Word(&["no", "yes"]),
            ["no", "no"],
        ),
    ],
    variants: &[
        Variant::ours(
            "cholesky-qr2",
            "CholeskyQR twice: all products at once, a small triangle, one quotient",
        ),
        Variant::ours("modified", "modified Gram-Schmidt, as the article prints it"),
        Variant::ours("classic", "classic Gram-Schmidt by chunks, as the article prints it: less orthogonal"),
        Variant::ours("classic-twice", "the same twice for each vector, which is orthogonal"),
        Variant::others("openblas", "classic Gram-Schmidt by matrix-vector products of OpenBLAS"),
    ],
    steps: 1,
    unit: Unit::Time,
    bound: Some(Limit::Read),
};

const ARTICLE: &str = "Implementation of Classic Gram-Schmidt in a Reservoir Simulator";

impl Case for GramSchmidt {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, _: Option<&OsStr>) -> Option<Missing> {
        variant.alternative.then(|| Package::OpenBlas.missing()).flatten()
    }

    fn variables(&self, variant: &Variant) -> Vec<(&'static str, Option<String>)> {
        if variant.alternative { Package::OpenBlas.variables() } else { Vec::new() }
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        Ok(Prepared::Here(Box::new(made(given, Messages::default())?)))
    }

    fn over_ranks(&self) -> Option<&dyn OverRanks> {
        Some(self)
    }
}

impl OverRanks for GramSchmidt {
    /// Each rank has rows of all vectors.
    fn prepare_rank(
        &self,
        given: &mut Given<'_>,
        ranks: Rc<dyn Ranks>,
    ) -> Result<Box<dyn Workload>, CaseError> {
        Ok(Box::new(made(given, Messages::between(ranks))?))
    }
}

fn made(given: &mut Given<'_>, messages: Messages) -> Result<Orthogonalising, CaseError> {
    let count = given.arguments.number("vectors");
    let length = given.arguments.number("n").pow(3);
    if length < count {
        return Err(CaseError::Together(format!("{count} vectors of {length} numbers depend on each other")));
    }
    let members = given.team.size();
    let method = match given.variant.name {
        "modified" => Method::Modified,
        "classic" => Method::Classic { chunk: given.arguments.number("chunk"), turns: 1 },
        "classic-twice" => Method::Classic { chunk: given.arguments.number("chunk"), turns: 2 },
        "openblas" => Method::Library(Package::OpenBlas.open(members)?),
        _ => Method::Cholesky((0..members).map(|_| scratch(count)).collect()),
    };
    let with_directions = given.arguments.word("directions") == "yes";
    let vectors = |name| Vectors::zeroed(given.arrays, name, (messages.rows(length), length), count);
    let mut workload = Orthogonalising {
        q: vectors("q")?,
        d: with_directions.then(|| vectors("d")).transpose()?,
        r: Triangle::zero(count),
        method,
        messages,
        in_steps: Duration::ZERO,
        in_messages: Duration::ZERO,
    };
    workload.reset(given.team);
    Ok(workload)
}

fn scratch(count: usize) -> Scratch {
    Scratch::new(count, Kernel::all()[0])
}

/// A number from 0 to 1: vectors of them lean all to the same side, so that there is something to make orthogonal, and their condition
/// is about 10.
fn unit(place: usize) -> f64 {
    (mix(place as u64) >> 11) as f64 / (1_u64 << 53) as f64
}

enum Method {
    Cholesky(Vec<Scratch>),
    Modified,
    Classic { chunk: usize, turns: usize },
    Library(Blas),
}

struct Orthogonalising {
    q: Vectors,
    d: Option<Vectors>,
    r: Triangle,
    method: Method,
    messages: Messages,
    /// The time of all steps.
    in_steps: Duration,
    /// What messages took of it.
    in_messages: Duration,
}

impl Workload for Orthogonalising {
    /// Vectors are made orthonormal where they are.
    fn reset(&mut self, team: &mut Team) {
        self.q.fill(team, unit);
        if let Some(d) = &mut self.d {
            d.fill(team, |place| unit(usize::MAX - place));
        }
    }

    fn step(&mut self, team: &mut Team) {
        self.messages.take_time();
        let begun = Instant::now();
        self.orthogonalise(team);
        self.in_messages += self.messages.take_time();
        self.in_steps += begun.elapsed();
    }

    /// R has a positive diagonal in every variant, so signs are determined.
    fn checksum(&self) -> Checksum {
        let magnitudes =
            |vectors: &Vectors| weighted_sum_of(vectors.numbers().map(|(place, value)| (place, value.abs())));
        let mut vectors = [magnitudes(&self.q) + self.d.as_ref().map_or(0.0, magnitudes)];
        self.messages.sum(&mut vectors);
        // All ranks have the same R.
        let r = weighted_sum(self.r.values.iter().map(|value| value.abs()));
        Checksum::Near { value: r + vectors[0], within: 1e-10 }
    }

    /// What a method that stays orthogonal has to move when the vectors do not fit into the caches: the first pass finds the products, the
    /// second how far from orthogonal their quotient is, the third writes it.
    fn work(&self) -> Work {
        let numbers = (self.q.whole * self.q.count) as u64;
        let passes = 4 + 2 * u64::from(self.d.is_some());
        Work { bytes: passes * numbers * size_of::<f64>() as u64, operations: 0 }
    }

    fn notes(&self) -> Vec<String> {
        let orthogonal = format!("max |Q'Q - I| is {:.1e}", orthogonality(&self.q, &self.messages));
        let share = self.in_messages.div_duration_f64(self.in_steps);
        [orthogonal].into_iter().chain(self.messages.words(share)).collect()
    }
}

impl Orthogonalising {
    fn orthogonalise(&mut self, team: &mut Team) {
        let Orthogonalising { q, d, r, method, messages, .. } = self;
        let all = &mut Everybody { team, messages };
        if let Method::Library(library) = method {
            *r = by_library(library, q, d.as_mut(), all);
            return;
        }
        let members = all.team.size();
        let mut d = d.as_mut().map(|d| d.rows(members));
        let mut q = q.rows(members);
        let d = d.as_deref_mut();
        *r = match method {
            Method::Cholesky(scratch) => cholesky_qr2(&mut q, d, scratch, all),
            Method::Classic { chunk, turns } => methods::classic(&mut q, d, (*chunk, *turns), all),
            Method::Modified | Method::Library(_) => methods::modified(&mut q, d, all),
        };
    }
}

/// How far the products of vectors are from those of orthonormal ones, at most.
fn orthogonality(q: &Vectors, messages: &Messages) -> f64 {
    let mut products = scratch(q.count).products(&kernels::Columns::of(q.iter()));
    messages.sum(&mut products.values);
    let places = (0..q.count).flat_map(|column| (0..=column).map(move |row| (row, column)));
    let off =
        places.map(|(row, column)| (products.at(row, column) - f64::from(u8::from(row == column))).abs());
    // Not `max`, which would overlook what is no number.
    off.fold(0.0, |most: f64, off| if most.is_nan() || off <= most { most } else { off })
}

/// The classic method by matrix-vector products (the article's equations 1.1 to 1.3).
fn by_library(
    library: &Blas,
    q: &mut Vectors,
    mut d: Option<&mut Vectors>,
    all: &mut Everybody<'_>,
) -> Triangle {
    let mut r = Triangle::zero(q.count);
    let (rows, count, stride) = (q.length, q.count, q.stride());
    let mut alphas = vec![0.0; count];
    for j in 0..count {
        let (before, target) = q.all_mut().split_at_mut(j * stride);
        let (target, columns) = (&mut target[..rows], Columns { values: before, rows, columns: j, stride });
        library.products(columns, target, &mut alphas);
        all.messages.sum(&mut alphas[..j]);
        library.subtract(columns, &alphas, target);
        let mut square = [0.0];
        library.products(Columns { values: target, rows, columns: 1, stride }, target, &mut square);
        all.messages.sum(&mut square);
        let norm = square[0].sqrt();
        scale(target, 1.0 / norm, all.team);
        if let Some(d) = d.as_deref_mut() {
            let (before, target) = d.all_mut().split_at_mut(j * stride);
            let target = &mut target[..rows];
            library.subtract(Columns { values: before, rows, columns: j, stride }, &alphas, target);
            scale(target, 1.0 / norm, all.team);
        }
        (0..j).for_each(|i| r.set(i, j, alphas[i]));
        r.set(j, j, norm);
    }
    r
}

fn scale(vector: &mut [f64], factor: f64, team: &mut Team) {
    let parts = cut_slice(vector, team.size(), 512);
    each(team, parts, |_, part| part.iter_mut().for_each(|value| *value *= factor));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Arrays;
    use crate::parameter::Arguments;
    use firsttouch_graph::MessageError;
    use proptest::prelude::*;
    use std::sync::{Arc, Barrier, Mutex};

    /// A prepared workload of so many vectors, after a step.
    fn done(
        variant: &'static Variant,
        n: usize,
        vectors: usize,
        threads: usize,
        more: &[(&str, &str)],
    ) -> Orthogonalising {
        let mut chosen = vec![("n".to_owned(), n.to_string()), ("vectors".to_owned(), vectors.to_string())];
        chosen.extend(more.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
        let arguments = Arguments::of(&ABOUT, &chosen, true).unwrap();
        let (arrays, mut team) = (Arrays::default(), Team::of_this_process(threads).unwrap());
        let mut given = Given { arguments: &arguments, variant, arrays: &arrays, team: &mut team };
        let mut workload = made(&mut given, Messages::default()).unwrap();
        workload.step(&mut team);
        workload.reset(&mut team);
        workload.step(&mut team);
        workload
    }

    fn here() -> impl Iterator<Item = &'static Variant> {
        ABOUT.variants.iter().filter(|variant| GramSchmidt.missing(variant, None).is_none())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        /// Q is orthonormal and Q R is what there was, of the directions as well.
        #[test]
        fn vectors_become_orthonormal_and_can_be_put_together_again(
            n in 6_usize..14, vectors in 1_usize..20, threads in 1_usize..4, chunk in 1_usize..900,
        ) {
            for variant in here() {
                let chunk = chunk.to_string();
                let more = [("directions", "yes"), ("chunk", chunk.as_str())];
                let Orthogonalising { q, d, r, .. } = done(variant, n, vectors, threads, &more);
                let off = orthogonality(&q, &Messages::default());
                prop_assert!(off < 1e-12, "{}: {off:e}", variant.name);
                let (length, d) = (q.length, d.unwrap());
                for (set, begin) in [(&q, &unit as &dyn Fn(usize) -> f64), (&d, &|place| unit(usize::MAX - place))] {
                    let columns: Vec<&[f64]> = set.iter().collect();
                    for (j, row) in (0..vectors).flat_map(|j| (0..length).step_by(7).map(move |row| (j, row))) {
                        let together: f64 = (0..=j).map(|i| columns[i][row] * r.at(i, j)).sum();
                        prop_assert!((together - begin(j * length + row)).abs() < 1e-10, "{} {j} {row}", variant.name);
                    }
                }
            }
        }
    }

    /// Ranks that are threads of this process.
    #[derive(Debug)]
    struct Together {
        rank: usize,
        size: usize,
        shared: Arc<(Barrier, Mutex<Vec<f64>>)>,
    }

    impl Ranks for Together {
        fn rank(&self) -> usize {
            self.rank
        }

        fn size(&self) -> usize {
            self.size
        }

        fn sum(&self, values: &mut [f64]) -> Result<(), MessageError> {
            let (barrier, sums) = &*self.shared;
            // The last sums have been read.
            barrier.wait();
            if self.rank == 0 {
                *sums.lock().unwrap() = vec![0.0; values.len()];
            }
            barrier.wait();
            sums.lock().unwrap().iter_mut().zip(&*values).for_each(|(sum, value)| *sum += value);
            barrier.wait();
            values.copy_from_slice(&sums.lock().unwrap());
            Ok(())
        }

        fn tell(&self, _: &[u8]) -> Result<(), MessageError> {
            unreachable!("nothing but sums")
        }

        fn hear(&self, _: &mut [u8]) -> Result<(), MessageError> {
            unreachable!("nothing but sums")
        }

        fn send(&self, _: usize, _: &[u8]) -> Result<(), MessageError> {
            unreachable!("nothing but sums")
        }

        fn receive(&self, _: usize) -> Result<Vec<u8>, MessageError> {
            unreachable!("nothing but sums")
        }

        fn poll(&self) -> Result<Option<(usize, Vec<u8>)>, MessageError> {
            unreachable!("nothing but sums")
        }

        fn abort(&self, code: u8) -> ! {
            panic!("aborted with {code}")
        }
    }

    /// What a rank says: the checksum, the work, and its notes.
    type Said = (Checksum, Work, Vec<String>);

    fn by_ranks(variant: &'static Variant, size: usize, chosen: &[(&str, &str)]) -> Vec<Said> {
        let chosen: Vec<(String, String)> =
            chosen.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let shared = Arc::new((Barrier::new(size), Mutex::new(Vec::new())));
        let of_rank = |rank| {
            let ranks = Rc::new(Together { rank, size, shared: Arc::clone(&shared) });
            let arguments = Arguments::of(&ABOUT, &chosen, true).unwrap();
            let (arrays, mut team) = (Arrays::default(), Team::of_this_process(1 + rank % 2).unwrap());
            let mut given = Given { arguments: &arguments, variant, arrays: &arrays, team: &mut team };
            let mut workload = GramSchmidt.prepare_rank(&mut given, ranks).unwrap();
            for _ in 0..2 {
                workload.reset(&mut team);
                workload.step(&mut team);
            }
            (workload.checksum(), workload.work(), workload.notes())
        };
        std::thread::scope(|scope| {
            let of_rank = &of_rank;
            let threads: Vec<_> = (0..size).map(|rank| scope.spawn(move || of_rank(rank))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// Of 9 x 512 and some rows, which four ranks do not share evenly; and of fewer than each of them could have.
    #[test]
    fn ranks_come_to_what_one_process_comes_to() {
        for variant in here() {
            for n in ["17", "7"] {
                let chosen = [("n", n), ("vectors", "13"), ("directions", "yes"), ("chunk", "100")];
                let alone = done(variant, n.parse().unwrap(), 13, 2, &chosen[2..]);
                for size in [1, 2, 4] {
                    for (checksum, work, notes) in by_ranks(variant, size, &chosen) {
                        assert!(
                            checksum.agrees(alone.checksum()),
                            "{} by {size}: {checksum:?}",
                            variant.name
                        );
                        assert_eq!(work, alone.work());
                        let off: f64 = notes[0].rsplit(' ').next().unwrap().parse().unwrap();
                        assert!(off < 1e-12, "{} by {size}: {notes:?}", variant.name);
                        assert!(notes[1].starts_with("messages took "), "{notes:?}");
                    }
                }
            }
        }
    }

    /// What every processor has comes to the same as the best.
    #[test]
    fn all_ways_to_multiply_come_to_the_same() {
        let variant = &ABOUT.variants[0];
        let expected = done(variant, 13, 17, 2, &[]);
        for kernel in Kernel::all() {
            let mut team = Team::of_this_process(2).unwrap();
            let mut other = done(variant, 13, 17, 2, &[]);
            other.method = Method::Cholesky((0..team.size()).map(|_| Scratch::new(17, kernel)).collect());
            other.reset(&mut team);
            other.step(&mut team);
            assert!(expected.checksum().agrees(other.checksum()), "{kernel:?}");
        }
    }

    #[test]
    fn a_vector_that_is_no_number_is_told() {
        let mut workload = done(&ABOUT.variants[0], 10, 4, 1, &[]);
        assert!(orthogonality(&workload.q, &workload.messages) < 1e-13);
        workload.q.all_mut()[5] = f64::NAN;
        assert!(orthogonality(&workload.q, &workload.messages).is_nan());
        workload.q.all_mut()[5] = 1.0;
        assert!(orthogonality(&workload.q, &workload.messages) > 0.5);
    }

    #[test]
    fn work_is_counted_by_hand() {
        // 3 vectors of 8 numbers of 8 bytes, read three times and written once; with directions, those are read and written once.
        let bytes = |more| done(&ABOUT.variants[1], 2, 3, 1, more).work().bytes;
        assert_eq!((bytes(&[]), bytes(&[("directions", "yes")])), (768, 768 + 384));
    }
}
