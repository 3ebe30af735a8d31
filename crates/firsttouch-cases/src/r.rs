//! Benchmarks of R's users, in R: what an unmodified session does, which is what there is to place.
//!
//! Nakano and Nakama, *Speeding up by using ISM-like calls*, print them with their times. They call what R has from LINPACK and
//! others; written anew they would be other programs. Each step is the call that the article times, the first of its kind in a
//! session: creating its pages is half of what it costs.

mod hilbert;

pub(crate) use hilbert::Hilbert;

use crate::case::{About, Case, Given, Prepared, Unit, Variant};
use crate::error::{CaseError, Missing};
use crate::outside::{missing_numpy, missing_r, python_script, r_script};
use crate::parameter::{Kind, Parameter};
use crate::texts::{self, Text};
use std::ffi::OsStr;

/// A workload that is a script of R; its arguments are the values of the case's parameters, in their order, and the variant's
/// name.
#[derive(Debug)]
pub(crate) struct InR {
    about: &'static About,
    script: Text,
    /// The same in Python, for the variant `numpy`.
    numpy: Option<Text>,
}

/// The article.
const ARTICLE: &str = "Nakano and Nakama, Speeding up by using ISM-like calls";

const R: Variant = Variant::ours("r", "R, as the article has it");
const NUMPY: Variant = Variant::others("numpy", "NumPy");

/// A transform and its inverse.
pub(crate) const FFT: InR = InR {
    about: &About {
        name: "fft",
        summary: "Fourier transform of complex numbers, there and back, and whether they are what they were",
        source: ARTICLE,
        parameters: &[Parameter::new(
            "length",
            "complex numbers; the article has 10000000 and 2^24, 16777216",
            Kind::Count(1, 1 << 31),
            ["10000000", "1000000"],
        )],
        variants: &[R, NUMPY],
        steps: 1,
        unit: Unit::Time,
        bound: None,
    },
    script: texts::R_FFT_R,
    numpy: Some(texts::R_FFT_PY),
};

/// Least squares of many responses.
pub(crate) const LM: InR = InR {
    about: &About {
        name: "lm",
        summary: "least squares of many responses on the same predictors: lm(y~x)",
        source: ARTICLE,
        parameters: &[
            Parameter::new("responses", "columns of y", Kind::Count(1, 1 << 31), ["10000", "500"]),
            Parameter::new("rows", "observations", Kind::Count(2, 1 << 31), ["5000", "5000"]),
            Parameter::new(
                "predictors",
                "columns of x, to which a constant comes",
                Kind::Count(1, 1 << 20),
                ["100", "10"],
            ),
        ],
        variants: &[
            R,
            Variant::others(
                "r-lm.fit",
                "R's .lm.fit, the same decomposition without formula and model frame",
            ),
        ],
        steps: 1,
        unit: Unit::Time,
        bound: None,
    },
    script: texts::R_LM_R,
    numpy: None,
};

/// Sorting.
///
/// The article prints `sort(1:1e8)`. Since R 3.5 `1:1e8` is two numbers, known to be sorted, and sorting them takes no time; what
/// the article's R did is now `sort(sample.int(1e8))`.
pub(crate) const SORT: InR = InR {
    about: &About {
        name: "sort",
        summary: "sorting whole numbers",
        source: ARTICLE,
        parameters: &[
            Parameter::new(
                "length",
                "numbers, from 1 on",
                Kind::Count(1, (1 << 31) - 1),
                ["100000000", "4000000"],
            ),
            Parameter::new(
                "input",
                "`shuffled`: sort(sample.int(N)); `compact`: sort(1:N) as printed, which R has not stored since 3.5 and need not sort",
                Kind::Word(&["shuffled", "compact"]),
                ["shuffled", "shuffled"],
            ),
        ],
        variants: &[R, NUMPY],
        steps: 1,
        unit: Unit::Time,
        bound: None,
    },
    script: texts::R_SORT_R,
    numpy: Some(texts::R_SORT_PY),
};

impl Case for InR {
    fn about(&self) -> &'static About {
        self.about
    }

    fn missing(&self, variant: &Variant, path: Option<&OsStr>) -> Option<Missing> {
        match variant.name {
            "numpy" => missing_numpy(path),
            _ => missing_r(path),
        }
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let values = self.about.parameters.iter().map(|parameter| given.arguments.word(parameter.name));
        let words = values.chain([given.variant.name]).map(str::to_owned).collect();
        let outside = match (given.variant.name, self.numpy) {
            ("numpy", Some(script)) => python_script(script, words),
            _ => r_script(self.script, words),
        };
        Ok(Prepared::Outside(outside.threads(given.team.size())))
    }
}
