//! Machines from archives, from hwloc's XML and from descriptions.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod written;

use firsttouch_machine::{
    ArchiveError, Machine, MemoryKind, Root, Source, SourceError, SyntheticError, XmlError,
};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use written::devices::four_nodes;
use written::{Written, cpuid, two_nodes};

fn xml(text: &str) -> Result<Machine, SourceError> {
    Source::HwlocXml(PathBuf::from("test.xml"), text.to_owned()).machine()
}

fn described(text: &str) -> Machine {
    Machine::from_source(text).unwrap()
}

fn refused(text: &str) -> SyntheticError {
    match Machine::from_source(text) {
        Err(SourceError::Synthetic(error)) => error,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn an_archive_is_the_machine_it_was_made_of() {
    let machine = two_nodes();
    let expected = Machine::read(&Root::at(machine.path())).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    builder.follow_symlinks(false);
    builder.append_dir_all("recorded-machine", machine.path()).unwrap();
    let plain = builder.into_inner().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(&plain).unwrap();
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    xz.write_all(&plain).unwrap();
    let packed = [
        ("m.tar", plain),
        ("m.tar.gz", gzip.finish().unwrap()),
        ("m.tar.bz2", bzip2.finish().unwrap()),
        ("m.tar.xz", xz.finish().unwrap()),
    ];
    for (name, bytes) in packed {
        let file = folder.path().join(name);
        fs::write(&file, &bytes).unwrap();
        assert_eq!(described(file.to_str().unwrap()), expected, "{name}");
        // Half of it is damaged, and says so; half of a plain one may be a whole one.
        if name == "m.tar" {
            continue;
        }
        fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        assert!(
            matches!(Machine::from_source(file.to_str().unwrap()), Err(SourceError::Archive { .. })),
            "{name}"
        );
    }
    assert_eq!(described(machine.path().to_str().unwrap()), expected, "the folder itself");
}

#[test]
fn files_of_other_kinds_say_what_they_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        Machine::from_source(path.to_str().unwrap()).unwrap_err()
    };
    assert!(matches!(file("text", b"hello"), SourceError::OtherFile(_)));
    assert!(matches!(file("empty", b""), SourceError::OtherFile(_)));
    assert!(matches!(
        file("page.html", b"<html></html>"),
        SourceError::Xml { source: XmlError::NotHwloc, .. }
    ));
    for missing in ["/no/such/machine", "no-such.xml", "recorded.tar.xz", "./x"] {
        let error = Machine::from_source(missing).unwrap_err();
        assert!(
            matches!(&error, SourceError::NoFile(path) if path == Path::new(missing)),
            "{missing}: {error}"
        );
        assert!(error.hint().is_some());
    }
}

/// An archive of these folders, and of files in them.
fn archive(folders: &[(&str, &Written)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    builder.follow_symlinks(false);
    for (name, machine) in folders {
        builder.append_dir_all(name, machine.path()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn answers(files: &cpuid::Files) -> Written {
    let machine = Written::new();
    for (name, text) in files {
        machine.file(name, text);
    }
    machine
}

#[test]
fn of_several_machines_in_an_archive_one_is_named() {
    let (two, four) = (two_nodes(), four_nodes());
    let nehalem = answers(&cpuid::nehalem());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.tar.bz2");
    let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    let bytes = archive(&[("all/two", &two), ("all/four", &four), ("old/two", &two), ("asked", &nehalem)]);
    packed.write_all(&bytes).unwrap();
    fs::write(&file, packed.finish().unwrap()).unwrap();
    let file = file.to_str().unwrap();
    let named = |machine: &str| Machine::from_source(&format!("{file}:{machine}"));
    let error = Machine::from_source(file).unwrap_err();
    let SourceError::Archive { source: ArchiveError::Several(machines), .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(machines.to_string(), "all/four, all/two, asked, old/two");
    assert_eq!(error.hint().unwrap(), format!("name one of them behind the file: {file}:all/four"));
    // By its path, or by the end of its path where that is enough.
    let read = |machine: &Written| Machine::read(&Root::at(machine.path())).unwrap();
    assert_eq!(named("all/two").unwrap(), read(&two));
    assert_eq!(named("./old//two/").unwrap(), read(&two));
    assert_eq!(named("four").unwrap(), read(&four));
    assert_eq!(named("asked").unwrap(), Machine::from_source(nehalem.path().to_str().unwrap()).unwrap());
    let error = named("two").unwrap_err();
    assert!(
        matches!(&error, SourceError::Archive { source: ArchiveError::Several(machines), .. } if machines.to_string() == "all/two, old/two"),
        "{error:?}"
    );
    for other in ["three", "all", "our", "all/four/sys", "asked:"] {
        let error = named(other).unwrap_err();
        let SourceError::Archive { source, .. } = &error else { panic!("{error:?}") };
        assert_eq!(
            source.to_string(),
            format!("it holds no machine {other}; it holds all/four, all/two, asked, old/two")
        );
        assert!(error.hint().unwrap().ends_with("m.tar.bz2:all/four"));
    }
    let error = named("../two").unwrap_err();
    assert!(matches!(&error, SourceError::Archive { source: ArchiveError::Outside(_), .. }), "{error:?}");
    // What is not there is a file that was meant, and a file of another kind has nothing in it.
    let missing = Machine::from_source("no-such.tar.gz:two").unwrap_err();
    assert!(matches!(&missing, SourceError::NoFile(_)), "{missing:?}");
    let xml = folder.path().join("m.xml");
    fs::write(&xml, FORMAT_1).unwrap();
    let error = Machine::from_source(&format!("{}:two", xml.display())).unwrap_err();
    assert!(matches!(&error, SourceError::NotInside { .. }), "{error:?}");
    assert!(error.hint().unwrap().ends_with("m.xml"));
}

#[test]
fn what_lies_inside_or_beside_a_machine_is_no_other_one() {
    let (two, nehalem) = (two_nodes(), answers(&cpuid::nehalem()));
    let expected = Machine::read(&Root::at(two.path())).unwrap();
    let of = |machine: Option<&str>, folders: &[(&str, &Written)]| {
        let bytes = archive(folders);
        Source::of_stream(Path::new("m.tar"), machine.map(Path::new), bytes.as_slice())?.machine()
    };
    // As hwloc records both; a folder that is only called so; a machine inside a machine's folder.
    let other = Written::new();
    other.file("sys/readme", "no machine");
    for folders in [
        [("m", &two), ("m/cpuid", &nehalem)],
        [("m/fsroot", &two), ("m/cpuid", &nehalem)],
        [("m", &two), ("n", &other)],
        [("m", &two), ("m/sys/devices/m", &two)],
        [("", &two), ("n", &nehalem)],
    ] {
        assert_eq!(of(None, &folders).unwrap(), expected, "{:?}", folders.map(|(name, _)| name));
    }
    let of_answers = Machine::from_source(nehalem.path().to_str().unwrap()).unwrap();
    assert_eq!(of(Some("m/cpuid"), &[("m", &two), ("m/cpuid", &nehalem)]).unwrap(), of_answers);
    assert_eq!(of(None, &[("cpuid", &nehalem)]).unwrap(), of_answers);
    two.file("hwloc-cpuid-info", "Architecture: x86\n");
    assert_eq!(of(None, &[("m", &two)]).unwrap(), expected);
    assert_eq!(Machine::from_source(two.path().to_str().unwrap()).unwrap(), expected);
    let error = of(None, &[("m", &two), ("n", &nehalem)]).unwrap_err();
    assert!(matches!(error, SourceError::Archive { source: ArchiveError::Several(_), .. }), "{error:?}");
    // Many are counted, not listed.
    let names: Vec<String> = (10..50).map(|number| format!("m{number}")).collect();
    let many: Vec<(&str, &Written)> = names.iter().map(|name| (name.as_str(), &two)).collect();
    let error = of(None, &many).unwrap_err();
    let SourceError::Archive { source, .. } = &error else { panic!("{error:?}") };
    let said = source.to_string();
    assert!(said.starts_with("it holds 40 machines: m10, ") && said.ends_with(", m25 and 24 more"), "{said}");
}

#[test]
fn the_machine_of_the_shortest_path_document() {
    let machine = described("pack:4 [numa] l3:1 core:6 pu:1");
    assert_eq!((machine.cpus_online, machine.cores.len(), machine.packages.len()), (Some(24), 24, 4));
    assert_eq!(machine.nodes.iter().map(|node| node.cpus.len()).collect::<Vec<_>>(), [6; 4]);
    assert_eq!(machine.nodes[3].cpus, [18, 19, 20, 21, 22, 23]);
    assert_eq!(machine.cpus[7].node, Some(1));
    assert_eq!((machine.nodes[0].size_bytes, machine.memory_bytes), (Some(1 << 30), Some(4 << 30)));
    assert_eq!(machine.nodes[0].kind, Some(MemoryKind::Dram));
    assert_eq!(machine.caches.len(), 4);
}

#[test]
fn attributes_of_descriptions() {
    let machine = described(
        "pack:2(indexes=4,9) [numa(memory=2GiB indexes=3,1)] l2:1(size=512kB) core:2 pu:2(indexes=0,4,1,5,2,6,3,7)",
    );
    assert_eq!(machine.packages.iter().map(|package| package.id).collect::<Vec<_>>(), [4, 9]);
    let nodes: Vec<_> =
        machine.nodes.iter().map(|node| (node.id, node.cpus.clone(), node.size_bytes)).collect();
    assert_eq!(nodes, [(1, vec![2, 3, 6, 7], Some(2 << 30)), (3, vec![0, 1, 4, 5], Some(2 << 30))]);
    assert_eq!(machine.caches[0].size_bytes, Some(512_000));
    assert_eq!(machine.cores[0].cpus, [0, 4]);
    // Counting cores first, then packages, then threads.
    let machine = described("pack:2 core:2 pu:2(indexes=core:pack)");
    assert_eq!(machine.cores[0].cpus, [0, 4]);
    assert_eq!(machine.packages[0].cpus, [0, 1, 4, 5]);
    assert_eq!(machine.nodes.len(), 1, "a machine has at least one node");
    let machine = described("[numa] pack:2 [numa] [numa] pu:1");
    let cpus: Vec<_> = machine.nodes.iter().map(|node| node.cpus.clone()).collect();
    assert_eq!(cpus, [vec![0], vec![], vec![1], vec![], vec![]], "a CPU belongs to the first of the nearest");
    let machine = described("(memory=1GB) node:2(memory=3GB memorysidecachesize=1GiB) pu:1");
    assert_eq!(machine.nodes[1].size_bytes, Some(3_000_000_000));
    assert_eq!(machine.nodes[1].side_caches[0].size_bytes, Some(1 << 30));
}

#[test]
fn bare_numbers_are_a_usual_machine() {
    let machine = described("2 3 4 5 6");
    assert_eq!((machine.packages.len(), machine.nodes.len(), machine.cores.len()), (2, 6, 120));
    assert_eq!(machine.cpus.len(), 720);
    assert_eq!(machine.caches.iter().filter(|cache| cache.level == 2).count(), 24);
}

#[test]
fn descriptions_that_are_wrong_say_where() {
    assert!(matches!(refused("pack:4 [numa] l9:1 pu:1"), SyntheticError::UnknownType(_)));
    assert!(matches!(refused("pack:0 pu:1"), SyntheticError::NoNumber(_)));
    assert!(matches!(refused("pack pu:1"), SyntheticError::NoNumber(_)));
    assert!(matches!(refused("pack:2 [core] pu:1"), SyntheticError::NotANode(_)));
    assert!(matches!(refused("pack:2 [numa pu:1"), SyntheticError::NotClosed(_)));
    assert!(matches!(refused("pack:2(size=1kB) pu:1"), SyntheticError::UnknownAttribute(_)));
    assert!(matches!(refused("node:2(memory=many) pu:1"), SyntheticError::NoSize(_)));
    assert!(matches!(refused("pu:4(indexes=0,0,1,2)"), SyntheticError::BadIndexes(_, 4)));
    assert!(matches!(refused("pu:4(indexes=0,1)"), SyntheticError::BadIndexes(_, 4)));
    assert!(matches!(refused("pack:2 pu:2(indexes=die)"), SyntheticError::BadIndexes(_, 4)));
    assert!(matches!(refused("core:2 core:2 pu:1"), SyntheticError::Repeated("cores")));
    assert!(matches!(refused("node:2 [numa] pu:1"), SyntheticError::Repeated("nodes")));
    assert!(matches!(refused("pack:2 2 pu:2"), SyntheticError::MixedTypes));
    assert!(matches!(refused("pack:2 core:2"), SyntheticError::NoCpus));
    assert!(matches!(refused(""), SyntheticError::NoCpus));
    assert!(matches!(refused("pack:9999 pu:9999"), SyntheticError::TooMuch));
    assert!(matches!(refused("99999999999999999999"), SyntheticError::NoNumber(_)));
    let text = refused("pack:4 rack:2 pu:1").to_string();
    assert!(text.starts_with("`rack:2 pu:1` begins with no type"), "{text}");
}

/// The KNL's shape in the first format: a node in the tree, one beside it, distances as multiples.
const FORMAT_1: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc.dtd">
<topology>
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000001f" online_cpuset="0x0000000f" allowed_cpuset="0x00000007" allowed_nodeset="0x00000003">
    <info name="OSRelease" value="3.10.0"/>
    <info name="DMISysVendor" value="Written"/>
    <object type="Socket" os_index="2" cpuset="0x0000000f">
      <info name="CPUModel" value="Written &amp; Co"/>
      <object type="NUMANode" os_index="0" cpuset="0x0000000f" local_memory="4096">
        <object type="Cache" cache_size="1048576" depth="2" cache_linesize="64" cache_associativity="16" cache_type="0" cpuset="0x0000000f">
          <object type="Core" os_index="0" cpuset="0x00000005"><object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="2" cpuset="0x4"/></object>
          <object type="Core" os_index="9" cpuset="0x0000000a"><object type="PU" os_index="1" cpuset="0x2"/><object type="PU" os_index="3" cpuset="0x8"/></object>
        </object>
      </object>
      <object type="NUMANode" os_index="1" cpuset="0x0" local_memory="8192"><info name="Type" value="MCDRAM"/></object>
    </object>
    <object type="Bridge" bridge_type="0-1">
      <object type="PCIDev" pci_busid="0000:02:00.0" pci_type="0207 [15b3:1013] [15b3:0013] 00">
        <object type="OSDev" name="ib0" osdev_type="2"/>
        <object type="OSDev" name="mlx5_0" osdev_type="3"/>
      </object>
    </object>
    <distances nbobjs="2" relative_depth="2" latency_base="10.000000">
      <latency value="1.000000"/><latency value="3.100000"/><latency value="3.100000"/><latency value="1.000000"/>
    </distances>
  </object>
</topology>"#;

#[test]
fn format_1_of_hwloc() {
    let machine = xml(FORMAT_1).unwrap();
    assert_eq!(machine.cpu_model.as_deref(), Some("Written & Co"));
    assert_eq!((machine.kernel.as_deref(), machine.product.as_deref()), (Some("3.10.0"), Some("Written")));
    let cpus: Vec<_> = machine.cpus.iter().map(|cpu| (cpu.id, cpu.online, cpu.package)).collect();
    assert_eq!(
        cpus,
        [(0, true, Some(2)), (1, true, Some(2)), (2, true, Some(2)), (3, true, Some(2)), (4, false, None)]
    );
    assert_eq!(machine.cores[1].cpus, [1, 3]);
    assert_eq!((machine.caches[0].ways, machine.caches[0].kind.as_deref()), (Some(16), Some("unified")));
    let fast = &machine.nodes[1];
    assert_eq!((fast.kind, fast.cpus.len(), fast.size_bytes), (Some(MemoryKind::Hbm), 0, Some(8192)));
    assert_eq!(fast.distances.as_ref().unwrap()[&0], 31);
    assert_eq!(machine.limits.allowed_cpus.as_deref(), Some([0, 1, 2].as_slice()));
    let devices: Vec<_> = machine
        .devices
        .iter()
        .map(|device| (device.class.as_str(), device.name.as_str(), device.address.as_deref()))
        .collect();
    let address = Some("0000:02:00.0");
    assert_eq!(
        devices,
        [("infiniband", "mlx5_0", address), ("net", "ib0", address), ("pci", "0000:02:00.0", address)]
    );
    assert_eq!(machine.devices[2].pci_id.as_deref(), Some("15b3:1013"));
}

#[test]
fn a_machine_with_one_node_may_be_that_node_or_have_none() {
    let package = r#"<object type="Package" os_index="0" cpuset="0x3"><object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="1" cpuset="0x2"/></object>"#;
    for kind in ["NUMANode", "Machine"] {
        let text = format!(
            r#"<topology><object type="{kind}" os_index="0" cpuset="0x3" complete_cpuset="0x3" local_memory="4096">{package}</object></topology>"#
        );
        let machine = xml(&text).unwrap();
        let nodes: Vec<_> =
            machine.nodes.iter().map(|node| (node.id, node.cpus.clone(), node.size_bytes)).collect();
        assert_eq!(nodes, [(0, vec![0, 1], Some(4096))], "{kind}");
    }
}

#[test]
fn packages_without_a_number_are_counted_in_the_order_of_their_cpus() {
    // As lstopo writes s390's: in the order of what the packages stand in.
    let package = |numbered: &str, cpu: u32| {
        let set = format!("cpuset=\"{:#x}\"", 1 << cpu);
        let inside =
            format!("<object type=\"Core\" {set}><object type=\"PU\" os_index=\"{cpu}\" {set}/></object>");
        format!("<object type=\"Package\" {numbered} {set}>{inside}</object>")
    };
    let packages = [package("", 0), package("", 3), package("os_index=\"5\"", 2), package("", 1)].concat();
    let text = format!(
        r#"<topology version="2.0"><object type="Machine" cpuset="0xf" complete_cpuset="0xf">{packages}</object></topology>"#
    );
    let machine = xml(&text).unwrap();
    let found: Vec<_> = machine.packages.iter().map(|one| (one.id, one.cpus.clone())).collect();
    assert_eq!(found, [(5, vec![2]), (6, vec![0]), (7, vec![1]), (8, vec![3])]);
    assert_eq!(machine.cores.iter().map(|core| core.package).collect::<Vec<_>>(), [6, 8, 5, 7].map(Some));
}

/// What formats 2 and 3 share; the version and the type of the device differ.
fn format_2_or_3(version: &str, osdev_type: &str) -> String {
    format!(
        r#"<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="{version}">
  <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x7" gp_index="1">
    <object type="Package" os_index="0" cpuset="0x3" nodeset="0x7" gp_index="2"><info name="CPUModel" value="Two"/>
      <object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1" gp_index="3" local_memory="1000"/>
      <object type="MemCache" cpuset="0x3" nodeset="0x2" cache_size="77" depth="1" cache_linesize="64" cache_type="0" gp_index="9">
        <object type="NUMANode" os_index="1" cpuset="0x3" nodeset="0x2" gp_index="4" local_memory="2000"/></object>
      <object type="NUMANode" subtype="GPUMemory" os_index="2" cpuset="0x1" nodeset="0x4" gp_index="5" local_memory="3000"/>
      <object type="Die" os_index="1" cpuset="0x3"><object type="Group" subtype="Cluster" cpuset="0x3">
      <object type="L1iCache" cpuset="0x1" cache_size="32768" depth="1" cache_linesize="64" cache_associativity="-1" cache_type="2"/>
      <object type="Core" os_index="0" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object>
      <object type="Core" os_index="1" cpuset="0x2"><object type="PU" os_index="1" cpuset="0x2"/></object></object></object>
      <object type="PCIDev" gp_index="50" pci_busid="0000:01:00.0" pci_type="0108 [144d:a808] [144d:a801] 00">
        <object type="OSDev" name="nvme0n1" osdev_type="{osdev_type}"/></object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="3" kind="5" name="NUMALatency" indexing="os">
    <indexes length="6">0 1 2 </indexes><u64values length="9">10 20 40 20 10 </u64values><u64values length="9">30 40 30 10 </u64values>
  </distances2>
  <memattr name="Bandwidth" flags="5">
    <memattr_value target_obj_type="NUMANode" target_obj_gp_index="3" value="100000" initiator_cpuset="0x3"/>
    <memattr_value target_obj_type="NUMANode" target_obj_gp_index="4" value="9000" initiator_cpuset="0x3"/>
  </memattr>
  <memattr name="Latency" flags="6">
    <memattr_value target_obj_type="NUMANode" target_obj_gp_index="3" value="80" initiator_cpuset="0x3"/>
  </memattr>
  <cpukind cpuset="0x2" forced_efficiency="0"><info name="CoreType" value="IntelAtom"/></cpukind>
  <cpukind cpuset="0x1" forced_efficiency="1"><info name="CoreType" value="IntelCore"/></cpukind>
</topology>"#
    )
}

#[test]
fn formats_2_and_3_of_hwloc() {
    let machine = xml(&format_2_or_3("2.0", "0")).unwrap();
    assert_eq!(xml(&format_2_or_3("3.0", "1")).unwrap(), machine);
    let nodes: Vec<_> = machine.nodes.iter().map(|node| (node.id, node.cpus.clone(), node.kind)).collect();
    assert_eq!(
        nodes,
        [
            (0, vec![0, 1], Some(MemoryKind::Dram)),
            (1, vec![], Some(MemoryKind::Cxl)),
            (2, vec![], Some(MemoryKind::Gpu)),
        ]
    );
    assert_eq!(machine.nodes[1].side_caches[0].size_bytes, Some(77));
    assert_eq!(machine.nodes[1].distances.as_ref().unwrap()[&2], 30);
    let access = machine.nodes[0].speed_from_cpus().unwrap();
    assert_eq!(
        (access.read_bandwidth_bytes_per_s, access.read_latency_ns),
        (Some(100_000_000_000), Some(80))
    );
    assert_eq!(access.initiators, [0]);
    assert_eq!(
        machine.core_kinds.iter().map(|kind| kind.name.as_str()).collect::<Vec<_>>(),
        ["performance", "efficient"]
    );
    assert_eq!((machine.dies.len(), machine.clusters.len()), (1, 1));
    assert_eq!(
        (machine.cpus[1].die, machine.cpus[1].cluster, machine.cpus[1].core),
        (Some(0), Some(0), Some(1))
    );
    assert_eq!((machine.caches[0].ways, machine.caches[0].level), (Some(0), 1));
    assert_eq!((machine.devices[0].class.as_str(), machine.devices[0].node), ("block", Some(0)));
}

#[test]
fn xml_that_is_no_topology() {
    let is = |text: &str, wanted: fn(&XmlError) -> bool| match xml(text) {
        Err(SourceError::Xml { source, .. }) if wanted(&source) => {}
        other => panic!("{text:.60}: {other:?}"),
    };
    is("", |error| matches!(error, XmlError::NotHwloc));
    is("<topology></topology>", |error| matches!(error, XmlError::NotHwloc));
    is("<topology><object type=\"Machine\"/></topology>", |error| matches!(error, XmlError::NotHwloc));
    is("<topology><object", |error| matches!(error, XmlError::Malformed { .. }));
    is("<a></b>", |error| matches!(error, XmlError::Malformed { .. }));
    is("<a><b>", |error| matches!(error, XmlError::Unfinished(_)));
    is(&"<a>".repeat(100_000), |error| matches!(error, XmlError::TooMuch));
    // Entities of its own are never expanded.
    let bomb = r#"<!DOCTYPE t [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><topology><object type="&b;"/></topology>"#;
    is(bomb, |error| matches!(error, XmlError::Malformed { .. }));
}
