//! `doctor --merge`: documents that there are, put together by host.
//!
//! One document is opened at a time, and of each only what a host keeps stays in memory.

use crate::report::document;
use firsttouch_documents::{AnyDocument, BenchReport, DoctorHost, MissingHost};
use firsttouch_machine::{Matrix, Measurement};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The hosts of the documents in their order. A file that is none of these documents is missing, with the reason.
pub(super) fn read(files: &[PathBuf]) -> (Vec<DoctorHost>, Vec<MissingHost>) {
    let mut all = Merged::default();
    for file in files {
        let shown = file.display().to_string();
        match document(file) {
            Ok(AnyDocument::Doctor(report)) => {
                report.hosts.into_iter().for_each(|host| all.looked_at(host, &shown));
                all.missing.extend(report.missing);
            }
            Ok(AnyDocument::Measurement(measurement)) => all.measured(file, of_measurement(&measurement)),
            Ok(AnyDocument::Bench(report)) => all.measured(file, of_bench(&report)),
            Ok(other) => {
                let why =
                    format!("a document of kind {}, and not doctor, measurement or bench", other.kind());
                all.missing.push(MissingHost { name: shown, why });
            }
            Err(failure) => all.missing.push(MissingHost { name: shown, why: failure.to_string() }),
        }
    }
    (all.hosts, all.missing)
}

#[derive(Default)]
struct Merged {
    hosts: Vec<DoctorHost>,
    missing: Vec<MissingHost>,
    /// Where the host of a name is, and whether `doctor` looked at it.
    place: BTreeMap<String, (usize, bool)>,
}

/// Values and facts by their words.
type Found = (BTreeMap<String, u64>, BTreeMap<String, String>);

impl Merged {
    /// A host that `doctor` looked at. What was measured of it before joins it; a second one of the name stays apart.
    fn looked_at(&mut self, mut host: DoctorHost, file: &str) {
        match self.place.get_mut(&host.name) {
            Some((place, looked_at @ false)) => {
                *looked_at = true;
                let known = std::mem::replace(&mut self.hosts[*place], host);
                add(&mut self.hosts[*place], (known.measured, known.facts));
                return;
            }
            Some(_) => host.name = format!("{} ({file})", host.name),
            None => {}
        }
        self.place.insert(host.name.clone(), (self.hosts.len(), true));
        self.hosts.push(host);
    }

    /// What was measured on the host after which the file is named.
    fn measured(&mut self, file: &Path, found: Found) {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        let name = name.split('.').next().unwrap_or_default().to_owned();
        let (place, _) = *self.place.entry(name.clone()).or_insert((self.hosts.len(), false));
        if place == self.hosts.len() {
            self.hosts.push(DoctorHost {
                name,
                version: None,
                findings: Vec::new(),
                unseen: Vec::new(),
                measured: BTreeMap::new(),
                facts: BTreeMap::new(),
            });
        }
        add(&mut self.hosts[place], found);
    }
}

/// What the host has already stays.
fn add(host: &mut DoctorHost, (measured, facts): Found) {
    measured.into_iter().for_each(|(word, value)| _ = host.measured.entry(word).or_insert(value));
    facts.into_iter().for_each(|(word, text)| _ = host.facts.entry(word).or_insert(text));
}

/// Every pair of nodes: `read_node0_from_node1_bytes_per_s` is what the CPUs of node 1 read of node 0.
fn of_measurement(measurement: &Measurement) -> Found {
    let kinds: [(&str, &str, &Matrix, f64); 4] = [
        ("latency", "ps", &measurement.latency_ns, 1e3),
        ("read", "bytes_per_s", &measurement.read_gbps, 1e9),
        ("write", "bytes_per_s", &measurement.write_gbps, 1e9),
        ("copy", "bytes_per_s", &measurement.copy_gbps, 1e9),
    ];
    let mut values = BTreeMap::new();
    for (what, unit, matrix, factor) in kinds {
        for (row, from) in matrix.iter().zip(&measurement.nodes) {
            for (value, of) in row.iter().zip(&measurement.nodes) {
                let word = format!("{what}_node{}_from_node{}_{unit}", of.id, from.id);
                values.extend(value.map(|value| (word, (value * factor) as u64)));
            }
        }
    }
    let machine = &measurement.machine;
    let facts = [("processor", &machine.cpu_model), ("kernel", &machine.kernel)];
    let facts = facts.into_iter().filter_map(|(word, text)| Some((word.to_owned(), text.clone()?)));
    (values, facts.collect())
}

/// The time of a step of every configuration, and by which parameters.
fn of_bench(report: &BenchReport) -> Found {
    let (mut values, mut facts) = (BTreeMap::new(), BTreeMap::new());
    for case in &report.cases {
        let parameters: Vec<String> =
            case.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        facts.insert(format!("bench {}", case.name), parameters.join(" "));
        for one in case.comparisons.iter().flat_map(|comparison| &comparison.session.configurations) {
            let seconds = one.proved.judged.map_or(one.proved.mean_wall_s, |judged| judged.mean);
            let word = format!("bench {} {}_ps", case.name, one.name);
            // In several comparisons of one case the first one of a name counts.
            values.entry(word).or_insert((seconds * 1e12) as u64);
        }
    }
    (values, facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str) -> DoctorHost {
        DoctorHost {
            name: name.to_owned(),
            version: Some("1".to_owned()),
            findings: Vec::new(),
            unseen: Vec::new(),
            measured: BTreeMap::from([("latency_ps".to_owned(), 7)]),
            facts: BTreeMap::new(),
        }
    }

    #[test]
    fn documents_of_one_host_join_whatever_comes_first() {
        let mut all = Merged::default();
        let found =
            || (BTreeMap::from([("x_ps".to_owned(), 9), ("latency_ps".to_owned(), 1)]), BTreeMap::new());
        all.measured(Path::new("/tmp/n1.bench.json"), found());
        all.looked_at(host("n1"), "n1.json");
        all.looked_at(host("n2"), "n2.json");
        all.measured(Path::new("n2.measure.json"), found());
        all.looked_at(host("n2"), "again.json");
        let names: Vec<&str> = all.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["n1", "n2", "n2 (again.json)"]);
        for host in &all.hosts[..2] {
            assert_eq!(host.measured, BTreeMap::from([("latency_ps".to_owned(), 7), ("x_ps".to_owned(), 9)]));
            assert_eq!(host.version.as_deref(), Some("1"));
        }
    }
}
