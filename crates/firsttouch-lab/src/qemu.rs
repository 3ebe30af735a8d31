//! From a description to the command line of QEMU.
//!
//! Learnt by trying, on QEMU 7.2 and the kernels of Debian: `cx16=off`, because 6.12 dies of a double fault under the
//! emulation of `cmpxchg16b`; `erms=off`, because fills and copies by `rep stosb` are emulated byte by byte, and without it
//! the kernel and the C library take instructions that write more; every pair of nodes needs a distance once one has; Linux shows the speed tables only for
//! the nearest initiator.

use crate::LabError;
use crate::description::{Bytes, Description, DeviceKind, LabNode};
use firsttouch_linux::cpulist::format_list;
use std::env::consts::ARCH;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

const PROGRAM: &str = "qemu-system-x86_64";
/// A distance for sockets that are empty: nobody reads it.
const UNUSED_DISTANCE: u32 = 20;
/// As long as this many CPUs are possible, Linux addresses interrupts by a mask, and the emulator then stops at the first
/// empty socket: CPUs behind it would never hear of anything.
const LOGICAL_CPUS: u32 = 8;
/// Buses that one node's host bridge gets.
const BUSES_PER_BRIDGE: usize = 8;
/// Size of an emulated disk.
const DISK_BYTES: u64 = 64 << 20;

/// How the guest's processors are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Acceleration {
    /// By translation, anywhere, each processor by a thread of its own.
    #[default]
    Software,
    /// By translation, all of a guest by one thread, in turns: nothing in the guest happens at the same time. Quicker where this
    /// machine's processors have enough to do, because a processor of the guest never waits for another that has none to run on.
    SingleThread,
    /// By the processor's own virtualisation.
    Kvm,
}

/// The emulator.
#[derive(Clone, Debug)]
pub struct Qemu {
    pub(crate) program: PathBuf,
    acceleration: Acceleration,
}

impl Qemu {
    /// Finds the emulator in `path`, the value of `PATH`.
    pub fn find(path: Option<&OsStr>, acceleration: Acceleration) -> Result<Qemu, LabError> {
        if ARCH != "x86_64" {
            return Err(LabError::OtherProcessor { here: ARCH });
        }
        let program = firsttouch_process::resolve(OsStr::new(PROGRAM), path)
            .map_err(|_| LabError::NoQemu { program: PROGRAM })?;
        if acceleration == Acceleration::Kvm {
            File::options().read(true).write(true).open("/dev/kvm").map_err(|why| LabError::NoKvm { why })?;
        }
        Ok(Qemu { program, acceleration })
    }

    /// Everything but the kernel and the serial lines.
    pub(crate) fn machine_arguments(&self, machine: &Description) -> Vec<String> {
        let layout = Layout::of(machine);
        let mut line = Line(Vec::new());
        for word in ["-nodefaults", "-no-user-config", "-no-reboot"] {
            line.0.push(word.to_owned());
        }
        line.add("-display", "none");
        match self.acceleration {
            Acceleration::Kvm => {
                line.add("-accel", "kvm");
                line.add("-cpu", "host");
            }
            Acceleration::Software | Acceleration::SingleThread => {
                let threads = if self.acceleration == Acceleration::Software { "multi" } else { "single" };
                line.add("-accel", format!("tcg,thread={threads}"));
                line.add("-cpu", "max,cx16=off,erms=off");
            }
        }
        let tables = machine.latencies_ns.is_some() || machine.bandwidths.is_some();
        line.add("-machine", if tables { "q35,hmat=on" } else { "q35" });
        processors(&mut line, machine, &layout, self.acceleration);
        memory(&mut line, machine);
        nodes(&mut line, machine, &layout);
        distances(&mut line, machine, &layout);
        if tables {
            speeds(&mut line, machine);
        }
        plugged(&mut line, machine);
        devices(&mut line, machine);
        line.0
    }

    /// The arguments for the kernel and its file system.
    pub(crate) fn kernel_arguments(&self, image: &Path, file_system: &Path, words: &str) -> Vec<String> {
        // Where every start has other addresses, starts take several times as long (docs/results/lab.md): QEMU 7.2 seems to
        // translate the loader and the program anew. Who wants them writes 2 to /proc/sys/kernel/randomize_va_space.
        let addresses = match self.acceleration {
            Acceleration::Software | Acceleration::SingleThread => "norandmaps ",
            Acceleration::Kvm => "",
        };
        let mut line = Line(Vec::new());
        line.add("-kernel", image.to_string_lossy());
        line.add("-initrd", file_system.to_string_lossy());
        line.add("-append", format!("{addresses}{words}"));
        line.0
    }
}

/// A command line that grows.
struct Line(Vec<String>);

impl Line {
    fn add(&mut self, option: &str, value: impl AsRef<str>) {
        self.0.extend([option.to_owned(), value.as_ref().to_owned()]);
    }
}

/// The sockets in the emulator's order: those of the description, and an empty one for every id that is left out, because
/// the emulator knows no gaps, and a node with neither CPU nor memory is one that Linux leaves out.
struct Layout {
    /// Node and socket index of every empty socket.
    empty: Vec<(u32, u32)>,
    /// All sockets. With empty ones among them there are more than the processors need (see [`LOGICAL_CPUS`]).
    sockets: u32,
}

impl Layout {
    fn of(machine: &Description) -> Layout {
        let last = machine.nodes.last().map_or(0, |node| node.id);
        let per_package = machine.processor.cpus_per_package();
        let missing = (0..last).filter(|id| machine.node(*id).is_none());
        // An empty socket stands before the packages of the nodes after it: Linux numbers nodes as it meets them.
        let empty: Vec<(u32, u32)> = missing
            .zip(0..)
            .map(|(id, earlier)| {
                let next = machine.nodes.iter().find(|node| node.id > id && !node.cpus.is_empty());
                let packages = next.map_or(machine.processor.packages, |node| node.cpus[0] / per_package);
                (id, packages + earlier)
            })
            .collect();
        let mut sockets = machine.processor.packages + empty.len() as u32;
        if !empty.is_empty() {
            sockets = sockets.max(LOGICAL_CPUS / per_package + 1);
        }
        Layout { sockets, empty }
    }

    /// The socket of the description's package of that number.
    fn socket(&self, package: u32) -> u32 {
        self.empty
            .iter()
            .fold(package, |socket, (_, empty)| if *empty <= socket { socket + 1 } else { socket })
    }

    /// The emulator's numbers of CPUs of the description.
    fn numbers(&self, cpus: &[u32], per_package: u32) -> Vec<u32> {
        cpus.iter().map(|cpu| self.socket(cpu / per_package) * per_package + cpu % per_package).collect()
    }
}

fn processors(line: &mut Line, machine: &Description, layout: &Layout, acceleration: Acceleration) {
    let parts = machine.processor;
    let per_package = parts.cpus_per_package();
    let all = layout.sockets * per_package;
    let at_start = layout.empty.first().map_or(all, |(_, socket)| socket * per_package);
    line.add(
        "-smp",
        format!(
            "cpus={at_start},maxcpus={all},sockets={},dies={},cores={},threads={}",
            layout.sockets, parts.dies, parts.cores, parts.threads
        ),
    );
    // Those behind an empty socket come one by one: the emulator fills sockets from the first.
    let kind = if acceleration == Acceleration::Kvm { "host" } else { "max" };
    for package in 0..parts.packages {
        let socket = layout.socket(package);
        if socket * per_package < at_start {
            continue;
        }
        for die in 0..parts.dies {
            for core in 0..parts.cores {
                for thread in 0..parts.threads {
                    let place = format!("socket-id={socket},die-id={die},core-id={core},thread-id={thread}");
                    line.add("-device", format!("{kind}-x86_64-cpu,{place}"));
                }
            }
        }
    }
}

fn memory(line: &mut Line, machine: &Description) {
    let there: u64 = machine.nodes.iter().map(|node| node.memory.0).sum();
    let slots = machine.nodes.iter().filter(|node| node.plugged.0 > 0).count();
    let later: u64 = machine.nodes.iter().map(|node| node.plugged.0).sum();
    let mut value = format!("size={}M", there >> 20);
    if slots > 0 {
        // Every slot may lose up to a GiB to alignment.
        let most = there + later + ((slots as u64) << 30);
        value += &format!(",slots={slots},maxmem={}M", most >> 20);
    }
    line.add("-m", value);
}

fn nodes(line: &mut Line, machine: &Description, layout: &Layout) {
    let per_package = machine.processor.cpus_per_package();
    let last = machine.nodes.last().map_or(0, |node| node.id);
    for id in 0..=last {
        let (node, mut cpus) = match (machine.node(id), layout.empty.iter().find(|(empty, _)| *empty == id)) {
            (Some(node), _) => (Some(node), layout.numbers(&node.cpus, per_package)),
            (None, Some((_, socket))) => (None, (socket * per_package..(socket + 1) * per_package).collect()),
            (None, None) => (None, Vec::new()),
        };
        if id == 0 {
            // Sockets beyond all others, empty for good, have to be somewhere.
            let used = machine.processor.packages + layout.empty.len() as u32;
            cpus.extend(used * per_package..layout.sockets * per_package);
        }
        let mut value = format!("node,nodeid={id}");
        for range in format_list(&cpus).split(',').filter(|range| !range.is_empty()) {
            value += &format!(",cpus={range}");
        }
        if let Some(node) = node {
            if node.memory.0 > 0 {
                line.add("-object", format!("memory-backend-ram,id=ram{id},size={}M", node.memory.0 >> 20));
                value += &format!(",memdev=ram{id}");
            }
            if let Some(near) =
                node.nearest.filter(|_| machine.latencies_ns.is_some() || machine.bandwidths.is_some())
            {
                value += &format!(",initiator={near}");
            }
        }
        line.add("-numa", value);
    }
}

fn distances(line: &mut Line, machine: &Description, layout: &Layout) {
    let Some(rows) = &machine.distances else { return };
    let mut add = |from: u32, to: u32, value: u32| {
        line.add("-numa", format!("dist,src={from},dst={to},val={value}"));
    };
    for (from, row) in machine.nodes.iter().zip(rows) {
        for (to, value) in machine.nodes.iter().zip(row) {
            add(from.id, to.id, *value);
        }
    }
    let last = machine.nodes.last().map_or(0, |node| node.id);
    for (empty, _) in &layout.empty {
        for other in 0..=last {
            if other == *empty {
                add(other, other, 10);
            } else if *empty < other || machine.node(other).is_some() {
                // Two empty ones are met twice.
                add(*empty, other, UNUSED_DISTANCE);
                add(other, *empty, UNUSED_DISTANCE);
            }
        }
    }
}

fn speeds(line: &mut Line, machine: &Description) {
    let mut add = |from: &LabNode, to: &LabNode, what: String| {
        line.add("-numa", format!("hmat-lb,initiator={},target={},hierarchy=memory,{what}", from.id, to.id));
    };
    for (row, from) in machine.initiators().enumerate() {
        for (column, to) in machine.nodes.iter().enumerate() {
            if let Some(rows) = &machine.latencies_ns {
                add(from, to, format!("data-type=access-latency,latency={}", rows[row][column]));
            }
            if let Some(rows) = &machine.bandwidths {
                let Bytes(rate) = rows[row][column];
                add(from, to, format!("data-type=access-bandwidth,bandwidth={}M", rate >> 20));
            }
        }
    }
    for cache in &machine.side_caches {
        let (node, size) = (cache.node, cache.size.0);
        line.add(
            "-numa",
            format!(
                "hmat-cache,node-id={node},size={size},level=1,associativity=direct,policy=write-back,line=64"
            ),
        );
    }
}

fn plugged(line: &mut Line, machine: &Description) {
    for node in machine.nodes.iter().filter(|node| node.plugged.0 > 0) {
        let (id, size) = (node.id, node.plugged.0 >> 20);
        line.add("-object", format!("memory-backend-ram,id=slot{id},size={size}M"));
        line.add("-device", format!("pc-dimm,id=dimm{id},memdev=slot{id},node={id}"));
    }
}

/// One host bridge for each node that has devices, one root port for each device.
fn devices(line: &mut Line, machine: &Description) {
    let mut bridges: Vec<u32> = machine.devices.iter().map(|device| device.node).collect();
    bridges.sort_unstable();
    bridges.dedup();
    for (index, node) in bridges.iter().enumerate() {
        let bus = 0x40 + index * BUSES_PER_BRIDGE;
        line.add("-device", format!("pxb-pcie,id=bridge{node},bus_nr={bus},numa_node={node},bus=pcie.0"));
    }
    for (index, device) in machine.devices.iter().enumerate() {
        let (port, node) = (format!("port{index}"), device.node);
        let (chassis, slot) = (index + 1, index + 1);
        line.add(
            "-device",
            format!("pcie-root-port,id={port},bus=bridge{node},chassis={chassis},slot={slot}"),
        );
        match device.kind {
            DeviceKind::Nvme => {
                line.add(
                    "-blockdev",
                    format!("driver=null-co,node-name=disk{index},size={DISK_BYTES},read-zeroes=on"),
                );
                line.add("-device", format!("nvme,bus={port},drive=disk{index},serial=disk{index}"));
            }
            DeviceKind::Net => {
                line.add("-netdev", format!("hubport,id=net{index},hubid=0"));
                line.add("-device", format!("vmxnet3,bus={port},netdev=net{index}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qemu(acceleration: Acceleration) -> Qemu {
        Qemu { program: PathBuf::from(PROGRAM), acceleration }
    }

    fn arguments(name: &str) -> Vec<String> {
        qemu(Acceleration::Software).machine_arguments(&Description::named(name).unwrap())
    }

    #[track_caller]
    fn assert_has(arguments: &[String], wanted: &str) {
        assert!(arguments.iter().any(|argument| argument == wanted), "no {wanted} in {arguments:#?}");
    }

    #[test]
    fn a_single_thread_runs_all_processors_where_that_is_asked_for() {
        for (acceleration, threads) in [
            (Acceleration::Software, "tcg,thread=multi"),
            (Acceleration::SingleThread, "tcg,thread=single"),
            (Acceleration::Kvm, "kvm"),
        ] {
            assert_has(
                &qemu(acceleration).machine_arguments(&Description::named("two-node").unwrap()),
                threads,
            );
        }
    }

    #[test]
    fn addresses_are_the_same_at_each_start_where_code_is_translated() {
        let words = |acceleration| {
            let all = qemu(acceleration).kernel_arguments(Path::new("image"), Path::new("files"), "quiet");
            all.last().unwrap().clone()
        };
        assert_eq!(words(Acceleration::Software), "norandmaps quiet");
        assert_eq!(words(Acceleration::SingleThread), "norandmaps quiet");
        assert_eq!(words(Acceleration::Kvm), "quiet");
    }

    #[test]
    fn a_gap_in_the_numbers_is_an_empty_socket() {
        let all = arguments("holes");
        // Nodes 0, 2 and 5 are sockets 0, 2 and 5 of nine: more CPUs than a mask addresses.
        assert_has(&all, "cpus=1,maxcpus=9,sockets=9,dies=1,cores=1,threads=1");
        for socket in [2, 5] {
            assert_has(&all, &format!("max-x86_64-cpu,socket-id={socket},die-id=0,core-id=0,thread-id=0"));
        }
        assert_has(&all, "node,nodeid=0,cpus=0,cpus=6-8,memdev=ram0");
        assert_has(&all, "node,nodeid=1,cpus=1");
        assert_has(&all, "node,nodeid=5,cpus=5,memdev=ram5");
    }

    #[test]
    fn speeds_go_from_every_node_with_cpus_to_every_node() {
        let all = arguments("cxl");
        assert_has(&all, "q35,hmat=on");
        assert_has(&all, "node,nodeid=2,memdev=ram2,initiator=1");
        assert_eq!(all.iter().filter(|argument| argument.starts_with("hmat-lb,")).count(), 2 * 3 * 2);
        assert!(!arguments("two-node").iter().any(|argument| argument.contains("hmat")));
    }

    #[test]
    fn every_pair_of_numbers_has_one_distance() {
        for (name, nodes) in [("istanbul", 4), ("holes", 6)] {
            let mut pairs: Vec<String> = arguments(name)
                .into_iter()
                .filter_map(|argument| Some(argument.strip_prefix("dist,")?.split_once(",val")?.0.to_owned()))
                .collect();
            assert_eq!(pairs.len(), nodes * nodes, "{name}");
            pairs.sort_unstable();
            pairs.dedup();
            assert_eq!(pairs.len(), nodes * nodes, "{name}");
        }
    }
}
