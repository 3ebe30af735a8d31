//! `bench --list`: the cases, what can be chosen of them, and what is missing here.

use crate::args::Bench;
use crate::export;
use crate::output::Outcome;
use firsttouch_cases::{ALL, Case};
use firsttouch_documents::{AnyDocument, CaseList, ListedCase, ListedParameter, ListedVariant};

pub(super) fn run(args: &Bench) -> Outcome {
    export::check(args.export.document.json, args.export.files())?;
    let cases = match args.cases.as_slice() {
        [] => ALL.to_vec(),
        names => names
            .iter()
            .map(|name| super::one_run::chosen(name, None).map(|(case, _)| case))
            .collect::<Outcome<_>>()?,
    };
    let list = CaseList { cases: cases.into_iter().map(listed).collect() };
    export::show(&AnyDocument::CaseList(Box::new(list)), args.export.document.json, &args.export.chosen())?;
    Ok(0)
}

fn listed(case: &dyn Case) -> ListedCase {
    let (about, path) = (case.about(), std::env::var_os("PATH"));
    ListedCase {
        name: about.name.to_owned(),
        summary: about.summary.to_owned(),
        source: about.source.to_owned(),
        unit: about.unit.word().to_owned(),
        limit: about.bound.map(|bound| bound.what().to_owned()),
        parameters: about
            .parameters
            .iter()
            .map(|parameter| ListedParameter {
                name: parameter.name.to_owned(),
                meaning: parameter.meaning.to_owned(),
                default: parameter.default.to_owned(),
                quick: parameter.quick.to_owned(),
                expected: parameter.kind.expected(),
            })
            .collect(),
        variants: about
            .variants
            .iter()
            .map(|variant| ListedVariant {
                name: variant.name.to_owned(),
                meaning: variant.meaning.to_owned(),
                alternative: variant.alternative,
                missing: case.missing(variant, path.as_deref()).map(|missing| missing.to_string()),
            })
            .collect(),
    }
}
