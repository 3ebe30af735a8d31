//! The first benchmark of the article, as R's algorithm in this process and in R.

use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::hilbert::{hilbert, qr};
use crate::outside::{missing_r, r_script};
use crate::parameter::{Kind, Parameter};
use crate::r::ARTICLE;
use crate::texts;
use firsttouch_threads::Team;
use std::ffi::OsStr;

/// R's default tolerance for dependent columns.
const TOLERANCE: f64 = 1e-7;
/// How far apart checksums may be. Which of two neighbouring columns at the tolerance is kept is a matter of rounding (of order 1000
/// it is 32 here, 33 in R), and moves the small rows after it; another rank would be a hundredth.
const WITHIN: f64 = 1e-4;

/// The QR decomposition of a Hilbert matrix. The matrix is allocated in each step, as `qr(hilbert(N))` does in R. The article's
/// sizes are a quarter of what caches hold today; a matrix that exceeds them takes minutes.
#[derive(Debug)]
pub(crate) struct Hilbert;

static ABOUT: About = About {
    name: "hilbert",
    summary: "QR decomposition of a Hilbert matrix by R's algorithm: qr(hilbert(N))",
    source: ARTICLE,
    parameters: &[Parameter::new(
        "order",
        "order of the matrix; the article has 1000 and 1024",
        Kind::Count(1, 100_000),
        ["1000", "500"],
    )],
    variants: &[
        Variant::ours("householder", "R's algorithm, compiled"),
        Variant::others("r", "R, as the article has it"),
    ],
    steps: 1,
    unit: Unit::Time,
    bound: None,
};

impl Case for Hilbert {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, path: Option<&OsStr>) -> Option<Missing> {
        if variant.alternative { missing_r(path) } else { None }
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let order = given.arguments.number("order");
        if given.variant.alternative {
            let script = r_script(texts::R_HILBERT_R, vec![order.to_string()]);
            return Ok(Prepared::Outside(script.threads(given.team.size())));
        }
        Ok(Prepared::Here(Box::new(Decomposing { order, checksum: 0.0 })))
    }
}

struct Decomposing {
    order: usize,
    checksum: f64,
}

impl Workload for Decomposing {
    fn step(&mut self, team: &mut Team) {
        // R has one thread for it.
        let decomposed = |order| qr(hilbert(order), TOLERANCE).checksum();
        let checksums = team.map(|member| (member.index() == 0).then(|| decomposed(self.order)));
        self.checksum = checksums.into_iter().flatten().sum();
    }

    fn checksum(&self) -> Checksum {
        Checksum::Near { value: self.checksum, within: WITHIN }
    }

    /// The matrix is written, if caches hold it while it is decomposed.
    fn work(&self) -> Work {
        Work { bytes: 8 * (self.order * self.order) as u64, operations: 0 }
    }
}
