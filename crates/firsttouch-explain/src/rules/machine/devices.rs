//! Devices: how they are connected, and where.

use super::{Found, noted};
use firsttouch_linux::cpulist::format_list;
use firsttouch_sorted::SortedSet;

const PCI: &str = "sys/bus/pci/devices";

pub(super) fn find(found: &mut Found<'_>) {
    links(found);
    without_node(found);
    adapters(found);
}

/// Storage, network, display and accelerators: what moves so much that the link matters.
fn is_fast(class: u64) -> bool {
    matches!(class >> 16, 0x01 | 0x02 | 0x03 | 0x12)
}

fn class(found: &Found<'_>, device: &str) -> Option<u64> {
    let text = found.text(&format!("{PCI}/{device}/class"))?;
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// The devices of the bus, by address.
fn all<'a>(found: &Found<'a>) -> Vec<&'a str> {
    found
        .evidence
        .settings
        .between("sys/bus/pci/devices/", "/class")
        .into_iter()
        .map(|(device, _)| device)
        .collect()
}

/// What a link could do and does. Graphics cards and accelerators slow theirs down while they have nothing to do, so of them only
/// lanes count. Links of virtual machines are made up.
fn links(found: &mut Found<'_>) {
    if found.evidence.report.machine.virtual_machine != Some(false) {
        return;
    }
    for device in all(found) {
        let Some(class) = class(found, device).filter(|class| is_fast(*class)) else { continue };
        let text = |name: &str| found.text(&format!("{PCI}/{device}/{name}"));
        let lanes = |name: &str| text(name)?.parse::<u32>().ok();
        // "8.0 GT/s PCIe": tenths of it as a number.
        let speed = |name: &str| {
            let word = text(name)?.split(' ').next()?;
            word.parse::<f64>().ok().map(|speed| (speed * 10.0).round() as u64)
        };
        let fewer = match (lanes("current_link_width"), lanes("max_link_width")) {
            // 0 lanes: no link at all, an integrated device; 255: the device was asked while it slept.
            (Some(now), Some(most)) => now > 0 && now < most && most <= 32,
            _ => false,
        };
        let slower = match (speed("current_link_speed"), speed("max_link_speed")) {
            (Some(now), Some(most)) => now < most && matches!(class >> 16, 0x01 | 0x02),
            _ => false,
        };
        if !fewer && !slower {
            continue;
        }
        let word = |name: &str| text(name).unwrap_or("?").to_owned();
        let now = format!("x{} at {}", word("current_link_width"), word("current_link_speed"));
        let most = format!("x{} at {}", word("max_link_width"), word("max_link_speed"));
        let what = format!("the link of device {device} is slower than the device ({now} of {most})");
        let effect = "transfers to and from it have that part of their bandwidth, wherever memory lies";
        found.add(
            noted("pcie-slow-link", what, effect)
                .proof(format!("/{PCI}/{device}/current_link_width"), word("current_link_width"))
                .proof(format!("/{PCI}/{device}/current_link_speed"), word("current_link_speed"))
                .remedy(format!("sudo lspci -vv -s {device} | grep -e LnkCap -e LnkSta   # then another slot, or seat it anew")),
        );
    }
}

/// On machines with several nodes each device is next to one of them; firmware that does not say so is at fault.
fn without_node(found: &mut Found<'_>) {
    let machine = &found.evidence.report.machine;
    if machine.nodes.iter().filter(|node| !node.cpus.is_empty()).count() < 2 {
        return;
    }
    let fast: Vec<&str> =
        all(found).into_iter().filter(|device| class(found, device).is_some_and(is_fast)).collect();
    let lost: Vec<&str> = fast
        .iter()
        .copied()
        .filter(|device| found.text(&format!("{PCI}/{device}/numa_node")) == Some("-1"))
        .collect();
    let Some(first) = lost.first() else { return };
    let what = format!("the firmware does not say which node devices are next to: {}", lost.join(", "));
    let effect = "neither the kernel nor `--near` can put their memory and interrupts next to them";
    found.add(
        noted("device-without-node", what, effect)
            .proof(format!("/{PCI}/{first}/numa_node"), "-1")
            .remedy(format!("echo NODE | sudo tee /{PCI}/{first}/numa_node   # the board's manual says which; or new firmware")),
    );
}

fn adapters(found: &mut Found<'_>) {
    const FOLDER: &str = "sys/class/infiniband";
    let mut active: SortedSet<&str> = SortedSet::new();
    let settings = &found.evidence.settings;
    for (between, state) in settings.between("sys/class/infiniband/", "/state") {
        let Some((adapter, port)) = between.split_once("/ports/") else { continue };
        if state.contains("ACTIVE") {
            active.insert(adapter);
            continue;
        }
        // A port without a cable is left alone; one whose link is up and that does not work lacks something.
        let physical =
            settings.text(&format!("{FOLDER}/{adapter}/ports/{port}/phys_state")).unwrap_or_default();
        if !physical.contains("LinkUp") {
            continue;
        }
        let what = format!("port {port} of adapter {adapter} has a link, and is not in service");
        let effect = "MPI, libfabric and UCX leave it out, and take another adapter or TCP without a word";
        let finding = noted("infiniband-down", what, effect)
            .proof(format!("/{FOLDER}/{adapter}/ports/{port}/state"), state)
            .proof(format!("/{FOLDER}/{adapter}/ports/{port}/phys_state"), physical);
        found.findings.push(
            finding.remedy(
                "ibstat   # INIT: no subnet manager answers: sudo systemctl start opensm on one host",
            ),
        );
    }
    without_verbs(found, &active);
    let nodes: SortedSet<u64> = active
        .iter()
        .filter_map(|adapter| settings.number(&format!("{FOLDER}/{adapter}/device/numa_node")))
        .collect();
    if active.len() < 2 || nodes.len() < 2 {
        return;
    }
    let nodes: Vec<u32> = nodes.into_iter().filter_map(|node| u32::try_from(node).ok()).collect();
    let names = active.iter().copied().collect::<Vec<_>>().join(", ");
    let what = format!("there are several network adapters, on nodes {}: {names}", format_list(&nodes));
    let effect =
        "libraries may choose one on another node than the process, and its traffic crosses the machine";
    let first = active.first().copied().unwrap_or_default();
    found.add(
        noted("several-adapters", what, effect)
            .proof(format!("/{FOLDER}/*/device/numa_node"), format_list(&nodes))
            .remedy(format!("firsttouch run --near {first} -- PROGRAM, with UCX_NET_DEVICES={first}:1")),
    );
}

/// Adapters that work, and that no program can open: libfabric's providers for them, UCX and MPI's own transports are all built on the
/// kernel's user verbs (Documentation/infiniband/user_verbs.rst).
fn without_verbs(found: &mut Found<'_>, active: &SortedSet<&str>) {
    let settings = &found.evidence.settings;
    let (Some(first), Some(modules)) = (active.first(), settings.text("proc/modules")) else { return };
    let is_loaded = modules.lines().any(|line| line.starts_with("ib_uverbs "));
    if is_loaded || settings.has("sys/class/infiniband_verbs/") {
        return;
    }
    let what =
        format!("adapter {first} is in service, and programs have no way to it: ib_uverbs is not loaded");
    let effect = "the providers of libfabric (verbs, psm3, efa), UCX and MPI cannot use it, and take TCP without a word";
    found.add(
        noted("verbs-missing", what, effect)
            .proof("/proc/modules", "no ib_uverbs")
            .remedy("sudo modprobe ib_uverbs   # at every boot: the package rdma-core; then fi_info -l lists its provider"),
    );
}
