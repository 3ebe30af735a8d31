//! What was measured, against what is expected and against the other nodes.

use super::{Found, noted};
use crate::Finding;
use firsttouch_documents::Quantity;
use std::collections::BTreeMap;

pub(super) fn find(found: &mut Found<'_>) {
    let measurements = &found.evidence.measurements;
    let mut findings = Vec::new();
    for (word, &value) in &measurements.values {
        let Some((quantity, node)) = Quantity::of(word) else { continue };
        let others = node.and_then(|node| of_other_nodes(&measurements.values, quantity, node));
        let others = others.map(|expected| ("the other nodes", expected));
        let expected = measurements.expected.iter();
        let expected = expected.filter_map(|(source, values)| Some((source.as_str(), *values.get(word)?)));
        let worse = expected
            .chain(others)
            .find(|(_, expected)| quantity.worse_by(value, *expected) > measurements.tolerance);
        findings.extend(worse.map(|(source, expected)| finding(quantity, node, value, source, expected)));
    }
    findings.into_iter().for_each(|finding| found.add(finding));
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
        .proof(format!("measured {}", quantity.word_of(node)), value.to_string())
        .proof(source, expected.to_string())
        .remedy("measure again when nothing else runs; then look at memory modules, firmware settings and frequencies")
}
