//! What was measured, against what is expected and against the other nodes.

use super::{Found, noted};
use crate::Finding;
use crate::profile::PROFILE;
use firsttouch_documents::Quantity;
use std::collections::BTreeMap;

pub(super) fn find(found: &mut Found<'_>) {
    let measurements = &found.evidence.measurements;
    let finding = |(word, &value): (&String, &u64)| {
        let (quantity, node) = Quantity::of(word)?;
        let of_profile = measurements.expected.get(word).map(|expected| (PROFILE, *expected));
        let others = node.and_then(|node| of_other_nodes(&measurements.values, quantity, node));
        let others = others.map(|expected| ("the other nodes", expected));
        let mut all = of_profile.into_iter().chain(others);
        all.find_map(|(source, expected)| worse(word, value, source, expected, measurements.tolerance))
    };
    let findings: Vec<Finding> = measurements.values.iter().filter_map(finding).collect();
    findings.into_iter().for_each(|finding| found.add(finding));
}

/// How a finding says which value it is about.
pub(crate) fn measured(word: &str) -> String {
    format!("measured {word}")
}

/// The finding, where a value is worse than what is expected by more than a part of it.
pub(crate) fn worse(word: &str, value: u64, source: &str, expected: u64, tolerance: f64) -> Option<Finding> {
    let (quantity, node) = Quantity::of(word)?;
    let is_worse = quantity.worse_by(value, expected) > tolerance;
    is_worse.then(|| finding(quantity, node, value, source, expected))
}

/// The median of what the other nodes have.
fn of_other_nodes(values: &BTreeMap<String, u64>, quantity: &Quantity, node: u32) -> Option<u64> {
    let is_other = |word: &str| {
        Quantity::of(word).is_some_and(|(of, at)| of == quantity && at.is_some_and(|at| at != node))
    };
    quantity.median(values.iter().filter(|(word, _)| is_other(word)).map(|(_, value)| *value).collect())
}

fn finding(quantity: &Quantity, node: Option<u32>, value: u64, source: &str, expected: u64) -> Finding {
    let (word, whose) =
        (if quantity.more_is_better { "less" } else { "more" }, node.map(|node| format!(" of node {node}")));
    let what = format!(
        "the {}{} is {}: {:.0} % {word} than {}",
        quantity.what,
        whose.unwrap_or_default(),
        quantity.format(value),
        100.0 * quantity.worse_by(value, expected),
        quantity.format(expected),
    );
    let effect = match quantity.finding {
        "creation-slow" => "programs that take much memory from the kernel wait longer for it",
        _ => "programs that are bound by memory are slower by as much, and no placement mends it",
    };
    noted(quantity.finding, what, effect)
        .proof(measured(&quantity.word_of(node)), value.to_string())
        .proof(source, expected.to_string())
        .remedy("measure again when nothing else runs; then look at memory modules, firmware settings and frequencies")
}
