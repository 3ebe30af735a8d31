//! The machine in an XML file of hwloc, of its formats 1, 2 and 3.
//!
//! hwloc gives a node without CPUs the CPUs next to it, so that the two kinds look alike. The CPUs of a node are found
//! as follows: ordinary memory goes before every other kind, a node with fewer CPUs next to it before one with more, a
//! lower number before a higher one; what comes first keeps the CPU.
//!
//! Invariant: what is missing or odd costs the field that it would have filled. Only a text without a machine in it is
//! an error.

use super::xml::{Element, XmlError, elements};
use crate::Machine;
use crate::core_kinds::CoreKind;
use crate::devices::Device;
use crate::evidence::kinds_of_described;
use crate::kind::MemoryKind;
use crate::nodes::{Access, Node, SideCache};
use crate::topology::{Cache, Core, Cpu, Part, Topology};
use firsttouch_sorted::{SortedMap, SortedSet, sort_by, sort_by_key};
use std::collections::BTreeMap;

/// As many nodes as Linux can be built for.
const MOST_NODES: usize = 1024;

/// Reads a machine; the CPU and node numbers are the operating system's.
pub(super) fn machine(text: &str) -> Result<Machine, XmlError> {
    let elements = elements(text)?;
    let document = Document { elements: &elements };
    let root = document.root().ok_or(XmlError::NotHwloc)?;
    let topology = document.topology(root);
    if topology.cpus.is_empty() {
        return Err(XmlError::NotHwloc);
    }
    let cpu_model =
        document.objects("Package").chain([root]).find_map(|object| document.info(object, "CPUModel"));
    let cpu_model = cpu_model.map(|model| model.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut nodes = document.nodes(root, &topology.cpus);
    kinds_of_described(&mut nodes, cpu_model.as_deref());
    let devices = document.devices(&nodes);
    let maker: Vec<String> =
        ["DMISysVendor", "DMIProductName"].iter().filter_map(|name| document.info(root, name)).collect();
    let mut machine = Machine::described(topology, nodes);
    machine.cpu_model = cpu_model;
    machine.kernel = document.info(root, "OSRelease");
    machine.product = (!maker.is_empty()).then(|| maker.join(" "));
    machine.devices = devices;
    machine.limits.allowed_cpus = document.set(root, "allowed_cpuset");
    machine.limits.allowed_nodes = document.set(root, "allowed_nodeset");
    Ok(machine)
}

struct Document<'a> {
    elements: &'a [Element],
}

/// The words that formats 1 to 3 have for one type.
fn same_type(written: &str, wanted: &str) -> bool {
    let names: &[&str] = match wanted {
        "Package" => &["Package", "Socket"],
        "NUMANode" => &["NUMANode", "Node"],
        _ => return written == wanted,
    };
    names.contains(&written)
}

impl Document<'_> {
    fn element(&self, index: usize) -> &Element {
        &self.elements[index]
    }

    fn kind(&self, index: usize) -> Option<&str> {
        let element = self.element(index);
        (element.name == "object").then(|| element.get("type")).flatten()
    }

    fn objects<'b>(&'b self, kind: &'b str) -> impl Iterator<Item = usize> + 'b {
        (0..self.elements.len())
            .filter(move |index| self.kind(*index).is_some_and(|own| same_type(own, kind)))
    }

    /// The outermost object. In format 1 that of a machine with one node may be the node.
    fn root(&self) -> Option<usize> {
        (0..self.elements.len()).find(|index| {
            let outside = self.element(*index).parent;
            self.kind(*index).is_some()
                && outside.is_some_and(|outside| self.element(outside).name == "topology")
        })
    }

    fn children<'b>(&'b self, parent: usize, name: &'b str) -> impl Iterator<Item = &'b Element> {
        let children = self.element(parent).children.iter().map(|child| self.element(*child));
        children.filter(move |child| child.name == name)
    }

    /// An information of an object; format 3 keeps those of the machine beside it.
    fn info(&self, object: usize, name: &str) -> Option<String> {
        let of = |parent: usize| {
            let mut infos = self.children(parent, "info");
            infos.find(|info| info.get("name") == Some(name))?.get("value").map(str::to_owned)
        };
        of(object).or_else(|| self.element(object).parent.and_then(of)).filter(|value| !value.is_empty())
    }

    fn set(&self, object: usize, attribute: &str) -> Option<Vec<u32>> {
        bitmap(self.element(object).get(attribute)?)
    }

    /// The nearest object of a type around an object.
    fn around(&self, object: usize, kind: &str) -> Option<usize> {
        let mut above = self.element(object).parent;
        while let Some(index) = above {
            if self.kind(index).is_some_and(|own| same_type(own, kind)) {
                return Some(index);
            }
            above = self.element(index).parent;
        }
        None
    }

    fn id(&self, object: usize) -> Option<u32> {
        self.element(object).number("os_index")
    }

    /// The number of each package. Those that the operating system has no number for are counted as [`crate::Package`] says.
    fn package_ids(&self) -> SortedMap<usize, u32> {
        let numbered = |package: usize| Some((package, self.id(package)?));
        let mut ids: SortedMap<usize, u32> = self.objects("Package").filter_map(numbered).collect();
        let mut others: Vec<(Option<u32>, usize)> = self
            .objects("Package")
            .filter(|package| !ids.contains_key(package))
            .map(|package| (self.set(package, "cpuset").and_then(|cpus| cpus.first().copied()), package))
            .collect();
        others.sort_unstable();
        let first = ids.values().max().map_or(Some(0), |highest| highest.checked_add(1));
        let numbers = first.into_iter().flat_map(|first| first..=u32::MAX);
        ids.extend(others.into_iter().zip(numbers).map(|((_, package), number)| (package, number)));
        ids
    }

    fn topology(&self, root: usize) -> Topology {
        let packages = self.package_ids();
        let package = |object: usize| {
            self.around(object, "Package").and_then(|package| packages.get(&package).copied())
        };
        let switched_on = self.set(root, "online_cpuset").map(SortedSet::from_iter);
        let mut cpus: SortedMap<u32, Cpu> = SortedMap::new();
        for id in self.set(root, "complete_cpuset").unwrap_or_default() {
            cpus.insert(id, Cpu::new(id, false));
        }
        for object in self.objects("PU") {
            let Some(id) = self.id(object) else { continue };
            let online = switched_on.as_ref().is_none_or(|on| on.contains(&id));
            cpus.insert(id, Cpu { package: package(object).filter(|_| online), ..Cpu::new(id, online) });
        }
        let online = |object: usize| {
            let mut set = self.set(object, "cpuset").unwrap_or_default();
            set.retain(|cpu| cpus.get(cpu).is_some_and(|cpu| cpu.online));
            set
        };
        let part =
            |object: usize| Part { id: self.id(object), package: package(object), cpus: online(object) };
        let core =
            |object: usize| Core { id: self.id(object), package: package(object), cpus: online(object) };
        let clusters =
            self.objects("Group").filter(|group| self.element(*group).get("subtype") == Some("Cluster"));
        let mut topology = Topology {
            cores: self.objects("Core").map(core).filter(|core| !core.cpus.is_empty()).collect(),
            core_kinds: self.core_kinds(),
            clusters: clusters.map(part).collect(),
            dies: self.objects("Die").map(part).collect(),
            caches: self.caches(online),
            ..Topology::default()
        };
        topology.cpus = cpus.into_values().collect();
        topology.join();
        topology
    }

    fn caches(&self, online: impl Fn(usize) -> Vec<u32>) -> Vec<Cache> {
        let is_cache = |index: &usize| {
            self.kind(*index).is_some_and(|kind| kind.ends_with("Cache") && kind != "MemCache")
        };
        let caches: SortedSet<Cache> = (0..self.elements.len())
            .filter(is_cache)
            .filter_map(|index| {
                let element = self.element(index);
                let kind = match element.number::<u32>("cache_type") {
                    Some(0) => Some("unified"),
                    Some(1) => Some("data"),
                    Some(2) => Some("instruction"),
                    _ => None,
                };
                Some(Cache {
                    level: element.number("depth")?,
                    kind: kind.map(str::to_owned),
                    // 0 is hwloc's word for unknown.
                    size_bytes: element.number("cache_size").filter(|bytes| *bytes > 0),
                    line_bytes: element.number("cache_linesize").filter(|bytes| *bytes > 0),
                    // So it is here; -1 means fully associative, which the kernel writes as 0.
                    ways: match element.number::<i64>("cache_associativity") {
                        Some(-1) => Some(0),
                        ways => ways.and_then(|ways| u32::try_from(ways).ok()).filter(|ways| *ways > 0),
                    },
                    cpus: online(index),
                })
            })
            .collect();
        caches.into_vec()
    }

    fn core_kinds(&self) -> Vec<CoreKind> {
        let kinds = (0..self.elements.len()).filter(|index| self.element(*index).name == "cpukind");
        let mut kinds: Vec<(i64, CoreKind)> = kinds
            .filter_map(|index| {
                let own = |name: &str| {
                    let mut infos = self.children(index, "info");
                    infos.find(|info| info.get("name") == Some(name))?.get("value").map(str::to_owned)
                };
                let capacity = own("LinuxCapacity").and_then(|capacity| capacity.parse().ok());
                let name = match own("CoreType").as_deref() {
                    Some("IntelCore" | "AMDPerformance") => "performance".to_owned(),
                    Some("IntelAtom" | "AMDEfficiency") => "efficient".to_owned(),
                    Some("IntelLowPower") => "low-power".to_owned(),
                    Some(other) => other.to_owned(),
                    None => format!("capacity-{}", capacity?),
                };
                // A higher number is faster and hungrier.
                let rank = self.element(index).number("forced_efficiency").unwrap_or(-1);
                Some((rank, CoreKind { name, capacity, cpus: self.set(index, "cpuset")? }))
            })
            .collect();
        sort_by_key(&mut kinds, |(rank, kind)| (-rank, kind.capacity.map(|capacity| -i64::from(capacity))));
        if kinds.len() < 2 { Vec::new() } else { kinds.into_iter().map(|(_, kind)| kind).collect() }
    }

    /// The nodes; a machine without any is one node that has all CPUs and all memory.
    fn nodes(&self, root: usize, cpus: &[Cpu]) -> Vec<Node> {
        let online: SortedSet<u32> = cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
        let mut claims: Vec<(Node, Vec<u32>)> = self
            .objects("NUMANode")
            .take(MOST_NODES)
            .filter_map(|object| {
                let mut node = Node::new(self.id(object)?, Vec::new());
                node.size_bytes = self.element(object).number("local_memory");
                node.kind = self.memory_kind(object);
                node.side_caches = self.side_caches(object);
                node.access = self.access(object, &node);
                Some((node, self.set(object, "cpuset").unwrap_or_default()))
            })
            .collect();
        if claims.is_empty() {
            let size_bytes = self.element(root).number("local_memory");
            let all = Node { size_bytes, ..Node::new(0, Vec::new()) };
            claims.push((all, online.to_vec()));
        }
        let foreign = |node: &Node| node.kind.is_some_and(|kind| kind != MemoryKind::Dram);
        sort_by_key(&mut claims, |(node, cpus)| (foreign(node), cpus.len(), node.id));
        let mut housed = SortedSet::new();
        let mut nodes: Vec<Node> = Vec::new();
        for (mut node, cpus) in claims {
            node.cpus = cpus.into_iter().filter(|cpu| online.contains(cpu) && housed.insert(*cpu)).collect();
            nodes.push(node);
        }
        let distances = self.distances();
        for node in &mut nodes {
            node.distances = distances.get(&node.id).cloned();
        }
        name_initiators(&mut nodes);
        sort_by_key(&mut nodes, |node| node.id);
        nodes.dedup_by_key(|node| node.id);
        nodes
    }

    /// hwloc's subtype, an information in formats 1 and 2.
    fn memory_kind(&self, object: usize) -> Option<MemoryKind> {
        let info = |name: &str| {
            let mut infos = self.children(object, "info");
            infos.find(|info| info.get("name") == Some(name))?.get("value")
        };
        let word = self.element(object).get("subtype").or_else(|| info("Type")).or_else(|| info("DAXType"));
        match word? {
            "DRAM" => Some(MemoryKind::Dram),
            "HBM" | "MCDRAM" => Some(MemoryKind::Hbm),
            "NVM" | "CXL-NVM" => Some(MemoryKind::Pmem),
            "GPUMemory" => Some(MemoryKind::Gpu),
            other => other.starts_with("CXL").then_some(MemoryKind::Cxl),
        }
    }

    /// Caches around a node, the nearest to the memory first.
    fn side_caches(&self, node: usize) -> Vec<SideCache> {
        let mut caches = Vec::new();
        let mut above = self.element(node).parent;
        while let Some(index) = above.filter(|index| self.kind(*index) == Some("MemCache")) {
            let element = self.element(index);
            caches.push(SideCache {
                level: u32::try_from(caches.len() + 1).unwrap_or(u32::MAX),
                size_bytes: element.number("cache_size"),
                line_bytes: element.number("cache_linesize"),
            });
            above = element.parent;
        }
        caches
    }

    /// Speeds as hwloc keeps them, in MiB/s and ns, which it took from the kernel's MB/s as they were. The CPUs that
    /// they hold for stand in `initiators` until the nodes are known.
    fn access(&self, object: usize, node: &Node) -> Vec<Access> {
        let own: Option<u64> = self.element(object).number("gp_index");
        let mut access = Access {
            class: 1,
            initiators: Vec::new(),
            read_latency_ns: None,
            write_latency_ns: None,
            read_bandwidth_bytes_per_s: None,
            write_bandwidth_bytes_per_s: None,
        };
        for (index, attribute) in
            self.elements.iter().enumerate().filter(|(_, element)| element.name == "memattr")
        {
            let target = |value: &&Element| {
                value.get("target_obj_type").is_none_or(|kind| kind == "NUMANode")
                    && match value.number::<u64>("target_obj_gp_index") {
                        Some(target) => Some(target) == own,
                        None => value.number("target_obj_os_index") == Some(node.id),
                    }
            };
            let best = |value: &Element| value.number::<u64>("value").filter(|value| *value > 0);
            let Some(value) = self.children(index, "memattr_value").find(target) else { continue };
            let megabytes = || best(value).and_then(|value| value.checked_mul(1_000_000));
            match attribute.get("name") {
                Some("Bandwidth") if access.read_bandwidth_bytes_per_s.is_none() => {
                    access.read_bandwidth_bytes_per_s = megabytes();
                }
                Some("ReadBandwidth") => access.read_bandwidth_bytes_per_s = megabytes(),
                Some("WriteBandwidth") => access.write_bandwidth_bytes_per_s = megabytes(),
                Some("Latency") if access.read_latency_ns.is_none() => access.read_latency_ns = best(value),
                Some("ReadLatency") => access.read_latency_ns = best(value),
                Some("WriteLatency") => access.write_latency_ns = best(value),
                _ => continue,
            }
            if let Some(cpus) = value.get("initiator_cpuset").and_then(bitmap) {
                access.initiators = cpus;
            }
        }
        let says_something = access.read_bandwidth_bytes_per_s.is_some() || access.read_latency_ns.is_some();
        says_something.then_some(access).into_iter().collect()
    }

    /// Distances between nodes: by row, the distance to each.
    fn distances(&self) -> SortedMap<u32, BTreeMap<u32, u32>> {
        let mut tables =
            (0..self.elements.len()).filter_map(|index| match self.element(index).name.as_str() {
                "distances2" => self.distances_2(index),
                "distances" => self.distances_1(index),
                _ => None,
            });
        let Some((ids, values)) = tables.next() else { return SortedMap::new() };
        let row = |(id, row): (&u32, &[u32])| (*id, ids.iter().copied().zip(row.iter().copied()).collect());
        ids.iter().zip(values.chunks(ids.len().max(1))).map(row).collect()
    }

    /// Formats 2 and 3: numbers in text, by the operating system's numbers.
    fn distances_2(&self, table: usize) -> Option<(Vec<u32>, Vec<u32>)> {
        let element = self.element(table);
        let wanted = element.get("type") == Some("NUMANode") && element.get("indexing") == Some("os");
        let latency = element.get("name").is_none_or(|name| name == "NUMALatency");
        let numbers = |name: &str| -> Option<Vec<u32>> {
            let texts = self.children(table, name).map(|child| child.text.as_str());
            texts.flat_map(str::split_whitespace).map(|word| word.parse().ok()).collect()
        };
        let (ids, values) = (numbers("indexes")?, numbers("u64values")?);
        (wanted && latency && ids.len() * ids.len() == values.len()).then_some((ids, values))
    }

    /// Format 1: multiples of a base, in the order of the nodes in the file.
    fn distances_1(&self, table: usize) -> Option<(Vec<u32>, Vec<u32>)> {
        let base: f64 = self.element(table).number("latency_base")?;
        let ids: Vec<u32> = self.objects("NUMANode").filter_map(|object| self.id(object)).collect();
        let value = |element: &Element| {
            let distance = (element.number::<f64>("value")? * base).round();
            (1.0..=f64::from(u16::MAX)).contains(&distance).then_some(distance as u32)
        };
        let values = self.children(table, "latency").map(value).collect::<Option<Vec<u32>>>()?;
        (ids.len() * ids.len() == values.len()).then_some((ids, values))
    }

    fn devices(&self, nodes: &[Node]) -> Vec<Device> {
        let format_3 = self.elements.iter().any(|element| {
            element.name == "topology" && element.get("version").is_some_and(|text| text.starts_with('3'))
        });
        let mut devices: Vec<Device> = Vec::new();
        for object in self.objects("OSDev") {
            let element = self.element(object);
            let (Some(name), Some(kind)) = (element.get("name"), element.number("osdev_type")) else {
                continue;
            };
            let Some(class) = class_of(kind, format_3, name, element.get("subtype")) else { continue };
            let address = self.around(object, "PCIDev").and_then(|pci| self.element(pci).get("pci_busid"));
            devices.push(self.device(object, class, name, address, nodes));
        }
        for object in self.objects("PCIDev") {
            let element = self.element(object);
            let Some(address) = element.get("pci_busid") else { continue };
            let mut device = self.device(object, "pci", address, Some(address), nodes);
            // `0208 [8086:24f0] [8086:24f0] 11`
            let mut words = element.get("pci_type").unwrap_or_default().split_whitespace();
            device.pci_class = words.next().map(str::to_owned);
            device.pci_id = words
                .next()
                .map(|id| id.trim_matches(['[', ']']).to_owned())
                // hwloc writes zeros for what it could not read.
                .filter(|id| id != "0000:0000");
            devices.push(device);
        }
        sort_by(&mut devices, |a, b| {
            ((a.class == "pci"), &a.class, &a.name).cmp(&((b.class == "pci"), &b.class, &b.name))
        });
        devices
    }

    fn device(
        &self,
        object: usize,
        class: &str,
        name: &str,
        address: Option<&str>,
        nodes: &[Node],
    ) -> Device {
        // The nearest object around it that has CPUs says where it is.
        let mut above = self.element(object).parent;
        while let Some(index) = above.filter(|index| self.element(*index).get("cpuset").is_none()) {
            above = self.element(index).parent;
        }
        let cpus = above.and_then(|index| self.set(index, "cpuset"));
        let mut near = nodes.iter().filter(|node| cpus.iter().flatten().any(|cpu| node.cpus.contains(cpu)));
        let first = near.next().filter(|_| near.next().is_none() && nodes.len() > 1);
        Device {
            class: class.to_owned(),
            name: name.to_owned(),
            address: address.map(str::to_owned),
            node: first.map(|node| node.id),
            cpus,
            pci_class: None,
            pci_id: None,
        }
    }
}

/// Turns the CPUs among the initiators into the nodes they belong to.
fn name_initiators(nodes: &mut [Node]) {
    let owners: SortedMap<u32, u32> =
        nodes.iter().flat_map(|node| node.cpus.iter().map(|cpu| (*cpu, node.id))).collect();
    for access in nodes.iter_mut().flat_map(|node| &mut node.access) {
        let named: SortedSet<u32> =
            access.initiators.iter().filter_map(|cpu| owners.get(cpu).copied()).collect();
        access.initiators = named.into_vec();
    }
}

/// The kernel's class of hwloc's type of device: a number in formats 1 and 2, bits in 3. What it found by other
/// libraries (CUDA, OpenCL) is no device of the kernel's.
fn class_of(kind: u32, format_3: bool, name: &str, subtype: Option<&str>) -> Option<&'static str> {
    const NUMBERS: [&str; 4] = ["block", "drm", "net", "infiniband"];
    let class = match (format_3, kind) {
        (false, number) => *NUMBERS.get(number as usize)?,
        (true, bits) if bits & 1 << 5 != 0 => "infiniband",
        (true, bits) if bits & 1 << 4 != 0 => "net",
        (true, bits) if bits & 1 << 2 != 0 => "drm",
        (true, bits) if bits & 1 != 0 => "block",
        _ => return None,
    };
    let of_kernel = match class {
        "drm" => name.starts_with("card") || name.starts_with("render") || name.starts_with("controlD"),
        "block" => subtype != Some("CXLMem") && !name.starts_with("dax"),
        _ => true,
    };
    of_kernel.then_some(class)
}

/// hwloc's bitmaps: words of 32 bits in hexadecimal, the highest first, a word of zeros may be empty. One that has no
/// end (`0xf...f`) is not known.
fn bitmap(text: &str) -> Option<Vec<u32>> {
    const MOST_WORDS: usize = 1 << 15;
    let mut numbers = Vec::new();
    let words: Vec<&str> = text.trim().rsplit(',').collect();
    for (index, word) in words.iter().enumerate() {
        let word = word.trim();
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let bits = if digits.is_empty() { 0 } else { u32::from_str_radix(digits, 16).ok()? };
        let base = u32::try_from(index).ok().filter(|_| index < MOST_WORDS)? * 32;
        numbers.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| base + bit));
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::bitmap;

    #[test]
    fn bitmaps_of_all_formats() {
        assert_eq!(bitmap("0x00000003,0x80000000"), Some(vec![31, 32, 33]));
        assert_eq!(bitmap("0x1,,0x2"), Some(vec![1, 64]));
        assert_eq!(bitmap("0x0"), Some(vec![]));
        for text in ["0xf...f", "0x100000000", "x", "0x-1"] {
            assert_eq!(bitmap(text), None, "{text}");
        }
        assert_eq!(bitmap(&",".repeat(1 << 20)), None);
    }
}
