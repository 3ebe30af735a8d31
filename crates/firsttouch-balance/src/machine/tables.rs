//! Machines of which somebody has a table: measured NUMA factors, or the firmware's distances.

use super::described::cores_of_nodes;
use super::{Level, Machine, MachineError, Node, Parts};

/// What firmware calls the distance of a node to itself.
const OWN_DISTANCE: f64 = 10.0;

impl Machine {
    /// A machine of nodes with the same number of cores and these NUMA factors, by row: latency from the CPUs of one node to
    /// the memory of another over that to their own.
    ///
    /// # Errors
    ///
    /// Rows of other lengths, a factor below 1, a node that is not 1 from itself; the line is the row.
    pub fn from_factors(
        name: &str,
        rows: &[Vec<f64>],
        cores_per_node: usize,
    ) -> Result<Machine, MachineError> {
        let nodes = rows.len();
        if nodes == 0 || cores_per_node == 0 {
            return Err(MachineError::NoCore(name.to_owned()));
        }
        let mut factors = Vec::with_capacity(nodes * nodes);
        for (row, values) in rows.iter().enumerate() {
            let fail = |reason| MachineError::Table { line: row + 1, reason };
            if values.len() != nodes {
                return Err(fail(format!("{} factors in a table of {nodes} nodes", values.len())));
            }
            if let Some(factor) = values.iter().find(|factor| !factor.is_finite() || **factor < 1.0) {
                return Err(fail(format!("{factor} is no NUMA factor: those are 1 or more")));
            }
            if values[row] != 1.0 {
                return Err(fail(format!("node {row} has the factor {} to itself, not 1", values[row])));
            }
            factors.extend_from_slice(values);
        }
        Machine::assemble(Parts {
            name: name.to_owned(),
            cores: cores_of_nodes(nodes, cores_per_node),
            nodes: (0..nodes as u32).map(|id| Node { id, memory: None }).collect(),
            levels: ["core", "node", "remote"].map(Level::named).to_vec(),
            classes: (0..nodes * nodes)
                .map(|pair| if pair / nodes == pair % nodes { 1 } else { 2 })
                .collect(),
            distances: factors,
            same_core: 1.0,
        })
    }

    /// A machine of a table as text: numbers separated by commas or blanks, a row for each node. A table of the firmware's
    /// distances, in which a node is 10 from itself, becomes factors. What `numactl --hardware` prints reads as it is: its
    /// node numbers are left out, and its lines of CPUs tell which cores each node has.
    ///
    /// # Errors
    ///
    /// The line, and what is wrong with it.
    pub fn from_table(name: &str, text: &str, cores_per_node: usize) -> Result<Machine, MachineError> {
        let mut rows: Vec<(usize, Vec<f64>)> = Vec::new();
        let mut cpus: Vec<Vec<u32>> = Vec::new();
        let labelled = text.lines().any(|line| line.trim_start().starts_with("node distances"));
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            let fail = |reason| MachineError::Table { line: line_number, reason };
            let line = line.trim();
            let row = match line.split_once(':') {
                Some((head, list)) if head.starts_with("node") && head.ends_with("cpus") => {
                    cpus.push(parse_cpus(list).map_err(fail)?);
                    continue;
                }
                Some((head, row)) if labelled && head.trim().parse::<u32>().is_ok() => row,
                _ if labelled || line.is_empty() || line.starts_with('#') => continue,
                _ => line,
            };
            let words = row.split([',', ' ', '\t', ';']).filter(|word| !word.is_empty());
            let number =
                |word: &str| word.parse::<f64>().map_err(|_| fail(format!("`{word}` is not a number")));
            rows.push((line_number, words.map(number).collect::<Result<_, _>>()?));
        }
        let nodes = rows.len();
        for (row, (line, values)) in rows.iter_mut().enumerate() {
            let fail = |reason| MachineError::Table { line: *line, reason };
            if values.len() != nodes {
                return Err(fail(format!("{} distances in a table of {nodes} rows", values.len())));
            }
            if values[row] == OWN_DISTANCE {
                values.iter_mut().for_each(|value| *value /= OWN_DISTANCE);
            }
        }
        let (lines, rows): (Vec<usize>, Vec<Vec<f64>>) = rows.into_iter().unzip();
        let machine = Machine::from_factors(name, &rows, cores_per_node).map_err(|error| match error {
            MachineError::Table { line, reason } => MachineError::Table { line: lines[line - 1], reason },
            other => other,
        })?;
        if cpus.is_empty() { Ok(machine) } else { machine.with_cpus(&cpus) }
    }

    /// The same nodes with these CPUs as their cores.
    fn with_cpus(mut self, cpus: &[Vec<u32>]) -> Result<Machine, MachineError> {
        if cpus.len() != self.nodes.len() {
            let reason = format!("{} nodes have CPUs, but {} have distances", cpus.len(), self.nodes.len());
            return Err(MachineError::Table { line: 1, reason });
        }
        let template = self.cores[0];
        let core = |node: u32, cpu: u32| super::Core { node, domain: node, cpu: Some(cpu), ..template };
        let all = cpus.iter().enumerate();
        self.cores =
            all.flat_map(|(node, cpus)| cpus.iter().map(move |cpu| core(node as u32, *cpu))).collect();
        if self.cores.is_empty() {
            return Err(MachineError::NoCore(self.name));
        }
        Ok(self)
    }
}

fn parse_cpus(list: &str) -> Result<Vec<u32>, String> {
    let number = |word: &str| word.parse().map_err(|_| format!("`{word}` is no CPU"));
    list.split_whitespace().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMACTL: &str = "available: 2 nodes (0-1)
node 0 cpus: 0 2 4
node 0 size: 64000 MB
node 1 cpus: 1 3
node 1 size: 64000 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
";

    #[test]
    fn numactl_prints_a_machine() {
        let machine = Machine::from_table("m", NUMACTL, 1).unwrap();
        assert_eq!(
            machine.cores().iter().map(|core| core.cpu).collect::<Vec<_>>(),
            [0, 2, 4, 1, 3].map(Some)
        );
        assert_eq!(machine.numa_factor(0, 1), 2.1);
        assert_eq!(machine.distance(0, 2), 1.0);
    }

    #[test]
    fn factors_read_by_commas_and_keep_their_direction() {
        let machine = Machine::from_table("m", "1, 1.4\n1.6, 1\n", 4).unwrap();
        assert_eq!(machine.cores().len(), 8);
        assert_eq!((machine.numa_factor(0, 1), machine.numa_factor(1, 0)), (1.4, 1.6));
    }

    #[test]
    fn a_bad_table_is_refused_with_its_line() {
        let reason = |text: &str| Machine::from_table("m", text, 2).unwrap_err().to_string();
        assert_eq!(reason("# factors\n1 0.9\n1.1 1"), "line 2: 0.9 is no NUMA factor: those are 1 or more");
        assert_eq!(reason("1 2\n2 1 3"), "line 2: 3 distances in a table of 2 rows");
        assert_eq!(reason("1 NaN\n2 1"), "line 1: NaN is no NUMA factor: those are 1 or more");
        assert_eq!(reason("1 2\n2 x"), "line 2: `x` is not a number");
        assert_eq!(reason("1 2\n2 3"), "line 2: node 1 has the factor 3 to itself, not 1");
        assert!(reason("").contains("no core"));
    }
}
