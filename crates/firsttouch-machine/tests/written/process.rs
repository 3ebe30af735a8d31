//! A process that the tests write, with files and sockets, on a machine with disks and cards.

use super::Written;
use super::devices::{card, four_nodes, nvme, virtual_card, virtual_disk};

/// Disks on nodes 0 and 1, cards on nodes 0 and 1, and process 7 with mounts of every kind.
pub(crate) fn machine() -> Written {
    let machine = four_nodes();
    nvme(&machine, 0, "0000:05:00.0", 1, "2-3");
    nvme(&machine, 1, "0000:06:00.0", 0, "0-1");
    virtual_disk(&machine, "md0", &["nvme0n1p1", "nvme1n1p1"]);
    card(&machine, "eth0", "0000:08:00.0", 0, "0-1");
    card(&machine, "eth1", "0000:09:00.0", 1, "2-3");
    virtual_card(&machine, "docker0", &[]);
    for (number, name) in
        [("259:1", "nvme0n1p1"), ("259:3", "nvme1n1p1"), ("9:0", "md0"), ("259:0", "nvme0n1")]
    {
        machine.link(&format!("sys/dev/block/{number}"), &format!("/sys/class/block/{name}"));
    }
    let mounts = "\
        22 1 259:3 / / rw - ext4 /dev/nvme1n1p1 rw\n\
        23 22 259:1 / /data rw - xfs /dev/nvme0n1p1 rw\n\
        24 22 9:0 / /wide\\040disk rw - ext4 /dev/md0 rw\n\
        25 22 0:20 / /dev/shm rw - tmpfs tmpfs rw\n\
        26 22 0:31 / /pool rw - btrfs /dev/nvme0n1p1 rw,subvolid=5\n\
        27 22 0:32 / /merged rw - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/data/upper,workdir=/data/work\n\
        28 22 0:33 / /home rw - nfs4 server:/home rw,addr=192.0.2.9\n";
    machine
        .link("sys/fs/btrfs/features/devices", "/nowhere")
        .link("sys/fs/btrfs/3f/devices/nvme0n1p1", "/sys/class/block/nvme0n1p1")
        .link("sys/fs/btrfs/3f/devices/nvme1n1p1", "/sys/class/block/nvme1n1p1")
        .file("dev/nvme0n1p1", "")
        .file("proc/self/mountinfo", mounts)
        .file("proc/7/mountinfo", mounts)
        .file("proc/7/net/route", "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\neth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\neth1\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\ndocker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n")
        .link("proc/7/fd/0", "/dev/null")
        .link("proc/7/fd/1", "pipe:[99]")
        .link("proc/7/fd/2", "anon_inode:[eventpoll]");
    machine
}

/// A file of process 7, open by descriptor on a mount.
pub(crate) fn open(machine: &Written, descriptor: u32, path: &str, mount: u32, bytes: usize) {
    machine
        .file(path.trim_start_matches('/'), &"x".repeat(bytes))
        .link(&format!("proc/7/fd/{descriptor}"), path)
        .file(
            &format!("proc/7/fdinfo/{descriptor}"),
            &format!("pos:\t0\nflags:\t0100002\nmnt_id:\t{mount}\n"),
        );
}

/// TCP sockets of process 7, from descriptor 50 on: local and remote address as the kernel prints them.
pub(crate) fn sockets(machine: &Written, ends: &[(&str, &str)]) {
    let mut table = "  sl  local_address rem_address   st …\n".to_owned();
    for (index, (local, remote)) in ends.iter().enumerate() {
        let inode = 1000 + index;
        table += &format!("   {index}: {local} {remote} 01 0:0 00:0 0 0 0 {inode} 1\n");
        machine.link(&format!("proc/7/fd/{}", 50 + index), &format!("socket:[{inode}]"));
    }
    machine.file("proc/7/net/tcp", &table);
}
