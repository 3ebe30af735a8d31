//! What the machine runs on: the product, the hypervisor, and whether freed memory goes back to a host.

use crate::reader::Reader;
use firsttouch_linux::sysinfo;

const VIRTIO: &str = "sys/bus/virtio/devices";
const BALLOON: &str = "0x0005";
/// Bit of the balloon's features: it reports free pages to the host.
const REPORTING: usize = 5;
/// Sizes of blocks that the page allocator has, where `/proc/buddyinfo` does not list them.
const ORDERS: u64 = 11;

pub(crate) struct Host {
    pub(crate) product: Option<String>,
    pub(crate) virtual_machine: Option<bool>,
    pub(crate) hypervisor: Option<String>,
    pub(crate) free_page_reporting: Option<bool>,
}

impl Host {
    pub(crate) fn read(reader: &Reader<'_>, cpuinfo: Option<&str>) -> Host {
        let vendor = reader.word("sys/class/dmi/id/sys_vendor");
        let product = reader.word("sys/class/dmi/id/product_name");
        let hypervisor = reader
            .word("sys/hypervisor/type")
            .or_else(|| known_product(vendor.as_deref()?, product.as_deref()));
        let flagged = cpuinfo.and_then(|text| sysinfo::cpu_flag(text, "hypervisor"));
        let parts: Vec<String> = [vendor, product].into_iter().flatten().collect();
        Host {
            product: (!parts.is_empty()).then(|| parts.join(" ")),
            virtual_machine: flagged.or(hypervisor.is_some().then_some(true)),
            hypervisor,
            free_page_reporting: free_page_reporting(reader),
        }
    }
}

/// Names that hypervisors give the machines they make.
fn known_product(vendor: &str, product: Option<&str>) -> Option<String> {
    let name = match (vendor, product.unwrap_or_default()) {
        ("QEMU", _) => "QEMU",
        ("VMware, Inc.", _) => "VMware",
        ("Xen", _) => "Xen",
        ("innotek GmbH", _) => "VirtualBox",
        ("Microsoft Corporation", "Virtual Machine") => "Hyper-V",
        ("Google", "Google Compute Engine") => "Google Compute Engine",
        ("Amazon EC2", name) if !name.ends_with(".metal") => "Amazon EC2",
        _ => return None,
    };
    Some(name.to_owned())
}

/// The hypervisor behind the twelve letters it shows its guests; unknown letters are their own name.
pub(crate) fn known_signature(signature: &str) -> &str {
    match signature {
        "KVMKVMKVM" => "KVM",
        "Linux KVM Hv" => "KVM (as Hyper-V)",
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "XenVMMXenVMM" => "Xen",
        "VBoxVBoxVBox" => "VirtualBox",
        "TCGTCGTCGTCG" => "QEMU in software emulation",
        "bhyve bhyve" => "bhyve",
        other => other,
    }
}

/// `None` when neither the module's parameter nor the virtio bus can be seen.
fn free_page_reporting(reader: &Reader<'_>) -> Option<bool> {
    // Until a driver registers the parameter is no block's order: -1 as an unsigned number or, as of Linux 6.1, the number of orders.
    if reader
        .number::<u64>("sys/module/page_reporting/parameters/page_reporting_order")
        .is_some_and(|order| order < orders(reader).unwrap_or(ORDERS))
    {
        return Some(true);
    }
    let balloon_reports = |device: &String| {
        reader.word(&format!("{VIRTIO}/{device}/device")).as_deref() == Some(BALLOON)
            && reader
                .text(&format!("{VIRTIO}/{device}/features"))
                .and_then(|features| sysinfo::virtio_feature(&features, REPORTING))
                == Some(true)
    };
    if reader.names(VIRTIO).iter().any(balloon_reports) {
        return Some(true);
    }
    (reader.root.has("sys/module") || reader.root.has(VIRTIO)).then_some(false)
}

/// A column for each, after the name of the zone.
fn orders(reader: &Reader<'_>) -> Option<u64> {
    let text = reader.text("proc/buddyinfo")?;
    let (_, of_zone) = text.lines().next()?.split_once(", zone ")?;
    u64::try_from(of_zone.split_whitespace().skip(1).count()).ok()
}
