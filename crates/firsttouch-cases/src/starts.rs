//! Programs whose start is the creation of memory: a Java virtual machine, and a database.
//!
//! *An Implementation of Fast memset() Using Hardware Accelerators* names both as who gains by memory that is created faster. Each
//! is the program itself, started by a script that has the clock.

use crate::case::{About, Case, Given, Prepared, Unit, Variant};
use crate::error::{CaseError, Missing};
use crate::outside::{missing_program, on_path, python_script};
use crate::parameter::{Kind, Parameter};
use crate::texts::{self, Text};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// The start of a program; its script gets the values of all parameters, in their order, and the variant's word where there are several.
#[derive(Debug)]
pub(crate) struct Start {
    about: &'static About,
    script: Text,
    reached_by: &'static str,
    /// The options by which a variant is chosen, in their order; none where there is one variant.
    options: &'static [&'static str],
    missing: fn(Option<&OsStr>) -> Option<Missing>,
}

const ARTICLE: &str = "An Implementation of Fast memset() Using Hardware Accelerators";

const fn variant(name: &'static str, meaning: &'static str) -> Variant {
    Variant::ours(name, meaning)
}

/// A Java virtual machine, to its end.
pub(crate) const JVM: Start = Start {
    about: &About {
        name: "jvm",
        summary: "start of a Java virtual machine that touches all of its heap at once (AlwaysPreTouch)",
        source: ARTICLE,
        parameters: &[Parameter::new(
            "heap",
            "bytes of its heap",
            Kind::Bytes(64 << 20, 1 << 40),
            ["2G", "256M"],
        )],
        variants: &[
            variant("serial", "the serial collector: one thread touches"),
            variant("parallel", "the parallel collector, whose threads share the work"),
            variant("g1", "the collector that is the default"),
        ],
        steps: 1,
        unit: Unit::Time,
        bound: None,
    },
    script: texts::STARTS_JVM_PY,
    reached_by: "via=jvm",
    options: &["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"],
    missing: |path| missing_program("java", path, "sudo apt install default-jre-headless"),
};

/// A PostgreSQL server, and the first read of a table.
pub(crate) const POSTGRESQL: Start = Start {
    about: &About {
        name: "postgresql",
        summary: "start of a PostgreSQL server, the first read of a table into its shared buffers, and its stop",
        source: ARTICLE,
        parameters: &[
            Parameter::new(
                "buffers",
                "bytes of its shared buffers, of which the table fills seven tenths",
                Kind::Bytes(16 << 20, 1 << 40),
                ["2G", "128M"],
            ),
            Parameter::new(
                "reads",
                "how often the table is read: from the second time on into buffers that are there, so that the difference is all that placing can save",
                Kind::Count(1, 100),
                ["1", "1"],
            ),
            Parameter::new(
                "huge-pages",
                "the server's own setting: `on` takes reserved pages, which the pool has to have",
                Kind::Word(&["off", "on", "try"]),
                ["off", "off"],
            ),
        ],
        variants: &[variant("prewarm", "read by pg_prewarm")],
        steps: 1,
        unit: Unit::Time,
        bound: None,
    },
    script: texts::STARTS_POSTGRESQL_PY,
    reached_by: "prefault,follow",
    options: &[],
    missing: |path| {
        // Debian keeps the server's programs apart from the search path.
        let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut folders = installed.map(|version| version.path().join("bin"));
        let is_there =
            on_path("pg_ctl", path).is_some() || folders.any(|folder| Path::is_file(&folder.join("pg_ctl")));
        (!is_there).then(|| Missing::new("PostgreSQL is not installed", "sudo apt install postgresql"))
    },
};

impl Case for Start {
    fn about(&self) -> &'static About {
        self.about
    }

    fn missing(&self, _: &Variant, path: Option<&OsStr>) -> Option<Missing> {
        missing_program("python3", path, "sudo apt install python3").or_else(|| (self.missing)(path))
    }

    fn reached_by(&self) -> &'static str {
        self.reached_by
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let values = self.about.parameters.iter().map(|parameter| match parameter.kind {
            Kind::Bytes(..) => given.arguments.number(parameter.name).to_string(),
            _ => given.arguments.word(parameter.name).to_owned(),
        });
        let option = self.about.variants.iter().position(|variant| variant == given.variant);
        let option = option.and_then(|index| self.options.get(index)).map(|option| (*option).to_owned());
        Ok(Prepared::Outside(python_script(self.script, values.chain(option).collect())))
    }
}
