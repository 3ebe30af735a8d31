//! All cases there are.

use crate::balance::Balance;
use crate::case::Case;
use crate::creation::Creation;
use crate::deflate::Deflate;
use crate::demo::Demo;
use crate::dgemm::Dgemm;
use crate::disk::Disk;
use crate::gather::Gather;
use crate::gram_schmidt::GramSchmidt;
use crate::gups::Gups;
use crate::hash::Hash;
use crate::k_means::KMeans;
use crate::latency::Latency;
use crate::parity::Parity;
use crate::paths::{Apsp, Sssp};
use crate::pca::Pca;
use crate::r::{FFT, Hilbert, LM, SORT};
use crate::reed_solomon::ReedSolomon;
use crate::starts::{JVM, POSTGRESQL};
use crate::stream::Stream;
use crate::vecmath::VecMath;
use crate::wave3d::Wave;

/// Every case, in the order of lists.
pub const ALL: &[&dyn Case] = &[
    &Stream,
    &Latency,
    &Gups,
    &Gather,
    &Creation,
    &Disk,
    &JVM,
    &POSTGRESQL,
    &Hilbert,
    &FFT,
    &LM,
    &SORT,
    &Dgemm,
    &GramSchmidt,
    &Wave,
    &Parity,
    &ReedSolomon,
    &Hash,
    &VecMath,
    &Deflate,
    &KMeans,
    &Pca,
    &Sssp,
    &Apsp,
    &Balance,
    &Demo,
];

/// The case of that name.
pub fn find(name: &str) -> Option<&'static dyn Case> {
    ALL.iter().copied().find(|case| case.about().name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::About;
    use crate::parameter::{Arguments, Kind, Parameter};
    use crate::{Arrays, Given, Prepared};
    use firsttouch_threads::Team;

    #[test]
    fn cases_are_told_apart_and_their_defaults_are_values() {
        for (index, case) in ALL.iter().enumerate() {
            let about = case.about();
            assert!(ALL[..index].iter().all(|other| other.about().name != about.name), "{}", about.name);
            for quick in [false, true] {
                Arguments::of(about, &[], quick).unwrap();
            }
            assert!(about.variants.first().is_some_and(|variant| !variant.alternative), "{}", about.name);
            for (index, variant) in about.variants.iter().enumerate() {
                assert!(about.variants[..index].iter().all(|other| other.name != variant.name));
            }
        }
    }

    /// The quick values; of those that are many an eighth, which proves the same and is soon done.
    fn small(about: &About) -> Arguments {
        let quick = Arguments::of(about, &[], true).unwrap();
        let eighth = |parameter: &Parameter| {
            let (much, least) = match parameter.kind {
                Kind::Count(least, _) => (100_000, least),
                Kind::Bytes(least, _) => (8 << 20, least),
                Kind::Word(_) | Kind::Text => return None,
            };
            let value = quick.number(parameter.name) as u64;
            (value >= much).then(|| (parameter.name.to_owned(), least.max(value / 8).to_string()))
        };
        let chosen: Vec<_> = about.parameters.iter().filter_map(eighth).collect();
        Arguments::of(about, &chosen, true).unwrap()
    }

    /// Every variant that runs here comes to the same result and the same work; the first one on one thread, too, and again.
    #[test]
    fn variants_agree_on_small_sizes() {
        let path = std::env::var_os("PATH");
        for case in ALL {
            let about = case.about();
            let arguments = small(about);
            let mut first = None;
            let variants = about.variants.iter();
            for variant in variants.filter(|variant| case.missing(variant, path.as_deref()).is_none()) {
                // All others are slower, some of them by far; tests of their own hold them to more.
                let is_first = *variant == about.variants[0];
                let threads: &[usize] = if is_first { &[1, 2] } else { &[2] };
                for &threads in threads {
                    let mut team = Team::of_this_process(threads).unwrap();
                    let arrays = Arrays::default();
                    let mut given =
                        Given { arguments: &arguments, variant, arrays: &arrays, team: &mut team };
                    let Prepared::Here(mut workload) = case.prepare(&mut given).unwrap() else { continue };
                    for _ in 0..if is_first { 2 } else { 1 } {
                        workload.reset(&mut team);
                        workload.step(&mut team);
                        let seen = (workload.checksum(), workload.work());
                        let (checksum, work) = *first.get_or_insert(seen);
                        assert!(
                            checksum.agrees(seen.0),
                            "{} {}: {seen:?}, {first:?}",
                            about.name,
                            variant.name
                        );
                        assert_eq!(work, seen.1, "{} {}", about.name, variant.name);
                    }
                }
            }
        }
    }
}
