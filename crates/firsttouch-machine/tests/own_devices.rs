//! From a process to the devices that it uses, on trees written as the kernel lays them out, and on this machine.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../../../tests/skipped.rs"]
mod skipped;
mod written;

use firsttouch_machine::{Machine, NoOwnPlace, OwnDevice, OwnDevices, OwnDevicesError, OwnPlace, Root};
use skipped::skipped;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use written::Written;
use written::devices::pci;
use written::process::{machine, open, sockets};

fn read(written: &Written) -> (Machine, OwnDevices) {
    let root = Root::at(written.path());
    let machine = Machine::read(&root).unwrap();
    let own = machine.own_devices(&root, 7).unwrap();
    (machine, own)
}

fn names(own: &OwnDevices) -> Vec<&str> {
    own.devices.iter().map(|device| device.name.as_str()).collect()
}

fn device<'a>(own: &'a OwnDevices, name: &str) -> &'a OwnDevice {
    own.devices.iter().find(|device| device.name == name).unwrap_or_else(|| panic!("no {name}: {own:?}"))
}

#[test]
fn open_files_lead_to_the_disks_below_their_mounts() {
    let written = machine();
    open(&written, 3, "/data/x", 23, 10);
    open(&written, 4, "/data/big", 23, 500);
    open(&written, 5, "/dev/shm/y", 25, 10);
    let (machine, own) = read(&written);
    assert_eq!(names(&own), ["nvme0n1p1"]);
    let disk = device(&own, "nvme0n1p1");
    assert_eq!(disk.how, ["open file /data/big", "open file /data/x"]);
    assert_eq!(disk.layers, ["nvme0n1p1", "nvme0n1", "0000:05:00.0"]);
    assert_eq!((disk.nodes.as_slice(), disk.cpus.as_slice(), disk.bytes), (&[1][..], &[2, 3][..], Some(510)));
    assert!(own.unknown.is_empty(), "{own:?}");
    let OwnPlace { near, devices, why } = own.place(&machine, 7).unwrap();
    assert_eq!((near.nodes, near.cpus, near.device.as_str()), (vec![1], vec![2, 3], "nvme0n1p1"));
    assert_eq!(devices, ["nvme0n1p1"]);
    assert_eq!(why, "its devices (nvme0n1p1) are next to node 1");
}

#[test]
fn stacks_and_layers_are_followed() {
    let written = machine();
    open(&written, 3, "/wide disk/x", 24, 10);
    let (machine, own) = read(&written);
    assert_eq!(device(&own, "md0").nodes, [0, 1]);
    assert_eq!(own.place(&machine, 7).unwrap().near.nodes, [0, 1], "all its devices are at both");
    open(&written, 4, "/merged/x", 27, 10);
    assert_eq!(names(&read(&written).1), ["md0", "nvme0n1p1"], "where the overlay writes");
    open(&written, 5, "/pool/x", 26, 10);
    let own = read(&written).1;
    assert_eq!(names(&own), ["md0", "nvme0n1p1", "nvme1n1p1"], "every disk of the pool");
    assert_eq!(device(&own, "nvme0n1p1").how.len(), 2);
}

#[test]
fn what_cannot_be_followed_is_told() {
    let written = machine();
    open(&written, 3, "/home/x", 28, 10);
    open(&written, 4, "/elsewhere/x", 99, 10);
    sockets(&written, &[("070000C6:0016", "00000000:0000")]);
    let (machine, own) = read(&written);
    assert!(own.devices.is_empty());
    assert_eq!(
        own.unknown,
        [
            "open file /home/x: nfs4 on server:/home stands on no disk that is known here",
            "listening on 198.0.0.7 port 22: no route is known that it goes by",
        ]
    );
    let error = own.place(&machine, 7).unwrap_err();
    assert!(matches!(&error, NoOwnPlace::NoDevice { unknown, .. } if unknown.len() == 2), "{error}");
    assert!(error.hint().contains("--node"));
    pci(&written, "0000:0b:00.0", -1, "0-4");
    written.link("proc/7/fd/9", "/sys/devices/pci0000:00/0000:0b:00.0/resource0");
    let (machine, own) = read(&written);
    assert_eq!(names(&own), ["0000:0b:00.0"]);
    let error = own.place(&machine, 7).unwrap_err().to_string();
    assert!(error.contains("0000:0b:00.0: the firmware does not say"), "{error}");
}

#[test]
fn mapped_data_counts_and_what_is_installed_does_not() {
    let written = machine();
    let line = |range: &str, flags: &str, device: &str, name: &str| {
        format!("{range} {flags} 00000000 {device} 77                    {name}\n")
    };
    let maps = [
        line("10000000-10002000", "r--p", "103:03", "/opt/own/libown.so"),
        line("10002000-10004000", "r-xp", "103:03", "/opt/own/libown.so"),
        line("10004000-10006000", "r--p", "103:03", "/usr/lib/locale/C.utf8/LC_CTYPE"),
        line("20000000-20100000", "r--s", "103:01", "/data/table"),
        line("20100000-20200000", "r--s", "103:01", "/data/table"),
        line("30000000-30001000", "rw-s", "00:06", "/dev/dri/renderD128"),
        line("40000000-40001000", "rw-s", "00:16", "/sys/devices/pci0000:00/0000:09:00.0/resource0"),
        "50000000-50001000 rw-p 00000000 00:00 0 \n".to_owned(),
    ];
    written.file("proc/7/maps", &maps.concat());
    open(&written, 3, "/etc/own.conf", 22, 10);
    let gpu = pci(&written, "0000:0c:00.0", 1, "2-3");
    written
        .file(&format!("{gpu}/drm/renderD128/dev"), "226:128\n")
        .link(&format!("{gpu}/drm/renderD128/device"), "../..")
        .link("sys/class/drm/renderD128", &format!("/{gpu}/drm/renderD128"));
    let (machine, own) = read(&written);
    assert_eq!(names(&own), ["0000:09:00.0", "nvme0n1p1", "renderD128"]);
    let disk = device(&own, "nvme0n1p1");
    assert_eq!(
        (disk.how.as_slice(), disk.bytes),
        (&["mapped file /data/table".to_owned()][..], Some(2 << 20))
    );
    assert_eq!(device(&own, "renderD128").how, ["mapped device /dev/dri/renderD128"]);
    assert_eq!(device(&own, "renderD128").bytes, None);
    assert_eq!(own.place(&machine, 7).unwrap().near.nodes, [1]);
}

#[test]
fn cards_are_those_of_the_sockets_addresses() {
    let written = machine();
    let server = "00000000:1F90";
    sockets(
        &written,
        &[("0302010A:D431", "0402010A:0016"), ("0100007F:0CEA", "0100007F:D432"), (server, "00000000:0000")],
    );
    let (machine, own) = read(&written);
    // The bridge to containers has a route, too, and is no hardware.
    assert_eq!(names(&own), ["eth0", "eth1"]);
    assert_eq!(device(&own, "eth0").how, ["listening on port 8080 of every interface"]);
    assert_eq!(
        device(&own, "eth1").how,
        ["connection to 10.1.2.4 port 22", "listening on port 8080 of every interface"]
    );
    let error = own.place(&machine, 7).unwrap_err();
    assert!(matches!(&error, NoOwnPlace::Tie { devices, .. } if devices.len() == 2), "{error}");
    assert!(
        error.to_string().contains("eth1 on node 1 (connection to 10.1.2.4 port 22 and 1 more)"),
        "{error}"
    );
    assert_eq!(error.hint(), "name the device that counts, or the node: --near eth0, --node NODE");
}

#[test]
fn in_another_network_namespace_a_name_means_another_interface() {
    let written = machine();
    written.link("proc/self/ns/net", "net:[1]").link("proc/7/ns/net", "net:[2]");
    sockets(&written, &[("020200C0:D431", "010200C0:0016")]);
    let own = read(&written).1;
    assert_eq!(own.unknown, ["connection to 192.0.2.1 port 22: nothing is known of the interface eth0"]);
    // What the container calls eth0 is a function of the card on node 1.
    let card = "proc/7/root/sys/devices/pci0000:00/0000:09:00.1";
    written
        .file(&format!("{card}/numa_node"), "1\n")
        .file(&format!("{card}/local_cpulist"), "2-3\n")
        .link(&format!("{card}/net/eth0/device"), "../..")
        .link("proc/7/root/sys/class/net/eth0", "../../devices/pci0000:00/0000:09:00.1/net/eth0");
    let own = read(&written).1;
    assert_eq!((device(&own, "eth0").nodes.as_slice(), own.unknown.len()), (&[1][..], 0));
}

#[test]
fn most_devices_decide_and_then_most_bytes() {
    let written = machine();
    open(&written, 3, "/var/log", 22, 10);
    open(&written, 4, "/data/x", 23, 500);
    let (machine, own) = read(&written);
    let OwnPlace { near, why, .. } = own.place(&machine, 7).unwrap();
    assert_eq!((near.nodes.as_slice(), near.cpus.as_slice()), (&[1][..], &[2, 3][..]));
    assert_eq!(why, "most of the bytes it has in use (500 of 510) are next to node 1");
    // Two devices against one, whatever the bytes.
    sockets(&written, &[("020200C0:D431", "010200C0:0016")]);
    let (machine, own) = read(&written);
    let OwnPlace { near, why, .. } = own.place(&machine, 7).unwrap();
    assert_eq!((near.nodes.as_slice(), near.cpus.as_slice()), (&[0][..], &[0, 1][..]));
    assert_eq!(why, "2 of its 3 devices are next to node 0");
}

#[test]
fn devices_of_drivers_in_programs() {
    let written = machine();
    pci(&written, "0000:0d:00.0", 1, "2-3");
    written
        .link("sys/class/vfio/12", "/sys/devices/virtual/vfio/12")
        .file("sys/devices/virtual/vfio/12/dev", "243:0\n")
        .link("sys/kernel/iommu_groups/12/devices/0000:0d:00.0", "/sys/bus/pci/devices/0000:0d:00.0")
        .link("proc/7/fd/3", "/dev/vfio/12");
    pci(&written, "0000:0e:00.0", 0, "0-1");
    written
        .file("proc/driver/nvidia/gpus/0000:0e:00.0/information", "Model: \t\t Written\nDevice Minor: \t 0\n")
        .link("proc/7/fd/4", "/dev/nvidia0")
        .link("proc/7/fd/5", "/dev/nvidiactl");
    // A sound card is hardware with a place, and moves next to nothing.
    let sound = format!("{}/sound/card0/pcmC0D0p", pci(&written, "0000:0f:00.0", 0, "0-1"));
    written
        .link(&format!("{sound}/subsystem"), "/sys/class/sound")
        .file("sys/class/sound/version", "")
        .link("sys/class/drm/pcmC0D0p", &format!("/{sound}"))
        .link("proc/7/fd/6", "/dev/snd/pcmC0D0p");
    let own = read(&written).1;
    assert_eq!(names(&own), ["0000:0e:00.0", "12"]);
    assert_eq!(device(&own, "12").layers, ["12", "0000:0d:00.0"]);
    assert_eq!((device(&own, "12").nodes[0], device(&own, "0000:0e:00.0").nodes[0]), (1, 0));
}

#[test]
fn a_process_that_is_not_there_has_no_devices() {
    let root = Root::live();
    let machine = Machine::read(&root).unwrap();
    let error = machine.own_devices(&root, u32::MAX).unwrap_err();
    assert!(matches!(error, OwnDevicesError::NoProcess { .. }) && !error.hint().is_empty(), "{error}");
}

#[test]
fn the_disk_of_a_file_that_is_open_here_is_found() {
    let root = Root::live();
    let machine = Machine::read(&root).unwrap();
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(file.path(), [1; 5000]).unwrap();
    let device = file.as_file().metadata().unwrap().dev();
    let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & !0xff);
    let Ok(disk) = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) else {
        return skipped(&format!("{} is not on a disk of this machine", file.path().display()));
    };
    let own = machine.own_devices(&root, std::process::id()).unwrap();
    let what = format!("open file {}", file.path().display());
    let having = |how: &[String]| how.contains(&what);
    let name = disk.file_name().and_then(|name| Path::new(name).to_str()).unwrap();
    let found = own.devices.iter().find(|device| having(&device.how));
    match found {
        Some(found) => {
            assert_eq!(found.name, name);
            assert!(found.bytes.is_none_or(|bytes| bytes >= 5000), "{found:?}");
        }
        None => assert!(own.unknown.iter().any(|why| why.contains(name)), "{own:?}"),
    }
}
