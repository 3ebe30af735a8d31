//! `bench CASE --objects`: which arrays of a case deserve a place of their own. A step puts each array that is left, alone, at each
//! place, beside what was kept before; what `tune` recommends is kept, until nothing more is gained or nothing more fits.

use super::comparison::{Bench, Family, share_of};
use super::followed::Reference;
use crate::output::{self, Failure, Outcome};
use anyhow::Context;
use firsttouch_documents::{CaseComparison, PlacedArrays};
use firsttouch_experiment::ConfirmationState;
use firsttouch_launch::{Here, NoProfile};
use firsttouch_machine::{MemoryKind, StatusReport};
use firsttouch_memory::NodePolicy;
use firsttouch_placement::{ObjectPlacement, Pages, Placement, Profile, SkippedConfiguration};
use firsttouch_sorted::SortedMap;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What is to be found out.
#[derive(Debug)]
pub(super) struct Search<'a> {
    /// The case as it runs, with nothing to compare yet.
    pub(super) family: Family<'a>,
    /// The arrays that are tried; all where none is named.
    pub(super) names: &'a [String],
    /// Where each of them is tried.
    pub(super) places: Vec<ObjectPlacement>,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) steps: Vec<CaseComparison>,
    pub(super) objects: PlacedArrays,
    /// What was kept, as far as fresh runs proved it against the case as it is.
    pub(super) profile: Result<Profile, NoProfile>,
}

/// Places for arrays: those that were asked for, or each kind of memory that is not ordinary; on a machine with ordinary memory alone
/// all nodes in turn, and with one node the kinds of pages that it has.
pub(super) fn places(asked: &[ObjectPlacement], status: &StatusReport) -> Outcome<Vec<ObjectPlacement>> {
    if !asked.is_empty() {
        return Ok(asked.to_vec());
    }
    let nodes = || status.machine.nodes.iter().filter(|node| node.is_ordinary());
    let has = |kind: &MemoryKind| nodes().any(|node| node.kind == Some(*kind));
    let others = MemoryKind::ALL.into_iter().filter(|kind| *kind != MemoryKind::Dram).filter(has);
    let mut words: Vec<String> = others.map(|kind| format!("plain:prefer={kind}")).collect();
    if words.is_empty() && nodes().count() > 1 {
        words.push("plain:interleave=all".to_owned());
    }
    if words.is_empty() {
        let can = |word: &&&str| status.can.iter().any(|it| it.what == ***word && it.possible == Some(true));
        words.extend(super::session::PLACEMENTS.iter().filter(can).map(|word| (*word).to_owned()));
    }
    if words.is_empty() {
        return Err(Failure::message(
            "there is nowhere else to put an array on this machine: it has one node, and huge pages of no kind",
        )
        .hint("firsttouch status tells what allows huge pages; --places names places of your own"));
    }
    Ok(words.iter().filter_map(|word| word.parse().ok()).collect())
}

impl Search<'_> {
    /// Runs all steps within a time.
    pub(super) fn run(
        self,
        bench: &Bench<'_>,
        budget: Option<Duration>,
        references: &mut SortedMap<String, Reference>,
    ) -> Outcome<Found> {
        let began = Instant::now();
        let arrays = self.arrays(bench)?;
        let mut left: Vec<&String> = match self.names {
            [] => arrays.keys().collect(),
            names => names.iter().map(|name| known(name, &arrays)).collect::<Outcome<_>>()?,
        };
        let here = Here::on(bench.status.machine.clone(), None);
        let nodes: Vec<Vec<u32>> =
            self.places.iter().map(|place| nodes_of(place, &here)).collect::<Outcome<_>>()?;
        let mut free: BTreeMap<u32, u64> =
            here.machine().nodes.iter().filter_map(|node| Some((node.id, node.free_bytes?))).collect();
        let mut kept = Placement { pages: Pages::Plain, ..Placement::default() };
        let mut steps = Vec::new();
        let mut profile = Err(NoProfile::NothingFaster);
        while !left.is_empty() && !bench.interrupt.asked() {
            let (mut tried, mut skipped) = (Vec::new(), Vec::new());
            for name in &left {
                for (place, nodes) in self.places.iter().zip(&nodes) {
                    let configuration = name_of(name, place);
                    match room(arrays[*name], nodes, &free) {
                        Ok(()) => tried.push((configuration, (*name).clone(), place, nodes)),
                        Err(reason) => {
                            skipped.push(SkippedConfiguration { name: configuration, reason, remedy: None });
                        }
                    }
                }
            }
            if tried.is_empty() {
                let Some(first) = skipped.first() else { break };
                let told = format!("nothing more fits: {}: {}", first.name, first.reason);
                if steps.is_empty() {
                    return Err(Failure::message(told).hint("smaller sizes (--set), or other --places"));
                }
                output::message(&format!("{told}\n"));
                break;
            }
            let with = |(name, array, place, _): &(String, String, &ObjectPlacement, _)| {
                let mut placement = kept.clone();
                placement.objects.insert(array.clone(), (*place).clone());
                format!("{name}:{placement}")
            };
            let family = Family {
                baseline: kept.to_string(),
                placements: tried.iter().map(with).collect(),
                skipped,
                ..self.family.clone()
            };
            // The last share is that of all that was kept against nothing.
            let share = share_of(budget, began, left.len() + 1);
            let (step, of_step) = family.compare(bench, share, references)?;
            let session = &step.session;
            let refuted =
                session.confirmation.as_ref().map(|it| it.state) == Some(ConfirmationState::Refuted);
            let recommended = session.recommended.as_ref().filter(|_| !refuted);
            let found = tried.into_iter().find(|(name, ..)| recommended == Some(name));
            steps.push(step);
            profile = match (steps.len(), of_step) {
                (1, of_step) => of_step,
                _ => profile,
            };
            let Some((_, array, place, nodes)) = found else { break };
            take(arrays[&array], nodes, &mut free);
            left.retain(|name| **name != array);
            output::message(&format!("{}: {array} at {place} is kept\n", self.family.about.name));
            kept.objects.insert(array, place.clone());
        }
        if kept.objects.len() > 1 && !bench.interrupt.asked() {
            let family = Family { placements: vec![format!("all:{kept}")], ..self.family };
            let (step, of_all) = family.compare(bench, share_of(budget, began, 1), references)?;
            steps.push(step);
            profile = of_all;
        }
        let placement = (!kept.objects.is_empty()).then_some(kept);
        let arrays = arrays.into_iter().collect();
        Ok(Found { steps, objects: PlacedArrays { arrays, placement }, profile })
    }

    /// The arrays of the case and their bytes, as a process that makes them says.
    fn arrays(&self, bench: &Bench<'_>) -> Outcome<BTreeMap<String, u64>> {
        let mut command = Command::new(&bench.program);
        command.args(self.family.run_words()).arg("--arrays").stderr(Stdio::inherit());
        let said = command.output().context("cannot start a run of the case")?;
        if !said.status.success() {
            return Err(Failure::message("the arrays of the case cannot be made"));
        }
        let said = String::from_utf8_lossy(&said.stdout);
        let arrays: BTreeMap<String, u64> =
            serde_json::from_str(&said).context("cannot read what a run said of its arrays")?;
        let arrays: BTreeMap<String, u64> = arrays.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
        if arrays.is_empty() {
            let variant = self.family.variants[0].name;
            return Err(Failure::message(format!("`{variant}` gives no array a name"))
                .usage()
                .hint("--variants names another; firsttouch bench --list tells of all"));
        }
        Ok(arrays)
    }
}

fn known<'a>(name: &str, arrays: &'a BTreeMap<String, u64>) -> Outcome<&'a String> {
    let found = arrays.keys().find(|known| *known == name);
    found.ok_or_else(|| {
        let all: Vec<&str> = arrays.keys().map(String::as_str).collect();
        Failure::message(format!("there is no array `{name}`"))
            .usage()
            .hint(format!("there are {}", all.join(", ")))
    })
}

/// What a configuration is called: `table-plain-prefer-hbm`.
fn name_of(array: &str, place: &ObjectPlacement) -> String {
    let place = place.to_string().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    format!("{array}-{place}")
}

/// The nodes that a place names; none where it leaves them to others.
fn nodes_of(place: &ObjectPlacement, here: &Here) -> Outcome<Vec<u32>> {
    let objects = BTreeMap::from([("array".to_owned(), place.clone())]);
    let asked = Placement { pages: Pages::Plain, objects, ..Placement::default() };
    let resolved = here.resolve(&asked).map_err(|error| {
        let hint = error.hint();
        Failure::new(error).usage().hint(hint)
    })?;
    Ok(match resolved.objects.first() {
        Some((.., NodePolicy::Bind(nodes) | NodePolicy::Prefer(nodes) | NodePolicy::Interleave(nodes))) => {
            nodes.iter().collect()
        }
        Some((.., NodePolicy::Weighted(shares))) => shares.nodes().map(|(node, _)| node).collect(),
        _ => Vec::new(),
    })
}

/// Whether so many bytes fit into what is free on these nodes; where nobody knows they may.
fn room(bytes: u64, nodes: &[u32], free: &BTreeMap<u32, u64>) -> Result<(), String> {
    let Some(free) = nodes.iter().map(|node| free.get(node).copied()).sum::<Option<u64>>() else {
        return Ok(());
    };
    if nodes.is_empty() || bytes <= free {
        return Ok(());
    }
    let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
    Err(format!("{bytes} bytes do not fit into the {free} that are free on node {}", nodes.join("+")))
}

/// Takes so many bytes from these nodes, from the first as far as it has them.
fn take(mut bytes: u64, nodes: &[u32], free: &mut BTreeMap<u32, u64>) {
    for node in nodes {
        if let Some(left) = free.get_mut(node) {
            let taken = bytes.min(*left);
            (*left, bytes) = (*left - taken, bytes - taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_used_up() {
        let mut free = BTreeMap::from([(0, 10), (1, 100), (2, 30)]);
        assert_eq!(
            room(101, &[1], &free).unwrap_err(),
            "101 bytes do not fit into the 100 that are free on node 1"
        );
        assert_eq!((room(130, &[1, 2], &free), room(1 << 40, &[], &free)), (Ok(()), Ok(())));
        take(110, &[1, 2], &mut free);
        assert_eq!(free, BTreeMap::from([(0, 10), (1, 0), (2, 20)]));
        assert!(room(1, &[1], &free).is_err() && room(20, &[1, 2], &free).is_ok());
        // A node of which nobody knows what is free.
        assert_eq!(room(1 << 40, &[7], &free), Ok(()));
    }

    #[test]
    fn names_can_be_those_of_configurations() {
        let place = "2m:prefer=hbm".parse().unwrap();
        assert_eq!(name_of("packed-b", &place), "packed-b-2m-prefer-hbm");
    }
}
