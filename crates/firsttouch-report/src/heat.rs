//! What is common to the pictures of a measurement: which matrices are shown, and how far each value is from the best.

use firsttouch_machine::{CoreLatency, CpuPairs, Matrix, MeasuredNode, MeasuredPages, Measurement};

/// A matrix with its words.
#[derive(Debug)]
pub(crate) struct Sheet<'a> {
    pub(crate) title: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) matrix: &'a Matrix,
    /// More is better (bandwidth), or less (latency).
    pub(crate) more_is_better: bool,
    pub(crate) digits: usize,
}

/// What the rows and columns of a matrix are.
#[derive(Debug)]
pub(crate) enum Axis<'a> {
    /// CPUs of nodes, and memory of nodes.
    Nodes(&'a [MeasuredNode]),
    /// CPUs, and CPUs.
    Cpus(&'a [u32]),
}

/// How far a value is from the best of its matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Heat {
    /// As good as the best, within 15 %.
    Best,
    /// Up to one and a half times worse.
    Near,
    /// Up to two and a half times worse.
    Far,
    /// Worse still.
    Farthest,
}

/// The matrices of a measurement that hold anything.
pub(crate) fn sheets(measurement: &Measurement) -> Vec<Sheet<'_>> {
    let ns = |title, matrix| Sheet { title, unit: "ns", matrix, more_is_better: false, digits: 1 };
    let gbps = |title, matrix| Sheet { title, unit: "GB/s", matrix, more_is_better: true, digits: 1 };
    let single = &measurement.single_cpu;
    let mut sheets = vec![
        ns("latency, idle", &measurement.latency_ns),
        ns("latency, loaded", &measurement.loaded_latency_ns),
        Sheet {
            title: "NUMA factor",
            unit: "times the own memory's latency",
            matrix: &measurement.numa_factor,
            more_is_better: false,
            digits: 2,
        },
        gbps("reading, all CPUs of the node", &measurement.read_gbps),
        gbps("writing, all CPUs of the node", &measurement.write_gbps),
        gbps("copying, all CPUs of the node", &measurement.copy_gbps),
        gbps("reading, one CPU", &single.read_gbps),
        gbps("writing, one CPU", &single.write_gbps),
        gbps("copying, one CPU", &single.copy_gbps),
    ];
    sheets.retain(|sheet| sheet.matrix.iter().flatten().any(Option::is_some));
    sheets
}

/// Core to core, where every pair was measured.
pub(crate) fn core_matrix(cores: &CoreLatency) -> Option<Matrix> {
    let mut matrix = vec![vec![None; cores.cpus.len()]; cores.cpus.len()];
    for pair in cores.pairs.iter().filter(|_| cores.is_complete()) {
        let [a, b] = pair.cpus.map(|cpu| cores.cpus.iter().position(|other| *other == cpu));
        let (a, b) = a.zip(b)?;
        (matrix[a][b], matrix[b][a]) = (Some(pair.latency_ns), Some(pair.latency_ns));
    }
    cores.is_complete().then_some(matrix)
}

/// The figure of that matrix.
pub(crate) fn core_sheet(matrix: &Matrix) -> Sheet<'_> {
    Sheet { title: "core to core", unit: "ns", matrix, more_is_better: false, digits: 1 }
}

/// A line for each class of pairs of CPUs.
pub(crate) fn core_classes(cores: &CoreLatency) -> Vec<String> {
    let line = |class: &CpuPairs| {
        format!(
            "{}: {:.1} ns ({:.1} to {:.1}, {})",
            class.class.words(),
            class.latency_ns,
            class.low_ns,
            class.high_ns,
            crate::number::plural(class.pairs, "pair")
        )
    };
    cores.classes.iter().map(line).collect()
}

impl Axis<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Axis::Nodes(nodes) => nodes.len(),
            Axis::Cpus(cpus) => cpus.len(),
        }
    }

    /// The name of a row or column.
    pub(crate) fn name(&self, place: usize) -> String {
        match self {
            Axis::Nodes(nodes) => format!("node {}", nodes[place].id),
            Axis::Cpus(cpus) => format!("CPU {}", cpus[place]),
        }
    }

    /// The name of a row, where columns are named above.
    pub(crate) fn row_name(&self, place: usize) -> String {
        match self {
            Axis::Nodes(nodes) => format!("from {}", nodes[place].id),
            Axis::Cpus(_) => self.name(place),
        }
    }

    /// What they are, in the plural.
    pub(crate) fn members(&self) -> &'static str {
        match self {
            Axis::Nodes(_) => "nodes",
            Axis::Cpus(_) => "CPUs",
        }
    }

    /// What stands where names of rows and columns meet.
    pub(crate) fn corner(&self) -> &'static str {
        match self {
            Axis::Nodes(_) => "CPUs \\ memory",
            Axis::Cpus(_) => "",
        }
    }

    /// A pair, in words.
    pub(crate) fn pair(&self, row: usize, column: usize) -> String {
        match self {
            Axis::Nodes(nodes) => {
                format!("CPUs of node {}, memory of node {}", nodes[row].id, nodes[column].id)
            }
            Axis::Cpus(cpus) => format!("CPU {} and CPU {}", cpus[row], cpus[column]),
        }
    }
}

impl Sheet<'_> {
    /// The value of a row and a column; `None` as well where the document is not square.
    pub(crate) fn value(&self, row: usize, column: usize) -> Option<f64> {
        (*self.matrix.get(row)?.get(column)?).filter(|value| value.is_finite() && *value > 0.0)
    }

    pub(crate) fn heat(&self, value: f64) -> Heat {
        let values = self.matrix.iter().flatten().flatten().copied().filter(|value| *value > 0.0);
        let best = if self.more_is_better { values.reduce(f64::max) } else { values.reduce(f64::min) };
        let best = best.unwrap_or(value);
        match if self.more_is_better { best / value } else { value / best } {
            worse if worse <= 1.15 => Heat::Best,
            worse if worse <= 1.5 => Heat::Near,
            worse if worse <= 2.5 => Heat::Far,
            _ => Heat::Farthest,
        }
    }

    pub(crate) fn words(&self, value: f64) -> String {
        format!("{value:.*}", self.digits)
    }
}

/// One sentence for each place where a table of the firmware says something else.
pub(crate) fn disagreements(measurement: &Measurement) -> Vec<String> {
    let sentence = |found: &firsttouch_machine::Disagreement| {
        let (cpu, memory) = (found.cpu_node, found.memory_node);
        let pair = format!("from node {cpu} to node {memory}");
        let (stated, measured) = (found.stated, found.measured);
        match (found.table.as_str(), found.what.as_str()) {
            ("slit", "order") => format!(
                "{pair}: measured at {measured:.2} times the own latency, and so farther than a node that the firmware puts behind it"
            ),
            ("slit", _) => format!(
                "{pair}: the firmware's distance is {stated:.2} times the own, measured {measured:.2}"
            ),
            (_, "read_latency_ns") => {
                format!("{pair}: the firmware states a latency of {stated:.0} ns, measured {measured:.0}")
            }
            (table, what) => {
                let what = match what {
                    "read_gbps" => "a read bandwidth",
                    "write_gbps" => "a write bandwidth",
                    other => other,
                };
                format!(
                    "{pair}: the firmware ({table}) states {what} of {stated:.1} GB/s, measured {measured:.1}"
                )
            }
        }
    };
    measurement.disagreements.iter().map(sentence).collect()
}

/// What the numbers were measured on, in one sentence.
pub(crate) fn basis(measurement: &Measurement) -> String {
    let pages = &measurement.pages;
    let method = &measurement.method;
    let share = match pages.huge_share {
        Some(share) if pages.asked != "4k" => format!(", {} of them huge", crate::number::percent(share)),
        _ => String::new(),
    };
    format!(
        "{} on {}{share}; medians of {}, {} reads each; streams by {}",
        firsttouch_placement::format_bytes(pages.latency_bytes),
        kinds(pages),
        crate::number::plural(method.repetitions as usize, "repetition"),
        crate::number::count(method.reads as f64),
        streams(&method.all_cpus),
    )
}

/// The pages that were measured on, and the kind that was asked for where it is another.
pub(crate) fn kinds(pages: &MeasuredPages) -> String {
    let obtained = pages.obtained.join(" and ");
    match pages.asked.as_str() {
        asked if obtained.is_empty() => format!("{asked} pages"),
        asked if asked == obtained || asked == "auto" => format!("{obtained} pages"),
        asked => format!("{obtained} pages in place of {asked}"),
    }
}

fn streams(means: &firsttouch_machine::StreamInstructions) -> String {
    format!("{} (read), {} (write), {} (copy)", means.read, means.write, means.copy)
}
