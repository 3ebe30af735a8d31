//! `setup` on two nodes: pools where they were asked for, and what is left of it at the next boot.

use crate::bench::{Setting, Test, command, shell};
use crate::command_line::Single;
use crate::counts::succeeded;
use crate::guest;
use crate::runner::Outcome;
use crate::setting;
use firsttouch_lab::{Acceleration, Collected, Command, Ending, Release};
use serde_json::Value;

/// The 2 MiB pages of both nodes, by the kernel's own account.
const POOLS: &str = "for node in 0 1; do \
                     read pages < /sys/devices/system/node/node$node/hugepages/hugepages-2048kB/nr_hugepages; \
                     echo $pages; done";

pub(crate) fn tests() -> Vec<Test> {
    let of = |release| Setting { release, ..Setting::of("two-node") };
    [Release::V5_10, Release::V6_1, Release::V6_12].map(|release| pools(of(release))).into()
}

pub(crate) fn single() -> Vec<Single> {
    vec![("what setup wrote is there at the next boot", next_boot)]
}

fn setup(words: &str) -> Command {
    command(&["firsttouch", "setup"].into_iter().chain(words.split(' ')).collect::<Vec<_>>())
}

fn json(collected: &Collected) -> Value {
    serde_json::from_str(&collected.stdout).unwrap()
}

fn pools(setting: Setting) -> Test {
    let name = format!("pages are reserved on the nodes that are asked for, {}", setting.release);
    let commands = vec![
        setup("pages 2m=9 --node 1 --apply --json"),
        shell(POOLS),
        setup("pages 2m=21 --rest 64M --apply --json"),
        shell(POOLS),
        // The node has 192 pages, and the kernel lies on some of them. The machine has enough, beside so small a rest.
        setup("pages 2m=192 --node 1 --rest 16M --apply"),
        setup("pages 2m=192 --node 1 --force --apply --json"),
        setup("--undo --json"),
        shell(POOLS),
    ];
    Test::new(name, setting, commands, |_, ran| {
        for one in [0, 1, 2, 3, 6, 7] {
            succeeded(&ran[one]);
        }
        let counts = [1, 3, 7].map(|line: usize| ran[line].stdout.clone());
        assert_eq!(counts, ["0\n9\n", "11\n10\n", "0\n0\n"]);
        assert_eq!(ran[4].finished.ending, Ending::Exited(1), "{:?}", ran[4]);
        assert!(ran[4].stderr.contains("that node 1 has left"), "{}", ran[4].stderr);
        assert_eq!(ran[5].finished.ending, Ending::Exited(1), "{:?}", ran[5]);
        let document = json(&ran[5]);
        let change = document["changes"]
            .as_array()
            .unwrap()
            .iter()
            .find(|change| change["what"] == "setting")
            .unwrap();
        let obtained: u64 = change["obtained"].as_str().unwrap().parse().unwrap();
        assert!((10..192).contains(&obtained), "{change}");
        assert_eq!(change["state"], "short");
        let (reason, bytes) = (&change["shortfall"]["reason"], &change["shortfall"]["bytes"]);
        assert!(["node-full", "no-contiguous-memory"].map(Value::from).contains(reason), "{change}");
        assert_eq!(*bytes, (192 - obtained) << 21);
        assert_eq!(json(&ran[6])["journal"], Value::Null);
    })
}

/// A guest begins with nothing on its disk, and has no systemd: its second boot is given the parameters that were written for GRUB, and
/// runs the lines that systemd would run.
fn next_boot() -> Outcome {
    let asked = Setting::of("two-node");
    let (machine, first) = setting::ready(&asked)?;
    let print =
        |file: &str| shell(&format!("while IFS= read -r line; do printf '%s\\n' \"$line\"; done < {file}"));
    let unit = "/etc/systemd/system/firsttouch-pages.service";
    let ran = first
        .collect(&[
            command(&["mkdir", "-p", "/etc/default/grub.d", "/etc/tmpfiles.d"]),
            setup("pages 2m --node 0=5 --node 1=9 --apply --persist"),
            setup("thp never thp-defrag=defer --apply --persist"),
            setup("limits max-map-count=123456 --apply --persist"),
            setup("boot 2m --node 0=2 --node 1=3 thp=madvise isolcpus=3 --apply"),
            print(unit),
            print("/etc/tmpfiles.d/firsttouch.conf"),
            print("/etc/sysctl.d/90-firsttouch.conf"),
            print("/etc/default/grub.d/90-firsttouch.cfg"),
        ])
        .unwrap();
    ran.iter().for_each(succeeded);
    let parameters = ran[8].stdout.lines().filter_map(|line| {
        line.strip_prefix("GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT ")?.strip_suffix('"')
    });
    let mut machine = machine;
    machine.kernel_options = parameters.fold(machine.kernel_options, |all, one| format!("{all} {one}"));
    // The lab has a word of its own for the mode, which stands for what the machine had before.
    machine.thp = None;
    let second = guest::lab(machine, asked.release, Acceleration::SingleThread)?;
    let started = ran[5].stdout.lines().filter_map(|line| line.strip_prefix("ExecStart=-/bin/"));
    let written = ran[6].stdout.lines().filter_map(|line| {
        let (file, value) = line.strip_prefix("w ")?.split_once(" - - - - ")?;
        Some(format!("echo {value} > {file}"))
    });
    let kernel = ran[7].stdout.lines().filter_map(|line| {
        let (name, value) = line.split_once(" = ")?;
        Some(format!("echo {value} > /proc/sys/{}", name.replace('.', "/")))
    });
    let lines: Vec<String> = started.map(str::to_owned).chain(written).chain(kernel).collect();
    assert_eq!(lines.len(), 5, "{lines:?}");
    let settings = "for file in /sys/devices/system/cpu/isolated \
                    /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/transparent_hugepage/defrag; do \
                    read text < $file; echo $text; done";
    // Of files below /proc/sys the shell, which reads byte by byte, gets the first byte only.
    let mappings = command(&["cat", "/proc/sys/vm/max_map_count"]);
    let apply = shell(&lines.join("; "));
    let ran =
        second.collect(&[shell(POOLS), shell(settings), apply, shell(POOLS), shell(settings), mappings]);
    let ran = ran.unwrap();
    ran.iter().for_each(succeeded);
    // By the kernel's command line alone; then by what is run before any service starts.
    assert_eq!(ran[0].stdout, "2\n3\n");
    let before: Vec<&str> = ran[1].stdout.lines().collect();
    assert_eq!((before[0], before[1]), ("3", "always [madvise] never"), "{before:?}");
    assert_eq!(ran[3].stdout, "5\n9\n");
    let after: Vec<&str> = ran[4].stdout.lines().collect();
    assert_eq!(after[1], "always madvise [never]", "{after:?}");
    assert!(after[2].contains("[defer]"), "{after:?}");
    assert_eq!(ran[5].stdout, "123456\n");
    Ok(())
}
