//! A machine read from files, and what its kernel says besides.

use crate::devices::devices;
use crate::evidence::assign_kinds;
use crate::host::{Host, known_signature};
use crate::machine::{NO_SYS, has_sys};
use crate::nodes::{nodes, tiers};
use crate::reader::Reader;
use crate::topology::Topology;
use crate::traps::traps;
use crate::{Features, Limits, Machine, Node, Root, capabilities, pages};
use firsttouch_linux::{features, sysinfo};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A machine that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// There is no such folder.
    #[error("there is no folder {}", path.display())]
    NoRoot {
        /// What was asked for.
        path: PathBuf,
    },
    /// The folder is not the root of a machine.
    #[error(
        "{} holds neither `proc` nor `sys`: not a recorded machine (live: mount -t proc proc /proc; mount -t sysfs sysfs /sys)",
        path.display()
    )]
    NotAMachine {
        /// What was asked for.
        path: PathBuf,
    },
    /// A folder of answers of CPUID without any.
    #[error("{} holds no answers of a CPU (`pu0`, `pu1`, …): record them anew by hwloc-gather-cpuid", path.display())]
    NoAnswers {
        /// What was asked for.
        path: PathBuf,
    },
}

impl Machine {
    /// Reads a machine from files below a root, and from nothing else.
    pub fn read(root: &Root) -> Result<Machine, MachineError> {
        if !root.exists() {
            return Err(MachineError::NoRoot { path: root.path().to_owned() });
        }
        let (proc, sys) = (root.has("proc/cpuinfo"), has_sys(root));
        if !proc && !sys {
            return Err(MachineError::NotAMachine { path: root.path().to_owned() });
        }
        let reader = Reader::new(root);
        if !proc {
            // Services with `ProcSubset=pid` see processes alone.
            let what = match root.has("proc/self") {
                true => {
                    "/proc shows processes alone (subset=pid): processor, kernel and settings are unknown"
                }
                false => "/proc is missing: processor, kernel, limits and capabilities are unknown",
            };
            reader.remark(what.to_owned());
        }
        if !sys {
            reader.remark(NO_SYS.to_owned());
        }
        let mut machine = collect(&reader);
        machine.unreadable = reader.into_unreadable();
        machine.traps = traps(&machine);
        Ok(machine)
    }

    /// Reads a machine and, if it is the live one, asks its kernel too.
    pub fn examine(root: &Root) -> Result<Machine, MachineError> {
        let mut machine = Machine::read(root)?;
        if root.is_live() {
            machine.features = Features::probe();
            if let Some(signature) = features::hypervisor_signature() {
                machine.virtual_machine = Some(true);
                machine.hypervisor = Some(known_signature(&signature).to_owned());
            }
            machine.own_program = root.resolve("proc/self/exe").map(|path| format!("/{}", path.display()));
            machine.traps = traps(&machine);
        }
        Ok(machine)
    }

    /// A machine of which only CPUs and memory are known: somebody described it, or the rest is read next.
    pub(crate) fn described(mut topology: Topology, nodes: Vec<Node>) -> Machine {
        topology.assign_nodes(&nodes);
        let online = topology.cpus.iter().filter(|cpu| cpu.online).count();
        Machine {
            cpus_online: u32::try_from(online).ok().filter(|count| *count > 0),
            memory_bytes: bytes_of(&nodes),
            cpus: topology.cpus,
            cores: topology.cores,
            core_kinds: topology.core_kinds,
            clusters: topology.clusters,
            dies: topology.dies,
            packages: topology.packages,
            caches: topology.caches,
            nodes,
            ..Machine::default()
        }
    }
}

fn collect(reader: &Reader<'_>) -> Machine {
    let cpuinfo = reader.text("proc/cpuinfo");
    let status = reader.text("proc/self/status");
    let memory = reader.text("proc/meminfo").map(|text| sysinfo::meminfo(&text)).unwrap_or_default();
    let host = Host::read(reader, cpuinfo.as_deref());
    let topology = Topology::read(reader, cpuinfo.as_deref());
    let online: Vec<u32> = topology.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let tiers = tiers(reader);
    let cpu_model = cpuinfo.as_deref().and_then(sysinfo::cpu_model);
    let mut nodes = nodes(reader, &online, &memory, &tiers);
    assign_kinds(reader, &mut nodes, cpu_model.as_deref());
    let devices = devices(reader, &nodes);
    Machine {
        cpu_model,
        kernel: kernel(reader),
        product: host.product,
        virtual_machine: host.virtual_machine,
        hypervisor: host.hypervisor,
        memory_bytes: memory.total_bytes.or_else(|| bytes_of(&nodes)),
        memory_available_bytes: memory.available_bytes,
        swap_bytes: memory.swap_total_bytes,
        tiers,
        devices,
        thp: pages::thp(reader),
        pools: pages::pools(reader),
        interleave_weights: interleave_weights(reader),
        numa_balancing: reader.number::<u32>("proc/sys/kernel/numa_balancing").map(|mode| mode > 0),
        perf_event_paranoid: reader.number("proc/sys/kernel/perf_event_paranoid"),
        free_page_reporting: host.free_page_reporting,
        limits: Limits::read(reader, status.as_deref()),
        capabilities: status.as_deref().and_then(|text| capabilities::names(text, "CapEff")),
        capabilities_possible: status.as_deref().and_then(|text| capabilities::names(text, "CapBnd")),
        ..Machine::described(topology, nodes)
    }
}

/// The memory of all nodes; `None` when that of one is not known.
fn bytes_of(nodes: &[Node]) -> Option<u64> {
    nodes.iter().map(|node| node.size_bytes).sum::<Option<u64>>().filter(|_| !nodes.is_empty())
}

fn kernel(reader: &Reader<'_>) -> Option<String> {
    reader
        .word("proc/sys/kernel/osrelease")
        .or_else(|| sysinfo::kernel_release(&reader.text("proc/version")?).map(str::to_owned))
}

/// The weight of each node, for kernels that have them (Linux 6.9).
fn interleave_weights(reader: &Reader<'_>) -> Option<BTreeMap<u32, u32>> {
    const FOLDER: &str = "sys/kernel/mm/mempolicy/weighted_interleave";
    if !reader.root.has(FOLDER) {
        return None;
    }
    let nodes = reader.numbered(FOLDER, "node").into_iter();
    Some(nodes.filter_map(|node| Some((node, reader.number(&format!("{FOLDER}/node{node}"))?))).collect())
}
